"""The shapes of the documents of `ddlsim explore --output json`: of a scenario, and of a scope."""

from typing import Any, TypedDict

from ddlsim.cli.documents.shapes_hunt import SeenShape
from ddlsim.spec.visited import Decision

LateMessage = TypedDict(
    "LateMessage",
    {
        "from": str,
        "to": str,
        "kind": str,
        "sent_ms": float,
        "nth": int,
        "fate": str,
        "late_ms": float | None,
    },
)
"""A message and its `fate`: late, stall or lost; of one that is lost `late_ms` is null. `nth`: of
its kind on its link among those that are sent at one instant."""


class ExploreLevel(TypedDict):
    """The runs with so many messages late: how many were made, and how many there are.

    `histories` of them were not the same as one of an earlier run.
    """

    late: int
    runs: int
    of: int
    histories: int


class ExploreFound(SeenShape):
    """A signature with a status: what it is, in how many runs, and what is late in the first.

    `first` is that run's number, from 0; `sentences` say `late` in words; `file` is the scenario
    that shows it.
    """

    runs: int
    first: int
    late: list[LateMessage]
    sentences: list[str]
    file: str
    command: str


class Explore(TypedDict):
    """What all runs of a small world with few late messages came to.

    `ended` is exhausted, violation, time or interrupted; `outcomes` counts the runs by theirs.
    """

    format: int
    scenario: str
    strategy: str
    mutant: str | None
    seed: int
    outcome: str
    ended: str
    depth: int
    late_ms: list[float]
    fates: list[str]
    kinds: list[str]
    messages: int
    runs: int
    histories: int
    outcomes: dict[str, int]
    levels: list[ExploreLevel]
    found: list[ExploreFound]
    command: str


class ScopeStep(TypedDict):
    """An action of a run of a scope: its name, what it is in words, and the variables after it."""

    action: str
    sentence: str
    state: dict[str, Any]


class ScopeFound(TypedDict):
    """A broken invariant of a scope, with a shortest run; `states` were found before it was."""

    invariant: str
    checker: str
    summary: str
    states: int
    steps: list[ScopeStep]


class ExploreScope(TypedDict):
    """What all states of a scope came to.

    `strategy` is the design of that name, as the scope has it; `rules` are the choices of each rule
    that were explored. `ended` is exhausted, violation, depth, time, states (too many) or
    interrupted. `states` are distinct, `generated` has one for each action of each state and the
    first, `depth` is in states, as TLC counts; with --keep-going they may be visited several times,
    and these are the numbers of the visit with the most. An invariant is not tested where what it
    is about cannot happen within the constants, and not decided where states are left.
    """

    format: int
    scope: str
    title: str
    strategy: str
    mutant: str | None
    constants: dict[str, int]
    rules: dict[str, str]
    outcome: str
    ended: str
    states: int
    generated: int
    depth: int
    invariants: dict[str, Decision]
    found: list[ScopeFound]
    tla: list[str]
    command: str
