"""Figures per run and per cell: Spark's against the same sums in plain Python."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ddlsim.analysis.stats import histogram, intervals
from ddlsim.analysis.sweep import aggregates, grid, provenance, store, until
from ddlsim.analysis.sweep.chunks import Round, write_table
from ddlsim.analysis.sweep.rows import Job, Row, failed_row, run_job, table
from ddlsim.analysis.sweep.sweep_file import load_sweep
from tests.support import histograms
from tests.support.sweeps import sweep_file

SEEDS = 5
METADATA = provenance.metadata({"program": "ddlsim"})


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[Row]]:
    """A sweep's directory and its rows: three cells, one crash, two violations made up."""
    folder = tmp_path_factory.mktemp("rows")
    cells = grid.cells(load_sweep(sweep_file(folder)))
    found = [run_job(Job(cell, seed)) for cell in cells for seed in range(SEEDS)]
    found[1] = failed_row(Job(cells[0], 1), "crashed", "by hand")
    for at in (5, 7):
        found[at] = {**found[at], "outcome": "violated", "schema_aborts": 1}
    out = folder / "out"
    for place in range(3):
        part = table(found[place * SEEDS : (place + 1) * SEEDS], METADATA)
        write_table(part, out / "parts" / f"part-000-{place:06d}.parquet")
    store.save(str(out), store.Manifest(store.WRITER, store.FORMAT, "t", "f", {}))
    store.write_cells(str(out), cells, METADATA)
    store.collect(str(out), METADATA, 1)
    return str(out), found


@pytest.fixture(scope="module")
def tables(spark: Any, rows: tuple[str, list[Row]]) -> tuple[list[Any], list[Any]]:
    """Both tables as records."""
    assert aggregates.write(spark, rows[0]) == ["per_seed.parquet", "per_cell.parquet"]
    names = ("per_seed.parquet", "per_cell.parquet")
    seeds, cells = (pq.read_table(Path(rows[0], name)) for name in names)
    assert provenance.read(cells.schema.metadata)["table"] == "per_cell.parquet"
    return seeds.to_pylist(), cells.to_pylist()


def test_per_seed_has_the_figures_of_every_run(
    rows: tuple[str, list[Row]], tables: tuple[list[Any], list[Any]]
) -> None:
    seeds = tables[0]
    assert [(one["cell"], one["seed"]) for one in seeds] == [
        (cell, seed) for cell in range(3) for seed in range(SEEDS)
    ]
    for told, made in zip(seeds, rows[1], strict=True):
        if made["attempts"] is None:
            assert told["schema_abort_rate"] is told["dml_latency_p99_us"] is None
            continue
        assert told["schema_abort_rate"] == made["schema_aborts"] / made["attempts"]
        for kind in aggregates.kinds():
            check(told, kind, histogram.of_cell(made[f"{kind}_us"]))
    assert [one["dd"] for one in seeds[::SEEDS]] == [0, 20, 60]


def check(told: Any, kind: str, wanted: histogram.Histogram) -> None:
    """The figures of one histogram."""
    size = histogram.size(wanted)
    assert (told[f"{kind}_count"] or 0) == size
    if not size:
        return
    assert told[f"{kind}_mean_us"] == pytest.approx(wanted.total_us / size)
    assert told[f"{kind}_waited"] == pytest.approx(1 - wanted.counts.get(0, 0) / size)
    for name, (above, below) in aggregates.QUANTILES.items():
        bracket = histograms.quantile(wanted, float(Fraction(above, below)))
        assert bracket is not None
        assert told[f"{kind}_{name}_us"] == bracket.lower_us


def test_per_cell_pools_its_runs(
    rows: tuple[str, list[Row]], tables: tuple[list[Any], list[Any]]
) -> None:
    for told in tables[1]:
        made = [one for one in rows[1] if one["cell"] == told["cell"]]
        done = [one for one in made if one["attempts"] is not None]
        assert told["runs"] == SEEDS
        assert told["runs_crashed"] == (told["cell"] == 0)
        assert told["attempts"] == sum(one["attempts"] for one in done)
        violated = sum(one["outcome"] == "violated" for one in made)
        low, high = intervals.share_of_runs(violated, SEEDS)
        ends = (told["violation_rate_low"], told["violation_rate_high"])
        assert ends == pytest.approx((float(low), float(high)))
        bound = None if violated else pytest.approx(float(intervals.none_seen(SEEDS)))
        assert told["violation_bound"] == bound
        for kind in aggregates.kinds():
            whole = histograms.merged(histogram.of_cell(one[f"{kind}_us"]) for one in done)
            check(told, kind, whole)


def test_intervals_are_over_seeds(
    rows: tuple[str, list[Row]], tables: tuple[list[Any], list[Any]]
) -> None:
    for told in tables[1]:
        done = [one for one in rows[1] if one["cell"] == told["cell"] and one["attempts"]]
        ends = intervals.share_interval(
            [one["schema_aborts"] for one in done],
            [one["attempts"] for one in done],
            resamples=aggregates.RESAMPLES,
        )
        assert told["schema_abort_rate_low"] == pytest.approx(float(ends[0]))
        assert told["schema_abort_rate_high"] == pytest.approx(float(ends[1]))
        counts = [histogram.of_cell(one["dml_latency_us"]).counts for one in done]
        values = sorted({value for each in counts for value in each})
        matrix = [[each.get(value, 0) for value in values] for each in counts]
        low, high = intervals.pooled_quantile_intervals(
            matrix, values, [0.99], resamples=aggregates.RESAMPLES
        )[0]
        known = float(high) if high < float("inf") else None
        assert (told["dml_latency_p99_us_low"], told["dml_latency_p99_us_high"]) == (low, known)
        assert low <= told["dml_latency_p99_us"] <= high


def test_open_cells_are_those_with_wide_intervals(
    spark: Any,
    rows: tuple[str, list[Row]],
    tables: tuple[list[Any], list[Any]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    halves = {
        one["cell"]: (one["dml_latency_mean_us_high"] - one["dml_latency_mean_us_low"]) / 2
        for one in tables[1]
    }
    middle = sorted(halves.values())[1] + 1e-6
    target = until.read_target(f"dml_latency_mean_us ci={middle}")

    def still(look: int, *targets: until.Target) -> list[int]:
        return until.open_cells(spark, rows[0], targets, look, [0, 1, 2])

    wide = [cell for cell, half in halves.items() if half > middle]
    assert len(wide) == 1
    loose = until.read_target("dml_latency_mean_us ci=1e9")
    assert still(1, loose) == [0, 1, 2], "too few runs to trust an interval"
    monkeypatch.setattr(until, "LEAST_RUNS", SEEDS)
    assert still(1, loose) == []
    assert set(wide) <= set(still(1, target))
    assert set(still(1, target)) <= set(still(4, target))
    assert still(1, loose, until.read_target("dml_latency_mean_us ci=0.001%")) == [0, 1, 2]


def test_further_returns_rounds_up_to_the_maximum(rows: tuple[str, list[Row]], spark: Any) -> None:
    told: list[str] = []
    narrow = until.read_target("dml_latency_mean_us ci=0.001% seeds=12")
    following = until.further([narrow], rows[0], told.append)
    first = Round((0, 1, 2), 0, SEEDS, 2)
    second = following(lambda: spark, [first])
    assert second == Round((0, 1, 2), 5, 5, 0)
    third = following(lambda: spark, [first, second])
    assert third == Round((0, 1, 2), 10, 2, 0)
    assert following(lambda: spark, [first, second, third]) is None
    assert told[-1] == "3 cells still too wide after 12 seeds each"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("schema_abort_rate", 'expected "FIGURE ci=WIDTH'),
        ("schema_abort_rat ci=1", "did you mean schema_abort_rate"),
        ("schema_abort_rate ci=0", "the width is a number above 0"),
        ("schema_abort_rate ci=1e", "the width is a number above 0"),
    ],
)
def test_read_target_refuses_bad_targets(text: str, told: str) -> None:
    with pytest.raises(until.BadTargetError, match=told):
        until.read_target(text)
    assert until.read_target("violation_rate ci=5% seeds=9") == until.Target(
        "violation_rate", 0.05, relative=True, most=9
    )
