"""Explores rows of a scope's ablation on processes: what each rule's other choice breaks, and how
soon.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from ddlsim.execute.parallel import Executor
from ddlsim.registry import load_file
from ddlsim.spec.ablation import Row
from ddlsim.spec.base import SCOPES, Setup
from ddlsim.spec.exhaust import STATES_MOST, Ended, Found
from ddlsim.spec.visited import Decision, Visited

NOT_DECIDED: Final[Decision] = "not decided"


class Limits(NamedTuple):
    """What one row may take: actions of a run, states, and until when by `time.monotonic`."""

    depth: int | None = None
    until_s: float | None = None
    states_most: int = STATES_MOST

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self.until_s is not None and time.monotonic() >= self.until_s


class Task(NamedTuple):
    """A row as plain data, which goes to another process: its place, and its set-up."""

    place: int
    scope: str
    design: str
    constants: dict[str, int]
    rules: dict[str, str]


class Shortest(NamedTuple):
    """A shortest run that breaks an invariant: its actions, the states until it was found, and
    what its last state shows.
    """

    actions: int
    states: int
    summary: str


class Came(NamedTuple):
    """What came of a row: what is known of each invariant, and a run for each that is broken.

    `states` and `ended` are of the visit with the most. `died` is how its processes ended where
    none survived it.
    """

    decisions: dict[str, Decision]
    shortest: dict[str, Shortest]
    states: int
    ended: Ended
    died: str | None = None


def explore(
    rows: Sequence[Row],
    limits: Limits,
    watch: Callable[[int, Came], object],
    *,
    loads: Sequence[str] = (),
    jobs: int | None = None,
) -> None:
    """Explore each row; `watch` has what came of it, with its place, as it comes in.

    Controls, which have no short end, come last: where time is short, the other rows tell more.
    """
    tasks = [
        Task(place, row.setup.scope.name, row.setup.design, row.setup.constants, row.setup.rules)
        for place, row in enumerate(rows)
    ]
    tasks.sort(key=lambda task: rows[task.place].rule is None)
    make = partial(worker, tuple(loads), limits)
    with Executor(make, lost, processes=jobs, alone_s=0) as executor:
        executor.run(tasks, lambda task, came: watch(task.place, came))


def worker(loads: Sequence[str], limits: Limits) -> Callable[[Sequence[Task]], list[Came]]:
    """What a process runs: see `Executor`."""
    for file in loads:
        load_file(file)
    return lambda tasks: [came_of(task, limits) for task in tasks]


def lost(task: Task, how: str) -> Came:
    """The result of a row that no process survives."""
    undecided = dict.fromkeys(SCOPES.get(task.scope).invariants, NOT_DECIDED)
    return Came(undecided, {}, 0, "interrupted", how)


def came_of(task: Task, limits: Limits) -> Came:
    """Explore a row; raises the interrupt that ended it."""
    setup = Setup(SCOPES.get(task.scope), task.design, None, task.constants, task.rules)
    visited = Visited(setup, depth=limits.depth, keep_going=True, states_most=limits.states_most)
    interrupt = visited.run(lambda: limits.is_over)
    if interrupt is not None:
        raise interrupt
    return Came(
        {one: visited.decision(one) for one in setup.scope.invariants},
        {name: _shortest(setup, found) for name, found in visited.found.items()},
        visited.largest.states,
        visited.ended,
    )


def _shortest(setup: Setup, found: Found) -> Shortest:
    last = found.steps[-1].state if found.steps else found.first
    return Shortest(len(found.steps), found.states, setup.machine().why(found.invariant, last))
