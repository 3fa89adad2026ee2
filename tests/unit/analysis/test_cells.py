"""Cells of a sweep: estimates by hand, series, labels, and what is refused."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.stats import histogram
from ddlsim.analysis.sweep.cells import CLAIMED, Cell, Cells, CellsError, Need, read, said


def a_row(seed: int, **more: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "cell": 0,
        "scenario": "s",
        "strategy": "iep",
        "mutant": None,
        "seed": seed,
        "parameters": json.dumps({"dd_ms": 5}),
        "outcome": "ok",
        "violations": [],
        "attempts": 10,
        "schema_aborts": 1,
        "dml_latency_us": histogram.cell(histogram.of([1_000] * 9 + [11_000])),
    }
    return row | more


def a_finding(status: str, invariant: str = "I4", *, strict_only: bool = False) -> dict[str, Any]:
    kind = "ddl-not-seen" if invariant == "I4" else ""
    return {"status": status, "invariant": invariant, "kind": kind, "strict_only": strict_only}


def a_cell(number: int, strategy: str = "iep", mutant: str | None = None, **named: Any) -> Cell:
    parameters = json.dumps(named)
    one = {"cell": number, "strategy": strategy, "mutant": mutant, "parameters": parameters}
    return Cell([a_row(0, **one), a_row(1, **one)])


def test_cell_ratio_is_pooled_over_seeds() -> None:
    cell = Cell([a_row(0), a_row(1, attempts=90, schema_aborts=0)])
    rate = cell.schema_aborts
    assert rate.value == pytest.approx(1 / 100)
    assert rate.low <= rate.value <= rate.high


def test_cell_counts_unfinished_runs_without_figures() -> None:
    cell = Cell([a_row(0), a_row(1, outcome="crashed", attempts=None, schema_aborts=None)])
    assert (cell.runs, len(cell.rows)) == (2, 1)
    assert cell.schema_aborts.value == pytest.approx(0.1)


def test_mean_ms_is_exact_and_quantile_ms_is_pooled() -> None:
    cell = Cell([a_row(0), a_row(1)])
    assert cell.mean_ms("dml_latency_us").value == 2.0
    assert cell.quantile_ms("dml_latency_us", 0.5).value == pytest.approx(1.0, rel=0.01)
    assert cell.quantile_ms("dml_latency_us", 0.95).value == pytest.approx(11.0, rel=0.01)
    assert cell.share_above("dml_latency_us", 5_000).value == pytest.approx(0.1)


def test_quantile_ms_of_too_few_durations_is_nan() -> None:
    """Of fewer than a hundred durations the 99th percentile would be the largest."""
    for count, known in ((99, False), (100, True)):
        taken = histogram.cell(histogram.of([1_000] * count))
        cell = Cell([a_row(0, dml_latency_us=taken)])
        assert math.isnan(cell.quantile_ms("dml_latency_us", 0.99).value) is not known


def test_what_was_0_in_all_runs_bounds_shares_and_rates_but_no_mean() -> None:
    taken = histogram.cell(histogram.of([0] * 150))
    cell = Cell([a_row(seed, schema_aborts=0, dml_latency_us=taken) for seed in range(2)])
    assert cell.mean_ms("dml_latency_us") == (0.0, 0.0, math.inf)
    assert cell.quantile_ms("dml_latency_us", 0.99) == (0.0, 0.0, 0.0)
    assert cell.quantile_ms("dml_latency_us", 0.995) == (0.0, 0.0, math.inf)
    assert cell.share_above("dml_latency_us").high == pytest.approx(3 / 300, rel=0.01)
    assert cell.schema_aborts.high == pytest.approx(0.139, abs=0.001)
    per_ms = cell.ratio(lambda row: row["schema_aborts"], lambda _row: 0.25)
    assert per_ms.high == pytest.approx(3 / 0.5, rel=0.01)


def test_estimates_without_data_are_nan() -> None:
    nothing = histogram.cell(histogram.of([]))
    cell = Cell([a_row(0, attempts=0, schema_aborts=0, dml_latency_us=nothing)])
    for estimate in (
        cell.schema_aborts,
        cell.mean_ms("dml_latency_us"),
        cell.quantile_ms("dml_latency_us", 0.5),
        cell.share_above("dml_latency_us"),
    ):
        assert math.isnan(estimate.value)


@pytest.mark.parametrize(
    ("finding", "broken", "claimed"),
    [
        (a_finding("violation"), 0.5, 0.5),
        (a_finding("accepted"), 0.5, 0.0),
        (a_finding("out_of_assumption"), 0.5, 0.0),
        (a_finding("finding:F-1"), 0.5, 0.0),
        (a_finding("accepted", strict_only=True), 0.0, 0.0),
        (a_finding("violation", strict_only=True), 0.5, 0.5),
        (a_finding("violation", "I1"), 0.0, 0.0),
    ],
)
def test_violating_counts_claimed_and_other_violations(
    finding: dict[str, Any], broken: float, claimed: float
) -> None:
    cell = Cell([a_row(0, violations=[finding, finding]), a_row(1)])
    assert cell.violating("I4").value == broken
    assert cell.violating("I4", within=CLAIMED).value == claimed
    assert cell.violating("I4", besides=("ddl-not-seen",)).value == 0
    assert cell.violating("I4", besides=("acknowledged-too-early",)).value == broken


def test_series_groups_cells_by_the_other_parameters() -> None:
    cells = Cells(
        [
            a_cell(0, dd_ms=50, h_ms=10),
            a_cell(1, dd_ms=0, h_ms=10),
            a_cell(2, dd_ms=0, h_ms=25),
            a_cell(3, "iep", "m", dd_ms=0, h_ms=25),
        ],
        {},
    )
    found = {
        label: [cell.value("dd_ms") for cell in each.cells] for label, each in cells.series("dd_ms")
    }
    assert found == {"iep, h 10 ms": [0, 50], "iep, h 25 ms": [0], "iep + m, h 25 ms": [0]}
    assert cells.values("h_ms") == [10, 25]
    assert [cell.number for cell in cells.where(h_ms=25, design="iep").cells] == [2]


def test_need_refuses_a_sweep_without_the_axis() -> None:
    cells = Cells([a_cell(0, dd_ms=5)], {})
    dd, h = Need("dd_ms", "protocol.dd_ms"), Need("h_ms", "protocol.h_ms")
    assert cells.need(dd, figure="delay").cells[0].parameters == {"dd_ms": 5}
    with pytest.raises(CellsError, match=r"'delay' needs .* h_ms \(protocol.h_ms\).*\[parameters"):
        cells.need(dd, h, figure="delay")


SWEPT = """
[parameters]
mine = { path = "workload[0].gap_ms", values = "5..15 step 5" }
"protocol.dd_ms" = [5]
"""


def test_need_finds_an_axis_by_its_path() -> None:
    cells = Cells([a_cell(0, mine=5, dd_ms=6)], {"text": SWEPT, "sweep": "s.toml"})
    [cell] = cells.need(Need("gap_ms", "workload[*].gap_ms"), figure="abort_rate").cells
    assert (cell.parameters, cell.swept) == ({"gap_ms": 5, "dd_ms": 6}, {"mine": 5, "dd_ms": 6})


def test_need_refuses_two_axes_with_matching_paths() -> None:
    text = SWEPT + '"workload[1].gap_ms" = [7]\n'
    cells = Cells([a_cell(0, mine=5, dd_ms=6, gap_ms=7)], {"text": text, "sweep": "s.toml"})
    with pytest.raises(CellsError, match="this one has 2: mine, gap_ms"):
        cells.need(Need("pause_ms", "workload[*].gap_ms"), figure="abort_rate")


def test_need_refuses_an_axis_that_has_other_than_numbers() -> None:
    cells = Cells([a_cell(0, gap_ms=5), a_cell(1, gap_ms=[1, 2])], {})
    with pytest.raises(CellsError, match=r"draws numbers, and gap_ms .* has \[1, 2\]"):
        cells.need(Need("gap_ms", "workload[*].gap_ms"), figure="abort_rate")


def test_values_of_every_kind_have_an_order_and_a_label() -> None:
    """Numbers by their size, then texts, one that begins another before it; others behind."""
    slow = {"distribution": "exponential", "mean": 3}
    given = [slow, 10, [1, 2], 9.5, "a", "B", "a + b"]
    cells = Cells([a_cell(at, pause_ms=one, x=0) for at, one in enumerate(given)], {})
    assert cells.values("pause_ms") == [9.5, 10, "B", "a", "a + b", [1, 2], slow]
    assert [label for label, _ in cells.series("x")] == [
        'pause {"distribution": "exponential", "mean": 3} ms',
        "pause 10 ms",
        "pause [1, 2] ms",
        "pause 9.5 ms",
        "a",
        "B",
        "a + b",
    ]
    assert a_cell(0, read_only=True).label(["read_only"]) == "iep, read only true"
    assert [cell.label(["pause_ms"]) for cell in cells.cells[1:3]] == [
        "iep, pause 10 ms",
        "iep, pause [1, 2] ms",
    ]


def test_cells_of_a_design_are_those_of_one_scenario() -> None:
    rows = [("b", "iep"), ("a", "iep"), ("a", "a1"), ("b", "a1")]
    both = [Cell([a_row(0, cell=at, scenario=s, strategy=d)]) for at, (s, d) in enumerate(rows)]
    found = Cells(both, {}).by_design()
    assert [(label, [cell.number for cell in cells.cells]) for label, cells in found] == [
        ("a1, a", [2]),
        ("a1, b", [3]),
        ("iep, a", [1]),
        ("iep, b", [0]),
    ]
    alone = Cells([a_cell(0, x=1), a_cell(1, x=2)], {}).by_design()
    assert [(label, len(cells.cells)) for label, cells in alone] == [("iep", 2)]


def test_note_has_the_number_of_runs() -> None:
    cells = Cells([a_cell(0, dd_ms=5), a_cell(1, dd_ms=6)], {"version": "9"})
    assert cells.note == "4 runs of s, 2 seeds a cell; ddlsim 9; bands and bars: 95 % over seeds"


def test_labels_have_symbols_and_units() -> None:
    assert said("delay_duration_ms") == "DD (ms)"
    assert said("gap_ms") == "gap (ms)"
    assert said("ddl_clients") == "ddl clients"


def test_read_refuses_a_directory_without_a_sweep(tmp_path: Path) -> None:
    with pytest.raises(CellsError, match=r"no rows\.parquet there; name the directory"):
        read(tmp_path)
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(CellsError, match="it is damaged"):
        read(tmp_path)
