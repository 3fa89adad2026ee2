"""I9's fine claim: who waits, and for whom."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.checkers.progress.bounds import Bounds
from ddlsim.history.events import (
    Invoked,
    LockWaited,
    Ok,
    ReadExecuted,
    SafeTimeAdvanced,
    SchemaResolved,
    TxBegan,
    Unknown,
)
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaderSteppedDown,
    LeaseBegan,
    NodeCrashed,
    NodeRestarted,
    PartitionSafeTime,
    SettingChanged,
    TrafficDelayed,
)
from ddlsim.units import ms
from tests.support.history import Story, ts
from tests.support.judging import anomalies

NODE = {"max_clock_skew_ms": 10, "safe_time_interval_ms": 50, "resend_ms": 20}
NODES = ("n1", "n2", "n3", "n4")


def world(*, sick: str | None = "n3", calm: int = 1, voters: int = 3, **more: Any) -> Story:
    """n1 leads; one node is sick from 1000 to 2000 ms. The completeness bound is 100 ms + 2 PD."""
    node = NODE | {"partition_idle_ms": more.get("idle", 0)}
    settings = {"": {"voters": voters, "calm": calm}, **dict.fromkeys(NODES, node)}
    story = Story(("I9",), settings=settings)
    story.table()
    story.add(0, LeaderElected, more.get("leader", "n1"), "meta", 1)
    for node, at in (("n1", 1), ("n2", 5)):
        story.add(at, SafeTimeAdvanced, node, ts(1))
    if sick is not None:
        nodes = (sick,) if more.get("named", True) else ()
        story.add(1000, FaultBegan, "pause", None, nodes)
        if more.get("heals", True):
            story.add(2000, FaultHealed, "pause", None, nodes)
    return story


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("liveness", story)]


def test_the_bounds_are_computed() -> None:
    bounds = Bounds(Case(world().history()))
    assert bounds.reach_us == ms(4)
    assert bounds.completeness_us == ms(10 + 50 + 3 * 4 + 4 * 20)
    story = world()
    story.clock("n2", 3)
    story.clock("n3", -4)
    assert Bounds(Case(story.history())).completeness_us == ms(17 + 50 + 12 + 80)


def test_a_setting_counts_with_the_largest_value_that_it_ever_had() -> None:
    """Whoever leads meanwhile stamps as seldom as its own H says."""
    story = world()
    story.add(1100, SettingChanged, "n4", "safe_time_interval_ms", 200)
    story.add(1200, SettingChanged, "n4", "safe_time_interval_ms", 50)
    story.add(1300, SettingChanged, "n4", "delay_duration_ms", 900)
    assert Bounds(Case(story.history())).completeness_us == ms(10 + 200 + 3 * 4 + 4 * 20)


# --- schemas -------------------------------------------------------------------------------------


def waited(for_ms: float, *, node: str = "n2", at: float = 1500, **more: Any) -> list[str]:
    story = world(**more)
    name = more.get("purpose", "arrival")
    story.add(at, SchemaResolved, node, "T", "op", name, None, 1, ts(9), 1, ms(for_ms))
    return kinds(story)


def test_a_long_schema_wait_on_a_healthy_node_is_an_anomaly() -> None:
    assert waited(152) == []
    assert waited(152.001) == ["schema-wait"]


def test_schema_waits_of_faulty_nodes_and_leaders_are_not_judged() -> None:
    assert waited(500, node="n3") == []  # itself
    assert waited(500, leader="n3") == []  # whoever stamps the log
    assert waited(500, sick="n1") == []
    assert waited(500, sick=None) == []  # nobody was sick
    assert waited(500, at=900) == []  # not yet
    assert waited(500, at=3000) == []  # and no more
    assert waited(500, node="n3", sick="n2", voters=2) == []  # half of the voters may be sick
    assert waited(500, named=False) == []  # anybody may be
    assert waited(500, calm=0) == []  # it may wait for the script


@pytest.mark.parametrize(
    ("voters", "sick", "found"),
    [
        (1, ("n3",), ["schema-wait"]),  # learners are no voters
        (1, ("n3", "n4"), ["schema-wait"]),
        (2, ("n3", "n4"), ["schema-wait"]),
        (3, ("n3", "n4"), ["schema-wait"]),  # one of each
        (4, ("n3",), ["schema-wait"]),
        (4, ("n3", "n4"), []),  # half of the voters
    ],
)
def test_only_voters_that_may_be_faulty_excuse_a_schema_wait(
    voters: int, sick: tuple[str, ...], found: list[str]
) -> None:
    story = world(sick=None, voters=voters)
    for node in sick:
        story.add(1000, FaultBegan, "pause", node, (node,))
    story.add(1500, SchemaResolved, "n2", "T", "op", "arrival", None, 1, ts(9), 1, ms(500))
    assert kinds(story) == found


def between_leaders(*told: tuple[float, Any, str, int], group: str = "meta") -> list[str]:
    """A wait of n2 from 1000 to 1500 ms, and what was told of the leaders."""
    story = world()
    for at, kind, node, term in told:
        story.add(at, kind, node, *(() if kind is NodeCrashed else (group, term)))
    story.add(1500, SchemaResolved, "n2", "T", "op", "arrival", None, 1, ts(9), 1, ms(500))
    return kinds(story)


def test_schema_waits_without_a_leader_are_not_judged() -> None:
    """From the leader's death or stepping down to the next election, whoever is sick beside it."""
    left, elected = (LeaderSteppedDown, "n1", 1), (LeaderElected, "n4", 2)
    assert between_leaders((1100, *left), (1400, *elected)) == []
    assert between_leaders((1100, *left)) == []  # to the end
    assert between_leaders((900, *left), (1100, *elected)) == []
    assert between_leaders((1100, NodeCrashed, "n1", 1), (1400, *elected)) == []
    assert between_leaders((800, *left), (900, *elected)) == ["schema-wait"]  # before it
    assert between_leaders((1510, *left)) == ["schema-wait"]  # after it
    assert between_leaders((1100, *left), group="1/0") == ["schema-wait"]  # of something else
    assert between_leaders((800, *elected), (1100, *left)) == ["schema-wait"]  # who led no more
    again = (800, LeaderElected, "n1", 3)
    assert between_leaders(again, (1100, *left)) == ["schema-wait"]  # the term before


def test_a_healed_node_is_faulty_for_its_settling_time() -> None:
    """Skew and idle interval, and three resends: 120 ms."""
    assert waited(200, node="n3", at=2310) == []
    assert waited(200, node="n3", at=2330) == []
    story = world()
    story.add(2100, FaultBegan, "other", None, ("n4",))
    story.add(2330, SchemaResolved, "n3", "T", "op", "arrival", None, 1, ts(9), 1, ms(200))
    assert kinds(story) == ["schema-wait"]
    story.add(2329, SchemaResolved, "n3", "T", "op", "arrival", None, 1, ts(9), 1, ms(209))
    assert kinds(story) == ["schema-wait"]


def test_a_node_is_faulty_until_the_messages_that_a_fault_delayed_have_come() -> None:
    """A wait of n3, healed at 2000 ms and 4 ms of settling later: a fault of n4 goes on."""

    def long_wait(until: float, delayed: tuple[tuple[str, ...], int] | None) -> list[str]:
        story = world()
        story.add(1000, FaultBegan, "crash", None, ("n4",))
        if delayed is not None:
            story.add(1000, TrafficDelayed, "pause", *delayed)
        story.add(until, SchemaResolved, "n3", "T", "op", "arrival", None, 1, ts(9), 1, ms(200))
        return kinds(story)

    assert long_wait(2700, None) == ["schema-wait"]
    assert long_wait(2700, (("n3",), ms(400))) == []
    assert long_wait(2700, (("n3",), ms(100))) == ["schema-wait"]
    assert long_wait(2700, (("n4",), ms(400))) == ["schema-wait"]
    assert long_wait(2700, ((), ms(400))) == ["schema-wait"]


@pytest.mark.parametrize(
    ("fault", "by_ms", "found"),
    [
        ("slow_listener", 400, []),
        ("slow_listener", 100, ["schema-wait"]),
        ("pause", 400, ["schema-wait"]),
    ],
)
def test_a_node_is_faulty_until_the_command_that_a_fault_made_slow_is_applied(
    fault: str, by_ms: int, found: list[str]
) -> None:
    """A wait of n3, healed at 2000 ms and 4 ms of settling later: a fault of n4 goes on."""
    story = world(sick=None)
    story.settings[""]["slow_apply_us"] = ms(by_ms)
    story.add(1000, FaultBegan, "crash", None, ("n4",))
    story.add(1000, FaultBegan, fault, "n3", ("n3",))
    story.add(2000, FaultHealed, fault, "n3", ("n3",))
    story.add(2700, SchemaResolved, "n3", "T", "op", "arrival", None, 1, ts(9), 1, ms(200))
    assert kinds(story) == found


def test_a_crashed_node_is_faulty_until_it_restarts() -> None:
    def story(*events: Any) -> list[str]:
        story = world(sick=None)
        for at, kind, *fields in events:
            story.add(at, kind, *fields)
        story.add(1500, SchemaResolved, "n2", "T", "op", "arrival", None, 1, ts(9), 1, ms(200))
        return kinds(story)

    assert story((1000, NodeCrashed, "n3")) == ["schema-wait"]
    assert story((1000, NodeCrashed, "n2")) == []
    assert story((1000, NodeCrashed, "n3"), (1100, NodeRestarted, "n3", 2)) == []
    assert story((1000, NodeCrashed, "n3"), (1290, NodeRestarted, "n3", 2)) == ["schema-wait"]
    assert story((1000, NodeCrashed, "n3"), (1010, NodeCrashed, "n4")) == ["schema-wait"]


# --- operations ----------------------------------------------------------------------------------


def operated(
    took: float, *, kind: str = "put", node: str = "n2", primary: str = "n2", **more: Any
) -> Story:
    """An operation of 10 ms while all are well, and one of `took` while n3 is sick."""
    story = world(**more)
    for op, at, lasts in (("a", 100.0, 10.0), ("b", 1100.0, took)):
        tx = f"T{op}"
        story.add(at, Invoked, "c", op, None if kind == "ddl" else tx, node, kind)
        if kind != "ddl" and more.get("executed", True):
            story.add(at + 1, ReadExecuted, primary, tx, op, 1, 0, ts(9), 1, False, ())
        story.add(at + lasts, Ok, "c", op)
    return story


BOUND = 4 * 10 + 10 * 4 + 30 * 20
"""Of a data operation in this world, in milliseconds."""


@pytest.mark.parametrize("kind", ["get", "put", "delete", "commit"])
def test_a_slow_operation_without_faulty_participants_is_an_anomaly(kind: str) -> None:
    assert kinds(operated(BOUND, kind=kind)) == []
    assert kinds(operated(BOUND + 1, kind=kind)) == ["slow-operation"]


def test_a_slow_operation_with_a_faulty_participant_is_none() -> None:
    assert kinds(operated(800, node="n3")) == []
    assert kinds(operated(800, primary="n3")) == []
    assert kinds(operated(800, leader="n3")) == []
    assert kinds(operated(800, sick=None)) == []
    assert kinds(operated(800, executed=False)) == []  # whom it asked is not known
    assert kinds(operated(800, kind="scan")) == []
    story = operated(800)
    story.add(3, LeaseBegan, "n1", "1/1", "n3", ts(0), ts(1))
    assert kinds(story) == []
    story = operated(800)
    story.add(3, PartitionSafeTime, "n3", "1/0", ts(0))
    assert kinds(story) == []
    story = operated(800)
    story.add(3, PartitionSafeTime, "n3", "2/0", ts(0))
    assert kinds(story) == ["slow-operation"]


def test_waits_for_locks_and_schemas_do_not_count_as_slow() -> None:
    story = operated(BOUND + 50)
    story.add(1200, LockWaited, "n2", "Tb", "b", 1, "x", ms(50), True)
    assert kinds(story) == []
    story = operated(BOUND + 50)
    story.add(1200, SchemaResolved, "n2", "Tb", "b", "arrival", None, 1, ts(9), 1, ms(50))
    assert kinds(story) == []


def test_a_read_at_a_timestamp_may_wait_for_an_idle_partition() -> None:
    """Up to its interval, one period after the last command, and the skew of 10 ms."""
    for read_ts, allowed in ((None, BOUND), (5, BOUND + 70 + 10)):
        for took, found in ((allowed, []), (allowed + 1, ["slow-operation"])):
            story = operated(took, kind="get", idle=70)
            story.add(1100, TxBegan, "Tb", "n2", ts(1100), False, read_ts)
            assert kinds(story) == found


def test_a_ddl_may_wait_for_its_acknowledgement() -> None:
    """Nothing but DDLs is compared with it; DD is 0 here, and no update won a race."""
    assert kinds(operated(BOUND + 10, kind="ddl")) == []
    assert kinds(operated(BOUND + 11, kind="ddl")) == ["slow-operation"]


SUBMIT = 32 + 2 * 20
COMPLETE = 10 + 50 + 8 + 3 + 2 * 20
STATEMENT = (4 + 3) + 2 * (SUBMIT + 2 * COMPLETE + 13) + 13
"""Of a statement by the settings alone, as in a calm run, with messages of 1 ms; DD is 0."""


def alone(took: float, *, kind: str = "ddl", install: str = "", **more: Any) -> list[str]:
    """An operation on n2 while n3 is sick, and no other; messages take 1 ms."""
    story = world(**more)
    story.settings[""] |= {"slowest_us": 1000} if more.get("fast", True) else {}
    story.design = replace(story.design, rules={"install": install})
    if more.get("elected"):
        story.add(1200, LeaderElected, "n2", "meta", 2)
    story.add(1100, Invoked, "c", "b", None, "n2", kind)
    if more.get("unanswered"):
        story.add(1100 + took, Unknown, "c", "b", "NODE_UNREACHABLE")
    else:
        story.add(1100 + took, Ok, "c", "b")
    return kinds(story)


@pytest.mark.parametrize("unanswered", [False, True])
def test_a_statement_alone_is_judged_by_the_settings(unanswered: bool) -> None:
    """What waits for every node waits for a faulty one, with one statement or with several."""
    assert STATEMENT > 30 * 20, "or nothing would be looked at"
    assert alone(STATEMENT, unanswered=unanswered) == []
    assert alone(STATEMENT + 1, unanswered=unanswered) == ["slow-operation"]


def test_a_statement_alone_is_not_judged_where_something_else_may_hold_it_up() -> None:
    assert alone(2000, leader="n3") == []
    assert alone(2000, sick="n2") == []
    assert alone(2000, sick=None) == []
    assert alone(2000, elected=True) == []
    assert alone(2000, fast=False) == []  # how fast messages are is not known
    assert alone(2000, kind="put") == []
    assert alone(2000, install="install_once_unused") == []  # it waits for transactions
    assert alone(2000, install="install_once_known_everywhere") == ["slow-operation"]


# --- locks ---------------------------------------------------------------------------------------


def blocked(*, holder: str, key: Any = "x", ended: float | None = None) -> int:
    story = world()
    story.write("H", 1, "x", 1050, node=holder)
    if ended is not None:
        story.abort("H", ended)
    story.add(1500, LockWaited, "n2", "T", "op", 1, key, ms(300), True)
    return judge(story.history()).measures.blocked_behind


def test_blocked_behind_counts_waits_for_transactions_with_faulty_nodes() -> None:
    assert blocked(holder="n3") == 1
    assert blocked(holder="n3", key=None) == 1
    assert blocked(holder="n2") == 0
    assert blocked(holder="n3", key="y") == 0
    assert blocked(holder="n3", ended=1199) == 0
    assert blocked(holder="n3", ended=1201) == 1
