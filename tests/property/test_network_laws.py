"""For all traffic: order per link and kind, what was held comes in order, chance is independent."""

from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.kernel.channel import LinkProfile
from ddlsim.kernel.rng import (
    TABLE_SIZE,
    Distribution,
    Exponential,
    Lognormal,
    Normal,
    Uniform,
    quantiles,
)
from ddlsim.kernel.rules import Hold, Slow
from tests.support.engine import Ask, Note, Small

NAMES = st.sampled_from("abc")
MANY = 4000


class Send(NamedTuple):
    """A message; labelled by its number so that it can be told from all others."""

    sender: str
    to: str
    payload: type[Note] | type[Ask]


class Wait(NamedTuple):
    """Time passes."""

    us: int


class Rule(NamedTuple):
    """Hold or slow some traffic."""

    hold: bool
    sender: str | None
    to: str | None
    kind: str | None


class Lift(NamedTuple):
    """Take back the n-th rule in force."""

    number: int


PATTERNS = (st.one_of(st.none(), NAMES), st.one_of(st.none(), NAMES))
KINDS = st.sampled_from([None, "note", "ask"])
SENDS = st.builds(Send, NAMES, NAMES, st.sampled_from([Note, Ask]))
WAITS = st.builds(Wait, st.integers(0, 5000))
RULES = st.builds(Rule, st.booleans(), *PATTERNS, KINDS)
LIFTS = st.builds(Lift, st.integers(0, 3))
SCRIPTS = st.lists(st.one_of(SENDS, SENDS, SENDS, WAITS, RULES, LIFTS), max_size=60)


class Arrival(NamedTuple):
    """Where and when a numbered message arrived."""

    at_us: int
    link: tuple[str, str, str]
    number: int


class Stage(Small):
    """Three hosts that play a script and write down every arrival."""

    def __init__(self, *, seed: int = 1, latency: Distribution, profile: LinkProfile) -> None:
        super().__init__(seed=seed, latency=latency)
        self.network.configure(profile)
        self.arrivals: list[Arrival] = []
        self.in_force: list[Any] = []
        for host in (self.a, self.b, self.c):
            for payload_type, kind in ((Note, "note"), (Ask, "ask")):
                host.on(payload_type, self._listener(host.name, kind))

    def _listener(self, to: str, kind: str) -> Any:
        return lambda sender, payload: self.arrivals.append(
            Arrival(self.loop.now_us, (sender, to, kind), payload.number)
        )

    def play(self, script: list[Any], *, without: int | None = None) -> list[Arrival]:
        """Do as the script says, leaving out one message; then lift all rules and finish."""
        for number, action in enumerate(script):
            match action:
                case Send(sender, to, payload_type):
                    if number != without:
                        getattr(self, sender).send(to, payload_type(number), label=number)
                case Wait(us):
                    self.loop.run(until_us=self.loop.now_us + us)
                case Rule(True, sender, to, kind):
                    self.in_force.append(self.network.hold(sender, to, kind))
                case Rule(False, sender, to, kind):
                    slow = Slow(sender, to, kind, by_us=3000)
                    self.network.install(slow)
                    self.in_force.append(slow)
                case Lift(at) if at < len(self.in_force):
                    self.lift(self.in_force.pop(at))
        for rule in self.in_force:
            self.lift(rule)
        self.loop.run()
        return self.arrivals

    @staticmethod
    def lift(rule: Any) -> None:
        (rule.release if isinstance(rule, Hold) else rule.remove)()


def numbers_of(script: list[Any]) -> list[int]:
    return [number for number, action in enumerate(script) if isinstance(action, Send)]


@given(SCRIPTS, st.integers(0, 1 << 64))
def test_each_link_keeps_the_order_of_each_kind(script: list[Any], seed: int) -> None:
    """Through any holds and delays; and without loss everything arrives, once."""
    stage = Stage(seed=seed, latency=Uniform(0, 10), profile=LinkProfile())
    arrivals = stage.play(script)
    assert sorted(arrival.number for arrival in arrivals) == numbers_of(script)
    for before, after in pairwise(sorted(arrivals, key=lambda arrival: arrival.link)):
        assert before.link != after.link or before.number < after.number


@given(st.lists(SENDS, max_size=40))
def test_what_was_held_arrives_in_the_order_of_sending(script: list[Any]) -> None:
    """Over all links and kinds, if all of it was overdue."""
    stage = Stage(latency=Uniform(1, 10), profile=LinkProfile())
    links = [Send(s.sender, s.to, s.payload) for s in script if s.sender != s.to]
    hold = stage.network.hold()
    stage.loop.call_at(10_000, hold.release)
    arrivals = stage.play(links)
    assert [arrival.number for arrival in arrivals] == list(range(len(links)))
    assert {arrival.at_us for arrival in arrivals} <= {10_000}


@given(SCRIPTS, st.data())
def test_one_message_less_leaves_every_other_delay_as_it_was(
    script: list[Any], data: st.DataObject
) -> None:
    """With reordering certain, a message takes its own delay and nothing else."""
    sends = numbers_of(script)
    without = data.draw(st.sampled_from(sends)) if sends else None
    profile = LinkProfile(reordering=1.0, loss=0.2, duplication=0.2)
    full, less = (
        sorted(Stage(latency=Lognormal(1, 8), profile=profile).play(script, without=left_out))
        for left_out in (None, without)
    )
    assert less == [arrival for arrival in full if arrival.number != without]


@given(SCRIPTS, st.data())
def test_one_message_less_leaves_every_other_link_as_it_was(
    script: list[Any], data: st.DataObject
) -> None:
    """In order, a message can wait behind its predecessor, but never behind another link's."""
    sends = numbers_of(script)
    without = data.draw(st.sampled_from(sends)) if sends else None
    full, less = (
        Stage(latency=Lognormal(1, 8), profile=LinkProfile()).play(script, without=left_out)
        for left_out in (None, without)
    )
    link = next((arrival.link for arrival in full if arrival.number == without), None)
    assert sorted(a for a in less if a.link != link) == sorted(a for a in full if a.link != link)


def fates(*, seed: int = 1, **profile: Any) -> Counter[int]:
    """How often each of many labelled messages arrives."""
    stage = Stage(seed=seed, latency=Uniform(1, 10), profile=LinkProfile(**profile))
    stage.play([Send("a", "b", Note)] * MANY)
    return Counter(arrival.number for arrival in stage.arrivals)


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.9])
def test_loss_and_duplication_happen_as_often_as_asked(probability: float) -> None:
    """Within five standard deviations; each message is lost, or doubled, at most once."""
    tolerance = 5 * (MANY * probability * (1 - probability)) ** 0.5
    arrived = fates(loss=probability)
    assert abs(MANY - len(arrived) - MANY * probability) < tolerance
    doubled = fates(duplication=probability)
    assert len(doubled) == MANY
    assert set(doubled.values()) == {1, 2}
    assert abs(doubled.total() - MANY - MANY * probability) < tolerance


def test_more_loss_only_adds_to_what_is_lost() -> None:
    """So a sweep over the rate compares like with like, and other chances stay as they were."""
    little, much = fates(loss=0.1), fates(loss=0.3)
    assert set(much) < set(little)
    both, doubled = fates(loss=0.3, duplication=0.4), fates(duplication=0.4)
    assert both == Counter({number: doubled[number] for number in much})
    assert set(fates(loss=0.1, seed=2)) != set(little)


@pytest.mark.parametrize(
    "distribution", [Uniform(1, 3), Normal(5, 1), Lognormal(1, 8), Exponential(1, 5)], ids=str
)
def test_drawn_delays_follow_their_distribution(distribution: Distribution) -> None:
    """Kolmogorov and Smirnov's distance to the table, at the 0.1 percent level."""
    stage = Stage(latency=distribution, profile=LinkProfile(reordering=1.0))
    stage.play([Send("a", "b", Note)] * MANY)
    delays = sorted(arrival.at_us for arrival in stage.arrivals)
    table = quantiles(distribution)
    distance = max(
        abs(index / MANY - sum(us <= delay for us in table[:: TABLE_SIZE // 512]) / 512)
        for index, delay in list(enumerate(delays, 1))[::40]
    )
    assert distance < 1.95 / MANY**0.5 + 1 / 512
