"""Figures of the key-value store, from short runs of the gallery's scenarios, and of a table."""

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.text import Text

from ddlsim.analysis import plot_price_safety
from ddlsim.analysis.figures import figure
from ddlsim.analysis.figures.catalog import PLOTS
from ddlsim.analysis.figures.drawing import save
from ddlsim.analysis.formula.by_formula import Forms
from ddlsim.analysis.formula.store_rates import Rates
from ddlsim.analysis.plot_schema_load import requests
from ddlsim.analysis.sweep.cells import Cell, Cells, CellsError, read
from ddlsim.scenario.load import load
from tests.support.command import ROOT, ddlsim
from tests.support.drawn import swept

GALLERY = ROOT / "reports" / "designs"
SWEEPS = {
    "store_aborts": """
scenarios = ["crossing.toml"]
strategies = ["c16_safe", "c16_tables"]
[parameters]
ddl_clients = { path = "workload[1].clients", values = [6, 12] }
""",
    "stale_gap": """
scenarios = ["crossing.toml"]
strategies = ["c15_known_bug", "c16_safe"]
[parameters]
poll_ms = { path = "strategy.poll_ms", values = [50, 200] }
read_only = { path = "workload[0].read_only", values = [0, 1] }
""",
    "staleness": """
scenarios = ["crossing.toml"]
strategies = ["c2b_poll"]
[parameters]
poll_ms = { path = "strategy.poll_ms", values = [50, 200] }
""",
    "schema_load": """
scenarios = ["hot_key.toml"]
strategies = ["c1b_version", "c3b_versions", "c5_lease", "c9_future_cv", "c12_grv"]
prices = true
[parameters]
clients = { path = "workload[0].clients", values = [2, 4] }
""",
    "cutover": """
scenarios = ["cutover.toml"]
[parameters]
cutoff_percent = { path = "strategy.cutoff_percent", values = [0, 150] }
conflicts = { path = "strategy.options", values = ["DEFAULTS", "CAUSAL_WRITE_RISKY"] }
""",
}
LONG = ("cutover",)
SAYS = {
    "store_aborts": ("c16_tables", "formula 6.3", "schema changes per second", "of its table"),
    "stale_gap": ("only read", "λ times the mean age of the schema", "formula 6.5"),
    "staleness": ("stalest commit of a run (ms)", "interval between reads P (ms)"),
    "schema_load": ("capacity 500 per second", "c3b_versions, each key", "M/D/1"),
    "cutover": ("the window W", "without read conflicts", "with a read conflict"),
}


def drawn(name: str, folder: Path) -> tuple[Path, Any]:
    """A figure of a short sweep over scenarios of the gallery, and the directory of that."""
    for file in GALLERY.glob("*.toml"):
        (folder / file.name).write_text(file.read_text("utf-8"), "utf-8")
    load = "" if name in LONG else '[set]\n"run.load_ms" = 500\n'
    text = f'title = "short"\nseeds = "0..0"\nhistories = "none"\n{SWEEPS[name]}{load}'
    source = swept(folder, text)
    return source, figure.draw(name, source)


@pytest.mark.parametrize("name", SWEEPS)
def test_figure_of_the_store_has_its_labels_and_its_closed_form(name: str, tmp_path: Path) -> None:
    source, made = drawn(name, tmp_path)
    said = "\n".join(text.get_text() for text in made.findobj(Text))
    for words in (*SAYS[name], "runs of "):
        assert words in said
    dashed = [line for axes in made.axes for line in axes.get_lines() if line.is_dashed()]
    assert dashed
    assert {line.get_color() for line in dashed} == {"#000000"}
    save(made, tmp_path / "one.svg")
    figure.write(name, source, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_sweep_of_another_plane_or_without_counted_reads_is_refused(
    everything: Path, tmp_path: Path
) -> None:
    with pytest.raises(CellsError, match="the figure is of plane fdb"):
        PLOTS["store_aborts"].draw(read(everything))
    short = SWEEPS["schema_load"].replace("prices = true\n", "")
    for file in GALLERY.glob("*.toml"):
        (tmp_path / file.name).write_text(file.read_text("utf-8"), "utf-8")
    short = short.replace(', "c3b_versions", "c5_lease", "c9_future_cv", "c12_grv"', "")
    text = f'title = "short"\nseeds = 1\nhistories = "none"\n{short}[set]\n"run.load_ms" = 300\n'
    with pytest.raises(CellsError, match="write `prices = true` into the sweep"):
        figure.draw("schema_load", swept(tmp_path, text))


ROW = {"scenario": "x", "strategy": "c16_safe", "mutant": None, "parameters": "{}"}


def test_rates_need_the_scenario() -> None:
    with pytest.raises(CellsError, match="needs the scenario of the sweep"):
        Rates(Cells([Cell([{**ROW, "cell": 0, "outcome": "ok"}])], {}))


def test_rates_have_the_settings_of_each_cell() -> None:
    rates = Rates(Cells([], {}))
    windows = {0: 200, 1: 300}
    for number, window_ms in windows.items():
        changed = {"fdb.window_ms": window_ms}
        rates.worlds[number] = Forms(load(str(GALLERY / "crossing.toml"), changed))
    cells = [Cell([{**ROW, "cell": number, "outcome": "ok"}]) for number in windows]
    for _ in range(2):
        assert [rates.setting(cell, "window_ms") for cell in cells] == [200, 300]
    assert rates.world(cells[0]).plan is rates.world(cells[0]).plan, (
        "a figure asks for hundreds of settings"
    )


def test_the_table_of_compare_is_drawn_with_every_design_and_the_front(tmp_path: Path) -> None:
    made = figure.draw("price_safety", GALLERY / "table.json")
    found = json.loads((GALLERY / "table.json").read_text("utf-8"))
    said = "\n".join(text.get_text() for text in made.findobj(Text))
    for one in found["designs"]:
        if one["plane"] == "fdb":
            assert one["design"] in said
    (ignite, fdb) = made.axes
    front = next(line for line in fdb.get_lines() if line.get_drawstyle() == "steps-post")
    heights = [float(each) for each in front.get_ydata()]
    assert heights == sorted(heights, reverse=True), "further right, lower"
    assert ignite.get_ylabel() == "DDL latency, median (ms)"


def test_a_design_that_no_change_has_met_has_no_point_in_the_figure() -> None:
    found = json.loads((GALLERY / "table.json").read_text("utf-8"))
    found["designs"] = [one for one in found["designs"] if one["plane"] == "fdb"][:6]
    name = found["designs"][0]["design"]
    found["designs"][0]["verdict"] = "untested"
    made = plot_price_safety.draw(found)
    (said,) = [text for text in made.findobj(Text) if name in text.get_text()]
    assert f"met by no change: {name}" in said.get_text()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"designs": []}'])
def test_what_is_no_table_is_refused_in_one_line(text: str, tmp_path: Path) -> None:
    file = tmp_path / "table.json"
    file.write_text(text, "utf-8")
    done = ddlsim("plot", "price_safety", str(file))
    assert done.code == 2
    assert str(file) in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("design", "expected"), [("c1_schema", 50.0), ("c12_grv", 50.0), ("c3b_versions", 0.5),
                             ("c5_lease", 30.0), ("c9_future_cv", 30.0)]
)  # fmt: skip
def test_reads_are_per_second_of_the_load_unless_the_clock_asks_for_them(
    design: str, expected: float
) -> None:
    row = {**ROW, "cell": 0, "outcome": "ok", "strategy": design}
    cell = Cell([{**row, "schema_reads": 75, "simulated_us": 2_500_000}])
    rates = Rates(Cells([], {}))
    rates.worlds[0] = Forms(load(str(GALLERY / "hot_key.toml"), {"strategy.name": design}))
    assert requests(cell, rates).value == pytest.approx(expected)
    attempts = Cell([{**row, "attempts": 75, "simulated_us": 2_500_000}])
    assert rates.begun(attempts) == pytest.approx(0.05), "per ms of a load of 1.5 s"
