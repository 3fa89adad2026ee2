"""What a cycle of the serialization graph is called (`graph/names.py` has the names).

A name of its own goes before the general one: only a cycle past no DDL, of data alone, has one.
"""

from collections.abc import Sequence

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
from ddlsim.graph import names


def kind_of_cycle(edges: Sequence[Edge], nodes: Sequence[Node]) -> str:
    """The strongest name that a cycle deserves."""
    kinds = [edge.kind for edge in edges]
    past_ddl = any(nodes[edge.source].update is not None for edge in edges)
    level = 2 if RT in kinds else int(PROCESS in kinds)
    special = None if past_ddl or level else _special(edges, nodes)
    predicate = any(edge.is_predicate for edge in edges)
    return special or names.cycle_name(kinds, level, predicate=predicate, schema=past_ddl)


def is_adjacent(edges: Sequence[Edge]) -> bool:
    """Whether two anti-dependencies follow each other around a cycle."""
    return names.adjacent([edge.kind for edge in edges])


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
