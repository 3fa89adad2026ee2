"""`--until`: more seeds for the cells whose intervals are still too wide.

`schema_abort_rate ci=0.002` goes on until half of the interval is at most 0.002; `ci=5%` until it
is at most that share of the figure; `seeds=2000` is the maximum for a cell (default: 64 times the
number in the file). Every round tests the data once more, so each interval is wider than the last,
such that all of them together keep 95 %.
"""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow.compute as pc  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.analysis.stats import intervals
from ddlsim.analysis.sweep import aggregates
from ddlsim.analysis.sweep.chunks import Round
from ddlsim.escape import counted
from ddlsim.model.records import Record
from ddlsim.problems import BadInputError
from ddlsim.scenario.problems import near

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROUNDS: Final = 64
LEAST_RUNS: Final = 10
"""The number of runs below which no interval is trusted: a few runs may all be alike."""
_TARGET: Final = re.compile(r"(\w+)\s+ci=([0-9.eE+-]+)(%?)(?:\s+seeds=(\d+))?")


class BadTargetError(BadInputError):
    """A target that cannot be parsed; the message shows the form."""


class Target(Record, frozen=True):
    """How narrow the interval of a figure must be, `relative` to the figure or not."""

    figure: str
    width: float
    relative: bool
    most: int | None


def read_target(text: str) -> Target:
    """Parse a target of the command line."""
    match = _TARGET.fullmatch(text.strip())
    form = '"FIGURE ci=WIDTH [seeds=MOST]", such as "schema_abort_rate ci=0.002"'
    if match is None:
        raise BadTargetError(f"--until {text}: expected {form}")
    figure, width, percent, most = match.groups()
    if figure not in aggregates.figures():
        what = f"no figure is called {figure!r}; {near(figure, aggregates.figures())}"
        raise BadTargetError(f"--until {text}: {what}")
    try:
        value = float(width)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise BadTargetError(f"--until {text}: the width is a number above 0")
    return Target(figure, value / 100 if percent else value, bool(percent), int(most or 0) or None)


def further(
    targets: Sequence[Target], directory: str, note: Callable[[str], None]
) -> Callable[[Callable[[], "SparkSession"], Sequence[Round]], Round | None]:
    """A function that returns the next round: the open cells with as many seeds as the first round.

    It returns None where no cell is open or the maximum of seeds is reached; `note` is called with
    a line about either.
    """

    def following(session: Callable[[], "SparkSession"], rounds: Sequence[Round]) -> Round | None:
        first, last = rounds[0], rounds[-1]
        seen = last.first_seed + last.seeds - first.first_seed
        still = open_cells(session(), directory, targets, len(rounds), last.cells)
        most = min((each.most or first.seeds * ROUNDS) for each in targets)
        seeds = min(first.seeds, most - seen)
        if not still or seeds <= 0:
            if still:
                of = f"{counted(len(still), 'cell')} still too wide"
                note(f"{of} after {counted(seen, 'seed')} each")
            return None
        note(f"{counted(len(still), 'cell')} to go on, {counted(seen, 'seed')} so far")
        return Round(tuple(still), first.first_seed + seen, seeds, 0)

    return following


def open_cells(
    spark: "SparkSession",
    directory: str,
    targets: Sequence[Target],
    look: int,
    among: Sequence[int],
) -> list[int]:
    """The cells `among` these for which some target is not met yet."""
    frame = aggregates.rows(spark, directory)
    frame = frame.where(frame["cell"].isin(list(among)))
    table = aggregates.per_cell(frame, intervals.level_of_look(look)).toArrow().sort_by("cell")
    wide = pc.less(table["runs"], LEAST_RUNS)
    for target in targets:
        low, high = (table[f"{target.figure}_{end}"] for end in ("low", "high"))
        half = pc.divide(pc.subtract(high, low), 2.0)
        allowed = target.width
        if target.relative:
            allowed = pc.multiply(pc.abs(pc.cast(table[target.figure], "double")), target.width)
        wide = pc.or_(wide, pc.fill_null(pc.greater(half, allowed), fill_value=True))
    found: list[int] = table["cell"].filter(wide).to_pylist()
    return found
