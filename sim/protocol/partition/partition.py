"""A partition as its group replicates it: rows, intents, and the ends of transactions.

A row is kept as it was encoded, in the column order of one schema version, with that version's
number. A *write intent* is a row that is not committed yet. A deleted row stays as a version with
no values, so that a read of its absence records the transaction that deleted it.

Every replica applies the same commands in the same order and so has the same state. A command
that comes twice changes nothing: a transaction that has ended stays so, whatever still arrives.

    no intent --WriteIntent--> intent --FinishTx or CleanUp with commit_ts--> a version of the row
                                      '-- with None --> dropped
    a transaction: open --FinishTx, CleanUp, FullWrite--> `ended`, for good

All fields are changed by `apply`, `restore` and `install` alone, from the group's log:

* `rows`: by key, sorted by commit_ts; reads at a timestamp take the last one before it.
* `intents`, `_written` (their keys by transaction), `_ops` (the writes that were applied).
* `ended`: without it a write that arrives late would leave an intent that is never removed.
* `outcomes`, `uncleaned`: of transactions whose commit partition this is; the first outcome stays.
* `lease_start`: commands that were sent under an earlier lease change nothing. Without it a deposed
  primary could write after a new one has read.
* `safe_ts`: the last stamp. It never goes back, and nothing stamped below it can still arrive, so a
  read at or below it is repeatable on every replica.
* `catalog_version`: the largest that a row needs; a node behind it could not decode a snapshot.
* `index`: the entries of indexes, where the design keeps them (`index_store`).
"""

from collections.abc import Callable

from ddlsim.history.events import TxCommitted
from ddlsim.history.index_events import IndexFilled, IndexWritten
from ddlsim.history.world_events import PartitionSafeTime, TxRecovered
from ddlsim.model.ops import Key
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.records import Record
from ddlsim.protocol.commands import (
    Cleaned,
    CleanUp,
    Command,
    EraseIndex,
    FillIndex,
    FinishTx,
    FullWrite,
    Outcome,
    PrimaryChange,
    StampedCommand,
    WriteIntent,
)
from ddlsim.protocol.ids import PartitionId, Tuple, TxId
from ddlsim.protocol.partition.index_store import Filled, IndexState, IndexStore
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MIN_TIMESTAMP, Timestamp


class RowVersion(Record, frozen=True):
    """One version of a row; `row` None is a deletion."""

    writer: str
    commit_ts: Timestamp
    version: int
    row: Tuple | None


class Intent(Record, frozen=True):
    """A row that a transaction wrote and has not committed."""

    tx: TxId
    op: str
    op_ts: Timestamp
    version: int
    row: Tuple | None
    commit_place: PartitionId


class PartitionState(Record, frozen=True):
    """A snapshot: everything that the commands up to `index` have made."""

    index: int
    term: int
    safe_ts: Timestamp
    lease_start: Timestamp
    rows: dict[Key, tuple[RowVersion, ...]]
    intents: dict[Key, Intent]
    ended: dict[TxId, Timestamp | None]
    outcomes: dict[TxId, Outcome]
    uncleaned: tuple[TxId, ...]
    catalog_version: int
    ops: dict[TxId, tuple[str, ...]]
    entries: IndexState | None = None


class Partition:
    """One replica of one partition."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        place: PartitionId,
        lease_start: Timestamp,
        knows: Callable[[int], bool],
    ) -> None:
        assert min(place) >= 0, f"{place} is no partition"
        self.place = place
        self.name = f"{place[0]}/{place[1]}"
        self.rows: dict[Key, list[RowVersion]] = {}
        self.intents: dict[Key, Intent] = {}
        self.ended: dict[TxId, Timestamp | None] = {}
        self.outcomes: dict[TxId, Outcome] = {}
        self.uncleaned: dict[TxId, None] = {}
        self.lease_start = lease_start
        self.safe_ts: Timestamp = MIN_TIMESTAMP
        self.applied_index = 0
        self.applied_term = 0
        self.catalog_version = 0
        self.index = IndexStore(place[0])
        self.on_safe_time: Callable[[Timestamp], None] | None = None
        self._watcher: Callable[[Timestamp], None] | None = None
        self._node = node
        self._strategy = strategy
        self._knows = knows
        self._written: dict[TxId, dict[Key, None]] = {}
        self._ops: dict[TxId, dict[str, None]] = {}

    # --- the state machine of its group -----------------------------------------------------------

    def apply(self, index: int, term: int, command: object) -> object:
        """Carry out a command; the result for its proposer."""
        assert type(command) is StampedCommand, command
        self.applied_index, self.applied_term = index, term
        stamp = command.safe_ts
        result = self._carried_out(stamp, command.command)
        if stamp > self.safe_ts:
            self.safe_ts = stamp
            if self.on_safe_time is not None:
                self.on_safe_time(stamp)
        return result

    def _carried_out(self, stamp: Timestamp, command: Command[object]) -> object:
        """The result of a command; None for one that only carries its stamp."""
        if type(command) is WriteIntent:
            return self._write(command)
        if type(command) is FinishTx:
            return self._finish(command)
        if type(command) is FullWrite:
            return self._write_and_commit(stamp, command)
        if type(command) is CleanUp:
            self._clean_up(stamp, command)
        elif type(command) is Cleaned:
            self.cleaned(command.tx)
        elif type(command) is PrimaryChange:
            self.lease_start = max(self.lease_start, command.lease_start)
        elif type(command) is FillIndex:
            self._fill(stamp, command)
        elif type(command) is EraseIndex:
            self.index.erase(command.index_id)
        return None

    def cleaned(self, tx: TxId) -> None:
        """Every participant has ended this transaction: no later primary sends its outcome again.

        A group of several learns it by a command. A group of one writes nothing for it into its
        log: after a restart the outcome is sent once more.
        """
        self.uncleaned.pop(tx, None)

    def restore(self, index: int, term: int, command: object) -> None:
        """Carry out again what was carried out before the node died."""
        self.apply(index, term, command)

    def restoring(self) -> None:
        """Report no safe time until the whole log is applied again."""
        assert self._watcher is None, f"{self.name} is being restored already"
        self._watcher, self.on_safe_time = self.on_safe_time, None

    def restored(self) -> None:
        """Report safe time again: it is where it was before the crash."""
        assert self.on_safe_time is None, f"{self.name} is not being restored"
        self.on_safe_time, self._watcher = self._watcher, None
        if self.on_safe_time is not None and self.applied_index:
            self.on_safe_time(self.safe_ts)

    def stamp_of(self, command: object) -> Timestamp:
        """The leader's stamp."""
        assert type(command) is StampedCommand, command
        return command.safe_ts

    def stamp_of_state(self, state: object) -> Timestamp:
        """The last stamp in a snapshot."""
        assert isinstance(state, PartitionState), state
        return state.safe_ts

    def may_store(self, command: object) -> bool:
        """Whether this node's catalog knows the version that a row was written under."""
        assert type(command) is StampedCommand, command
        inner = command.command
        if type(inner) is WriteIntent or type(inner) is FullWrite or type(inner) is FillIndex:
            return self._knows(inner.catalog_version)
        return True

    def may_install(self, state: object) -> bool:
        """Whether this node's catalog knows every version that rows were written under."""
        assert isinstance(state, PartitionState), state
        return self._knows(state.catalog_version)

    def snapshot(self) -> PartitionState:
        """A copy of everything."""
        return PartitionState(
            self.applied_index,
            self.applied_term,
            self.safe_ts,
            self.lease_start,
            {key: tuple(versions) for key, versions in self.rows.items()},
            self.intents.copy(),
            self.ended.copy(),
            self.outcomes.copy(),
            tuple(self.uncleaned),
            self.catalog_version,
            {tx: tuple(ops) for tx, ops in self._ops.items()},
            self.index.snapshot(),
        )

    def install(self, state: object) -> None:
        """Replace this replica's state by a snapshot."""
        assert isinstance(state, PartitionState), state
        self.applied_index, self.applied_term = state.index, state.term
        self.catalog_version = state.catalog_version
        self.lease_start = state.lease_start
        self.rows = {key: list(versions) for key, versions in state.rows.items()}
        self.intents = state.intents.copy()
        self.ended = state.ended.copy()
        self.outcomes = state.outcomes.copy()
        self.uncleaned = dict.fromkeys(state.uncleaned)
        if state.entries is not None:
            self.index.install(state.entries)
        self._written = {}
        self._ops = {tx: dict.fromkeys(ops) for tx, ops in state.ops.items()}
        for key, intent in state.intents.items():
            assert intent.tx not in self.ended, f"{intent.tx.label} has ended and left an intent"
            self._written.setdefault(intent.tx, {})[key] = None
        self.safe_ts = max(self.safe_ts, state.safe_ts)
        if self.on_safe_time is not None:
            self.on_safe_time(self.safe_ts)

    # --- commands ---------------------------------------------------------------------------------

    def _write(self, command: WriteIntent) -> Reason | None:
        """Leave an intent, unless the transaction or the command's lease is over."""
        tx, key = command.tx, command.key
        if tx in self.ended:
            return Reason.TX_FINISHED
        if not self._strategy.accepts_token(command.lease_start, self.lease_start):
            self._node.probe("write-fenced")
            return Reason.PRIMARY_EXPIRED
        ops = self._ops.get(tx)
        if ops is None:
            self._ops[tx] = {command.op: None}
        else:
            ops[command.op] = None
        known = self.intents.get(key)
        if known is not None and known.tx == tx and known.op_ts >= command.op_ts:
            return None  # a copy, or overtaken by a later write
        self.catalog_version = max(self.catalog_version, command.catalog_version)
        self.intents[key] = Intent(
            tx, command.op, command.op_ts, command.version, command.row, command.commit_place
        )
        self._written.setdefault(tx, {})[key] = None
        self.index.intend(tx, key, command.entries)
        return None

    def _write_and_commit(self, stamp: Timestamp, command: FullWrite) -> Timestamp | Reason:
        """The one-phase path: the stamp is commit_ts; a copy gets the first one's."""
        tx = command.tx
        if tx in self.ended:
            ended = self.ended[tx]
            return Reason.TX_FINISHED if ended is None else ended
        if not self._strategy.accepts_token(command.lease_start, self.lease_start):
            self._node.probe("write-fenced")
            return Reason.PRIMARY_EXPIRED
        expired = self._strategy.commit_lease(stamp, command.expires_ts) is not None
        if expired and command.lease_start == self.lease_start:
            self._node.probe("lease-over-at-commit")
            return Reason.PRIMARY_EXPIRED
        self.end(tx, None)  # an unanswered attempt may have left an intent
        assert tx not in self._written, f"{tx.label} has ended and left intents"
        self.ended[tx] = stamp
        self.catalog_version = max(self.catalog_version, command.catalog_version)
        self._put(command.key, RowVersion(tx.label, stamp, command.version, command.row))
        self.index.enter(command.key, command.entries, stamp)
        self._record_commit(tx, stamp, command.tables)
        return stamp

    def _finish(self, command: FinishTx) -> Outcome:
        """The commit point: the first outcome stays, and is the result of every later command.

        The transaction's intents in this partition are committed or dropped with it. One that has
        ended here without an outcome, in one phase or by a clean-up, has ended as it did: recovery
        may have looked for it while its write was on its way.
        """
        tx = command.tx
        known = self.outcomes.get(tx)
        if known is None and tx in self.ended:
            known = Outcome(self.ended[tx], ())
        if known is not None:
            return known
        others = command.participants
        if self.place in others:
            others = tuple(place for place in others if place != self.place)
        assert self.place not in others, f"{self.name} is a participant of its own outcome"
        outcome = Outcome(command.commit_ts, others, command.reason)
        self.outcomes[tx] = outcome
        if others:
            self.uncleaned[tx] = None
        self.end(tx, command.commit_ts)
        if command.commit_ts is not None:
            self._record_commit(tx, command.commit_ts, command.tables)
        elif command.by_recovery and self._node.recording:
            node = self._node
            if node.is_first(("recovered", tx.label)):
                node.record(TxRecovered(node.watch.now_us, node.name, tx.label, "aborted"))
        return outcome

    def _record_commit(
        self, tx: TxId, commit_ts: Timestamp, tables: tuple[tuple[int, int, int], ...]
    ) -> None:
        node = self._node
        if node.recording and node.is_first(("committed", tx.label)):
            node.record(TxCommitted(node.watch.now_us, node.name, tx.label, commit_ts, tables))

    def _clean_up(self, _stamp: Timestamp, command: CleanUp) -> None:
        """End the transaction with the outcome that another partition has stored."""
        self.end(command.tx, command.commit_ts)

    def end(self, tx: TxId, commit_ts: Timestamp | None) -> None:
        """Turn intents into committed versions, or drop them; nothing more of it is taken."""
        if tx in self.ended:
            return
        self.ended[tx] = commit_ts
        self._ops.pop(tx, None)
        for key in self._written.pop(tx, ()):
            intent = self.intents.get(key)
            if intent is None or intent.tx != tx:  # only where locks or fences do not hold
                continue
            del self.intents[key]
            if commit_ts is not None:
                self._put(key, RowVersion(tx.label, commit_ts, intent.version, intent.row))
                self.index.commit(tx, key, commit_ts)
        self.index.forget(tx)
        assert tx not in self._ops, f"{tx.label} has ended and still has operations"

    # --- entries of indexes -----------------------------------------------------------------------

    def _fill(self, stamp: Timestamp, command: FillIndex) -> None:
        """Carry out a step of a backfill, and record what it changed."""
        self.catalog_version = max(self.catalog_version, command.catalog_version)
        rows = {
            key: [(one.commit_ts, one.version, one.row) for one in versions]
            for key, versions in self.rows.items()
        }
        intents = {key: (one.tx, one.op, one.version, one.row) for key, one in self.intents.items()}
        done = self.index.fill(command, rows, intents)
        node = self._node
        if node.recording and node.is_first(("filled", self.name, command)):
            for one in done:
                self._record_filled(stamp, command.index_id, one)

    def _record_filled(self, stamp: Timestamp, index_id: int, one: Filled) -> None:
        node, table_id = self._node, self.place[0]
        now, values, key, added = node.watch.now_us, one.values, one.key, one.added
        if one.tx is None:
            filled = IndexFilled(
                now, node.name, table_id, index_id, one.commit_ts, stamp, values, key, added
            )
            node.record(filled)
            return
        label = one.tx.label
        node.record(
            IndexWritten(now, node.name, label, one.op, table_id, index_id, values, key, added)
        )

    # --- committed rows: versions by key, in the order of their commit timestamps -----------------

    def _put(self, key: Key, version: RowVersion) -> None:
        """Insert a committed version in the order of commit_ts: it may not be the newest."""
        versions = self.rows.get(key)
        if versions is None:
            self.rows[key] = [version]
            return
        place = len(versions)
        while place and versions[place - 1].commit_ts > version.commit_ts:
            place -= 1
        assert not place or versions[place - 1].commit_ts <= version.commit_ts, f"{key!r}: order"
        versions.insert(place, version)

    def newest(self, key: Key) -> RowVersion | None:
        """The newest committed version of a row."""
        versions = self.rows.get(key)
        return versions[-1] if versions else None

    def as_of(self, key: Key, read_ts: Timestamp) -> RowVersion | None:
        """The committed version of a row that is in force at a timestamp."""
        for version in reversed(self.rows.get(key, ())):
            if version.commit_ts <= read_ts:
                return version
        return None

    # --- reading ----------------------------------------------------------------------------------

    def ops_of(self, tx: TxId) -> dict[str, None]:
        """The writes of a transaction that have been applied, overwritten ones included."""
        return self._ops.get(tx, {})

    @property
    def open_transactions(self) -> tuple[TxId, ...]:
        """The transactions with intents in this partition."""
        return tuple(self._written)

    def record_safe_time(self, ts: Timestamp) -> None:
        """Record that this replica has applied everything up to `ts`."""
        node = self._node
        if node.recording:
            node.record(PartitionSafeTime(node.watch.now_us, node.name, self.name, ts))
