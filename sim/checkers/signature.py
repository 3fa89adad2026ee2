"""The signature of a violation: equal for violations of one hole, whatever world showed them.

It holds the invariant, the checker, the kind of anomaly and the parts that show which rule is open;
no name of a table, node, client or transaction, and no number. What differs from world to world and
says nothing about the hole is left out: how many transactions lie on a cycle, whether one client or
real time orders them, and, on a cycle with a DDL, which of the field's names it has.

A violation without a cycle is known by its kind and the clauses that it breaks.
"""

import hashlib
from typing import Final

from ddlsim.checkers.base import Step
from ddlsim.checkers.graph.edges import UNDER_WAY
from ddlsim.checkers.judge import Violation
from ddlsim.graph.names import SCHEMA
from ddlsim.model.records import Record

DIGITS: Final = 8
CRASH: Final = "crash"
"""The status and the judge of a run that raised: it has no invariant, and one part, its place."""
TRANSACTION: Final = "T"
CYCLE: Final = f"{SCHEMA}cycle"
"""The kind of every cycle with a DDL on it."""
READ_OF_SCHEMA: Final = "rw-schema"
"""What the edges begin with that leave a transaction for the DDL that ended its version."""
TIMES: Final = ("-process", "-realtime")
CLASSES: Final = ("object-created", "object-dropped", "object-renamed", "index", "zone")
"""Classes of DDL; every other kind changes the columns or constraints of a table."""


class Signature(Record, frozen=True):
    """Invariant, checker, kind of anomaly, and the parts by which its hole is known.

    Of a cycle the parts are its anti-dependencies on schemas, the kinds of data that lead back to
    the transaction that holds them, and the classes of the DDLs; otherwise the clauses broken.
    """

    invariant: str
    checker: str
    kind: str
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The signature in one line."""
        if self.checker == CRASH:
            return f"{CRASH}: {self.kind} in {', '.join(self.parts)}"
        parts = f": {', '.join(self.parts)}" if self.parts else ""
        return f"{self.invariant} {self.checker} {self.kind}{parts}"

    @property
    def id(self) -> str:
        """A short name for files."""
        return id_of(self.text)


def id_of(text: str) -> str:
    """A short name for files: some digits of a digest of a signature's text."""
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def signature_of(violation: Violation) -> Signature:
    """The signature of a violation."""
    steps = violation.steps
    if not steps:
        kind, parts = violation.kind, tuple(violation.clauses)
    elif all(step.kind == TRANSACTION for step in steps):
        kind, parts = _timed(violation.kind), ()
    else:
        kind, parts = CYCLE, _parts(steps)
    return Signature(violation.invariant, violation.checker, kind, parts)


def is_of(violation: Violation, signature: Signature, status: str) -> bool:
    """Whether a violation has a signature and a status."""
    return violation.status == status and signature_of(violation) == signature


def _timed(kind: str) -> str:
    """A cycle's name; the order of one client counts as real time, of which it is a part."""
    process, realtime = TIMES
    return kind.removesuffix(process) + realtime if kind.endswith(process) else kind


def _parts(steps: tuple[Step, ...]) -> tuple[str, ...]:
    """What is known of a cycle with a DDL: schema edges, ways by data, classes of DDL."""
    found = {_edge(step.edge) for step in steps}
    for step in steps:
        if step.kind != TRANSACTION:
            found.update(_classes(step.kind))
    return tuple(sorted(found - {""}))


def _edge(edge: str) -> str:
    """A schema edge by its name, rows as `row`; nothing for orders, which only carry a cycle on."""
    if edge.startswith(READ_OF_SCHEMA):
        return edge
    if edge.removesuffix(UNDER_WAY).endswith("-row") or edge.startswith("rw-predicate"):
        return "row"
    return edge if edge.startswith("wr-") else ""


def _classes(kind: str) -> set[str]:
    """The classes of the changes in `D(column-added, index-created)`."""
    tags = kind.removeprefix("D(").removesuffix(")").split(", ")
    return {next((one for one in CLASSES if tag.startswith(one)), "table") for tag in tags}
