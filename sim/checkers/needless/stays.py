"""Upper bounds of waits for locks, and for the safe time of replicas; part of I11.

Both are judged where nothing is broken, lost or held back (`calm`), by the largest latency of a
message there, which the header has.

* A lock that is granted is granted soon after the last transaction in its way had ended: the
  outcome takes some messages to arrive, and a younger transaction that was refused rests before it
  retries.
* A read at a timestamp is executed at once when its node knows the schema and its replica's safe
  time has reached read_ts, but for the intents that it has to resolve: where the outcome of one is
  being decided, for a commit_ts within read_ts, it waits for that, and for a `retry_ms`. And safe
  time gets there an idle interval after every clock has shown read_ts, but for some messages; or
  after the group has begun, which it has with its first safe time or with the first operation at a
  primary.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.needless.grounds import Grounds
from ddlsim.history.events import LockWaited, ReadExecuted, SchemaResolved, WriteExecuted
from ddlsim.history.world_events import (
    LeaderSteppedDown,
    LeaseBegan,
    PartitionSafeTime,
    SettingChanged,
    TxRecovered,
)
from ddlsim.units import US_PER_MS, Timestamp, as_ms, physical_ms, show

TO_HEAR: Final = 2
"""Messages one after another until the first participant receives an outcome.

From the leader of the commit partition's group to its primary, or from there to a participant.
"""
TO_CLEAN: Final = 6
"""How many more until the next participant does, since they are informed one after the other.

The participant's primary, the leader of its group, its members and back, the primary, the answer.
"""
TO_RESOLVE: Final = 6
"""The same from an intent to its coordinator, from there to the commit partition, and back."""
TO_KNOW: Final = 8
"""The same from the stamp of an idle command to the replica that waits for it."""


def needless_stays(grounds: Grounds) -> Iterator[Anomaly]:
    """Waits for locks, then reads at a timestamp."""
    case = grounds.case
    slowest_us = case.of_cluster.get("slowest_us")
    if slowest_us is None or case.faults or case.of(SettingChanged) or grounds.disturbed(0):
        return
    yield from _Locks(grounds, slowest_us).check()
    yield from _Readers(grounds, slowest_us).check()


def largest_us(case: Case, key: str) -> int:
    """The largest value of a setting of any node."""
    return max(case.settings(key), default=0) * US_PER_MS


# --- locks ----------------------------------------------------------------------------------------


class _Locks:
    """Granted waits against the ends of what was in their way."""

    def __init__(self, grounds: Grounds, slowest_us: int) -> None:
        self._grounds = grounds
        self._case = grounds.case
        self._slowest_us = slowest_us
        self._rest_us = largest_us(grounds.case, "lock_retry_ms")
        self._recovered: dict[str, list[int]] = {}
        for _, event in grounds.case.of(TxRecovered):
            self._recovered.setdefault(event.tx, []).append(event.at_us)

    def check(self) -> Iterator[Anomaly]:
        """Each wait that ended with the lock."""
        if _moved(self._case):
            return
        for _, waited in self._case.of(LockWaited):
            from_us = waited.at_us - waited.waited_us
            if not waited.granted or waited.waited_us <= self._rest_us:
                continue
            frees = [
                free_us
                for name in dict.fromkeys(one.tx for one in self._grounds.in_the_way(waited))
                for free_us in self._frees(name, waited.at_us)
            ]
            free_us = max([from_us, *frees])
            if waited.at_us - free_us > self._rest_us:
                yield self._anomaly(waited, free_us, was_held=free_us > from_us)

    def _frees(self, name: str, until_us: int) -> Iterator[int]:
        """When the locks of a transaction are free at the latest, for each end that it had.

        Where a commit is judged elsewhere, an abort ends it there before its coordinator knows.
        """
        tx = self._case.transactions[name]
        ends = tx.ended_us
        if tx.aborted is not None:
            ends += [event.at_us for _, event in tx.resolved if event.purpose == "commit"]
        nodes = {event.node for event in tx.accesses}
        nodes |= {event.node for _, event in tx.resolved}
        longest_us = (TO_HEAR + TO_CLEAN * len(nodes)) * self._slowest_us
        for end_us in ends + self._recovered.get(name, []):
            if end_us <= until_us:
                yield end_us + longest_us

    def _anomaly(self, waited: LockWaited, free_us: int, *, was_held: bool) -> Anomaly:
        what = "a partition" if waited.key is None else f"row {waited.key!r}"
        since = "what was in its way was free by" if was_held else "nothing was in its way from"
        return Anomaly(
            "held-up",
            f"{waited.tx} waited for {what} of {self._case.schemas.name(waited.object_id)} on node "
            f"{waited.node} until {as_ms(waited.at_us)} ms; {since} {as_ms(free_us)} ms, and a "
            f"refused request is repeated after {as_ms(self._rest_us)} ms",
            (waited,),
            clauses=("110.req.0",),
        )


def _moved(case: Case) -> bool:
    """Whether some place ever had a second lease, or a group a second leader.

    Locks end with their lease, without an event; requests to a former leader are lost.
    """
    first: dict[str, int] = {}
    return any(
        first.setdefault(lease.group, lease.start_ts) != lease.start_ts
        for _, lease in case.of(LeaseBegan)
    ) or bool(case.of(LeaderSteppedDown))


# --- reads at a timestamp -------------------------------------------------------------------------


class _Readers:
    """Reads at a timestamp against the safe times of their replicas."""

    def __init__(self, grounds: Grounds, slowest_us: int) -> None:
        self._grounds = grounds
        self._case = grounds.case
        self._slowest_us = slowest_us
        nodes = sum(bool(node) for node in self._case.header.settings)
        self._cleaned_us = (TO_HEAR + TO_CLEAN * nodes) * slowest_us
        self._rest_us = largest_us(grounds.case, "retry_ms")
        self._arrived: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
        for at, resolved in self._case.of(SchemaResolved):
            if resolved.purpose == "read-only" and resolved.op is not None:
                place = (resolved.op, resolved.node, resolved.object_id)
                self._arrived.setdefault(place, []).append((at, resolved.at_us))
        self._known: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        self._begun_us: dict[str, int] = {}
        for _, moved in self._case.of(PartitionSafeTime) if self._arrived else ():
            stamps, instants = self._known.setdefault((moved.node, moved.group), ([], []))
            stamps.append(moved.ts)
            instants.append(moved.at_us)
            self._begins(moved.group, moved.at_us)
        kinds = (ReadExecuted, WriteExecuted) if self._arrived else ()
        for used in (event for kind in kinds for _, event in self._case.of(kind)):
            assert isinstance(used, ReadExecuted | WriteExecuted), used
            if self._case.transactions[used.tx].read_ts is None:
                self._begins(f"{used.object_id}/{used.partition}", used.at_us)

    def _begins(self, group: str, at_us: int) -> None:
        self._begun_us[group] = min(at_us, self._begun_us.get(group, at_us))

    def check(self) -> Iterator[Anomaly]:
        """Each read against both bounds."""
        for position, read in self._case.of(ReadExecuted):
            tx = self._case.transactions[read.tx]
            before = [
                at_us
                for at, at_us in self._arrived.get((read.op, read.node, read.object_id), ())
                if at < position
            ]
            if tx.read_ts is None or not before or read.at_us == before[-1]:
                continue
            yield from self._one(read, tx.read_ts, before[-1])

    def _one(self, read: ReadExecuted, read_ts: int, arrived_us: int) -> Iterator[Anomaly]:
        ready_us = max(arrived_us, self._ready_us(read, read_ts, arrived_us))
        if read.at_us > self._resolved_us(read, read_ts, arrived_us, ready_us):
            yield _late(
                self._case,
                read,
                f"its replica knew everything up to {show(read_ts)} at {as_ms(ready_us)} ms",
            )
            return
        clocks = self._grounds.clocks
        shown_ms = physical_ms(Timestamp(read_ts)) + 1
        nodes = [node for node in self._case.header.settings if node]
        shown_us = max(clocks.shows_us(node, shown_ms, arrived_us) for node in nodes)
        # a group is not there before its first use: idle commands begin with it
        begun_us = self._begun_us.get(f"{read.object_id}/{read.partition}", 0)
        shown_us = max(shown_us, min(begun_us, read.at_us))
        bound_us = (
            shown_us
            + largest_us(self._case, "partition_idle_ms")
            + TO_KNOW * self._slowest_us
            + 2 * self._rest_us
        )
        if read.at_us > self._resolved_us(read, read_ts, arrived_us, bound_us):
            yield _late(
                self._case,
                read,
                f"every clock had shown {show(read_ts)} at {as_ms(shown_us)} ms, and safe "
                f"time is there by {as_ms(bound_us)} ms",
            )

    def _ready_us(self, read: ReadExecuted, read_ts: int, arrived_us: int) -> int:
        """When the replica knew everything up to there; `arrived_us` where that is unknown."""
        group = f"{read.object_id}/{read.partition}"
        stamps, instants = self._known.get((read.node, group), ([], []))
        place = bisect_left(stamps, read_ts)
        return instants[place] if place < len(stamps) else arrived_us

    def _resolved_us(self, read: ReadExecuted, read_ts: int, arrived_us: int, from_us: int) -> int:
        """When a reader has resolved the intents in its way, if it looks at them from `from_us` on.

        These are writes of what had not ended long before it arrived. While the outcome of one is
        being decided, its coordinator is asked again after a rest.
        """
        since_us = arrived_us - self._cleaned_us
        decided_us, count, rests = from_us, 0, 0
        for tx in self._case.transactions.values():
            if min(tx.ended_us, default=since_us) < since_us:
                continue
            here = sum(
                write.object_id == read.object_id
                and write.partition == read.partition
                and write.at_us <= read.at_us
                for _, write in tx.writes
            )
            heard_us = self._heard_us(tx, read, read_ts) if here else 0
            count += here
            if heard_us > from_us:
                decided_us, rests = max(decided_us, heard_us), rests + here
        return decided_us + TO_RESOLVE * self._slowest_us * count + self._rest_us * rests

    def _heard_us(self, tx: Transaction, read: ReadExecuted, read_ts: int) -> int:
        """Until when a coordinator may answer that it decides about a commit_ts within read_ts.

        Of a transaction that was aborted before a look-up at its commit_ts, that is not known: it
        may have been within.
        """
        stamps = [event.ts for _, event in tx.resolved if event.purpose == "commit"]
        stamps += [] if tx.committed is None else [tx.committed.commit_ts]
        if min(stamps, default=read_ts) > read_ts:
            return 0
        ends = [end_us for end_us in tx.ended_us if end_us <= read.at_us]
        return max(ends, default=0) + TO_HEAR * self._slowest_us


def _late(case: Case, read: ReadExecuted, why: str) -> Anomaly:
    return Anomaly(
        "read-late",
        f"{read.op} of {read.tx} reads {case.schemas.name(read.object_id)} on node {read.node} "
        f"only at {as_ms(read.at_us)} ms: {why}",
        (read,),
        clauses=("98.own",),
    )
