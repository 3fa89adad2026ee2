"""Entries for rows that are there already, and what is erased with an index or a table.

Either all of it in the transaction of a schema update, or in transactions of some rows each, which
go on from the last one's row even after a restart: how far they are is written with the entries.
A chunk reads rows and head serializably, so that whatever changes one of them makes it fail.

A column of another type changes the entries of its indexes; one that becomes NOT NULL must have a
value in every row. Both need all rows in the update's own transaction.
"""

from typing import Final, NamedTuple

from ddlsim.fdb.keys import Key as StoreKey
from ddlsim.fdb.keys import pack
from ddlsim.history.event import Cells
from ddlsim.layer.execution import Executor
from ddlsim.layer.keyspace import entries_of, key_of_row, rows_of
from ddlsim.layer.store import StoreTransaction
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ddl import (
    ColumnAltered,
    IndexStateSet,
    ObjectChange,
    SimpleChange,
)
from ddlsim.model.ops import Key
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl_answers import Refused, refuse
from ddlsim.protocol.schema.indexes import Entry, maintained, values_of

DUPLICATE: Final = Refused(Reason.UNIQUE_VIOLATED, "two rows have the same values")


class Filled(NamedTuple):
    """How far a table's rows have entries; `begin` None: to its end, or not at all if `refused`."""

    begin: StoreKey | None
    refused: Refused | None = None


class Work(NamedTuple):
    """What an update brings along for the rows and entries of a table, by ids.

    `filled` are indexes that need entries and `erased` those whose entries go; `rekeyed` have other
    values than under the table `before`, and no row may lack a value in the columns `required`.
    The rows of a table that is `dropped` go, too.
    """

    table: Table
    before: Table
    filled: tuple[int, ...] = ()
    erased: tuple[int, ...] = ()
    rekeyed: tuple[int, ...] = ()
    required: tuple[int, ...] = ()
    dropped: bool = False

    @property
    def needs_rows(self) -> bool:
        """Whether it has to read the rows."""
        return bool(self.filled or self.rekeyed or self.required)


def work_of(objects: tuple[ObjectChange, ...], snapshot: Snapshot) -> list[Work]:
    """The work that the changes of an update to a snapshot bring along."""
    found: list[Work] = []
    for one in objects:
        before = snapshot.by_id(one.object_id)
        if not isinstance(before, Table):
            continue
        if one.definition is None:
            gone = tuple(each.id for each in maintained(before))
            found.append(Work(before, before, erased=gone, dropped=True))
        elif isinstance(one.definition, Table):
            found.append(_work(one.definition, before, one.changes))
    return [work for work in found if work.erased or work.dropped or work.needs_rows]


def _work(table: Table, before: Table, changes: tuple[SimpleChange, ...]) -> Work:
    had = [one.id for one in maintained(before)]
    has = [one.id for one in maintained(table)]
    filled = [one for one in has if one not in had]
    erased = [one for one in had if one not in has]
    rekeyed: list[int] = []
    required: list[int] = []
    for change in changes:
        match change:
            case IndexStateSet(index_id=index_id):
                filled.append(index_id)
            case ColumnAltered(before=old, after=new):
                if old.type != new.type:
                    keyed = [one.id for one in maintained(table) if old.id in one.columns]
                    rekeyed += [one for one in keyed if one in had]
                if old.nullable and not new.nullable:
                    required.append(new.id)
    return Work(table, before, tuple(filled), tuple(erased), tuple(rekeyed), tuple(required))


def erase(transaction: StoreTransaction, work: Work) -> None:
    """Remove all entries of what is dropped, and the rows of a table that is."""
    if work.dropped:
        transaction.clear_range(*rows_of(work.table.id))
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
    """Do the work on a table's rows from `begin` on, up to `limit` rows, in `tx`."""
    if not work.needs_rows:
        return Filled(None)
    first, end = rows_of(work.table.id)
    rows = await reading.get_range(begin or first, end, limit=limit)
    await tx.read_version()
    for place, stored in rows:
        refused = await _row(executor, tx, op, work, key_of_row(place), stored)
        if refused is not None:
            return Filled(None, refused)
    if limit is None or len(rows) < limit:
        return Filled(None)
    return Filled((*rows[-1][0], None))


async def _row(
    executor: Executor, tx: LayerTx, op: str, work: Work, key: Key, stored: object
) -> Refused | None:
    table, before = work.table, work.before
    now = _cells(executor, tx, table, key, stored)
    if now is None:
        return None
    for column, value in now:
        if column in work.required and value is None:
            return refuse(f"a row of table {table.name!r} has no value of a column set NOT NULL")
    for index in maintained(table):
        values = values_of(index, table, now)
        if index.id in work.rekeyed:
            old = _cells(executor, tx, before, key, stored)
            former = values if old is None else values_of(index, before, old)
            if pack(former) == pack(values):  # 1 and 1.0 are equal, and have keys of their own
                continue
            executor.put_entry(tx, op, table, Entry(index, former, added=False), key)
        elif index.id not in work.filled:
            continue
        entry = Entry(index, values, added=True)
        if await executor.is_taken(tx, entry, key):
            return DUPLICATE
        executor.put_entry(tx, op, table, entry, key)
    return None


def _cells(executor: Executor, tx: LayerTx, table: Table, key: Key, stored: object) -> Cells | None:
    """A row under a version of its table; None where it is deleted."""
    found = executor.decoded(tx, table, key, stored)
    assert not isinstance(found, Reason), f"a backfill cannot read {key}: {found}"
    return found[1].row
