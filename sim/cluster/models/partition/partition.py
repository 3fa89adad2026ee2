"""The model of a partition's replica: what its log makes of rows, intents and ends.

A write leaves an intent, unless its transaction is over here or its lease is not the partition's;
of two writes of one transaction to a key the later one stays. The end of a transaction turns its
intents into versions at commit_ts, or drops them; the first end stays. A commit partition keeps the
first outcome, and those whose participants have not confirmed it. Safe time and lease only grow.
Snapshots, and what is restored from one, hold all of it. Entries of indexes: `index_entries`.
A transaction commits above the stamp of each of its writes [110.x.2]: else a replica that is
complete up to commit_ts may lack one. No write comes upon an intent of another transaction: that
one holds the lock until its end is in this log, and what is sent under a lease that is over is
refused.
"""

from bisect import insort_right
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter
from typing import ClassVar, Final

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.partition.index_entries import EntriesModel, Versions
from ddlsim.cluster.models.words import when, words
from ddlsim.model.ops import Key
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import (
    Cleaned,
    CleanUp,
    EraseIndex,
    FillIndex,
    FinishTx,
    FullWrite,
    Outcome,
    PrimaryChange,
    StampedCommand,
    WriteIntent,
)
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.partition.index_store import Definition, Filled
from ddlsim.protocol.partition.partition import (
    Intent,
    Partition,
    PartitionState,
    RowVersion,
)
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MIN_TIMESTAMP, Timestamp, show

FIELDS: Final = {
    "rows": None,
    "intents": None,
    "ended": dict[TxId, Timestamp | None],
    "outcomes": None,
    "uncleaned": None,
    "lease_start": Timestamp,
    "safe_ts": Timestamp,
}
"""What a replica and its snapshots have besides `ops` and `catalog_version`, and the types that
`words` needs."""


class PartitionModel:
    """The state behind each command.

    `changed` are the rows with a new version since the last look.
    """

    def __init__(self, strategy: Strategy, place: PartitionId, lease_start: Timestamp) -> None:
        self._strategy = strategy
        self._place = place
        self.lease_start = lease_start
        self.safe_ts: Timestamp = MIN_TIMESTAMP
        self.catalog_version = 0
        self.rows: dict[Key, list[RowVersion]] = {}
        self.intents: dict[Key, Intent] = {}
        self.ended: dict[TxId, Timestamp | None] = {}
        self.outcomes: dict[TxId, Outcome] = {}
        self.uncleaned: dict[TxId, None] = {}
        self.ops: dict[TxId, dict[str, None]] = {}
        self.changed: dict[Key, None] = {}
        self.index = EntriesModel()

    def take(self, state: PartitionState) -> None:
        """Begin with a snapshot."""
        self.rows = {key: list(versions) for key, versions in state.rows.items()}
        self.intents = dict(state.intents)
        self.ended = dict(state.ended)
        self.outcomes = dict(state.outcomes)
        self.uncleaned = dict.fromkeys(state.uncleaned)
        self.ops = {tx: dict.fromkeys(ops) for tx, ops in state.ops.items()}
        self.lease_start = state.lease_start
        self.safe_ts = max(self.safe_ts, state.safe_ts)
        self.catalog_version = state.catalog_version
        assert state.entries is not None, f"a snapshot of {self._place} has no entries"
        self.index.take(state.entries)

    def apply(self, stamped: StampedCommand) -> object:
        """The result of a command."""
        command, stamp = stamped.command, stamped.safe_ts
        self.safe_ts = max(self.safe_ts, stamp)
        if isinstance(command, WriteIntent):
            return self._write(command)
        if isinstance(command, FullWrite):
            return self._write_and_commit(command, stamp)
        if isinstance(command, FinishTx):
            return self._finish(command)
        if isinstance(command, CleanUp):
            self._end(command.tx, command.commit_ts)
        elif isinstance(command, Cleaned):
            self.uncleaned.pop(command.tx, None)
        elif isinstance(command, PrimaryChange):
            self.lease_start = max(self.lease_start, command.lease_start)
        elif isinstance(command, FillIndex):
            self.catalog_version = max(self.catalog_version, command.catalog_version)
        elif isinstance(command, EraseIndex):
            self.index.erase(command.index_id)
        return None

    def fill(self, step: FillIndex, order: Iterable[Key], versions: Definition) -> list[Filled]:
        """What a step of a backfill changes; `order` is that in which the rows came."""
        rows: dict[Key, Versions] = {
            key: [(one.commit_ts, one.version, one.row) for one in self.rows.get(key, ())]
            for key in order
        }
        intents = {key: (one.tx, one.op, one.version, one.row) for key, one in self.intents.items()}
        return self.index.fill(step, rows, intents, partial(versions, self._place[0]))

    def _write(self, command: WriteIntent) -> Reason | None:
        tx, known = command.tx, self.intents.get(command.key)
        if tx in self.ended:
            return Reason.TX_FINISHED
        if not self._strategy.accepts_token(command.lease_start, self.lease_start):
            return Reason.PRIMARY_EXPIRED
        self.ops.setdefault(tx, {})[command.op] = None
        if known is None or known.tx != tx or known.op_ts < command.op_ts:
            self.catalog_version = max(self.catalog_version, command.catalog_version)
            self.intents[command.key] = Intent(
                tx, command.op, command.op_ts, command.version, command.row, command.commit_place
            )
            self.index.intend(tx, command.key, command.entries)
        return None

    def _write_and_commit(self, command: FullWrite, stamp: Timestamp) -> Timestamp | Reason:
        tx = command.tx
        if tx in self.ended:
            return self.ended[tx] or Reason.TX_FINISHED
        if not self._strategy.accepts_token(command.lease_start, self.lease_start):
            return Reason.PRIMARY_EXPIRED
        over = self._strategy.commit_lease(stamp, command.expires_ts) is not None
        if over and command.lease_start == self.lease_start:
            return Reason.PRIMARY_EXPIRED
        self._end(tx, None)
        self.ended[tx] = stamp
        self.catalog_version = max(self.catalog_version, command.catalog_version)
        self._put(command.key, RowVersion(tx.label, stamp, command.version, command.row))
        self.index.enter(command.key, command.entries, stamp)
        return stamp

    def _finish(self, command: FinishTx) -> Outcome:
        tx = command.tx
        if tx not in self.outcomes and tx in self.ended:
            return Outcome(self.ended[tx], ())
        if tx not in self.outcomes:
            others = tuple(place for place in command.participants if place != self._place)
            self.outcomes[tx] = Outcome(command.commit_ts, others, command.reason)
            if others:
                self.uncleaned[tx] = None
            self._end(tx, command.commit_ts)
        return self.outcomes[tx]

    def _end(self, tx: TxId, commit_ts: Timestamp | None) -> None:
        if tx in self.ended:
            return
        self.ended[tx] = commit_ts
        self.ops.pop(tx, None)
        written = [key for key, intent in self.intents.items() if intent.tx == tx]
        self.index.end(tx, written, commit_ts)
        for key, intent in list(self.intents.items()):
            if intent.tx == tx:
                del self.intents[key]
                if commit_ts is not None:
                    version = RowVersion(tx.label, commit_ts, intent.version, intent.row)
                    self._put(key, version)

    def _put(self, key: Key, version: RowVersion) -> None:
        insort_right(self.rows.setdefault(key, []), version, key=attrgetter("commit_ts"))
        self.changed[key] = None

    def as_of(self, key: Key, read_ts: Timestamp) -> RowVersion | None:
        """The last version of a row up to a timestamp."""
        found = [one for one in self.rows.get(key, ()) if one.commit_ts <= read_ts]
        return found[-1] if found else None


class ModelledPartition(Partition):
    """A replica that compares results, what commands touch, snapshots, and reads at a timestamp."""

    models: ClassVar[Models]
    is_coordinated: ClassVar[bool] = True
    """Whether what comes through its log is of transactions with coordinators."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        place: PartitionId,
        lease_start: Timestamp,
        knows: Callable[[int], bool],
    ) -> None:
        super().__init__(node, strategy, place, lease_start, knows)
        self._divergence = self.models.divergence("partition", node.name)
        self._recorded: list[Filled] = []
        self._model = PartitionModel(strategy, place, lease_start)
        self._stamps: dict[TxId, dict[str, Timestamp]] = {}
        rules = (strategy.before_commit_ts.__name__, strategy.clock.__name__)
        self._commits_above = rules == ("await_outstanding_operations", "hybrid_clock")
        self.models.at_end.append(self._compare_all)

    def apply(self, index: int, term: int, command: object) -> object:
        assert isinstance(command, StampedCommand), command
        expected = self._model.apply(command)
        self._recorded, filled = [], []
        if isinstance(command.command, FillIndex) and self.index.definition is not None:
            filled = self._model.fill(command.command, self.rows, self.index.definition)
        met = self._met(command.command)
        result: object = super().apply(index, term, command)
        if isinstance(command.command, WriteIntent) and expected is None:
            self.models.wrote[command.command.tx] = None
        if not self._divergence.is_known:
            if result != expected:
                self._divergence.compare(
                    f"the result of {words(command.command)}", result, expected
                )
            if self.applied_index != index or self.applied_term != term:
                self._divergence.found(f"index {index} was applied and is not recorded")
            self._compare_stamps(command, result)
            if met is not None and not isinstance(result, Reason):
                self._divergence.found(
                    f"{words(command.command)} comes upon the intent {words(met)}"
                )
            self._compare_touched(command.command)
            self._compare_entries(command.command)
            if self._recorded and sorted(map(repr, self._recorded)) != sorted(map(repr, filled)):
                self._divergence.compare("what a backfill has changed", self._recorded, filled)
        return result

    def _compare_stamps(self, stamped: StampedCommand, result: object) -> None:
        """Keep the first stamp of each write, until its transaction commits above them or not."""
        command = stamped.command
        if isinstance(command, WriteIntent) and result is None:
            stamps = self._stamps.setdefault(command.tx, {})
            stamps.setdefault(command.op, stamped.safe_ts)
        elif isinstance(command, FinishTx | CleanUp) and command.tx in self.ended:
            last_ts = max(self._stamps.pop(command.tx, {}).values(), default=None)
            commit_ts = self.ended[command.tx]
            late = last_ts is not None and commit_ts is not None and commit_ts <= last_ts
            if late and self._commits_above and self.is_coordinated:
                self._divergence.found(
                    f"{command.tx.label} commits at {when(commit_ts)}, and wrote at {when(last_ts)}"
                )

    def _met(self, command: object) -> Intent | None:
        """The intent of another transaction on the key of a write; a copy of one writes nothing."""
        if not isinstance(command, WriteIntent | FullWrite) or not self.is_coordinated:
            return None
        met = self.intents.get(command.key)
        if met is None or met.tx == command.tx or command.tx in self.ended:
            return None
        return met

    def _record_filled(self, stamp: Timestamp, index_id: int, one: Filled) -> None:
        self._recorded.append(one)
        super()._record_filled(stamp, index_id, one)

    def _compare_entries(self, command: object) -> None:
        model, found = self._model.index, self._divergence.found
        if isinstance(command, FillIndex | EraseIndex):
            is_through = command.index_id in {**model.complete, **self.index.complete}
            words = model.differences_of_builds(self.index)
            if is_through or isinstance(command, EraseIndex):
                words += model.differences(self.index)
        else:
            tx = getattr(command, "tx", None)
            words = [] if tx is None else model.differences_of(self.index, tx)
        if model.touched:
            words += model.differences_of_touched(self.index)
        for one in words:
            found(one)

    def _compare_touched(self, command: object) -> None:
        model = self._model
        if self.safe_ts != model.safe_ts or self.lease_start != model.lease_start:
            self._divergence.compare("safe time", self.safe_ts, model.safe_ts, Timestamp)
            self._divergence.compare("the lease", self.lease_start, model.lease_start, Timestamp)
        tx = getattr(command, "tx", None)
        if tx is None:
            return
        if self.catalog_version != model.catalog_version:
            self._divergence.found(f"{words(command)} needs another catalog version")
        if (tx in self.uncleaned) != (tx in model.uncleaned):
            self._divergence.found(f"whether {tx.label} is cleaned up differs")
        if model.changed:
            self._compare_rows()
        self._compare_intents(command, tx)
        if self.ended.get(tx, tx) != model.ended.get(tx, tx):
            self._divergence.found(f"the end of {tx.label} differs")
        if self.ops_of(tx) != model.ops.get(tx, {}):
            self._divergence.found(f"the writes of {tx.label} differ")

    def _compare_intents(self, command: object, tx: TxId) -> None:
        model = self._model
        if not isinstance(command, WriteIntent | FullWrite):
            if self.intents != model.intents:
                self._divergence.found(f"the intents that {tx.label} leaves differ")
            return
        key = command.key
        intent = self.intents.get(key)
        if intent != model.intents.get(key):
            self._divergence.found(f"the intent on {key!r} differs")
        elif intent is not None:  # equal: one object is compared faster than two
            model.intents[key] = intent

    def _compare_rows(self) -> None:
        changed, self._model.changed = self._model.changed, {}
        for key in changed:
            versions, expected = self.rows.get(key, []), self._model.rows[key]
            if len(versions) != len(expected) or versions[-1] != expected[-1]:
                self._divergence.compare(
                    f"the newest version of {key!r}", versions[-1:], expected[-1:]
                )
                self._divergence.found(f"{key!r} has {len(versions)} versions, not {len(expected)}")

    def _compare_all(self) -> None:
        """Compare the whole state."""
        for name, kind in FIELDS.items():
            self._divergence.compare(name, getattr(self, name), getattr(self._model, name), kind)
        for one in self._model.index.differences(self.index):
            self._divergence.found(one)

    def may_store(self, command: object) -> bool:
        assert isinstance(command, StampedCommand), command
        needed = getattr(command.command, "catalog_version", 0)
        return self._compare_known("stored", needed, may=super().may_store(command))

    def may_install(self, state: object) -> bool:
        assert isinstance(state, PartitionState), state
        may = super().may_install(state)
        return self._compare_known("installed", state.catalog_version, may=may)

    def _compare_known(self, what: str, needed: int, *, may: bool) -> bool:
        """Rows are taken once the node's catalog knows their schema, and then at once."""
        if may != (not needed or self._knows(needed)):
            self._divergence.found(f"whether rows of catalog version {needed} are {what} is {may}")
        return may

    def cleaned(self, tx: TxId) -> None:
        """Also where a group of one has no command that says so."""
        super().cleaned(tx)
        self._model.uncleaned.pop(tx, None)

    def snapshot(self) -> PartitionState:
        state: PartitionState = super().snapshot()
        copy = PartitionModel(self._strategy, self.place, self.lease_start)
        copy.take(state)
        for name in (*FIELDS, "ops", "catalog_version"):
            found, expected = getattr(copy, name), getattr(self._model, name)
            self._divergence.compare(f"{name} of a snapshot", found, expected, FIELDS.get(name))
        for what, got, expected in copy.index.beside(self._model.index):
            self._divergence.compare(f"{what} a snapshot", got, expected)
        return state

    def install(self, state: object) -> None:
        assert isinstance(state, PartitionState), state
        super().install(state)
        self._model.take(state)
        self._compare_all()
        self._divergence.compare("the writes in a snapshot", self._ops, self._model.ops)
        written: dict[TxId, dict[Key, None]] = {}
        for key, intent in self._model.intents.items():
            written.setdefault(intent.tx, {})[key] = None
        self._divergence.compare("whose intents there are", self._written, written)
        if (self.applied_index, self.applied_term) != (state.index, state.term):
            self._divergence.found(f"a snapshot at index {state.index} was installed as another")

    def as_of(self, key: Key, read_ts: Timestamp) -> RowVersion | None:
        found: RowVersion | None = super().as_of(key, read_ts)
        if not self._divergence.is_known:
            what = f"the version of {key!r} as of {show(read_ts)}"
            self._divergence.compare(what, found, self._model.as_of(key, read_ts))
        return found
