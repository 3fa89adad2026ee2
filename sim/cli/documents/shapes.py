"""The documents of `--output json`, key by key: names, types and meaning.

`documents.part` fills a shape from a record; `schemas`, beside this file, makes the published JSON
Schemas of them. Times are simulated milliseconds. A document may get more keys; a key keeps its
meaning as long as `format` is the same.
"""

from typing import Any, Literal, NotRequired, TypedDict

from ddlsim.checkers.base import Step
from ddlsim.checkers.judge import Violation
from ddlsim.history.figures import Figures

Word = Literal["ok", "vacuous", "unknown", "unmet", "stuck", "violated", "crashed"]
Expected = str | dict[str, list[str] | str]
Valid = bool | Literal["unknown"]


# --- run -----------------------------------------------------------------------------------------


class RunOfSeed(TypedDict):
    """One run. `reached` counts every probe; `omitted` counts, by checker, kind and status, the
    violations that are not listed; `missed` are steps that did not end as expected, `unmatched`
    holds, pauses and faults that met nothing, and clients that began nothing, `stuck` operations
    that never ended, `unjudged` invariants that the history has not the voice for. A crashed run
    has a `crash`, and neither fingerprint nor figures."""

    seed: int
    outcome: Word
    fingerprint: str | None
    reached: dict[str, int]
    violations: list[Violation]
    omitted: dict[str, int]
    missed: list[str]
    unmatched: list[str]
    stuck: list[str]
    unjudged: list[str]
    figures: Figures | None
    crash: str | None


class Run(TypedDict):
    """The result of a run. `settings` are those of the cluster (under the empty name) and of each
    node, `swarm` what was drawn in the run that `command` repeats, `never_reached` the probes that
    none of several runs has reached. `violated_below`: at 95 % less than this share of such runs is
    violated, stuck or crashed, since none of several was. summary.json has `writer` and `finished`
    as well."""

    writer: NotRequired[str]
    finished: NotRequired[bool]
    format: int
    scenario: str
    strategy: str
    mutant: str | None
    settings: dict[str, dict[str, int]]
    outcome: Word
    expected: Expected
    as_expected: bool
    unexpected: list[str]
    command: str
    swarm: NotRequired[dict[str, Any]]
    never_reached: NotRequired[list[str]]
    violated_below: NotRequired[float]
    runs: list[RunOfSeed]


# --- check, explain ------------------------------------------------------------------------------

Edge = TypedDict("Edge", {"from": str, "to": str, "edge": str, "because": str})


class Anomaly(TypedDict):
    """Something that was found: its transactions, and the steps of its cycle, if it is one."""

    type: str
    txns: list[str]
    steps: list[Edge]
    explanation: str
    did: NotRequired[dict[str, str]]


Checked = TypedDict(
    "Checked",
    {
        "file": str,
        "input": str,
        "scenario": NotRequired[str],
        "seed": NotRequired[int],
        "fingerprint": NotRequired[str | None],
        "outcome": Word,
        "valid": Valid,
        "model": str | None,
        "workload": NotRequired[str],
        "transactions": NotRequired[dict[str, int]],
        "anomalies": list[Anomaly],
        "counts": NotRequired[dict[str, int]],
        "violations": list[Any],
        "not": list[str],
        "notes": NotRequired[list[str]],
        "problems": NotRequired[list[str]],
    },
)


class Check(TypedDict):
    """Verdicts on histories, a file each."""

    format: int
    files: list[Checked]


class Entry(TypedDict):
    """An entry of a witness log and its line; it has the other fields that it has there."""

    line: int
    record: str
    node: str


WitnessViolation = TypedDict(
    "WitnessViolation",
    {
        "invariant": str,
        "checker": str,
        "kind": str,
        "class": str,
        "status": str,
        "strict_only": bool,
        "summary": str,
        "witness": list[Entry],
        "steps": list[Step],
        "clauses": list[str],
        "because": str,
    },
)


# --- verify --------------------------------------------------------------------------------------


class SeedsOfCases(TypedDict):
    """The seeds that each case was to have (null: time was the bound), and the fewest it had."""

    most: int | None
    least_run: int | None


class SeedsToConviction(TypedDict):
    """How many seeds a mutant's own judge took, block by block."""

    median: float | None
    blocks: list[int]


class Killed(TypedDict):
    """In how many runs a checker convicted a mutant, and since which seed."""

    runs: int
    first_seed: int


class MutantOfSuite(TypedDict):
    """A mutant in one scenario."""

    mutant: str
    scenario: str
    breaks: str
    judge: str
    killed: bool
    runs: int
    complete: bool
    seeds_to_conviction: SeedsToConviction
    killed_by: dict[str, Killed]


class SurvivorOfSuite(TypedDict):
    """A mutant that no run convicted; `reason` is why no checker can, if that is known."""

    mutant: str
    judge: str
    runs: int
    reason: str | None


class ShortCase(TypedDict):
    """A case that had fewer seeds than were asked for."""

    case: str
    runs: int
    wanted: int | None


class ScenarioOfSuite(TypedDict):
    """A scenario: how its runs ended, against what it expects."""

    scenario: str
    strategy: str
    mutant: str | None
    runs: int
    complete: bool
    outcome: Word | None
    expected: Expected
    as_expected: bool
    unexpected: list[str]
    never_reached: list[str]
    argument: str | None
    command: str


class Example(TypedDict):
    """The first breach that no scenario expects."""

    scenario: str
    seed: int
    summary: str


class ClaimOfSuite(TypedDict):
    """One invariant under one design: in how many runs what was found. `foretold` are breaches that
    their scenario expects, `excuse` is why a breach is no surprise."""

    strategy: str
    invariant: str
    claim: Literal["kept", "broken", "not claimed", "not judged", "not decided"]
    assumes: list[str]
    runs: int
    breaches: int
    foretold: int
    out_of_assumption: int
    accepted: int
    unjudged: int
    findings: dict[str, int]
    example: Example | None
    excuse: str | None


class PowerOfArea(TypedDict):
    """Mutants of the source in one area, and those that the search killed."""

    mutants: int
    killed: int


class PowerOfSearch(TypedDict):
    """What the search finds of a sample of faults, with so many seeds for each.

    `sample` is a digest of which faults these are; `surveyed` seeds were run without a fault to
    choose the worlds.
    """

    mutants: int
    killed: int
    seeds: int
    surveyed: int
    sample: str
    areas: dict[str, PowerOfArea]
    survivors: list[str]


class Verify(TypedDict):
    """The result of the regression suite."""

    format: int
    as_expected: bool
    unexpected: list[str]
    open: list[str]
    decided: bool
    seeds: SeedsOfCases
    cases: int
    runs: int
    mutation_score: float | None
    power: PowerOfSearch | None
    mutants: list[MutantOfSuite]
    survivors: list[SurvivorOfSuite]
    undecided_mutants: list[SurvivorOfSuite]
    short: list[ShortCase]
    scenarios: list[ScenarioOfSuite]
    claims: list[ClaimOfSuite]
    vacuous: list[str]
    not_run: list[str]
    never_reached: list[str]


# --- sweep, tune ---------------------------------------------------------------------------------


class Provenance(TypedDict):
    """What every row depends on beside what was asked for."""

    program: str
    version: str
    commit: str | None
    python: str
    packages: dict[str, str | None]


class ScenarioText(TypedDict):
    """A scenario of a sweep: its TOML, and the keys and files that were set over it."""

    name: str
    text: str
    overrides: dict[str, Any]


class ProvenanceOfSweep(Provenance):
    """The same with the sweep file, the seeds, and the command that makes the same rows."""

    sweep: str
    text: str
    set: dict[str, Any]
    seeds: str
    title: str
    command: str
    scenarios: list[ScenarioText]
    judging: list[str]


class FirstRun(TypedDict):
    """Where something was met first; `history` is its file, if it was kept."""

    cell: int
    seed: int
    history: NotRequired[str | None]


class KindFound(TypedDict):
    """A kind of violation, in how many runs it was found, and where first."""

    status: str
    invariant: str
    checker: str
    kind: str
    runs: int
    first: FirstRun


class ErrorFound(TypedDict):
    """What went wrong, in how many runs, and where first."""

    error: str
    runs: int
    first: FirstRun


class Sweep(TypedDict):
    """What a sweep came to; its rows and cells are tables of Parquet."""

    format: int
    title: str
    cells: int
    runs: int
    rounds: int
    by: str
    outcomes: dict[str, int]
    violations: list[KindFound]
    errors: list[ErrorFound]
    tables: list[str]
    histories: int
    provenance: ProvenanceOfSweep


class SettingsOfCell(TypedDict):
    """DD, the idle interval and CSmax in ms."""

    dd_ms: int
    h_ms: int
    cs_max_ms: int


class GoalMet(TypedDict):
    """A goal under a setting: the simulated value, its interval, and whether it is met, for sure if
    `sure`. `seeds` is about how many seeds would decide it. What the runs observed nothing of is
    null."""

    goal: str
    metric: str
    simulated: float | None
    low: float | None
    high: float | None
    high_by: str
    met: bool
    sure: bool
    seeds: int | None
    above_most: float | None


class MoreSeeds(TypedDict):
    """With how many seeds the goals would be decided."""

    seeds: int
    command: str


class Tune(TypedDict):
    """The recommended settings with reasons, price and risks; docs/how-to/tune.md tells each part.
    tune.json has a `digest` of its content as well."""

    format: int
    writer: str
    asked: dict[str, Any]
    recommended: dict[str, Any]
    cs_max: dict[str, Any] | None
    goals: list[GoalMet]
    present: dict[str, Any]
    tried: list[dict[str, Any]]
    front: list[dict[str, Any]]
    curve: dict[str, Any]
    skew: list[dict[str, Any]]
    agreement: list[dict[str, Any]]
    runs: dict[str, Any]
    command: str
    more_seeds: MoreSeeds | None
    provenance: Provenance
    digest: NotRequired[str]
