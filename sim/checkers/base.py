"""What a checker is, and what it finds.

A *checker* looks at one history and yields *anomalies*: what happened that its invariant forbids.
Whether an anomaly is a *violation* depends on what the design claims and on what it assumes for it
(`judge`). No checker runs any code of the design it judges: the checkers' reading of IEP-110 is a
second, independent one (`spec`, `rows`), and all they use of a run is its history.
"""

import inspect
import re
from collections.abc import Iterable
from typing import Final, Literal, Protocol, get_args

from ddlsim.checkers.case.case import Case
from ddlsim.fitting import OURS, Told, unfit_method, unfit_texts, unfit_tuple
from ddlsim.history.event import Event
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


WITNESS: Final[tuple[str, ...]] = ("witness",)
BOTH_VOICES: Final[tuple[str, ...]] = ("client", "witness")


def unfit_checker(name: str, checker: Checker) -> Told:
    """What is wrong with a checker that is added."""
    if inspect.isclass(checker):
        return f"it is a class; add an object of it, {checker.__name__}()"
    told = unfit_texts(checker, "name", "invariant", "severity", "summary")
    if told is not None:
        return told
    if checker.name != name:
        return f"its `name` is {checker.name!r}; add it under this name"
    if not re.fullmatch("I[1-9][0-9]{0,8}", checker.invariant):
        return f"its `invariant` is {checker.invariant!r}; give I and a number, as I100"
    if checker.severity not in get_args(Severity):
        known = ", ".join(get_args(Severity))
        return f"its `severity` is {checker.severity!r}; known: {known}"
    return (
        unfit_tuple(checker, "voices", BOTH_VOICES)
        or unfit_method(checker, "check", "case")
        or _taken(checker)
    )


def unfit_anomaly(anomaly: object) -> Told:
    """What is wrong with what a checker gives."""
    if not isinstance(anomaly, Anomaly):
        return f"{anomaly!r:.80}, not an Anomaly"
    for name, kind in (("kind", str), ("summary", str), ("witness", tuple), ("steps", tuple)):
        value = getattr(anomaly, name)
        if not isinstance(value, kind):
            return f"an Anomaly whose `{name}` is {value!r:.80}, not a {kind.__name__}"
    for name, parts, of in (("witness", anomaly.witness, Event), ("steps", anomaly.steps, Step)):
        for part in parts:
            if not isinstance(part, of):
                return f"an Anomaly whose `{name}` has {part!r:.80}, not one {of.__name__}"
    return None


def _taken(checker: Checker) -> Told:
    """Whether another checker judges its invariant; two of ours may."""
    for name in CHECKERS.added():
        other = CHECKERS.get(name)
        ours = all(type(one).__module__.startswith(OURS) for one in (checker, other))
        if other.invariant == checker.invariant and not ours:
            return f"invariant {checker.invariant} is that of {name!r}; take another number"
    return None


CHECKERS: Final[Registry[Checker]] = Registry("checker", "ddlsim.checkers", unfit=unfit_checker)
"""Every checker by its name."""


def in_order() -> list[Checker]:
    """Every checker, in the order of the invariants."""
    return sorted(
        (checker for _, checker in CHECKERS.items()),
        key=lambda checker: (int(checker.invariant.removeprefix("I")), checker.name),
    )
