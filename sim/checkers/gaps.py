"""How long after a read's timestamp what was read was replaced, for each read of a cycle."""

from collections.abc import Iterable, Sequence
from typing import Final

from ddlsim.checkers.case.case import Transaction
from ddlsim.checkers.edges import (
    Edge,
    NamedThenChanged,
    Node,
    ReadThenOverwritten,
    SchemaUse,
    UsedThenReplaced,
)
from ddlsim.history.events import ReadExecuted, WriteExecuted
from ddlsim.units import Timestamp, physical_ms

ANTI: Final = UsedThenReplaced | ReadThenOverwritten | NamedThenChanged
"""The reasons of anti-dependencies."""


def gaps_ms(nodes: Sequence[Node], edges: Iterable[Edge]) -> tuple[int, ...]:
    """In whole milliseconds of timestamps, one for each anti-dependency, in order."""
    found: list[int] = []
    for edge in edges:
        if not isinstance(edge.reason, ANTI):
            continue
        replaced = physical_ms(Timestamp(nodes[edge.target].ts))
        found.append(replaced - physical_ms(Timestamp(_read_ts(nodes[edge.source], edge))))
    return tuple(found)


def _read_ts(node: Node, edge: Edge) -> int:
    """The timestamp of the read, or of the first operation under a version that was used."""
    reason = edge.reason
    if isinstance(reason, ReadThenOverwritten):
        return reason.read.op_ts
    if isinstance(reason, NamedThenChanged):
        return node.ts if node.statement is None else node.statement.decided.asked_ts
    assert isinstance(reason, UsedThenReplaced), reason
    assert node.tx is not None, node.label
    return _first_use_ts(node.tx, reason.use)


def _first_use_ts(tx: Transaction, use: SchemaUse) -> int:
    """A look at the columns has no timestamp of its own: it comes with an operation."""
    stamps = [
        event.op_ts
        for event in tx.accesses
        if (event.object_id, event.version) == (use.object_id, use.version)
    ]
    if stamps:
        return min(stamps)
    event = use.event
    if isinstance(event, ReadExecuted | WriteExecuted):
        return event.op_ts
    enlisted = [one.enlist_ts for _, one in tx.enlisted if one.object_id == use.object_id]
    return min(enlisted, default=tx.stamp)
