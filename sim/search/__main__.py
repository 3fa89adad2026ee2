"""Tells after how many drawn worlds each shipped mutant and each recorded finding shows.

usage: python3 dev.py search [--only NAME]... [--seeds N] [--hunts N] [--cpu SECONDS] [--jobs N]

Worlds are those of `ddlsim run --swarm`, one seed after the other, judged without models; no
scenario that was written for a mutant or a finding is run. Findings are looked for under the
designs that follow the documents, by so many hunts as well, which begin with nothing. The tables go
to stdout, as Markdown; how far it has come, to stderr. Exit code 1 where something did not show in
--seeds worlds, or not within --cpu seconds in half of the hunts; and where one of these designs
breaks what it claims, and no finding says why: that is new.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Final

from ddlsim.execute.parallel import Executor
from ddlsim.execute.workers import cores
from ddlsim.problems import BadInputError
from ddlsim.search.power import Shown, Sought, all_sought, looker

SEEDS: Final = 2_000
HUNTS: Final = 5
CPU_S: Final = 600
NOT_SHOWN, BAD_INPUT, INTERRUPTED = 1, 2, 130
TAIL: Final = 0.9


def parsed(words: list[str]) -> argparse.Namespace:
    """The options; ends with 2 where they make no sense."""
    doc = __doc__ or ""
    usage = doc[doc.index("usage: ") + len("usage: ") :].partition("\n\n")[0]
    asked = argparse.ArgumentParser(prog="python3 dev.py search", usage=usage)
    asked.add_argument("--only", action="append", default=[], metavar="NAME", help="this one")
    asked.add_argument("--seeds", type=int, default=SEEDS, metavar="N", help=f"({SEEDS})")
    asked.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes")
    asked.add_argument("--hunts", type=int, default=HUNTS, metavar="N", help="0: none")
    asked.add_argument("--cpu", type=float, default=CPU_S, metavar="SECONDS", help="of a hunt")
    options = asked.parse_args(words)
    for name in ("seeds", "jobs", "cpu"):
        if not 0 < getattr(options, name) < float("inf"):
            asked.error(f"--{name}: expected more than 0")
    if options.hunts < 0:
        asked.error("--hunts: expected 0 or more")
    return options


def tables(found: Sequence[Shown]) -> str:
    """What was found by hunts and in worlds of the swarm, as Markdown; what is new comes first."""
    lines = [f"* new: {_where(one)}, world {one.worlds}" for one in found if one.is_new]
    hunted = [one for one in found if one.hunt is not None and not one.is_new]
    drawn = [one for one in found if one.hunt is None and not one.is_new]
    parts = ["\n".join(lines)] * bool(lines) + [hunts_table(hunted)] * bool(hunted)
    return "\n\n".join([*parts, table(drawn)])


def _where(one: Shown) -> str:
    where = "" if one.hunt is None else f", hunt {one.hunt}"
    return f"{one.name} on {one.design}{where}"


def table(found: Sequence[Shown]) -> str:
    """A row for each mutant and finding, and what they come to."""
    lines = ["| mutant or finding | design | worlds | CPU s | by |", "|---|---|--:|--:|---|"]
    for one in found:
        worlds = f"{one.worlds}" if one.is_shown else f"not in {one.worlds}"
        by = ", ".join(one.by)
        lines.append(f"| {one.name} | {one.design} | {worlds} | {one.cpu_s:.1f} | {by} |")
    return "\n".join([*lines, "", summary(found)])


def hunts_table(found: Sequence[Shown]) -> str:
    """A row for each finding of a design: CPU time until each hunt shows it, and the median."""
    lines = ["| finding | design | median, CPU s | each |", "|---|---|--:|---|"]
    for (name, design), each in by_finding(found).items():
        times = [f"{one.cpu_s:.0f}" if one.is_shown else "none" for one in each]
        middle = median_s(each)
        shown = "none" if middle is None else f"{middle:.0f}"
        lines.append(f"| {name} | {design} | {shown} | {', '.join(times)} |")
    return "\n".join(lines)


def by_finding(found: Sequence[Shown]) -> dict[tuple[str, str], list[Shown]]:
    """What the hunts came to, by finding and design."""
    grouped: dict[tuple[str, str], list[Shown]] = {}
    for one in found:
        grouped.setdefault((one.name, one.design), []).append(one)
    return grouped


def median_s(hunts: Sequence[Shown]) -> float | None:
    """The median of CPU seconds until it showed; None where half of the hunts did not show it."""
    middle = median(one.cpu_s if one.is_shown else float("inf") for one in hunts)
    return None if middle == float("inf") else middle


def summary(found: Sequence[Shown]) -> str:
    """How many showed, and after how many worlds: half of them, nine tenths, the last."""
    worlds = sorted(one.worlds for one in found if one.is_shown)
    if not worlds:
        return f"0 of {len(found)} showed."
    tail = worlds[min(int(len(worlds) * TAIL), len(worlds) - 1)]
    return (
        f"{len(worlds)} of {len(found)} showed, half of them within {median(worlds):g} worlds, "
        f"nine tenths within {tail}, all within {worlds[-1]}."
    )


def progress(done: int, of: int, shown: Sequence[Shown]) -> None:
    """Write what came of one mutant, or of the findings of a design, to stderr."""
    for one in shown:
        what = f"shown by world {one.worlds}" if one.is_shown else f"not in {one.worlds} worlds"
        sys.stderr.write(f"[{done}/{of}] {_where(one)}: {what}, {one.cpu_s:.1f} s\n")


def lost(sought: Sought, how: str) -> list[Shown]:
    """Raise for what no process survives."""
    raise BadInputError(f"{sought.mutant or sought.design}: a process {how}; try --jobs 1")


def main(words: list[str]) -> int:
    """Look for everything; 0 where all showed."""
    options = parsed(words)
    try:
        sought = all_sought(options.only, options.hunts)
        done: list[int] = []

        def watch(_: Sought, shown: list[Shown]) -> None:
            done.append(1)
            progress(len(done), len(sought), shown)

        make = partial(looker, options.seeds, options.cpu)
        with Executor(make, lost, processes=options.jobs, alone_s=0) as executor:
            found = [one for each in executor.run(sought, watch) for one in each]
    except BadInputError as error:
        sys.stderr.write(f"dev.py search: {error}\n")
        return BAD_INPUT
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return INTERRUPTED
    sys.stdout.write(f"{tables(found)}\n")
    return 0 if is_good(found) else NOT_SHOWN


def is_good(found: Sequence[Shown]) -> bool:
    """Whether all showed, in half of the hunts each, and nothing that is new."""
    hunts = by_finding([one for one in found if one.hunt is not None]).values()
    return all(
        (
            all(one.is_shown for one in found if one.hunt is None),
            all(median_s(each) is not None for each in hunts),
            not any(one.is_new for one in found),
        )
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
