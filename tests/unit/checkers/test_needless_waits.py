"""I11: bounds by closed forms over the settings of a run, each at its edge."""

from operator import itemgetter
from typing import Any

import pytest

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import (
    DdlDecided,
    Invoked,
    Ok,
    ReadTimeChosen,
    SafeTimeAdvanced,
    TxBegan,
    UpdateLogged,
)
from ddlsim.history.world_events import FaultBegan, FaultHealed, NodeCrashed, SettingChanged
from ddlsim.units import US_PER_MS
from tests.support.history import Story, add_column, ts
from tests.support.judging import anomalies

NODE = {"delay_duration_ms": 100, "max_clock_skew_ms": 7, "partition_idle_ms": 50}


def world(*, calm: bool = False, slowest_us: int = 3000) -> Story:
    cluster = {"calm": int(calm), "slowest_us": slowest_us}
    return Story(settings={"": cluster, "n1": NODE, "n2": NODE})


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


@pytest.mark.parametrize(("tu", "found"), [(110, []), (111, ["activated-too-late"])])
def test_an_update_activates_after_one_delay(tu: int, found: list[str]) -> None:
    story = world()
    story.ddl("D", story.table(), add_column(2, "w"), tu=tu, tm=10, submit=10)
    assert kinds(story) == found


def test_an_update_may_activate_right_after_the_one_before_it() -> None:
    """Where DD was larger then [98.x.4]."""
    story = world()
    t = story.table()
    story.add(5, UpdateLogged, "n1", None, 2, 2, ts(5), ts(300), 0, ())
    story.add(10, UpdateLogged, "n1", "E", 3, 3, ts(10), ts(300) + 1, 0, ())
    assert kinds(story) == []
    story.add(11, UpdateLogged, "n1", "F", 4, 4, ts(11), ts(300) + 3, 0, ())
    assert kinds(story) == ["activated-too-late"]
    assert t == 1


def decided(due: int, *, outcome: str = "installed", logical: int = 0) -> Story:
    story = world()
    story.add(10, DdlDecided, "n1", "D", outcome, 1, ts(100) + logical, due)
    return story


def test_an_acknowledgement_waits_for_the_skew_and_a_tick() -> None:
    assert kinds(decided(ts(107))) == []
    assert kinds(decided(ts(107) + 1)) == ["acknowledged-too-late"]
    assert kinds(decided(ts(108), logical=1)) == []
    assert kinds(decided(ts(108), logical=0)) == ["acknowledged-too-late"]
    assert kinds(decided(ts(115), outcome="noop")) == ["acknowledged-too-late"]


def answered(at: float, *, calm: bool = True, offset: float = 0) -> list[str]:
    """Due at 107 by the clock of n1; no message takes more than 3 ms, whatever others waited."""
    story = world(calm=calm)
    story.clock("n1", offset)
    story.add(1, Invoked, "c", "g", None, "n1", "get", table="t", key=1)
    story.add(400, Ok, "c", "g")
    story.add(9, Invoked, "c", "D", None, "n1", "ddl", sql="DROP TABLE IF EXISTS x")
    story.add(10, DdlDecided, "n1", "D", "noop", 1, ts(100), ts(107))
    story.add(at, Ok, "c", "D")
    return kinds(story)


def test_an_answer_comes_once_the_clock_shows_it() -> None:
    """The longest that a message takes, and two ticks: 107 + 3 + 2."""
    assert answered(112) == []
    assert answered(112.1) == ["answered-too-late"]
    assert answered(112.1, calm=False) == []
    assert answered(117, offset=-5) == []
    assert answered(117.1, offset=-5) == ["answered-too-late"]


def waited(until: float, *safe: tuple[float, int], **more: Any) -> list[str]:
    """A look-up at 200, begun at 205: safe time 100 is enough."""
    story = world()
    t = story.table()
    for at, ts_ms in safe:
        story.add(at, SafeTimeAdvanced, "n1", ts(ts_ms))
    if more.get("died"):
        story.add(150, NodeCrashed, "n2")
    times = []
    for node, from_ms, until_ms in more.get("pauses", ()):
        times += [(until_ms, 0, FaultHealed, node), (from_ms, 1, FaultBegan, node)]
    for at, _, kind, node in sorted(times, key=itemgetter(0, 1)):
        story.add(at, kind, "pause", node, (node,))
    if more.get("changed"):
        story.add(150, SettingChanged, "n1", "delay_duration_ms", 50)
    resolved = story.resolve("T", t, 200, 1, at=until)
    story._events[-1] = (
        *story._events[-1][:2],
        type(resolved)(
            resolved.at_us,
            "n1",
            "T",
            None,
            "arrival",
            None,
            t,
            ts(200),
            1,
            int((until - 205) * US_PER_MS),
        ),
    )
    return kinds(story)


def test_a_look_up_waits_for_the_first_safe_time_that_will_do() -> None:
    assert waited(220, (150, 99), (220, 100)) == []
    assert waited(221, (150, 99), (220, 100)) == ["waited-too-long"]
    assert waited(206, (150, 100)) == ["waited-too-long"]
    assert waited(205, (150, 100)) == []
    assert waited(230, (150, 99)) == []
    assert waited(221, (150, 99), (220, 100), died=True) == []
    assert waited(221, (150, 99), (220, 100), changed=True) == []


@pytest.mark.parametrize(
    ("pause", "found"),
    [
        (("n1", 220, 230), []),
        (("n1", 220, 229), ["waited-too-long"]),
        (("n1", 221, 230), ["waited-too-long"]),
        (("n2", 220, 230), ["waited-too-long"]),
    ],
)
def test_a_look_up_of_a_paused_node_ends_with_the_pause(
    pause: tuple[str, float, float], found: list[str]
) -> None:
    assert waited(230, (150, 99), (220, 100), pauses=[("n1", 100, 140), pause]) == found


def test_a_node_that_two_faults_pause_goes_on_when_the_last_of_them_ends() -> None:
    pauses = [("n1", 219, 230), ("n1", 222, 224)]
    assert waited(230, (150, 99), (220, 100), pauses=pauses) == []
    assert waited(231, (150, 99), (220, 100), pauses=pauses) == ["waited-too-long"]


def test_a_pause_may_begin_in_the_instant_in_which_another_ends() -> None:
    """The end of the first is not the end of the second."""
    pauses = [("n1", 100, 220), ("n1", 220, 230)]
    assert waited(230, (150, 99), (220, 100), pauses=pauses) == []
    assert waited(231, (150, 99), (220, 100), pauses=pauses) == ["waited-too-long"]


@pytest.mark.parametrize(("read_at", "found"), [(143, []), (142, ["reads-too-far-back"])])
def test_a_reader_of_the_past_goes_no_further_than_replicas_need(
    read_at: int, found: list[str]
) -> None:
    story = world()
    story.add(200, TxBegan, "R", "n1", ts(200), implicit=False, read_ts=ts(read_at))
    assert kinds(story) == found


@pytest.mark.parametrize(
    ("name", "read_at", "found"),
    [
        ("D.look0", 100, []),
        ("D.look12", 100, []),
        ("D.look0", 101, ["reads-too-far-back"]),
        ("E.look0", 100, ["reads-too-far-back"]),
        ("D", 100, ["reads-too-far-back"]),
    ],
)
def test_a_statement_looks_for_rows_as_of_its_own_update(
    name: str, read_at: int, found: list[str]
) -> None:
    """However long it could not read them [110.later.2]."""
    story = world()
    story.ddl("D", story.table(), add_column(2, "w"), tu=100, tm=0, submit=0)
    story.add(400, TxBegan, name, "n1", ts(400), implicit=False, read_ts=ts(read_at))
    assert kinds(story) == found


@pytest.mark.parametrize("name", ["R", "Rr2", "S"])
def test_a_reader_of_the_past_goes_as_far_as_its_client_chose(name: str) -> None:
    """Also an attempt of an operation that no replica has answered."""
    story = world()
    story.add(199, ReadTimeChosen, "c", "R", ts(100))
    story.add(200, TxBegan, name, "n1", ts(200), implicit=True, read_ts=ts(100))
    assert kinds(story) == (["reads-too-far-back"] if name == "S" else [])


def test_when_a_clock_has_shown_a_millisecond() -> None:
    """Also where it jumps back in between, and where it drifts."""
    story = world()
    story.clock("n1", 10)
    story.clock("n1", -10, at=50)
    story.clock("n2", 0, drift_ppm=100_000)
    clocks = Clocks(Case(story.history()))
    assert clocks.shows_us("n1", 40, 0) in (30_000, 30_001)
    assert clocks.shows_us("n1", 40, 35_000) == 35_000
    assert clocks.shows_us("n1", 70, 0) in (80_000, 80_001)
    assert clocks.shows_us("n2", 110, 0) in (100_000, 100_001)
