"""Enforces unique indexes, CHECK and NOT NULL on rows at a primary.

[110.ours.unique] [110.ours.check] [110.ours.notnull]

A write obeys the constraints of the schema version that it runs under, which is I. Of NOT NULL that
is decided where the client encodes the row, but for an update, which keeps what it does not set: a
row that was written before the column was NOT NULL may have no value to keep. An entry of a
unique index lies in its row's partition, as those of every secondary index of Apache Ignite 3 do;
so a value has no partition of its own, and a writer looks it up in all of them:

    primary of the row   lock the row's values, old and new (X) -> no other row of this partition
                         has the new ones -> write
    coordinator          `lookup` of the new values at the primaries of all other partitions
    there                lock the values (S) -> no row of the partition has them

The locks last until the transaction ends. Two transactions that write the same values into two
partitions each hold them exclusively in their own, so that one of the lookups waits or is refused.

The entries are not stored: they follow from the rows, upgraded to the version that the operation
runs under. What was written before the index existed is found in this way as well, and so are
intents that are there without a lock on their values: those of transactions of an older schema,
writes in one phase included that are on their way, and those that an earlier primary left. Their
outcome is looked up first, as that of any intent without its lock.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from ddlsim.history.event import Cells
from ddlsim.model.ops import READS, Key
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table, Value
from ddlsim.protocol.ids import IndexKey, PartitionId, Tuple, TxId
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.partition.partition import Intent
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.schema.constraints import index_keys, unique_columns, violated_check
from ddlsim.protocol.schema.rows import column_ids, decode, upgrade
from ddlsim.protocol.transaction.execution import Executor, Found
from ddlsim.protocol.transaction.locks import LockTable, Resource, X
from ddlsim.units import Timestamp


class RowConstraints:
    """What unique indexes and constraints demand of the writes at one node's primaries."""

    def __init__(self, node: Node, executor: Executor, locks: LockTable) -> None:
        self.node = node
        self.executor = executor
        self.locks = locks

    # --- before an operation is executed ----------------------------------------------------------

    def locks_wanted(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[tuple[Resource, int], ...]:
        """The locks on values in unique indexes that a write still lacks; it holds its row's."""
        if not _writes(request) or not unique_columns(table):
            return ()
        resources: dict[Resource, None] = {
            (request.table_id, request.partition, key): None
            for row in self._rows_of_write(request, local, table)
            for key in index_keys(table, row)
        }
        tx = request.tx
        return tuple((one, X) for one in resources if not self.locks.holds(tx, one) & X)

    def blocking_intent(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[TxId, PartitionId] | None:
        """(transaction, commit partition) of an intent whose row has or had the values in question.

        The operation holds these values, so the intent is there without a lock on them.
        """
        if not unique_columns(table):
            return None
        wanted = self._looked_for(request, local, table)
        if not wanted:
            return None
        for key, intent in _open_writes(local, table):
            if intent.tx == request.tx or intent.tx in local.machine.ended:
                continue
            rows = [(intent.version, intent.row)]
            newest = local.machine.newest(key)
            if newest is not None:
                rows.append((newest.version, newest.row))
            if any(self._has(request, table, one, wanted) for one in rows):
                return intent.tx, intent.commit_place
        return None

    # --- while it is executed ---------------------------------------------------------------------

    def refusal(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> Operated | None:
        """The refusal of a row that breaks a constraint, or None."""
        if request.row is None:
            return None
        row = decode(table, request.row)
        if request.action == "update" and self.lacks_value(table, row):
            return Operated(self.node.clock.now(), op_ts, Reason.BAD_ROW)
        if violated_check(table, row) is not None:
            return Operated(self.node.clock.now(), op_ts, Reason.CHECK_VIOLATED)
        keys = index_keys(table, row)
        return self._equal_row(request, local, op_ts, table, keys) if keys else None

    @staticmethod
    def lacks_value(table: Table, row: Cells) -> bool:
        """Whether a row has a NULL where its table has none [110.ours.notnull]."""
        cells = dict(row)
        return any(not one.nullable and cells.get(one.id) is None for one in table.columns)

    def look_up(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> Operated:
        """Whether no row of the partition has the values that were written in another one."""
        self.node.probe("unique-lookup")
        found = self._equal_row(request, local, op_ts, table, request.lookups)
        return found or Operated(self.node.clock.now(), op_ts, None)

    def needed_elsewhere(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[IndexKey, ...]:
        """What the row that the transaction has written here enters into unique indexes.

        Nothing where the table has one partition.
        """
        partitions = self.executor.replicas.placement.partitions_of(table.id)
        if partitions == 1 or not unique_columns(table):
            return ()
        row = self._present(request, local, table)
        return () if row is None else index_keys(table, row)

    def _equal_row(
        self,
        request: Operate,
        local: LocalReplica,
        op_ts: Timestamp,
        table: Table,
        keys: tuple[IndexKey, ...],
    ) -> Operated | None:
        """The refusal because of another row with one of these values; the row is recorded."""
        for key, found in self._live_rows(request, local):
            if key == request.key or not self._has(request, table, found[1:], keys):
                continue
            shown = self.executor.shown(request, request.tx, op_ts, table, [(key, found)])
            reason = shown.reason or Reason.UNIQUE_VIOLATED
            return Operated(self.node.clock.now(), op_ts, reason)
        return None

    # --- rows -------------------------------------------------------------------------------------

    def _live_rows(self, request: Operate, local: LocalReplica) -> Iterator[tuple[Key, Found]]:
        """The rows of the partition as the transaction sees them."""
        for key, found in self.executor.seen(replace(request, action="scan"), local):
            if found[2] is not None:
                yield key, found

    def _looked_for(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[IndexKey, ...]:
        """The values that no other row may have once the operation is done."""
        if request.action == "lookup":
            return request.lookups
        if not _writes(request) or request.action == "delete":
            return ()
        rows = self._rows_of_write(request, local, table)
        return tuple(key for row in rows for key in index_keys(table, row))

    def _rows_of_write(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> Iterator[Cells]:
        """The row that a write finds, if any, and the one that it leaves."""
        before = self._present(request, local, table)
        if before is not None:
            yield before
        if request.row is not None:
            row = request.row
            if request.action == "update":
                row = updated_row(request, table, dict(before or ()))
            yield decode(table, row)

    def _present(self, request: Operate, local: LocalReplica, table: Table) -> Cells | None:
        """The row under the operation's key as its transaction sees it."""
        ((_, (_, version, row)),) = self.executor.seen(replace(request, action="get"), local)
        return self._shown(request, table, version, row)

    def _has(
        self,
        request: Operate,
        table: Table,
        found: tuple[int, Tuple | None],
        keys: tuple[IndexKey, ...],
    ) -> bool:
        """Whether a row has one of these values."""
        row = self._shown(request, table, *found)
        return row is not None and any(key in keys for key in index_keys(table, row))

    def _shown(
        self, request: Operate, table: Table, version: int, row: Tuple | None
    ) -> Cells | None:
        """A row under the version that the operation runs under; None where there is none.

        None as well for a row of a version that this node does not know.
        """
        if row is None:
            return None
        if version == table.version:
            return decode(table, row)
        source = self.executor.sync.catalog.definition(request.table_id, version)
        return upgrade(decode(source, row), source, table) if isinstance(source, Table) else None


def _open_writes(local: LocalReplica, table: Table) -> Iterator[tuple[Key, Intent]]:
    """Intents by key, and writes in one phase on their way that have not locked values as this."""
    yield from local.machine.intents.items()
    yield from local.pending.items()
    for key, write in local.at_once.items():
        if write.version != table.version:
            yield key, write


def updated_row(request: Operate, table: Table, row: dict[int, Value]) -> Tuple:
    """The row that an update leaves: what it does not set stays."""
    assert request.row is not None, request
    kept = [row.get(column) for column in column_ids(table)]
    for place in request.sets:
        kept[place : place + 1] = [request.row[place]]
    return tuple(kept)


def _writes(request: Operate) -> bool:
    return request.action not in {*READS, "lookup"}
