"""I11: waits for locks that are free, and reads that a replica could have given before."""

import pytest

from ddlsim.history.events import Invoked, LockWaited, ReadExecuted, SchemaResolved
from ddlsim.history.world_events import (
    FaultBegan,
    LeaderSteppedDown,
    LeaseBegan,
    PartitionSafeTime,
)
from tests.support.history import Story, ts
from tests.support.judging import anomalies

NODE = {"lock_retry_ms": 5, "partition_idle_ms": 50, "max_clock_skew_ms": 7, "retry_ms": 1}


def world(*, calm: bool = True) -> Story:
    cluster = {"calm": int(calm), "slowest_us": 1000, "tells_names": 1}
    return Story(settings={"": cluster, "n1": NODE, "n2": NODE})


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


# --- locks ---------------------------------------------------------------------------------------


def waited(until: float, *, kind: str = "put", other: str = "put", calm: bool = True) -> Story:
    """T waits for x from 20 on; Y, which has x, ends at 30. Its one node may know it 8 ms later."""
    story = world(calm=calm)
    t = story.table()
    story.begin("T", 5)
    story.begin("Y", 6)
    op = (story.read if other == "get" else story.write)("Y", t, "x", 7, *_writer(other))
    if other == "insert":
        first = next(one for one in story._events if getattr(one[2], "op", None) == op)
        place = story._events.index(first)
        old = first[2]
        assert isinstance(old, Invoked)
        changed = Invoked(old.at_us, old.client, op, "Y", "n1", "insert", "t", "x")
        story._events[place] = (*first[:2], changed)
        story._events = [one for one in story._events if type(one[2]).__name__ != "WriteExecuted"]
        story.add(7, ReadExecuted, "n1", "Y", op, t, 0, ts(7), 1, False, (_there(story, t),))
    story.commit("Y", 30)
    story.add(20, Invoked, "client of T", "T.w", "T", "n1", kind, table="t", key="x")
    story.add(until, LockWaited, "n1", "T", "T.w", t, "x", round((until - 20) * 1000), True)
    return story


def _writer(other: str) -> tuple[None, ...]:
    return (None,) if other == "get" else ()


def _there(story: Story, t: int) -> object:
    return story.found(t, "x", "Y", 1)


@pytest.mark.parametrize("other", ["put", "get", "insert"])
def test_a_lock_comes_soon_after_the_last_one_in_its_way_has_ended(other: str) -> None:
    """8 messages of 1 ms, and 5 ms of rest."""
    assert kinds(waited(43, other=other)) == []
    assert kinds(waited(43.1, other=other)) == ["held-up"]


def test_needless_stays_judges_only_calm_runs() -> None:
    assert kinds(waited(90, calm=False)) == []
    for event in (
        (FaultBegan, "message_loss", None),
        (LeaderSteppedDown, "n1", "1/0", 1),
    ):
        story = waited(90)
        story.add(25, *event)
        assert kinds(story) == []
    story = waited(90)
    for at, start in ((1, 1), (25, 24)):
        story.add(at, LeaseBegan, "n1", "1/0", "n1", ts(start), ts(5000))
    assert kinds(story) == []


def test_readers_do_not_conflict_with_readers() -> None:
    assert kinds(waited(25, kind="get", other="get")) == []
    assert kinds(waited(25.1, kind="get", other="get")) == ["held-up"]


def test_a_wait_behind_an_open_transaction_is_no_anomaly() -> None:
    """Z asks for the lock meanwhile; what it holds in the end is no reason to wait."""
    story = waited(60)
    story.begin("Z", 8)
    story.write("Z", 1, "x", 50)
    assert kinds(story) == ["held-up"]


@pytest.mark.parametrize("kind", ["insert", "replace", "update"])
def test_writes_that_look_first_are_refused_for_a_reader(kind: str) -> None:
    """They lock their row as a put does, whether they then write or not."""
    story = world()
    t = story.table()
    story.begin("H", 3)
    story.read("H", t, "x", 4, None)
    story.begin("T", 5)
    story.add(10, Invoked, "client of T", "T.w", "T", "n1", kind, table="t", key="x")
    story.add(25, LockWaited, "n1", "T", "T.w", t, "x", 15_000, False)
    story.abort("T", 26)
    assert kinds(story) == []


def test_a_read_only_transaction_is_asked_to_insert() -> None:
    story = world()
    story.begin("R", 100, read_at=50)
    story.add(101, Invoked, "client of R", "R.w", "R", "n1", "insert", table="t", key=1)
    story.abort("R", 102, "READ_ONLY")
    assert kinds(story) == []


# --- reads at a timestamp ------------------------------------------------------------------------


def read(
    at: float,
    *known: tuple[float, int],
    open_writes: int = 0,
    ends: tuple[float, float | None] | None = None,
) -> list[str]:
    """R reads at 150 what n1 has; it asks at 200, and n1's clock is right.

    W, the writer of `open_writes`, ends at the first of `ends`: with the second as its commit_ts,
    or aborted before any look-up at one.
    """
    story = world()
    t = story.table()
    story.begin("R", 199, read_at=150)
    for number in range(open_writes):
        story.write("W", t, number, 120)
    if ends is not None and ends[1] is None:
        story.abort("W", ends[0])
    elif ends is not None:
        story.commit("W", ends[0], commit_ts=ends[1])
    for known_at, known_ts in known:
        story.add(known_at, PartitionSafeTime, "n1", f"{t}/0", ts(known_ts))
    story.add(199, Invoked, "client of R", "R.g", "R", "n1", "get", table="t", key="x")
    fields = ("n1", "R", "R.g", "read-only", None, t, ts(150), 1, 0)
    story.add(200, SchemaResolved, *fields)
    row = story.found(t, "x", None, 1)
    story.add(at, ReadExecuted, "n1", "R", "R.g", t, 0, ts(150), 1, False, (row,))
    return [one for one in kinds(story) if one == "read-late"]


def test_a_read_waits_for_its_replica_and_no_longer() -> None:
    assert read(200, (150, 149)) == []
    assert read(210, (150, 149), (210, 150)) == []
    assert read(210.1, (150, 149), (210, 150)) == ["read-late"]
    assert read(200.1, (150, 150)) == ["read-late"]


def test_a_group_begins_with_the_first_operation_at_a_primary() -> None:
    """All clocks show 151 by 200; a get began the group at 180, or a first safe time at 260."""

    def begun(get: bool) -> list[str]:
        story = world()
        t = story.table()
        if get:
            story.read("G", t, "y", 180, None)
        story.begin("R", 199, read_at=150)
        story.add(199, Invoked, "client of R", "R.g", "R", "n1", "get", table="t", key="x")
        story.add(200, SchemaResolved, "n1", "R", "R.g", "read-only", None, t, ts(150), 1, 0)
        story.add(261, PartitionSafeTime, "n1", f"{t}/0", ts(200))
        row = story.found(t, "x", None, 1)
        story.add(261, ReadExecuted, "n1", "R", "R.g", t, 0, ts(150), 1, False, (row,))
        return kinds(story)

    assert begun(get=True) == ["read-late"]
    assert begun(get=False) == []


def test_a_read_may_wait_to_resolve_intents() -> None:
    """Of each 6 messages."""
    assert read(212, (150, 150), open_writes=2) == []
    assert read(212.1, (150, 150), open_writes=2) == ["read-late"]


@pytest.mark.parametrize("commit_ts", [149, None])
def test_a_read_may_wait_for_what_is_being_decided_and_rest_once(commit_ts: float | None) -> None:
    """W's outcome is at its coordinator at 207 or 222; 6 messages and 1 ms of rest follow."""
    for decided, until in ((205, 214), (220, 229)):
        ends = (decided, commit_ts)
        assert read(until, (150, 150), open_writes=1, ends=ends) == []
        assert read(until + 0.1, (150, 150), open_writes=1, ends=ends) == ["read-late"]


@pytest.mark.parametrize("ends", [(205, 151), (197, 149)])
def test_a_read_does_not_wait_for_what_commits_behind_it_or_was_decided_before(
    ends: tuple[float, float],
) -> None:
    assert read(206, (150, 150), open_writes=1, ends=ends) == []
    assert read(206.1, (150, 150), open_writes=1, ends=ends) == ["read-late"]


def test_safe_time_gets_there_an_idle_interval_after_the_clocks() -> None:
    """All clocks show 151 by 200; 50 ms of idle time, 8 messages and two retries come after it."""
    assert read(260, (150, 149), (260, 150)) == []
    assert read(260.1, (150, 149), (260.1, 150)) == ["read-late"]
