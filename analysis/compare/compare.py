"""Runs designs side by side and makes a line of each.

*Common random numbers*: all designs of a plane run one scenario under equal seeds. Clients, their
keys and values, statements and faults are drawn before a run, from the scenario and the seed alone;
a message's delay is a function of the seed, its link, kind and label. What differs is the design.

What rare schedules alone show, some twenty random runs need not. So a design is also run in the
shipped scripted scenarios that name it and expect it to break something; what they show counts as
what the runs show, and the shortest of them stands beside the breach.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import structs

from ddlsim.analysis.compare.formulas import by_formula
from ddlsim.analysis.compare.lines import Runs, number, relaxed
from ddlsim.analysis.compare.records import SAFETY, UNMET, Breach, Line, ordered
from ddlsim.checkers.judge import Violation
from ddlsim.cluster.designs import declared
from ddlsim.fdb.settings import MISTAKES
from ddlsim.model.design import DesignHeader
from ddlsim.model.records import Record
from ddlsim.plan.plan import plan_without_load
from ddlsim.problems import BadInputError
from ddlsim.scenario import bounds, findings
from ddlsim.scenario.expect import judges_expected
from ddlsim.scenario.load import load
from ddlsim.scenario.overrides import repeat_options
from ddlsim.scenario.rules import FDB
from ddlsim.scenario.scenario import Scenario, override
from ddlsim.scenario.shipped import place_of, shipped
from ddlsim.strategies.base import DESIGNS
from ddlsim.verify.campaign import Job, Runner, run_seeds
from ddlsim.verify.row import RunRow
from ddlsim.verify.suite import designs_named, under

FOLDER: Final = "comparison"
"""The shipped scenarios of this folder are for the planes of their names."""
GRAVEST: Final = ("violation", "stuck", "accepted", "out_of_assumption")
"""The statuses that make a breach, the gravest first."""
CLAIMED: Final = GRAVEST[:2]


class CompareError(BadInputError):
    """What cannot be compared; the message is one line with a remedy."""


class World(Record, frozen=True):
    """A design and the scenario that it runs in."""

    design: str
    scenario: Scenario
    command: tuple[str, ...]


class Left(NamedTuple):
    """A design that has no line, and why."""

    design: str
    why: str


# --- what is run ---------------------------------------------------------------------------------


def worlds(
    designs: Sequence[str],
    scenario: str | None,
    settings: Mapping[str, object] | Callable[[str], Mapping[str, object]],
    *,
    outside: bool = False,
    also: Sequence[str] = (),
) -> tuple[list[World], list[Left]]:
    """Each design with its scenario, and the designs of planes that have none.

    All known designs where none is named. `scenario` is a file or a shipped name (None: that of the
    design's plane); it is for designs of its own plane, and another one that is named is an error.
    `settings` are the same on all planes, or each plane's by its name; `also` are further words of
    the commands that repeat a run.
    Raises `CompareError`, `ScenarioError` or `UnknownPluginError`.
    """
    chosen = [header_of(name) for name in dict.fromkeys(designs) or DESIGNS]
    found: list[World] = []
    left: list[Left] = []
    for header in chosen:
        name = f"{FOLDER}/{header.plane}" if scenario is None else scenario
        if scenario is None and place_of(name) is None:
            left.append(
                Left(header.name, f"no scenario {name} is shipped; name one with --scenario")
            )
            continue
        given = settings(header.plane) if callable(settings) else settings
        own = given if scenario is not None else _of_plane(given, header.plane)
        base = load(name, own, outside=outside)
        plane = base.table.cluster.plane
        if plane != header.plane:
            why = f"it runs on plane {header.plane}, and {base.name} on plane {plane}"
            if designs:
                raise CompareError(f"compare: {header.name}: {why}; leave one of them out")
            left.append(Left(header.name, why))
            continue
        words = [*repeat_options(own), *also]
        found.append(_world(base, header.name, words))
    if not found:
        raise CompareError(f"compare: no design to run; {left[0].design}: {left[0].why}")
    return found, left


def _of_plane(settings: Mapping[str, object], plane: str) -> dict[str, object]:
    """The settings that one of the planes takes: `fdb.…` is of the key-value store alone."""
    return {key: one for key, one in settings.items() if plane == FDB or not key.startswith("fdb.")}


def header_of(design: str) -> DesignHeader:
    """What is declared of a design; raises `UnknownPluginError`."""
    return DESIGNS.get(design).header


def _world(base: Scenario, design: str, words: Sequence[str]) -> World:
    """A scenario under a design: what it expects and must reach is of its own design."""
    if base.mutant is not None or base.strategy_fields:
        what = "has a mutant, or sets fields of its design; it is of one design only"
        raise CompareError(f"compare: {base.name} {what}; name another scenario")
    own = override(base, {"strategy.name": design, "reaches": [], "never_reaches": []})
    bounds.check_run(own.name, own.estimate, None)
    command = ("ddlsim", "run", base.name, *words, "--strategy", design)
    return World(design, own, command)


def job_of(world: World, loads: Sequence[str]) -> Job:
    """What every run of a design must know: it is judged in strict mode, traced and priced."""
    one = world.scenario
    return Job(
        one.name, one.text, one.overrides, tuple(loads), strict=True, trace=True,
        outside=one.outside, models=False, prices=True,
    )  # fmt: skip


# --- lines ---------------------------------------------------------------------------------------


def compare(
    chosen: Sequence[World],
    seeds: Sequence[int],
    *,
    loads: Sequence[str] = (),
    jobs: int | None = None,
    watch: Callable[[RunRow], object] = lambda row: None,
) -> list[Line]:
    """Run every design with every seed; the lines, in order."""
    known = Shipped()
    lines = []
    for world in chosen:
        rows = run_seeds(job_of(world, loads), seeds, jobs=jobs, watch=watch)
        lines.append(line_of(world, rows, known.breaches(world.design)))
    return ordered(lines)


def line_of(world: World, rows: Sequence[RunRow], shown: Sequence[Breach]) -> Line:
    """The line of a design's rows; `shown` are the breaches that shipped scenarios show."""
    header = declared(plan_without_load(world.scenario))
    runs = Runs(header, world.scenario.name, rows)
    holes = {one.id: None for one in findings.known() if one.concerns(header)}
    line = runs.line(merged(found(world, runs), shown), holes, runs.anomalies())
    forms = by_formula(world.scenario, runs.rows)
    values = {key: getattr(line, key) for key in sorted(forms)}
    beside = {key: forms[key](value) for key, value in values.items() if value.why != UNMET}
    return structs.replace(line, formulas=beside)


def found(world: World, runs: Runs) -> Iterator[Breach]:
    """What the runs break: claims of any kind, and safety, claimed or not."""
    rows = [relaxed(row) for row in runs.rows]
    names = {one.invariant for row in rows for one in row.violations}
    for invariant in sorted(names, key=number):
        breach = _gravest(invariant, rows)
        if breach is None:
            continue
        status, hits = breach
        first, seed = hits[0]
        yield Breach(
            invariant=invariant,
            severity=first.severity,
            status=status,
            runs=len(hits),
            of=len(rows),
            seed=seed,
            summary=f"{first.kind}: {first.summary}",
            source="runs",
            command=shlex.join([*world.command, "--seed", str(seed)]),
        )


Hit = tuple[Violation, int]
"""The first violation of a run, and its seed."""


def _gravest(invariant: str, rows: Iterable[RunRow]) -> tuple[str, list[Hit]] | None:
    """The gravest status of an invariant that makes a breach, with a violation from each run."""
    hits: dict[str, list[Hit]] = {}
    for row in rows:
        seen: dict[str, Violation] = {}
        for one in row.violations:
            if one.invariant == invariant and is_breach(one):
                seen.setdefault(one.status, one)
        for status, one in seen.items():
            hits.setdefault(status, []).append((one, row.seed))
    return next(((status, hits[status]) for status in GRAVEST if status in hits), None)


def is_breach(one: Violation) -> bool:
    """A claim broken, or safety broken; what a recorded finding explains is none."""
    return one.status in CLAIMED or (one.status in GRAVEST and one.invariant in SAFETY)


def merged(own: Iterable[Breach], shown: Iterable[Breach]) -> list[Breach]:
    """One breach for each invariant: the graver of both, the runs' one where they are equal, with
    the shortest scenario that is known."""
    best = {one.invariant: one for one in own}
    for one in shown:
        there = best.get(one.invariant)
        if there is None or GRAVEST.index(one.status) < GRAVEST.index(there.status):
            best[one.invariant] = one
        elif one.status == there.status:
            best[one.invariant] = structs.replace(there, shortest=one.shortest, steps=one.steps)
    return [best[name] for name in sorted(best, key=number)]


class Shipped:
    """The shipped scripted scenarios that expect a design to break something."""

    def __init__(self) -> None:
        self._of: dict[str, list[tuple[int, Scenario]]] | None = None

    def breaches(self, design: str) -> list[Breach]:
        """What the shipped scenarios show of a design, from the shortest that shows it."""
        if self._of is None:
            self._of = _convicting()
        shortest: dict[str, Breach] = {}
        for steps, scenario in sorted(self._of.get(design, ()), key=lambda one: one[0]):
            for one in _shown(design, steps, scenario):
                there = shortest.get(one.invariant)
                if there is None or GRAVEST.index(one.status) < GRAVEST.index(there.status):
                    shortest[one.invariant] = one
        return [shortest[name] for name in sorted(shortest, key=number)]


def _convicting() -> dict[str, list[tuple[int, Scenario]]]:
    """The scripted scenarios by the designs that they expect to break something, with their size.

    Those of single fields, of mutants, of a store that does not do what is asked of it, and those
    that claim more than their design are left out.
    """
    found: dict[str, list[tuple[int, Scenario]]] = {}
    for name in shipped():
        base = load(name)
        if not base.scripted or base.strategy_fields or _is_mistaken(base):
            continue
        own = [(base.strategy, base.mutant)]
        for strategy, mutant in [*own, *designs_named(base)]:
            one = base if (strategy, mutant) == own[0] else under(base, strategy, mutant)
            if mutant is None and judges_expected(one.expect):
                size = len(one.steps) + len(one.faults)
                found.setdefault(strategy, []).append((size, one))
    return found


def _is_mistaken(scenario: Scenario) -> bool:
    """Whether the store of a scenario has a mistake, for which no design can be blamed."""
    return any(getattr(scenario.table.fdb, name) for name in MISTAKES)


def _shown(design: str, steps: int, scenario: Scenario) -> Iterator[Breach]:
    """What one scenario shows; one that judges all claims tells only of what is not claimed."""
    job = Job(scenario.name, scenario.text, scenario.overrides, outside=scenario.outside)
    row = Runner(job).row(0)
    claimed = {claim.invariant for claim in header_of(design).claims}
    named = [] if load(scenario.name).strategy == design else ["--strategy", design]
    command = shlex.join(["ddlsim", "run", scenario.name, *named])
    for invariant in dict.fromkeys(one.invariant for one in row.violations):
        breach = _gravest(invariant, [relaxed(row)])
        if breach is not None:
            status, [(first, seed)] = breach
            if scenario.table.all_claims:
                if invariant in claimed or invariant not in SAFETY:
                    continue
                status = "accepted"
            yield Breach(
                invariant=invariant,
                severity=first.severity,
                status=status,
                runs=1,
                of=1,
                seed=seed,
                summary=f"{first.kind}: {first.summary}",
                source="shipped",
                command=command,
                shortest=command,
                steps=steps,
            )
