"""What operations at a primary do with the entries of indexes: writes change them, queries read.

A write goes with what it does to the entries of its row, by the states that the indexes have in the
transaction's initial schema. It is made against the newest committed version of the row, which the
transaction has locked: of several writes of a row the last one counts. The history has it against
what the transaction saw, write by write.

A query by an index reads the keys that the index has under the values, and then these rows. Its
transaction's own writes count by their rows. It locks the partition, as a scan does. An index that
is gone by the primary's schema answers no query: its entries are being erased.
"""

from collections.abc import Mapping, Sequence

from ddlsim.history.event import Cells
from ddlsim.history.index_events import IndexPartRead, IndexWritten
from ddlsim.model.ops import Key
from ddlsim.model.ports import Node
from ddlsim.model.schema import SchemaObject, Table, Value
from ddlsim.protocol.ids import EntryChange, IndexKey, Tuple, TxId
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.replica_messages import Read
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.column_types import meant
from ddlsim.protocol.schema.indexes import answering, maintained, values_of
from ddlsim.protocol.schema.rows import decode, upgrade
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import Timestamp

Form = tuple[int, Tuple | None]
"""The schema version and the values of a stored row."""


class EntryWriter:
    """Works out, for the primaries of one node, what writes do to entries."""

    def __init__(self, node: Node, strategy: Strategy, catalog: Catalog) -> None:
        self.node = node
        self.strategy = strategy
        self.catalog = catalog

    def changes(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[EntryChange, ...]:
        """What a write does to the entries, against the newest committed version of its row."""
        rule = self.strategy.index_entries
        if rule is None or not table.indexes:
            return ()
        entries = rule(table, self._committed(request, local, table), _written(request, table))
        return tuple(EntryChange(one.of.id, one.values, one.added) for one in entries)

    def record(self, request: Operate, local: LocalReplica, table: Table) -> None:
        """Record what a write does to the entries, against what its transaction saw."""
        rule = self.strategy.index_entries
        if rule is None or not table.indexes:
            return
        own = own_intent(local, request.tx, request.key)
        if own is None:
            seen = self._committed(request, local, table)
        else:
            seen = self.shown(table, (own.version, own.row))
        node, label, op = self.node, request.tx.label, request.op
        for index, values, added in rule(table, seen, _written(request, table)):
            now, key = node.watch.now_us, request.key
            node.record(
                IndexWritten(now, node.name, label, op, table.id, index.id, values, key, added)
            )

    def _committed(self, request: Operate, local: LocalReplica, table: Table) -> Cells | None:
        newest = local.machine.newest(request.key)
        return None if newest is None else self.shown(table, (newest.version, newest.row))

    def shown(self, table: Table, stored: Form | None) -> Cells | None:
        """A stored row under a version of its table; None where there is none."""
        if stored is None or stored[1] is None:
            return None
        version, row = stored
        assert row is not None, stored
        source = self.catalog.definition(table.id, version)
        assert isinstance(source, Table), f"table {table.id} has no version {version} here"
        return upgrade(decode(source, row), source, table)

    # --- queries ----------------------------------------------------------------------------------

    def found(self, request: Operate, local: LocalReplica) -> list[Key]:
        """The keys that a query by an index finds in a partition, own writes included."""
        (wanted,) = request.lookups
        table = self.catalog.definition(request.table_id, request.initial)
        assert isinstance(table, Table), f"table {request.table_id} is not known here"
        keys = local.machine.index.find(wanted.index_id, wanted.values)
        index = next(one for one in maintained(table) if one.id == wanted.index_id)
        own = {**local.machine.intents, **local.pending}
        for key, intent in own.items():
            if intent.tx != request.tx:
                continue
            row = self.shown(table, (intent.version, intent.row))
            if row is not None and values_of(index, table, row) == wanted.values:
                keys = [*keys, key] if key not in keys else keys
            elif key in keys:
                keys = [one for one in keys if one != key]
        return keys

    def record_found(
        self,
        request: Operate | Read,
        table: Table,
        op_ts: Timestamp,
        seen: Sequence[tuple[Key, object]],
    ) -> None:
        """Record what a query by an index found in a partition."""
        node = self.node
        if node.recording:
            (wanted,) = request.lookups
            node.record(
                IndexPartRead(
                    node.watch.now_us,
                    node.name,
                    request.tx.label,
                    request.op,
                    table.id,
                    wanted.index_id,
                    op_ts,
                    wanted.values,
                    tuple(key for key, _ in seen),
                    request.partition,
                )
            )


def _written(request: Operate, table: Table) -> Cells | None:
    return None if request.row is None else decode(table, request.row)


def own_intent(local: LocalReplica, tx: TxId, key: Key) -> Intent | None:
    """The last write of a transaction to a key, if it has one here."""
    for known in (local.pending, local.machine.intents):
        intent = known.get(key)
        if intent is not None and intent.tx == tx:
            return intent
    return None


def asked_index(table: Table, name: str, wanted: Mapping[str, Value]) -> IndexKey | None:
    """The index of this name and the values, if it answers queries by these columns.

    None where one of the values is NULL, too: nothing equals it.
    """
    index = answering(table, name, tuple(wanted))
    if index is None or None in wanted.values():
        return None
    columns = {column.id: column for column in table.columns}
    values = tuple(meant(wanted[columns[one].name], columns[one].type) for one in index.columns)
    return IndexKey(index.id, values)


def is_gone(table: SchemaObject | None, index_id: int) -> bool:
    """Whether a version of a table has an index no more."""
    return not isinstance(table, Table) or all(one.id != index_id for one in table.indexes)


def has_values(table: Table, cells: Cells, wanted: Mapping[int, Value]) -> bool:
    """Whether a row has these values, by column id; a NULL equals nothing."""
    types, row = {column.id: column.type for column in table.columns}, dict(cells)
    return None not in wanted.values() and all(
        meant(row.get(one), types[one]) == value for one, value in wanted.items()
    )
