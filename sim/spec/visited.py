"""What is known of each invariant of a scope once its states were visited, together and alone."""

from collections.abc import Callable, Sequence
from typing import Literal

from ddlsim.spec.base import Setup
from ddlsim.spec.exhaust import STATES_MOST, Ended, Exhaustion, Explored, Found

Decision = Literal["holds", "violated", "not tested", "not decided"]
"""What may be known of an invariant of a scope."""


class Visited:
    """What was visited: all states with every invariant judged, up to the first that breaks one.

    Nothing is visited behind a broken state. With `keep_going` each invariant that was not broken
    by then is therefore judged alone, from the start: so no run breaks it with fewer actions than
    the one that is found, or none breaks it.
    """

    def __init__(
        self,
        setup: Setup,
        *,
        depth: int | None = None,
        keep_going: bool = False,
        states_most: int = STATES_MOST,
    ) -> None:
        """`depth`: actions of a run at most, None for all."""
        self._setup, self._depth, self._keep_going = setup, depth, keep_going
        self._states_most = states_most
        self.visits: list[Explored] = []
        self._tested: dict[str, bool] = {}
        self._every = setup.scope.invariants
        self.search = self._search(self._every)

    def _search(self, judged: Sequence[str]) -> Exhaustion:
        machine = self._setup.machine(judged)
        return Exhaustion(machine, depth=self._depth, states_most=self._states_most)

    def run(self, is_over: Callable[[], bool] = lambda: False) -> KeyboardInterrupt | None:
        """Visit all, as long as `is_over` is false; the interrupt that ended it, if one did."""
        try:
            self._visit(self._every, is_over)
            together = self.found if self._keep_going else {}
            for one in self._every if together else ():
                if one not in together:
                    self.search = self._search((one,))
                    self._visit((one,), is_over)
        except KeyboardInterrupt as interrupt:
            self.visits.append(self.search.result("interrupted"))
            return interrupt
        return None

    def _visit(self, judged: Sequence[str], is_over: Callable[[], bool]) -> None:
        explored = self.search.run(is_over)
        self.visits.append(explored)
        if explored.ended == "exhausted" and not explored.found:
            self._tested |= {one: one in explored.tested for one in judged}

    @property
    def found(self) -> dict[str, Found]:
        """The broken invariants, in the order in which they were found first."""
        return {one.invariant: one for visit in self.visits for one in visit.found}

    @property
    def largest(self) -> Explored:
        """The visit with the most states."""
        return max(self.visits, key=lambda visit: visit.states)

    @property
    def ended(self) -> Ended:
        """What ended it: what left states, else what ended the largest visit."""
        ends = [visit.ended for visit in self.visits]
        left = (end for end in ends if end not in {"exhausted", "violation"})
        return next(left, self.largest.ended)

    def decision(self, invariant: str) -> Decision:
        """What is known of an invariant."""
        if invariant in self.found:
            return "violated"
        if invariant not in self._tested:
            return "not decided"
        return "holds" if self._tested[invariant] else "not tested"
