"""Figures per run and per cell, with intervals over seeds; Spark groups the rows.

Two tables. *Per seed* has one row per run: rates, and the count, the share above zero, the mean and
three quantiles of each histogram. *Per cell* has one row per cell: the number of runs by outcome,
the same figures over all its runs (histograms are added, never averaged), and the ends of their
intervals over seeds, `NAME_low` and `NAME_high`, null with fewer than two seeds.

`violation_rate` is the share of runs with a violation, with Wilson's interval; where it is 0 of N,
`violation_bound` is the rate's upper bound at 95 %, about 3/N. An unfinished run counts as a run
and has no figures. Quantiles are by nearest rank and given as the lower end of their bucket, at
most 0.8 % too low.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.analysis.stats import intervals
from ddlsim.analysis.sweep import provenance, store
from ddlsim.analysis.sweep.chunks import PARTS, footer_of, parts, write_table
from ddlsim.analysis.sweep.rows import HISTOGRAMS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUANTILES: Final = {"p50": (50, 100), "p99": (99, 100), "p999": (999, 1000)}
RATES: Final = {
    "schema_abort_rate": ("schema_aborts", "attempts"),
    "meta_writes_per_s": ("meta_writes * 1000000", "simulated_us"),
}
"""Sums divided by sums."""
SUMS: Final = ("attempts", "committed", "unknown", "schema_aborts", "simulated_us", "events")
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
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    columns = [F.col(name) for name in (*KEY, "outcome", *SUMS, "meta_writes", "reached")]
    columns += [F.expr(f"{a} / nullif({b}, 0)").alias(name) for name, (a, b) in RATES.items()]
    for kind in kinds():
        columns += [F.expr(text).alias(f"{kind}_{part}") for part, text in _of(f"{kind}_us")]
    return frame.select(*columns)


def _of(column: str) -> Iterator[tuple[str, str]]:
    """The figures of a histogram column, as SQL."""
    counts, size = f"{column}.counts", _size(column)
    yield "count", size
    yield "waited", f"1 - coalesce({counts}[0L], 0) / nullif({size}, 0)"
    yield "mean_us", f"{column}.total_us / nullif({size}, 0)"
    for name, (above, below) in QUANTILES.items():
        yield f"{name}_us", _quantile(column, above, below)


def _size(column: str) -> str:
    return f"aggregate(map_values({column}.counts), 0L, (sum, n) -> sum + n)"


def _quantile(column: str, above: int, below: int) -> str:
    """The lower end of the bucket where the nearest rank falls; null of an empty histogram."""
    rank = f"greatest(({_size(column)} * {above} + {below - 1}) div {below}, 1L)"
    entries = f"array_sort(map_entries({column}.counts))"
    step = (
        "(have, entry) -> if(have.seen >= have.rank, have, named_struct("
        "'seen', have.seen + entry.value, 'at', entry.key, 'rank', have.rank))"
    )
    begin = f"named_struct('seen', 0L, 'at', cast(null as bigint), 'rank', {rank})"
    return f"aggregate({entries}, {begin}, {step}).at"


# --- per cell -------------------------------------------------------------------------------------


def per_cell(frame: "DataFrame", level: float = intervals.LEVEL) -> "DataFrame":
    """One row of figures and intervals for each cell."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    ended = [
        F.sum((F.col("outcome") == name).cast("bigint")).alias(f"runs_{name}") for name in OUTCOMES
    ]
    sums = [F.sum(name).alias(name) for name in (*SUMS, "meta_writes")]
    cells = frame.groupBy("cell").agg(F.count("*").alias("runs"), *ended, *sums)
    cells = cells.join(_pooled(frame), "cell", "left")
    columns = [F.col(name) for name in ("cell", "runs", *(f"runs_{name}" for name in OUTCOMES))]
    columns += [F.col(name) for name in (*SUMS, "meta_writes")]
    columns += [F.expr("runs_violated / runs").alias("violation_rate")]
    columns += [F.expr(f"{a} / nullif({b}, 0)").alias(name) for name, (a, b) in RATES.items()]
    for kind in kinds():
        columns += [F.expr(text).alias(f"{kind}_{part}") for part, text in _of(f"{kind}_us")]
    return cells.select(*columns).join(_intervals(frame, level), "cell")


def _pooled(frame: "DataFrame") -> "DataFrame":
    """The sum of each of a cell's histograms, under the histogram's name."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    kind, cell = F.col("kind"), F.col("cell")
    every = F.array(*(F.struct(F.lit(n).alias("kind"), F.col(n).alias("of")) for n in HISTOGRAMS))
    counts = (
        frame.select(cell, F.inline(every))
        .select(cell, kind, F.explode("of.counts").alias("key", "value"))
        .groupBy(cell, kind, "key")
        .agg(F.sum("value").alias("value"))
        .groupBy(cell)
        .agg(F.collect_list(F.struct("kind", "key", "value")).alias("every"))
    )
    totals = [F.sum(f"{name}.total_us").alias(name) for name in HISTOGRAMS]
    named = [F.col(name).alias(f"{name}_total") for name in HISTOGRAMS]
    sums = frame.groupBy(cell).agg(*totals).select(cell, *named)
    return counts.join(sums, "cell").select(cell, *(_one(name) for name in HISTOGRAMS))


def _one(name: str) -> Any:
    """The histogram `name` out of all the counts of a cell."""
    from pyspark.sql import functions as F  # noqa: N812 - its usual name

    own = f"filter(every, each -> each.kind = '{name}')"
    entries = f"transform({own}, each -> struct(each.key as key, each.value as value))"
    whole = f"named_struct('total_us', {name}_total, 'counts', map_from_entries({entries}))"
    return F.expr(whole).alias(name)


def _intervals(frame: "DataFrame", level: float) -> "DataFrame":
    """Lower and upper end of every figure, cell by cell."""
    names = [f"{name}_{end}" for name in figures() for end in ("low", "high")]
    ends = ", ".join(f"`{name}` double" for name in [*names, "violation_bound"])
    needed = ("cell", "seed", "outcome", *HISTOGRAMS, *SUMS, "meta_writes")
    chosen = frame.select(*needed)
    return chosen.groupBy("cell").applyInArrow(
        lambda table: _cell_intervals(table, level), f"cell int, {ends}"
    )


def _cell_intervals(table: Any, level: float) -> Any:
    """The intervals of one cell; its runs are sorted by seed, so their order does not matter."""
    table = table.sort_by("seed")
    found: dict[str, tuple[float, float]] = {}
    violated = sum(outcome == "violated" for outcome in table["outcome"].to_pylist())
    low, high = intervals.wilson(violated, table.num_rows, level)
    found["violation_rate"] = (float(low), float(high))
    bound = float(intervals.none_seen(table.num_rows, level)) if not violated else None
    done = table.filter(table["attempts"].is_valid())
    if done.num_rows > 1:
        schema, attempts = (numbers(done[name]) for name in ("schema_aborts", "attempts"))
        found["schema_abort_rate"] = _ratio(schema, attempts, level)
        writes, span = (numbers(done[name]) for name in ("meta_writes", "simulated_us"))
        found["meta_writes_per_s"] = _ratio(writes * 1e6, span, level)
        for kind in kinds():
            found |= _of_histograms(kind, done[f"{kind}_us"].combine_chunks(), level)
    columns = {
        f"{name}_{end}": pa.array([_finite(found, name, place)], pa.float64())
        for name in figures()
        for place, end in enumerate(("low", "high"))
    }
    return pa.table(
        {
            "cell": table["cell"].slice(0, 1),
            **columns,
            "violation_bound": pa.array([bound], pa.float64()),
        }
    )


def _of_histograms(kind: str, column: Any, level: float) -> dict[str, tuple[float, float]]:
    """The intervals of one kind of duration: whole runs resampled."""
    counts, values = _matrix(column)
    if not len(values):
        return {}
    sizes = counts.sum(axis=1)
    waited = sizes - (counts[:, 0] if values[0] == 0 else 0)
    totals = numbers(column.field("total_us"))
    found = {
        f"{kind}_waited": _ratio(waited, sizes, level),
        f"{kind}_mean_us": _ratio(totals, sizes, level),
    }
    shares = [above / below for above, below in QUANTILES.values()]
    ends = intervals.bootstrap_pooled_quantiles(counts, values, shares, level, RESAMPLES)
    for name, (low, high) in zip(QUANTILES, ends, strict=True):
        found[f"{kind}_{name}_us"] = (float(low), float(high))
    return found


def _matrix(column: Any) -> tuple[Any, Any]:
    """Histograms as a matrix, runs x buckets, and the values of the buckets."""
    maps = column.field("counts")
    keys = maps.keys.to_numpy(zero_copy_only=False)
    counts = maps.items.to_numpy(zero_copy_only=False)
    offsets = maps.offsets.to_numpy()
    keys, counts = (each[offsets[0] : offsets[-1]] for each in (keys, counts))
    values, places = np.unique(keys, return_inverse=True)
    matrix = np.zeros((len(column), len(values)))
    np.add.at(matrix, (np.repeat(np.arange(len(column)), np.diff(offsets)), places), counts)
    return matrix, values


def _ratio(above: Any, below: Any, level: float) -> tuple[float, float]:
    if not below.sum():
        return (np.nan, np.nan)
    low, high = intervals.ratio_interval(above, below, level, RESAMPLES)
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
