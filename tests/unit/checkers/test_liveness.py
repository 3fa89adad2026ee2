"""I9: what never ends, what freezes for good, what is left behind, and how long the rest took."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.history.events import Invoked, LockWaited, Ok, SafeTimeAdvanced, TxBegan, UpdateApplied
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaderSteppedDown,
    LeftOpen,
    NeverCompleted,
    NodeCrashed,
    NodeRestarted,
    SchemaBehind,
    TxRecovered,
)
from tests.support.history import Story, ts
from tests.support.judging import anomalies


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("liveness", story)]


# --- what never ends -----------------------------------------------------------------------------


def stuck() -> Story:
    story = Story(("I9",))
    t = story.table()
    story.add(5, SafeTimeAdvanced, "n2", ts(4))
    story.write("T", t, "x", 10, node="n2")
    story.add(12, LockWaited, "n2", "T", "T.c", t, "x", 1000, True)
    story.add(20, Invoked, "c", "T.c", "T", "n1", "commit")
    story.add(90, NeverCompleted, "c", "T.c", "an answer to commit from n1")
    return story


def test_what_never_completes_makes_a_run_stuck_and_not_violated() -> None:
    verdict = judge(stuck().history())
    assert verdict.outcome is Outcome.STUCK
    [violation] = verdict.violations
    assert (violation.kind, violation.status) == ("never-completed", "stuck")
    assert violation.summary == (
        "T.c of c never ended: it waits for an answer to commit from n1; last, at 12 ms, it got a "
        "lock on n2; n2 has stood at safe time 4 since 5 ms"
    )
    story = Story(())
    story.add(1, Invoked, "c", "op", None, "n1", "get")
    story.add(9, NeverCompleted, "c", "op", "an answer")
    assert [v.status for v in judge(story.history()).violations] == ["accepted"]
    assert judge(story.history()).outcome is Outcome.STUCK


def test_waiting_says_that_a_node_is_dead() -> None:
    story = stuck()
    story.add(15, NodeCrashed, "n2")
    [anomaly] = anomalies("liveness", story)
    assert anomaly.summary.endswith("n2 is dead")


def test_a_step_that_never_began_is_not_stuck() -> None:
    story = Story()
    story.add(9, NeverCompleted, "c", "s2", "its moment, s1.ok")
    assert kinds(story) == []
    assert judge(story.history()).outcome is Outcome.STUCK


# --- safe time -----------------------------------------------------------------------------------


def moving(*, last: int, end: int = 5000, interval: int = 50, **more: Any) -> Story:
    """n1 moves to the end, n2 to `last`."""
    story = Story(settings={"": {"safe_time_interval_ms": interval}})
    for at in range(0, end + 1, 100):
        story.add(at, SafeTimeAdvanced, "n1", ts(at))
        if at <= last:
            story.add(at, SafeTimeAdvanced, "n2", ts(at))
    if more.get("crashed"):
        story.add(last + 1, NodeCrashed, "n2")
    if more.get("healed"):
        story.add(1, FaultBegan, "pause", "n2", ("n2",))
        story.add(more["healed"], FaultHealed, "pause", "n2", ("n2",))
    return story


def test_a_safe_time_that_stands_still_for_good() -> None:
    """[98.x.6]"""
    assert kinds(moving(last=5000)) == []
    assert kinds(moving(last=3500)) == ["safe-time-froze"]
    assert kinds(moving(last=3600)) == []
    assert kinds(moving(last=3500, interval=250)) == []
    assert kinds(moving(last=3000, crashed=True)) == []
    assert kinds(moving(last=1000, healed=3500)) == ["safe-time-froze"]
    assert kinds(moving(last=1000, healed=3600)) == []
    slow = moving(last=1000, healed=3400)
    slow.settings[""]["slow_apply_us"] = 100_000
    assert kinds(slow) == ["safe-time-froze"]
    slow.settings[""]["slow_apply_us"] = 100_001
    assert kinds(slow) == []


def test_a_safe_time_that_has_never_moved_stands_still() -> None:
    """The header names all nodes, also those of which there is no event."""
    story = moving(last=-1)
    assert kinds(story) == []
    story.settings |= {"n1": {}, "n2": {}}
    [anomaly] = anomalies("liveness", story)
    assert anomaly.summary.startswith("the safe time of node n2 has stood at 0 since 0 ms")
    assert kinds(moving(last=-1, crashed=True)) == []


# --- what was left behind ------------------------------------------------------------------------


def left(*ends: tuple[Any, ...]) -> list[str]:
    story = Story()
    story.add(1, TxBegan, "T", "n1", ts(1))
    for at, (kind, *fields) in enumerate(ends, 2):
        story.add(at, kind, *fields)
    story.add(99, LeftOpen, "n2", "T", "locks")
    return kinds(story)


def test_ended_transactions_leave_no_locks_or_intents() -> None:
    assert left() == []
    assert left((TxRecovered, "n2", "T", "aborted")) == ["left-open"]
    assert left(*[(NodeCrashed, "n3")] * 96, (TxRecovered, "n2", "T", "aborted")) == ["left-open"]
    assert left(*[(NodeCrashed, "n3")] * 97, (TxRecovered, "n2", "T", "aborted")) == []
    assert left((NodeCrashed, "n2")) == []
    assert left((NodeCrashed, "n1")) == ["left-open"]
    assert left((NodeCrashed, "n1"), (NodeRestarted, "n1", 2)) == ["left-open"]
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.add(99, LeftOpen, "n2", "T", "intents")
    assert kinds(story) == []
    story.commit("T", 11)
    assert kinds(story) == ["left-open"]
    other = Story()
    other.write("T", other.table(), "x", 10)
    other.abort("T", 11)
    other.add(99, LeftOpen, "n2", "T", "intents")
    assert kinds(other) == ["left-open"]


@pytest.mark.parametrize(
    ("stepped_ms", "elected_ms", "idle_ms", "due"),
    [
        (200, 100, 20, []),
        (None, 100, 20, ["left-open"]),
        (200, 300, 20, ["left-open"]),  # another leader followed
        (200, 100, 2, ["left-open"]),  # no settings keep leaders from being elected
    ],
)
def test_nothing_ends_where_no_leader_follows_on_one_that_stepped_down(
    stepped_ms: int | None, elected_ms: int, idle_ms: int, due: list[str]
) -> None:
    settings = {"election_timeout_ms": 50, "heartbeat_idle_ms": 5 * idle_ms}
    story = Story(settings={"": settings})
    story.write("T", story.table(), "x", 10)
    story.abort("T", 11)
    story.add(elected_ms, LeaderElected, "n2", "meta", 9)
    if stepped_ms is not None:
        story.add(stepped_ms, LeaderSteppedDown, "n2", "meta", 9)
    story.add(99_000, LeftOpen, "n2", "T", "intents")
    assert kinds(story) == due


@pytest.mark.parametrize(
    ("group", "elected_ms", "idle_ms", "due"),
    [
        ("meta", 98_900, 20, []),
        ("1/0", 98_900, 20, []),
        ("2/0", 98_900, 20, ["left-open"]),  # another table's
        ("meta", 90_000, 20, ["left-open"]),  # the last election was long ago
        ("meta", 98_900, 2, ["left-open"]),  # no settings keep leaders from staying
    ],
)
def test_nothing_ends_where_heartbeats_are_rarer_than_elections_and_these_go_on(
    group: str, elected_ms: int, idle_ms: int, due: list[str]
) -> None:
    settings = {"election_timeout_ms": 50, "heartbeat_idle_ms": 5 * idle_ms}
    story = Story(settings={"": settings})
    table = story.table()
    assert table == 1
    story.begin("T", 9)
    story.write("T", table, "x", 10)
    story.add(20, NodeCrashed, "n1")
    story.add(elected_ms, LeaderElected, "n2", group, 9)
    story.add(99_000, LeftOpen, "n2", "T", "intents")
    assert kinds(story) == due


# --- a schema that a watch should have renewed ----------------------------------------------------


@pytest.mark.parametrize(
    ("end_ms", "calm", "found"),
    [(2079, 1, []), (2080, 1, ["schema-froze"]), (2080, 0, [])],
)
def test_a_watch_that_is_armed_again_tells_of_every_update(
    end_ms: int, calm: int, found: list[str]
) -> None:
    """Within a second more than it takes to arm it again, once nothing changes or fails any more.

    Unless the network loses messages, or a script holds them.
    """
    story = Story()
    story.settings[""]["calm"] = calm
    story.add(10, FaultBegan, "partition", "n2", ("n2",))
    story.add(30, FaultHealed, "partition", "n2", ("n2",))
    assert kinds(story) == []
    story.add(end_ms, SchemaBehind, "n2", 1, 2, 1050)
    assert kinds(story) == found


def test_what_a_watch_did_not_tell_is_named() -> None:
    story = Story()
    story.settings[""]["calm"] = 1
    story.add(9000, SchemaBehind, "n2", 1, 2, 100)
    [anomaly] = anomalies("liveness", story)
    assert anomaly.summary == (
        "when the run ended, node n2 still kept update 1 of the schema and not 2; the last update "
        "and the last fault were over at 0 ms"
    )


# --- how long it took ----------------------------------------------------------------------------


def healed(*spans: tuple[float, float], at: float | None = None, load: int = 0) -> float | None:
    story = Story(settings={"": {"load_ms": load}})
    if at is not None:
        story.add(0, FaultBegan, "pause", "n2", ("n2",))
        story.add(at, FaultHealed, "pause", "n2", ("n2",))
    for number, (begins, ends) in enumerate(spans):
        story.add(begins, Invoked, "c", f"op{number}", None, "n1", "get")
        story.add(ends, Ok, "c", f"op{number}")
    return judge(story.history()).measures.after_heal_ms


def test_after_heal_ms_is_the_longest_operation_after_healing() -> None:
    assert healed((0, 49), at=50) is None
    assert healed((0, 57.5), (60, 63), at=50) == 7.5
    assert healed((0, 51), (60, 63), at=50) == 3
    assert healed((0, 57), load=50) == 7
    assert healed((0, 49), load=50) is None


@pytest.mark.parametrize("kind", [NodeCrashed, NodeRestarted])
def test_after_heal_ms_counts_crash_and_restart_as_faults(kind: Any) -> None:
    story = Story()
    story.add(0, Invoked, "c", "op", None, "n1", "get")
    story.add(20, kind, "n2", *([2] if kind is NodeRestarted else []))
    story.add(29, Ok, "c", "op")
    assert judge(story.history()).measures.after_heal_ms == 9


def held_up(advances: list[tuple[float, int]], **rules: str) -> int:
    """n1's catalog applies at 20 an update stamped 10; how often its safe time is named."""
    story = Story()
    story.design = replace(story.design, rules={**WITH_THE_REST, **rules})
    story.table()
    for at, safe_ms in advances:
        story.add(at, SafeTimeAdvanced, "n1", ts(safe_ms))
    story.add(20, UpdateApplied, "n1", 2, ts(10), ts(110))
    return sum(one.kind == "safe-time-held-up" for one in anomalies("liveness", story))


WITH_THE_REST = {"publish_safe_time": "AFTER_LISTENERS", "restored_safe_ts": "as_far_as_the_log"}


def test_safe_time_waits_for_nothing_but_the_catalog() -> None:
    assert held_up([(1, 5), (20, 10)]) == 0
    assert held_up([(1, 5), (20.001, 10)]) == 1
    assert held_up([(1, 5), (20, 9)]) == 1
    assert held_up([(1, 12)]) == 0
    assert held_up([(1, 5)], publish_safe_time="AFTER_ALL_LISTENERS") == 0
    assert held_up([(1, 5)], restored_safe_ts="from_the_beginning") == 0
