"""A result for people: the verdict, the figures, the arguments, what was reached, how to repeat."""

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10
from textwrap import wrap
from typing import Final

from rich.console import Console
from rich.text import Text

from ddlsim.analysis.sweep.totals import ViolationGroup, times_of
from ddlsim.cli.documents.run import LEVEL, Report
from ddlsim.cli.views import figures as view_figures
from ddlsim.cli.views.words import COLOURS, FEW, INDENT, command, labelled, say, unreached, verdict
from ddlsim.escape import counted
from ddlsim.scenario import findings as findings_known
from ddlsim.verify.row import RunRow

STATUS: Final = {
    "violation": "VIOLATION",
    "stuck": "STUCK",
    "out_of_assumption": "out of assumption",
    "accepted": "accepted",
}
ALSO: Final = 2
TOLD_ELSEWHERE: Final = "abort-"
"""Probes that the figures show already, as reasons."""


def show(report: Report, to: Console) -> None:
    """The whole result of a run."""
    _verdict(report, to)
    if report.figures is not None:
        to.print()
        view_figures.show(report.figures, to)
    findings(report.found, report.sum.runs, to)
    troubles(report.sum.runs, to)
    _unmatched(report, to)
    _probes(report, to)
    if report.drawn:
        from ddlsim.cli.views import swarm as view_swarm

        to.print()
        view_swarm.show(report, to)
    if report.kept:
        labelled("kept", some(report.kept), to)
    to.print()
    command(report.command, to)


def _verdict(report: Report, to: Console) -> None:
    seeds = report.seeds
    many = len(seeds) > 1
    when = f"seeds {seeds[0]}..{seeds[-1]}" if many else f"seed {seeds[0]}"
    verdict(report.sum.outcome, f"{report.scenario}, {when}", to)
    say(report.title, to)
    design = report.strategy if report.mutant is None else f"{report.strategy} + {report.mutant}"
    say(f"design {design}{_fingerprint(report)}", to)
    if many:
        say(_tally(report.sum.runs), to)
        _convinces(report, to)
    if report.sum.as_expected:
        say("as the scenario expects", to)
    _cut([f"not as the scenario expects: {line}" for line in report.sum.unexpected], to, "yellow")


def _cut(lines: Sequence[str], to: Console, style: str = "") -> None:
    """Some lines, as long as they are few."""
    for line in lines[:FEW]:
        say(line, to, style)
    if len(lines) > FEW:
        say(f"... and {len(lines) - FEW} more", to)


def _fingerprint(report: Report) -> str:
    [row, *others] = report.sum.runs
    return f", fingerprint {row.fingerprint}" if not others and row.fingerprint else ""


def _tally(runs: Sequence[RunRow]) -> str:
    """How many runs ended how, the failed seeds by number."""
    words = [row.outcome.word for row in runs]
    counts = [(each.word, words.count(each.word)) for each in COLOURS]
    tally = ", ".join(f"{count:,} {word}" for word, count in counts if count)
    bad = [str(row.seed) for row in runs if row.failed]
    return f"{counted(len(runs), 'run')}: {tally}" + (f"; failed: {some(bad)}" if bad else "")


def _convinces(report: Report, to: Console) -> None:
    """What several runs say about those of other seeds."""
    if report.is_one_run:
        say("all seeds make the same run: nothing in it is drawn", to)
    elif report.violated_below is not None:
        share = percent_up(report.violated_below)
        say(f"so at {100 * LEVEL:g} % fewer than {share} of such runs are violated", to)


def percent_up(share: float) -> str:
    """A share above 0 in percent, never less than it is: with two decimals, or three digits."""
    decimals = max(2, 2 - floor(log10(100 * share)))
    return f"{ceil(100 * share * 10**decimals) / 10**decimals:.{decimals}f} %"


def some(names: Sequence[str]) -> str:
    """A list that is cut where it would become long."""
    shown = ", ".join(names[:FEW])
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW} more"


# --- what was found ------------------------------------------------------------------------------


def findings(
    found: Sequence[ViolationGroup],
    rows: Sequence[RunRow],
    to: Console,
    *,
    all_in_full: bool = False,
) -> None:
    """Each kind once: the first of its structures in full if it is grave, the rest in a line."""
    kinds: dict[tuple[str, str, str], list[ViolationGroup]] = {}
    for one in found:
        kinds.setdefault(one.kind, []).append(one)
    calm = False
    for (status, _, _), members in kinds.items():
        if all_in_full or status == "violation" or status.startswith("finding"):
            to.print()
            to.print(_headline(members, rows, to.width), soft_wrap=True)
            _members(members, to, all_in_full=all_in_full)
            continue
        if not calm:
            to.print()
        calm = True
        to.print(_headline(members, rows, to.width), soft_wrap=True)
        for because in dict.fromkeys(one.example.because for one in members):
            say(because, to, "dim", INDENT)


def _members(members: Sequence[ViolationGroup], to: Console, *, all_in_full: bool) -> None:
    """The structures of one kind: the first, or all of them, with what shows them."""
    printed = len(members) if all_in_full else 1
    finding = members[0].example.status.partition(":")[2]
    say(findings_known.title(finding), to, "bold", INDENT)
    for one in members[:printed]:
        say(one.example.summary, to, indent=INDENT)
        to.print(Text(one.argument), soft_wrap=True)
        if not finding:
            say(one.example.because, to, "dim", INDENT)
    for one in members[printed : printed + ALSO]:
        say(f"also: {one.example.summary} (seed {one.seeds[0]})", to, indent=INDENT)
    if len(members) > printed + ALSO:
        say(f"... and {len(members) - printed - ALSO} other shapes", to, indent=INDENT)


def _headline(members: Sequence[ViolationGroup], rows: Sequence[RunRow], width: int) -> Text:
    """What it counts as, what it is, and how often it was seen."""
    example = members[0].example
    kind, _, number = example.status.partition(":")
    status = f"FINDING {number}" if number else STATUS[kind]
    colour = "bold red" if kind in {"violation", "stuck"} else "bold yellow"
    times = times_of(members, rows)
    often = "once" if times == 1 else f"{times:,} times"
    if len(rows) > 1:
        seeds = sorted({seed for one in members for seed in one.seeds})
        often = f"in {len(seeds)} of {len(rows)} runs, first in seed {seeds[0]}"
    strict = ", strict graph only" if example.strict_only else ""
    what = f" {example.invariant} {example.checker}: {example.kind}{strict}; {often}"
    lines = wrap(
        status + what,
        width,
        subsequent_indent=INDENT * 2,
        break_long_words=False,
        break_on_hyphens=False,
    )
    printed = Text("\n".join(lines))
    printed.stylize(colour, 0, len(status))
    return printed


def troubles(rows: Iterable[RunRow], to: Console) -> None:
    """Crashes, operations that never ended, and invariants that could not be judged."""
    crashes: dict[str, list[int]] = {}
    lines = []
    for row in rows:
        if row.crash is not None:
            crashes.setdefault(row.crash, []).append(row.seed)
        lines += [f"seed {row.seed}: {line}" for line in row.stuck]
        lines += [f"seed {row.seed}: {name} could not be judged" for name in row.unjudged]
    crashed = [
        f"{len(seeds)} crashed, first seed {seeds[0]}: {what} (DDLSIM_DEBUG=1 shows where)"
        for what, seeds in crashes.items()
    ]
    if crashed or lines:
        to.print()
    _cut(crashed, to)
    _cut(lines, to)


def _unmatched(report: Report, to: Console) -> None:
    """What of the scenario met nothing in any run that came to its end."""
    ended = [set(row.unmatched) for row in report.sum.runs if row.crash is None]
    if lines := [
        what for what in report.sum.runs[0].unmatched if all(what in one for one in ended)
    ]:
        to.print()
        for what in lines:
            labelled("met nothing" if what is lines[0] else "", what, to, "bold yellow")


def _probes(report: Report, to: Console) -> None:
    """What the scenario must reach, then whatever else was met."""
    runs = len(report.sum.runs)
    counts: dict[str, int] = {}
    for row in report.sum.runs:
        for probe, count in row.reached.items():
            counts[probe] = counts.get(probe, 0) + count
    wanted = report.sum.reached
    if counts:
        to.print()
    if met := [probe for probe, times in wanted.items() if times]:
        how = [
            f"{probe} {counts[probe]:,}"
            + (f" ({wanted[probe]} of {runs} runs)" if runs > 1 else "")
            for probe in met
        ]
        labelled("reached", ", ".join(how), to)
    if never := report.sum.never_reached:
        labelled("NEVER reached", ", ".join(never), to, "bold yellow")
    others = sorted(probe for probe, count in counts.items() if count and probe not in wanted)
    others = [probe for probe in others if not probe.startswith(TOLD_ELSEWHERE)]
    if others:
        labelled("also met", ", ".join(f"{probe} {counts[probe]:,}" for probe in others), to)
    if report.never_reached:
        labelled("never reached", unreached(report.never_reached), to)
