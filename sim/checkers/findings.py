"""Known findings about the documents, and how an anomaly is recognised as one of them.

A finding is recognised by its structure alone: for a cycle, the kinds of nodes and edges around it,
turned so that equal cycles read equally wherever they were entered; for anything else, its kind
and the clauses that it breaks. What matches no known finding is a violation.

The order of one client's doings (`process`) counts as real time, which it is a part of.
A way from one transaction to another past no DDL counts as one edge, `via(…)`, which names the
kinds of its edges: how many transactions lie on it says nothing about the DDL. Changes of one
object in a row, each joined to the next because that replaced it, count as one change with all
their kinds: a row that is newer than its reader by two versions shows no other hole than by one.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from sim.model.records import Record

if TYPE_CHECKING:
    from sim.checkers.base import Anomaly

Signature = tuple[str, ...]
Pair = tuple[str, str]
REPLACED: Final = "ww-schema"
"""What joins a change to the next one of the same object."""
AS_REAL_TIME: Final = {"process": "rt"}
"""On a way past a DDL a client's own order is real time as any other."""


class Finding(Record, frozen=True):
    """A hole in the documents that is known: `signature` may hold `*` within its elements.

    Where it is a hole of some designs only, it explains nothing in any other.
    """

    id: str
    invariant: str
    signature: Signature
    designs: tuple[str, ...] = ()

    def concerns(self, design: str) -> bool:
        """Whether the hole is one of this design."""
        return not self.designs or design in self.designs


def signature(anomaly: "Anomaly") -> Signature:
    """The structure of an anomaly: equal for what is the same but for names and times."""
    if not anomaly.steps:
        return (anomaly.kind, *anomaly.clauses)
    past_ddl = any(step.kind != "T" for step in anomaly.steps)
    alike = AS_REAL_TIME if past_ddl else {}
    pairs = _contracted([(step.kind, alike.get(step.edge, step.edge)) for step in anomaly.steps])
    turns = [pairs[at:] + pairs[:at] for at in range(len(pairs))]
    return tuple(word for pair in min(turns) for word in pair)


def _contracted(pairs: list[Pair]) -> list[Pair]:
    """Ways past no DDL as one edge each, and changes in a row as one.

    A cycle without any DDL stays as it is.
    """
    starts = [at for at, (kind, _) in enumerate(pairs) if kind != "T"]
    if not starts:
        return pairs
    pairs = pairs[starts[0] :] + pairs[: starts[0]]
    found: list[Pair] = []
    way: list[str] = []
    for at, (kind, edge) in enumerate(pairs):
        next_kind = pairs[(at + 1) % len(pairs)][0]
        if kind == "T" and next_kind == "T":
            way.append(edge)
            continue
        if way:
            found.append(("T", f"via({', '.join(sorted(set(way)))})"))
            way = []
        found.append((kind, edge))
    return _one_change(found)


def _one_change(pairs: list[Pair]) -> list[Pair]:
    """Changes of one object in a row as one change; a cycle of nothing else stays as it is."""
    starts = [at for at, (_, edge) in enumerate(pairs) if edge != REPLACED]
    if not starts:
        return pairs
    first = starts[0] + 1
    found: list[Pair] = []
    tags: set[str] = set()
    for kind, edge in pairs[first:] + pairs[:first]:
        if edge == REPLACED:
            tags.update(_tags(kind))
        elif tags:
            found.append((f"D({', '.join(sorted(tags.union(_tags(kind))))})", edge))
            tags = set()
        else:
            found.append((kind, edge))
    return found


def _tags(kind: str) -> list[str]:
    return kind.removeprefix("D(").removesuffix(")").split(", ")


def explained_by(invariant: str, anomaly: "Anomaly", findings: Iterable[Finding]) -> str | None:
    """The id of the first known finding that an anomaly is an instance of."""
    found = signature(anomaly)
    turns = (
        [found[at:] + found[:at] for at in range(0, len(found), 2)] if anomaly.steps else [found]
    )
    for finding in findings:
        if finding.invariant == invariant and any(_matches(finding.signature, t) for t in turns):
            return finding.id
    return None


def _matches(pattern: Signature, found: Signature) -> bool:
    if len(pattern) != len(found):
        return False
    return all(
        word == known or fnmatchcase(word, known.replace("[", "[[]"))
        for known, word in zip(pattern, found, strict=True)
    )
