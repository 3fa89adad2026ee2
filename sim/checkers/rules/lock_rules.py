"""Strict two-phase locking at the primaries, part of I12.

Under one lease a primary executes no operation that conflicts with what an open transaction has
executed there: on one row where one of the two writes, on a partition where one scans it, or looks
for values in it, and the other writes into it. A transaction is open until it is committed, aborted
or recovered: its locks are released after that and not before. A later lease, or a crash, ends the
locks of the one before.

Any order of such operations may still be serializable; the cycle that shows it needs a third.
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import ReadExecuted, SchemaResolved, WriteExecuted
from ddlsim.history.world_events import LeaseBegan, TxRecovered
from ddlsim.units import show


class Touch(NamedTuple):
    """An operation that a primary executed under locks; `key` None is a scan of the partition."""

    at: int
    event: ReadExecuted | WriteExecuted
    key: Any
    writes: bool


def lock_rules(case: Case) -> Iterator[Anomaly]:
    """The operations of each partition at each node, in their order."""
    leases = _Leases(case)
    ends = _ends(case)
    open_: dict[tuple[str, str], _Open] = {}
    for touch in _touches(case):
        event = touch.event
        group = f"{event.object_id}/{event.partition}"
        place = open_.setdefault((event.node, group), _Open())
        for before in place.conflicting(touch, ends):
            if leases.is_same(group, before, touch):
                yield _conflict(before, touch, case.schemas.group(group))
        place.add(touch)


def _conflict(before: Touch, touch: Touch, group: str) -> Anomaly:
    first, second = before.event, touch.event
    return Anomaly(
        "conflicting-operations",
        f"node {second.node} executed {_named(touch)} of {second.tx} in partition {group} at "
        f"{show(second.op_ts)}, while {first.tx} was open that had executed {_named(before)} "
        f"there at {show(first.op_ts)}",
        (first, second),
    )


def _named(touch: Touch) -> str:
    if touch.key is None:
        return "a scan"
    return f"a {'write' if touch.writes else 'read'} of row {touch.key!r}"


def _touches(case: Case) -> Iterator[Touch]:
    """Writes, and the reads of operations that lock what they read."""
    found: list[Touch] = []
    for at, write in case.of(WriteExecuted):
        found.append(Touch(at, write, _hashable(write.key), writes=True))
    for at, read in case.of(ReadExecuted):
        operation = case.operations.get(read.op)
        invoked = None if operation is None else operation.invoked
        if invoked is None or case.transactions[read.tx].read_ts is not None:
            continue
        if (read.predicate and invoked.kind == "scan") or invoked.kind == "find":
            found.append(Touch(at, read, None, writes=False))
        elif not read.predicate and invoked.kind == "get":
            found += [Touch(at, read, _hashable(row.key), writes=False) for row in read.rows]
    found.sort(key=lambda one: one.at)
    yield from found


def _hashable(key: Any) -> Any:
    return tuple(key) if isinstance(key, list) else key


def _ends(case: Case) -> dict[str, int]:
    """Where each transaction ended first; whatever is not there is open for good.

    Where the commit partition judges the schema, it may have stored an abort from then on.
    """
    ends: dict[str, int] = {}
    if case.header.design.rules.get("validate_at_finish", "none") != "none":
        for at, resolved in case.of(SchemaResolved):
            if resolved.purpose == "commit":
                ends.setdefault(resolved.tx, at)
    for at, recovered in case.of(TxRecovered):
        ends[recovered.tx] = min(at, ends.get(recovered.tx, at))
    for tx in case.transactions.values():
        known = [ends[tx.name]] if tx.name in ends else []
        known += [tx.committed_at] if tx.committed is not None else []
        known += [tx.aborted_at] if tx.aborted is not None else []
        if known:
            ends[tx.name] = min(known)
    return ends


class _Open:
    """What open transactions have executed in one partition at one node."""

    def __init__(self) -> None:
        self._by_key: dict[Any, list[Touch]] = {}
        self._scans: list[Touch] = []
        self._writes: list[Touch] = []

    def conflicting(self, touch: Touch, ends: dict[str, int]) -> list[Touch]:
        """What conflicts with an operation; forgets what has ended."""
        if touch.key is None:
            lists = [self._writes]
        elif touch.writes:
            lists = [self._scans, self._by_key.get(touch.key, [])]
        else:
            lists = [self._by_key.get(touch.key, [])]
        found: list[Touch] = []
        for each in lists:
            each[:] = [one for one in each if ends.get(one.event.tx, touch.at) >= touch.at]
            found += [
                one
                for one in each
                if one.event.tx != touch.event.tx and (one.writes or touch.writes)
            ]
        return found

    def add(self, touch: Touch) -> None:
        """An operation was executed."""
        if touch.key is None:
            self._scans.append(touch)
            return
        self._by_key.setdefault(touch.key, []).append(touch)
        if touch.writes:
            self._writes.append(touch)


class _Leases:
    """The last lease of each group at a place of the history."""

    def __init__(self, case: Case) -> None:
        self._deaths = case.deaths
        self._last: dict[str, tuple[list[int], list[LeaseBegan]]] = {}
        for at, lease in case.of(LeaseBegan):
            places, leases = self._last.setdefault(lease.group, ([], []))
            if not leases or lease.start_ts > leases[-1].start_ts:
                places.append(at)
                leases.append(lease)

    def is_same(self, group: str, before: Touch, touch: Touch) -> bool:
        """Whether two operations at a node were surely executed under one lease, in one life."""
        places, leases = self._last.get(group, ([], []))
        known = bisect_right(places, touch.at)
        if not known:
            return False
        lease, node = leases[known - 1], touch.event.node
        died = any(before.at < at < touch.at for at in self._deaths.get(node, ()))
        return lease.holder == node and lease.start_ts < before.event.op_ts and not died
