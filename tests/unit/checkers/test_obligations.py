"""I9: in a calm run every request is answered, every transaction ends, every safe time moves."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.history.events import (
    Failed,
    Invoked,
    SafeTimeAdvanced,
    TxAborted,
    TxBegan,
    Unknown,
    UpdateLogged,
)
from ddlsim.history.world_events import (
    ClockSet,
    FaultBegan,
    FaultHealed,
    LeaderSteppedDown,
    LeaseBegan,
    LeftOpen,
    NodeCrashed,
    NodeRestarted,
    PartitionSafeTime,
    TxRecovered,
)
from tests.support.history import Story, ts
from tests.support.judging import anomalies
from tests.support.quiet_runs import (
    CLIENT,
    COMMAND,
    COMMIT,
    COMPLETE,
    DATA,
    NODE,
    PLACE,
    REFRESHED,
    SUBMIT,
    quiet,
)


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("liveness", story)]


# --- requests -------------------------------------------------------------------------------------


def asked(kind: str, took: float, *, tx: str | None = "T", **more: Any) -> list[str]:
    """A request at 10 ms that its client gives up after `took`; T began with it."""
    story = quiet(6000, cluster=more.get("cluster"), **more.get("settings", {}))
    t = story.table()
    if kind != "ddl":
        story.begin("T", 10)
        story._enlist("T", t, 11, 1)
        story.abort("T", 20)
    if more.get("contended"):
        story.begin("U", 5)
        story._enlist("U", t, 6, 1)
        story.abort("U", 30)
    story.add(10, Invoked, "c", "T.op", tx, "n1", kind, table="t", key=1)
    if "reason" in more:
        story.add(10 + took, Failed, "c", "T.op", more["reason"])
    else:
        story.add(10 + took, Unknown, "c", "T.op", "NODE_UNREACHABLE")
    return kinds(story)


@pytest.mark.parametrize(
    ("kind", "bound"),
    [
        ("rollback", CLIENT),
        ("commit", CLIENT + COMMIT),
        ("put", CLIENT + REFRESHED + DATA),
        ("ddl", CLIENT + 2 * (SUBMIT + 2 * COMPLETE + 28) + 28),
    ],
)
def test_a_request_is_answered_within_what_its_steps_take(kind: str, bound: int) -> None:
    assert asked(kind, bound) == []
    assert asked(kind, bound + 1) == ["never-answered"]
    assert asked(kind, bound + 1, reason="NODE_UNREACHABLE") == ["never-answered"]
    assert asked(kind, bound + 1, reason="PRIMARY_MISSING") == ["never-answered"]
    assert asked(kind, bound + 1, reason="LOCK_CONFLICT") == []
    assert asked(kind, bound + 1, cluster={"calm": 0}) == []


@pytest.mark.parametrize(("resend_ms", "found"), [(5, ["never-answered"]), (4, [])])
def test_a_read_of_the_past_is_due_where_an_answer_comes_before_the_next_replica_is_asked(
    resend_ms: int, found: list[str]
) -> None:
    """There and back, and whole milliseconds."""
    assert 2 * 1 + 3 == 5
    story = quiet(9000, read_resend_ms=resend_ms)
    story.add(10, TxBegan, "T", "n1", ts(10), False, ts(5))
    story.add(10, Invoked, "c", "T.op", "T", "n1", "get", table="t", key=1)
    story.add(8000, Unknown, "c", "T.op", "NODE_UNREACHABLE")
    story.abort("T", 8010)
    assert kinds(story) == found


def test_an_operation_may_wait_for_the_locks_of_another_transaction() -> None:
    bound = CLIENT + REFRESHED + DATA + 300 + COMMIT
    assert asked("put", bound, contended=True) == []
    assert asked("put", bound + 1, contended=True) == ["never-answered"]


@pytest.mark.parametrize(
    ("kind", "delay_ms", "tx", "more_ms"),
    [("put", COMPLETE, None, 0), ("put", COMPLETE - 1, None, 1000), ("put", 20, "T", 0),
     ("get", 20, None, 0)],
)  # fmt: skip
def test_a_one_phase_write_may_wait_for_a_leader_without_metadata_for_its_time_limit(
    kind: str, delay_ms: int, tx: str | None, more_ms: int
) -> None:
    """Where DD is smaller than what metadata takes to be complete; other operations never do."""
    bound = CLIENT + REFRESHED + DATA + more_ms
    if tx is None:
        bound += COMMIT + 300  # and it may have been tried again
    settings = {"delay_duration_ms": delay_ms, "operation_timeout_ms": 1000}
    assert asked(kind, bound, tx=tx, settings=settings) == []
    assert asked(kind, bound + 1, tx=tx, settings=settings) == ["never-answered"]


def test_a_statement_waits_for_those_before_it_and_for_lost_races() -> None:
    turn = SUBMIT + 2 * COMPLETE + 28
    bound = CLIENT + 3 * (turn + SUBMIT) + 28

    def told(took: int) -> list[str]:
        story = quiet(6000)
        story.add(10, Invoked, "c", "D", None, "n1", "ddl")
        story.add(10, Invoked, "d", "E", None, "n1", "ddl")
        story.add(20, Failed, "d", "E", "DDL_REFUSED")
        story.add(15, UpdateLogged, "n1", "E", 2, 2, ts(15), ts(35), 20, ())
        story.add(10 + took, Unknown, "c", "D", "NODE_UNREACHABLE")
        return kinds(story)

    assert told(bound) == []
    assert told(bound + 1) == ["never-answered"]


# --- transactions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("delay_ms", "more_ms"), [(COMPLETE, 0), (COMPLETE - 1, 1000)])
def test_a_transaction_ends_within_its_time_limit(delay_ms: int, more_ms: int) -> None:
    """A one-phase write may wait for a leader without metadata, where DD is so small."""
    allowed = 4 * (300 + COMMIT) + DATA + more_ms

    def left(end: int) -> list[str]:
        story = quiet(end, delay_duration_ms=delay_ms, operation_timeout_ms=1000)
        story.add(10, TxBegan, "T", "n1", ts(10))
        story.add(end, LeftOpen, "n2", "T", "locks")
        return kinds(story)

    assert left(10 + allowed) == []
    assert left(11 + allowed) == ["transaction-open", "left-open"]


@pytest.mark.parametrize(("limit_ms", "found"), [(5, False), (6, True)])
def test_a_transaction_may_stay_open_where_no_answer_comes_within_an_operations_time_limit(
    limit_ms: int, *, found: bool
) -> None:
    """Two messages of 1 ms, and 3 ms: its coordinator asks for the outcome again and again."""
    story = quiet(6000, operation_timeout_ms=limit_ms)
    story.add(10, TxBegan, "T", "n1", ts(10))
    story.add(6000, LeftOpen, "n2", "T", "locks")
    assert kinds(story) == ["transaction-open", "left-open"] * found


@pytest.mark.parametrize(
    ("after", "due"),
    [
        ((), ["transaction-open"]),
        ((TxBegan, "D/0.2@40", "n1", ts(40)), ["transaction-open"]),  # of that one
        ((TxBegan, "E/0.2@40", "n1", ts(40)), ["transaction-open", "transaction-open"]),
        ((Unknown, "c", "D", "NODE_UNREACHABLE"), []),
    ],
    ids=["alone", "another of it", "another of another", "the statement has ended"],
)
def test_a_statement_on_a_store_leaves_what_may_have_committed_behind(
    after: tuple[Any, ...], due: list[str]
) -> None:
    story = quiet(6000)
    story.design = replace(story.design, plane="fdb")
    story.add(10, Invoked, "c", "D", None, "n1", "ddl")
    story.add(20, TxBegan, "D/0.1@20", "n1", ts(20))
    if after:
        story.add(40, *after)
    assert kinds(story) == due


def test_locks_that_stay_for_good_are_judged_where_messages_are_lost_too() -> None:
    """Four times as long may pass then, and a time limit; a script may hold them for ever."""
    allowed = 4 * (4 * (300 + COMMIT) + DATA + 200)
    lossy = {"calm": 0, "staged": 0}

    def left(end: int, cluster: dict[str, int], *after: Any) -> list[str]:
        story = quiet(end, cluster=cluster, operation_timeout_ms=200)
        story.add(10, TxBegan, "T", "n1", ts(10))
        for event in after:
            story.add(20, *event)
        story.add(end, LeftOpen, "n2", "T", "locks")
        return kinds(story)

    assert left(10 + allowed, lossy) == []
    assert left(11 + allowed, lossy) == ["left-open"]
    assert left(11 + allowed, lossy, (FaultBegan, "pause", "n2", ("n2",))) == []
    assert left(11 + allowed, {"calm": 0, "staged": 1}) == []
    assert left(11 + allowed, {"calm": 0}) == []


@pytest.mark.parametrize(
    ("lasts_ms", "apart_ms", "found"),
    [(2000, 1933, ["left-open"]), (2000, 1934, []), (67, 0, ["left-open"]), (66, 0, [])],
)
def test_locks_may_stay_where_no_lease_lasts_csmax_longer_by_the_fastest_clock(
    lasts_ms: int, apart_ms: int, found: list[str]
) -> None:
    """The look of the driver takes 50 ms, the way through the log `COMMAND`, CSmax 5."""
    assert NODE["lease_check_ms"] + COMMAND + NODE["max_clock_skew_ms"] == 66
    settings = {"operation_timeout_ms": 200, "lease_duration_ms": lasts_ms}
    story = quiet(400_000, cluster={"calm": 0, "staged": 0}, **settings)
    story.add(0, ClockSet, "n1", apart_ms * 1000, 0)
    story.add(10, TxBegan, "T", "n1", ts(10))
    story.add(400_000, LeftOpen, "n2", "T", "locks")
    assert kinds(story) == found


@pytest.mark.parametrize(
    ("grant_ms", "over_ms", "at_table", "found"),
    [(11, 200, 0, []), (12, 200, 0, ["left-open"]), (11, 201, 0, ["left-open"]),
     (11, 200, 1, ["left-open"])],
)  # fmt: skip
def test_an_orphan_stays_where_leases_are_not_granted_in_time_and_its_table_has_no_primary(
    grant_ms: int, over_ms: int, at_table: int, found: list[str]
) -> None:
    """Another holder is found within `PLACE` and 3 ms, and a candidate ready within 12 ms."""
    end = 200 + 5 + PLACE + 4
    story = quiet(end, lease_grant_ms=grant_ms, tx_timeout_ms=100_000)
    tables = story.table("t"), story.table("u")
    story.add(1, LeaseBegan, "n1", f"{tables[at_table]}/0", "n1", ts(1), ts(over_ms))
    story.begin("T", 10)
    story._enlist("T", tables[0], 11, 1)
    story.add(20, NodeCrashed, "n1")
    story.add(21, NodeRestarted, "n1", 2)
    story.add(end, LeftOpen, "n2", "T", "locks")
    assert [one for one in kinds(story) if one == "left-open"] == found


@pytest.mark.parametrize(
    ("grant_ms", "at_table", "found"),
    [(11, 0, []), (12, 0, ["left-open"]), (11, 1, ["left-open"])],
)
def test_locks_stay_where_no_lease_is_granted_in_time_though_the_coordinator_lives(
    grant_ms: int, at_table: int, found: list[str]
) -> None:
    """Its commit cannot be stored at a partition without a primary, nor its locks be released."""
    story = quiet(100_000, lease_grant_ms=grant_ms, cluster={"staged": 0})
    tables = story.table("t"), story.table("u")
    story.add(1, LeaseBegan, "n1", f"{tables[at_table]}/0", "n1", ts(1), ts(200))
    story.begin("T", 10)
    story._enlist("T", tables[0], 11, 1)
    story.add(100_000, LeftOpen, "n2", "T", "locks")
    assert [one for one in kinds(story) if one == "left-open"] == found


CLEANED = PLACE + SUBMIT + 3
RECOVERED = 2 * 2000 + 150 + 30 + SUBMIT + CLEANED


@pytest.mark.parametrize(
    ("ended", "healed_ms", "due_ms"),
    [
        ((TxAborted, "n1", "T", "LOCK_CONFLICT"), None, 20 + CLEANED),
        ((TxAborted, "n1", "T", "LOCK_CONFLICT"), 15, 20 + CLEANED + 70),
        ((TxAborted, "n1", "T", "LOCK_CONFLICT"), 40, 40 + CLEANED + 70),
        ((TxRecovered, "n2", "T", "aborted"), None, 20 + CLEANED),
        ((NodeCrashed, "n1"), None, 20 + RECOVERED + 70),
        ((NodeCrashed, "n1"), 40, 40 + RECOVERED + 70),
    ],
    ids=["aborted", "after a fault", "before one heals", "recovered", "dead", "dead, then a fault"],
)
def test_what_is_left_open_is_stuck_until_its_time_is_over_and_a_violation_then(
    ended: tuple[Any, ...], healed_ms: int | None, due_ms: int
) -> None:
    """A run may end too soon to tell. Behind a fault, a crash too, requests rest up to a limit."""

    def found(end: int) -> tuple[Outcome, list[str]]:
        changes = {"orphan_check_ms": 150, "orphan_sweep_ms": 60, "operation_timeout_ms": 70}
        story = quiet(end, cluster={"calm": 0}, **changes)
        story.begin("T", 10)
        story.add(20, *ended)
        if healed_ms is not None:
            story.add(healed_ms, FaultHealed, "pause", "n2", ("n2",))
        story.add(end, LeftOpen, "n2", "T", "locks")
        verdict = judge(story.history())
        assert [one.kind for one in verdict.violations] == ["left-open"]
        return verdict.outcome, [one.status for one in verdict.violations]

    assert found(due_ms) == (Outcome.STUCK, ["stuck"])
    assert found(due_ms + 1) == (Outcome.VIOLATED, ["violation"])


@pytest.mark.parametrize(
    ("grant_ms", "leases", "found"),
    [
        (11, [(0, 54)], []),
        (11, [(0, 55)], ["left-open"]),
        (12, [(0, 54)], ["left-open"]),  # leases are granted in time
        (11, [(0, 30), (100, 154), (200, 254)], []),
        (11, [(0, 30), (100, 155), (200, 254)], ["left-open"]),
        (11, [(0, 30), (0, 54), (0, 80)], ["left-open"]),  # it was prolonged
    ],
)
@pytest.mark.parametrize("has_ended", [False, True])
def test_what_is_left_stays_where_every_lease_is_over_before_a_command_is_stored(
    grant_ms: int, leases: list[tuple[int, int]], found: list[str], *, has_ended: bool
) -> None:
    """A command is stored within `SUBMIT`; the last lease is not over for long."""
    assert SUBMIT == 54
    story = quiet(10_000, lease_grant_ms=grant_ms, cluster={"calm": 0})
    table, base = story.table("t"), 9_800
    for start, over in leases:
        story.add(
            base + start, LeaseBegan, "n1", f"{table}/0", "n1", ts(base + start), ts(base + over)
        )
    story.begin("T", 10)
    story._enlist("T", table, 11, 1)
    if has_ended:
        story.abort("T", 15)
    else:
        story.add(20, NodeCrashed, "n1")
        story.add(21, NodeRestarted, "n1", 2)
    story.add(10_000, LeftOpen, "n2", "T", "locks")
    assert kinds(story) == found


# --- safe times -----------------------------------------------------------------------------------


def test_the_safe_time_of_each_node_moves_after_each_idle_interval() -> None:
    def gap(ms: float) -> list[str]:
        story = quiet(1000)
        story.settings["n3"] = NODE
        for at in range(0, 500, 50):
            story.add(at, SafeTimeAdvanced, "n3", ts(at))
        at = 450 + ms
        while at < 1000:
            story.add(at, SafeTimeAdvanced, "n3", ts(int(at)))
            at += 50
        return kinds(story)

    assert gap(50 + COMMAND) == []
    assert gap(51 + COMMAND) == ["safe-time-still"]
    assert gap(600) == ["safe-time-still"]


def test_a_node_whose_safe_time_never_moved() -> None:
    story = quiet(200)
    story.settings["n3"] = NODE
    assert kinds(story) == ["safe-time-still"]


def test_the_safe_time_of_a_replica_moves_after_each_idle_command() -> None:
    def gap(ms: int) -> list[str]:
        story = quiet(1000)
        t = story.table()
        for node, late in (("n1", 0), ("n2", ms)):
            for at in range(100, 1000, 40):
                story.add(at + (late if at > 400 else 0), PartitionSafeTime, node, f"{t}/0", ts(at))
        return kinds(story)

    assert gap(COMMAND) == []
    assert gap(COMMAND + 1) == ["safe-time-still"]


# --- leaders and primaries ------------------------------------------------------------------------


def test_a_leader_stays() -> None:
    story = quiet(500)
    story.add(300, LeaderSteppedDown, "n1", "meta", 1)
    assert kinds(story) == ["leader-lost"]


def test_a_partition_gets_another_primary() -> None:
    def without(end: int) -> list[str]:
        story = quiet(end)
        t = story.table()
        story.add(1, LeaseBegan, "n1", f"{t}/0", "n1", ts(1), ts(200))
        return kinds(story)

    assert without(200 + 5 + PLACE + 3) == []
    assert without(200 + 5 + PLACE + 4) == ["primary-missing"]
