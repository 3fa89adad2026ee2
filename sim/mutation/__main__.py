"""Plants small faults in the protocol's source and tells which the search finds.

usage: python3 dev.py mutate [--area A]... [--operator O]... [--cpu SECONDS] [--seeds N] [--jobs N]
                             [--sample N | --all] [--only ID]... [--without-equivalent]
                             [--out DIR] [--list | --json]

Each mutant is judged by the judges alone under the search alone: swarm worlds with seeds 0, 1, 2 ..
until one is convicted or its budget ends. --seeds gives the same results on every machine. --out
keeps the results, and a call with the same directory goes on where the last one ended.
"""

import argparse
import sys
from pathlib import Path
from typing import TextIO

import msgspec

from ddlsim.execute.workers import cores
from ddlsim.mutation import report
from ddlsim.mutation.areas import AREAS
from ddlsim.mutation.campaign import Campaign, warm
from ddlsim.mutation.mutants import Mutant, mutants, sample
from ddlsim.mutation.operators.table import OPERATORS
from ddlsim.mutation.records import Result
from ddlsim.mutation.store import Store, equivalent
from ddlsim.mutation.trial import Budget
from ddlsim.problems import BadInputError

SAMPLE = 300
CPU_S = 60.0
BAD_INPUT, INTERRUPTED = 2, 130


def parsed(words: list[str]) -> argparse.Namespace:
    """The options; ends with 2 where they make no sense."""
    asked = argparse.ArgumentParser(prog="python3 dev.py mutate", usage=_usage())
    for name, known in (("--area", AREAS), ("--operator", OPERATORS)):
        words_of = f"one of {', '.join(known)}"
        asked.add_argument(name, action="append", choices=known, metavar="NAME", help=words_of)
    asked.add_argument("--only", action="append", default=[], metavar="ID", help="this mutant")
    asked.add_argument("--cpu", type=float, metavar="SECONDS", help=f"of each ({CPU_S:g})")
    asked.add_argument("--seeds", type=int, metavar="N", help="worlds of each, for equal results")
    asked.add_argument("--jobs", type=int, default=cores(), metavar="N", help="processes")
    asked.add_argument("--sample", type=int, default=SAMPLE, metavar="N", help=f"({SAMPLE})")
    asked.add_argument("--all", action="store_true", help="every mutant")
    asked.add_argument("--out", type=Path, metavar="DIR", help="keep results, and go on from them")
    asked.add_argument(
        "--without-equivalent", action="store_true", help="none that is known to be equivalent"
    )
    asked.add_argument("--list", action="store_true", help="only list the mutants")
    asked.add_argument("--json", action="store_true", help="print results instead of the report")
    options = asked.parse_args(words)
    for name in ("cpu", "seeds", "jobs", "sample"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            asked.error(f"--{name}: expected more than 0")
    return options


def _usage() -> str:
    doc = __doc__ or ""
    return doc[doc.index("usage: ") + len("usage: ") :].partition("\n\n")[0]


def chosen(options: argparse.Namespace, campaign: Campaign) -> list[Mutant]:
    """The mutants that the options name; raises `BadInputError` for an unknown id."""
    known = mutants()
    if options.only:
        unknown = [name for name in options.only if name not in known]
        if unknown:
            raise BadInputError(f"no mutant is called {unknown[0]!r}; see --list")
        return [known[name] for name in options.only]
    found = [one for one in known.values() if campaign.designs(one)]
    found = [one for one in found if not options.area or one.area in options.area]
    found = [one for one in found if not options.operator or one.operator in options.operator]
    if options.without_equivalent:
        same = equivalent()
        found = [one for one in found if one.id not in same]
    return found if options.all else sample(found, options.sample)


def line(done: int, of: int, result: Result) -> str:
    """A result in one line."""
    found = result.conviction
    by = "" if found is None else f" by {found.what}, seed {found.seed} on {found.design}"
    return f"[{done}/{of}] {result.verdict}{by}, {result.cpu_s:.1f} s: {result.sentence}"


class Progress:
    """Writes each result to stderr: on a terminal over the last one, else on a line of its own."""

    def __init__(self, done: int, of: int, to: TextIO) -> None:
        self._done, self._of, self._to = done, of, to

    def show(self, result: Result) -> None:
        """One more result."""
        self._done += 1
        text = line(self._done, self._of, result)
        ends = "\r" if self._to.isatty() and self._done < self._of else "\n"
        self._to.write(f"\x1b[2K{text[:99]}{ends}" if self._to.isatty() else f"{text}{ends}")
        self._to.flush()


def main(words: list[str]) -> int:
    """Carry out the campaign; 0 unless the options make no sense or it is interrupted."""
    options = parsed(words)
    cpu_s = CPU_S if options.cpu is None and options.seeds is None else options.cpu
    budget = Budget(options.seeds, cpu_s)
    warm()
    try:
        campaign = Campaign(budget, options.jobs)
        wanted = chosen(options, campaign)
        store = None if options.out is None else Store(options.out, budget)
    except BadInputError as error:
        sys.stderr.write(f"dev.py mutate: {error}\n")
        return BAD_INPUT
    if options.list:
        sys.stdout.writelines(f"{one.id}\n    {one.sentence}\n" for one in wanted)
        return 0
    names = {one.id for one in wanted}
    results = [one for one in store.results() if one.id in names] if store else []
    known = {one.id for one in results}
    progress = Progress(len(results), len(wanted), sys.stderr)

    def take(result: Result) -> None:
        results.append(result)
        if store is not None:
            store.add(result)
        progress.show(result)

    code = 0
    try:
        campaign.run([one for one in wanted if one.id not in known], take)
    except KeyboardInterrupt:
        code = INTERRUPTED
        sys.stderr.write("\ninterrupted; a call with the same --out goes on from here\n")
    places = {one.id: place for place, one in enumerate(wanted)}
    results.sort(key=lambda one: places[one.id])
    text = report.text(results, equivalent())
    sys.stdout.write(msgspec.json.encode(results).decode() if options.json else f"{text}\n")
    if store is not None:
        store.write_report(text)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
