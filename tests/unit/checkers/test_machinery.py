"""I12: each rule of the machinery broken by hand, and what looks like it and is none."""

from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.judge import judge
from ddlsim.history.events import SafeTimeAdvanced, TxBegan, TxCommitted, UpdateApplied
from ddlsim.history.world_events import (
    AppliedLost,
    CommandLogged,
    EntryLost,
    FaultBegan,
    LeaderElected,
    LeaseBegan,
    NodeCrashed,
    NodeRestarted,
    PartitionSafeTime,
    TxRecovered,
)
from ddlsim.model.design import LEASES_HOLD, SKEW_BOUNDED, Claim
from ddlsim.strategies.base import STRATEGIES
from tests.support.history import Story, add_column, ts
from tests.support.judging import anomalies


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("machinery", story)]


def told(*events: tuple[Any, ...]) -> list[str]:
    """Events one millisecond after the other."""
    story = Story()
    for at, (kind, *fields) in enumerate(events):
        story.add(at, kind, *fields)
    return kinds(story)


def test_a_term_has_one_leader() -> None:
    one, again = (LeaderElected, "n1", "meta", 2), (LeaderElected, "n1", "meta", 2)
    assert told(one, (LeaderElected, "n2", "meta", 2)) == ["two-leaders"]
    assert told(one, again, (LeaderElected, "n2", "meta", 3)) == []
    assert told(one, (LeaderElected, "n2", "1/0", 2)) == []


def logged(index: int, term: int, stamp: int, group: str = "meta") -> tuple[Any, ...]:
    return (CommandLogged, "n1", group, index, term, stamp)


@pytest.mark.parametrize("other", [False, True])
def test_a_transaction_has_one_outcome(other: bool) -> None:
    story = Story()
    story.write("T", story.table(), "x", 10)
    story.commit("T", 20)
    story.abort("U" if other else "T", 30, "TX_FINISHED")
    assert kinds(story) == ([] if other else ["two-outcomes"])


@pytest.mark.parametrize(("outcome", "found"), [("aborted", ["two-outcomes"]), ("committed", [])])
@pytest.mark.parametrize("wrote", [True, False])
def test_a_recovery_stores_no_abort_of_writes_that_have_committed(
    wrote: bool, outcome: str, found: list[str]
) -> None:
    story = Story()
    if wrote:
        story.write("T", story.table(), "x", 10)
    else:
        story.read("T", story.table(), "x", 10, None)
    story.commit("T", 20)
    story.add(30, TxRecovered, "n1", "T", outcome)
    story.add(30, TxRecovered, "n1", "U", "aborted")
    assert kinds(story) == (found if wrote else [])


def test_an_index_holds_one_command() -> None:
    assert told(logged(1, 1, 10), logged(1, 1, 10)) == []
    assert told(logged(1, 1, 10), logged(1, 2, 12)) == ["two-commands"]
    assert told(logged(1, 1, 10), logged(1, 2, 12, "1/0")) == []


def test_terms_never_fall_along_the_log() -> None:
    assert told(logged(2, 2, 20), logged(1, 1, 10), logged(4, 2, 30)) == []
    assert told(logged(1, 2, 10), logged(2, 1, 20)) == ["term-falls"]


def test_what_is_committed_stays_in_the_log() -> None:
    """[98.def.3]"""
    lost = (EntryLost, "n1", "meta", 3, 1, 10)
    assert told(logged(3, 1, 10), lost) == ["committed-entry-lost"]


def test_an_update_is_applied_once_between_crashes() -> None:
    """[98.def.3] A node that comes back applies what its disk holds anew."""
    one, other = applied("n1", 2), applied("n2", 2)
    died, back = (NodeCrashed, "n1"), (NodeRestarted, "n1", 2)
    assert told(one, other, applied("n1", 3)) == []
    assert told(one, other, one) == ["applied-twice"]
    assert told(one, died, back, one) == []
    assert told(one, died, back, one, one) == ["applied-twice"]


def applied(node: str, version: int) -> tuple[Any, ...]:
    return (UpdateApplied, node, version, 10, 20)


@pytest.mark.parametrize("group", ["meta", "1/0"])
def test_stamps_rise_along_the_log(group: str) -> None:
    assert told(logged(1, 1, 10, group), logged(3, 2, 10, group)) == ["stamps-unordered"]
    assert told(logged(3, 1, 9, group), logged(1, 1, 10, group)) == ["stamps-unordered"]
    assert told(logged(1, 1, 10, group), logged(2, 2, 0, group), logged(3, 2, 11, group)) == []
    assert told(logged(1, 1, 10, group), logged(2, 2, 0, group), logged(3, 2, 10, group)) == [
        "stamps-unordered"
    ]


@pytest.mark.parametrize(
    ("stamp", "group", "found"),
    [(10, "meta", ["stamped-below-safe-time"]), (11, "meta", []), (10, "1/0", [])],
)
def test_the_first_stamp_is_above_the_safe_time_that_all_nodes_began_with(
    stamp: int, group: str, found: list[str]
) -> None:
    """It binds the leader that follows on one that has committed nothing [98.x.1]."""
    began = (SafeTimeAdvanced, "n1", ts(10))
    last = ts(stamp)
    assert told(began, logged(1, 2, 0, group), logged(2, 2, last, group)) == found
    assert told(logged(1, 2, last, group), began) == []


@pytest.mark.parametrize(
    ("term", "stamp", "clauses"),
    [(1, 9, ("98.x.1", "98.x.5")), (1, 10, ("98.x.1", "98.x.2")), (2, 9, ("98.x.1",))],
)
def test_clauses_say_whether_one_leader_stamped_both(
    term: int, stamp: int, clauses: tuple[str, ...]
) -> None:
    story = Story()
    for at, (kind, *fields) in enumerate((logged(1, 1, 10), logged(2, term, stamp))):
        story.add(at, kind, *fields)
    assert [one.clauses for one in anomalies("machinery", story)] == [clauses]


@pytest.mark.parametrize(("tm", "found"), [(20, ["stamps-unordered"]), (21, [])])
def test_the_stamps_of_updates_rise(tm: int, found: list[str]) -> None:
    """[98.x.1, 98.x.5]"""
    story = Story()
    t, u = story.table("t"), story.table("u")
    story.ddl("D1", t, add_column(2, "a"), tu=30, tm=20, submit=20)
    story.ddl("D2", u, add_column(2, "a"), tu=31, tm=tm, submit=22)
    assert kinds(story) == found


def test_a_safe_time_never_goes_back_not_even_over_a_death() -> None:
    """[98.x.7]"""
    high, low = (SafeTimeAdvanced, "n1", ts(9)), (SafeTimeAdvanced, "n1", ts(8))
    assert told(low, high, high) == []
    assert told(high, (SafeTimeAdvanced, "n2", ts(8))) == []
    assert told(high, low) == ["safe-time-went-back"]
    died = ((NodeCrashed, "n1"), (NodeRestarted, "n1", 2))
    assert told(high, *died, low) == ["safe-time-went-back"]


def test_safe_time_may_go_back_over_a_crash_that_took_what_was_applied() -> None:
    """A leader commits by the disks of others."""
    high, low = (SafeTimeAdvanced, "n1", ts(9)), (SafeTimeAdvanced, "n1", ts(8))
    died, back = (NodeCrashed, "n1"), (NodeRestarted, "n1", 2)
    slow = (FaultBegan, "slow_disk", "n1", ("n1",))
    taken = (AppliedLost, "n1", "meta", 3)
    assert told(high, died, taken, back, low) == []
    assert told(taken, high, died, back, low) == ["safe-time-went-back"]
    assert told(high, died, back, low, taken) == ["safe-time-went-back"]
    assert told(slow, high, died, back, low) == ["safe-time-went-back"]
    for other in ((AppliedLost, "n1", "1/0", 3), (AppliedLost, "n2", "meta", 3)):
        assert told(high, died, other, back, low) == ["safe-time-went-back"]


def test_partition_safe_time_goes_back_only_over_a_crash() -> None:
    high, low = (PartitionSafeTime, "n1", "1/0", 9), (PartitionSafeTime, "n1", "1/0", 8)
    assert told(low, high) == []
    assert told(high, (PartitionSafeTime, "n1", "1/1", 8)) == []
    assert told(high, low) == ["safe-time-went-back"]
    assert told(high, (NodeCrashed, "n1"), (NodeRestarted, "n1", 2), low) == []
    assert told(high, (NodeCrashed, "n2"), low) == ["safe-time-went-back"]


def test_begins_of_a_node_rise() -> None:
    first = (TxBegan, "T1", "n1", ts(5))
    assert told(first, (TxBegan, "T2", "n1", ts(5) + 1)) == []
    assert told(first, (TxBegan, "T2", "n2", ts(5))) == []
    assert told(first, (TxBegan, "T2", "n1", ts(5))) == ["clock-went-back"]


@pytest.mark.parametrize(("op_ts", "found"), [(30, ["clock-went-back"]), (31, [])])
def test_timestamps_after_a_crash_are_above_those_before(op_ts: int, found: list[str]) -> None:
    """[98.x.7]"""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10, op_ts=30)
    story.write("T2", t, "y", 11, op_ts=20)
    story.add(12, NodeCrashed, "n1")
    story.add(13, NodeRestarted, "n1", 2)
    story.write("T3", t, "z", 14, op_ts=op_ts)
    story.write("T4", t, "z", 15, op_ts=2, node="n2")
    assert kinds(story) == found


def test_timestamps_are_compared_over_two_crashes_in_a_row() -> None:
    """Within one life operations may be told in another order than their timestamps."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10, op_ts=10)
    for at in (12, 14):
        story.add(at, NodeCrashed, "n1")
        story.add(at + 1, NodeRestarted, "n1", at)
    story.write("T2", t, "y", 17, op_ts=30)
    story.write("T3", t, "z", 18, op_ts=29)
    assert kinds(story) == []


def lease(start: int, end: int, holder: str = "n1", node: str = "n1") -> tuple[Any, ...]:
    return (LeaseBegan, node, "1/0", holder, ts(start), ts(end))


def test_leases_of_a_place_are_disjoint() -> None:
    assert told(lease(0, 50), lease(51, 90, "n2")) == []
    assert told(lease(0, 50), lease(50, 90, "n2")) == ["leases-overlap"]
    assert told(lease(0, 50), lease(51, 90, "n2"), lease(0, 70)) == ["leases-overlap"]
    assert told(lease(0, 50), (LeaseBegan, "n1", "1/1", "n2", ts(9), ts(90))) == []


def test_a_lease_has_one_holder_and_is_never_shortened() -> None:
    assert told(lease(0, 50), lease(0, 60), lease(0, 50, node="n2")) == []
    assert told(lease(0, 50), lease(0, 49)) == ["lease-shortened"]
    assert told(lease(0, 50), lease(0, 50, "n2")) == ["two-holders"]


def committed(commit: int, *, implicit: bool = False) -> list[str]:
    story = Story()
    t = story.table()
    story.add(0, *lease(1, 20))
    story.add(1, *lease(1, 50))
    story.add(2, *lease(60, 200, "n2"))
    story.add(3, TxBegan, "T", "n1", ts(3), implicit=implicit)
    story.write("T", t, "x", 10)
    story.add(11, TxCommitted, "n1", "T", ts(commit), ((t, 1, 1),))
    return kinds(story)


def test_a_commit_lies_within_the_leases_it_wrote_under() -> None:
    assert committed(49) == []
    assert committed(50) == ["committed-beyond-lease"]
    assert committed(49, implicit=True) == []
    assert committed(50, implicit=True) == ["committed-beyond-lease"]


@pytest.mark.parametrize(("commit", "found"), [(49, []), (50, ["committed-beyond-lease"])])
def test_a_commit_lies_within_the_leases_it_read_under(commit: int, found: list[str]) -> None:
    """Its locks there are lost with them, so that others may have written what it had read."""
    story = Story()
    t = story.table()
    story.add(0, *lease(1, 50))
    story.add(3, TxBegan, "T", "n1", ts(3), implicit=False)
    story.read("T", t, "x", 10, None)
    story.add(11, TxCommitted, "n1", "T", ts(commit), ((t, 1, 1),))
    assert kinds(story) == found


@pytest.mark.parametrize(
    ("writes", "implicit", "found"),
    [
        ("n2", True, []),
        ("n1", True, ["committed-beyond-lease"]),
        (None, True, ["committed-beyond-lease"]),
        ("n2", False, ["committed-beyond-lease", "under-two-leases"]),
    ],
)
def test_what_an_earlier_primary_read_for_a_refusal_that_came_too_late_does_not_count(
    writes: str | None, implicit: bool, found: list[str]
) -> None:
    """It is the row that stood against an implicit write, which another primary carried out."""
    story = Story()
    t = story.table()
    story.add(0, *lease(1, 50))
    story.add(1, *lease(60, 200, "n2"))
    story.add(3, TxBegan, "T", "n3", ts(3), implicit=implicit)
    story.read("T", t, "y", 10, None)
    if writes is not None:
        at = 65 if writes == "n2" else 20
        story.write("T", t, "x", at, node=writes)
    story.add(70, TxCommitted, "n2", "T", ts(70), ((t, 1, 1),))
    assert kinds(story) == found


@pytest.mark.parametrize(
    ("written", "implicit", "found"),
    [
        (65, True, []),
        (60, True, []),
        (59, True, ["committed-beyond-lease"]),
        (65, False, ["committed-beyond-lease", "under-two-leases"]),
    ],
)
def test_what_was_read_under_an_earlier_lease_of_the_same_primary_does_not_count(
    written: int, implicit: bool, found: list[str]
) -> None:
    story = Story()
    t = story.table()
    story.add(0, *lease(1, 50))
    story.add(1, *lease(60, 200))
    story.add(3, TxBegan, "T", "n3", ts(3), implicit=implicit)
    story.read("T", t, "y", 10, None)
    story.write("T", t, "x", written)
    story.add(70, TxCommitted, "n1", "T", ts(70), ((t, 1, 1),))
    assert [one for one in kinds(story) if one != "executed-beyond-lease"] == found


def executed(*times: int, implicit: bool = False, holder: str = "n1") -> list[str]:
    """Operations of one transaction in a partition that has a lease of n1, and then another."""
    story = Story()
    t = story.table()
    story.add(0, *lease(1, 20))
    story.add(1, *lease(30, 60, holder))
    story.add(2, TxBegan, "T", "n1", ts(2), implicit=implicit)
    for at in times:
        story.write("T", t, "x", at)
    return kinds(story)


def test_a_transaction_uses_a_partition_under_one_lease() -> None:
    """Whether it commits or not: its locks ended with the first one."""
    assert executed(10, 19) == []
    assert executed(35, 40) == []
    assert executed(10, 35, 36) == ["under-two-leases"]
    assert executed(10, 35, implicit=True) == []
    assert executed(10, 19, holder="n2") == []


def test_a_primary_executes_nothing_once_its_lease_is_over() -> None:
    assert executed(20) == ["executed-beyond-lease"]
    assert executed(20, implicit=True) == ["executed-beyond-lease"]
    assert executed(60) == ["executed-beyond-lease"]


def test_machinery_assumes_nothing_about_clocks() -> None:
    """But for `ignite3`, whose stamps are in order only while elections take longer than skew."""
    claims = {
        name: next(one for one in STRATEGIES.get(name).header.claims if one.invariant == "I12")
        for name in ("iep", "ignite3")
    }
    assert claims["iep"].assumes == ()
    stamped = {"stamps-unordered", "leases-overlap", "lease-shortened", "committed-beyond-lease"}
    stamped |= {"executed-beyond-lease", "under-two-leases", "safe-time-went-back"}
    assert set(claims["ignite3"].concerning) == stamped


@pytest.mark.parametrize(
    ("concerning", "status"), [((), "out_of_assumption"), (("two-leaders",), "violation")]
)
def test_a_claim_may_assume_something_for_some_kinds_only(
    concerning: tuple[str, ...], status: str
) -> None:
    settings: dict[str, Any] = {"": {"max_clock_skew_ms": 10}, "n1": {}}
    story = Story(settings=settings)
    story.design = structs.replace(
        story.design, claims=(Claim("I12", (SKEW_BOUNDED,), (), concerning),)
    )
    story.clock("n2", 11)
    story.add(3, SafeTimeAdvanced, "n1", 9)
    story.add(4, SafeTimeAdvanced, "n1", 8)
    [violation] = judge(story.history()).violations
    assert violation.status == status


def test_leases_excuse_skew_only_where_a_place_moves() -> None:
    def status(*, moves: bool, skew: float) -> str:
        settings: dict[str, Any] = {"": {"max_clock_skew_ms": 10}, "n1": {}}
        story = Story(("I12",), assumes={"I12": (LEASES_HOLD,)}, settings=settings)
        story.clock("n2", skew)
        story.add(1, *lease(0, 50))
        story.add(2, *lease(51, 90, "n2" if moves else "n1"))
        story.add(3, SafeTimeAdvanced, "n1", 9)
        story.add(4, SafeTimeAdvanced, "n1", 8)
        [violation] = judge(story.history()).violations
        return violation.status

    assert status(moves=False, skew=11) == "violation"
    assert status(moves=True, skew=10) == "violation"
    assert status(moves=True, skew=11) == "out_of_assumption"
