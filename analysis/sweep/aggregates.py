"""Figures per run and per cell, with intervals over seeds; Spark groups the rows.

Two tables. *Per seed* has one row per run: rates, and the count, the share above zero, the mean and
three quantiles of each histogram. *Per cell* has one row per cell: the number of runs by outcome,
the same figures over all its runs (histograms are added, never averaged), and the ends of their
intervals over seeds, `NAME_low` and `NAME_high`, null with fewer than two seeds.
`NAME_high` is null, too, where nothing bounds the figure: a mean that was 0 in all runs, a quantile
of so few observations that larger ones may be missing (299 for a p99, 2,995 for a p999).

`violation_rate` is the share of runs with a violation, with Wilson's interval; where it is 0 of N,
its upper end and `violation_bound` are the exact upper bound at 95 %, about 3/N. An unfinished run
counts as a run and has no figures. Quantiles are by nearest rank and given as the lower end of
their bucket, at most 0.8 % too low.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.analysis.stats import intervals
from ddlsim.analysis.sweep import provenance, store
from ddlsim.analysis.sweep.chunks import PARTS, footer_of, parts, write_table
from ddlsim.analysis.sweep.rows import HISTOGRAMS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUANTILES: Final = {"p50": (50, 100), "p99": (99, 100), "p999": (999, 1000)}
RATES: Final = {
    "schema_abort_rate": ("schema_aborts", "attempts", 1),
    "meta_writes_per_s": ("meta_writes", "simulated_us", 1_000_000),
}
"""Sums divided by sums, times a number."""
RATE_INTERVALS: Final = {
    "schema_abort_rate": intervals.share_interval,
    "meta_writes_per_s": intervals.rate_interval,
}
TOTALS: Final = (
    *("attempts", "committed", "unknown", "schema_aborts", "simulated_us", "events"),
    "meta_writes",
)
OUTCOMES: Final = ("ok", "violated", "stuck", "crashed", "vacuous", "unknown", "unmet", "timeout")
RESAMPLES: Final = 1_000
PER_CELL: Final = "per_cell.parquet"
PER_SEED: Final = "per_seed.parquet"
KEY: Final = ("cell", "seed")


def kinds() -> list[str]:
    """The names of the histograms without their unit."""
    return [name.removesuffix("_us") for name in HISTOGRAMS]


def figures() -> list[str]:
    """The figures that have an interval in the table per cell."""
    of_kinds = [f"{kind}_{part}" for kind in kinds() for part in _parts()]
    return ["violation_rate", *RATES, *of_kinds]


def _parts() -> list[str]:
    return ["waited", "mean_us", *(f"{name}_us" for name in QUANTILES)]


def rows(spark: "SparkSession", directory: str) -> "DataFrame":
    """The rows of a sweep that exist so far; the size of each file once unpacked is checked
    before Spark reads any."""
    for file in parts(directory):
        footer_of(file, "say --resume: it is run again")
    return spark.read.parquet(Path(directory, PARTS).resolve().as_uri())


# --- per seed -------------------------------------------------------------------------------------


def per_seed(frame: "DataFrame") -> "DataFrame":
    """One row of figures for each run."""
    chosen = frame.select(*KEY, "outcome", *TOTALS, "reached", *HISTOGRAMS)
    kept = dict(chosen.drop(*HISTOGRAMS).dtypes)
    columns = [*(f"{name} {type_}" for name, type_ in kept.items()), *_typed_figures()]

    def of_runs(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            found = {name: batch[name] for name in kept}
            found |= {name: _quotient(batch, *of) for name, of in RATES.items()}
            for kind in kinds():
                column = batch[f"{kind}_us"]
                found |= _figures(kind, column, np.arange(len(column)), column.field("total_us"))
            yield pa.RecordBatch.from_pydict(found)

    return chosen.mapInArrow(of_runs, ", ".join(columns))


def _typed_figures() -> list[str]:
    """The rates and the figures of histograms as columns of SQL."""
    whole = {"count", *(f"{name}_us" for name in QUANTILES)}
    every = [(kind, part) for kind in kinds() for part in ("count", *_parts())]
    of_kinds = [f"{kind}_{part} {'bigint' if part in whole else 'double'}" for kind, part in every]
    return [*(f"{name} double" for name in RATES), *of_kinds]


def _quotient(table: Any, above: str, below: str, times: int) -> Any:
    """One column by another; null where that is 0."""
    below_zero = pc.equal(table[below], 0)
    whole = pc.cast(pc.if_else(below_zero, None, table[below]), pa.float64())
    return pc.divide(pc.cast(pc.multiply(table[above], times), pa.float64()), whole)


def _figures(kind: str, column: Any, to: Any, totals: Any) -> dict[str, Any]:
    """The figures of histograms, those with the same number in `to` added up.

    `totals` are their sums in microseconds, null of a histogram that is null.
    """
    row, value, count = _entries(column)
    histogram = to[row]
    order = np.lexsort((value, histogram))
    histogram, value, count = histogram[order], value[order], count[order]
    sizes, zeros = np.zeros((2, len(totals)), np.int64)
    np.add.at(sizes, histogram, count)
    np.add.at(zeros, histogram[value == 0], count[value == 0])
    empty = sizes == 0
    divisor = pa.array(sizes.astype(np.float64), mask=empty)
    found = {
        f"{kind}_count": pc.if_else(pc.is_valid(totals), pa.array(sizes), None),
        f"{kind}_waited": pc.subtract(1.0, pc.divide(pa.array(zeros.astype(np.float64)), divisor)),
        f"{kind}_mean_us": pc.divide(pc.cast(totals, pa.float64()), divisor),
    }
    seen, before = np.cumsum(count), np.cumsum(sizes) - sizes
    for name, (above, below) in QUANTILES.items():
        rank = (sizes * above + below - 1) // below
        place = np.searchsorted(seen, before + rank)
        lower = np.append(value, 0)[np.where(empty, -1, place)]
        found[f"{kind}_{name}_us"] = pa.array(lower, mask=empty)
    return found


def _entries(column: Any) -> tuple[Any, Any, Any]:
    """Each bucket of a column of histograms: its row, its lower end and its count."""
    maps = column.field("counts")
    offsets = maps.offsets.to_numpy()
    row = np.repeat(np.arange(len(column)), np.diff(offsets))
    flat = (each.to_numpy(zero_copy_only=False) for each in (maps.keys, maps.items))
    value, count = (each[offsets[0] : offsets[-1]] for each in flat)
    return row, value, count


# --- per cell -------------------------------------------------------------------------------------


def per_cell(frame: "DataFrame", level: float = intervals.LEVEL) -> "DataFrame":
    """One row of figures and intervals for each cell."""
    whole = ("runs", *(f"runs_{name}" for name in OUTCOMES), *TOTALS)
    names = [f"{name}_{end}" for name in figures() for end in ("low", "high")]
    columns = [
        "cell int",
        *(f"{name} bigint" for name in whole),
        "violation_rate double",
        *_typed_figures(),
        *(f"{name} double" for name in [*names, "violation_bound"]),
    ]
    chosen = frame.select(*KEY, "outcome", *TOTALS, *HISTOGRAMS)
    return chosen.groupBy("cell").applyInArrow(
        lambda table: _of_cell(table, level), ", ".join(columns)
    )


def _of_cell(table: Any, level: float) -> Any:
    """The row of one cell; its runs are sorted by seed, so their order does not matter."""
    table = table.sort_by("seed")
    ended = Counter(table["outcome"].to_pylist())
    counts = {"runs": table.num_rows} | {f"runs_{name}": ended[name] for name in OUTCOMES}
    sums = pa.table({name: pa.array([pc.sum(table[name]).as_py()], pa.int64()) for name in TOTALS})
    found = {name: [count] for name, count in counts.items()}
    found["violation_rate"] = [ended["violated"] / table.num_rows]
    found |= {name: sums[name] for name in TOTALS}
    found |= {name: _quotient(sums, *of) for name, of in RATES.items()}
    for kind in kinds():
        column = table[f"{kind}_us"].combine_chunks()
        total = pa.array([pc.sum(column.field("total_us")).as_py()], pa.int64())
        found |= _figures(kind, column, np.zeros(len(column), np.int64), total)
    return pa.table({"cell": table["cell"].slice(0, 1), **found, **_intervals(table, level)})


def _intervals(table: Any, level: float) -> dict[str, Any]:
    """The lower and upper end of every figure of a cell's runs, sorted by seed."""
    found: dict[str, tuple[float, float]] = {}
    violated = sum(outcome == "violated" for outcome in table["outcome"].to_pylist())
    low, high = intervals.share_of_runs(violated, table.num_rows, level)
    found["violation_rate"] = (float(low), float(high))
    bound = float(intervals.none_seen(table.num_rows, level)) if not violated else None
    done = table.filter(table["attempts"].is_valid())
    if done.num_rows > 1:
        for name, (above, below, times) in RATES.items():
            how = RATE_INTERVALS[name]
            found[name] = _ratio(how, numbers(done[above]), numbers(done[below]) / times, level)
        for kind in kinds():
            found |= _of_histograms(kind, done[f"{kind}_us"].combine_chunks(), level)
    columns = {
        f"{name}_{end}": pa.array([_finite(found, name, place)], pa.float64())
        for name in figures()
        for place, end in enumerate(("low", "high"))
    }
    return {**columns, "violation_bound": pa.array([bound], pa.float64())}


def _of_histograms(kind: str, column: Any, level: float) -> dict[str, tuple[float, float]]:
    """The intervals of one kind of duration: whole runs resampled."""
    counts, values = _matrix(column)
    if not len(values):
        return {}
    sizes = counts.sum(axis=1)
    waited = sizes - (counts[:, 0] if values[0] == 0 else 0)
    totals = numbers(column.field("total_us"))
    found = {
        f"{kind}_waited": _ratio(intervals.share_interval, waited, sizes, level),
        f"{kind}_mean_us": _ratio(intervals.ratio_interval, totals, sizes, level),
    }
    shares = [above / below for above, below in QUANTILES.values()]
    ends = intervals.pooled_quantile_intervals(counts, values, shares, level, RESAMPLES)
    for name, (low, high) in zip(QUANTILES, ends, strict=True):
        found[f"{kind}_{name}_us"] = (float(low), float(high))
    return found


def _matrix(column: Any) -> tuple[Any, Any]:
    """Histograms as a matrix, runs x buckets, and the values of the buckets."""
    row, value, count = _entries(column)
    values, places = np.unique(value, return_inverse=True)
    matrix = np.zeros((len(column), len(values)))
    np.add.at(matrix, (row, places), count)
    return matrix, values


def _ratio(
    how: Callable[[Any, Any, float, int], intervals.Ends], above: Any, below: Any, level: float
) -> tuple[float, float]:
    if not below.sum():
        return (np.nan, np.nan)
    low, high = how(above, below, level, RESAMPLES)
    return float(low), float(high)


def numbers(column: Any) -> Any:
    return column.to_numpy(zero_copy_only=False).astype(np.float64)


def _finite(found: dict[str, tuple[float, float]], name: str, place: int) -> float | None:
    value = found.get(name, (np.nan, np.nan))[place]
    return value if np.isfinite(value) else None


# --- as tables ------------------------------------------------------------------------------------


def write(spark: "SparkSession", directory: str) -> list[str]:
    """Write both tables of a finished sweep into its directory, with the cells' columns first."""
    metadata = store.read_rows(directory).schema.metadata
    frame = rows(spark, directory)
    cells = spark.read.parquet(Path(directory, store.CELLS).resolve().as_uri())
    made = {PER_SEED: (per_seed(frame), KEY), PER_CELL: (per_cell(frame), ("cell",))}
    for name, (wanted, order) in made.items():
        table = cells.join(wanted, "cell").toArrow()
        table = table.sort_by([(key, "ascending") for key in order])
        origin = provenance.metadata({**provenance.read(metadata), "table": name})
        write_table(table.replace_schema_metadata(origin), Path(directory, name))
    return list(made)
