"""One self-contained HTML page about a sweep or an advice of `tune`.

Style, figures (SVG) and tables are in the file; it loads nothing.
"""

import math
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from markupsafe import Markup

from ddlsim import pages
from ddlsim.analysis.figures.catalog import PLOTS
from ddlsim.analysis.figures.drawing import own_ids, styled, svg_text
from ddlsim.analysis.formula.by_formula import worlds
from ddlsim.analysis.stats import intervals
from ddlsim.analysis.sweep.cells import (
    CLAIMED,
    ROWS,
    Cell,
    Cells,
    CellsError,
    Estimate,
    read,
    said,
    shown,
)
from ddlsim.analysis.tune import tuned
from ddlsim.analysis.tune.words import number as brief
from ddlsim.analysis.tune.words import with_interval
from ddlsim.analysis.tune.world import ASSUMED
from ddlsim.escape import counted
from ddlsim.files import write_text
from ddlsim.scenario.overrides import repeat_options

TEMPLATE: Final = "report.html.j2"
FINDINGS_MOST: Final = 40


Key = tuple[str, str, str, str]
Member = tuple[Cell, Mapping[str, Any], Mapping[str, Any]]
"""A finding with its cell and row."""


class Line(NamedTuple):
    """One cell of the sweep as a row of the table."""

    labels: tuple[str, ...]
    runs: int
    committed: str
    aborts: str
    wait: str
    dml: str
    ddl: str
    verdict: str
    bad: bool


class Drawn(NamedTuple):
    """A figure on the page."""

    name: str
    summary: str
    svg: Markup
    command: str


class ViolationKind(NamedTuple):
    """The violations of one kind."""

    status: str
    invariant: str
    checker: str
    kind: str
    runs: int
    example: str
    command: str


def write(directory: Path, target: Path) -> None:
    """Write the page about a directory of `sweep` or `tune`; `CellsError` where it is neither."""
    advice = tuned.read(directory) if tuned.there(directory) else None
    cells = None if advice and not (directory / ROWS).is_file() else read(directory)
    write_text(target, page_of(cells, directory, advice))


def page_of(cells: Cells | None, directory: Path, advice: dict[str, Any] | None = None) -> str:
    """The page as text: of a sweep, of an advice, or of both."""
    environment = pages.environment("ddlsim.analysis")
    environment.globals |= {
        "number": _plain,
        "counted": counted,
        "percent": _percent,
        "ASSUMED": ASSUMED,
        "with_interval": with_interval,
        "brief": brief,
    }
    about = {} if cells is None else _about(cells, directory)
    title = "What ddlsim tune recommends" if advice else about["title"]
    return environment.get_template(TEMPLATE).render(
        {**about, "title": title, "tuned": advice, "tuned_figure": _tuned_figure(advice)}
    )


def _about(cells: Cells, directory: Path) -> dict[str, Any]:
    """The variables of the template for a sweep."""
    origin = cells.provenance
    known = (*cells.cells[0].parameters, "scenario", "design")
    names = [name for name in known if len(cells.values(name)) > 1]
    return {
        "title": origin.get("title", directory.name),
        "origin": origin,
        "packages": origin.get("packages", {}),
        "command": _sweep_command(origin),
        "runs": sum(cell.runs for cell in cells.cells),
        "lost": sum(cell.runs - len(cell.rows) for cell in cells.cells),
        "cells": len(cells.cells),
        "names": [said(name) for name in names],
        "lines": [_line(cell, names) for cell in cells.cells],
        "figures": list(_figures(cells, directory)),
        "found": _found(cells),
    }


def _tuned_figure(advice: dict[str, Any] | None) -> Markup | None:
    if advice is None:
        return None
    with styled():
        drawn = PLOTS["tune"].draw(advice)
    return Markup(own_ids(svg_text(drawn), "tune"))


def _percent(share: float) -> str:
    return f"{_plain(100 * share)} %"


def _sweep_command(origin: Mapping[str, Any]) -> str:
    """The command of a sweep; empty for the runs of `tune`."""
    command = origin.get("command")
    return f"{command} --out DIR" if command and "sweep" in origin else ""


# --- the table ------------------------------------------------------------------------------------


def _line(cell: Cell, names: list[str]) -> Line:
    committed = sum(row["committed"] for row in cell.rows)
    verdict, bad = _verdict(cell)
    return Line(
        labels=tuple(shown(cell.value(name)) for name in names),
        runs=cell.runs,
        committed=f"{committed:,}",
        aborts=_interval(cell.schema_aborts, scale=100),
        wait=_wait(cell),
        dml=_interval(cell.quantile_ms("dml_latency_us", 0.99)),
        ddl=_interval(cell.mean_ms("ddl_latency_us")),
        verdict=verdict,
        bad=bad,
    )


def _verdict(cell: Cell) -> tuple[str, bool]:
    """What the runs of a cell came to, and whether some of them came to no good end.

    A rate has its upper bound from the runs that were judged in full.
    """
    broken = cell.violating(within=CLAIMED)
    hits = round(broken.value * len(cell.rows)) if cell.rows else 0
    ended = Counter(row["outcome"] for row in cell.rows)
    lost = [(cell.runs - len(cell.rows), "not finished"), (ended["unknown"], "not judged in full")]
    ends = [*lost, (ended["stuck"], "stuck"), (ended["unmet"], "not as expected")]
    found = [f"violated in {hits}"] if hits else []
    judged = cell.runs - sum(number for number, _ in lost)
    if not hits and judged:
        found = [f"none; rate below {100 * float(intervals.none_seen(judged)):.2g} %"]
    told = (*ends, (ended["vacuous"], "vacuous"))
    found += [f"{said}: {number}" for number, said in told if number]
    return ", ".join(found), bool(hits or any(number for number, _ in ends))


def _interval(estimate: Estimate, scale: float = 1.0) -> str:
    """A value with its interval, each with three significant digits."""
    value, low, high = (scale * one for one in estimate)
    if math.isnan(value):
        return "-"
    return f"{_plain(value)} ({_plain(low)} to {_plain(high)})"


def _wait(cell: Cell) -> str:
    """The 99th percentile of waits; where it is 0, the upper bound of the share that waits."""
    estimate = cell.quantile_ms("operation_wait_us", 0.99)
    if estimate.value or 0 < estimate.high < math.inf:
        return _interval(estimate)
    waiting = cell.share_above("operation_wait_us")
    if not waiting.value:
        return f"0 (none in {counted(len(cell.rows), 'run')})"
    return f"0 (< {100 * waiting.high:.2g} % wait)"


def _plain(value: float | None) -> str:
    """A number with three significant digits and without an exponent; `unknown` for None."""
    if value is None:
        return "unknown"
    if not math.isfinite(value):
        return "∞"
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:,.{digits}f}"


# --- figures --------------------------------------------------------------------------------------


def _figures(cells: Cells, directory: Path) -> Iterator[Drawn]:
    """Every figure that can be drawn from this sweep."""
    for name, plot in PLOTS.items():
        if plot.of != "sweep":
            continue
        try:
            with styled():
                drawn = plot.draw(cells.need(*plot.needs, figure=name))
        except CellsError:
            continue
        command = shlex.join(["ddlsim", "plot", name, str(directory)])
        yield Drawn(name, plot.summary, Markup(own_ids(svg_text(drawn), name)), command)


# --- findings -------------------------------------------------------------------------------------


def _found(cells: Cells) -> list[ViolationKind]:
    """The violations by kind, the most frequent first, each with the command of one run."""
    commands = _Commands(cells)
    groups: dict[Key, list[Member]] = {}
    for cell in cells.cells:
        for row in cell.rows:
            for one in row["violations"]:
                key = (one["status"], one["invariant"], one["checker"], one["kind"])
                groups.setdefault(key, []).append((cell, row, one))
    lines = [_one_found(key, members, commands) for key, members in groups.items()]
    return sorted(lines, key=lambda line: (line.status != "violation", -line.runs))[:FINDINGS_MOST]


def _one_found(key: Key, members: list[Member], commands: "_Commands") -> ViolationKind:
    cell, row, one = members[0]
    runs = len({(cell.number, row["seed"]) for cell, row, _ in members})
    return ViolationKind(*key, runs, one["summary"], commands.of(cell, row["seed"]))


class _Commands:
    """Makes the commands that repeat single runs of a sweep."""

    def __init__(self, cells: Cells) -> None:
        self._known = worlds(cells)
        self._paths = cells.paths
        self._sweep: str = cells.provenance.get("sweep", "")
        self._folder = Path(self._sweep).parent
        self._set: dict[str, Any] = cells.provenance.get("set", {})
        self._judging: list[str] = cells.provenance.get("judging", [])

    def of(self, cell: Cell, seed: int) -> str:
        """The command of one run; empty for the runs of `tune`, whose scenarios are in no file."""
        if not self._sweep:
            return ""
        world = self._known.get(cell.number)
        words = self._words(cell) if world is None else world.scenario.arguments()
        return shlex.join(["ddlsim", "run", *words, "--seed", str(seed), *self._judging])

    def _words(self, cell: Cell) -> list[str]:
        """The arguments for a scenario that cannot be read here, with all that the sweep sets."""
        swept = {path: cell.swept[name] for name in cell.swept for path in self._paths[name]}
        beside = self._folder / cell.scenario
        words = [str(beside) if beside.is_file() else cell.scenario, "--strategy", cell.strategy]
        words += ["--mutant", cell.mutant] if cell.mutant else []
        return words + repeat_options({**self._set, **swept})
