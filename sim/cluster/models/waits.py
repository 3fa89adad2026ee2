"""Waits for a value that only grows: each ends in the instant in which its goal is reached."""

from typing import Any

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import words
from ddlsim.kernel.engine import Loop


class Wait:
    """One wait; `due_us` is when its goal was reached."""

    __slots__ = ("due_us", "goal")

    def __init__(self, goal: int) -> None:
        self.goal = goal
        self.due_us: int | None = None


class Waits:
    """The waits for a value of a part; one that ends early or too late is a difference.

    `kind` is the type of the value, as `words` needs it.
    """

    def __init__(self, divergence: Divergence, loop: Loop, what: str, kind: Any = int) -> None:
        self._divergence = divergence
        self._loop = loop
        self._what = what
        self._kind = kind
        self._open: list[Wait] = []

    def begin(self, goal: int) -> Wait:
        """Begin to wait."""
        wait = Wait(goal)
        self._open.append(wait)
        return wait

    def end(self, wait: Wait, value: int) -> None:
        """A wait has ended, at this value."""
        self._open.remove(wait)
        if value < wait.goal:
            goal, at = words(wait.goal, self._kind), words(value, self._kind)
            self._divergence.found(f"a wait for {self._what} {goal} ended at {at}")

    def reached(self, value: int) -> None:
        """The value has grown."""
        now_us = self._loop.now_us
        for wait in self._open:
            if wait.due_us is None:
                wait.due_us = now_us if wait.goal <= value else None
            elif wait.due_us < now_us and not self._divergence.is_resumed():
                goal = words(wait.goal, self._kind)
                self._divergence.found(
                    f"{self._what} {goal} was reached at {wait.due_us} us, and a wait for it "
                    f"goes on at {now_us} us"
                )
