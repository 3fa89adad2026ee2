"""Plants small faults in the protocol's source and tells which the search finds.

usage: python3 dev.py mutate [--area A]... [--operator O]... [--cpu SECONDS]... [--seeds N]
                             [--worlds N] [--jobs N] [--sample N | --all] [--only ID]...
                             [--without-equivalent] [--out DIR] [--list | --json]

Each mutant is judged by the judges alone under the search alone: swarm worlds, until one is
convicted or its budget ends. A survey of --worlds seeds of each baseline comes first: a mutant is
tried in the worlds that execute its statement, then in fresh ones. Of several --cpu each is given
in turn to what survived the one before. --seeds gives the same results on every machine that has
the same survey. --out keeps survey and results, and a call with the same directory goes on where
the last one ended, with a larger budget too.
"""

import argparse
import sys
from pathlib import Path
from typing import TextIO

import msgspec

from ddlsim.execute.workers import cores
from ddlsim.mutation import report
from ddlsim.mutation.areas import AREAS
from ddlsim.mutation.campaign import Campaign, survey, warm
from ddlsim.mutation.course import Surveyed
from ddlsim.mutation.mutants import Mutant, mutants, sample
from ddlsim.mutation.operators.table import OPERATORS
from ddlsim.mutation.records import Result
from ddlsim.mutation.store import Store, equivalent
from ddlsim.mutation.trial import Budget
from ddlsim.problems import BadInputError

SAMPLE = 300
CPU_S = [5.0, 20.0, 60.0]
WORLDS = 120
BAD_INPUT, INTERRUPTED = 2, 130


def parsed(words: list[str]) -> argparse.Namespace:
    """The options; ends with 2 where they make no sense."""
    asked = argparse.ArgumentParser(prog="python3 dev.py mutate", usage=_usage())
    for name, known in (("--area", AREAS), ("--operator", OPERATORS)):
        words_of = f"one of {', '.join(known)}"
        asked.add_argument(name, action="append", choices=known, metavar="NAME", help=words_of)
    asked.add_argument("--only", action="append", default=[], metavar="ID", help="this mutant")
    asked.add_argument("--cpu", type=float, action="append", metavar="SECONDS", help="of each")
    asked.add_argument("--seeds", type=int, metavar="N", help="worlds of each, for equal results")
    asked.add_argument("--worlds", type=int, default=WORLDS, metavar="N", help=f"({WORLDS})")
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
    for name in ("seeds", "jobs", "sample"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            asked.error(f"--{name}: expected more than 0")
    if any(one <= 0 for one in options.cpu or ()):
        asked.error("--cpu: expected more than 0")
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


class Work:
    """A campaign from its survey to its report, kept in a directory if there is one."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._store = None if options.out is None else Store(options.out)
        self._options = options
        campaign = Campaign(Budget(), options.jobs)
        self.wanted = chosen(options, campaign)
        self._designs = {name for one in self.wanted for name in campaign.designs(one)}
        names = {one.id for one in self.wanted}
        known = self._store.results() if self._store is not None else []
        self._results = {one.id: one for one in known if one.id in names}

    @property
    def results(self) -> list[Result]:
        """The results so far, in the order of the mutants."""
        found = self._results
        return [found[one.id] for one in self.wanted if one.id in found]

    def carry_out(self) -> None:
        """The survey, then one pass for each budget."""
        options = self._options
        surveyed = self._surveyed(options.worlds)
        cpu_s = CPU_S if options.cpu is None and options.seeds is None else options.cpu
        for each in cpu_s or (None,):
            self._pass(Budget(options.seeds, each), surveyed)

    def _surveyed(self, seeds: int) -> list[Surveyed]:
        store = self._store
        found = [] if store is None else store.surveyed()
        wanted = range(max((one.world.seed + 1 for one in found), default=0), seeds)

        def take(worlds: list[Surveyed]) -> None:
            found.extend(worlds)
            if store is not None:
                store.add_worlds(worlds)
            sys.stderr.write(f"surveyed {len(found)} worlds\n")

        survey(wanted, self._options.jobs, take, self._designs)
        return [one for one in found if one.world.seed < seeds]

    def _pass(self, budget: Budget, surveyed: list[Surveyed]) -> None:
        """Try what has no result yet, and what has survived a smaller budget."""
        known = self._results
        left = [one for one in self.wanted if not _is_done(known.get(one.id), budget)]
        progress = Progress(len(self.wanted) - len(left), len(self.wanted), sys.stderr)

        def take(result: Result) -> None:
            known[result.id] = result
            if self._store is not None:
                self._store.add(result)
            progress.show(result)

        Campaign(budget, self._options.jobs, surveyed).run(left, take, dict(known))

    def report(self) -> str:
        """The report, written to the directory if there is one."""
        text = report.text(self.results, equivalent())
        if self._store is not None:
            self._store.write_report(text)
        return text


def _is_done(result: Result | None, budget: Budget) -> bool:
    """Whether a mutant is convicted, or has survived at least this budget."""
    if result is None or result.verdict != "survived":
        return result is not None
    enough = budget.seeds is not None and result.runs >= budget.seeds
    return enough or (budget.cpu_s is not None and result.cpu_s >= budget.cpu_s)


def main(words: list[str]) -> int:
    """Carry out the campaign; 0 unless the options make no sense or it is interrupted."""
    options = parsed(words)
    warm()
    try:
        work = Work(options)
    except BadInputError as error:
        sys.stderr.write(f"dev.py mutate: {error}\n")
        return BAD_INPUT
    if options.list:
        sys.stdout.writelines(f"{one.id}\n    {one.sentence}\n" for one in work.wanted)
        return 0
    code = 0
    try:
        work.carry_out()
    except KeyboardInterrupt:
        code = INTERRUPTED
        sys.stderr.write("\ninterrupted; a call with the same --out goes on from here\n")
    text = work.report()
    found = msgspec.json.encode(work.results).decode() if options.json else f"{text}\n"
    sys.stdout.write(found)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
