"""The space-time picture: its facts are computed again, from the history and by networkx."""

from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

from ddlsim.checkers.argument import argue, evidence
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.cli.picture import (
    cut as picture_cut,
)
from ddlsim.cli.picture import (
    page as picture,
)
from ddlsim.cli.picture import (
    rerun as picture_rerun,
)
from ddlsim.cli.picture import (
    space as picture_space,
)
from ddlsim.cli.picture.layout import Lane
from ddlsim.cli.picture.space import Arrow, Band, Space
from ddlsim.cli.picture.state import states
from ddlsim.cli.picture.steps import Steps, lane_of
from ddlsim.cluster.run import run
from ddlsim.history.events import (
    SafeTimeAdvanced,
    UpdateApplied,
    UpdateLogged,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    MessageDelivered,
    MessageSent,
)
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.units import Timestamp, physical_ms, timestamp
from tests.support.drawn_pictures import (
    SKEWED,
    STORIES,
    Drawn,
    drawn_of,
    history_of,
    nodes_of,
    pieces,
    write_picture,
)

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module", params=[*STORIES, SKEWED])
def drawn(request: pytest.FixtureRequest) -> Drawn:
    return drawn_of(request.param)


@pytest.fixture(scope="module")
def skewed() -> Drawn:
    return drawn_of(SKEWED)


def evidence_of(drawn: Drawn) -> list[int]:
    return [at for at, _ in evidence(drawn.case, drawn.violation, drawn.argument.parties)]


# --- the causal past -----------------------------------------------------------------------------


def happens_before(history: History) -> nx.DiGraph:
    """Every event's predecessors, from the definition: the order of a lane, and of each message."""
    graph: nx.DiGraph = nx.DiGraph()
    last: dict[str, int] = {}
    for at, event in enumerate(history.events):
        lane = lane_of(event)
        graph.add_node(at)
        if lane is not None:
            if lane in last:
                graph.add_edge(last[lane], at)
            last[lane] = at
        if isinstance(event, MessageDelivered):
            wanted = (event.sender, event.to, event.kind, event.label, event.sent_us)
            for before in reversed(range(at)):
                one = history.events[before]
                if isinstance(one, MessageSent) and wanted == (
                    *(one.sender, one.to, one.kind, one.label, one.at_us),
                ):
                    graph.add_edge(before, at)
                    break
    return graph


def past_by_graph(drawn: Drawn, steps: Steps) -> set[int]:
    """The steps that hold an ancestor of an event of the evidence's steps."""
    graph = happens_before(drawn.case.history)
    numbers = {steps.step_of[at] for at in evidence_of(drawn)} - {None}
    ends = [at for at, number in enumerate(steps.step_of) if number in numbers]
    found = set(ends).union(*(nx.ancestors(graph, at) for at in ends))
    return {number for at in found if (number := steps.step_of[at]) is not None}


def past_of(drawn: Drawn, steps: Steps) -> set[int]:
    return steps.past(
        number for at in evidence_of(drawn) if (number := steps.step_of[at]) is not None
    )


@pytest.mark.parametrize("name", STORIES)
def test_the_causal_past_is_that_of_networkx(name: str) -> None:
    drawn = drawn_of(name)
    steps = Steps(drawn.case.history)
    past = past_of(drawn, steps)
    assert past == past_by_graph(drawn, steps)
    assert drawn.space.cut.in_past == len(past) < len(steps.steps)


@pytest.mark.parametrize("name", ["findings/F-1", "strategies/B3-T1"])
def test_a_dropped_edge_of_causality_is_seen(name: str) -> None:
    """Each message that alone brings something into the past is one whose loss is noticed."""
    drawn = drawn_of(name)
    whole = past_by_graph(drawn, Steps(drawn.case.history))
    missed = []
    for number in sorted(whole):
        steps = Steps(drawn.case.history)
        step = steps.steps[number]
        if step.arrived is not None:
            steps.steps[number] = step._replace(arrived=None)
            missed.append(past_of(drawn, steps) != whole)
    assert any(missed)


def test_every_event_of_a_lane_is_in_one_step_and_steps_are_consecutive(drawn: Drawn) -> None:
    steps = drawn.space.steps
    found = [at for step in steps.steps for at in range(step.first, step.last + 1)]
    assert found == [at for at, event in enumerate(steps.events) if lane_of(event) is not None]
    for step in steps.steps:
        events = steps.events_of(step)
        assert {(lane_of(event), event.at_us) for event in events} == {(step.lane, step.at_us)}
        assert not any(isinstance(event, MessageDelivered) for event in events[1:])


def test_the_evidence_is_drawn_and_all_else_of_the_past_is_counted(drawn: Drawn) -> None:
    shown = {one.step.number for one in drawn.space.cut.shown}
    steps = drawn.space.steps
    numbers = {steps.step_of[at] for at in evidence_of(drawn)} - {None}
    at_start = {number for number in numbers if not steps.steps[number or 0].at_us}
    assert numbers - at_start <= shown
    past = past_of(drawn, steps)
    for one in drawn.space.cut.shown:
        assert one.later == (one.step.number not in past)
    assert any(one.offending for one in drawn.space.cut.shown)


def lanes_with_six_nodes() -> set[str]:
    history = run(plan(load("findings/F-1", {"cluster.nodes": 6}), 0, trace=True))
    case = Case(history)
    violation = judge(history).violations[0]
    space = picture_space.space(case, violation, argue(case, violation))
    return {lane.name for lane in space.layout.lanes}


def test_nodes_that_only_apply_the_updates_have_no_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    taking_part = {"c1", "c2", "c3", "n1", "n2", "n3"}
    assert lanes_with_six_nodes() == taking_part
    monkeypatch.setattr(picture_cut, "_of_bystanders", lambda *_: set())
    assert lanes_with_six_nodes() == taking_part | {"n4", "n5", "n6"}


def test_an_operation_that_was_tried_again_has_a_bar_for_each_try(skewed: Drawn) -> None:
    """Of the first violation that names a second try, `mixed-N.Mr1`."""
    case = skewed.case
    violation, tried = next(
        (one, event.tx.removesuffix("r1"))
        for one in judge(case.history).violations
        for event in one.witness
        if getattr(event, "tx", None) is not None and event.tx.endswith("r1")
    )
    space = picture_space.space(case, violation, argue(case, violation))
    bars = {bar.text.partition(",")[0]: bar for bar in space.bars}
    first, second = bars[tried], bars[f"{tried}r1"]
    assert first.top < second.top
    assert first.x + first.width < second.x


# --- arrows --------------------------------------------------------------------------------------


def wrong_arrows(space: Space, arrows: list[Arrow]) -> list[Arrow]:
    """Arrows that lead back in time, or from or to a place that is no lane's."""
    lanes = {lane.x for lane in space.layout.lanes}
    heights = {row.y for row in space.layout.rows}
    return [
        one
        for one in arrows
        if one.y2 <= one.y1
        or one.x1 not in lanes
        or one.y1 not in heights
        or (not one.lost and not (one.x2 in lanes and one.y2 in heights))
    ]


def test_no_arrow_leads_back_and_each_ends_on_lanes(drawn: Drawn) -> None:
    arrows = list(drawn.space.arrows)
    assert arrows
    assert wrong_arrows(drawn.space, arrows) == []


def test_an_arrow_back_and_one_beside_its_lane_are_seen(drawn: Drawn) -> None:
    one = next(arrow for arrow in drawn.space.arrows if not arrow.lost)
    back = one._replace(y1=one.y2, y2=one.y1)
    beside = one._replace(x2=one.x2 + 1)
    assert wrong_arrows(drawn.space, [one, back, beside]) == [back, beside]


def test_each_message_between_drawn_steps_is_one_arrow(drawn: Drawn) -> None:
    """Counted from the events alone."""
    space = drawn.space
    shown = {one.step.number for one in space.cut.shown}
    events, step_of = space.steps.events, space.steps.step_of
    sent = {
        (one.sender, one.to, one.kind, one.label, one.at_us)
        for at, one in enumerate(events)
        if isinstance(one, MessageSent) and step_of[at] in shown
    }
    arrived = [
        one
        for at, one in enumerate(events)
        if isinstance(one, MessageDelivered)
        and step_of[at] in shown
        and one.sender != one.to
        and (one.sender, one.to, one.kind, one.label, one.sent_us) in sent
    ]
    assert len([one for one in space.arrows if not one.lost]) == len(arrived)


# --- bands ---------------------------------------------------------------------------------------


def first_us(case: Case, node: str, clock_ms: int) -> int:
    """The first instant at which a clock that never jumps shows a millisecond, by bisection."""
    [piece] = pieces(case, node)
    low, high = 0, case.history.end_us + 10_000_000
    while low < high:
        middle = (low + high) // 2
        if piece.shows_us(middle) >= clock_ms * 1000:
            high = middle
        else:
            low = middle + 1
    return low


def expected_bands(drawn: Drawn) -> Iterator[tuple[str, str, float, float]]:
    """DD and CSmax of each update of the picture on each node, computed from the history."""
    case, layout = drawn.case, drawn.space.layout
    csmax_ms = max(case.settings("max_clock_skew_ms"))
    colours = [name for _, name in drawn.space.colours]
    for lane in nodes_of(drawn):
        for at, update in case.of(UpdateLogged):
            if f"D{update.catalog_version}" not in colours:
                continue
            active_ms = physical_ms(Timestamp(update.activation_ts))
            all_ms = (physical_ms(Timestamp(update.message_ts)), active_ms, active_ms + csmax_ms)
            heights = []
            for ms in all_ms:
                instant = first_us(case, lane.name, ms)
                tie = at - 0.5 if ms == all_ms[0] and instant == update.at_us else -1
                heights.append(layout.y((instant, tie)))
            yield "dd", lane.name, heights[0], heights[1]
            yield "csmax", lane.name, heights[1], heights[2]


def differing_bands(drawn: Drawn) -> list[tuple[str, str]]:
    """The bands that do not lie where the history says, by more than half a pixel."""
    lanes = {lane.left: lane.name for lane in drawn.space.layout.lanes}
    found = [
        (band.look, lanes[int(band.x) - 3], band.top, band.bottom)
        for band in drawn.space.bands
        if band.look in {"dd", "csmax"}
    ]
    wanted = [one for one in expected_bands(drawn) if one[3] > one[2]]
    assert len(found) == len(wanted)
    return [
        one[:2]
        for one, other in zip(sorted(found), sorted(wanted), strict=True)
        if one[:2] != other[:2]
        or any(abs(a - b) > 0.5 for a, b in zip(one[2:], other[2:], strict=True))
    ]


def test_bands_lie_where_each_clock_shows_their_instants(drawn: Drawn) -> None:
    assert all(len(pieces(drawn.case, lane.name)) == 1 for lane in nodes_of(drawn))
    assert differing_bands(drawn) == []


def test_bands_of_skewed_clocks_are_not_level(skewed: Drawn) -> None:
    tops = {band.top for band in skewed.space.bands if band.look == "dd"}
    assert len(tops) == len(nodes_of(skewed)) > 1


def test_a_shifted_band_is_seen(skewed: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    right = picture_space.first_shows_us
    monkeypatch.setattr(
        picture_space,
        "first_shows_us",
        lambda clocks, node, ms: right(clocks, node, ms + (node == "n2")),
    )
    space = picture_space.space(skewed.case, skewed.violation, skewed.argument)
    wrong = differing_bands(skewed._replace(space=space))
    assert {node for _, node in wrong} == {"n2"}


def test_faults_of_a_kind_that_overlap_are_one_band_until_the_last_ends(skewed: Drawn) -> None:
    case = skewed.case
    node = next(lane.name for lane in nodes_of(skewed))
    last_us = max(one.step.at_us for one in skewed.space.cut.shown if not one.later)
    around = [
        FaultBegan(last_us - 9_000, "clog", node, (node,)),
        FaultBegan(last_us - 8_000, "clog", node, (node,)),
        FaultHealed(last_us - 7_000, "clog", node, (node,)),
        FaultHealed(last_us - 1_000, "clog", node, (node,)),
    ]
    history = History(case.header)
    history.events = sorted([*case.history.events, *around], key=lambda one: one.at_us)
    history.end_us = case.history.end_us
    space = picture_space.space(Case(history), skewed.violation, skewed.argument)
    found = [band.text for band in space.bands if band.text.startswith("clog of ")]
    since_ms, until_ms = (last_us - 9_000) / 1_000, (last_us - 1_000) / 1_000
    assert found == [f"clog of {node}: {since_ms:g} to {until_ms:g} ms"]


def test_faults_that_overlap_are_drawn_beside_each_other() -> None:
    lane = Lane("n1", "node", 100, 200, 125)
    ends = [(10, 60), (20, 30), (20, 30), (30, 90), (60, 80), (95, 99)]
    bands = [Band("fault", 101, 8, top, bottom, "") for top, bottom in ends]
    drawn = list(picture_space.side_by_side(bands, lane))
    assert [band.x for band in drawn] == [101, 109.8, 109.8, 109.8, 101, 101]
    for at, one in enumerate(drawn):
        assert one.x >= 101
        assert one.x + one.width < lane.x - 5
        for other in drawn[:at]:
            apart = other.bottom <= one.top or other.x + other.width <= one.x
            apart = apart or one.x + one.width <= other.x
            assert apart or (one.top, one.bottom) == (other.top, other.bottom)
    assert [band.width for band in picture_space.side_by_side(bands[:1], lane)] == [8]


def test_an_update_is_in_force_once_it_is_applied_and_the_clock_shows_tu(drawn: Drawn) -> None:
    case, layout = drawn.case, drawn.space.layout
    versions = {name: at for at, name in drawn.space.colours}
    for lane in nodes_of(drawn):
        bands = [one for one in drawn.space.bands if one.look.startswith("force")]
        for band in (one for one in bands if one.x == lane.x - 5):
            colour = int(band.look.removeprefix("force v"))
            if not colour:
                continue
            applied = [
                (event.at_us, at, event)
                for at, event in case.of(UpdateApplied)
                if event.node == lane.name and versions.get(f"D{event.catalog_version}") == colour
            ]
            at_us, at, event = min(applied)
            active_us = first_us(case, lane.name, physical_ms(Timestamp(event.activation_ts)))
            assert abs(band.top - layout.y(max((at_us, at), (active_us, -1)))) <= 0.5


# --- states --------------------------------------------------------------------------------------


def test_the_state_around_steps_is_that_of_the_events_before_them(drawn: Drawn) -> None:
    """Clocks and safe times, from the last event of their kind."""
    case, space = drawn.case, drawn.space
    shown = [row.shown.step for row in space.layout.rows if row.number is not None]
    nodes = [lane.name for lane in nodes_of(drawn)]
    found = list(states(case, space.steps, shown, nodes, space.tables))
    assert len(found) == len(shown)
    for step, (before, after) in zip(shown, found, strict=True):
        for node in nodes:
            for end, state in ((step.first, before), (step.last + 1, after)):
                safe = [
                    event.safe_ts
                    for event in case.history.events[:end]
                    if isinstance(event, SafeTimeAdvanced) and event.node == node
                ]
                text = state[node, "safe time"]
                if text not in {"-", "dead"}:
                    ms, _, logical = text.partition("+")
                    assert timestamp(int(ms), int(logical or 0)) == safe[-1]
                piece = [one for one in pieces(case, node) if one.from_us <= step.at_us][-1]
                shows_ms = piece.shows_us(step.at_us) / 1000
                assert abs(float(state[node, "clock"]) - shows_ms) <= 0.0015


def test_the_story_of_f1_is_told_by_its_states() -> None:
    drawn = drawn_of("findings/F-1")
    space = drawn.space
    shown = [row.shown.step for row in space.layout.rows if row.number is not None]
    found = list(states(drawn.case, space.steps, shown, ["n1", "n2", "n3"], space.tables))
    assert found[0][0]["n2", "in force"] == "a v1, b v1"
    assert found[-1][1]["n2", "in force"] == "a v2, b v1"
    assert found[0][0]["n2", "primary of"] == "a/0 until 5000"
    locks = [after["n2", "locks"] for _, after in found]
    assert locks[3] == "T1 S a[*]"
    assert locks[-1] == "-"


def test_no_clock_tells_the_processes_of_a_store_what_is_in_force() -> None:
    drawn = drawn_of("strategies/C15-T1", {"protocol.preset": "ignite3_tests"})
    case, space = drawn.case, drawn.space
    shown = [row.shown.step for row in space.layout.rows if row.number is not None]
    found = list(states(case, space.steps, shown, ["a", "b"], space.tables))
    assert {column for _, column in found[0][0]} == {"clock", "open transactions"}
    assert found[0][0]["b", "open transactions"] == "-"
    assert found[-1][1]["b", "open transactions"] == "w t v1"
    assert space.bands == []
    assert [mark.named.name for mark in space.layout.marks] == ["Tm D2", "Tu D2"]
    argued = [picture.ArguedViolation(drawn.violation, drawn.argument)]
    assert "in force by the node" not in picture.html(case, "", argued, "")


# --- messages of a history that has none ---------------------------------------------------------


def test_a_history_without_messages_gets_them_from_its_header() -> None:
    bare, traced = (history_of("findings/F-1", trace=trace) for trace in (False, True))
    found = picture_rerun.with_messages(bare)
    assert found is not None
    assert found.fingerprint() == traced.fingerprint() != bare.fingerprint()
    own = {id(event) for event in bare.events}
    kinds = (MessageSent, MessageDelivered)
    assert all((id(event) in own) != isinstance(event, kinds) for event in found.events)
    assert picture_rerun.with_messages(found) is found


def test_a_history_that_is_not_repeated_is_drawn_without_arrows(tmp_path: Path) -> None:
    bare = history_of("findings/F-1", trace=False)
    bare.events = [one for one in bare.events if not isinstance(one, SafeTimeAdvanced)]
    assert picture_rerun.with_messages(bare) is None
    write_picture(bare, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert "record it anew with ddlsim run --trace" in text
    assert '<path class="arrow' not in text
