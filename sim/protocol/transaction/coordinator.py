"""The transaction coordinator: enlist, route, validate, commit or abort.

The node that receives a client's requests coordinates its transactions. At the first operation on a
table it takes base_ts, resolves the table's version there (tableEnlistSV, the initial schema I) and
keeps it for the transaction [110.flow.2, 110.flow.4]. A client whose row is encoded with another
version gets tableEnlistSV back, encodes the row again and retries; the transaction stays open. The
operation then goes with I to the primary, which judges it at its own timestamp [110.flow.3,
110.flow.5].

At commit the coordinator takes commit_ts, resolves every enlisted table there, and commits only if
I is forward-compatible with it [110.flow.6, 110.valid.1]. What commits strictly before Tu belongs
to the old schema, what commits from Tu on to the new one, on whichever nodes it ran [98.one].

Any failure ends the transaction: its intents are dropped, its locks released, and the client gets
a code that tells whether to retry [110.flow.7].

    ACTIVE --commit--> COMMITTING --judged--> COMMITTED --the outcome is stored--> (forgotten)
      |   <-- a one-phase write --'  |            '-- recovery has stored an abort --.
      '--- refusal, roll-back, time limit, mark --+--> ABORTED <---------------------'

Fields of a `Transaction`, what writes them, and what goes wrong without:

* `by_name`, `by_id`: the rule `enlist`, once a table, and again by the rule `enlists_again` alone.
  Resolved anew at every operation, one transaction would run on two schemas of a table [110.req.1].
* `asked`, `ran`: `Router`, and `_answered`. What has run must not be enlisted again [110.quirk].
* `participants`, `commit_place`: `Router`, once a partition. An operation under a later lease would
  run without the locks of those before it.
* `outstanding`: `_operate`; `unreplicated`: `answered_early` and `Replicated`. The commit waits for
  both, else an operation gets an op_ts above commit_ts, or a committed write is lost [110.x.2].
* `commit_ts`: `TransactionCompletion`, or the primary of a one-phase write; once, for all to come.
* `bound_ts`: `Marks`; commit_ts must be below it, since the schema changes there [110.valid.3].
* `state`: here and `TransactionCompletion`; `reason`: the first failure. COMMITTED is set before
  the outcome is sent, so that no operation joins a transaction that has been judged.
"""

from collections.abc import Sequence
from itertools import count
from typing import Final

import msgspec

from ddlsim.history.event import Cells
from ddlsim.history.events import MetadataRead, TxBegan
from ddlsim.model.ops import READS, Key
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.ids import IndexKey, TxId
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientOperation,
    ClientRollback,
    Mismatch,
    Operated,
    Refusal,
)
from ddlsim.protocol.metastorage.placement import Placement, partition_of
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.schema.column_types import meant
from ddlsim.protocol.schema.constraints import unique_columns
from ddlsim.protocol.schema.rows import has_columns
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.enlistment import enlisted_again
from ddlsim.protocol.transaction.index_entries import asked_index, has_values
from ddlsim.protocol.transaction.marking import Marks
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.routing import Answered, Router
from ddlsim.protocol.transaction_record import (
    ABORTED,
    ACTIVE,
    COMMITTED,
    COMMITTING,
    Enlistment,
    Transaction,
)
from ddlsim.units import US_PER_MS, Micros, Timestamp

Reply = Answer | Mismatch | Refusal
BY_ITSELF: Final = (Reason.ROLLBACK_ONLY, Reason.TX_TIMED_OUT)
"""Reasons for which a coordinator aborts a transaction by itself, without a client's request."""


class Coordinator:
    """The transactions that clients of one node have open."""

    def __init__(
        self,
        node: Node,
        ordinal: int,
        strategy: Strategy,
        sync: SchemaSync,
        participant: Participant,
        leases: Leases,
        placement: Placement,
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self.transactions: dict[str, Transaction] = {}
        self.aborted: dict[str, Reason] = {}
        self.router = Router(node, leases, placement)
        self.completion = TransactionCompletion(self, participant, leases)
        self.marks = Marks(self)
        self._ordinal = ordinal
        self._placement = placement
        self._refreshing: dict[str, tuple[Transaction, int, Micros, str]] = {}
        node.on(ClientBegin, self.begin)
        node.on(ClientOperation, self.operate)
        node.on(ClientCommit, self.commit)
        node.on(ClientRollback, self.roll_back)

    # --- requests of clients ----------------------------------------------------------------------

    async def begin(self, _sender: str, request: ClientBegin) -> Answer:
        """Begin an explicit transaction."""
        self._merge(request.session_ts)
        await self._chosen_time_passes(request)
        self._begin(request.tx, request, implicit=False)
        return Answer(self.node.clock.now())

    async def operate(self, _sender: str, request: ClientOperation) -> Reply:
        """One operation, in a transaction of its own or in the client's."""
        self._merge(request.session_ts)
        await self._chosen_time_passes(request)
        if request.implicit:
            return await self._operate_implicitly(request)
        if request.begins:
            return await self._operate(self._begin(request.tx, request, implicit=False), request)
        tx = self._active(request.tx)
        return self.refusal(tx) if isinstance(tx, Reason) else await self._operate(tx, request)

    async def commit(self, _sender: str, request: ClientCommit) -> Answer | Refusal:
        """Commit the client's transaction."""
        self._merge(request.session_ts)
        tx = self._active(request.tx)
        if isinstance(tx, Reason):
            return self.refusal(tx)
        reason = await self.completion.commit(tx)
        return Answer(self.node.clock.now()) if reason is None else self.refusal(reason)

    def roll_back(self, _sender: str, request: ClientRollback) -> Answer | Refusal:
        """Roll the client's transaction back; one of `BY_ITSELF` is rolled back already."""
        self._merge(request.session_ts)
        refreshing = self._refreshing.pop(request.tx, None)
        label = request.tx if refreshing is None else refreshing[0].id.label
        tx = self._active(label)
        if isinstance(tx, Reason):
            return Answer(self.node.clock.now()) if tx in BY_ITSELF else self.refusal(tx)
        self.completion.abort(tx, Reason.ROLLED_BACK)
        return Answer(self.node.clock.now())

    def _active(self, label: str) -> Transaction | Reason:
        """The client's open transaction, or why it has none."""
        tx = self.transactions.get(label)
        if tx is not None and tx.state is ACTIVE:
            return tx
        return self.aborted.get(label, Reason.TX_FINISHED)

    def _merge(self, session_ts: Timestamp | None) -> None:
        if session_ts is not None:
            self.node.clock.update(session_ts)

    async def _chosen_time_passes(self, request: ClientBegin | ClientOperation) -> None:
        """Wait until this clock shows the timestamp that a client chose to read at [ours].

        Of a later time nothing is known; and replicas merge it, which must not run ahead.
        """
        read_ts = request.read_ts
        if read_ts is not None and read_ts > self.node.clock.current():
            self.node.probe("read-time-awaited")
            await self.node.clock_passes(read_ts)

    def refusal(self, reason: Reason) -> Refusal:
        """A refusal for a reason, with this node's timestamp."""
        return Refusal(self.node.clock.now(), reason)

    def _begin(
        self,
        label: str,
        request: ClientBegin | ClientOperation,
        *,
        implicit: bool,
    ) -> Transaction:
        node = self.node
        assert label not in self.transactions, f"{label} began twice"
        begin_ts = node.clock.now()
        read_ts = request.read_ts
        if request.read_only and read_ts is None:
            skew_ms = node.settings.max_clock_skew_ms
            lag_ms = node.settings.partition_idle_ms
            read_ts = self.strategy.read_ts(request.session_ts, begin_ts, lag_ms, skew_ms)
        now = node.watch.now_us
        tx = Transaction(TxId(begin_ts, self._ordinal, label), now, read_ts)
        self.transactions[label] = tx
        self.completion.watch_time(tx)
        if node.recording:
            node.record(TxBegan(now, label, node.name, begin_ts, implicit, read_ts))
        return tx

    async def _operate_implicitly(self, request: ClientOperation) -> Reply:
        """Begin, operate, commit; retriable failures are retried here and not by the client.

        A client that has to encode again finds its transaction as it was [110.flow.2], unless this
        node has restarted: then it is another transaction, with a name of its own. No attempt
        begins later than `tx_timeout_ms` after the first one.
        """
        watch = self.node.watch
        until_us = Micros(watch.now_us + self.node.settings.tx_timeout_ms * US_PER_MS)
        fresh = (None, 0, until_us, request.tx)
        refreshed, first, until_us, name = self._refreshing.pop(request.tx, fresh)
        if request.encoded_before and refreshed is None:
            name = f"{name}~{request.encoded_before}"
        for attempt in count(first):
            label = f"{name}r{attempt}" if attempt else name
            tx = refreshed or self._begin(label, request, implicit=True)
            refreshed = None
            reply: Reply = await self._operate(tx, request)
            if type(reply) is Mismatch:
                self._refreshing[request.tx] = (tx, attempt, until_us, name)
                return reply
            if type(reply) is Answer:
                reason = None
                if tx.state is ACTIVE:  # else it was committed in one phase
                    reason = await self.completion.commit(tx)
                if reason is None:
                    return Answer(
                        self.node.clock.now(), reply.rows, reply.columns, label, reply.done
                    )
                reply = self.refusal(reason)
            assert isinstance(reply, Refusal), reply
            if not reply.reason.retriable or not self.strategy.retries_implicit(attempt + 1):
                return reply
            if watch.now_us >= until_us:
                self.node.probe("implicit-retry-over")
                return reply
            self.node.probe("implicit-retry")
        raise AssertionError(f"{request.tx} was tried for ever")

    # --- one operation ----------------------------------------------------------------------------

    async def _operate(self, tx: Transaction, request: ClientOperation) -> Reply:
        """Enlist the table, run the operation under its version; a refusal ends the transaction."""
        assert tx.state in (ACTIVE, ABORTED), f"{tx.id.label} is {tx.state.value}"
        tx.outstanding += 1
        tx.does(request.action, metadata=request.metadata or bool(request.columns))
        enlistment = await self.strategy.enlist(self, tx, request.table, request.op)
        reply = self._judge_request(tx, request, enlistment)
        while reply is None:
            assert type(enlistment) is Enlistment, enlistment
            reply = await self._executed(tx, request, enlistment)
            again = await enlisted_again(self, tx, request, enlistment, reply)
            if again is not None:
                enlistment, reply = again, self._judge_request(tx, request, again)
        tx.operation_ended()
        is_over = type(reply) is Refusal and reply.reason is Reason.TX_FINISHED
        if tx.state is ABORTED and (is_over or type(reply) is Answer):  # by a mark, its time limit
            return self.refusal(tx.reason or Reason.TX_FINISHED)
        if type(reply) is Refusal:
            self._failed(tx, reply.reason)
        return reply

    def _failed(self, tx: Transaction, reason: Reason) -> None:
        """An operation was refused: that ends its transaction [110.valid.2] [110.flow.7]."""
        if tx.state is ACTIVE:
            self.completion.abort(tx, reason)
        elif tx.state is COMMITTING and tx.reason is None:
            tx.reason = reason  # the commit waits for this operation, and finds it

    def _judge_request(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment | Reason
    ) -> Reply | None:
        """None to go on; else a refusal, or the schema that the client must encode with."""
        if isinstance(enlistment, Reason):
            return self.refusal(enlistment)
        table = enlistment.table
        current = self.strategy.check_client_version(request.client_version, table.version)
        if not current or request.table_id != table.id:
            self.node.probe("client-version-refreshed")
            return Mismatch(self.node.clock.now(), table)
        if tx.state is ABORTED or tx.state is COMMITTED:
            return self.refusal(tx.reason or Reason.TX_FINISHED)
        if request.columns and not has_columns(table, request.columns):
            return self.refusal(Reason.COLUMN_NOT_FOUND)
        return None

    async def _executed(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment
    ) -> Reply:
        """Send the operation to the primary of its key, of every partition, or to replicas."""
        partitions = self._placement.partitions_of(enlistment.table.id)
        if request.action == "find":
            return await self._find(tx, request, enlistment, partitions)
        if tx.read_ts is not None:
            if request.action not in READS:
                return self.refusal(Reason.READ_ONLY)
            return await self._read_only(tx, request, enlistment, partitions)
        if request.action == "scan":
            return await self._scan(tx, request, enlistment, partitions)
        partition = partition_of(request.key, partitions)
        if self._goes_in_one_phase(tx, request, enlistment):
            return await self._write_at_once(tx, request, enlistment, partition)
        answer = await self.router.ask_primary(tx, request, enlistment, partition)
        if type(answer) is Operated and not answer.replicated:
            tx.answered_early(request.op, (enlistment.table.id, partition))
        reply = self._answered(tx, request, enlistment, answer)
        if type(answer) is Operated and answer.lookups and type(reply) is Answer:
            others = [number for number in range(partitions) if number != partition]
            return await self._looked_up(tx, request, enlistment, others, answer.lookups) or reply
        return reply

    async def _looked_up(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        partitions: list[int],
        lookups: tuple[IndexKey, ...],
    ) -> Refusal | None:
        """A refusal if a row of another partition has the written row's values [110.ours.unique].

        Unique indexes are local to their partitions, as secondary indexes of Apache Ignite 3 are.
        """
        if tx.state is ABORTED:  # its locks are being released
            return self.refusal(tx.reason or Reason.TX_FINISHED)
        asked = [
            self.router.ask_primary(tx, request, enlistment, partition, lookups=lookups)
            for partition in partitions
        ]
        gathered = self._gathered(tx, request, enlistment, [await each for each in asked])
        return gathered if isinstance(gathered, Refusal) else None

    def _answered(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment, answer: Answered
    ) -> Answer | Refusal:
        """The primary's answer as the client's; a failure to reach it as a refusal."""
        if not isinstance(answer, Operated):
            return self.refusal(answer if isinstance(answer, Reason) else Reason.NODE_UNREACHABLE)
        clock = self.node.clock
        clock.update(answer.sent_ts)
        if answer.reason is not None:
            if answer.reason is Reason.SCHEMA_CHANGED and not answer.ran and tx.read_ts is None:
                tx.is_refused(enlistment.table.id)
            return self.refusal(answer.reason)
        tx.ran[enlistment.table.id] = None
        tx.last_op_ts = max(answer.op_ts, tx.last_op_ts)
        columns = None
        if request.metadata:
            columns = self._shown_columns(tx, request.op, enlistment.table)
        return Answer(clock.now(), answer.rows, columns, tx.id.label, answer.done)

    async def _find(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment, partitions: int
    ) -> Reply:
        """By the index where it answers queries under I, else by a scan for the values."""
        table, wanted = enlistment.table, request.values or {}
        columns = {column.name: column for column in table.columns}
        if any(name not in columns for name in wanted):
            return self.refusal(Reason.COLUMN_NOT_FOUND)
        lookups: tuple[IndexKey, ...] = ()
        if self.strategy.index_entries is not None:
            index = asked_index(table, request.index, wanted)
            lookups = () if index is None else (index,)
        if not lookups:
            request = msgspec.structs.replace(request, action="scan")
        send = self._scan if tx.read_ts is None else self._read_only
        reply = await send(tx, request, enlistment, partitions, lookups)
        if lookups or type(reply) is not Answer:
            return reply
        values = {columns[name].id: meant(wanted[name], columns[name].type) for name in wanted}
        rows = tuple(row for row in reply.rows if has_values(table, row[1], values))
        return msgspec.structs.replace(reply, rows=rows)

    async def _scan(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        partitions: int,
        lookups: tuple[IndexKey, ...] = (),
    ) -> Reply:
        """Send the operation to the primaries of all partitions at once; one answer of theirs."""
        asked = [
            self.router.ask_primary(tx, request, enlistment, partition, lookups=lookups)
            for partition in range(partitions)
        ]
        return self._gathered(tx, request, enlistment, [await each for each in asked])

    def _gathered(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        answers: Sequence[Answered],
    ) -> Answer | Refusal:
        """One answer with the rows of all partitions, or the first refusal."""
        without = msgspec.structs.replace(request, metadata=False)
        rows: list[tuple[Key, Cells]] = []
        reason: Reason | None = None
        for answer in answers:
            reply = self._answered(tx, without, enlistment, answer)
            if isinstance(reply, Refusal):
                reason = reason or reply.reason
            else:
                rows += reply.rows
        if reason is not None:
            return self.refusal(reason)
        table = enlistment.table
        columns = self._shown_columns(tx, request.op, table) if request.metadata else None
        return Answer(self.node.clock.now(), tuple(rows), columns, tx.id.label)

    # --- one-phase writes, read-only transactions -------------------------------------------------

    def _goes_in_one_phase(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment
    ) -> bool:
        """Whether the operation is its whole transaction, and writes one row of one table.

        Not if it has to look into other partitions: its locks there last until it has committed.
        """
        return (
            request.implicit
            and not enlistment.views
            and not tx.participants
            and self.strategy.in_one_phase(request.action, request.implicit)
            and (
                request.action == "delete"
                or not unique_columns(enlistment.table)
                or self._placement.partitions_of(enlistment.table.id) == 1
            )
        )

    async def _write_at_once(
        self, tx: Transaction, request: ClientOperation, enlistment: Enlistment, partition: int
    ) -> Reply:
        """Write and commit in one step; resent until the outcome is known.

        A copy of the request finds the transaction ended, on whichever node is primary by then; so
        the same one is sent until there is an answer. A primary whose lease is over has written
        nothing, and its group refuses what it still sends: the transaction may be retried. Where an
        earlier message may have been executed, that counts only if the primary says that it was.
        """
        node = self.node
        assert not tx.participants, f"{tx.id.label} has participants"
        sent = False
        tx.state = COMMITTING  # whether it commits is decided elsewhere from now on
        while True:
            answer = await self.router.ask_primary(
                tx, request, enlistment, partition, one_phase=True, again=sent
            )
            if type(answer) is Operated and (
                not sent or answer.ended or answer.reason is not Reason.PRIMARY_EXPIRED
            ):
                break
            if type(answer) is Reason and not sent:
                break
            sent = True
            node.probe("one-phase-repeated")
            await node.sleep(node.settings.resend_us)
        if type(answer) is Operated and answer.commit_ts is not None:
            tx.commit_ts = answer.commit_ts
            self.completion.committed(tx)
            await self.strategy.before_answer(self, tx)
            return self._answered(tx, request, enlistment, answer)
        tx.state = ACTIVE  # it was refused, or has become an intent
        if type(answer) is Operated and not answer.replicated:
            tx.answered_early(request.op, (enlistment.table.id, partition))
        return self._answered(tx, request, enlistment, answer)

    async def _read_only(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        partitions: int,
        lookups: tuple[IndexKey, ...] = (),
    ) -> Reply:
        """Read from any replica of each partition."""
        assert tx.read_ts is not None, f"{tx.id.label} is not read-only"
        wanted = range(partitions)
        if request.action == "get":
            wanted = range(number := partition_of(request.key, partitions), number + 1)
        answers = [
            await self.router.ask_replica(tx, request, enlistment, number, lookups)
            for number in wanted
        ]
        return self._gathered(tx, request, enlistment, answers)

    def _shown_columns(self, tx: Transaction, op: str, table: Table) -> tuple[str, ...]:
        """The columns that `SELECT *` shows: those of the enlisted version."""
        node = self.node
        tx.shown[table.id] = None
        columns = tuple(column.name for column in table.columns)
        if node.recording:
            now, label = node.watch.now_us, tx.id.label
            node.record(MetadataRead(now, node.name, label, op, table.id, table.version, columns))
        return columns
