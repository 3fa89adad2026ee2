"""The log of updates on every node: stamps, compare-and-set, messages that come twice or never."""

from itertools import cycle
from typing import Any

import pytest

from ddlsim.history.events import SafeTimeAdvanced, UpdateApplied, UpdateLogged
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, Submit, Submitted
from ddlsim.protocol.raft import AppendEntries
from ddlsim.protocol.strategy import Strategy
from ddlsim.strategies.iep import IEP, IEP_LITERAL
from ddlsim.units import physical_ms, timestamp
from tests.support.log_group import Group, update

# --- submitting ----------------------------------------------------------------------------------


def test_an_update_reaches_the_catalog_of_every_node() -> None:
    """Through the log, from whichever node submits it, voters and learners alike."""
    group = Group("abc", "d")
    answers = group.submit("d", update())
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(True, 2)]
    assert {name: part.catalog.version for name, part in group.parts.items()} == dict.fromkeys(
        "abcd", 2
    )


def test_it_activates_a_delay_duration_after_the_leaders_stamp() -> None:
    """Tm is the leader's now and Tu = Tm + DD, the same on every node."""
    group = Group("ab")
    group.submit("b", update())
    group.until(10)
    [stamped] = group["a"].log
    assert physical_ms(stamped.message_ts) == 1
    assert {part.catalog.activation_of(2) for part in group.parts.values()} == {
        stamped.message_ts + timestamp(100)
    }


def test_a_leader_of_an_empty_log_stamps_above_the_safe_time_that_all_nodes_began_with() -> None:
    """The first leader's clock had shown it, and that one committed nothing [98.x.1]."""
    start_ts = timestamp(5_000)
    group = Group("abc", start_ts=start_ts, election_timeout_ms=50, election_spread_ms=10)
    group.wire.fate = lambda sent: () if "a" in (sent.sender, sent.to) else (1000,)
    group.until(200)
    first = group["b"].log[0]
    assert group["a"].log == []
    assert first.message_ts > start_ts


def test_stamp_lies_after_the_submitters_timestamp() -> None:
    """The leader merges the submitter's clock, and the submitter the leader's."""
    group = Group("ab")
    group["b"].node.ahead_ms = 70
    group.submit("b", update())
    group.until(10)
    [stamped] = group["a"].log
    assert stamped.message_ts > timestamp(70)
    group = Group("ab")
    group["a"].node.ahead_ms = 70
    group.submit("b", update())
    group.until(10)
    assert group["b"].node.clock.current() > timestamp(71)


def test_stamps_rise_strictly_in_the_order_of_the_log() -> None:
    """In any order of submissions, and however many fall into one millisecond."""
    group = Group("abc")
    for number, name in enumerate("abcabc"):
        group.submit(name, update(f"d{number}"))
    group["a"].meta.tick()
    group.until(10)
    stamps = [stamped.message_ts for stamped in group["c"].log]
    assert len(stamps) == 7
    assert stamps == sorted(set(stamps))


def test_of_two_updates_built_on_one_version_one_takes_effect() -> None:
    """The other gets the version that it lost to; every node decides alike."""
    group = Group("abc", "d")
    winner, loser = group.submit("a", update("x")), group.submit("b", update("y"))
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in winner + loser] == [(True, 2), (False, 2)]
    assert {part.catalog.version for part in group.parts.values()} == {2}
    assert {part.node.probes["catalog-cas-lost"] for part in group.parts.values()} == {1}


def test_an_update_built_on_a_version_to_come_is_refused_too() -> None:
    """Compare-and-set means equal."""
    group = Group("a")
    answers = group.submit("a", update(expected=2))
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(False, 1)]


def test_an_update_is_logged_once_for_all_and_applied_once_on_each_node() -> None:
    """In the history, under the operation of the client that asked for it."""
    group = Group("abc")
    group.submit("b", update("c1.d4"))
    group.until(10)
    logged = group.of(UpdateLogged)
    assert {(e.op, e.catalog_version, e.index, e.delay_duration_ms) for e in logged} == {
        ("c1.d4", 2, 1, 100)
    }
    assert [e.node for e in group.of(UpdateApplied)] == ["a", "b", "c"]
    assert {(e.message_ts, e.activation_ts) for e in group.of(UpdateApplied)} == {
        (e.message_ts, e.activation_ts) for e in logged
    }


# --- messages that come twice or not at all ------------------------------------------------------


def test_a_submission_that_comes_twice_takes_effect_once() -> None:
    """Both are answered alike; what is appended again has a stamp of its own [98.x.5]."""
    group = Group("ab")
    group.wire.fate = lambda sent: (1000, 1000) if type(sent.payload) is Submit else (1000,)
    answers = group.submit("b", update())
    group.until(10)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(True, 2)]
    first, second = (stamped.message_ts for stamped in group["b"].log)
    assert first < second
    assert group["b"].catalog.version == 2
    replies = group.wire.payloads(Submitted)
    assert {(a.accepted, a.catalog_version) for a in replies} == {(True, 2)}
    assert len(replies) == 2


def test_a_submission_that_comes_again_later_is_answered_from_memory() -> None:
    """Also with a refusal: the outcome of a command never changes."""
    group = Group("a")
    group.submit("a", update("x"))
    group.submit("a", update("y"))
    group.until(10)
    first, second = group.submit("a", update("x")), group.submit("a", update("y"))
    group.until(20)
    assert [(a.accepted, a.catalog_version) for a in first + second] == [(True, 2), (False, 2)]
    assert len(group["a"].log) == 2


def test_what_an_earlier_life_of_a_node_submits_does_not_take_its_last_join_back() -> None:
    """It may come later; the lease of that earlier life would else be prolonged for good."""
    group = Group("ab")
    for joined_ts in (timestamp(7), timestamp(3)):
        group.submit("b", NodeJoined(f"b joined {joined_ts}", "b", joined_ts))
        group.until(group.loop.now_us // 1000 + 10)
    for part in group.parts.values():
        assert part.meta.application.joined == {"b": timestamp(7)}


@pytest.mark.parametrize("lost", [Submit, Submitted])
def test_a_submission_is_repeated_until_it_is_answered(lost: type) -> None:
    """Whether it was lost or its answer."""
    group = Group("ab")
    group.wire.fate = lambda sent: () if type(sent.payload) is lost else (1000,)
    answers = group.submit("b", update())
    group.until(30)
    assert answers == []
    group.wire.fate = lambda _: (1000,)
    group.until(90)
    assert [(a.accepted, a.catalog_version) for a in answers] == [(True, 2)]
    assert group["b"].node.probes["submit-resent"] == 2  # each after a longer wait
    assert group["b"].catalog.version == 2


def lost_to(name: str) -> Any:
    """The fate of a node that hears nothing of the log."""
    return lambda sent: () if sent.to == name and type(sent.payload) is AppendEntries else (1000,)


def test_what_a_member_did_not_get_is_sent_again_until_it_has_it() -> None:
    """And then no more."""
    group = Group("abc")
    group.wire.fate = lost_to("c")
    group.submit("a", update())
    group.until(90)
    assert (group["c"].catalog.version, group["a"].catalog.version) == (1, 2)
    assert group["a"].node.probes["append-resent"] == 3
    group.wire.fate = lambda _: (1000,)
    group.until(130)
    assert group["c"].catalog.version == 2
    said = len(group.wire.sent)
    group.until(1000)
    assert len(group.wire.sent) == said


def test_appends_that_come_twice_and_out_of_order_change_nothing() -> None:
    """Every node ends with the same log, applied in order."""
    group = Group("abc")
    delays = cycle([5000, 1000, 9000, 2000, 3000, 7000])
    group.wire.fate = lambda sent: (next(delays), next(delays)) if sent.sender != sent.to else (0,)
    for number in range(4):
        group.submit("a", update(f"d{number}", expected=number + 1))
        group["a"].meta.tick()
    group.until(200)
    assert group["a"].log == group["b"].log == group["c"].log
    assert {part.catalog.version for part in group.parts.values()} == {5}
    for name in "abc":
        moved = [event.safe_ts for event in group[name].node.of(SafeTimeAdvanced)]
        assert moved == [stamped.message_ts for stamped in group["a"].log]


# --- the delay in the message --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "own_ms", "carried_ms"),
    [(IEP, 40, 100), (IEP, 100, 100), (IEP, 160, 160), (IEP_LITERAL, 40, 40)],
)
def test_a_message_carries_a_delay_that_no_readers_exceeds(
    strategy: Strategy, own_ms: int, carried_ms: int
) -> None:
    """The leader raises it to the largest of the cluster [98.x.4]; the text alone does not."""
    group = Group("ab", strategy=strategy, cluster_delay_ms=100)
    group.submit("b", update(delay_ms=own_ms))
    group.until(10)
    [stamped] = group["b"].log
    assert isinstance(stamped.command, CatalogUpdate)
    assert stamped.command.delay_duration_ms == carried_ms
    assert group["b"].catalog.activation_of(2) == stamped.message_ts + timestamp(carried_ms)
    assert [e.delay_duration_ms for e in group["b"].node.of(UpdateLogged)] == [carried_ms]
