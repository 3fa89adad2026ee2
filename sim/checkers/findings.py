"""Known findings about the documents, and how an anomaly is recognised as one of them.

A finding is recognised by its structure: for a cycle, the kinds of nodes and edges around it,
turned so that equal cycles read equally wherever they were entered; for anything else, its kind
and the clauses that it breaks. What matches no known finding is a violation.

It excuses only a design that has the hole, by the rules in the fields of the design as declared:
each of them open, and not all as the closing rule wants them. A mutant of a design that has the
closing rule is not excused, nor is a late use of a schema version, which every check at operations
rules out, unless the finding is about that check and says `late` itself.

The order of one client's doings (`process`) counts as real time, which it is a part of.
A way from one transaction to another past no DDL counts as one edge, `via(…)`, which names the
kinds of its edges: how many transactions lie on it says nothing about the DDL. Changes of one
object in a row, each joined to the next because that replaced it, count as one change with all
their kinds: a row that is newer than its reader by two versions shows no other hole than by one.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from msgspec import field

from sim.model.design import DesignHeader
from sim.model.records import Record

if TYPE_CHECKING:
    from sim.checkers.base import Anomaly

Signature = tuple[str, ...]
Pair = tuple[str, str]
LATE: Final = ", late"
"""What marks the use of a version that was no longer in force; no `*` stands for it."""
REPLACED: Final = "ww-schema"
"""What joins a change to the next one of the same object."""
AS_REAL_TIME: Final = {"process": "rt"}
"""On a way past a DDL a client's own order is real time as any other."""


class Finding(Record, frozen=True):
    """A hole in the documents that is known: `signature` may hold `*` within its elements.

    `hole` says which designs have it: those that meet one of these conditions, each a list of rules
    for some fields; without any, all designs. `closing` are the fields that close it.
    `within_skew`: what was read was replaced at most CSmax after the timestamp it was read at.
    """

    id: str
    invariant: str
    signature: Signature
    hole: tuple[dict[str, tuple[str, ...]], ...] = ()
    closing: dict[str, str] = field(default_factory=dict)
    within_skew: bool = False

    def concerns(self, design: DesignHeader) -> bool:
        """Whether the hole is one of this design."""
        rules = design.rules
        if self.closing and all(rules.get(name) == rule for name, rule in self.closing.items()):
            return False
        return not self.hole or any(
            all(rules.get(name) in open_with for name, open_with in condition.items())
            for condition in self.hole
        )


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


def explained_by(
    invariant: str, anomaly: "Anomaly", findings: Iterable[Finding], skew_ms: int | None = None
) -> str | None:
    """The id of the first known finding that an anomaly is an instance of; `skew_ms` is CSmax."""
    found = signature(anomaly)
    near = skew_ms is not None and all(gap <= skew_ms for gap in anomaly.gaps_ms)
    turns = (
        [found[at:] + found[:at] for at in range(0, len(found), 2)] if anomaly.steps else [found]
    )
    for finding in findings:
        if finding.invariant != invariant or (finding.within_skew and not near):
            continue
        if any(_matches(finding.signature, turn) for turn in turns):
            return finding.id
    return None


def _matches(pattern: Signature, found: Signature) -> bool:
    if len(pattern) != len(found):
        return False
    return all(_is_one(known, word) for known, word in zip(pattern, found, strict=True))


def _is_one(known: str, word: str) -> bool:
    if LATE in word and LATE not in known:
        return False
    return word == known or fnmatchcase(word, known.replace("[", "[[]"))
