"""A result for people: the verdict, the figures, the arguments, what was reached, how to repeat."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.aggregate import Found
from sim.checkers.outcome import Outcome
from sim.cli.report import Report
from sim.history.figures import Durations, Figures
from sim.world.campaign import RunRow

COLOURS: Final = {
    Outcome.OK: "bold green",
    Outcome.VACUOUS: "bold yellow",
    Outcome.UNKNOWN: "bold yellow",
    Outcome.STUCK: "bold red",
    Outcome.VIOLATED: "bold red",
    Outcome.CRASHED: "bold magenta",
}
STATUS: Final = {
    "violation": "VIOLATION",
    "out_of_assumption": "out of assumption",
    "accepted": "accepted",
}
WIDTH_AWAY: Final = 80
WIDTH_MOST: Final = 100
TOLD_IN_FULL: Final = 5
LISTED: Final = 12


def console() -> Console:
    """Where text goes: as wide as the terminal, 80 columns and no colour where there is none."""
    plain = not sys.stdout.isatty() or "NO_COLOR" in os.environ
    width = WIDTH_AWAY
    if sys.stdout.isatty():
        width = min(os.get_terminal_size(sys.stdout.fileno()).columns, WIDTH_MOST)
    return Console(
        file=sys.stdout, width=width, no_color=plain, highlight=False, markup=False, emoji=False
    )


def show(report: Report, to: Console) -> None:
    """The whole result of a run."""
    _verdict(report, to)
    if report.figures is not None:
        to.print()
        figures(report.figures, to)
    findings(report.found, len(report.seeds), to)
    _troubles(report, to)
    to.print()
    _probes(report, to)
    if report.kept:
        _labelled("kept", some(report.kept), to)
    to.print()
    to.print(Text("repeat: ") + Text(report.command, "bold"), soft_wrap=True)


def _verdict(report: Report, to: Console) -> None:
    outcome = report.sum.outcome
    seeds = report.seeds
    many = len(seeds) > 1
    when = f"seeds {seeds[0]}..{seeds[-1]}" if many else f"seed {seeds[0]}"
    to.print(Text(outcome.word.upper(), COLOURS[outcome]) + Text(f"  {report.scenario}, {when}"))
    if report.title:
        to.print(Text(report.title))
    design = report.strategy if report.mutant is None else f"{report.strategy} + {report.mutant}"
    to.print(Text(f"design {design}") + Text(_fingerprint(report)))
    if many:
        to.print(Text(_tally(report.sum.runs)))
    if report.sum.as_expected:
        to.print(Text("as the scenario expects"))
    for line in report.sum.unexpected[:LISTED]:
        to.print(Text("not as the scenario expects: ", "yellow") + Text(line))
    if len(report.sum.unexpected) > LISTED:
        to.print(Text(f"... and {len(report.sum.unexpected) - LISTED} more"))


def _fingerprint(report: Report) -> str:
    [row, *others] = report.sum.runs
    return f", fingerprint {row.fingerprint}" if not others and row.fingerprint else ""


def _tally(runs: Sequence[RunRow]) -> str:
    """How many runs ended how, the failed seeds by number."""
    words = [row.outcome.word for row in runs]
    counts = [(each.word, words.count(each.word)) for each in COLOURS]
    tally = ", ".join(f"{count} {word}" for word, count in counts if count)
    bad = [str(row.seed) for row in runs if row.failed]
    return f"{len(runs)} runs: {tally}" + (f"; failed: {some(bad)}" if bad else "")


def some(names: Sequence[str]) -> str:
    """A list that is cut where it would become long."""
    shown = ", ".join(names[:LISTED])
    return shown if len(names) <= LISTED else f"{shown} and {len(names) - LISTED} more"


# --- figures ---------------------------------------------------------------------------------------


def figures(taken: Figures, to: Console) -> None:
    """Two small tables, and a line for what does not fit into them."""
    counts = _table("transactions", "attempts", "committed", "aborted", "unknown", "schema aborts")
    counts.add_row(
        "",
        f"{taken.attempts:,}",
        f"{taken.committed:,}",
        f"{sum(taken.aborted.values()):,}",
        f"{taken.unknown:,}",
        f"{100 * taken.schema_abort_rate:.2f} %",
    )
    to.print(counts)
    if taken.aborted:
        by_count = sorted(taken.aborted.items(), key=lambda item: (-item[1], item[0]))
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in by_count)
        _labelled("aborted for", reasons, to)
    to.print()
    spans = _table("milliseconds", "count", "above 0", "mean", "p50", "p99", "max")
    for name, span in (
        ("DDL latency", taken.ddl_latency_ms),
        ("DML latency", taken.dml_latency_ms),
        ("schema wait", taken.schema_wait_ms),
    ):
        spans.add_row(name, *_cells(span))
    to.print(spans)
    _labelled("simulated", f"{taken.simulated_ms:,.0f} ms, {taken.events:,} events", to)


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1))
    table.add_column(first, width=13)
    for name in others:
        table.add_column(name, justify="right", min_width=8)
    return table


def _cells(span: Durations) -> Iterable[str]:
    yield f"{span.count:,}"
    yield f"{span.waited:,}"
    for value in (span.mean, span.p50, span.p99, span.max):
        yield "-" if value is None else f"{value:,.2f}"


# --- what was found --------------------------------------------------------------------------------


def findings(found: Sequence[Found], runs: int, to: Console) -> None:
    """Each structure once: the gravest in full, the others in a line."""
    for place, one in enumerate(found):
        grave = one.example.status == "violation" or one.example.status.startswith("finding")
        to.print()
        _headline(one, runs, to)
        if grave and place < TOLD_IN_FULL:
            to.print(Padding(Text(one.argument), (0, 0, 0, 2)))
        else:
            to.print(Padding(Text(one.example.summary), (0, 0, 0, 2)))
        if one.example.because:
            to.print(Padding(Text(one.example.because, "dim"), (0, 0, 0, 2)))


def _headline(one: Found, runs: int, to: Console) -> None:
    example = one.example
    kind, _, number = example.status.partition(":")
    status = f"finding {number}" if number else STATUS[kind]
    colour = "bold red" if kind == "violation" else "bold yellow"
    what = f" {example.invariant} {example.checker}: {example.kind}"
    where = f", {one.times} times"
    if runs > 1:
        where = f", in {one.seeds} of {runs} runs, first in seed {one.first}"
    elif one.times == 1:
        where = ""
    to.print(Text(status, colour) + Text(what + where))


def _troubles(report: Report, to: Console) -> None:
    """Crashes, operations that never ended, and invariants that could not be judged."""
    lines = []
    for row in report.sum.runs:
        if row.crash is not None:
            lines.append(f"seed {row.seed} crashed: {row.crash} (DDLSIM_DEBUG=1 shows where)")
        lines += [f"seed {row.seed}: {line}" for line in row.stuck]
        lines += [f"seed {row.seed}: {name} could not be judged" for name in row.unjudged]
    if lines:
        to.print()
    for line in lines[:LISTED]:
        to.print(Text(line))
    if len(lines) > LISTED:
        to.print(Text(f"... and {len(lines) - LISTED} more"))


def _probes(report: Report, to: Console) -> None:
    """What the scenario must reach, then whatever else was met."""
    runs = len(report.sum.runs)
    counts: dict[str, int] = {}
    for row in report.sum.runs:
        for probe, count in row.reached.items():
            counts[probe] = counts.get(probe, 0) + count
    wanted = report.sum.reached
    if met := [probe for probe, times in wanted.items() if times]:
        how = [
            f"{probe} {counts[probe]:,}"
            + (f" ({wanted[probe]} of {runs} runs)" if runs > 1 else "")
            for probe in met
        ]
        _labelled("reached", ", ".join(how), to)
    if never := report.sum.never_reached:
        _labelled("NEVER reached", ", ".join(never), to, "bold yellow")
    others = sorted(probe for probe, count in counts.items() if count and probe not in wanted)
    if others:
        _labelled("also met", ", ".join(f"{probe} {counts[probe]:,}" for probe in others), to)


def _labelled(label: str, text: str, to: Console, style: str = "") -> None:
    """A label in the first column, the text wrapped beside it."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=13)
    grid.add_column()
    grid.add_row(Text(label, style), Text(text))
    to.print(grid)
