"""I11: what an abort for another reason than the schema must have behind it."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.history.events import (
    Failed,
    Invoked,
    LockWaited,
    Ok,
    SafeTimeAdvanced,
    TxBegan,
    Unknown,
)
from ddlsim.history.world_events import (
    FaultBegan,
    LeaderElected,
    LeaseBegan,
    NodeCrashed,
    TxRecovered,
)
from tests.support.history import Story, ts
from tests.support.judging import anomalies

LIMITS = {
    "delay_duration_ms": 100,
    "max_clock_skew_ms": 7,
    "operation_timeout_ms": 1000,
    "tx_timeout_ms": 2000,
    "resend_ms": 1,
}


def world(*, calm: bool = True, **more: int) -> Story:
    return Story(settings={"": {"calm": int(calm), **LIMITS, **more}, "n1": LIMITS, "n2": LIMITS})


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


def aborted(
    reason: str, at: float, *, calm: bool = True, before: Any = None, **more: int
) -> list[str]:
    """T writes at 10 and is aborted."""
    story = world(calm=calm, **more)
    t = story.table()
    story.begin("T", 10)
    story.add(1, LeaseBegan, "n1", f"{t}/0", "n1", ts(0), ts(5000))
    story.write("T", t, "x", 11)
    if before is not None:
        before(story, t)
    story.abort("T", at, reason)
    return kinds(story)


# --- locks ---------------------------------------------------------------------------------------


def refused(
    other: Any, *, key: Any = "x", kind: str = "put", calm: bool = True, at: float = 30
) -> list[str]:
    """T, younger than H, is refused a lock after 15 ms."""
    story = world(calm=calm)
    t = story.table()
    story.begin("H", 5)
    story.begin("T", 10)
    other(story, t)
    story.add(at - 15, Invoked, "client of T", "T.w", "T", "n1", kind, table="t", key=key)
    story.add(at, LockWaited, "n1", "T", "T.w", t, None if kind == "scan" else key, 15_000, False)
    story.abort("T", at + 1)
    return kinds(story)


def writes(tx: str, key: str, at: float = 12, **more: Any) -> Any:
    return lambda story, t: story.write(tx, t, key, at, **more)


def reads(tx: str, key: str) -> Any:
    return lambda story, t: story.read(tx, t, key, 12, None)


def scans(tx: str) -> Any:
    return lambda story, t: story.scan(tx, t, 12, {})


@pytest.mark.parametrize(
    ("other", "key", "kind", "found"),
    [
        (writes("H", "x"), "x", "put", []),
        (writes("H", "x"), "x", "get", []),
        (reads("H", "x"), "x", "put", []),
        (reads("H", "x"), "x", "get", ["no-lock-holder"]),
        (writes("H", "y"), "x", "put", ["no-lock-holder"]),
        (writes("H", "x", node="n2"), "x", "put", ["no-lock-holder"]),
        (writes("H", "x", 40), "x", "put", ["no-lock-holder"]),
        (writes("T", "x"), "x", "put", ["no-lock-holder"]),
        (writes("H", "y"), None, "scan", []),
        (scans("H"), None, "scan", ["no-lock-holder"]),
        (reads("H", "y"), None, "scan", ["no-lock-holder"]),
    ],
)
def test_a_refused_lock_had_an_older_holder(
    other: Any, key: Any, kind: str, found: list[str]
) -> None:
    assert refused(other, key=key, kind=kind) == found


def test_a_lock_refused_because_of_a_younger_holder_is_needless() -> None:
    def younger(story: Story, t: int) -> None:
        story.begin("Y", 11)
        story.write("Y", t, "x", 12)

    assert refused(younger) == ["no-lock-holder"]


@pytest.mark.parametrize(("calm", "found"), [(True, ["no-lock-holder"]), (False, [])])
def test_transactions_that_ended_long_ago_hold_no_lock_in_a_calm_run(
    calm: bool, found: list[str]
) -> None:
    def ended(story: Story, t: int) -> None:
        story.write("H", t, "x", 12)
        story.commit("H", 20)

    assert refused(ended, calm=calm, at=40) == []
    assert refused(ended, calm=calm, at=900) == found


# --- leases, time limits, faults -----------------------------------------------------------------


def moves(story: Story, t: int) -> None:
    story.add(15, LeaseBegan, "n1", f"{t}/0", "n2", ts(14), ts(6000))


def breaks(story: Story, _: int) -> None:
    story.add(15, FaultBegan, "message_loss", None)


def dies(story: Story, _: int) -> None:
    story.add(15, NodeCrashed, "n2")


def lags(story: Story, _: int) -> None:
    story.add(15, FaultBegan, "slow_listener", "n2")


def elects(story: Story, _: int) -> None:
    story.add(15, LeaderElected, "n2", "meta", 2)


def elects_elsewhere(story: Story, t: int) -> None:
    story.add(15, LeaderElected, "n2", f"{t}/0", 2)


def moves_later(story: Story, t: int) -> None:
    story.add(50, LeaseBegan, "n1", f"{t}/0", "n2", ts(49), ts(6000))


def too_late(story: Story, _: int) -> None:
    story.add(50, NodeCrashed, "n2")


@pytest.mark.parametrize(
    ("at", "before", "found"),
    [
        (30, None, ["no-lease-ended"]),
        (4992, None, ["no-lease-ended"]),
        (4993, None, []),
        (30, moves, []),
        (30, dies, []),
        (30, too_late, ["no-lease-ended"]),
    ],
)
def test_primary_expired_needs_a_lease_that_ended_or_moved(
    at: float, before: Any, found: list[str]
) -> None:
    """The lease lasts until 5000, and CSmax is 7."""
    assert aborted("PRIMARY_EXPIRED", at, before=before) == found
    assert aborted("TX_FINISHED", at, before=before) == (found and ["not-finished"])


@pytest.mark.parametrize(
    ("before", "found"),
    [
        (breaks, ["no-lease-ended"]),  # what is silent or late ends no lease
        (elects_elsewhere, ["no-lease-ended"]),
        (moves_later, ["no-lease-ended"]),
        (lags, []),
        (elects, []),
    ],
)
@pytest.mark.parametrize("calm", [True, False])
def test_a_lease_that_lasts_is_refused_for_what_a_fault_can_have_caused(
    before: Any, found: list[str], *, calm: bool
) -> None:
    assert aborted("PRIMARY_EXPIRED", 30, before=before, calm=calm, staged=0) == found


@pytest.mark.parametrize(
    ("commit_ts", "end", "found"),
    [(5000, 6000, ["no-lease-ended"]), (5999, 6000, ["no-lease-ended"]), (6000, 6000, [])],
)
def test_a_lease_that_was_prolonged_beyond_commit_ts_is_not_over_there(
    commit_ts: int, end: int, found: list[str]
) -> None:
    """Whatever the faults: the coordinator waits until it has every prolongation."""

    def prolonged(story: Story, t: int) -> None:
        story.add(12, NodeCrashed, "n2")
        story.add(13, LeaseBegan, "n1", f"{t}/0", "n1", ts(0), ts(end))
        story.resolve("T", t, commit_ts, 1, purpose="commit")

    def moved(story: Story, t: int) -> None:
        prolonged(story, t)
        moves(story, t)

    def moved_behind(story: Story, t: int) -> None:
        prolonged(story, t)
        story.add(7001, LeaseBegan, "n1", f"{t}/0", "n2", ts(end + 8), ts(9000))

    assert aborted("PRIMARY_EXPIRED", 7000, before=prolonged, staged=1) == found
    assert aborted("PRIMARY_EXPIRED", 7000, before=moved, staged=1) == []
    assert aborted("PRIMARY_EXPIRED", 7000, before=moved_behind, staged=1) == found


def test_a_script_may_have_had_any_lease_refused() -> None:
    assert aborted("PRIMARY_EXPIRED", 30, staged=1) == []


@pytest.mark.parametrize(
    ("at", "before", "found"),
    [
        (1009, None, ["no-fault"]),
        (1010, None, []),
        (30, dies, []),
        (30, breaks, ["no-fault"]),  # what is lost is not refused
        (30, too_late, ["no-fault"]),
    ],
)
def test_node_unreachable_needs_a_crash_or_the_time_limit(
    at: float, before: Any, found: list[str]
) -> None:
    assert aborted("NODE_UNREACHABLE", at, before=before) == found
    assert aborted("NODE_UNREACHABLE", at, before=before, calm=False) == []


def failed(reason: str, *spans: tuple[float, float], read_ts: int | None = None) -> list[str]:
    """T begins at 10, its operations last so long, and it is aborted at 3000; n2 has crashed."""
    story = world()
    story.table()
    story.add(10, TxBegan, "T", "n1", ts(10), False, read_ts)
    dies(story, 1)
    for number, (begin, end) in enumerate(spans):
        op = f"T.{number}"
        story.add(begin, Invoked, "client of T", op, "T", "n1", "get", table="t", key="x")
        story.add(end, Failed, "client of T", op, reason)
    story.abort("T", 3000, reason)
    return kinds(story)


def test_a_read_only_transaction_asks_replicas_until_its_time_is_over() -> None:
    assert failed("NODE_UNREACHABLE", (2000, 2999), read_ts=ts(5)) == ["no-fault"]
    assert failed("NODE_UNREACHABLE", (2000, 3000), read_ts=ts(5)) == []
    assert failed("NODE_UNREACHABLE", (2000, 2001)) == []  # a dead node refuses


@pytest.mark.parametrize(
    ("invoked", "found"), [(2000, []), (2001, ["no-fault"]), (2999, ["no-fault"])]
)
def test_an_operation_that_its_client_gave_up_lasts_until_the_abort_at_most(
    invoked: float, found: list[str]
) -> None:
    """Its client gives up at 2999, the transaction is aborted at 3000; the limit is 1000."""
    story = world()
    story.table()
    story.begin("T", 10)
    story.add(invoked, Invoked, "client of T", "T.w", "T", "n1", "put", table="t", key="x")
    story.add(2999, Unknown, "client of T", "T.w", "NODE_UNREACHABLE")
    story.add(2999, Invoked, "client of T", "T.c", "T", "n1", "commit")
    story.abort("T", 3000, "NODE_UNREACHABLE")
    story.add(3001, Failed, "client of T", "T.c", "NODE_UNREACHABLE")
    assert [kind for kind in kinds(story) if kind != "given-up-early"] == found


def test_a_primary_is_looked_for_until_the_time_of_an_operation_is_over() -> None:
    assert failed("PRIMARY_MISSING", (2000, 2999)) == ["too-early"]
    assert failed("PRIMARY_MISSING", (2000, 3000)) == []
    assert failed("PRIMARY_MISSING", (2000, 3000), (2999, 3000)) == []  # with the one before
    assert failed("PRIMARY_MISSING", (2000, 2999), read_ts=ts(5)) == []


@pytest.mark.parametrize(("reason", "limit"), [("PRIMARY_MISSING", 1000), ("TX_TIMED_OUT", 2000)])
def test_timed_out_needs_the_time_limit(reason: str, limit: int) -> None:
    assert aborted(reason, 10 + limit - 1) == ["too-early"]
    assert aborted(reason, 10 + limit) == []


def test_recovered_needs_a_recovery_event() -> None:
    def recovered(story: Story, _: int) -> None:
        story.add(15, TxRecovered, "n2", "T", "aborted")

    assert aborted("TX_RECOVERED", 30) == ["not-recovered"]
    assert aborted("TX_RECOVERED", 30, before=recovered) == []
    assert aborted("TX_FINISHED", 30, before=recovered) == []


@pytest.mark.parametrize(
    ("rule", "behind", "found"),
    [
        ("operation_less_delay", 99, ["metadata-complete"]),
        ("operation_less_delay", 100, []),
        ("operation_less_delay_plus_skew", 92, ["metadata-complete"]),
        ("operation_less_delay_plus_skew", 93, []),
        ("at_operation", 0, []),  # a safe time is always behind that
        ("operation_plus_skew", 0, []),
    ],
)
def test_metadata_late_needs_a_safe_time_that_is_behind(
    rule: str, behind: int, found: list[str]
) -> None:
    def lags(story: Story, _: int) -> None:
        for node in ("n1", "n2"):
            story.add(9, SafeTimeAdvanced, node, ts(20 - (behind if node == "n2" else 0)))
            story.add(20, SafeTimeAdvanced, node, ts(20))

        story.design = replace(story.design, rules={"completeness_ts": rule})

    assert aborted("METADATA_LATE", 21, before=lags) == found


def test_read_only_needs_a_write_operation() -> None:
    assert aborted("READ_ONLY", 30) == ["not-written-to"]
    story = world()
    story.begin("R", 10, read_at=5)
    story.add(11, Invoked, "client of R", "R.w", "R", "n1", "put", table="t", key=1)
    story.abort("R", 12, "READ_ONLY")
    assert kinds(story) == []


@pytest.mark.parametrize(
    ("kind", "end", "found"),
    [
        ("get", (Ok,), ["not-asked-for"]),
        ("get", (Unknown, "NODE_UNREACHABLE"), ["given-up-early"]),
        ("get", (Failed, "BAD_ROW"), []),
        ("get", (Failed, "ROLLED_BACK"), ["not-asked-for"]),
        ("rollback", (Ok,), []),
        ("get", None, []),
    ],
)
def test_rolled_back_needs_a_rollback_or_a_failed_operation(
    kind: str, end: tuple[Any, ...] | None, found: list[str]
) -> None:
    def asks(story: Story, _: int) -> None:
        story.add(15, Invoked, "client of T", "T.o", "T", "n1", kind)
        if end is not None:
            story.add(16, end[0], "client of T", "T.o", *end[1:])

    assert aborted("ROLLED_BACK", 17, before=asks) == found
