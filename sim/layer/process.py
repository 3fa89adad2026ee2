"""A process of the SQL layer: clients' transactions, run as transactions of the store.

The process that receives a client's requests runs its transactions. A transaction gets its schema
at its first operation, by the design's rule `read_schema`, and keeps it until its end. It commits
as a transaction of the store: what it read and wrote, what the rule `fence` adds to that, and a key
of its own, by which its outcome is found out where the store does not say it. That key also
conflicts with itself, so that an attempt that is still under way then can no longer commit.

A failure ends the transaction [110.flow.7]. Implicit ones are tried again here.

Operations of one transaction run one after the other, in the order of their arrival.
"""

from itertools import count

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.history.events import Enlisted, SchemaResolved
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.execution import Done, Executor
from ddlsim.layer.keyspace import is_of_schema, outcome_key
from ddlsim.layer.part import LayerBoot, Part
from ddlsim.layer.rules.waiting import WATCHING
from ddlsim.layer.schema_change import SchemaChange
from ddlsim.layer.store import Store
from ddlsim.layer.transaction import LayerTx, State, Turn
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientOperation,
    ClientRollback,
    Refusal,
)
from ddlsim.units import US_PER_MS, Micros, Timestamp

REASONS = {
    ErrorCode.NOT_COMMITTED: Reason.TX_CONFLICT,
    ErrorCode.TRANSACTION_TOO_OLD: Reason.TX_TOO_OLD,
    ErrorCode.FUTURE_VERSION: Reason.NODE_UNREACHABLE,
    ErrorCode.COMMIT_UNKNOWN_RESULT: Reason.NODE_UNREACHABLE,
    ErrorCode.TRANSACTION_TOO_LARGE: Reason.TX_TOO_LARGE,
    ErrorCode.KEY_TOO_LARGE: Reason.TX_TOO_LARGE,
    ErrorCode.VALUE_TOO_LARGE: Reason.TX_TOO_LARGE,
    ErrorCode.TIMED_OUT: Reason.TX_TIMED_OUT,
    ErrorCode.ACCESSED_UNREADABLE: Reason.TX_CONFLICT,
    ErrorCode.TOO_MANY_WATCHES: Reason.NODE_UNREACHABLE,
}
"""Why a transaction fails, by the store's error."""
IMPLICIT_ATTEMPTS = 10
"""How often an implicit transaction is tried."""
NEVER = 0
"""The outcome of a transaction that has not committed and never will."""
Reply = Answer | Refusal


class LayerProcess:
    """One process of the layer."""

    def __init__(self, node: Node, design: LayerDesign, database: Store, boot: LayerBoot) -> None:
        self.node = node
        self.design = design
        self.part = Part(node, design, database, boot)
        self.transactions = self.part.transactions
        self._ended: dict[str, Reason] = {}
        self._restarted = boot.restarted
        self._executor = Executor(node, design)
        self._change = SchemaChange(self.part, self._executor)
        node.on(ClientBegin, self.begin)
        node.on(ClientOperation, self.operate)
        node.on(ClientCommit, self.commit)
        node.on(ClientRollback, self.roll_back)

    def start(self) -> None:
        """Start what the process does by itself."""
        for task in self.design.background:
            self.node.spawn(task(self.part))
        if self._restarted:
            self.node.spawn(self._change.resume())

    @property
    def has_open_work(self) -> bool:
        """Whether a transaction is open, or a statement under way or perhaps left unfinished."""
        change = self._change
        return bool(self.transactions) or change.is_busy or change.resumes

    @property
    def watched_number(self) -> int | None:
        """The update that it keeps, where a watch tells it of the next one; else None."""
        if not any(task in WATCHING for task in self.design.background):
            return None
        cache = self.part.cache
        return self.part.first if cache is None else cache.schema.number

    def left_open(self) -> list[tuple[str, str]]:
        """What is open: (transaction or statement, what it is).

        Without a name: statements of an earlier incarnation, until it has gone on with all.
        """
        open_ones = [(label, "transaction") for label in self.transactions]
        open_ones += [(op, "statement") for op in self._change.under_way]
        if self._change.resumes:
            open_ones.append(("", "unfinished statements"))
        return open_ones

    # --- requests of clients ----------------------------------------------------------------------

    def begin(self, _sender: str, request: ClientBegin) -> Answer:
        """Begin an explicit transaction."""
        tx = self._begin(request.tx, read_only=request.read_only)
        return Answer(self.design.token(self.part, tx, request.session_ts))

    async def operate(self, _sender: str, request: ClientOperation) -> Reply:
        """One operation, in a transaction of its own or in the client's."""
        if request.implicit:
            return await self._operate_implicitly(request)
        if request.begins:
            tx = self._begin(request.tx, read_only=request.read_only)
        else:
            active = self._active(request.tx)
            if isinstance(active, Reason):
                return self._refusal(active)
            tx = active
        before = tx.last
        mine = tx.last = Turn()
        if before is not None and not before.over:
            await before.awaited(self.node)
        done = await self._operate(tx, request)
        mine.end()
        return self._answer(tx, request, done)

    async def commit(self, _sender: str, request: ClientCommit) -> Reply:
        """Commit the client's transaction."""
        tx = self._active(request.tx)
        if isinstance(tx, Reason):
            return self._refusal(tx)
        if tx.last is not None and not tx.last.over:
            await tx.last.awaited(self.node)
        if tx.state is not State.ACTIVE:
            return self._refusal(tx.reason or Reason.TX_FINISHED)
        reason = await self._commit(tx)
        if reason is not None:
            return self._refusal(reason)
        return Answer(self.design.token(self.part, tx, request.session_ts))

    def roll_back(self, _sender: str, request: ClientRollback) -> Reply:
        """Roll the client's transaction back; one whose time was over is rolled back already."""
        tx = self._active(request.tx)
        if isinstance(tx, Reason):
            if tx is Reason.TX_TIMED_OUT:
                return Answer(Timestamp(0))
            return self._refusal(tx)
        self._abort(tx, Reason.ROLLED_BACK)
        return Answer(self.design.token(self.part, tx, request.session_ts))

    # --- transactions -----------------------------------------------------------------------------

    def _begin(self, label: str, *, read_only: bool, implicit: bool = False) -> LayerTx:
        assert label not in self.transactions, f"{label} began twice"
        node = self.node
        store = self.part.store.transaction(self.design.options)
        rate = self.part.settings.versions_per_second
        tx = LayerTx(node, label, store, rate, read_only=read_only, implicit=implicit)
        limit_us = Micros(node.settings.tx_timeout_ms * US_PER_MS)
        tx.limit = node.call_later(limit_us, self._time_is_over, tx)
        self.transactions[label] = tx
        return tx

    def _time_is_over(self, tx: LayerTx) -> None:
        if tx.state is State.ACTIVE:
            self._abort(tx, Reason.TX_TIMED_OUT)

    def _active(self, label: str) -> LayerTx | Reason:
        """The client's open transaction, or why it has none."""
        tx = self.transactions.get(label)
        if tx is not None and tx.state is State.ACTIVE:
            return tx
        return self._ended.get(label, Reason.TX_FINISHED)

    def _ends(self, tx: LayerTx, state: State, reason: Reason | None) -> None:
        assert tx.state in (State.ACTIVE, State.COMMITTING), f"{tx.label} is {tx.state.value}"
        tx.state, tx.reason = state, reason
        del self.transactions[tx.label]
        self._ended[tx.label] = reason or Reason.TX_FINISHED
        if tx.limit is not None:
            tx.limit.cancel()

    def _abort(self, tx: LayerTx, reason: Reason) -> Reason:
        self._ends(tx, State.ABORTED, reason)
        tx.aborted(Reason.SCHEMA_CONFLICT if tx.outdated else reason)
        self.design.after_failure(self.part, tx, reason)
        return reason

    def _refusal(self, reason: Reason) -> Refusal:
        return Refusal(Timestamp(0), reason)

    # --- operations -------------------------------------------------------------------------------

    async def _operate(self, tx: LayerTx, request: ClientOperation) -> Done | Reason:
        """Run one operation; a refusal ends the transaction."""
        if tx.state is not State.ACTIVE:
            return tx.reason or Reason.TX_FINISHED
        done: Done | Reason
        try:
            done = await self._executed(tx, request)
        except FdbError as error:
            done = REASONS[error.code]
        if tx.reason is not None:
            return tx.reason
        if isinstance(done, Reason):
            self._abort(tx, done)
        return done

    async def _executed(self, tx: LayerTx, request: ClientOperation) -> Done | Reason:
        watch = self.node.watch
        began_us = watch.now_us
        reason = await self.design.admit(self.part, tx, request)
        if reason is not None:
            return reason
        waited_us = Micros(watch.now_us - began_us)
        if tx.used is None:
            began_us = watch.now_us
            used = await self.design.read_schema(self.part, tx)
            if isinstance(used, Reason):
                return used
            waited_us = Micros(waited_us + tx.without_read_version_us(began_us))
            tx.used = used
            tx.schema_version = 0 if self.part.cache is None else self.part.cache.version
        table = tx.used.snapshot.meant(request.table)
        if not isinstance(table, Table):
            return Reason.TABLE_NOT_FOUND
        self._enlist(tx, request, table, waited_us)
        return await self._executor.run(tx, request, table)

    def _enlist(
        self, tx: LayerTx, request: ClientOperation, table: Table, waited_us: Micros
    ) -> None:
        """A table joins the transaction; `waited_us`: its operation, for a schema to use."""
        if table.id in tx.tables:
            return
        tx.tables[table.id] = table
        name, label, op, called = self.node.name, tx.label, request.op, request.table
        tx.record(
            lambda now, ts: SchemaResolved(
                now, name, label, op, "enlist", called, table.id, ts, table.version, waited_us
            )
        )
        tx.record(lambda now, ts: Enlisted(now, label, name, table.id, called, ts, table.version))

    def _answer(self, tx: LayerTx, request: ClientOperation, done: Done | Reason) -> Reply:
        if isinstance(done, Reason):
            return self._refusal(done)
        token = self.design.token(self.part, tx, request.session_ts)
        return Answer(token, done.rows, done.columns, tx.label, done.done)

    async def _operate_implicitly(self, request: ClientOperation) -> Reply:
        """Begin, operate, commit; retriable failures are retried here and not by the client."""
        until_us = self.node.watch.now_us + self.node.settings.tx_timeout_ms * US_PER_MS
        for attempt in count():
            label = f"{request.tx}r{attempt}" if attempt else request.tx
            tx = self._begin(label, read_only=request.read_only, implicit=True)
            done = await self._operate(tx, request)
            reason = done if isinstance(done, Reason) else await self._commit(tx)
            if reason is None:
                return self._answer(tx, request, done)
            late = self.node.watch.now_us >= until_us
            if not reason.retriable or attempt + 1 >= IMPLICIT_ATTEMPTS or late:
                return self._refusal(reason)
            self.node.probe("implicit-retry")
            await self.part.rest("implicit-retry")
        raise AssertionError(f"{request.tx} was tried for ever")

    # --- the end ----------------------------------------------------------------------------------

    async def _commit(self, tx: LayerTx) -> Reason | None:
        """Commit, or abort for a reason."""
        assert tx.state is State.ACTIVE, f"{tx.label} is {tx.state.value}"
        tx.state = State.COMMITTING
        try:
            if tx.wrote:
                await tx.read_version()
            reason = await self.design.fence(self.part, tx) if tx.tables else None
            if reason is not None:
                return self._abort(tx, reason)
            version = await self._committed_at(tx)
        except FdbError as error:
            if error.code is not ErrorCode.COMMIT_UNKNOWN_RESULT:
                tx.outdated = any(map(is_of_schema, error.conflicts))
                return self._abort(tx, REASONS[error.code])
            found = await self._outcome(tx)
            if found is None:
                return self._abort(tx, Reason.NODE_UNREACHABLE)
            version = found
        tx.committed(version)
        self._ends(tx, State.COMMITTED, None)
        return None

    async def _committed_at(self, tx: LayerTx) -> int:
        if not tx.wrote:
            return await tx.store.commit()
        place = outcome_key(tx.label)
        if not self.design.options.causal_write_risky:
            tx.store.add_read_conflict_key(place)
        tx.mark_outcome()
        return await tx.store.commit()

    async def _outcome(self, tx: LayerTx) -> int | None:
        """The version that a transaction has committed at; None: it has not, and never will."""
        self.node.probe("outcome-looked-up")
        place = outcome_key(tx.label)
        while True:
            again = self.part.store.transaction()
            try:
                found = await again.get(place)
                if isinstance(found, tuple):
                    version: int = found[0]
                    return version or None
                again.set(place, (NEVER, self.node.name, ()))
                await again.commit()
            except FdbError:
                await self.part.rest("outcome")
            else:
                return None
