"""Every run with few late messages: which runs there are, and that a message fares as it is to."""

from collections.abc import Iterator
from itertools import combinations
from math import comb

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.run import run
from ddlsim.history.events import AnyEvent
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent, NothingMatched
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.loosened import whenever_done
from ddlsim.search import exhaust
from ddlsim.search.exhaust import FATES, Exhaustion, Job, Late, Message, Ran, Worker, World
from ddlsim.units import US_PER_MS
from tests.support.exhausting import exhausted

BY_US = 80 * US_PER_MS


def world(name: str = "iep98/boundary_operation", mutant: str | None = None) -> World:
    over = {} if mutant is None else {"strategy.mutant": mutant}
    scenario = load(name, over)
    return World(name, scenario.text, scenario.overrides, 0, (BY_US,), fates=FATES)


# --- which runs there are -------------------------------------------------------------------------


def imagined(of: Exhaustion, messages: int) -> list[tuple[tuple[int, str], ...]]:
    """What is late in each run of an imagined world that always sends the same messages."""
    sent = tuple(Message("a", "b", "k", at_us, 1, 1) for at_us in range(messages))
    made = []
    while of.open_level() is not None:
        for job in list(of.jobs()):
            made.append(tuple((one.message.sent_us, one.fate) for one in job.late))
            first = job.late[-1].message.sent_us + 1 if job.late else 0
            of.take(job, Ran(Outcome.OK, str(made[-1]), (), sent[first:] if job.wider else ()))
    return made


@pytest.mark.parametrize("fates", [("late",), FATES])
def test_each_set_of_late_messages_is_run_once(fates: tuple[exhaust.Fate, ...]) -> None:
    """As many as there are by counting, the fewest late messages first."""
    one = structs.replace(world(), fates=fates)
    for messages, depth in ((4, 2), (3, 5), (1, 1), (0, 3)):
        explored = Exhaustion(one, depth)
        made = imagined(explored, messages)
        assert len(made) == len(set(made)) == explored.number
        assert [len(late) for late in made] == sorted(len(late) for late in made)
        sets = {tuple(at for at, _ in late) for late in made}
        late = range(min(depth, messages) + 1)
        assert sets == {found for k in late for found in combinations(range(messages), k)}
        counts = [comb(messages, k) * len(fates) ** k for k in late]
        assert [level.runs for level in explored.levels] == counts
        assert [level.of for level in explored.levels] == counts
        assert explored.exhausted


def test_a_history_is_counted_once_and_a_signature_where_it_is_first() -> None:
    explored = Exhaustion(world(), 1)
    seen = exhaust.Seen("x", "x", "violation", "I1", "", "", "")
    assert explored.open_level() == 1
    [own] = explored.jobs()
    message = Message("a", "b", "k", 0, 1, 1)
    explored.take(own, Ran(Outcome.OK, "1", (), (message,)))
    assert explored.open_level() == 3
    for job, fingerprint in zip(list(explored.jobs()), "121", strict=True):
        explored.take(job, Ran(Outcome.VIOLATED, fingerprint, (seen,)))
    assert [level.histories for level in explored.levels] == [1, 1]
    [found] = explored.found.values()
    assert (found.number, found.runs, found.late) == (1, 3, (Late(message, "late", BY_US),))
    assert explored.outcomes == {Outcome.OK: 1, Outcome.VIOLATED: 3}
    assert not explored.exhausted
    assert explored.open_level() is None
    assert explored.exhausted


# --- how a message fares --------------------------------------------------------------------------


def traced(of: World, *late: Late) -> History:
    scenario = exhaust.scenario_of(of)
    return run(exhaust.plan_of(scenario, of.seed, Job(late, wider=True)))


def until(history: History, at_us: int) -> list[AnyEvent]:
    """What happened before an instant."""
    return [event for event in history.events if event.at_us < at_us]


def arrivals(history: History, one: Message) -> list[int]:
    """When a message came."""
    where = (one.sender, one.to, one.kind)
    [*_, sent] = [
        event
        for event in history.of(MessageSent)
        if (event.sender, event.to, event.kind, event.at_us) == (*where, one.sent_us)
    ][: one.nth]
    return [
        event.at_us
        for event in history.of(MessageDelivered)
        if (event.sender, event.to, event.kind, event.label) == (*where, sent.label)
    ]


def chosen() -> Iterator[Message]:
    """Some messages of the world's own run: several that are sent at one instant are among them."""
    whole = exhaust.check(world())
    assert whole is not None
    several = [one for one in whole if one.nth > 1 or one.behind > 1]
    assert several
    yield from (*whole[::9], *several[:2])


def test_a_message_meets_its_fate_and_nothing_before_it_is_another() -> None:
    """Also the second of its kind on its link at one instant."""
    one, own = world(), traced(world())
    for message in chosen():
        sent_us, due_us = message.sent_us, message.sent_us + BY_US
        for fate in FATES:
            late = Late(message, fate, None if fate == "lost" else BY_US)
            history = traced(one, late)
            assert until(history, sent_us) == until(own, sent_us)
            assert history.of(NothingMatched) == []
            assert arrivals(own, message) == [sent_us]
            assert arrivals(history, message) == ([] if fate == "lost" else [due_us])
            if fate == "stall":
                behind = [
                    event.at_us
                    for event in history.of(MessageDelivered)
                    if (event.sender, event.to) == (message.sender, message.to)
                    and sent_us < event.sent_us < due_us
                ]
                assert all(at_us >= due_us for at_us in behind)


ONE_PUT = """
[protocol]
preset = "ignite3_tests"
[cluster]
nodes = 1
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"
[[step]]
id = "w"
client = "c1"
node = "n1"
at_ms = 10
do = ["put", "t", 1]
"""


def test_a_late_message_meets_no_other_hold_where_it_arrives() -> None:
    """The answer to a write of an older schema is sent at once, and the write again."""
    kinds = ("client-operation",)
    one = World("one", ONE_PUT, {}, 0, (200_000,), fates=("late",), kinds=kinds)
    explored = exhausted(one, 4)
    assert explored.exhausted
    assert explored.outcomes == {Outcome.OK: explored.number}
    [own] = Worker(one).act([Job((), wider=True)])
    [first, again] = own.messages
    assert first.sent_us == again.sent_us == 10_000
    late = [Late(message, "late", 200_000) for message in own.messages]
    history = traced(one, late[0])
    assert arrivals(history, first) == [210_000]
    [ran] = Worker(one).act([Job((late[0],), wider=True)])
    [then] = ran.messages
    assert then.sent_us == 210_000
    history = traced(one, late[0], Late(then, "late", 200_000))
    assert (arrivals(history, first), arrivals(history, then)) == ([210_000], [410_000])


@pytest.mark.parametrize("fate", FATES)
def test_several_messages_of_an_instant_meet_their_fates_together(fate: exhaust.Fate) -> None:
    """On one link: the second counts as it was sent, whatever became of the first."""
    one = world("iep98/own_ddl")
    worker, whole, tried = Worker(one), exhaust.check(one), 0
    for message in whole or ():
        if (message.kind, message.nth) != ("cleanup", 1):
            continue
        first = Late(message, fate, None if fate == "lost" else BY_US)
        [ran] = worker.act([Job((first,), wider=True)])
        for second in ran.messages:
            if (second.sender, second.to, second.sent_us) == (
                message.sender, message.to, message.sent_us,
            ):  # fmt: skip
                tried += 1
                history = traced(one, first, Late(second, "late", 2 * BY_US))
                assert history.of(NothingMatched) == []
                assert arrivals(history, second) == [second.sent_us + 2 * BY_US]
                first_us = [] if fate == "lost" else [message.sent_us + BY_US]
                assert arrivals(history, message) == first_us
    assert tried > 1


def test_what_may_be_late_besides_is_sent_behind_what_is() -> None:
    worker = Worker(world())
    [own] = worker.act([Job((), wider=True)])
    assert own.messages == exhaust.check(world())
    at = len(own.messages) // 2
    [ran] = worker.act([Job((Late(own.messages[at], "late", BY_US),), wider=True)])
    assert ran.messages[:3] == own.messages[at + 1 : at + 4]
    kinds = {one.kind for one in Worker(structs.replace(world(), kinds=("append-reply",))).act(
        [Job((), wider=True)])[0].messages}  # fmt: skip
    assert kinds == {"append-reply"}
    assert all(one.sender != one.to for one in own.messages)


def test_the_messages_of_a_run_change_neither_its_history_nor_its_verdict() -> None:
    worker = Worker(world())
    [wide], [narrow] = (worker.act([Job((), wider=wider)]) for wider in (True, False))
    assert structs.replace(wide, messages=()) == narrow


def test_a_step_goes_on_however_the_one_before_it_ends() -> None:
    assert whenever_done("a.b.ok") == "a.b.done"
    assert whenever_done("a.failed") == "a.done"
    assert whenever_done("a.ok.invoked") == "a.ok.invoked"
    assert whenever_done(None) is None
    scenario = exhaust.scenario_of(world())
    made = exhaust.plan_of(scenario, 0, Job((), wider=False))
    assert [step.after for step in made.steps if step.after] == ["r1.done", "e1.done"]
    assert [step.after for step in plan(scenario, 0).steps if step.after] == ["r1.done", "e1.ok"]
    assert all(step.expect is None for step in made.steps)


def test_one_stalled_link_shows_that_no_completeness_is_waited_for() -> None:
    """Late alone, an update is on the learner with the next message of the leader."""
    broken = structs.replace(
        world(mutant="no_completeness_wait"), late_us=(200_000,), kinds=("append-entries",)
    )
    explored = exhausted(broken)
    by_fate = {one.late[0].fate for one in explored.found.values()}
    assert by_fate == {"stall"}
    assert {one.seen.invariant for one in explored.found.values()} >= {"I1"}
    assert explored.exhausted
