"""The shapes of the documents of `ddlsim ablate --output json`: of a scope, and of a scenario."""

from typing import Literal, TypedDict

from ddlsim.spec.visited import Decision

ScopeEffect = Literal["violated", "no effect", "not tested", "not decided"]
"""What a choice of a rule comes to: the gravest of its cells, but `not decided` before `not
tested`."""
ScenarioEffect = Literal[
    "crashed",
    "violated",
    "stuck",
    "unmet",
    "not decided",
    "unknown",
    "no effect",
    "changed nothing",
]
"""What a mutant comes to in a scenario, the gravest first."""


class ScopeCell(TypedDict):
    """What is known of an invariant under a choice of a rule.

    Of a violated one: the `actions` of a shortest run that breaks it, the `states` that were found
    until then, and what its last state shows. The other words are those of `explore`.
    """

    decision: Decision
    actions: int | None
    states: int | None
    summary: str | None


class ScopeRow(TypedDict):
    """A rule with another choice than the control's; a control has neither rule nor choice.

    `mutant` and `design` are the scope's names for it. `constants` are those that differ from the
    control's. `states` are those of the largest visit, and `ended` what left states, if something
    did. `died`: how its processes ended where none survived it.
    """

    rule: str | None
    choice: str | None
    says: str | None
    clause: str | None
    mutant: str | None
    design: str | None
    constants: dict[str, int]
    effect: ScopeEffect
    cells: dict[str, ScopeCell]
    states: int
    ended: str
    died: str | None
    command: str


class AblateScope(TypedDict):
    """What each invariant of a scope says of every other choice of each of its rules.

    `outcome` is that of the controls, unknown where some row is not decided. `ended` is exhausted,
    or what left states: depth, time, states (too many), interrupted. `invariants` have their
    checkers; `no_effect` are the rows, as rule=choice, in which all states were visited and
    everything holds.
    """

    format: int
    scope: str
    title: str
    strategy: str
    constants: dict[str, int]
    rules: dict[str, str]
    outcome: str
    ended: str
    invariants: dict[str, str]
    rows: list[ScopeRow]
    no_effect: list[str]
    command: str


class SeedCell(TypedDict):
    """In how many runs an invariant was broken, the first of their seeds, and what it shows there.

    `unjudged` are runs that could not be judged by it. `command` repeats the first one.
    """

    broken: int
    unjudged: int
    first_seed: int | None
    summary: str | None
    command: str | None


class ScenarioRow(TypedDict):
    """A mutant in a scenario, or the control, which has none.

    `runs` is how many seeds were run, `changed` in how many of them any event differs from the
    control's run. `cells` are by invariant; `stuck`, `unmet` and `crashed` count runs in which
    something never ended, a scripted step missed what it expects, or the simulated code failed.
    """

    mutant: str | None
    says: str | None
    breaks: str | None
    judge: str | None
    effect: ScenarioEffect
    runs: int
    changed: int
    cells: dict[str, SeedCell]
    stuck: int
    unmet: int
    crashed: int
    crash: str | None
    command: str


class AblateScenario(TypedDict):
    """What each invariant says of every mutant in some seeds of a scenario.

    `outcome` is that of the control, crashed where any run crashed. `ended` is finished, time or
    interrupted. `invariants`, with their checkers, are those that the design claims, and others
    that some row breaks. `no_effect` are the mutants that changed some run and broke nothing,
    `changed_nothing` those under which every run is the control's, event by event.
    """

    format: int
    scenario: str
    title: str
    strategy: str
    seeds: list[int]
    runs: int
    outcome: str
    ended: str
    invariants: dict[str, list[str]]
    rows: list[ScenarioRow]
    no_effect: list[str]
    changed_nothing: list[str]
    command: str
