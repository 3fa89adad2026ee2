"""How a run ended, from best to worst, and the exit code of each end."""

from collections.abc import Iterable
from enum import Enum
from typing import Final

STATUSES: Final = {"violated": "violation", "stuck": "stuck"}
"""The keys of a scenario's `expect` that name judges, with the status of what these find."""


class Outcome(Enum):
    """One word for a whole run; the value is (word, exit code, rank among several runs).

    `unmet` is no verdict on the design: all claims were kept, but a scripted step did not come out
    as the scenario says, or what must not be reached was.
    """

    OK = ("ok", 0, 0)
    VACUOUS = ("vacuous", 5, 1)
    UNKNOWN = ("unknown", 6, 2)
    UNMET = ("unmet", 8, 3)
    STUCK = ("stuck", 3, 4)
    VIOLATED = ("violated", 1, 5)
    CRASHED = ("crashed", 4, 6)

    @classmethod
    def called(cls, word: str) -> "Outcome":
        """The outcome of a word."""
        return next(one for one in cls if one.word == word)

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
        """Larger is worse: crashed > violated > stuck > unmet > unknown > vacuous > ok."""
        return self.value[2]


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The worst of several outcomes; ok for none."""
    return max(outcomes, key=lambda outcome: outcome.rank, default=Outcome.OK)
