"""Entries of indexes beside the rows that they are of, where transactions write both.

An *entry* has the values of a row in an index's columns, and the row's key. Values are compared by
what they mean under one version of the table: 4 and 4.00 are one DECIMAL(7, 2). A row without a
value in a column has an entry with NULL there.

Indexes, and UNIQUE constraints, which have entries like an index that is public. A constraint that
covers the table's key demands nothing of rows and needs no entries.
"""

from typing import Any, NamedTuple

from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.rows import upgraded
from ddlsim.checkers.case.writes import Key, Writes
from ddlsim.checkers.spec.types import Content, read
from ddlsim.history.event import Cells
from ddlsim.history.events import WriteExecuted
from ddlsim.history.index_events import IndexFilled, IndexWritten
from ddlsim.model.schema import PUBLIC, Table, Value
from ddlsim.units import MAX_TIMESTAMP

Meaning = tuple[Content | None, ...]
"""What the values of an entry mean; None for NULL."""


class Access(NamedTuple):
    """An index, or a UNIQUE constraint, as one version of its table has it."""

    id: int
    name: str
    columns: tuple[int, ...]
    state: str


class Put(NamedTuple):
    """An entry that a committed transaction put there or took out."""

    commit_ts: int
    event: IndexWritten | IndexFilled


def accesses(table: Table, *, constraints: bool = True) -> dict[int, Access]:
    """What a table has entries for, by id; `constraints`: those of UNIQUE as well."""
    found = {one.id: Access(one.id, one.name, one.columns, one.state) for one in table.indexes}
    for one in table.constraints if constraints else ():
        if one.kind == "unique" and one.columns and not {*table.key} <= {*one.columns}:
            found.setdefault(one.id, Access(one.id, one.name, one.columns, PUBLIC))
    return found


def meaning(access: Access, table: Table, values: tuple[Value, ...]) -> Meaning:
    """What the values of an entry mean under a version of the table."""
    types = {column.id: column.type for column in table.columns}
    pairs = zip(access.columns, values, strict=False)
    found = [read(value, types[id_]) if id_ in types else None for id_, value in pairs]
    return tuple(None if datum is None else datum.content for datum in found)


def entry_of(access: Access, table: Table, row: Cells, source: Table) -> Meaning:
    """The entry that a row of one version of its table has under another."""
    cells = dict(upgraded(row, source, table))
    return meaning(access, table, tuple(cells.get(id_) for id_ in access.columns))


def entry_of_write(
    writes: Writes, access: Access, table: Table, event: WriteExecuted
) -> Meaning | None:
    """The entry that a written row has under a version of its table; None for a deletion."""
    source = writes.table(event.object_id, event.version)
    if event.row is None or source is None:
        return None
    return entry_of(access, table, event.row, source)


class Entries:
    """What committed transactions did to the entries of each index, in the order of commits.

    What a backfill did counts as of the row's version, but what comes when the index is public.
    """

    def __init__(self, case: Case) -> None:
        self.of: dict[tuple[int, int], list[Put]] = {}
        """By (table id, index id)."""
        by_tx: dict[str, list[IndexWritten]] = {}
        for _, event in case.of(IndexWritten):
            by_tx.setdefault(event.tx, []).append(event)
        for tx in case.committed:
            for event in by_tx.get(tx.name, ()):
                place = (event.object_id, event.index_id)
                self.of.setdefault(place, []).append(Put(tx.stamp, event))
        public: dict[tuple[int, int], int] = {}
        for _, filled in case.of(IndexFilled):
            place = (filled.object_id, filled.index_id)
            if place not in public:
                public[place] = _public_ts(case, *place)
            in_time = filled.stamp_ts < public[place]
            ts = filled.commit_ts if in_time else max(filled.commit_ts, filled.stamp_ts)
            self.of.setdefault(place, []).append(Put(ts, filled))


def _public_ts(case: Case, object_id: int, index_id: int) -> int:
    """When an index became public; MAX_TIMESTAMP if it never did."""
    for step in case.schemas.steps(object_id, 0, MAX_TIMESTAMP):
        table = step.definition
        access = accesses(table).get(index_id) if isinstance(table, Table) else None
        if access is not None and access.state == PUBLIC:
            return step.activation_ts
    return MAX_TIMESTAMP


def entries_of(case: Case) -> Entries:
    """The entries of a case."""
    return case.once(Entries)


def version_used(case: Case, tx: Transaction, object_id: int, ts: int) -> int:
    """The version of a table that a transaction uses; without an event of it, that in force."""
    for _, enlisted in tx.enlisted:
        if enlisted.object_id == object_id:
            return enlisted.version
    due = case.schemas.effective(object_id, ts)
    return 0 if due is None else due.version


def key_of(key: Any) -> Key:
    """A key as it stands in dictionaries."""
    return tuple(key) if isinstance(key, list) else key
