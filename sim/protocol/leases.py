"""Leases: which node is primary of a partition, and until when.

A *lease* makes one node the primary of a partition from `start_ts` until `expiration_ts`; its start
is the token that every request of a transaction carries, so that a primary that was primary before,
lost its locks and became it again is not taken for the same. Leases stand in the meta storage, so
every node learns of them in the same order.

A lease counts at `ts` if it lasts for more than CSmax beyond it: the holder's clock may be that
much ahead.

    none --granted--> (holder, start_ts, expiration_ts) --prolonged--> the same, later expiration_ts
                        '-- outdated on every clock: another one is granted, with a later start_ts

`_leases` is changed by `begin` alone: from the meta storage's log (`Application`), and at the birth
of a cluster. `born_ts` is when this incarnation began. Without them:

* two nodes would believe that they are primary: leases are a compare-and-set in one log.
* a primary that died and came back would go on without its locks: `is_of_this_life`.
* a coordinator whose clock is behind would send to a primary that is none any more: `valid_at` asks
  for CSmax more than the lease's own end.
"""

from collections.abc import Callable

from ddlsim.history.world_events import LeaseBegan
from ddlsim.model.ports import Node
from ddlsim.model.records import Record
from ddlsim.protocol.ids import PartitionId
from ddlsim.units import MIN_TIMESTAMP, Timestamp, plus_ms


class Lease(Record, frozen=True):
    """A node is primary of a place from `start_ts`, its token, until before `expiration_ts`."""

    place: PartitionId
    holder: str
    start_ts: Timestamp
    expiration_ts: Timestamp


class Leases:
    """The leases as one node knows them."""

    __slots__ = ("_leases", "_watchers", "born_ts", "node")

    def __init__(self, node: Node, *, restarted: bool) -> None:
        self.node = node
        self.born_ts = node.clock.now() if restarted else MIN_TIMESTAMP
        self._leases: dict[PartitionId, Lease] = {}
        self._watchers: list[Callable[[Lease | None, Lease], None]] = []

    def of(self, place: PartitionId) -> Lease | None:
        """The latest lease of a place, valid or not."""
        return self._leases.get(place)

    def all(self) -> dict[PartitionId, Lease]:
        """The latest lease of every place."""
        return self._leases

    def valid_at(self, place: PartitionId, ts: Timestamp) -> Lease | None:
        """The lease of a place if it surely lasts at `ts`, on whichever clock."""
        lease = self._leases.get(place)
        if lease is None:
            return None
        until = plus_ms(ts, self.node.settings.max_clock_skew_ms)
        return lease if lease.expiration_ts > until else None

    def knows(self, place: PartitionId, start_ts: Timestamp) -> bool:
        """Whether the lease that began at `start_ts`, or a later one of its place, is here."""
        lease = self._leases.get(place)
        return lease is not None and lease.start_ts >= start_ts

    def holds(self, place: PartitionId, start_ts: Timestamp) -> bool:
        """Whether this node is primary by the lease that began at `start_ts`, by its own clock."""
        lease = self._leases.get(place)
        return (
            lease is not None
            and lease.start_ts == start_ts
            and lease.holder == self.node.name
            and self.is_of_this_life(start_ts)
            and self.node.clock.current() < lease.expiration_ts
        )

    def held(self, place: PartitionId) -> bool:
        """Whether this node is primary by the latest lease of a place, by its own clock."""
        lease = self._leases.get(place)
        return (
            lease is not None
            and lease.holder == self.node.name
            and lease.start_ts > self.born_ts
            and self.node.clock.current() < lease.expiration_ts
        )

    def is_of_this_life(self, start_ts: Timestamp) -> bool:
        """Whether a lease of this start can be this incarnation's: the locks of others are gone."""
        return start_ts > self.born_ts

    def begin(self, lease: Lease) -> None:
        """A lease was granted or prolonged."""
        assert lease.start_ts < lease.expiration_ts, f"{lease} is over when it begins"
        before = self._leases.get(lease.place)
        self._leases[lease.place] = lease
        node = self.node
        if node.recording and node.is_first(lease):
            table_id, number = lease.place
            node.record(
                LeaseBegan(
                    node.watch.now_us,
                    node.name,
                    f"{table_id}/{number}",
                    lease.holder,
                    lease.start_ts,
                    lease.expiration_ts,
                ),
            )
        for watcher in self._watchers:
            watcher(before, lease)

    def watch(self, watcher: Callable[[Lease | None, Lease], None]) -> None:
        """Tell `watcher` of every lease that begins or is prolonged: (the one before, this)."""
        self._watchers.append(watcher)
