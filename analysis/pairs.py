"""Paired differences: a figure of one cell against that of its partner, seed by seed.

All cells of a sweep have the same seeds, and equal seeds are equal weather (common random numbers),
so what two cells differ by is known far better than either of them.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from analysis import intervals
from analysis.aggregates import numbers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def paired(
    seeds: "DataFrame",
    cells: "DataFrame",
    factor: str,
    base: Any,
    figure: str,
    level: float = intervals.LEVEL,
) -> "DataFrame":
    """How a figure differs from that of the cell with `base` in place of its own `factor`.

    `seeds` is the table per seed, `cells` that of cells. Runs are paired by seed: they saw the same
    weather, so the interval is far narrower than what two intervals could say. One row per cell
    that has such a partner: `cell`, `base_cell`, `seeds`, `difference`, `low`, `high`.
    """
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    same = [name for name in cells.columns if name not in ("cell", factor)]
    partners = cells.where(F.col(factor).eqNullSafe(F.lit(base)))
    partners = partners.select(F.col("cell").alias("base_cell"), *(F.col(n) for n in same))
    others = cells.where(~F.col(factor).eqNullSafe(F.lit(base)))
    alike = [F.col(f"o.{name}").eqNullSafe(F.col(f"p.{name}")) for name in same]
    matched = others.alias("o").join(partners.alias("p"), alike).select("o.cell", "base_cell")
    value = seeds.select("cell", "seed", F.col(figure).alias("value")).where("value is not null")
    base_value = value.select(
        F.col("cell").alias("base_cell"), "seed", F.col("value").alias("base_value")
    )
    pairs = value.join(matched, "cell").join(base_value, ["base_cell", "seed"])
    return pairs.groupBy("cell", "base_cell").applyInArrow(
        lambda table: _difference(table, level),
        "cell int, base_cell int, seeds long, difference double, low double, high double",
    )


def _difference(table: Any, level: float) -> Any:
    table = table.sort_by("seed")
    one, other = (numbers(table[name]) for name in ("value", "base_value"))
    low, high = (float(end) for end in intervals.paired_difference(one, other, level))
    ends = [end if np.isfinite(end) else None for end in (low, high)]
    return pa.table(
        {
            "cell": table["cell"].slice(0, 1),
            "base_cell": table["base_cell"].slice(0, 1),
            "seeds": pa.array([table.num_rows], pa.int64()),
            "difference": pa.array([float((one - other).mean())], pa.float64()),
            "low": pa.array(ends[:1], pa.float64()),
            "high": pa.array(ends[1:], pa.float64()),
        }
    )
