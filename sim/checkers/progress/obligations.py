"""Part of I9: in a calm run (`calm`) whatever is due comes.

* Every request is answered, a statement's too, within what its steps take (`_Requests`). "No node
  answered" and "no node is primary" are no answers.
* Every transaction ends within its time limit and the time of its commit, so every lock and every
  intent goes with it. This is judged in other runs too, whose settings or losses excuse a longer
  time and not one without end, unless a script holds messages, or clocks are so far apart that no
  lease lasts until its holder learns of it.
* The schema safe time of every node moves with each idle command, that of a replicated partition on
  every replica with each of its own.
* Where there are no safe times, leases and groups, transactions alone are judged.
* An index goes on to its next state (`index_progress`), in other runs too where SQL is a layer on a
  store; an old name ends (`alias_progress`).
* No leader steps down, and no partition in use is without a primary for longer than it takes to
  replace one.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Operation, Transaction
from ddlsim.checkers.case.enlistments import COORDINATOR_RETRY
from ddlsim.checkers.progress.alias_progress import alias_progress
from ddlsim.checkers.progress.calm import TICKS_US, Calm
from ddlsim.checkers.progress.index_progress import abandoned_indexes, index_progress
from ddlsim.history.events import AnyEvent, Failed, SafeTimeAdvanced, Unknown, UpdateLogged
from ddlsim.history.world_events import (
    LeaderSteppedDown,
    LeaseBegan,
    LeftOpen,
    PartitionSafeTime,
    TxRecovered,
)
from ddlsim.model.groups import META
from ddlsim.units import US_PER_MS, Timestamp, as_ms, physical_ms, show

SILENCE: Final = ("NODE_UNREACHABLE", "PRIMARY_MISSING")
"""Reasons that say that a node's answer did not come."""
UNFAIR: Final = 4
"""How much longer anything may last where messages are lost or time limits are too short."""
MESSAGES: Final = 60
"""More messages in a row than any operation takes at its primaries."""


def obligations(case: Case) -> Iterator[Anomaly]:
    """What did not come though it was due, where the run is calm."""
    calm = case.once(Calm)
    if calm.from_us is not None and calm.from_us < case.history.end_us:
        yield from _in_calm(case, calm, calm.from_us)
    yield from _left_open(case, calm)
    yield from abandoned_indexes(case)


def _in_calm(case: Case, calm: Calm, from_us: int) -> Iterator[Anomaly]:
    if case.is_layered:
        yield from _transactions(case, calm, from_us)
        return
    yield from _safe_times(case, calm, from_us)
    yield from _partitions(case, calm, from_us)
    yield from _leaders(case, from_us)
    yield from alias_progress(case, calm, from_us)
    if calm.leases_last:
        yield from _primaries(case, calm, from_us)
        if calm.answers_come:
            yield from _transactions(case, calm, from_us)
        ended_us = transaction_us(calm) + late_leader_us(calm)
        yield from index_progress(case, calm, from_us, ended_us)
        yield from _Requests(case, calm, from_us).check()


# --- requests -------------------------------------------------------------------------------------


class _Requests:
    """Requests of clients against the time that their steps take at most."""

    def __init__(self, case: Case, calm: Calm, from_us: int) -> None:
        self._case = case
        self._calm = calm
        self._from_us = from_us
        self._users: dict[int, list[Transaction]] = {}

    def check(self) -> Iterator[Anomaly]:
        """Each request that its client gave up, or whose node gave up."""
        unanswered = [one for one in self._case.operations.values() if _is_unanswered(one)]
        if not unanswered:
            return
        for tx in self._case.transactions.values():
            for object_id in {event.object_id: None for _, event in tx.enlisted}:
                self._users.setdefault(object_id, []).append(tx)
        for operation in unanswered:
            asked, ended = operation.invoked, operation.ended
            assert asked is not None, operation.name
            assert ended is not None, operation.name
            due_us = self._due_us(operation)
            took_us = ended.at_us - asked.at_us
            if due_us is not None and took_us > due_us:
                yield Anomaly(
                    "never-answered",
                    f"{asked.client} had no answer to {asked.op} ({asked.kind}) from {asked.node} "
                    f"in {as_ms(took_us)} ms; nothing was broken, and {as_ms(due_us)} ms "
                    "are enough",
                    (asked, ended),
                    clauses=("110.req.0",),
                )

    def _due_us(self, operation: Operation) -> int | None:
        """How long it takes at most to be answered; None where that is not known."""
        asked, calm = operation.invoked, self._calm
        assert asked is not None, operation.name
        if asked.at_us < self._from_us:
            return None
        clients_us = 4 * calm.slowest_us + TICKS_US
        if asked.kind == "ddl":
            return statement_us(self._case, calm, operation)
        names = operation.txs or ({} if asked.tx is None else {asked.tx: None})
        txs = [self._case.transactions[one] for one in names if one in self._case.transactions]
        began = [self._case.began[tx.name][1] for tx in txs if tx.name in self._case.began]
        if any(event.at_us < self._from_us for event in began) or self._uses_dropped(txs):
            return None
        if asked.kind in {"begin", "rollback"}:
            return clients_us
        if asked.kind == "commit":
            return clients_us + commit_us(calm)
        data_us = self._data_us(operation, txs)
        return None if data_us is None else clients_us + data_us

    def _data_us(self, operation: Operation, txs: list[Transaction]) -> int | None:
        """A data operation: five times another schema, then its steps, its locks, its commit."""
        calm, asked = self._calm, operation.invoked
        implicit = asked is not None and asked.tx is None
        refreshed_us = 5 * (2 * calm.slowest_us + calm.completeness_us)
        once_us = data_us(calm) + (commit_us(calm) if implicit else 0)
        if any(tx.read_ts is not None for tx in txs):
            if calm.smallest_us("read_resend_ms") < 2 * calm.slowest_us + TICKS_US:
                return None  # each replica may answer when another one was asked already
            return refreshed_us + once_us + past_us(calm)
        if self._is_contended(operation, txs):
            held_us = calm.largest_us("tx_timeout_ms") + commit_us(calm)
            once_us += 3 * held_us if implicit else held_us
        if implicit and len(txs) != 1:
            once_us += calm.largest_us("tx_timeout_ms")
        is_write = asked is not None and asked.kind not in {"get", "scan"}
        if implicit and is_write:
            once_us += late_leader_us(calm)
        return refreshed_us + once_us * self._sent(operation, txs)

    def _sent(self, operation: Operation, txs: list[Transaction]) -> int:
        """How often it is sent where its coordinator may enlist a table again [110.quirk]."""
        if self._case.header.design.rules.get("enlists_again") != COORDINATOR_RETRY:
            return 1
        looked_up = (one for tx in txs for _, one in tx.resolved if one.purpose == "enlist")
        return max(1, sum(one.op == operation.name for one in looked_up))

    def _is_contended(self, operation: Operation, txs: list[Transaction]) -> bool:
        """Whether another transaction that used one of its tables was open meanwhile."""
        asked, ended = operation.invoked, operation.ended
        assert asked is not None, operation.name
        assert ended is not None, operation.name
        tables = {event.object_id: None for tx in txs for _, event in tx.enlisted}
        for other in (tx for table in tables for tx in self._users.get(table, ())):
            if other.name in operation.txs or other.read_ts is not None:
                continue
            began = self._case.began.get(other.name)
            over_us = max(other.ended_us, default=None)
            if began is None or began[1].at_us > ended.at_us:
                continue
            if over_us is None or over_us + commit_us(self._calm) >= asked.at_us:
                return True
        return False

    def _uses_dropped(self, txs: list[Transaction]) -> bool:
        """Whether one of their tables is gone in the end: no primary is looked for then."""
        for tx in txs:
            for _, event in tx.enlisted:
                newest = self._case.schemas.newest(event.object_id)
                if newest is None or newest.definition is None:
                    return True
        return False


def statement_us(case: Case, calm: Calm, operation: Operation) -> int:
    """A statement: those before it on its node, lost races, and the wait for Tu + CSmax."""
    asked, ended = operation.invoked, operation.ended
    assert asked is not None, operation.name
    assert ended is not None, operation.name
    ahead = sum(
        other.invoked is not None
        and other.invoked.kind == "ddl"
        and other.invoked.node == asked.node
        and other.invoked.at_us <= ended.at_us
        and (other.ended is None or other.ended.at_us >= asked.at_us)
        for other in case.operations.values()
    )
    races = sum(asked.at_us <= e.at_us <= ended.at_us for _, e in case.of(UpdateLogged))
    active_us = calm.largest_us("delay_duration_ms") + calm.skew_us + TICKS_US
    turn_us = (races + 1) * calm.submit_us + 2 * calm.completeness_us + active_us
    clients_us = 4 * calm.slowest_us + TICKS_US
    return clients_us + (ahead + 1) * turn_us + active_us


def _is_unanswered(operation: Operation) -> bool:
    ended = operation.ended
    if operation.invoked is None:
        return False
    return isinstance(ended, Unknown) or (isinstance(ended, Failed) and ended.reason in SILENCE)


def data_us(calm: Calm) -> int:
    """A data operation without locks: a primary, schemas at each step, logs, other partitions."""
    rests_us = 4 * 10 * calm.largest_us("lock_retry_ms")
    return (
        calm.place_us
        + 8 * calm.completeness_us
        + calm.submit_us
        + MESSAGES * calm.slowest_us
        + rests_us
    )


def past_us(calm: Calm) -> int:
    """What a read at a timestamp waits besides: its replica's safe time, and intents."""
    idle_us = calm.largest_us("partition_idle_ms") + calm.largest_us("read_resend_ms")
    return idle_us + calm.skew_us + 2 * calm.submit_us + calm.largest_us("orphan_answer_ms")


def commit_us(calm: Calm) -> int:
    """A commit: its writes in the log, schemas and leases, the outcome in the log, the answer."""
    return (
        calm.largest_us("resend_ms")
        + 2 * calm.submit_us
        + calm.place_us
        + 4 * calm.completeness_us
        + 2 * calm.skew_us
        + TICKS_US
    )


# --- transactions ---------------------------------------------------------------------------------


def _transactions(case: Case, calm: Calm, from_us: int) -> Iterator[Anomaly]:
    """Transactions without an end when their time is long over."""
    allowed_us = transaction_us(calm) + late_leader_us(calm)
    ended: set[str] = {event.tx for _, event in case.of(TxRecovered)}
    ended.update(_left_behind(case))
    for name, (at, began) in case.began.items():
        tx = case.transactions[name]
        waited_us = case.history.end_us - max(began.at_us, from_us)
        alive = _last_death(case, began.node) < at
        if waited_us > allowed_us and alive and not tx.ended_us and name not in ended:
            yield Anomaly(
                "transaction-open",
                f"{name} began on {began.node} at {as_ms(began.at_us)} ms and had not ended when "
                f"the run did; nothing had disturbed it for {as_ms(waited_us)} ms, where "
                f"{as_ms(allowed_us)} ms are enough",
                (began,),
                clauses=("110.req.0",),
            )


def _left_behind(case: Case) -> Iterator[str]:
    """Transactions of a statement on a store that has gone on to another one, or has ended.

    One whose commit had an unknown result leaves no other trace: it holds nothing in the store, and
    the statement goes on once it can no longer commit.
    """
    newest: dict[str, str] = {}
    for name in filter(case.is_upkeep, case.began):
        statement = name.partition("/")[0]
        if statement in newest:
            yield newest[statement]
        newest[statement] = name
    for statement, name in newest.items():
        if statement in case.operations and case.operations[statement].ended is not None:
            yield name


def _left_open(case: Case, calm: Calm) -> Iterator[Anomaly]:
    """What transactions without an end still hold; the allowed time is longer where not calm."""
    from_us, allowed_us = calm.from_us, transaction_us(calm) + late_leader_us(calm)
    if not calm.answers_come:
        return
    if from_us is None or not calm.leases_last:
        if case.of_cluster.get("staged", 1) or case.dead or not calm.leases_are_seen:
            return
        from_us = calm.disturbed_us or 0
        allowed_us = UNFAIR * (transaction_us(calm) + calm.largest_us("operation_timeout_ms"))
    recovered = {event.tx: None for _, event in case.of(TxRecovered)}
    for _, left in case.of(LeftOpen):
        at, began = case.began.get(left.tx, (0, None))
        tx = case.transactions.get(left.tx)
        if began is None or tx is None or left.tx in recovered:
            continue
        if min(tx.ended_us, default=left.at_us) < left.at_us:  # found at the end, it ended nothing
            continue
        waited_us = left.at_us - max(began.at_us, from_us)
        if waited_us <= allowed_us or _last_death(case, began.node) >= at:
            continue
        if not cannot_end(case, tx):
            yield Anomaly(
                "left-open",
                f"when the run ended, node {left.node} still had {left.what} of {left.tx}, though "
                f"nothing had disturbed it for {as_ms(waited_us)} ms",
                (began, left),
            )


def transaction_us(calm: Calm) -> int:
    """A transaction: a write in one phase may wait for the locks of others up to their limits."""
    return 4 * (calm.largest_us("tx_timeout_ms") + commit_us(calm)) + data_us(calm)


def cleaned_us(calm: Calm) -> int:
    """What an ended transaction left goes: its outcome comes to the primary there, and is stored.

    While something was disturbed, pauses between two tries may have become as long as they can.
    """
    paused_us = 0 if calm.disturbed_us is None else calm.largest_us("operation_timeout_ms")
    return calm.place_us + calm.submit_us + paused_us + TICKS_US


def recovered_us(calm: Calm) -> int:
    """The outcome of a transaction without a coordinator is found, at a look behind its rest.

    A primary looks each time that a lease is granted or prolonged; it has first become primary.
    """
    rest_us = max(calm.largest_us("orphan_check_ms"), calm.largest_us("orphan_sweep_ms"))
    looks_us = 2 * calm.largest_us("lease_duration_ms")
    asked_us = calm.largest_us("orphan_answer_ms") + calm.submit_us
    return looks_us + rest_us + asked_us + cleaned_us(calm)


def late_leader_us(calm: Calm) -> int:
    """How long a one-phase write may find its leader without the metadata for its stamp.

    The leader cannot wait for that, since stamps rise; where DD is smaller than what metadata
    takes to be complete, it is asked again for up to an operation's time limit.
    """
    enough = calm.smallest_us("delay_duration_ms") >= calm.completeness_us
    return 0 if enough else calm.largest_us("operation_timeout_ms")


def _last_death(case: Case, node: str) -> int:
    return max(case.deaths.get(node, ()), default=-1)


# --- safe times -----------------------------------------------------------------------------------


def _safe_times(case: Case, calm: Calm, from_us: int) -> Iterator[Anomaly]:
    """A node's schema safe time moves once H is over and a command has come to it."""
    allowed_us = calm.largest_us("safe_time_interval_ms") + calm.command_us
    moved: dict[str, list[AnyEvent]] = {node: [] for node in case.header.settings if node}
    for _, event in case.of(SafeTimeAdvanced):
        moved.setdefault(event.node, []).append(event)
    for node, events in moved.items():
        for before_us, until_us, witness in _gaps(case, events, from_us):
            if until_us - before_us > allowed_us:
                yield Anomaly(
                    "safe-time-still",
                    f"the safe time of node {node} stood still from {as_ms(before_us)} to "
                    f"{as_ms(until_us)} ms, where nothing was broken and it moves within "
                    f"{as_ms(allowed_us)} ms",
                    witness,
                    clauses=("98.safe.3",),
                )
                break


def _partitions(case: Case, calm: Calm, from_us: int) -> Iterator[Anomaly]:
    """The same of each replica of a partition, by the idle commands of its group."""
    allowed_us = calm.largest_us("partition_idle_ms") + calm.command_us
    moved: dict[tuple[str, str], list[AnyEvent]] = {}
    for _, event in case.of(PartitionSafeTime):
        moved.setdefault((event.group, event.node), []).append(event)
    for (group, node), events in moved.items():
        if group not in calm.replicated or _is_dropped(case, group):
            continue
        for before_us, until_us, witness in _gaps(case, events, max(from_us, events[0].at_us)):
            if until_us - before_us > allowed_us:
                yield Anomaly(
                    "safe-time-still",
                    f"the safe time of partition {case.schemas.group(group)} on node {node} stood "
                    f"still from {as_ms(before_us)} to {as_ms(until_us)} ms, where nothing was "
                    f"broken and it moves within {as_ms(allowed_us)} ms",
                    witness,
                )
                break


def _gaps(
    case: Case, events: list[AnyEvent], from_us: int
) -> Iterator[tuple[int, int, tuple[AnyEvent, ...]]]:
    """Spans without an event, from an instant to the end of the run, and the events around them."""
    inside = [event for event in events if event.at_us > from_us]
    before = [event for event in events if event.at_us <= from_us][-1:]
    edges = [(from_us, tuple(before)), *((event.at_us, (event,)) for event in inside)]
    for (since_us, one), (until_us, other) in pairwise([*edges, (case.history.end_us, ())]):
        yield since_us, until_us, (*one, *other)


def _is_dropped(case: Case, group: str) -> bool:
    newest = case.schemas.newest(int(group.partition("/")[0]))
    return newest is None or newest.definition is None


# --- leaders and primaries ------------------------------------------------------------------------


def _leaders(case: Case, from_us: int) -> Iterator[Anomaly]:
    """A leader that all hear and that all answer stays."""
    for _, stepped in case.of(LeaderSteppedDown):
        if stepped.at_us > from_us:
            yield Anomaly(
                "leader-lost",
                f"{stepped.node}, leader of group {case.schemas.group(stepped.group)} in term "
                f"{stepped.term}, stepped down at {as_ms(stepped.at_us)} ms, though nothing was "
                "broken",
                (stepped,),
            )


def _primaries(case: Case, calm: Calm, from_us: int) -> Iterator[Anomaly]:
    """A partition that had a primary has one again soon after its lease is over."""
    for lease, without_us in without_primary(case, calm, from_us):
        if not _is_dropped(case, lease.group):
            yield Anomaly(
                "primary-missing",
                f"the last lease of partition {case.schemas.group(lease.group)}, of node "
                f"{lease.holder}, was over at {show(lease.expiration_ts)}; when the run ended, "
                f"{as_ms(without_us)} ms later, there was no other",
                (lease,),
            )


def without_primary(case: Case, calm: Calm, from_us: int) -> Iterator[tuple[LeaseBegan, int]]:
    """The last lease of each partition that had none in the end, and for how long since `from_us`.

    It has had none for longer than it takes to find another holder.
    """
    last: dict[str, LeaseBegan] = {}
    for _, lease in case.of(LeaseBegan):
        before = last.get(lease.group)
        if before is None or lease.expiration_ts > before.expiration_ts:
            last[lease.group] = lease
    for lease in last.values():
        over_us = physical_ms(Timestamp(lease.expiration_ts)) * US_PER_MS + calm.skew_us
        without_us = case.history.end_us - max(over_us, from_us)
        if without_us > calm.place_us + TICKS_US:
            yield lease, without_us


def lapsing(case: Case, calm: Calm, since_us: int) -> list[str]:
    """The partitions all of whose leases since then were over before a command could be stored.

    A lease counts from when it was granted to its last end: one that is prolonged lasts on.
    """
    granted: dict[tuple[str, int], int] = {}
    longest: dict[str, int] = {}
    for _, lease in case.of(LeaseBegan):
        from_us = max(granted.setdefault((lease.group, lease.start_ts), lease.at_us), since_us)
        over_us = physical_ms(Timestamp(lease.expiration_ts)) * US_PER_MS
        longest[lease.group] = max(longest.get(lease.group, 0), over_us - from_us)
    return [group for group, lasted_us in longest.items() if lasted_us <= calm.submit_us]


def cannot_end(case: Case, tx: Transaction) -> bool:
    """Whether a partition of its tables had no primary any more, none for long, or no leader that
    stays, and the settings allow that: leases may be too short, or heartbeats come too rarely.

    A transaction ends by the primary of its commit partition alone, whether its coordinator lives
    or not, and what it holds elsewhere by the primary there.
    """
    calm = case.once(Calm)
    without = list(calm.electing)
    if not calm.leases_last:
        since_us = calm.disturbed_us or 0
        without += [lease.group for lease, _ in without_primary(case, calm, since_us)]
        without += lapsing(case, calm, since_us)
    tables = {str(enlisted.object_id) for _, enlisted in tx.enlisted}
    return any(group == META or group.partition("/")[0] in tables for group in without)
