"""Figures of runs that did not finish or made no change, of names that are long, of many series."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from ddlsim.analysis.figures.catalog import PLOTS
from ddlsim.analysis.figures.drawing import (
    broken,
    canvas,
    curve,
    legend_above,
    note,
    panels,
    styled,
    within,
)
from ddlsim.analysis.figures.report import page_of
from ddlsim.analysis.plot_cutover import _rest_ms
from ddlsim.analysis.stats import histogram
from ddlsim.analysis.sweep.cells import Cell, Cells, CellsError, read
from ddlsim.history.events import Invoked, Ok
from tests.support.command import ROOT
from tests.support.drawn import swept
from tests.support.worlds import empty_history
from tests.unit.analysis.test_cells import a_cell
from tests.unit.analysis.test_plots import OF_TWO, SWEPT

GALLERY = ROOT / "reports" / "designs"
NOTHING = {"ddl_latency_us": histogram.cell(histogram.of([])), "needless_aborts": []}
CHANGES = '[[workload]]\nname = "ddl_storm"'
OF_STORES = ("schema_load", "stale_gap", "staleness", "store_aborts")
STORE = """
title = "little"
scenarios = ["crossing.toml"]
strategies = ["c1b_version", "c2b_poll"]
seeds = 1
histories = "none"
prices = true
[parameters]
clients = { path = "workload[0].clients", values = [1, 2] }
ddl_clients = { path = "workload[0].keys", values = [100] }
poll_ms = { path = "strategy.poll_ms", values = [50] }
read_only = { path = "workload[0].read_only", values = [0, 0.5] }
cutoff_percent = { path = "workload[0].operations", values = [50] }
"""


def words(drawn: Any) -> str:
    return "\n".join(text.get_text() for text in drawn.findobj(Text))


def labels(drawn: Any) -> list[str]:
    return [text.get_text() for legend in drawn.legends for text in legend.get_texts()]


def unfinished(cells: Cells) -> Cells:
    """The same where every run took too long."""
    lost = [
        Cell([{**row, "cell": cell.number, "outcome": "timeout"} for row in cell.rows])
        for cell in cells.cells
    ]
    return Cells(lost, cells.provenance)


@pytest.mark.parametrize("name", SWEPT)
def test_where_no_run_finished_there_is_a_figure_that_says_so(
    name: str, everything: Path, two: Path
) -> None:
    lost = unfinished(read(two if name in OF_TWO else everything))
    with styled():
        drawn = PLOTS[name].draw(lost.need(*PLOTS[name].needs, figure=name))
        drawn.draw_without_rendering()
    runs = sum(cell.runs for cell in lost.cells)
    assert f"{runs} not finished" in words(drawn)


@pytest.mark.parametrize("name", [*OF_STORES, "cutover"])
@pytest.mark.parametrize("why", ["no change", "too long"])
def test_store_that_changes_nothing_or_finishes_nothing_is_drawn(
    name: str, why: str, little: dict[str, Path]
) -> None:
    with styled():
        cells = read(little[why]).need(*PLOTS[name].needs, figure=name)
        PLOTS[name].draw(cells).draw_without_rendering()


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    text = (GALLERY / "crossing.toml").read_text("utf-8")
    load = '[set]\n"run.load_ms" = 300\n'
    texts = {"no change": text[: text.index(CHANGES)], "too long": text}
    more = {"no change": load, "too long": "[budget]\ntime_s = 0.001\n"}
    found = {}
    for why, scenario in texts.items():
        folder = tmp_path_factory.mktemp("little")
        (folder / "crossing.toml").write_text(scenario, "utf-8")
        found[why] = swept(folder, STORE + more[why])
    return found


def test_figures_of_the_store_tell_scenarios_apart(tmp_path: Path) -> None:
    """Each has its own closed form, its own line and its own capacity."""
    text = (GALLERY / "hot_key.toml").read_text("utf-8")
    (tmp_path / "one.toml").write_text(text, "utf-8")
    (tmp_path / "two.toml").write_text(text.replace("2_000", "4_000", 1), "utf-8")
    scenarios = '["one.toml", "two.toml"]'
    sweep = STORE.replace('["crossing.toml"]', scenarios).replace(', "c2b_poll"', "")
    source = swept(tmp_path, sweep + '[set]\n"run.load_ms" = 500\n')
    for name in (*OF_STORES, "cutover"):
        with styled():
            drawn = PLOTS[name].draw(read(source).need(*PLOTS[name].needs, figure=name))
        for scenario in ("one.toml", "two.toml"):
            assert any(scenario in label for label in labels(drawn)), (name, labels(drawn))
        assert len(set(labels(drawn))) == len(labels(drawn))
    with styled():
        said = words(PLOTS["schema_load"].draw(read(source)))
    assert "capacity 500 per second" in said
    assert "capacity 250 per second" in said


def test_panels_of_stale_gap_say_how_many_only_read(little: dict[str, Path]) -> None:
    needs = PLOTS["stale_gap"].needs
    with styled():
        drawn = PLOTS["stale_gap"].draw(read(little["no change"]).need(*needs, figure="x"))
    assert [axes.get_title("left") for axes in drawn.axes] == ["write", "50 % only read"]


def test_rests_are_read_in_both_forms() -> None:
    assert _rest_ms([{"rest_ms": [0, 600]}]) == (0, 600)
    assert _rest_ms([{"rest_ms": 300}]) == (300, 300)
    assert _rest_ms([{}]) is None
    assert _rest_ms([]) is None


def test_every_operation_of_a_run_has_its_mark() -> None:
    """Rollbacks and finds too."""
    kinds = ("begin", "find", "get", "rollback", "commit", "ddl")
    history = empty_history()
    for at_us, kind in enumerate(kinds):
        history.events.append(Invoked(at_us, "c", kind, None, "n1", kind))
        history.events.append(Ok(at_us + 1_000, "c", kind))
    with styled():
        drawn = PLOTS["run_latency"].draw(history)
    assert labels(drawn) == ["data operations (2)", "begin, commit, rollback (3)", "DDL (1)"]
    assert "never ended" not in words(drawn)
    history = empty_history()
    history.events.append(Invoked(0, "c", "lost", None, "n1", "put"))
    with styled():
        drawn = PLOTS["run_latency"].draw(history)
    assert "1 operation never ended" in words(drawn)


def test_lag_of_a_run_without_safe_time_is_refused() -> None:
    with pytest.raises(CellsError, match="needs a run with schema safe time"):
        PLOTS["run_lag"].draw(empty_history())


def test_own_ddl_gives_a_series_one_colour_in_every_panel() -> None:
    """Also where some design was not run with the values of the first series."""
    each = [("a7_dd", 5), ("a7_dd", 6), ("iep", 6), ("iep", 7)]
    made = [a_cell(place, name, None, skew_ms=1, dd=dd) for place, (name, dd) in enumerate(each)]
    with styled():
        drawn = PLOTS["own_ddl"].draw(Cells(made, {}))
    assert labels(drawn) == ["dd 5", "dd 6", "dd 7"]
    first, second = (
        {
            bar.get_label(): bar.lines[0].get_color()
            for bar in axes.containers
            if len(bar.lines[0].get_xdata())
        }
        for axes in drawn.axes
    )
    assert first.keys() & second.keys() == {"dd 6"}
    assert len({*first.items(), *second.items()}) == 3


def test_no_text_is_wider_than_its_figure() -> None:
    long = "a_very_long_name_of_a_scenario " * 12 + "n" * 200
    with styled():
        drawn, [[panel]] = canvas(1, 1)
        curve(panel, [0, 1], [0, 1], long, 0)
        legend_above(drawn, panel, 3, long)
        note(drawn, long)
        drawn.draw_without_rendering()
        [legend] = drawn.legends
        for text in (legend, drawn._supxlabel):
            box = text.get_window_extent()
            assert 0 <= box.x0 < box.x1 <= drawn.bbox.width
        assert " ".join(broken(drawn, "short and well", 9).split()) == "short and well"


def test_titles_of_panels_do_not_meet() -> None:
    with styled():
        drawn, axes = panels(4, height_in=2.6)
        assert len(axes) == 4
        for panel in axes:
            panel.set_title(within(panel, "iep + acknowledges_at_activation, scenario.toml"))
        drawn.draw_without_rendering()
        ends = [panel._left_title.get_window_extent() for panel in axes[:3]]
    assert ends[0].x1 < ends[1].x0
    assert ends[1].x1 < ends[2].x0


def test_no_two_of_many_curves_look_alike_and_every_name_is_listed() -> None:
    with styled():
        drawn, [[panel]] = canvas(1, 1)
        for number in range(49):
            curve(panel, [0, 1], [0, number], f"_n{number}", number)
        legend_above(drawn, panel, 6, "Many")
        drawn.draw_without_rendering()
    looks = {(one.get_color(), str(one._unscaled_dash_pattern)) for one in panel.get_lines()}
    assert len(looks) == 49
    assert len(labels(drawn)) == 49


def test_one_run_of_one_seed_is_no_plural() -> None:
    row = {"cell": 0, "scenario": "x.toml", "strategy": "iep", "mutant": None, "parameters": "{}"}
    one = Cells([Cell([{**row, "outcome": "ok"}])], {})
    assert one.ran.startswith("1 run of x, 1 seed a cell;")


def test_rows_with_very_long_names_keep_apart() -> None:
    """In two lines, and the figure grows no wider."""
    made = [
        a_cell(place, "iep", None, **{"n" * 100: place}, scenario="s" * 20) for place in range(6)
    ]
    rows = [row | NOTHING for cell in made for row in cell.rows]
    cells = [Cell([row for row in rows if row["cell"] == place]) for place in range(6)]
    for name in ("designs", "pareto"):
        with styled():
            drawn = PLOTS[name].draw(Cells(cells, {}))
            drawn.draw_without_rendering()
        assert drawn.get_figwidth() < 14
        axes = drawn.axes[0 if name == "designs" else 1]
        boxes = sorted(
            (label.get_window_extent().y0, label.get_window_extent().y1)
            for label in axes.get_yticklabels()
        )
        assert len(boxes) == 6
        assert all(one[1] <= other[0] for one, other in pairwise(boxes))


def test_report_says_what_it_judged(everything: Path) -> None:
    page = page_of(unfinished(read(everything)), everything)
    assert "None in the 0 runs that finished." in page


def test_table_of_one_seed_has_arrows_and_a_plane_without_points_is_drawn() -> None:
    found = json.loads((GALLERY / "table.json").read_text("utf-8"))
    first = next(one for one in found["designs"] if one["plane"] == "fdb")
    for name in ("dml_added_p99", "ddl_p50"):
        first[name] = {"value": 5.0, "low": None, "high": None}
    bare = {**found, "runs": 1, "seeds": [0, 0], "designs": [first]}
    with styled():
        drawn = PLOTS["price_safety"].draw(bare)
    arrows = [one for one in drawn.axes[0].texts if one.arrowprops and not one.get_text()]
    assert len(arrows) == 2
    assert "1 run, seeds 0 to 0" in words(drawn)
    first["ddl_p50"]["value"] = None
    with styled():
        PLOTS["price_safety"].draw(bare).draw_without_rendering()


def test_ends_of_bars_are_beside_a_number() -> None:
    found = json.loads((GALLERY / "table.json").read_text("utf-8"))
    first = next(one for one in found["designs"] if one["plane"] == "fdb")
    first["dml_added_p99"] = {"value": 20, "low": 0, "high": 981}
    with styled():
        drawn = PLOTS["price_safety"].draw({**found, "designs": [first]})
    assert max(drawn.axes[0].get_xticks()) == 1_000


def test_report_counts_many_runs_in_thousands(two: Path) -> None:
    cells = read(two)
    cells.cells[0].runs = 1_100
    page = page_of(cells, two)
    assert "<td>1,100</td>" in page
    assert "1,114 runs in 8 cells" in page
