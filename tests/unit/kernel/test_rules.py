"""Rules are asked in the order in which they were installed, when a message is sent."""

import pytest

from ddlsim.kernel.channel import Envelope, LinkProfile
from ddlsim.kernel.rules import Block, Copy, Delay, Rule, Slow, Strike, Verdict
from tests.support.engine import Ask, Note, Small


@pytest.fixture
def small() -> Small:
    """All three listen; latency is 1 ms."""
    small = Small()
    for host in (small.a, small.b, small.c):
        small.listen(host)
        host.on(Ask, lambda _, ask: small.write_down(-ask.number))
    return small


def test_what_is_held_comes_at_once_and_in_order_when_released(small: Small) -> None:
    hold = small.network.hold("a", "b", "note")
    for number in (1, 2, 3):
        small.a.send("b", Note(number))
    small.a.send("c", Note(10))
    small.c.send("b", Note(20))
    small.a.send("b", Ask(30))
    small.loop.call_at(7000, hold.release)
    small.loop.run()
    assert small.arrived == [(1000, 10), (1000, 20), (1000, -30), (7000, 1), (7000, 2), (7000, 3)]


def test_what_is_not_due_yet_at_its_release_keeps_its_time(small: Small) -> None:
    hold = small.network.hold(None, "b", None)
    small.a.send("b", Note(1))
    small.loop.call_at(400, hold.release)
    small.loop.run()
    assert small.arrived == [(1000, 1)]


def test_what_is_sent_after_the_release_does_not_overtake(small: Small) -> None:
    hold = small.network.hold("a", "b", "note")
    small.a.send("b", Note(1))
    small.loop.call_at(5000, hold.release)
    small.loop.call_at(5000, small.a.send, "b", Note(2))
    small.loop.run()
    assert small.arrived == [(5000, 1), (6000, 2)]


def test_one_message_can_be_held_back_by_its_label(small: Small) -> None:
    hold = small.network.hold("a", "b", "note", label=2)
    for number in (1, 2, 3):
        small.a.send("b", Note(number))
    small.loop.call_at(5000, hold.release)
    small.loop.run()
    assert small.numbers == [1, 3, 2]


def test_releasing_twice_changes_nothing(small: Small) -> None:
    hold = small.network.hold("a", "b")
    small.a.send("b", Note(1))
    hold.release()
    hold.release()
    small.loop.run()
    assert small.numbers == [1]


def test_a_message_under_two_holds_waits_for_both(small: Small) -> None:
    first, second = small.network.hold("a"), small.network.hold(None, "b")
    small.a.send("b", Note(1))
    small.loop.call_at(3000, first.release)
    small.loop.call_at(5000, second.release)
    small.loop.run()
    assert small.arrived == [(5000, 1)]


def test_a_released_message_is_not_asked_again_by_earlier_rules(small: Small) -> None:
    small.install(Slow(None, "b", None, by_us=4000))
    hold = small.network.hold("a", "b")
    small.a.send("b", Note(1))
    hold.release()
    small.loop.run()
    assert small.arrived == [(5000, 1)]


@pytest.mark.parametrize("installed_us", [2000, 3000])
def test_a_released_message_is_not_touched_by_rules_that_came_while_it_was_held(
    small: Small, installed_us: int
) -> None:
    """At the very instant of the release neither: another hold, and a block."""
    first = small.network.hold("a")
    small.a.send("b", Note(1))
    small.loop.call_at(installed_us, small.network.hold, "a")
    small.loop.call_at(installed_us, small.install, Block("a", None))
    small.loop.call_at(3000, first.release)
    small.loop.call_at(3000, small.a.send, "b", Note(2))
    small.loop.run()
    assert small.arrived == [(3000, 1)]


def test_a_rule_that_is_over_does_not_judge_what_is_released(small: Small) -> None:
    """Nor the second of two that a copy makes."""
    hold, block = small.network.hold("a"), small.install(Block("a", None))
    small.a.send("b", Note(1))
    block.remove()
    small.install(Strike(fate=Copy(500), struck=int))
    small.install(Strike(fate=Verdict.DROP, struck=int))
    small.a.send("b", Note(2))
    hold.release()
    small.loop.run()
    assert small.arrived == [(1000, 1), (1000, 2)]


class Counting(Rule):
    """Writes down what it is asked about, and what it judges."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[int] = []
        self.judged: list[int] = []

    def matches(self, envelope: Envelope) -> bool:
        self.asked.append(envelope.payload.number)
        return super().matches(envelope)

    def judge(self, envelope: Envelope) -> Delay:
        self.judged.append(envelope.payload.number)
        return Delay(0)


def test_each_rule_is_asked_once_about_each_message(small: Small) -> None:
    """Whatever other rules or the link do to it; the copies of one are no messages."""
    hold = small.network.hold(label=1)
    small.install(Strike(fate=Copy(500), struck=int))
    small.install(Block(None, "c"))
    rule = Counting()
    small.install(rule)
    small.network.configure(LinkProfile(loss=1), "b", "a")
    small.network.configure(LinkProfile(duplication=1), "c")
    small.a.send("b", Note(1), label=1)
    small.a.send("b", Note(2), label=2)
    small.a.send("c", Note(3))
    small.b.send("a", Note(4))
    small.c.send("b", Note(5))
    hold.release()
    small.loop.run()
    assert rule.asked == [1, 2, 3, 4, 5]
    assert sorted(rule.judged) == [1, 2, 2, 5, 5]
    assert small.numbers == [2, 1, 5, 5, 2]


def test_a_block_is_one_way_and_does_not_reach_what_is_on_its_way(small: Small) -> None:
    small.a.send("b", Note(1))
    block = small.install(Block("a", "b"))
    small.a.send("b", Note(2))
    small.b.send("a", Note(3))
    small.a.send("c", Note(4))
    block.remove()
    block.remove()
    small.a.send("b", Note(5))
    small.loop.run()
    assert sorted(small.numbers) == [1, 3, 4, 5]


def test_delayed_traffic_is_late_and_stays_in_order(small: Small) -> None:
    slow = small.install(Slow(None, "b", "note", by_us=5000))
    small.a.send("b", Note(1))
    small.a.send("b", Ask(5))
    slow.remove()
    slow.remove()
    small.a.send("b", Note(2))
    small.c.send("b", Note(3))
    small.loop.run()
    assert small.arrived == [(1000, -5), (1000, 3), (6000, 1), (6000, 2)]


def test_delays_add_up_and_whatever_drops_first_drops(small: Small) -> None:
    small.install(Slow(None, "b", None, by_us=1000))
    small.install(Slow("a", None, None, by_us=200))
    small.a.send("b", Note(1))
    small.install(Block(None, "b"))
    small.network.hold("a", "b")
    small.a.send("b", Note(2))
    small.loop.run()
    assert small.arrived == [(2200, 1)]


class EverySecond(Rule):
    """A rule of one's own: delays odd labels, drops every fourth."""

    def matches(self, envelope: Envelope) -> bool:
        return envelope.channel.kind == "note"

    def judge(self, envelope: Envelope) -> Verdict | Delay:
        if envelope.label % 4 == 0:
            return Verdict.DROP
        return Delay(10_000 if envelope.label % 2 else 0)


def test_rules_of_ones_own(small: Small) -> None:
    rule = EverySecond()
    small.network.install(rule)
    for label in (2, 3, 4, 5):
        small.a.send("b", Note(label), label=label)
    small.loop.run()
    assert small.numbers == [2, 3, 5]
    with pytest.raises(AssertionError, match="installed once"):
        small.network.install(rule)
    rule.remove()
    rule.remove()
    assert small.network.rules == []


def test_a_bare_rule_has_no_verdict(small: Small) -> None:
    small.network.install(Rule())
    with pytest.raises(NotImplementedError):
        small.a.send("b", Note(1))
