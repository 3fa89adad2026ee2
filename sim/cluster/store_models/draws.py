"""Numbers for what is driven beside a run: they follow from the run's seed alone."""

from collections.abc import Sequence
from typing import TypeVar

from ddlsim.kernel.rng import mix

T = TypeVar("T")


class Draws:
    """Choices, one after the other."""

    def __init__(self, seed: int, walk: int) -> None:
        self._number, self._drawn = mix(seed, walk), 0

    def below(self, bound: int) -> int:
        """A number below the bound."""
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def pick(self, choices: Sequence[T]) -> T:
        """One of these."""
        return choices[self.below(len(choices))]

    def some(self, choices: Sequence[T], most: int) -> list[T]:
        """Up to so many of these; one may come twice."""
        return [self.pick(choices) for _ in range(self.below(most + 1))]
