"""What a run has covered: features that are equal for equal behaviour, whatever world showed it.

A feature is a line of words. It names no transaction, node, table or time, so that the features of
different worlds can be compared, and it is the same in every process. There are five kinds:

* `probe NAME N`: a probe was reached about N times;
* `pair A B`: two traits (`commit`, `lock-wait`, `older-row`, ...) of one transaction;
* `ddl CHANGE OPERATION PHASE`: an operation on a table met a schema change before Tm, between Tm
  and Tu, within CSmax of Tu, or after Tu; or its transaction lived across Tu;
* `state EVENT LEASE TRANSACTION PHASE`: at an operation or the end of a transaction, the state of
  the lease that it runs under, what it had done before, and the phase of the table's DDL;
* `fault NAME EVENT`: what happened while a fault lasted.

Probes carry no transaction, so pairs are of traits that the events of a transaction show.
"""

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any, Final, NamedTuple

from ddlsim.history.events import (
    Encoded,
    Enlisted,
    LockWaited,
    MetadataRead,
    ReadExecuted,
    RowRead,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaseBegan,
    NodeCrashed,
    SnapshotInstalled,
    TxRecovered,
)
from ddlsim.units import LOGICAL_BITS

Features = frozenset[str]
BUCKETS: Final = (1, 2, 3, 4, 8, 16, 32, 128)
"""A count is known by the largest of these that it reaches."""
QUIET: Final = "quiet"
"""The phase of a table without a schema change near."""
Operation = ReadExecuted | WriteExecuted | MetadataRead | Enlisted


def features(history: History) -> Features:
    """Everything that the run of a history has covered."""
    return _Coverage(history).features()


def bucket(count: int) -> int:
    """The largest bucket that a count, at least 1, reaches."""
    return max(one for one in BUCKETS if one <= count)


class _Change(NamedTuple):
    """A schema change of one object: its kinds, and its timestamps Tm and Tu."""

    label: str
    version: int
    message_ts: int
    activation_ts: int


class _Transaction:
    """What is known of a transaction by now."""

    __slots__ = ("begin_ts", "enlisted", "groups", "ran", "traits")

    def __init__(self) -> None:
        self.begin_ts: int | None = None
        self.traits: set[str] = set()
        self.enlisted: dict[int, int] = {}  # by object: enlist_ts
        self.ran: dict[int, None] = {}  # the tables on which operations ran
        self.groups: dict[str, None] = {}

    def did(self) -> str:
        """What it had done before: nothing, reads or writes, read-only or implicitly."""
        if "read-only" in self.traits:
            return "read-only"
        done = "wrote" if "write" in self.traits else "read" if "read" in self.traits else "new"
        return f"{done}-implicit" if "implicit" in self.traits else done


class _Coverage:
    """One pass over the events of a history."""

    def __init__(self, history: History) -> None:
        self._history = history
        settings = history.header.settings.values()
        skew_ms = min((one.get("max_clock_skew_ms", 0) for one in settings), default=0)
        self._skew = skew_ms << LOGICAL_BITS
        self._changes: dict[int, list[_Change]] = {}
        self._transactions: dict[str, _Transaction] = {}
        self._leases: dict[str, LeaseBegan] = {}
        self._moved: dict[str, int] = {}  # by group: start_ts of its latest new holder
        self._encoded: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._found: set[str] = set()
        self._handlers: dict[type, Callable[[Any], None]] = {
            TxBegan: self._began,
            SchemaResolved: self._resolved,
            LockWaited: self._waited,
            Encoded: self._encoded_row,
            Enlisted: self._enlisted,
            ReadExecuted: self._read,
            WriteExecuted: self._written,
            MetadataRead: self._metadata_read,
            TxCommitted: self._committed,
            TxAborted: self._aborted,
            TxRecovered: self._recovered,
            LeaseBegan: self._lease,
            FaultBegan: self._fault_began,
            FaultHealed: self._fault_healed,
            LeaderElected: lambda _: self._under_faults("election"),
            NodeCrashed: lambda _: self._under_faults("crash"),
            SnapshotInstalled: lambda _: self._under_faults("snapshot"),
            UpdateLogged: lambda _: self._under_faults("ddl"),
        }

    def features(self) -> Features:
        """Go through the events; changes first, since an operation may precede the record of one
        that it meets."""
        for event in self._history.events:
            if type(event) is UpdateLogged and event.op is not None:
                self._add_change(event)
        handlers = self._handlers
        for event in self._history.events:
            handler = handlers.get(type(event))
            if handler is not None:
                handler(event)
        self._add_pairs()
        for name, count in self._history.probes.items():
            self._found.add(f"probe {name} {bucket(count)}")
        return frozenset(self._found)

    def _add_change(self, update: UpdateLogged) -> None:
        for each in update.objects:
            tags = {str(change.__struct_config__.tag) for change in each.changes}
            label = "+".join(sorted(tags))
            change = _Change(label, each.version, update.message_ts, update.activation_ts)
            self._changes.setdefault(each.object_id, []).append(change)

    def _add_pairs(self) -> None:
        for traits in {frozenset(one.traits) for one in self._transactions.values()}:
            for first, second in combinations(sorted(traits), 2):
                self._found.add(f"pair {first} {second}")

    # --- schema changes ---------------------------------------------------------------------------

    def _met(self, object_id: int, ts: int, operation: str) -> str:
        """The phase of the table's change that is near `ts`, as a feature and as a word."""
        for change in reversed(self._changes.get(object_id, ())):
            phase = _phase(change, ts, self._skew)
            if phase != QUIET:
                self._found.add(f"ddl {change.label} {operation} {phase}")
                return phase
        return QUIET

    def _crossed(self, transaction: _Transaction, end: str, end_ts: int | None) -> None:
        """Changes that became active between a transaction's first use of a table and its end."""
        for object_id, enlist_ts in transaction.enlisted.items():
            for change in self._changes.get(object_id, ()):
                if enlist_ts < change.activation_ts and (
                    end_ts is None or change.activation_ts <= end_ts
                ):
                    self._found.add(f"ddl {change.label} {end} across")

    # --- transactions -----------------------------------------------------------------------------

    def _of(self, tx: str) -> _Transaction:
        found = self._transactions.get(tx)
        if found is None:
            found = self._transactions[tx] = _Transaction()
        return found

    def _began(self, event: TxBegan) -> None:
        transaction = self._of(event.tx)
        transaction.begin_ts = event.begin_ts
        if event.implicit:
            transaction.traits.add("implicit")
        if event.read_ts is not None:
            transaction.traits.add("read-only")

    def _resolved(self, event: SchemaResolved) -> None:
        if event.waited_us:
            self._of(event.tx).traits.add("completeness-wait")
        if not event.version and event.name is None:
            self._of(event.tx).traits.add("table-gone")

    def _waited(self, event: LockWaited) -> None:
        self._of(event.tx).traits.add("lock-wait" if event.granted else "lock-refused")

    def _encoded_row(self, event: Encoded) -> None:
        self._encoded[event.op] += 1

    def _enlisted(self, event: Enlisted) -> None:
        transaction = self._of(event.tx)
        if event.object_id not in transaction.ran:  # else a later one changes nothing [110.quirk]
            transaction.enlisted[event.object_id] = event.enlist_ts
        if len(transaction.enlisted) > 1:
            transaction.traits.add("several-tables")
        self._met(event.object_id, event.enlist_ts, "enlist")

    def _read(self, event: ReadExecuted) -> None:
        kind = "scan" if event.predicate else "read"
        transaction = self._operated(event, kind, event.op_ts, event.partition)
        transaction.traits.add("read")
        if event.predicate:
            transaction.traits.add("scan")
        for row in event.rows:
            trait = _trait_of_row(row, event.version)
            if trait is not None:
                transaction.traits.add(trait)

    def _written(self, event: WriteExecuted) -> None:
        kind = "delete" if event.row is None else "write"
        transaction = self._operated(event, kind, event.op_ts, event.partition)
        transaction.traits.update(("write", kind))
        if self._encoded[event.op] > 1:
            transaction.traits.add("client-version-refreshed")

    def _metadata_read(self, event: MetadataRead) -> None:
        transaction = self._of(event.tx)
        transaction.traits.add("metadata")
        begin_ts = transaction.enlisted.get(event.object_id)
        if begin_ts is not None:
            self._met(event.object_id, begin_ts, "metadata")

    def _operated(
        self, event: ReadExecuted | WriteExecuted, kind: str, op_ts: int, partition: int
    ) -> _Transaction:
        transaction = self._of(event.tx)
        phase = self._met(event.object_id, op_ts, kind)
        group = f"{event.object_id}/{partition}"
        transaction.groups[group] = None
        transaction.ran[event.object_id] = None
        if len(transaction.groups) > 1:
            transaction.traits.add("several-partitions")
        lease = self._lease_state(transaction, group, op_ts)
        self._found.add(f"state {kind} {lease} {transaction.did()} {phase}")
        return transaction

    def _committed(self, event: TxCommitted) -> None:
        transaction = self._of(event.tx)
        transaction.traits.add("commit")
        phases = []
        for object_id, initial, version in event.tables:
            phases.append(self._met(object_id, event.commit_ts, "commit"))
            if initial != version:
                transaction.traits.add("transborder" if version else "transborder-drop")
        self._crossed(transaction, "commit", event.commit_ts)
        self._ended(transaction, "commit", event.commit_ts, max(phases, default=QUIET, key=_rank))

    def _aborted(self, event: TxAborted) -> None:
        transaction = self._of(event.tx)
        transaction.traits.add(f"abort-{event.reason.lower().replace('_', '-')}")
        self._ended(transaction, "abort", None, QUIET)

    def _recovered(self, event: TxRecovered) -> None:
        self._of(event.tx).traits.add(f"recovered-{event.outcome}")
        self._under_faults("recovery")

    def _ended(self, transaction: _Transaction, end: str, ts: int | None, phase: str) -> None:
        leases = [self._lease_state(transaction, group, ts) for group in transaction.groups]
        lease = max(leases, default="none", key=_rank)
        self._found.add(f"state {end} {lease} {transaction.did()} {phase}")
        self._under_faults(end)

    # --- leases and faults ------------------------------------------------------------------------

    def _lease(self, event: LeaseBegan) -> None:
        before = self._leases.get(event.group)
        if before is None or (before.holder, before.start_ts) != (event.holder, event.start_ts):
            self._moved[event.group] = event.start_ts
            if before is not None:
                self._under_faults("lease-moved")
        self._leases[event.group] = event

    def _lease_state(self, transaction: _Transaction, group: str, ts: int | None) -> str:
        """`none`, `held`, `ending` (within CSmax), `over`, or `moved` since its transaction began.

        Without a timestamp, as of an abort, it is `moved` or `held`.
        """
        lease = self._leases.get(group)
        if lease is None:
            return "none"
        if transaction.begin_ts is not None and self._moved[group] > transaction.begin_ts:
            return "moved"
        left = None if ts is None else lease.expiration_ts - ts
        if left is None or left > self._skew:
            return "held"
        return "ending" if left > 0 else "over"

    def _fault_began(self, event: FaultBegan) -> None:
        self._faults[event.fault] += 1

    def _fault_healed(self, event: FaultHealed) -> None:
        self._faults[event.fault] -= 1

    def _under_faults(self, what: str) -> None:
        for name, count in self._faults.items():
            if count > 0:
                self._found.add(f"fault {name} {what}")


ORDER: Final = (
    "none",
    QUIET,
    "held",
    "before",
    "after",
    "pending",
    "at",
    "ending",
    "over",
    "moved",
)
"""Of several phases or states of leases, the last in this order stands for all."""


def _rank(word: str) -> int:
    return ORDER.index(word)


def _phase(change: _Change, ts: int, skew: int) -> str:
    """Where a timestamp lies about a change; `quiet` where it is further away than DD."""
    tm, tu = change.message_ts, change.activation_ts
    near = max(tu - tm, 1 << LOGICAL_BITS)
    if abs(ts - tu) <= skew:
        return "at"
    if ts >= tu:
        return "after" if ts < tu + near else QUIET
    if ts >= tm:
        return "pending"
    return "before" if ts >= tm - near else QUIET


def _trait_of_row(row: RowRead, version: int) -> str | None:
    """What is remarkable about a row read under a version: no row, or one of another version."""
    if row.writer is None:
        return "miss"
    if row.row_version == version:
        return None
    return "newer-row" if row.row_version > version else "older-row"
