"""One world of a hunt: drawn or varied, run, judged, and reduced to what the hunt keeps of it.

The result is a function of the job and the settings, whichever process computes it.
"""

import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from ddlsim.checkers.judge import FINDING, Verdict, Violation, judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.signature import CRASH, id_of, signature_of
from ddlsim.cluster.designs import BadDesignError
from ddlsim.cluster.run import run
from ddlsim.history.events import TxCommitted, UpdateLogged
from ddlsim.history.history import History
from ddlsim.history.world_events import LeaseBegan
from ddlsim.kernel.rng import Streams
from ddlsim.model.records import Record
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.registry import UnknownPluginError, load_file
from ddlsim.scenario import findings
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from ddlsim.scenario.tomltext import toml_text
from ddlsim.search.coverage import features
from ddlsim.search.crash import crash_of
from ddlsim.search.vary import NAME, World, fits, varied
from ddlsim.units import US_PER_MS, Timestamp, physical_ms
from ddlsim.workload.base import Die

MOST_INSTANTS: Final = 24
BAD_INPUT: Final = (ScenarioError, BadDesignError, UnknownPluginError)
GRAVE: Final = ("violation", "stuck")
STUCK: Final = "stuck"
LOST: Final = "lost"
"""The kind of a crash at which the process died: to run such a world takes one of its own."""


class Target(Record, frozen=True):
    """What a hunt searches: settings over every world, plug-ins, and how runs are judged."""

    overrides: dict[str, Any]
    loads: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False


class Stored(Record, frozen=True):
    """A world as text, the seed of its run, and the instants (ms) that mattered in it."""

    text: str
    seed: int
    instants_ms: tuple[float, ...] = ()


class Job(Record, frozen=True):
    """World number `number` of a hunt.

    Drawn from the swarm's seed `draw`, unless `parent` is given: then that world, varied by parts
    of `donor` (None: of the world drawn) as `draw` decides; or as it is, where `as_is`. Where that
    is no world under the settings, or none can be made, the one drawn is run instead.
    """

    number: int
    draw: int
    parent: Stored | None = None
    donor: Stored | None = None
    as_is: bool = False


class Seen(Record, frozen=True):
    """A violation, a finding, a stuck run or a crash: its signature and what there is to tell."""

    id: str
    signature: str
    status: str
    invariant: str
    checker: str
    kind: str
    summary: str


class Explored(Record, frozen=True):
    """What came of a world: its text and seed, its coverage, and what it showed.

    `drawn`: it is the swarm's world of this seed. `cpu_s` is the only field that differs from run
    to run.
    """

    world: Stored
    drawn: bool
    outcome: Outcome
    features: tuple[str, ...]
    transactions: int
    seen: tuple[Seen, ...]
    cpu_s: float


class Explorer:
    """Runs the worlds of a hunt in this process."""

    def __init__(self, target: Target) -> None:
        for file in target.loads:
            load_file(file)
        self._target = target
        self._findings = findings.known()

    def explore(self, jobs: Sequence[Job]) -> list[Explored]:
        """What came of each job."""
        return [self._explored(job) for job in jobs]

    def _explored(self, job: Job) -> Explored:
        began_s = time.process_time()
        world, drawn = self.world_of(job)
        text = toml_text(world.data)
        try:
            scenario = read(text, NAME, overrides=self._target.overrides)
            history = run(plan(scenario, world.seed, models=True))
            target = self._target
            verdict = judge(
                history,
                strict=target.strict,
                all_claims=target.all_claims,
                findings=self._findings,
            )
            found = features(history)
        except BAD_INPUT:
            raise
        except (Exception, SystemExit) as error:
            cpu_s = time.process_time() - began_s
            return _crashed(Stored(text, world.seed), error, drawn=drawn, cpu_s=cpu_s)
        return Explored(
            world=Stored(text, world.seed, instants_ms(history)),
            drawn=drawn,
            outcome=verdict.outcome,
            features=tuple(sorted(found)),
            transactions=sum(type(event) is TxCommitted for event in history.events),
            seen=tuple(seen_in(verdict)),
            cpu_s=time.process_time() - began_s,
        )

    def world_of(self, job: Job) -> tuple[World, bool]:
        """The world of a job, and whether it is the one that the swarm draws from its seed."""
        if job.parent is not None and job.as_is:
            world = _loaded(job.parent)
            if fits(world, self._target.overrides):
                return world, False
        drawn = World(
            tomllib.loads(swarm.draw(swarm.source_of(None, self._target.overrides), job.draw).text),
            job.draw,
        )
        if job.parent is None or job.as_is:
            return drawn, True
        donor = drawn if job.donor is None else _loaded(job.donor)
        die = Die(Streams(job.draw).stream("hunt", "vary"))
        changed = varied(_loaded(job.parent), donor, die, self._target.overrides)
        return (drawn, True) if changed is None else (changed, False)


def _loaded(stored: Stored) -> World:
    return World(tomllib.loads(stored.text), stored.seed, stored.instants_ms)


def seen_in(verdict: Verdict) -> Iterator[Seen]:
    """What a verdict holds against the design, each signature and status once."""
    met: dict[tuple[str, str], Seen] = {}
    for one in verdict.violations:
        if one.status in GRAVE or one.status.startswith(FINDING):
            seen = seen_of(one)
            met.setdefault((seen.id, seen.status), seen)
    yield from met.values()
    if verdict.stuck and not any(one.status == STUCK for one in met.values()):
        what = f"{verdict.stuck[0].op} never completed: it waits for {verdict.stuck[0].waits_for}"
        yield Seen(STUCK, STUCK, STUCK, "", "", "never-completed", what)


def seen_of(one: Violation) -> Seen:
    """A violation as a hunt keeps it."""
    signature, names = signature_of(one), (one.invariant, one.checker, one.kind)
    return Seen(signature.id, signature.text, one.status, *names, one.summary)


def seen_lost(how: str) -> Seen:
    """The crash of a run at which the process died."""
    name = f"{CRASH}: {how}"
    return Seen(id_of(name), name, CRASH, "", CRASH, LOST, how)


def _crashed(world: Stored, error: BaseException, *, drawn: bool, cpu_s: float) -> Explored:
    """A run that raised."""
    found = (seen_of(crash_of(error)),)
    return Explored(world, drawn, Outcome.CRASHED, (), 0, found, cpu_s)


def instants_ms(history: History) -> tuple[float, ...]:
    """Up to `MOST_INSTANTS` instants of a run, evenly chosen: DDL logged and active, lease ends."""
    found: dict[float, None] = {}
    for event in history.events:
        match event:
            case UpdateLogged() if event.op is not None:
                found[event.at_us / US_PER_MS] = None
                found[float(physical_ms(Timestamp(event.activation_ts)))] = None
            case LeaseBegan():
                found[float(physical_ms(Timestamp(event.expiration_ts)))] = None
    every = sorted(at for at in found if at > 0)
    step = max(-(-len(every) // MOST_INSTANTS), 1)
    return tuple(every[::step])


def explorer(target: Target) -> Callable[[Sequence[Job]], list[Explored]]:
    """What a process runs: see `Executor`."""
    return Explorer(target).explore


def lost(target: Target, job: Job, how: str) -> Explored:
    """The result of a world that no process survives: made as it was there, and not run."""
    world, drawn = Explorer(target).world_of(job)
    return Explored(
        world=Stored(toml_text(world.data), world.seed),
        drawn=drawn,
        outcome=Outcome.CRASHED,
        features=(),
        transactions=0,
        seen=(seen_lost(how),),
        cpu_s=0.0,
    )
