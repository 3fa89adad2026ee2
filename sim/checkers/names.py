"""The field's names for cycles of the serialization graph (Adya; Cerone; Berenson; Elle's forms).

`G0` writes only; `G1c` writes and reads of them; `G-single` one anti-dependency; `G-nonadjacent`
several, no two of them in a row, which snapshot isolation forbids; `G2-item` any number, on rows;
`G2-predicate` one of them on a key that a scan did not find. Three have names of their own:
`lost-update`, two transactions that read one row, and the one overwrites the other's unseen;
`long-fork`, two that see two writes in opposite orders; `fractured-read`, one that saw a part of
what another wrote, and not the rest.

`-process` and `-realtime` say that the order of one client's doings, or of anybody's, is needed for
the cycle to close; `schema-` that a DDL lies on it.
"""

from collections.abc import Sequence
from typing import Final

from ddlsim.checkers.case.writes import Item
from ddlsim.checkers.edges import (
    PROCESS,
    RT,
    RW,
    WR,
    WW,
    Edge,
    Node,
    Overwritten,
    ReadFrom,
    ReadThenOverwritten,
)

PAST_A_DDL: Final = "schema-"
FORMS: Final = {RT: "-realtime", PROCESS: "-process"}
"""What is said of a cycle with such an edge; the weaker argument counts."""
GENERAL: Final = {
    "lost-update": "G-single",
    "fractured-read": "G-single",
    "long-fork": "G-nonadjacent",
}
"""What an anomaly with a name of its own is a case of."""


def kind_of_cycle(edges: Sequence[Edge], nodes: Sequence[Node]) -> str:
    """The strongest name that a cycle deserves."""
    kinds = [edge.kind for edge in edges]
    past_ddl = any(nodes[edge.source].update is not None for edge in edges)
    form = next((form for kind, form in FORMS.items() if kind in kinds), "")
    if not past_ddl and not form:
        return _special(edges, nodes) or _plain(edges)
    return f"{PAST_A_DDL if past_ddl else ''}{_plain(edges)}{form}"


def plain(kind: str) -> str:
    """A cycle's name without its form, without DDL, and as the general case that it is of."""
    kind = kind.removeprefix(PAST_A_DDL)
    for form in FORMS.values():
        kind = kind.removesuffix(form)
    return GENERAL.get(kind, kind)


def is_adjacent(edges: Sequence[Edge]) -> bool:
    """Whether two anti-dependencies follow each other around a cycle."""
    return any(edge.kind == RW == edges[at - 1].kind for at, edge in enumerate(edges))


def _plain(edges: Sequence[Edge]) -> str:
    anti = sum(edge.kind == RW for edge in edges)
    if not anti:
        return "G1c" if any(edge.kind == WR for edge in edges) else "G0"
    if anti == 1:
        return "G-single"
    if not is_adjacent(edges):
        return "G-nonadjacent"
    return "G2-predicate" if any(edge.is_predicate for edge in edges) else "G2-item"


def _special(edges: Sequence[Edge], nodes: Sequence[Node]) -> str | None:
    kinds = sorted(edge.kind for edge in edges)
    if len(edges) == 2:
        items = {_item(edge) for edge in edges}
        if kinds == [RW, WR] and len(items) == 2 and not any(e.is_predicate for e in edges):
            return "fractured-read"
        if kinds in ([RW, WW], [RW, RW]) and _is_lost(edges, nodes):
            return "lost-update"
    apart = [edge.kind for edge in edges] in ([WR, RW, WR, RW], [RW, WR, RW, WR])
    return "long-fork" if apart else None


def _is_lost(edges: Sequence[Edge], nodes: Sequence[Node]) -> bool:
    """Both edges on one row, which both transactions had read."""
    items = {_item(edge) for edge in edges}
    if len(items) != 1 or None in items:
        return False
    (item,) = items
    return item is not None and all(_has_read(nodes[edge.source], item) for edge in edges)


def _item(edge: Edge) -> Item | None:
    reason = edge.reason
    if isinstance(reason, Overwritten):
        return (reason.after.event.object_id, reason.after.event.key)
    if isinstance(reason, ReadFrom):
        return (reason.write.event.object_id, reason.write.event.key)
    return reason.item if isinstance(reason, ReadThenOverwritten) else None


def _has_read(node: Node, item: Item) -> bool:
    reads = [] if node.tx is None else node.tx.reads
    return any(
        read.object_id == item[0] and any(row.key == item[1] for row in read.rows)
        for _, read in reads
    )
