"""Counts the rows of a table at a timestamp, by a read-only transaction of the node's coordinator.

It scans every partition, at any replica that is complete up to the timestamp.
"""

import zlib

from ddlsim.history.events import TxBegan
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Answer, ClientOperation, Refusal
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp, show


class RowCounter:
    """Counts the rows of tables for one node."""

    def __init__(self, coordinator: Coordinator, ordinal: int) -> None:
        self._coordinator = coordinator
        self._ordinal = ordinal

    async def rows_at(self, table_id: int, read_ts: Timestamp, label: str) -> int | Reason:
        """The number of rows, 0 where there is no table, or why the read failed.

        `label` names the transaction; each call needs its own.
        """
        coordinator, sync = self._coordinator, self._coordinator.sync
        try:
            snapshot = await coordinator.strategy.resolve_schema(sync, read_ts)
        except MetadataLateError:
            return Reason.METADATA_LATE
        table = snapshot.by_id(table_id)
        if not isinstance(table, Table):
            return 0
        tx = self._begun(label, read_ts)
        number = zlib.crc32(label.encode()) << 8
        scan = ClientOperation(
            f"{label}.r", label, "scan", table.name, None, None, table.version, table.id, number
        )
        reply = await coordinator.operate(coordinator.node.name, scan)
        if type(reply) is Refusal:
            return reply.reason
        assert type(reply) is Answer, f"{label} read {table.name} at {show(read_ts)} as of then"
        reason = await coordinator.completion.commit(tx)
        return len(reply.rows) if reason is None else reason

    def _begun(self, label: str, read_ts: Timestamp) -> Transaction:
        """A read-only transaction at this very timestamp."""
        coordinator, node = self._coordinator, self._coordinator.node
        assert label not in coordinator.transactions, f"{label} began twice"
        now = node.watch.now_us
        tx = Transaction(TxId(node.clock.now(), self._ordinal, label), now, read_ts)
        coordinator.transactions[label] = tx
        if node.recording:
            began_ts = tx.id.begin_ts
            node.record(TxBegan(now, label, node.name, began_ts, implicit=False, read_ts=read_ts))
        node.probe("table-looked-at")
        return tx
