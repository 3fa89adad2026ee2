"""`ddlsim hunt`: searches for violations, guided by coverage; see `ddlsim.search.hunt`."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from msgspec import structs

from ddlsim.checkers.signature import CRASH
from ddlsim.cli import repeat, streams
from ddlsim.cli.documents import documents
from ddlsim.cli.documents import hunt as hunt_report
from ddlsim.cli.options import Options
from ddlsim.cli.problems import InputError, note
from ddlsim.cli.signals import code_of
from ddlsim.cli.verbs import hunted
from ddlsim.cli.views.progress import Meter
from ddlsim.cluster.designs import check_design
from ddlsim.escape import counted
from ddlsim.execute.parallel import Executor
from ddlsim.files import no_file
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.registry import load_file
from ddlsim.search import corpus, program
from ddlsim.search.corpus import State
from ddlsim.search.explore import STUCK, Explored, Job, Target, explorer, lost
from ddlsim.search.hunt import Hunt, begun, is_known, never, until_violation

Ended = Literal["violation", "time", "worlds", "interrupted"]
Take = Callable[[Job, Explored], bool]
Run = Callable[[Iterable[Job], Take], None]
"""Runs jobs and calls the function with each result in order, until it returns true."""
FOUND: Final = "found"
OUT: Final = "hunt"
"""The directory of what is found, without --out and --corpus."""


class Done(NamedTuple):
    """A hunt that has ended, and why."""

    state: State
    ended: Ended
    interrupt: KeyboardInterrupt | None = None


def execute(options: Options) -> int:
    """Hunt, print what was found and what it took; the exit code of the worst that was found."""
    for file in options.load:
        load_file(file)
    target = target_of(options)
    directory = out_of(options)
    no_file("--out", directory)
    with nullcontext() if options.out is None else hunted.folder(directory):
        done = hunted_state(options, target)
        hunted.write(directory, done.state)
    shrunk, interrupt = hunted.AllShrunk({}), done.interrupt
    if interrupt is None and not options.no_shrink:
        shrunk = hunted.shrink_all(directory, done.state)
        interrupt = shrunk.interrupt
    result = hunt_report.Result(options, done.state, done.ended, directory, shrunk.worlds)
    if options.output == "json":
        streams.write(documents.text(hunt_report.document(result)))
    else:
        hunt_report.show(result)
    return hunt_report.outcome(done.state).exit_code if interrupt is None else code_of(interrupt)


def target_of(options: Options) -> Target:
    """What is searched; a design that cannot be planned is refused before anything runs."""
    overrides = repeat.settings(options)
    source = swarm.source_of(None, overrides)
    check_design(plan(swarm.scenario(source, 0), 0))
    return Target(overrides, tuple(options.load), options.strict, options.all_claims)


def out_of(options: Options) -> str:
    """The directory that takes what is found."""
    if options.out is not None:
        return str(options.out)
    return OUT if options.corpus is None else str(Path(options.corpus, FOUND))


def hunted_state(options: Options, target: Target) -> Done:
    """Hunt until something ends it; the corpus is kept after each batch and at the end."""
    wanted = State(target, options.seed, options.batch, guided=not options.unguided)
    if options.corpus is None:
        return _hunted(options, target, wanted)
    wanted = structs.replace(wanted, program=program.name(target.loads))
    corpus.claim(options.corpus)
    with corpus.held(options.corpus):
        kept = corpus.load(options.corpus, wanted.program)
        first = begun(wanted, kept)
        if kept is not None and kept.program != wanted.program:
            _of_another(options.corpus, kept, first)
        done = _hunted(options, target, first)
        for one in done.state.not_shown():
            note(f"found by an earlier program, and not shown by this one: {one.signature}")
        return done


def _of_another(directory: str, kept: State, first: State) -> None:
    """Say that another program wrote a corpus, and what becomes of it."""
    wrote, worlds = kept.program or corpus.UNNAMED, counted(len(first.stored), "world")
    found = counted(len(first.before), "signature")
    also = f", which have shown {found}" if first.before else ""
    what = f"ddlsim {wrote} wrote it, this is {first.program}; run again first: {worlds}{also}"
    note(f"--corpus {directory}: {what}")


def _hunted(options: Options, target: Target, first: State) -> Done:
    stop = never if options.keep_going else until_violation(findings=options.findings)
    hunt = Hunt(first, stop)
    keeper = Keeper(options.corpus)
    bounds = Bounds(hunt, options)
    try:
        with runner(options, target) as run, HuntMeter(hunt, options.time) as meter:
            while bounds.ended() is None:
                run(bounds.jobs(hunt.jobs()), partial(_taken, hunt, bounds, meter))
                keeper.keep(hunt)
    except KeyboardInterrupt as interrupt:
        keeper.keep(hunt)
        return Done(hunt.state, "interrupted", interrupt)
    return Done(hunt.state, bounds.ended() or "violation")


def _taken(hunt: Hunt, bounds: "Bounds", meter: "HuntMeter", job: Job, result: Explored) -> bool:
    hunt.take(job, result)
    meter.unfit += job.as_is and result.drawn
    meter.watch()
    return bounds.ended() is not None


class Bounds:
    """When a hunt ends: at a violation, or when its time or its number of worlds is reached."""

    def __init__(self, hunt: Hunt, options: Options) -> None:
        self._hunt, self._worlds = hunt, options.worlds
        self._until = None if options.time is None else time.monotonic() + options.time

    def ended(self) -> Ended | None:
        """Why the hunt ends now; None while it goes on."""
        if self._hunt.stopped:
            return "violation"
        if self._worlds is not None and self._hunt.number >= self._worlds:
            return "worlds"
        if self._until is not None and time.monotonic() >= self._until:
            return "time"
        return None

    def jobs(self, jobs: Sequence[Job]) -> Iterator[Job]:
        """The jobs of a batch, while the hunt goes on."""
        for job in jobs:
            if self._worlds is not None and job.number >= self._worlds:
                return
            if self.ended() is not None:
                return
            yield job


class Keeper:
    """Writes the corpus of a hunt, if it has a directory."""

    def __init__(self, directory: str | None) -> None:
        self._directory, self._kept = directory, 0

    def keep(self, hunt: Hunt) -> None:
        """Write what is new, and the state."""
        if self._directory is not None:
            self._kept = corpus.save(self._directory, hunt.state, self._kept)


@contextmanager
def runner(options: Options, target: Target) -> Iterator[Run]:
    """What runs the worlds: processes of this machine, or with --master tasks of Spark."""
    if options.master in (None, "none"):
        make = partial(explorer, target)
        with Executor(make, partial(lost, target), processes=options.jobs) as executor:
            yield executor.run_in_order
        return
    if options.jobs is not None:
        raise InputError("hunt: --jobs is for processes, --master for Spark; keep one of them")
    from ddlsim.analysis.spark import session as sessions
    from ddlsim.analysis.spark.spread import spread

    with sessions.session(options.master) as session:

        def run(jobs: Iterable[Job], take: Take) -> None:
            every = list(jobs)
            for job, result in zip(every, spread(session, _at_worker(target), every), strict=True):
                if take(job, result):
                    return

        yield run


def _at_worker(target: Target) -> Callable[[Job], Explored]:
    """One job in a task of Spark."""

    def explored(job: Job) -> Explored:
        return explorer(target)([job])[0]

    return explored


class HuntMeter(Meter):
    """Shows worlds, features and what was found."""

    def __init__(self, hunt: Hunt, time_s: float | None) -> None:
        super().__init__(time_s or float("inf"), timed=True)
        self._hunt, self._time_s = hunt, time_s
        self._before = hunt.number
        self.unfit = 0
        """Worlds of the corpus that are none under these settings."""

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        note(self.status())
        if self.unfit:
            many = counted(self.unfit, "world")
            note(f"{many} of the corpus cannot be run under these settings; others were drawn")

    def watch(self) -> None:
        """Another world is done."""
        if self._time_s is not None:
            left_s = max(self._time_s - self.elapsed_s, 0)
            self.show(self.elapsed_s, f"at most {left_s:.0f} s left")
        else:
            self.show(self.elapsed_s, "until something is found")

    def status(self) -> str:
        """What was done, in words."""
        rate = (self._hunt.number - self._before) / self.elapsed_s
        return f"{self.counts}, in {self.elapsed_s:.1f} s ({rate:.1f} worlds a second)"

    @property
    def counts(self) -> str:
        """Worlds, features, and different violations, stuck runs, crashes and findings."""
        found = list(self._hunt.found.values())
        known = sum(is_known(one.seen) for one in found)
        stuck = sum(one.seen.status == STUCK for one in found)
        crashed = sum(one.seen.status == CRASH for one in found)
        parts = [
            counted(self._hunt.number, "world"),
            counted(len(self._hunt.hits), "feature"),
            counted(len(found) - known - stuck - crashed, "violation"),
        ]
        parts += [f"{stuck} stuck"] * bool(stuck) + [f"{crashed} crashed"] * bool(crashed)
        return ", ".join([*parts, f"{known} of known findings"] if known else parts)
