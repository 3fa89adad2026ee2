"""The placement driver: which node becomes primary of a partition, and when.

It runs on the node that leads the meta storage. At every look it prolongs the leases that have less
than half of their time left, if their holders are alive, and where a lease is outdated it looks for
another holder. *Outdated* means that it expired by more than CSmax on the driver's clock: by then
it has expired on every clock, so two primaries are never primary at the same time.

A candidate first becomes ready (`LeaseGrant`): it runs a command through the partition's own log,
so that it has applied everything committed before, and the group refuses what an earlier primary
still sends. Only then does the lease go into the meta storage, as a
compare-and-set, since two nodes may both believe that they lead.

What a candidate ran through the log refuses writes under earlier leases even where its own lease
never came into the meta storage, since the one before it did after all. The holder of that one
reports it (`LeaseFenced`), and it is not prolonged: else the partition could not be written to for
as long as its holder lives.

A node counts as alive by the meta storage's own traffic: every node is a member of its group.
"""

from collections.abc import Callable

from ddlsim.model.ports import Node, NoReplyType, Timer
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.meta_commands import AppliedUpdate, LeaseUpdate
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.replica_messages import LeaseFenced, LeaseGrant
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import US_PER_MS, Micros, Timestamp, plus_ms

Replicas = Callable[[], dict[PartitionId, tuple[str, ...]]]
"""Every partition, and the nodes that hold a replica of it."""


class PlacementDriver:
    """One node's placement driver; at work only while the node leads the meta storage."""

    def __init__(
        self, node: Node, strategy: Strategy, metastorage: MetaStorage, replicas: Replicas
    ) -> None:
        self.node = node
        self.not_renewed: dict[PartitionId, Timestamp] = {}
        self._strategy = strategy
        self._metastorage = metastorage
        self._leases = metastorage.leases
        self._application = metastorage.application
        self._replicas = replicas
        self._term: int | None = None
        self._timer: Timer | None = None
        self._asking: dict[PartitionId, None] = {}
        self._granted: dict[PartitionId, Lease] = {}
        self._written: dict[PartitionId, Lease] = {}
        self._tries: dict[PartitionId, int] = {}
        self._sent_index = 0
        node.on(LeaseFenced, self._on_fenced)

    def start(self, term: int) -> None:
        """The node leads from now on."""
        self._term = term
        self._asking.clear()
        self._granted.clear()
        self._written.clear()
        self._arm(Micros(self.node.settings.lease_check_ms * US_PER_MS))

    def look_soon(self, _applied: AppliedUpdate) -> None:
        """The catalog has changed: a new table's partitions need primaries."""
        if self._leads():
            self._arm(Micros(0))

    def _leads(self) -> bool:
        group = self._metastorage.group
        return self._term is not None and group.is_leader and group.term == self._term

    def _arm(self, delay_us: Micros) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.node.call_later(delay_us, self._look)

    def _look(self) -> None:
        """Prolong what must be prolonged, replace what has ended."""
        assert self._timer is not None, "a second timer of the placement driver"
        self._timer = None
        if not self._leads():
            self._term = None
            return
        settings = self.node.settings
        self._arm(Micros(settings.lease_check_ms * US_PER_MS))
        if self._sent_index <= self._application.applied_index:
            self._written.clear()
        now = self.node.clock.current()
        due_ts = plus_ms(now, settings.lease_renewal_ms)
        until = plus_ms(now, settings.lease_duration_ms)
        self._granted = {
            place: lease for place, lease in self._granted.items() if self._still_needed(lease)
        }
        changed = list(self._granted.values())
        leases, written = self._leases.all(), self._written
        for place, replicas in self._replicas().items():
            lease = leases.get(place)
            if place in written:  # what is decided of it is on its way
                continue
            if lease is None or self.is_outdated(lease, now):
                self._find_holder(place, replicas)
            elif lease.expiration_ts < due_ts and self._deserves(lease, now):
                self.node.probe("lease-prolonged")
                changed.append(Lease(place, lease.holder, lease.start_ts, until))
        if changed:
            self._write(changed)

    def _still_needed(self, granted: Lease) -> bool:
        """Whether the lease before was over when the new one began: it may have been prolonged."""
        last = self._leases.of(granted.place)
        return last is None or self.is_outdated(last, granted.start_ts)

    def is_outdated(self, lease: Lease, now: Timestamp) -> bool:
        """Whether a lease has expired on every clock, whichever way they differ."""
        skew_ms = self.node.settings.max_clock_skew_ms
        return self._strategy.lease_outdated_ts(lease.expiration_ts, skew_ms) < now

    def _deserves(self, lease: Lease, now: Timestamp) -> bool:
        """Whether a lease is prolonged: its holder is alive, and has been since the lease began."""
        if self.not_renewed.get(lease.place) == lease.start_ts or lease.expiration_ts <= now:
            return False
        joined_ts = self._application.joined.get(lease.holder)
        if joined_ts is not None and joined_ts > lease.start_ts:
            return False
        laggard_us = self.node.settings.laggard_ms * US_PER_MS
        return self._is_alive(lease.holder) and self._strategy.keeps_lease(
            self._metastorage.group.behind_us(lease.holder), laggard_us
        )

    def _on_fenced(self, _sender: str, report: LeaseFenced) -> None:
        """Let the lease end, so that another one is granted."""
        self.node.clock.update(report.sent_ts)
        self.not_renewed[report.place] = report.start_ts

    def _is_alive(self, name: str) -> bool:
        """Whether a node has been heard of within an election timeout."""
        if name == self.node.name:
            return True
        silent_us = self._metastorage.group.silent_us(name)
        return silent_us < self.node.settings.election_timeout_ms * US_PER_MS

    # --- another holder ---------------------------------------------------------------------------

    def _find_holder(self, place: PartitionId, replicas: tuple[str, ...]) -> None:
        """Ask one of the replicas that are alive, the last holder last; then another one."""
        if place in self._asking or place in self._granted:
            return
        last = self._leases.of(place)
        others = [name for name in replicas if last is None or name != last.holder]
        others += [name for name in replicas if name not in others]
        alive = [name for name in others if self._is_alive(name)]
        if not alive:
            return
        tries = self._tries.get(place, 0)
        self._tries[place] = tries + 1
        self._asking[place] = None
        self.node.spawn(self._grant(place, alive[tries % len(alive)]))

    async def _grant(self, place: PartitionId, candidate: str) -> None:
        """Let a candidate make itself ready; it becomes primary with the next lease update."""
        assert place in self._asking, f"{candidate} is asked about {place} unasked"
        node, settings = self.node, self.node.settings
        term, start_ts = self._term, node.clock.now()
        request = LeaseGrant(start_ts, place, start_ts)
        timeout_us = Micros(settings.lease_grant_ms * US_PER_MS)
        reply = await node.request(candidate, request, timeout_us)
        if not isinstance(reply, NoReplyType):
            node.clock.update(reply.sent_ts)
        if not self._leads() or self._term != term:
            return
        self._asking.pop(place, None)
        if isinstance(reply, NoReplyType):
            return
        if reply.accepted:
            self._tries.pop(place, None)
            expiration_ts = plus_ms(start_ts, settings.lease_duration_ms)
            self._granted[place] = Lease(place, candidate, start_ts, expiration_ts)
            self._arm(Micros(0))

    # --- into the meta storage --------------------------------------------------------------------

    def _write(self, changed: list[Lease]) -> None:
        """One command for all; the next only when this one is through."""
        assert changed, "no lease has changed"
        applied = self._application
        if self._sent_index > applied.applied_index and self._metastorage.group.is_leader:
            return  # the one before is still on its way
        update = LeaseUpdate(applied.lease_version, tuple(changed))
        self._written = {lease.place: lease for lease in changed}
        self._granted.clear()
        self._sent_index = self._metastorage.propose_leases(update)
