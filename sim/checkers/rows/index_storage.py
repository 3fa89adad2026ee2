"""What storage held of rows and entries in the end, as far as it counts.

On a store, what any of its servers has: it may lag, so an entry too many counts only where every
server that holds entries has it. On the Ignite plane, what the primary of a row's partition has.
"""

from typing import NamedTuple

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.entries import key_of
from ddlsim.checkers.case.writes import Key
from ddlsim.checkers.rows.final_state import AtRest, PartitionId
from ddlsim.history.events import RowFinal
from ddlsim.history.index_events import IndexFinal

Row = tuple[int, Key]
"""(table id, key)."""


class Stored(NamedTuple):
    """The newest rows by table and key, entries by table and index, rows of which none counts."""

    rows: dict[Row, RowFinal]
    entries: dict[tuple[int, int], list[IndexFinal]]
    unknown: dict[Row, None]


def stored(case: Case) -> Stored:
    """What counts of a case's storage."""
    found = Stored({}, {}, {})
    homes = {} if case.is_layered else _homes(case)
    for _, row in case.of(RowFinal):
        place = (row.object_id, key_of(row.key))
        known = found.rows.get(place)
        if homes.get(place, row.node) != row.node:
            continue
        if known is None or known.commit_ts < row.commit_ts:
            found.rows[place] = row
    found.unknown.update({place: None for place, node in homes.items() if node is None})
    for _, event in case.of(IndexFinal):
        place = (event.object_id, key_of(event.key))
        if homes.get(place, event.node) == event.node:
            found.entries.setdefault((event.object_id, event.index_id), []).append(event)
    return found


def _homes(case: Case) -> dict[Row, str | None]:
    """The node whose storage counts for each row; None where it is dead."""
    rest = AtRest(case)
    partitions: dict[Row, PartitionId] = {}
    for _, row in case.of(RowFinal):
        partitions[row.object_id, key_of(row.key)] = (row.object_id, row.partition)
    return {row: rest.primary(place) for row, place in partitions.items()}


def is_everywhere(case: Case, event: IndexFinal) -> bool:
    """Whether every server that holds entries holds this one: one may lag behind in the end."""
    if not case.is_layered:
        return True
    nodes, holders = case.once(_holders)
    place = (event.object_id, event.index_id, event.values, key_of(event.key))
    return len(holders[place]) == len(nodes)


Holders = dict[tuple[object, ...], dict[str, None]]


def _holders(case: Case) -> tuple[dict[str, None], Holders]:
    """The nodes that hold entries, and those that hold each of them."""
    nodes: dict[str, None] = {}
    holders: Holders = {}
    for _, event in case.of(IndexFinal):
        nodes[event.node] = None
        place = (event.object_id, event.index_id, event.values, key_of(event.key))
        holders.setdefault(place, {})[event.node] = None
    return nodes, holders
