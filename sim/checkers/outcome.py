"""How a run ended, from best to worst, and the exit code of each end."""

from collections.abc import Iterable
from enum import Enum


class Outcome(Enum):
    """One word for a whole run; the value is (word, exit code, rank among several runs)."""

    OK = ("ok", 0, 0)
    VACUOUS = ("vacuous", 5, 1)
    UNKNOWN = ("unknown", 6, 2)
    STUCK = ("stuck", 3, 3)
    VIOLATED = ("violated", 1, 4)
    CRASHED = ("crashed", 4, 5)

    @property
    def word(self) -> str:
        """As it stands in JSON and in a scenario's `expect`."""
        return self.value[0]

    @property
    def exit_code(self) -> int:
        """What the program ends with."""
        return self.value[1]

    @property
    def rank(self) -> int:
        """Larger is worse: crashed > violated > stuck > unknown > vacuous > ok."""
        return self.value[2]


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of several outcomes; ok for none."""
    return max(outcomes, key=lambda outcome: outcome.rank, default=Outcome.OK)
