"""Every figure is drawn, twice the same, with what it must show; what it cannot show is told."""

import json
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.text import Text

from ddlsim.analysis import plot_designs
from ddlsim.analysis.figures import figure
from ddlsim.analysis.figures.catalog import PLOTS
from ddlsim.analysis.figures.drawing import (
    FORM,
    MARKERS,
    canvas,
    legend_above,
    line,
    logarithmic,
    point,
    points,
    save,
    styled,
)
from ddlsim.analysis.formula.by_formula import worlds
from ddlsim.analysis.sweep.cells import SAFETY, Cell, Cells, CellsError, read
from ddlsim.history import codec
from tests.support.advice import ADVICE
from tests.support.cells import TINY
from tests.support.command import ROOT, ddlsim
from tests.unit.analysis.test_cells import a_finding, a_row

OF_TWO = ("atomicity", "designs", "pareto")
OF_STORES = ("cutover", "schema_load", "stale_gap", "staleness", "store_aborts")
"""Of another plane; `test_plots_store` draws them."""
SWEPT = [name for name, plot in PLOTS.items() if plot.of == "sweep" and name not in OF_STORES]
RUNS = [name for name, plot in PLOTS.items() if plot.of == "history"]
SAYS = {
    "abort_rate": ("1 - exp(-qλL)", "schema aborts of all attempts (%)"),
    "atomicity": (
        "a0_on_receipt",
        "iep",
        "outage (ms)",
        "skew (ms)",
        "nodes disagreed (I1)",
    ),
    "ddl_storm": ("exp(λL)", "schema changes per second"),
    "delay": ("DD (ms)", "by formula", "DDL latency, mean"),
    "designs": ("iep, ", "DDL, mean", "needless aborts, inner retries included", "% of runs"),
    "freeze": ("6.7: X + PD - DD + a, mean", "how long the learner lags (ms)"),
    "own_ddl": ("CSmax 7 ms", "formula 6.5", "wait 7 ms", "real difference of the two clocks (ms)"),
    "pareto": ("a0_on_receipt", "DML latency, 99th percentile (ms)", "safety broken in some"),
    "run_latency": ("DDL (1)", "latency (ms)"),
    "run_clocks": ("CSmax 7 ms", "n3"),
    "run_lag": ("DD 100 ms", "n3"),
}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("history")
    (folder / "tiny.toml").write_text(TINY, "utf-8")
    file = folder / "out" / "seed-0.jsonl"
    words = [str(folder / "tiny.toml"), "--seeds", "0..0", "--out", str(folder / "out")]
    assert ddlsim("run", *words).code == 0
    assert codec.load(file).events
    return file


def words_of(svg: str) -> str:
    """The text of a picture, without its entities."""
    said = "\n".join(re.findall(r"<text[^>]*>(.*?)</text>", svg, re.DOTALL))
    return re.sub(r"<[^>]*>", "", said).replace("&gt;", ">").replace("&#x3bb;", "λ")


@pytest.mark.parametrize("name", SWEPT)
def test_figure_of_a_sweep_has_its_labels_and_is_deterministic(
    name: str, everything: Path, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any folder: closed forms and rates over the load have all that they need in the sweep,
    which was named by a relative path.
    """
    source = two if name in OF_TWO else everything
    target = tmp_path / "one.svg"
    monkeypatch.chdir(source.parent)
    done = ddlsim("plot", name, str(source), "--out", str(target))
    assert (done.code, done.out.strip()) == (0, str(target)), done.err
    picture = target.read_text("utf-8")
    for words in SAYS[name]:
        assert words in words_of(picture)
    assert "runs of " in words_of(picture)
    assert "<metadata" not in picture  # which would tell when it was drawn
    monkeypatch.chdir(tmp_path)
    figure.write(name, source, tmp_path / "two.svg")
    assert (tmp_path / "two.svg").read_text("utf-8") == picture


@pytest.mark.parametrize("name", RUNS)
def test_figure_of_a_run_has_its_labels_and_is_deterministic(
    name: str, history: Path, tmp_path: Path
) -> None:
    figure.write(name, history, tmp_path / "one.svg")
    figure.write(name, history, tmp_path / "two.svg")
    picture = (tmp_path / "one.svg").read_text("utf-8")
    assert (tmp_path / "two.svg").read_text("utf-8") == picture
    for words in SAYS[name]:
        assert words in words_of(picture)


def test_a_png_is_deterministic(two: Path, tmp_path: Path) -> None:
    figure.write("atomicity", two, tmp_path / "one.png")
    figure.write("atomicity", two, tmp_path / "two.png")
    picture = (tmp_path / "one.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert (tmp_path / "two.png").read_bytes() == picture


def test_an_end_that_nothing_bounds_is_an_arrow(tmp_path: Path) -> None:
    """Without a mark a point with no bar looks as if it were exact."""
    x = np.array([1.0, 2.0, 3.0])
    middle, low = np.array([5.0, 6.0, np.nan]), np.array([4.0, 5.0, np.nan])
    high = np.array([6.0, np.inf, np.inf])
    drawn, axes = canvas(1, 3)
    line(axes[0][0], x, middle, (low, high), "a", 0)
    points(axes[0][1], x, middle, low, high, "a", 0)
    for ends in ((5.0, 4.0, np.inf), (5.0, 4.0, 6.0)):
        point(axes[0][2], ends, (1.0, 1.0, 1.0), None, 0, hollow=True)
    for panel in axes[0]:
        (arrow,) = [one for one in panel.texts if one.arrow_patch is not None]
        assert arrow.xy == ((5.0, 1.0) if panel is axes[0][2] else (2.0, 6.0))
    save(drawn, tmp_path / "a.svg")


def test_a_wait_that_nothing_bounds_is_drawn(tmp_path: Path) -> None:
    advice: Any = ADVICE
    front = [{**one, "wait_p99_high": None} for one in advice["front"]]
    figure_of = PLOTS["tune"].draw({**advice, "front": front})
    with styled():
        save(figure_of, tmp_path / "a.svg")
    said = words_of((tmp_path / "a.svg").read_text("utf-8"))
    assert said.count("DML wait, 99th percentile (ms)") == 2, "of whole operations, as its goal"
    assert "schema wait" not in said
    assert (tmp_path / "a.svg").stat().st_size > 10_000


def test_plot_without_out_writes_into_the_source_directory(two: Path) -> None:
    assert ddlsim("plot", "pareto", str(two)).out.strip() == str(two / "pareto.svg")
    assert (two / "pareto.svg").is_file()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("delay", "TWO"), "'delay' needs a sweep over delay_duration_ms"),
        (("atomicity", "EVERYTHING"), "needs a sweep over exactly two parameters"),
        (("pie", "TWO"), "no figure is called 'pie'; there are abort_rate, atomicity"),
        (("pareto", "NOWHERE"), "no rows.parquet there; name the directory of a finished"),
        (("run_lag", "NOWHERE"), "no history can be read there"),
        (("pareto", "TWO", "--out", "x.pdf"), "x.pdf: a figure is an .svg or a .png"),
        (("pareto", "TWO", "--out", "NOWHERE/x.svg"), "name a file that can be written"),
    ],
)
def test_plot_refuses_bad_input_in_one_line(
    words: tuple[str, ...], told: str, everything: Path, two: Path, tmp_path: Path
) -> None:
    places = {"TWO": two, "EVERYTHING": everything, "NOWHERE": tmp_path / "nowhere"}
    given = [
        str(places.get(word, word)).replace("NOWHERE", str(places["NOWHERE"])) for word in words
    ]
    done = ddlsim("plot", *given)
    assert done.code == 2
    assert told in done.err
    assert done.err.count("\n") == 1


def test_main_of_a_figure_draws_and_explains_its_usage(
    two: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = tmp_path / "x.svg"
    monkeypatch.setattr("sys.argv", ["plot_pareto", str(two), str(target)])
    assert figure.main("pareto") == 0
    assert capfd.readouterr().out.strip() == str(target)
    monkeypatch.setattr("sys.argv", ["plot_pareto"])
    assert figure.main("pareto") == 2
    assert "usage: plot_pareto.py DIR" in capfd.readouterr().err
    monkeypatch.setattr("sys.argv", ["plot_pareto", str(tmp_path)])
    assert figure.main("pareto") == 2
    assert "no rows.parquet" in capfd.readouterr().err


EACH = """\
import contextlib, io, json, runpy, sys
said = []
for sys.argv in json.loads(sys.argv[1]):
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as err,
    ):
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        except SystemExit as end:
            said.append([end.code, out.getvalue(), err.getvalue()])
print(json.dumps(said))
"""
"""Runs files as scripts with their words, from whose folder Python imports first."""


def test_every_figures_file_is_a_script_that_runs_from_any_folder(
    two: Path, history: Path, tmp_path: Path
) -> None:
    """Without words it tells which it needs; else it draws what the command draws."""
    (tmp_path / "each.py").write_text(EACH, "utf-8")
    folder = ROOT / "analysis"
    files = {name: str(folder / f"plot_{name}.py") for name in PLOTS}
    targets = {name: tmp_path / f"{name}.svg" for name in ("pareto", "run_lag")}
    drawn = {
        files[name]: [str(source), str(targets[name])]
        for name, source in (("pareto", two), ("run_lag", history))
    }
    asked = [
        sys.executable,
        "each.py",
        json.dumps(
            [*([file] for file in files.values()), *([file, *own] for file, own in drawn.items())]
        ),
    ]
    path = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(asked, cwd=tmp_path, env=path, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [
        *([2, "", f"usage: plot_{name}.py DIR [FILE.svg|FILE.png]\n"] for name in files),
        *([0, f"{target}\n", ""] for target in targets.values()),
    ]
    for name, source in (("pareto", two), ("run_lag", history)):
        figure.write(name, source, tmp_path / "other.svg")
        assert (tmp_path / "other.svg").read_bytes() == targets[name].read_bytes()


def test_figures_without_known_scenarios_say_so(everything: Path) -> None:
    """No closed form then, and no rate that would be another one."""
    cells = read(everything)
    del cells.provenance["text"]
    said = [text.get_text() for text in PLOTS["delay"].draw(cells).findobj(Text)]
    assert any("without closed forms" in text for text in said)
    with pytest.raises(CellsError, match="needs the scenario of the sweep"):
        PLOTS["abort_rate"].draw(cells)


def test_designs_draws_the_shares_of_every_cell(two: Path) -> None:
    """A line each, at their shares; hollow just where nothing was broken."""
    cells = read(two)
    for cell in cells.cells:
        for row in cell.rows:
            row["needless_aborts"] = [("quirk", cell.number), ("compatible-change", 1)]
    with styled():
        drawn = plot_designs.draw(cells)
    dml, _, aborts, unsafe = drawn.axes
    assert len(dml.get_yticklabels()) == len(cells.cells)
    broken = [each for each in _points(unsafe) if each[2] != "white"]
    known = [cell.violating(*SAFETY).value for cell in cells.cells]
    assert 0 < len(broken) < len(cells.cells)
    assert [each[:2] for each in broken] == [
        (pytest.approx(100 * share), line) for line, share in enumerate(known) if share
    ]
    needless = [each[0] for each in _points(aborts) if each[1] % 1]
    assert needless == [
        pytest.approx(
            100 * len(cell.rows) * (cell.number + 1) / sum(row["attempts"] for row in cell.rows)
        )
        for cell in cells.cells
    ]


def _points(axes: Any) -> list[tuple[float, float, str]]:
    """Where the markers of a column stand, and what they are filled with."""
    found = []
    for own in axes.get_lines():
        xs, ys = own.get_data()
        if own.get_marker() in MARKERS and len(xs) == 1 and xs[0] == xs[0]:
            found.append((float(xs[0]), float(ys[0]), own.get_markerfacecolor()))
    return found


def test_designs_cuts_no_marker_of_the_first_and_last_row(two: Path, tmp_path: Path) -> None:
    cells = read(two)
    with styled():
        drawn = plot_designs.draw(Cells(cells.cells[:3], cells.provenance))
        save(drawn, tmp_path / "designs.png")  # makes room for the notes, by which axes shrink
    seen = 0
    for axes in drawn.axes:
        frame = axes.get_window_extent()
        for own in axes.get_lines():
            half = (own.get_markersize() + own.get_markeredgewidth()) * drawn.dpi / 72 / 2
            places = axes.transData.transform(own.get_xydata())
            for _, y in places[np.isfinite(places).all(axis=1)]:
                assert frame.y0 + half <= y <= frame.y1 - half
                seen += 1
    assert seen > len(drawn.axes)


def test_designs_refuses_too_many_cells(two: Path) -> None:
    cells = read(two)
    many = Cells(cells.cells * 4, cells.provenance)
    with pytest.raises(CellsError, match="shows up to 24 cells, and this sweep has 32"):
        plot_designs.draw(many)


def test_worlds_are_those_of_the_swept_scenarios(two: Path) -> None:
    cells = read(two)
    known = worlds(cells)
    assert sorted(known) == [cell.number for cell in cells.cells]
    world = known[cells.cells[-1].number]
    assert (world.dd, world.cs_max, world.h) == (100, 7, 50)
    assert (world.slack, world.ddl_delay) == (100, 107)
    cells.provenance["text"] += "\n# another sweep\n[parameters]\n"
    assert worlds(cells) == {}


def test_logarithmic_keeps_an_axis_without_positive_values_linear() -> None:
    """Else it would show nothing."""
    _, axes = canvas(1, 1)
    panel = axes[0][0]
    panel.plot([0, 0], [1, 10])
    logarithmic(panel.xaxis)
    logarithmic(panel.yaxis)
    assert (panel.get_xscale(), panel.get_yscale()) == ("linear", "log")


def test_an_interval_without_an_upper_end_has_no_bar() -> None:
    _, axes = canvas(1, 2)
    some, one = axes[0]
    middle = np.array([0.0, 1.0])
    points(some, [1, 2], middle, middle - 0.5, np.array([np.inf, 2.0]), "some", 0)
    (_, caps, (bars,)) = some.containers[0]
    assert [list(np.isnan(cap.get_ydata())) for cap in caps] == [[True, False]] * 2
    assert [np.ptp(line[:, 1]) for line in bars.get_segments() if len(line)] == [1.5]
    point(one, (0.0, 0.0, np.inf), (3.0, 2.0, 5.0), None, 0, hollow=True)
    assert len(one.containers[0].lines[2]) == 1, "a bar upwards alone"
    assert np.isfinite([some.get_ylim(), one.get_ylim(), one.get_xlim()]).all()


@pytest.mark.parametrize(("far", "scale"), [(1, "log"), (10**9, "linear")])
def test_delay_draws_latencies_that_are_far_apart_on_a_logarithmic_axis(
    far: float, scale: str, everything: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ddlsim.analysis.plot_delay.FAR", far)
    cells = read(everything)
    for row in (row for cell in cells.cells for row in cell.rows):
        counts = [(bucket, 500 * count) for bucket, count in row["dml_latency_us"]["counts"]]
        row["dml_latency_us"] = {**row["dml_latency_us"], "counts": counts}
    aborts, latency, *_ = PLOTS["delay"].draw(cells).axes
    assert (aborts.get_yscale(), latency.get_yscale()) == ("linear", scale)


def test_an_early_answer_alone_is_no_missed_ddl(everything: Path) -> None:
    cells = read(everything)
    for kind, share in (("acknowledged-too-early", 0), ("ddl-not-seen", 100)):
        for cell in cells.cells:
            for row in cell.rows:
                row["violations"] = [{**a_finding("violation"), "kind": kind}]
        drawn = PLOTS["own_ddl"].draw(cells)
        [middle, *_] = drawn.axes[0].containers[0]
        assert set(middle.get_ydata()) == {share}


def a_map(delays: list[float], shares: dict[float, str]) -> Any:
    """The map of a sweep over uneven delays and two skews; broken where `shares` names a status."""
    rows = [
        a_row(
            0,
            cell=2 * at + skew,
            parameters=json.dumps({"delay_ms": delay, "skew_ms": skew}),
            violations=[a_finding(shares[delay], "I1")] if delay in shares else [],
        )
        for at, delay in enumerate(delays)
        for skew in (0, 1)
    ]
    with styled():
        drawn = PLOTS["atomicity"].draw(Cells([Cell([row]) for row in rows], {}))
    return drawn.axes[0]


def test_atomicity_draws_fields_as_wide_as_their_values() -> None:
    panel = a_map([1, 10, 80], {80: "violation"})
    [fields] = panel.collections
    edges = fields.get_coordinates()[0, :, 0]
    assert list(edges) == [-3.5, 5.5, 45, 115]
    assert list(fields.get_array()[0]) == [0, 0, 1]


def of_scenarios(cells: Cells) -> Cells:
    """The same cells twice, as if two scenarios had been swept."""
    both = []
    for number, scenario in enumerate(("here", "there")):
        for cell in cells.cells:
            rows = [{**row, "cell": 100 * number + cell.number} for row in cell.rows]
            both.append(Cell([{**row, "scenario": scenario} for row in rows]))
    return Cells(both, cells.provenance)


@pytest.mark.parametrize(("name", "axes"), [("designs", 0), ("pareto", 1)])
def test_cells_of_several_scenarios_have_names_of_their_own(
    two: Path, name: str, axes: int
) -> None:
    cells = of_scenarios(Cells(read(two).cells[:4], read(two).provenance))
    with styled():
        drawn = PLOTS[name].draw(cells)
    names = [label.get_text() for label in drawn.axes[axes].get_yticklabels()]
    assert len(set(names)) == len(names) == len(cells.cells) == 8
    assert sum("there" in one for one in names) == 4


def test_a_legend_of_long_names_is_as_wide_as_the_figure_at_most() -> None:
    with styled():
        for length, lines in ((10, 3), (30, 4), (60, 8)):
            drawn, [[panel]] = canvas(1, 1)
            height_in = drawn.get_figheight()
            for number in range(8):
                name = f"{number}" + "n" * (length - 1)
                line(panel, [0, 1], [number, 1], ([0, 0], [1, 1]), name, number)
            legend_above(drawn, panel, 3, "What is it?")
            drawn.draw_without_rendering()
            [legend] = drawn.legends
            assert legend.get_window_extent().width <= drawn.bbox.width
            assert drawn.get_figheight() == pytest.approx(height_in + 0.16 * (lines - 3))


def test_atomicity_has_a_panel_for_each_scenario(two: Path) -> None:
    cells = read(two)
    designs = len(cells.values("design"))
    with styled():
        drawn = PLOTS["atomicity"].draw(of_scenarios(cells))
    titles = [title for axes in drawn.axes if (title := axes.get_title("left"))]
    assert sum("there" in title for title in titles) == len(titles) / 2 == designs


def test_pareto_names_every_design_once(two: Path) -> None:
    """In the scatter and at a line of its own beside it; no name hides another.

    Those are long: in the scatter are their numbers.
    """
    costs, aborts = figure.draw("pareto", two).axes
    names = [name.get_text() for name in aborts.get_yticklabels()]
    assert len({name.rpartition(" ")[0] for name in names}) == len(names) == len(read(two).cells)
    lists = [text.get_text().splitlines() for text in costs.texts]
    numbers = sorted(name.rpartition(" ")[2] for name in names)
    assert sorted(name for each in lists for name in each) == numbers
    assert "[1]" in numbers
    boxes = sorted((name.get_window_extent().y0, name.get_window_extent().y1)
                   for name in aborts.get_yticklabels())  # fmt: skip
    assert all(one[1] <= other[0] for one, other in pairwise(boxes))


def test_only_closed_forms_are_black_and_dashed(everything: Path) -> None:
    """Else a formula could be taken for what was measured, or the other way round."""
    for name in ("abort_rate", "delay", "freeze", "own_ddl"):
        lines = [line for axes in figure.draw(name, everything).axes for line in axes.get_lines()]
        dashed = [line for line in lines if line.is_dashed()]
        assert dashed
        assert {line.get_color() for line in dashed} == {FORM["color"]}
        measured = [line for line in lines if line.get_marker() in MARKERS]
        assert measured
        assert FORM["color"] not in {line.get_color() for line in measured}
