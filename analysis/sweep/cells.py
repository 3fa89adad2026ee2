"""The cells of a sweep, with estimates and their intervals over seeds, for figures.

A cell is one scenario, design and set of parameters; its runs differ in the seed alone, which is
the unit of chance. Every estimate is pooled over a cell's runs; its interval comes from resampling
whole seeds (analysis/stats/intervals.py).
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from ddlsim import sealed
from ddlsim.analysis.stats import histogram, intervals
from ddlsim.analysis.stats.axes import read_axis
from ddlsim.analysis.sweep import provenance
from ddlsim.analysis.sweep.need import Need
from ddlsim.analysis.sweep.rows import SCHEMA
from ddlsim.escape import counted
from ddlsim.model.settings import SYMBOLS
from ddlsim.problems import BadInputError
from ddlsim.scenario.problems import Origin
from ddlsim.units import US_PER_MS

ROWS: Final = "rows.parquet"
ROUNDING: Final = 1e-9
UNFINISHED: Final = ("crashed", "timeout")
CLAIMED: Final = ("violation",)
"""Statuses of violations of what the design claims under its assumptions."""
BROKEN: Final = ("violation", "out_of_assumption", "accepted", "finding")
"""Statuses of all violations, claimed or not."""
SAFETY: Final = ("I1", "I2", "I3", "I5", "I7", "I8")
"""The invariants that figures call safety; those of sessions and waits are left out."""
SAFETY_SAID: Final = (
    "safety: atomicity (I1), one version at commit (I2), serializability (I3), one version in a "
    "transaction (I5),\ndata of its schema (I7), forward-compatible commits (I8)"
)


class CellsError(BadInputError):
    """A directory or table lacks what a figure needs; the message is one line with a remedy."""


class Estimate(NamedTuple):
    """A value with the ends of its 95 % interval, infinite where nothing bounds it."""

    value: float
    low: float
    high: float

    @property
    def percent(self) -> "Estimate":
        """A share in percent."""
        return Estimate(*(100 * one for one in self))


NO_ESTIMATE: Final = Estimate(np.nan, np.nan, np.nan)
"""Of cells without data."""


def _ratio(how: Callable[[Any, Any], intervals.Ends], above: Any, below: Any) -> Estimate:
    """The sum of one quantity over the sum of another, both given per seed; its interval is of a
    share, a rate or a mean."""
    if not below.sum():
        return NO_ESTIMATE
    low, high = how(above, below)
    return Estimate(float(above.sum() / below.sum()), float(low), float(high))


class Cell:
    """One cell and the rows of its finished runs, in the order of their seeds.

    `parameters` are the swept values by the names that figures use, `swept` the same by the names
    of the sweep file.
    """

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        first = rows[0]
        self.number: int = first["cell"]
        self.scenario: str = first["scenario"]
        self.strategy: str = first["strategy"]
        self.mutant: str | None = first["mutant"]
        self.swept: dict[str, Any] = json.loads(first["parameters"])
        self.parameters = self.swept
        self.runs = len(rows)
        self.rows = [row for row in rows if row["outcome"] not in UNFINISHED]

    @property
    def design(self) -> str:
        """The strategy, and the mutant in it."""
        return f"{self.strategy} + {self.mutant}" if self.mutant else self.strategy

    def named(self, names: Mapping[str, str]) -> "Cell":
        """The same cell with parameters under other names."""
        other = copy(self)
        other.parameters = {names.get(name, name): value for name, value in self.swept.items()}
        return other

    def value(self, name: str) -> Any:
        """A parameter, or `scenario`, `strategy`, `design`."""
        if name in ("scenario", "strategy", "design"):
            return getattr(self, name)
        return self.parameters[name]

    def label(self, names: Iterable[str]) -> str:
        """The design, and the values of these parameters."""
        return _label(self, ["design", *names])

    def counts(self, of: Callable[[Mapping[str, Any]], float]) -> Any:
        """A number from the row of every run, seed by seed."""
        return np.array([of(row) for row in self.rows], dtype=np.float64)

    def ratio(
        self,
        above: Callable[[Mapping[str, Any]], float],
        below: Callable[[Mapping[str, Any]], float],
    ) -> Estimate:
        """Events, over the trials or the time in which they were counted, of all runs."""
        return _ratio(intervals.rate_interval, self.counts(above), self.counts(below))

    def share(
        self,
        hits: Callable[[Mapping[str, Any]], float],
        trials: Callable[[Mapping[str, Any]], float],
    ) -> Estimate:
        """The share of hits among the trials of all runs."""
        return _ratio(intervals.share_interval, self.counts(hits), self.counts(trials))

    def share_of_runs(self, of: Callable[[Mapping[str, Any]], bool]) -> Estimate:
        """The share of runs for which `of` is true."""
        hits, runs = float(self.counts(of).sum()), len(self.rows)
        low, high = intervals.share_of_runs(hits, runs)
        return Estimate(hits / runs if runs else np.nan, float(low), float(high))

    @cached_property
    def _histograms(self) -> dict[str, list[histogram.Histogram]]:
        return {}

    def durations(self, name: str) -> list[histogram.Histogram]:
        """The histogram of every run, seed by seed."""
        if name not in self._histograms:
            self._histograms[name] = [histogram.of_cell(row[name]) for row in self.rows]
        return self._histograms[name]

    def mean_ms(self, name: str) -> Estimate:
        """The mean duration, exact, in milliseconds."""
        each = self.durations(name)
        totals = np.array([one.total_us for one in each], dtype=np.float64) / US_PER_MS
        counts = np.array([histogram.size(one) for one in each], dtype=np.float64)
        return _ratio(intervals.ratio_interval, totals, counts)

    def quantile_ms(self, name: str, share: float) -> Estimate:
        """A quantile of all durations in milliseconds, to the width of a bucket.

        NaN where the durations are so few that it would be their maximum: a 99th percentile
        needs 100.
        """
        values_us, counts = histogram.matrix(self.durations(name))
        values = values_us / US_PER_MS
        if counts.sum() * (1 - share) < 1 - ROUNDING:
            return NO_ESTIMATE
        middle = intervals.pooled_quantile(counts.sum(axis=0), values, share)
        low, high = intervals.pooled_quantile_intervals(counts, values, [share])[0]
        return Estimate(float(middle), float(low), float(high))

    def share_above(self, name: str, limit_us: int = 0) -> Estimate:
        """The share of durations above a limit."""
        each = self.durations(name)
        over = [sum(n for lower, n in one.counts.items() if lower > limit_us) for one in each]
        sizes = [histogram.size(one) for one in each]
        hits, trials = np.array(over, dtype=np.float64), np.array(sizes, dtype=np.float64)
        return _ratio(intervals.share_interval, hits, trials)

    @property
    def schema_aborts(self) -> Estimate:
        """The share of attempts that a schema change aborted."""
        return self.share(lambda row: row["schema_aborts"], lambda row: row["attempts"])

    def violating(
        self, *invariants: str, within: Sequence[str] = BROKEN, besides: Sequence[str] = ()
    ) -> Estimate:
        """The share of runs in which one of these invariants (any, if none is named) is violated.

        `within` are the statuses that count, `besides` the kinds that do not. What only the strict
        graph shows is `accepted` where the sweep was judged by the relaxed one, and does not count
        there.
        """

        def broken(row: Mapping[str, Any]) -> bool:
            return any(
                found["status"].partition(":")[0] in within
                and not (found["strict_only"] and found["status"] == "accepted")
                and (not invariants or found["invariant"] in invariants)
                and found["kind"] not in besides
                for found in row["violations"]
            )

        return self.share_of_runs(broken)


class Cells:
    """All cells of a sweep."""

    def __init__(self, cells: Sequence[Cell], origin: Mapping[str, Any]) -> None:
        self.cells = tuple(cells)
        self.provenance = dict(origin)

    @property
    def paths(self) -> dict[str, tuple[str, ...]]:
        """The paths of keys that each swept parameter sets, by its name in the sweep file."""
        text, name = self.provenance.get("text"), self.provenance.get("sweep", "")
        if not text:
            return {}
        document = tomllib.loads(text)
        origin, sampled = Origin(name, text, []), "sample" in document
        given = document.get("parameters", {}).items()
        axes = [read_axis(key, value, origin, sampled=sampled) for key, value in given]
        return {axis.name: axis.paths for axis in axes}

    def need(self, *needs: Need, figure: str) -> "Cells":
        """The cells with these axes under their usual names.

        An axis is found by that name, or else by a path that it sets. Raises `CellsError` with
        what to sweep, where there is none or more than one, or where it has other than numbers.
        """
        names: dict[str, str] = {}
        for need in needs:
            if all(need.name in cell.parameters for cell in self.cells):
                continue
            found = [name for name, paths in self.paths.items() if any(map(need.is_set_by, paths))]
            if len(found) != 1:
                there = f"{len(found)}: {', '.join(found)}" if found else "none"
                raise CellsError(
                    f"the figure {figure!r} needs a sweep over {need.name} ({need.path}), and this "
                    f"one has {there}; add it to [parameters], or name it so"
                )
            names[found[0]] = need.name
        named = Cells([cell.named(names) for cell in self.cells], self.provenance)
        for need in needs:
            for value in named.values(need.name):
                if not isinstance(value, int | float):
                    what = f"draws numbers, and {need.name} ({need.path}) has {shown(value)}"
                    raise CellsError(f"the figure {figure!r} {what}")
        return named

    def values(self, name: str) -> list[Any]:
        """The values of a parameter: numbers in order, then texts, then others by their JSON."""
        found = {json.dumps(cell.value(name)): cell.value(name) for cell in self.cells}

        def order(text: str) -> tuple[int, float, str]:
            value = found[text]
            if isinstance(value, int | float):
                return 0, float(value), text
            return (1, 0.0, value) if isinstance(value, str) else (2, 0.0, text)

        return [found[text] for text in sorted(found, key=order)]

    def where(self, **wanted: Any) -> "Cells":
        """The cells with these values."""
        chosen = [
            cell
            for cell in self.cells
            if all(cell.value(name) == value for name, value in wanted.items())
        ]
        return Cells(chosen, self.provenance)

    def varying(self, *but: str) -> list[str]:
        """Parameters, `design` and `scenario` that differ between cells, without those in `but`."""
        names = ["design", "scenario", *(self.cells[0].parameters if self.cells else ())]
        return [name for name in names if name not in but and len(self.values(name)) > 1]

    def series(self, x: str, *but: str) -> list[tuple[str, "Cells"]]:
        """The cells as lines over `x`: one for each combination of the other varying parameters."""
        return self._grouped(self.varying(x, *but), order=lambda cell: cell.value(x))

    def by_design(self) -> list[tuple[str, "Cells"]]:
        """The cells of each design, and of each scenario if there are several, by their names."""
        parameters = self.cells[0].parameters if self.cells else ()
        return sorted(self._grouped(["design", *self.varying("design", *parameters)]))

    def _grouped(
        self, names: Sequence[str], order: Callable[[Cell], Any] = lambda cell: cell.number
    ) -> list[tuple[str, "Cells"]]:
        """The cells of each combination of these values, in order, with a label that tells them."""
        groups: dict[tuple[str, ...], list[Cell]] = {}
        for cell in self.cells:
            groups.setdefault(tuple(json.dumps(cell.value(n)) for n in names), []).append(cell)
        return [
            (_label(cells[0], names), Cells(sorted(cells, key=order), self.provenance))
            for cells in groups.values()
        ]

    def at_most(self, count: int, figure: str) -> None:
        """Raise `CellsError` where a figure that has room for `count` cells would get more."""
        if len(self.cells) > count:
            raise CellsError(
                f"the figure {figure!r} shows up to {count} cells, and this sweep has "
                f"{len(self.cells)}; sweep over strategies alone"
            )

    def each(self, of: Callable[[Cell], Estimate]) -> tuple[Any, Any, Any]:
        """An estimate of every cell as three columns: values, lower ends, upper ends."""
        columns = np.array([of(cell) for cell in self.cells], dtype=np.float64).reshape(-1, 3)
        return columns[:, 0], columns[:, 1], columns[:, 2]

    @property
    def ran(self) -> str:
        """The number of runs, their scenarios and the program's version, in one line."""
        runs = sum(cell.runs for cell in self.cells)
        lost = runs - sum(len(cell.rows) for cell in self.cells)
        seeds = {cell.runs for cell in self.cells}
        few = "" if len(seeds) == 1 else f"{min(seeds):,} to "
        each = f"{few}{counted(max(seeds), 'seed')} a cell"
        unfinished = f", {lost:,} not finished" if lost else ""
        scenarios = ", ".join(str(one).removesuffix(".toml") for one in self.values("scenario"))
        version = self.provenance.get("version", "")
        ran = f"{counted(runs, 'run')} of {scenarios}, {each}{unfinished}"
        return f"{ran}; ddlsim {version}".rstrip()

    @property
    def note(self) -> str:
        """The same and an explanation of the bands."""
        return f"{self.ran}; bands and bars: 95 % over seeds"


UNITS: Final = {"_ms": " ms", "_us": " us", "_ppm": " ppm"}


def said(name: str) -> str:
    """A parameter's name as a label: the unit in brackets."""
    for suffix, unit in UNITS.items():
        if name.endswith(suffix):
            return (
                f"{SYMBOLS.get(name, name.removesuffix(suffix).replace('_', ' '))} ({unit.strip()})"
            )
    return name.replace("_", " ")


def _label(cell: Cell, names: Iterable[str]) -> str:
    parts = []
    for name in names:
        value = cell.value(name)
        if name in ("scenario", "design"):
            parts.append(str(value))
            continue
        unit = next((u for suffix, u in UNITS.items() if name.endswith(suffix)), "")
        symbol = SYMBOLS.get(name, name.replace("_ms", "").replace("_", " "))
        parts.append(value if isinstance(value, str) else f"{symbol} {shown(value)}{unit}")
    return ", ".join(parts)


def shown(value: Any) -> str:
    """A swept value in words: a number in short, a text as it is, others as JSON."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def read(directory: Path) -> Cells:
    """The cells of a finished sweep; `CellsError` where there is none."""
    file = directory / ROWS
    if not file.is_file():
        raise CellsError(
            f"{directory}: no {ROWS} there; name the directory of a finished `ddlsim sweep`"
        )
    try:
        table = sealed.read(file)
    except sealed.DamagedError as error:
        raise CellsError(f"{file}: it is damaged ({error}); run the sweep again") from None
    if not table.schema.equals(SCHEMA):
        raise CellsError(f"{file}: its columns are not those of rows; run the sweep again")
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for row in table.to_pylist():
        groups.setdefault(row["cell"], []).append(row)
    found = provenance.read(table.schema.metadata)
    return Cells([Cell(rows) for _, rows in sorted(groups.items())], found)
