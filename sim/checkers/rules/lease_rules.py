"""The rules of leases, part of I12.

A lease is named by its group and its start; every node that learns of it, or of its prolongation,
may record that, each in its own order. Its *end* is the largest recorded expiration.

The first operation of a transaction on a partition fixes the lease of all that follow: its locks
end with that lease. What goes on under a later one can be caught by no other judge before it has
come to harm: its commit is refused, and an aborted reader is not judged beyond the loss of a lock.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.history.events import ReadExecuted, WriteExecuted
from ddlsim.history.world_events import LeaseBegan
from ddlsim.units import show


class Lease(NamedTuple):
    """A lease: its first event, and the one with its last expiration."""

    began: LeaseBegan
    longest: LeaseBegan

    @property
    def start_ts(self) -> int:
        """From when on its holder was primary."""
        return self.began.start_ts

    @property
    def end_ts(self) -> int:
        """Its last expiration."""
        return self.longest.expiration_ts


def leases(case: Case) -> dict[str, list[Lease]]:
    """The leases of each group by their start."""
    known: dict[str, dict[int, Lease]] = {}
    for _, event in case.of(LeaseBegan):
        group = known.setdefault(event.group, {})
        lease = group.get(event.start_ts)
        if lease is None:
            group[event.start_ts] = Lease(event, event)
        elif event.expiration_ts > lease.end_ts:
            group[event.start_ts] = Lease(lease.began, event)
    return {name: [of[start] for start in sorted(of)] for name, of in known.items()}


def lease_rules(case: Case) -> Iterator[Anomaly]:
    """Every lease by itself, then each with the next one, then what ran under them."""
    if not case.of(LeaseBegan):
        return
    yield from _single(case)
    known = leases(case)
    for following in known.values():
        for before, after in pairwise(following):
            if after.start_ts <= before.end_ts:
                yield Anomaly(
                    "leases-overlap",
                    f"{_described(case, before.longest)}, and {_described(case, after.began)}",
                    (before.longest, after.began),
                )
    for tx in case.committed:
        if tx.read_ts is None:
            yield from _committed_within(case, tx, known)
    is_moved = any(len(following) > 1 for following in known.values())
    for tx in case.transactions.values():
        if tx.read_ts is None:
            yield from _executed_within(case, tx, known)
            if is_moved and not tx.implicit:
                yield from _under_one_lease(case, tx, known)


def _single(case: Case) -> Iterator[Anomaly]:
    """One holder for a start; no prolongation shortens a lease."""
    first: dict[tuple[str, int], LeaseBegan] = {}
    last: dict[tuple[str, str, int], LeaseBegan] = {}
    for _, event in case.of(LeaseBegan):
        one = first.setdefault((event.group, event.start_ts), event)
        if one.holder != event.holder:
            yield Anomaly(
                "two-holders",
                f"{_described(case, one)}, and {_described(case, event)}",
                (one, event),
            )
        key = (event.node, event.group, event.start_ts)
        before = last.get(key)
        if before is not None and event.expiration_ts < before.expiration_ts:
            yield Anomaly(
                "lease-shortened",
                f"{_described(case, before)}, and later {_described(case, event)}",
                (before, event),
            )
        last[key] = event


def _described(case: Case, lease: LeaseBegan) -> str:
    return (
        f"node {lease.holder} had the lease of {case.schemas.group(lease.group)} from "
        f"{show(lease.start_ts)} to {show(lease.expiration_ts)}"
    )


def _committed_within(
    case: Case, tx: Transaction, known: dict[str, list[Lease]]
) -> Iterator[Anomaly]:
    """A commit_ts lies before the end of each lease that the transaction used.

    Also of those that it only read under, since its locks there are lost with them; and that holds
    for what a partition stamps itself, too. An implicit transaction that is tried again at another
    primary may be executed there once more; only the last time counts.
    """
    assert tx.committed is not None, tx.name
    reported: dict[str, None] = {}
    used = tx.accesses
    if tx.implicit:
        used = list(
            {(type(one), one.op, one.object_id, one.partition): one for one in used}.values()
        )
    for event, group, lease in _leased(used, known):
        if group not in reported and tx.committed.commit_ts >= lease.end_ts:
            reported[group] = None
            yield Anomaly(
                "committed-beyond-lease",
                f"{tx.name} committed at {show(tx.committed.commit_ts)}; it had {_done(event)} "
                f"on node {event.node}, and {_described(case, lease.longest)}",
                (lease.longest, event, tx.committed),
            )


def _done(event: ReadExecuted | WriteExecuted) -> str:
    if isinstance(event, WriteExecuted):
        return f"written row {event.key!r}"
    return f"read {', '.join(f'row {row.key!r}' for row in event.rows[:1]) or 'what is not there'}"


def _executed_within(
    case: Case, tx: Transaction, known: dict[str, list[Lease]]
) -> Iterator[Anomaly]:
    """A primary executes nothing once its lease is over: others may hold the locks by then."""
    for event, _, lease in _leased(tx.accesses, known):
        if event.op_ts >= lease.end_ts:
            yield Anomaly(
                "executed-beyond-lease",
                f"{tx.name} executed an operation on node {event.node} at {show(event.op_ts)}, and "
                f"{_described(case, lease.longest)}",
                (lease.longest, event),
            )
            return


def _under_one_lease(
    case: Case, tx: Transaction, known: dict[str, list[Lease]]
) -> Iterator[Anomaly]:
    """What a transaction executes in a partition is under the lease that it used there first.

    An implicit one may be tried again under another.
    """
    first: dict[str, tuple[Lease, ReadExecuted | WriteExecuted]] = {}
    reported: dict[str, None] = {}
    for event, group, lease in _leased(tx.accesses, known):
        used, before = first.setdefault(group, (lease, event))
        if used is not lease and group not in reported:
            reported[group] = None
            yield Anomaly(
                "under-two-leases",
                f"{tx.name} executed an operation on node {before.node} at {show(before.op_ts)}, "
                f"where {_described(case, used.longest)}, and one on node {event.node} at "
                f"{show(event.op_ts)}, where {_described(case, lease.longest)}",
                (used.longest, before, lease.began, event),
            )


def _leased(
    events: Iterable[ReadExecuted | WriteExecuted], known: dict[str, list[Lease]]
) -> Iterator[tuple[ReadExecuted | WriteExecuted, str, Lease]]:
    """The operations under a known lease, each with its group and that lease."""
    for event in events:
        group = f"{event.object_id}/{event.partition}"
        lease = _in_force(known.get(group, []), event)
        if lease is not None:
            yield event, group, lease


def _in_force(following: list[Lease], event: ReadExecuted | WriteExecuted) -> Lease | None:
    """The last lease of the node of an operation that had begun by its op_ts."""
    found = None
    for lease in following:
        if lease.began.holder == event.node and lease.start_ts <= event.op_ts:
            found = lease
    return found
