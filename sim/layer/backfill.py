"""Entries for rows that are there already, and what is erased with an index.

Either all of it in the transaction of a schema update, or in transactions of some rows each, which
go on from the last one's row even after a restart: how far they are is written with the entries.
A chunk reads rows and head serializably, so that whatever changes one of them makes it fail.
"""

from typing import NamedTuple

from ddlsim.fdb.keys import Key as StoreKey
from ddlsim.layer.execution import Executor
from ddlsim.layer.indexes import Entry, maintained, values_of
from ddlsim.layer.keyspace import entries_of, key_of_row, rows_of
from ddlsim.layer.schema import Update
from ddlsim.layer.store import StoreTransaction
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ddl import (
    ConstraintAdded,
    ConstraintDropped,
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table


class Filled(NamedTuple):
    """How far a table's rows have entries; `begin` None: to its end."""

    begin: StoreKey | None
    duplicate: bool = False


class Work(NamedTuple):
    """Indexes of a table that need entries, by id; and those whose entries go."""

    table: Table
    filled: tuple[int, ...]
    erased: tuple[int, ...]


def work_of(objects: tuple[ObjectChange, ...]) -> list[Work]:
    """The work that the changes of an update bring along."""
    found: list[Work] = []
    for one in objects:
        if not isinstance(one.definition, Table):
            continue
        filled: list[int] = []
        erased: list[int] = []
        for change in one.changes:
            match change:
                case IndexCreated(index=index):
                    filled.append(index.id)
                case IndexStateSet(index_id=index_id):
                    filled.append(index_id)
                case ConstraintAdded(constraint=constraint) if constraint.kind == "unique":
                    filled.append(constraint.id)
                case IndexDropped(index=index):
                    erased.append(index.id)
                case ConstraintDropped(constraint=constraint) if constraint.kind == "unique":
                    erased.append(constraint.id)
        if filled or erased:
            found.append(Work(one.definition, tuple(filled), tuple(erased)))
    return found


def has_work(update: Update) -> bool:
    """Whether an update brings work along."""
    return bool(work_of(update.objects))


def erase(transaction: StoreTransaction, work: Work) -> None:
    """Remove all entries of what is dropped."""
    for index_id in work.erased:
        transaction.clear_range(*entries_of(index_id))


async def fill(
    executor: Executor,
    reading: StoreTransaction,
    tx: LayerTx,
    op: str,
    work: Work,
    begin: StoreKey | None,
    limit: int | None,
) -> Filled:
    """Write the entries of a table's rows from `begin` on, up to `limit` rows, in `tx`."""
    table = work.table
    indexes = [one for one in maintained(table) if one.id in work.filled]
    if not indexes:
        return Filled(None)
    first, end = rows_of(table.id)
    rows = await reading.get_range(begin or first, end, limit=limit)
    await tx.read_version()
    for place, stored in rows:
        key = key_of_row(place)
        found = executor.decoded(tx, table, key, stored)
        assert not isinstance(found, Reason), f"a backfill cannot read {place}: {found}"
        if found[1].row is None:
            continue
        for index in indexes:
            entry = Entry(index, values_of(index, table, found[1].row), added=True)
            if await executor.is_taken(tx, entry, key):
                return Filled(None, duplicate=True)
            executor.put_entry(tx, op, table, entry, key)
    if limit is None or len(rows) < limit:
        return Filled(None)
    return Filled((*rows[-1][0], None))
