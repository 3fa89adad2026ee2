"""Executes operations on rows and entries, inside of a transaction of the store.

A row is stored with the schema version under which it was written and the newest version until then
that changed the columns: its format. Reading decodes it with that and upgrades it to the version
that the transaction uses. A row whose format the process has not is for the rule `newer_row`.

A write under a schema with indexes reads the row that it replaces, to remove its entries;
without indexes it reads nothing. Constraints are enforced where the row is written: a unique
index by a read of the entries with the same values, which conflicts with whatever adds one.
"""

from typing import NamedTuple

from ddlsim.fdb.keys import Key as StoreKey
from ddlsim.history.event import Cells
from ddlsim.history.events import MetadataRead, ReadExecuted, RowRead, WriteExecuted
from ddlsim.history.index_events import IndexRead, IndexWritten
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import (
    StoredRow,
    entries_with,
    entry_key,
    key_of_entry,
    key_of_row,
    row_key,
    rows_of,
)
from ddlsim.layer.transaction import LayerTx
from ddlsim.model.ops import READS, Key, Put, Update
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table, Value
from ddlsim.protocol.ids import Tuple
from ddlsim.protocol.messages import ClientOperation
from ddlsim.protocol.schema.column_types import meant
from ddlsim.protocol.schema.constraints import violated_check
from ddlsim.protocol.schema.indexes import Entry, Maintained, answering, changes, maintained
from ddlsim.protocol.schema.rows import BadRow, decode, has_columns, upgrade
from ddlsim.protocol.transaction.client import encoded, updated


class Done(NamedTuple):
    """What came of an operation; `done` is false where a conditional write did not write.

    `columns` are the names of what each of the rows has, in order; None where none was read.
    """

    rows: tuple[tuple[Key, Cells], ...] = ()
    done: bool = True
    columns: tuple[str, ...] | None = None


Found = tuple[Key, RowRead]
"""A key, and what a read found there."""


class Executor:
    """Operations of one process."""

    def __init__(self, node: Node, design: LayerDesign) -> None:
        self.node = node
        self.design = design

    async def run(self, tx: LayerTx, request: ClientOperation, table: Table) -> Done | Reason:
        """Run one operation on a table under the version that the transaction uses."""
        if request.columns and not has_columns(table, request.columns):
            return Reason.COLUMN_NOT_FOUND
        if request.action in READS:
            done = await self._read(tx, request, table)
            if request.metadata and isinstance(done, Done):
                self._show_columns(tx, request, table)
            return done
        if tx.read_only:
            return Reason.READ_ONLY
        return await self._write(tx, request, table)

    # --- reading ----------------------------------------------------------------------------------

    async def _read(self, tx: LayerTx, request: ClientOperation, table: Table) -> Done | Reason:
        if request.action == "get":
            found = [await self._found(tx, table, request.key)]
        elif request.action == "scan":
            found = await self._scanned(tx, table)
        else:
            return await self._find(tx, request, table)
        return self._shown(tx, request, table, found, predicate=request.action == "scan")

    async def _find(self, tx: LayerTx, request: ClientOperation, table: Table) -> Done | Reason:
        """By the index if it is public, else by reading every row; nothing equals NULL."""
        wanted = request.values or {}
        columns = {column.name: column for column in table.columns}
        if any(name not in columns for name in wanted):
            return Reason.COLUMN_NOT_FOUND
        values = {columns[name].id: meant(wanted[name], columns[name].type) for name in wanted}
        if None in values.values():
            await tx.read_version()
            return self._shown(tx, request, table, [], predicate=False)
        index = answering(table, request.index, tuple(wanted))
        if index is not None and index.id not in tx.too_new:
            found = await self._looked_up(tx, request, table, index, values)
            return self._shown(tx, request, table, found, predicate=False)
        done = self._shown(tx, request, table, await self._scanned(tx, table), predicate=True)
        if isinstance(done, Reason):
            return done
        types = {column.id: column.type for column in table.columns}
        rows = [
            (key, cells)
            for key, cells in done.rows
            if all(meant(dict(cells).get(one), types[one]) == values[one] for one in values)
        ]
        return Done(tuple(rows), columns=done.columns)

    async def _looked_up(
        self,
        tx: LayerTx,
        request: ClientOperation,
        table: Table,
        index: Maintained,
        by_column: dict[int, Value],
    ) -> list[Found | Reason]:
        values = tuple(by_column[column] for column in index.columns)
        await tx.read_version()
        entries = await tx.store.get_range(*entries_with(index.id, values))
        keys = tuple(key_of_entry(entry, len(index.columns)) for entry, _ in entries)
        name, label = self.node.name, tx.label
        tx.record(
            lambda now, ts: IndexRead(
                now, name, label, request.op, table.id, index.id, ts, values, keys
            )
        )
        return [await self._found(tx, table, key) for key in keys]

    async def _scanned(self, tx: LayerTx, table: Table) -> list[Found | Reason]:
        await tx.read_version()
        stored = await tx.store.get_range(*rows_of(table.id))
        return [self.decoded(tx, table, key_of_row(key), row) for key, row in stored]

    async def _found(self, tx: LayerTx, table: Table, key: Key) -> Found | Reason:
        await tx.read_version()
        return self.decoded(tx, table, key, await tx.store.get(row_key(table.id, key)))

    def decoded(self, tx: LayerTx, table: Table, key: Key, stored: object) -> Found | Reason:
        """A stored row under the version that the transaction uses, or why it cannot be read."""
        if stored is None:
            return key, RowRead(key, None, 0, 0, None)
        assert isinstance(stored, tuple), f"{stored!r} is no row"
        writer, version, form, row = stored
        if row is None:
            return key, RowRead(key, writer, version, version, None)
        assert tx.used is not None, f"{tx.label} reads without a schema"
        shown = version
        source = tx.used.schema.definition(table.id, form)
        if form > table.version or not isinstance(source, Table):
            self.node.probe("newer-row-met")
            chosen = self.design.newer_row(form, table.version)
            if isinstance(chosen, Reason):
                return chosen
            shown = chosen
            source = tx.used.schema.definition(table.id, chosen)
            assert isinstance(source, Table), f"table {table.id} has no version {chosen} here"
        cells = upgrade(decode(source, row), source, table)
        return key, RowRead(key, writer, version, shown, cells)

    def _shown(
        self,
        tx: LayerTx,
        request: ClientOperation,
        table: Table,
        found: list[Found | Reason],
        *,
        predicate: bool,
    ) -> Done | Reason:
        """Record what a read found, and show it."""
        reads: list[RowRead] = []
        for one in found:
            if isinstance(one, Reason):
                return one
            reads.append(one[1])
        name, label = self.node.name, tx.label
        tx.record(
            lambda now, ts: ReadExecuted(
                now,
                name,
                label,
                request.op,
                table.id,
                0,
                ts,
                table.version,
                predicate,
                tuple(reads),
            )
        )
        rows = [(read.key, read.row) for read in reads if read.row is not None]
        return Done(tuple(rows), columns=tuple([column.name for column in table.columns]))

    def _show_columns(self, tx: LayerTx, request: ClientOperation, table: Table) -> None:
        name, label = self.node.name, tx.label
        columns = tuple(column.name for column in table.columns)
        tx.record(
            lambda now, _: MetadataRead(
                now, name, label, request.op, table.id, table.version, columns
            )
        )

    # --- writing ----------------------------------------------------------------------------------

    async def _write(self, tx: LayerTx, request: ClientOperation, table: Table) -> Done | Reason:
        action = request.action
        conditional = action in {"insert", "replace", "update"}
        old: Cells | None = None
        if conditional or maintained(table):
            found = await self._found(tx, table, request.key)
            if isinstance(found, Reason):
                return found
            old = found[1].row
            if conditional:
                self._shown(tx, request, table, [found], predicate=False)
                if (old is None) != (action == "insert"):
                    return Reason.KEY_EXISTS if request.strict else Done(done=False)
        row = _new_row(request, table, old)
        if isinstance(row, BadRow):
            return Reason.BAD_ROW
        new = None if row is None else decode(table, row)
        if new is not None and violated_check(table, new) is not None:
            return Reason.CHECK_VIOLATED
        entries = changes(table, old, new)
        for entry in entries:
            if await self.is_taken(tx, entry, request.key):
                return Reason.UNIQUE_VIOLATED
        self._put(tx, request, table, row, new)
        for entry in entries:
            self.put_entry(tx, request.op, table, entry, request.key)
        return Done()

    async def is_taken(self, tx: LayerTx, entry: Entry, key: Key) -> bool:
        """Whether another row has an entry with the same values in a unique index."""
        index, values, added = entry
        if not added or not index.unique or None in values:
            return False
        await tx.read_version()
        found = await tx.store.get_range(*entries_with(index.id, values))
        return any(key_of_entry(one, len(index.columns)) != key for one, _ in found)

    def _put(
        self,
        tx: LayerTx,
        request: ClientOperation,
        table: Table,
        row: Tuple | None,
        cells: Cells | None,
    ) -> None:
        assert tx.used is not None, f"{tx.label} writes without a schema"
        form = tx.used.schema.format_of(table.id, table.version)
        stored: StoredRow = (tx.label, table.version, form, row)
        tx.store.set(row_key(table.id, request.key), stored)
        tx.wrote = True
        name, label = self.node.name, tx.label
        tx.record(
            lambda now, ts: WriteExecuted(
                now, name, label, request.op, table.id, 0, request.key, ts, table.version, cells
            )
        )

    def put_entry(self, tx: LayerTx, op: str, table: Table, entry: Entry, key: Key) -> None:
        """Add an entry of a row to an index, or remove it."""
        index, values, added = entry
        place: StoreKey = entry_key(index.id, values, key)
        if added:
            tx.store.set(place, tx.label)
        else:
            tx.store.clear(place)
        tx.wrote = True
        name, label = self.node.name, tx.label
        tx.record(
            lambda now, _: IndexWritten(
                now, name, label, op, table.id, index.id, values, key, added
            )
        )


def _new_row(request: ClientOperation, table: Table, old: Cells | None) -> Tuple | BadRow | None:
    """The row that a write leaves; None: none."""
    if request.action == "delete":
        return None
    if request.action != "update":
        put = Put(table.name, request.key, request.values, request.spread)
        return encoded(request.op, put, table)
    assert old is not None, f"{request.op} updates no row"
    wanted = request.values or {}
    row = updated(Update(table.name, request.key, wanted), table)
    if isinstance(row, BadRow):
        return row
    kept = dict(old)
    new = tuple(
        value if column.name in wanted else kept[column.id]
        for column, value in zip(table.columns, row, strict=True)
    )
    for column, value in zip(table.columns, new, strict=True):
        if value is None and not column.nullable:
            return BadRow(f"column {column.name!r} of table {table.name!r} needs a value")
    return new
