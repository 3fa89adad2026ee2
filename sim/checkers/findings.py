"""Known findings about the documents, and how an anomaly is recognised as one of them.

A finding is recognised by its structure: for a cycle, the kinds of nodes and edges around it,
turned so that equal cycles read equally wherever they were entered; for anything else, its kind
and the clauses that it breaks. What matches no known finding is a violation.

Cycles close by edges that lead back in the order of timestamps (commit_ts, read_ts, Tu): where
every rule is kept there are none. So a finding is about such an edge, and each one on a cycle must
be some finding's, however the rest of the cycle runs. So must each late use of a schema version,
which every check at operations rules out: a finding about that says `late` itself.

It excuses only a design that has the hole, by the rules in the fields of the design as declared:
each of them open, and not all as the closing rule wants them. A mutant of a design that has the
closing rule is not excused.

The order of one client's operations (`process`) counts as real time, of which it is a part.
A way from one transaction to another past no DDL counts as one edge, `via(…)`, which names the
kinds of its edges: how many transactions lie on it says nothing about the DDL. Changes of one
object in a row, each joined to the next because that replaced it and activates later, count as one
change with all their kinds: a row that is newer than its reader by two versions shows no other hole
than by one.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from msgspec import field

from ddlsim.checkers.base import Anomaly
from ddlsim.model.design import DesignHeader
from ddlsim.model.records import Record

Signature = tuple[str, ...]
Pair = tuple[str, str]
Place = tuple[int, str]
"""An edge that leads back by its name there, or `LATE` for a late use: on which link."""
ANY_WAY: Final = "**"
"""Any edges past any nodes: a signature leaves open how one gets from here to the next node."""
BACK: Final = "!"
"""In a signature: this edge leads back in the order of timestamps, and the finding says why."""
LATE: Final = ", late"
"""What marks the use of a version that was no longer in force; no `*` stands for it."""
REPLACED: Final = "ww-schema"
"""What joins a change to the next one of the same object."""
AS_REAL_TIME: Final = {"process": "rt"}
"""On a way past a DDL a client's own order is real time as any other."""


class Link(NamedTuple):
    """A node of a cycle and the edge out of it, contracted.

    `back` are its edges that lead back in the order of timestamps, and by how many milliseconds.
    """

    kind: str
    edge: str
    back: dict[str, int]


class Finding(Record, frozen=True):
    """A hole in the documents that is known: `signature` may hold `*` within its elements.

    For a cycle it names nodes and edges in turn; `**` in place of an edge is any way at all to the
    next node that it names, and `!` marks an edge that leads back in the order of timestamps.
    `hole` says which designs have it: those that meet one of these conditions, each a list of rules
    for some fields; without any, all designs. `closing` are the fields that close it.
    `within_skew`: what leads back does so by CSmax at most.
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


def signature(anomaly: Anomaly) -> Signature:
    """The structure of an anomaly: equal for what is the same but for names and times."""
    if not anomaly.steps:
        return (anomaly.kind, *anomaly.clauses)
    links = _links(anomaly)
    turns = [links[at:] + links[:at] for at in range(len(links))]
    return min(tuple(word for one in turn for word in (one.kind, one.edge)) for turn in turns)


def _links(anomaly: Anomaly) -> list[Link]:
    """The steps of a cycle with their kinds, contracted."""
    past_ddl = any(step.kind != "T" for step in anomaly.steps)
    back_ms = anomaly.back_ms or (None,) * len(anomaly.steps)
    found: list[Link] = []
    for step, ms in zip(anomaly.steps, back_ms, strict=True):
        edge = AS_REAL_TIME.get(step.edge, step.edge) if past_ddl else step.edge
        found.append(Link(step.kind, edge, {} if ms is None else {edge: ms}))
    return _contracted(found)


def _contracted(links: list[Link]) -> list[Link]:
    """Ways past no DDL as one edge each, and changes in a row as one.

    A cycle without any DDL stays as it is.
    """
    starts = [at for at, one in enumerate(links) if one.kind != "T"]
    if not starts:
        return links
    links = links[starts[0] :] + links[: starts[0]]
    found: list[Link] = []
    way: list[Link] = []
    for at, one in enumerate(links):
        next_kind = links[(at + 1) % len(links)].kind
        if one.kind == "T" and next_kind == "T":
            way.append(one)
            continue
        if way:
            found.append(_as_one_edge(way))
            way = []
        found.append(one)
    return _one_change(found)


def _as_one_edge(way: list[Link]) -> Link:
    back: dict[str, int] = {}
    for one in way:
        for edge, ms in one.back.items():
            back[edge] = max(ms, back.get(edge, 0))
    return Link("T", f"via({', '.join(sorted({one.edge for one in way}))})", back)


def _one_change(links: list[Link]) -> list[Link]:
    """Changes of one object in a row as one change; a cycle of nothing else stays as it is."""
    starts = [at for at, one in enumerate(links) if not _joins(one)]
    if not starts:
        return links
    first = starts[0] + 1
    found: list[Link] = []
    tags: set[str] = set()
    for one in links[first:] + links[:first]:
        if _joins(one):
            tags.update(_tags(one.kind))
        elif tags:
            kind = f"D({', '.join(sorted(tags.union(_tags(one.kind))))})"
            found.append(one._replace(kind=kind))
            tags = set()
        else:
            found.append(one)
    return found


def _joins(link: Link) -> bool:
    """Whether a change was replaced by one that activates later."""
    return link.edge == REPLACED and not link.back


def _tags(kind: str) -> list[str]:
    return kind.removeprefix("D(").removesuffix(")").split(", ")


# --- which finding it is -------------------------------------------------------------------------


def explained_by(
    invariant: str, anomaly: Anomaly, findings: Iterable[Finding], skew_ms: int | None = None
) -> str | None:
    """The id of the first known finding that an anomaly is an instance of; `skew_ms` is CSmax.

    A cycle may stand on several holes: each of its edges that lead back, and each late use, must be
    some finding's.
    """
    known = [one for one in findings if one.invariant == invariant]
    if not anomaly.steps:
        words = signature(anomaly)
        return next((one.id for one in known if _are_ones(one.signature, words)), None)
    links = _links(anomaly)
    left = {(at, edge) for at, one in enumerate(links) for edge in one.back}
    left |= {(at, LATE) for at, one in enumerate(links) if LATE in one.edge}
    any_does = not left
    first: str | None = None
    for finding in known:
        if len(finding.signature) % 2:  # words of what is no cycle
            continue
        for turn in range(len(links)):
            order = [(turn + at) % len(links) for at in range(len(links))]
            found = _matched(_pairs(finding.signature), [(at, links[at]) for at in order])
            if found is not None and _is_near(finding, links, found, skew_ms):
                if found or any_does:
                    first = first or finding.id
                left -= found
    return None if left else first


def _is_near(finding: Finding, links: list[Link], found: set[Place], skew_ms: int | None) -> bool:
    """Whether what leads back does so by no more than CSmax, where the finding is about clocks."""
    if not finding.within_skew:
        return True
    return skew_ms is not None and all(links[at].back.get(edge, 0) <= skew_ms for at, edge in found)


def _pairs(pattern: Signature) -> list[Pair]:
    return list(zip(pattern[::2], pattern[1::2], strict=True))


def _matched(pattern: list[Pair], links: list[tuple[int, Link]]) -> set[Place] | None:
    """The edges that the pattern names as leading back or late; None if it does not match."""
    if not pattern or not links:
        return None if pattern or links else set()
    (kind, edge), (at, link) = pattern[0], links[0]
    if not _is_one(kind, link.kind):
        return None
    if edge == ANY_WAY:
        for more in range(1, len(links) + 1):
            found = _matched(pattern[1:], links[more:])
            if found is not None:
                return found
        return None
    own = _one_edge(edge, link)
    rest = None if own is None else _matched(pattern[1:], links[1:])
    if own is None or rest is None:
        return None
    return {(at, name) for name in own} | rest


def _one_edge(known: str, link: Link) -> set[str] | None:
    """Which edges an element of a signature names as back or late; None if it does not match."""
    named = {edge for edge in link.back if _names_back(known, edge)}
    if BACK in known and link.back and not named:
        return None
    if not _is_one(known.replace(BACK, ""), link.edge):
        return None
    return named | ({LATE} if LATE in link.edge else set())


def _names_back(known: str, edge: str) -> bool:
    """`rw-schema[metadata]!` as a whole, `via(*rt!*)` for its edges in real time."""
    if BACK not in known:
        return False
    return _is_one(known.partition(BACK)[0].removeprefix("via(").lstrip("*"), edge)


def _are_ones(known: Signature, words: Signature) -> bool:
    return len(known) == len(words) and all(map(_is_one, known, words))


def _is_one(known: str, word: str) -> bool:
    if LATE in word and LATE not in known:
        return False
    return word == known or fnmatchcase(word, known.replace("[", "[[]"))
