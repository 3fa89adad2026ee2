"""What a checker is, and what it finds.

A *checker* looks at one history and yields *anomalies*: what happened that its invariant forbids.
Whether an anomaly is a *violation* depends on what the design claims and on what it assumes for it
(`judge`). No checker runs any code of the design it judges: the checkers' reading of IEP-110 is a
second, independent one (`spec`, `rows`), and all they use of a run is its history.
"""

from collections.abc import Iterable
from typing import Final, Literal, Protocol

from ddlsim.checkers.case.case import Case
from ddlsim.history.events import AnyEvent
from ddlsim.model.records import Record
from ddlsim.registry import Registry

Severity = Literal["safety", "session", "liveness", "quality"]


class Step(Record, frozen=True, rename={"source": "from", "target": "to"}):
    """One edge of a cycle: `source` < `target`, and why.

    `kind` is what the source is (`T`, or `D(column-added)`) and `edge` what joins the two: what a
    finding is recognised by.
    """

    source: str
    target: str
    kind: str
    edge: str
    because: str


class Anomaly(Record, frozen=True):
    """Something that an invariant forbids, with the events that show it.

    `stuck` marks what makes the run stuck rather than violated. `strict_only` marks what only the
    strict graph shows, `assumes` what the argument itself rests on besides the claim's assumptions,
    `clauses` the rules that were broken, `back_ms` for each step of a cycle by how much it leads
    back in the order of timestamps, None where it does not.
    """

    kind: str
    summary: str
    witness: tuple[AnyEvent, ...] = ()
    steps: tuple[Step, ...] = ()
    strict_only: bool = False
    assumes: tuple[str, ...] = ()
    clauses: tuple[str, ...] = ()
    stuck: bool = False
    back_ms: tuple[int | None, ...] = ()


class Checker(Protocol):
    """One invariant of the protocol, and how to see that it is broken.

    `severity` is the invariant's class; `voices` are the voices of the history that it needs.
    """

    name: str
    invariant: str
    severity: Severity
    summary: str
    voices: tuple[str, ...]

    def check(self, case: Case) -> Iterable[Anomaly]:
        """Everything in this history that the invariant forbids, in a repeatable order."""


CHECKERS: Final[Registry[Checker]] = Registry("checker", "ddlsim.checkers")
"""Every checker by its name."""

WITNESS: Final[tuple[str, ...]] = ("witness",)
BOTH_VOICES: Final[tuple[str, ...]] = ("client", "witness")


def in_order() -> list[Checker]:
    """Every checker, in the order of the invariants."""
    return sorted(
        (checker for _, checker in CHECKERS.items()),
        key=lambda checker: (int(checker.invariant.removeprefix("I")), checker.name),
    )
