"""What must justify an abort for another reason than the schema in the history; part of I11.

A lock is refused because an older transaction may have held it, or an intent is there whose lock
was lost with its lease; a lease is over because one ended; what timed out took as long as its time
limit; what was unreachable was so for as long as an operation may take, or refused by a node that
had crashed. What a history cannot decide is not judged: in a run that holds messages back or loses
them (not `calm`), or after a fault, any node may be silent for long. Silence ends no lease before
its time: `lease_may_be_refused` has what else may have refused one that lasts, one by one.

Refused rows and columns are judged in `row_grounds`. A history of an earlier version lacks the
names that operations use, which leaves some reasons undecided; `undecided` counts them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.constraints import uniques
from ddlsim.checkers.case.operations import AT_THE_PRIMARY
from ddlsim.checkers.needless.metadata_grounds import metadata_late
from ddlsim.checkers.needless.needless import Needless
from ddlsim.checkers.needless.row_grounds import (
    bad_row,
    check_violated,
    column_not_found,
    key_exists,
    tells_names,
    unique_violated,
)
from ddlsim.checkers.progress.bounds import Bounds
from ddlsim.checkers.progress.faulty_nodes import SLOW_LISTENER
from ddlsim.history.events import (
    Failed,
    LockWaited,
    ReadExecuted,
    SchemaResolved,
    TxAborted,
    Unknown,
    WriteExecuted,
)
from ddlsim.history.index_events import IndexPartRead
from ddlsim.history.world_events import (
    FaultBegan,
    LeaderElected,
    LeaseBegan,
    NodeCrashed,
    SettingChanged,
    TxRecovered,
)
from ddlsim.model.groups import META
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.units import MAX_TIMESTAMP, US_PER_MS, Timestamp, as_ms, physical_ms, show

WRITES: Final = ("put", "delete", "insert", "replace", "update")
"""What locks its row exclusively, whether it then writes or not."""
WAITS: Final = "await_outstanding_operations"
"""The rule by which no operation is under way once a transaction has its commit_ts."""


class Touch(NamedTuple):
    """An operation at a primary that holds locks there, or asks for them: `key` None is a scan."""

    at_us: int
    tx: str
    key: Any
    writes: bool


class Grounds:
    """One history, and what may justify its aborts."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.clocks = case.once(Clocks)
        self._touches: dict[tuple[str, int], list[Touch]] | None = None
        self._unique: dict[int, bool] = {}
        self._refused: dict[str, list[tuple[int, LockWaited]]] = defaultdict(list)
        for at, waited in case.of(LockWaited):
            if not waited.granted:
                self._refused[waited.tx].append((at, waited))
        self._moved: dict[str, dict[int, int]] = defaultdict(dict)  # by start: known since
        self._ends: dict[str, list[int]] = defaultdict(list)
        self._first_ends: dict[str, list[int]] = defaultdict(list)  # of a place's first lease
        for _, lease in case.of(LeaseBegan):
            self._moved[lease.group].setdefault(lease.start_ts, lease.at_us)
            self._ends[lease.group].append(lease.expiration_ts)
            if lease.start_ts == next(iter(self._moved[lease.group])):
                self._first_ends[lease.group].append(lease.expiration_ts)

    # --- the run ----------------------------------------------------------------------------------

    def disturbed(self, at_us: int) -> bool:
        """Whether something may have been silent by then: a fault, a loss, a script."""
        if not self.case.of_cluster.get("calm"):
            return True
        return any(event.at_us <= at_us for event in self.case.faults)

    def lease_may_be_refused(self, at_us: int) -> bool:
        """Whether a lease that lasts may have been refused by then, for what a fault has caused.

        A node that restarts holds no lease of its earlier life. Where the meta storage has another
        leader, two placement drivers may have asked for one lease, and the group takes writes of
        the later one alone. Where applying is slow, a lease may be there before its table. Whatever
        else is silent or late refuses nothing before some lease ends.
        """
        case = self.case
        if case.of_cluster.get("staged", not case.of_cluster.get("calm")):
            return True
        causes = [event.at_us for _, event in case.of(NodeCrashed)]
        causes += [one.at_us for _, one in case.of(LeaderElected) if one.group == META]
        causes += [one.at_us for _, one in case.of(FaultBegan) if one.fault == SLOW_LISTENER]
        return any(one <= at_us for one in causes)

    @property
    def staged(self) -> bool:
        """Whether messages may have been held back by a script."""
        return not self.case.of_cluster.get("calm")

    def limit_us(self, key: str) -> int:
        """The smallest value of a time limit that any node ever had; 0 where it is not known."""
        values = self.case.settings(key)
        changes = [one for _, one in self.case.of(SettingChanged)]
        values += [one.value for one in changes if one.key == key]
        return min(values, default=0) * US_PER_MS

    def took_us(self, tx: Transaction, aborted: TxAborted) -> int:
        """From its begin to its abort."""
        placed = self.case.began.get(tx.name)
        return aborted.at_us - (0 if placed is None else placed[1].at_us)

    def shorter_than(self, key: str, tx: Transaction, aborted: TxAborted) -> str | None:
        """Why a time limit cannot have ended it, if so."""
        limit_us, took_us = self.limit_us(key), self.took_us(tx, aborted)
        if took_us >= limit_us:
            return None
        return f"it was {as_ms(took_us)} ms old, and {key} is {as_ms(limit_us)}"

    def sooner_than(self, key: str, tx: Transaction, aborted: TxAborted) -> str | None:
        """Why no operation that may have caused the abort can have used up its time, if so.

        Those are the ones that failed for its reason; and those whose client gave up first, which
        their coordinator goes on with: they have lasted until the abort at most.
        """
        limit_us, longest_us = self.limit_us(key), None
        for op in tx.ops:
            operation = self.case.operations.get(op)
            if operation is None or operation.invoked is None:
                continue
            ended = operation.ended
            if isinstance(ended, Failed) and ended.reason == aborted.reason:
                until_us = ended.at_us
            elif ended is None or isinstance(ended, Unknown):
                until_us = aborted.at_us
            else:
                continue
            longest_us = max(longest_us or 0, until_us - operation.invoked.at_us)
        if longest_us is None or longest_us >= limit_us:
            return None
        return f"no operation of it took {as_ms(limit_us)} ms, which {key} is"

    def groups(self, tx: Transaction) -> list[str]:
        """The partitions' groups of every table that it had to do with."""
        tables = {event.object_id: None for _, event in tx.enlisted}
        tables |= {event.object_id: None for event in tx.accesses}
        tables |= {event.object_id: None for _, event in tx.resolved}
        return [group for group in self._moved if int(group.partition("/")[0]) in tables]

    def lease_is_over(self, tx: Transaction, at_us: int) -> bool:
        """Whether some lease of its tables had ended by then, on any clock, or had moved."""
        skew_ms = max(self.case.settings("max_clock_skew_ms"), default=0)
        shown_ms = self.clocks.furthest_ms(at_us) + skew_ms
        groups = self.groups(tx)
        if not groups or any(self._has_moved(group, at_us) for group in groups):
            return True
        ends = [physical_ms(Timestamp(end)) for group in groups for end in self._ends[group]]
        return min(ends) <= shown_ms

    def outlasted(self, tx: Transaction, at_us: int) -> Timestamp | None:
        """The commit_ts of a transaction that every lease of its tables surely lasts beyond.

        Whatever the faults, the coordinator judges leases once it has each prolongation that can
        come up to commit_ts. A one-phase write is judged by the end that its primary knew.
        """
        if tx.implicit or self.case.header.design.rules.get("before_commit_ts", WAITS) != WAITS:
            return None
        looked_up = [one for at, one in tx.resolved if at < tx.aborted_at]
        commit_ts = next((one.ts for one in reversed(looked_up) if one.purpose == "commit"), None)
        groups = self.groups(tx)
        if commit_ts is None or not groups or any(self._has_moved(one, at_us) for one in groups):
            return None
        end_ts = min(max(self._first_ends[group]) for group in groups)
        return Timestamp(commit_ts) if commit_ts < end_ts else None

    def _has_moved(self, group: str, at_us: int) -> bool:
        """Whether any node knew another lease of a place than its first by then."""
        return sum(since_us <= at_us for since_us in self._moved[group].values()) > 1

    # --- locks ------------------------------------------------------------------------------------

    def last_refused(self, tx: Transaction) -> LockWaited | None:
        """The last lock that was refused to a transaction before its abort."""
        before = [one for at, one in self._refused.get(tx.name, ()) if at < tx.aborted_at]
        return before[-1] if before else None

    def touches(self, node: str, object_id: int) -> list[Touch]:
        """Every operation of a table at a node, in the order in which they were seen."""
        if self._touches is None:
            found: dict[tuple[str, int], list[Touch]] = defaultdict(list)
            for (where, table), touch in self._all_touches():
                found[where, table].append(touch)
            self._touches = dict(found)
        return self._touches.get((node, object_id), [])

    def _all_touches(self) -> Iterator[tuple[tuple[str, int], Touch]]:
        case = self.case
        for _, read in case.of(ReadExecuted):
            if case.transactions[read.tx].read_ts is not None:
                continue  # it reads the past, without locks
            writes = self.writes(read.op)
            for row in read.rows if not read.predicate else ():
                yield (
                    (read.node, read.object_id),
                    Touch(read.at_us, read.tx, _hashable(row.key), writes),
                )
            if read.predicate:
                yield (read.node, read.object_id), Touch(read.at_us, read.tx, None, writes=False)
        for _, found in case.of(IndexPartRead):
            if case.transactions[found.tx].read_ts is None:
                touch = Touch(found.at_us, found.tx, None, writes=False)
                yield (found.node, found.object_id), touch
        for _, write in case.of(WriteExecuted):
            touch = Touch(write.at_us, write.tx, _hashable(write.key), writes=True)
            yield (write.node, write.object_id), touch
        asks: list[LockWaited | SchemaResolved] = [event for _, event in case.of(LockWaited)]
        asks += [event for _, event in case.of(SchemaResolved) if event.purpose in AT_THE_PRIMARY]
        for asked in asks:
            operation = case.operations.get(asked.op or "")
            if operation is not None and operation.invoked is not None:
                invoked = operation.invoked
                at_us = asked.at_us - asked.waited_us
                touch = Touch(at_us, asked.tx, _hashable(invoked.key), invoked.kind in WRITES)
                yield (asked.node, asked.object_id), touch

    def writes(self, op: str) -> bool:
        """Whether an operation locks its row exclusively; of what is not known, it is assumed."""
        operation = self.case.operations.get(op)
        return operation is None or operation.invoked is None or operation.invoked.kind in WRITES

    def in_the_way(self, waited: LockWaited) -> Iterator[Touch]:
        """What others had done or asked for by then that a lock conflicts with."""
        writes, key = self.writes(waited.op), _hashable(waited.key)
        for touch in self.touches(waited.node, waited.object_id):
            if touch.tx == waited.tx or touch.at_us > waited.at_us:
                continue
            if key is not None:
                conflicts = touch.key == key and (touch.writes or writes)
            elif writes:  # a partition, for writing: scans; values in a unique index: writers
                scans = touch.key is None and not touch.writes
                conflicts = scans or (touch.writes and self._has_uniques(waited.object_id))
            else:
                conflicts = touch.writes
            if conflicts:
                yield touch

    def _has_uniques(self, object_id: int) -> bool:
        """Whether a table ever had a unique index."""
        if object_id not in self._unique:
            steps = self.case.schemas.steps(object_id, 0, MAX_TIMESTAMP)
            tables = [one.definition for one in steps if isinstance(one.definition, Table)]
            self._unique[object_id] = any(uniques(table, built=False) for table in tables)
        return self._unique[object_id]

    def may_hold(self, refused: LockWaited, tx: Transaction) -> bool:
        """Whether an older transaction may have held, or awaited, what was refused."""
        return any(
            self._is_older(touch.tx, tx.name) and self._lives(touch.tx, refused)
            for touch in self.in_the_way(refused)
        )

    def may_meet_intent(self, refused: LockWaited) -> bool:
        """Whether an intent may be there without its lock: its lease moved, or its node was faulty.

        Or it was written under a version that lacks a unique index, whose values are refused. Then
        it does not matter which of the two transactions is older.
        """
        group = f"{refused.object_id}/"
        moved = any(
            len(starts) > 1 for name, starts in self._moved.items() if name.startswith(group)
        )
        anyhow = moved or self.disturbed(refused.at_us)
        key = _hashable(refused.key)
        return any(
            write.object_id == refused.object_id
            and write.tx != refused.tx
            and write.at_us <= refused.at_us
            and key in (None, _hashable(write.key))
            and (anyhow or (key is None and self._locks_no_values(write)))
            for _, write in self.case.of(WriteExecuted)
        )

    def _locks_no_values(self, write: WriteExecuted) -> bool:
        """Whether a later version of the table has a unique index that the write's one has not."""
        steps = self.case.schemas.steps(write.object_id, write.version - 1, MAX_TIMESTAMP)
        tables = [one.definition for one in steps if isinstance(one.definition, Table)]
        found = [uniques(table, built=False) for table in tables]
        return any(unique not in found[0] for later in found[1:] for unique in later)

    def _is_older(self, other: str, name: str) -> bool:
        one, mine = self.case.began.get(other), self.case.began.get(name)
        return one is None or mine is None or one[1].begin_ts <= mine[1].begin_ts

    def _lives(self, name: str, refused: LockWaited) -> bool:
        """Whether it may still have had locks when the other began to ask.

        In a calm run it is cleaned up within the time that no operation's bound is below.
        """
        if self.disturbed(refused.at_us):
            return True
        ends = self.case.transactions[name].ended_us
        grace_us = self.case.once(Bounds).operation_us((0,))
        return not ends or min(ends) + grace_us >= refused.at_us - refused.waited_us


# --- the reasons ---------------------------------------------------------------------------------


def _locked(grounds: Grounds, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """Wait-die refuses a lock that an older transaction holds, or waits for ahead of it."""
    refused = grounds.last_refused(tx)
    del aborted
    if refused is None:
        if not tells_names(grounds.case):
            return None
        return Needless("no-lock-refused", "no lock was refused to it")
    if grounds.may_hold(refused, tx) or grounds.may_meet_intent(refused):
        return None
    what = "a partition" if refused.key is None else f"row {refused.key!r}"
    return Needless(
        "no-lock-holder",
        f"no older transaction had used {what} of {grounds.case.schemas.name(refused.object_id)} "
        f"on node {refused.node}",
    )


def _lease_ended(grounds: Grounds, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """A node is no primary any longer once its lease is over, or it has crashed."""
    at_us = aborted.at_us
    commit_ts = grounds.outlasted(tx, at_us)
    if commit_ts is not None:
        what = f"every lease of its tables lasts beyond its commit_ts, {show(commit_ts)}"
        return Needless("no-lease-ended", what)
    if grounds.lease_may_be_refused(at_us) or grounds.lease_is_over(tx, at_us):
        return None
    return Needless("no-lease-ended", "no lease of any of its tables had ended or moved by then")


def _never_answered(grounds: Grounds, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """No answer within an operation's time limit; a dead node alone refuses sooner.

    A read-only transaction asks one replica after the other until its time is over.
    """
    sooner = grounds.sooner_than("operation_timeout_ms", tx, aborted)
    sooner = sooner or grounds.shorter_than("operation_timeout_ms", tx, aborted)
    faults = grounds.case.faults
    died = any(isinstance(one, NodeCrashed) and one.at_us <= aborted.at_us for one in faults)
    if sooner is None or (tx.read_ts is None and (died or grounds.staged)):
        return None
    return Needless("no-fault", f"{sooner}, and no node that it asked had crashed by then")


def _no_primary(grounds: Grounds, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """A coordinator looks for a primary for as long as an operation may take."""
    sooner = grounds.shorter_than("operation_timeout_ms", tx, aborted)
    if tx.read_ts is None:
        sooner = sooner or grounds.sooner_than("operation_timeout_ms", tx, aborted)
    return None if sooner is None else Needless("too-early", sooner)


def _timed_out(grounds: Grounds, tx: Transaction, aborted: TxAborted) -> Needless | None:
    shorter = grounds.shorter_than("tx_timeout_ms", tx, aborted)
    return None if shorter is None else Needless("too-early", shorter)


def _recovered(grounds: Grounds, tx: Transaction, _: TxAborted) -> Needless | None:
    """Another node aborted it: that is an outcome stored at its commit partition, with an event."""
    if any(event.tx == tx.name for _, event in grounds.case.of(TxRecovered)):
        return None
    return Needless("not-recovered", "no commit partition had stored that it is aborted")


def _read_only(grounds: Grounds, tx: Transaction, _: TxAborted) -> Needless | None:
    """It reads at a timestamp, and was asked to write."""
    asked = [grounds.case.operations.get(op) for op in tx.ops]
    kinds = [one.invoked.kind for one in asked if one is not None and one.invoked is not None]
    if tx.read_ts is not None and (not kinds or any(kind in WRITES for kind in kinds)):
        return None
    why = "it is not read-only" if tx.read_ts is None else "no operation of it writes"
    return Needless("not-written-to", why)


def _rolled_back(grounds: Grounds, tx: Transaction, _: TxAborted) -> Needless | None:
    """Its client rolled it back, or gave up after an operation failed or was not answered.

    Later operations fail because it is rolled back; that is no cause.
    """
    for op in tx.ops:
        operation = grounds.case.operations.get(op)
        if operation is None or operation.invoked is None:
            continue
        ended = operation.ended
        if operation.invoked.kind == "rollback" or ended is None:
            return None
        if isinstance(ended, Unknown):
            return None
        if isinstance(ended, Failed) and ended.reason != Reason.ROLLED_BACK.name:
            return None
    return Needless("not-asked-for", "its client neither rolled it back nor gave it up")


def _finished(grounds: Grounds, tx: Transaction, aborted: TxAborted) -> Needless | None:
    """It had ended for a primary already: it was recovered, or its locks ended with a lease."""
    if grounds.disturbed(aborted.at_us) or _recovered(grounds, tx, aborted) is None:
        return None
    if grounds.lease_is_over(tx, aborted.at_us):
        return None
    return Needless("not-finished", "nothing had ended it before")


def undecided(case: Case) -> int:
    """How many aborted transactions have a reason that the history cannot decide."""
    if tells_names(case):
        return 0
    refused = {event.tx for _, event in case.of(LockWaited) if not event.granted}
    return sum(
        tx.aborted.reason in ("COLUMN_NOT_FOUND", "BAD_ROW")
        or (tx.aborted.reason == "LOCK_CONFLICT" and tx.name not in refused)
        for tx in case.transactions.values()
        if tx.aborted is not None
    )


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


GROUNDS: Final[dict[str, Callable[[Grounds, Transaction, TxAborted], Needless | None]]] = {
    "LOCK_CONFLICT": _locked,
    "PRIMARY_EXPIRED": _lease_ended,
    "PRIMARY_MISSING": _no_primary,
    "NODE_UNREACHABLE": _never_answered,
    "TX_TIMED_OUT": _timed_out,
    "TX_RECOVERED": _recovered,
    "METADATA_LATE": lambda grounds, tx, _: metadata_late(grounds.case, tx),
    "READ_ONLY": _read_only,
    "ROLLED_BACK": _rolled_back,
    "TX_FINISHED": _finished,
    "COLUMN_NOT_FOUND": lambda grounds, tx, _: column_not_found(grounds.case, tx),
    "BAD_ROW": lambda grounds, tx, _: bad_row(grounds.case, tx),
    "KEY_EXISTS": lambda grounds, tx, _: key_exists(grounds.case, tx),
    "UNIQUE_VIOLATED": lambda grounds, tx, _: unique_violated(grounds.case, tx),
    "CHECK_VIOLATED": lambda grounds, tx, _: check_violated(grounds.case, tx),
}
"""A rule for each reason of an abort; it returns None where the history justifies the abort."""
