"""Every state of a scope, breadth first, so that the way to a broken invariant is a shortest one.

States are kept in a dictionary with the state before and the action between: some 400 bytes each
where a state has a few small tuples. What is counted is what TLC prints: distinct states, states
generated (one for each action in each state, and the first), and the depth, in states.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple

from ddlsim.spec.base import Label, Machine

State = tuple[Any, ...]
Ended = Literal["exhausted", "violation", "depth", "time", "states", "interrupted"]
STATES_MOST: Final = 20_000_000
"""So many states are kept at most: some 8 GB."""
ASK_EVERY: Final = 4096
"""States between two looks at the clock."""


class Step(NamedTuple):
    """A step of a run: the action, and the state after it."""

    label: Label
    state: State


class Found(NamedTuple):
    """A broken invariant, and a shortest run that breaks it; `states` were found up to then."""

    invariant: str
    states: int
    first: State
    steps: tuple[Step, ...]


class Explored(NamedTuple):
    """What came of it; `widths` are the states at each depth, `tested` the invariants that an
    action could have broken.
    """

    ended: Ended
    generated: int
    widths: tuple[int, ...]
    found: tuple[Found, ...]
    tested: frozenset[str]

    @property
    def states(self) -> int:
        """Distinct states."""
        return sum(self.widths)

    @property
    def depth(self) -> int:
        """States on the longest of the shortest ways to a state."""
        return len(self.widths)


Came = dict[State, tuple[State, Label] | None]
"""Each state, with the one before it and the action between; None for the first."""


class Exhaustion:
    """Visits the states of a machine level by level; what there is so far can be read meanwhile."""

    def __init__(
        self,
        machine: Machine[Any],
        *,
        depth: int | None = None,
        until_broken: int = 1,
        states_most: int = STATES_MOST,
    ) -> None:
        """`depth`: actions from the first state on, None for all. It ends once so many invariants
        are broken as `until_broken` says.
        """
        self._machine, self._depth = machine, depth
        self._until_broken, self._states_most = until_broken, states_most
        first = machine.first()
        self._came: Came = {first: None}
        self._level: list[State] = [first]
        self._reached: list[State] = []
        self._widths = [1]
        self._found: dict[str, Found] = {}
        self._tested: set[str] = set()
        self._generated = 1
        self._look(self._level)

    @property
    def states(self) -> int:
        """Distinct states so far."""
        return len(self._came)

    @property
    def actions(self) -> int:
        """Actions from the first state to those that are visited now."""
        return len(self._widths) - 1

    def run(self, is_over: Callable[[], bool] = lambda: False) -> Explored:
        """Visit all; `is_over` is asked now and then."""
        while (ended := self._why_ended()) is None:
            for _ in self._expanded():
                if is_over():
                    return self.result("time")
                if len(self._came) > self._states_most:
                    return self.result("states")
            self._level, self._reached = self._reached, []
            if self._level:
                self._widths.append(len(self._level))
                self._look(self._level)
        return self.result(ended)

    def result(self, ended: Ended) -> Explored:
        """What there is so far, and what ended it."""
        widths = [*self._widths, len(self._reached)] if self._reached else self._widths
        return Explored(
            ended,
            self._generated,
            tuple(widths),
            tuple(self._found.values()),
            frozenset(self._tested),
        )

    def _why_ended(self) -> Ended | None:
        if len(self._found) >= self._until_broken:
            return "violation"
        if not self._level:
            return "exhausted"
        if self._depth is None or self.actions < self._depth:
            return None
        return "depth" if self._goes_on() else "exhausted"

    def _goes_on(self) -> bool:
        """Whether there are states behind this level; where not, its actions are counted."""
        generated = 0
        for state in self._level:
            for label, after in self._machine.steps(state):
                if after not in self._came:
                    return True
                generated += 1
                self._tested.update(self._machine.tests(label, after))
        self._generated += generated
        return False

    def _expanded(self) -> Iterator[None]:
        """Take every action of this level; yields now and then, and at its end."""
        came, reached, steps = self._came, self._reached, self._machine.steps
        tested, tests = self._tested, self._machine.tests
        for number, state in enumerate(self._level):
            if number % ASK_EVERY == ASK_EVERY - 1:
                yield
            for label, after in steps(state):
                self._generated += 1
                tested.update(tests(label, after))
                if after not in came:
                    came[after] = (state, label)
                    reached.append(after)
        if reached:
            yield

    def _look(self, states: list[State]) -> None:
        """Keep the first run for each invariant that one of the states breaks."""
        for state in states:
            for invariant in self._machine.broken(state):
                if invariant not in self._found:
                    first, steps = self._run_to(state)
                    self._found[invariant] = Found(invariant, len(self._came), first, steps)

    def _run_to(self, state: State) -> tuple[State, tuple[Step, ...]]:
        steps: list[Step] = []
        at = state
        while (came := self._came[at]) is not None:
            before, label = came
            steps.append(Step(label, at))
            at = before
        return at, tuple(reversed(steps))
