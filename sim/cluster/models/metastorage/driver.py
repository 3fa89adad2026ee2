"""The model of the placement driver: when a lease is prolonged, and when another one is granted.

While its node leads the meta storage it looks every `lease_check_ms`, and at once behind a change
of the catalog and behind the answer of a candidate.

* A lease with less than `lease_renewal_ms` left is prolonged to its whole duration from now, if it
  has not expired, its holder is alive and has not been restarted since the lease began, keeps up,
  and has not reported that its group refuses its writes.
* Where there is no lease, or it expired more than CSmax ago, a replica that is alive is asked, the
  last holder last, and at the next look the one behind it. Its lease begins when it is asked, and
  is written once it is ready, unless the lease before was prolonged meanwhile.
* Updates of leases are written one after the other, each for the version that the last one made.
"""

from collections.abc import Coroutine
from typing import Any, ClassVar, Final, cast

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.ports import Ports
from ddlsim.cluster.models.words import words
from ddlsim.model.ports import Node
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.meta_commands import AppliedUpdate, LeaseUpdate
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.placement_driver import PlacementDriver, Replicas
from ddlsim.protocol.replica_messages import LeaseAccepted, LeaseFenced, LeaseGrant
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import US_PER_MS, Timestamp, plus_ms

AT_ONCE: Final = 0


class DriverModel:
    """What a driver has asked, been granted and written, and what a look makes of it."""

    def __init__(self, node: Node, strategy: Strategy, metastorage: MetaStorage) -> None:
        self._node = node
        self._strategy = strategy
        self._metastorage = metastorage
        self.term: int | None = None
        self.not_renewed: dict[PartitionId, Timestamp] = {}
        self.asked: dict[PartitionId, str] = {}
        self.ready: dict[PartitionId, Lease] = {}
        self.on_their_way: tuple[PartitionId, ...] = ()
        self.sent_index = 0
        self._tries: dict[PartitionId, int] = {}

    def leads(self) -> bool:
        """Whether the node leads the meta storage in the term for which it was started."""
        group = self._metastorage.group
        return self.term == group.term and group.is_leader

    def begin(self, term: int) -> None:
        """The node leads from now on."""
        self.term = term
        self.asked, self.ready, self.on_their_way = {}, {}, ()

    def accepted(self, lease: Lease) -> None:
        """A candidate is ready."""
        self._tries.pop(lease.place, None)
        self.ready[lease.place] = lease

    def look(
        self, places: dict[PartitionId, tuple[str, ...]]
    ) -> tuple[list[Lease], list[tuple[PartitionId, str]]]:
        """The leases to be written, and the candidates to be asked."""
        now, settings = self._node.clock.current(), self._node.settings
        leases = self._metastorage.leases.all()
        if self._metastorage.application.applied_index >= self.sent_index:
            self.on_their_way = ()
        for place, lease in list(self.ready.items()):
            if not self._is_over(leases.get(place), lease.start_ts):
                del self.ready[place]
        changed, asked = list(self.ready.values()), []
        for place, nodes in places.items():
            last = leases.get(place)
            if place in self.on_their_way:
                continue
            if last is None or self._is_over(last, now):
                candidate = self._candidate(place, nodes, last)
                if candidate is not None:
                    asked.append((place, candidate))
                continue
            is_due = last.expiration_ts < plus_ms(now, settings.lease_renewal_ms)
            if is_due and self._deserves(last, now):
                until = plus_ms(now, settings.lease_duration_ms)
                changed.append(Lease(place, last.holder, last.start_ts, until))
        return changed, asked

    def may_write(self) -> bool:
        """Whether the update before is applied."""
        return self._metastorage.application.applied_index >= self.sent_index

    def written(self, update: LeaseUpdate, index: int) -> None:
        """An update was given to the log."""
        self.on_their_way = tuple(lease.place for lease in update.leases)
        self.ready, self.sent_index = {}, index

    def _is_over(self, lease: Lease | None, ts: Timestamp) -> bool:
        if lease is None:
            return True
        skew_ms = self._node.settings.max_clock_skew_ms
        return self._strategy.lease_outdated_ts(lease.expiration_ts, skew_ms) < ts

    def _is_alive(self, node: str) -> bool:
        timeout_us = self._node.settings.election_timeout_ms * US_PER_MS
        return node == self._node.name or self._metastorage.group.silent_us(node) < timeout_us

    def _deserves(self, lease: Lease, now: Timestamp) -> bool:
        joined_ts = self._metastorage.application.joined.get(lease.holder)
        restarted = joined_ts is not None and joined_ts > lease.start_ts
        fenced = self.not_renewed.get(lease.place) == lease.start_ts
        if restarted or fenced or now >= lease.expiration_ts or not self._is_alive(lease.holder):
            return False
        lag_us = self._metastorage.group.behind_us(lease.holder)
        return self._strategy.keeps_lease(lag_us, self._node.settings.laggard_ms * US_PER_MS)

    def _candidate(
        self, place: PartitionId, nodes: tuple[str, ...], last: Lease | None
    ) -> str | None:
        if place in self.asked or place in self.ready:
            return None
        former = [node for node in nodes if last is not None and node == last.holder]
        alive = [node for node in nodes if node not in former and self._is_alive(node)]
        alive += [node for node in former if self._is_alive(node)]
        if not alive:
            return None
        tries = self._tries.get(place, 0)
        self._tries[place] = tries + 1
        self.asked[place] = alive[tries % len(alive)]
        return self.asked[place]


class Log:
    """The meta storage as a driver has it; `written` are the updates that it gives to the log."""

    def __init__(self, metastorage: MetaStorage) -> None:
        self._metastorage = metastorage
        self.written: list[tuple[LeaseUpdate, int]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._metastorage, name)

    def propose_leases(self, update: LeaseUpdate) -> int:
        """Append an update."""
        index = self._metastorage.propose_leases(update)
        self.written.append((update, index))
        return index


class ModelledDriver(PlacementDriver):
    """A driver that compares which candidates it asks, and what it writes and arms."""

    models: ClassVar[Models]

    def __init__(
        self, node: Node, strategy: Strategy, metastorage: MetaStorage, replicas: Replicas
    ) -> None:
        self._ports, self._log = Ports(node), Log(metastorage)
        ports, log = cast("Node", self._ports), cast("MetaStorage", self._log)
        super().__init__(ports, strategy, log, replicas)
        self._model = DriverModel(node, strategy, metastorage)
        self._model.not_renewed = self.not_renewed  # faults, too, let leases end
        self._divergence = self.models.divergence("placement driver", node.name)
        self._candidates: list[tuple[PartitionId, str]] = []
        self._news_us: int | None = None
        metastorage.on_activation(self._note)

    def _note(self, _applied: AppliedUpdate) -> None:
        """The catalog has changed: a look is due at once."""
        if self._model.leads() and self._news_us is None:
            self._news_us = self.node.watch.now_us

    def start(self, term: int) -> None:
        self._news_us = None
        super().start(term)
        self._model.begin(term)
        self._compare_looks("an election", [self._between_us()])

    def look_soon(self, applied: AppliedUpdate) -> None:
        self._news_us = None
        before, self._ports.armed = self._ports.armed, []  # a look that writes may apply an update
        super().look_soon(applied)
        self._compare_looks("an update", [AT_ONCE] if self._model.leads() else [])
        self._ports.armed = before

    def _between_us(self) -> int:
        return self.node.settings.lease_check_ms * US_PER_MS

    def _compare_looks(self, what: str, expected: list[int]) -> None:
        """Compare the looks that a call has armed with those that are due."""
        armed, self._ports.armed = self._ports.armed, []
        self._divergence.compare(f"behind {what} when it looks", armed, expected)

    def _look(self) -> None:
        model = self._model
        leads, version = model.leads(), self._application.lease_version
        if leads and self._news_us is not None and self._news_us < self.node.watch.now_us:
            self._divergence.found(f"the catalog changed at {self._news_us} us: it looks later")
        changed, asked = model.look(self._replicas()) if leads else ([], [])
        expected = [LeaseUpdate(version, tuple(changed))] if changed and model.may_write() else []
        self._candidates, self._log.written = [], []
        super()._look()
        self._compare_looks("a look", [self._between_us()] if leads else [])
        self._divergence.compare("which candidates it asks", self._candidates, asked)
        written = [update for update, _ in self._log.written]
        self._divergence.compare("what it writes of leases", written, expected)
        for update, index in self._log.written:
            model.written(update, index)

    def _still_needed(self, granted: Lease) -> bool:
        """A lease begins once the one before was over on every clock: asked at its border, too."""
        needed: bool = super()._still_needed(granted)
        last = self._leases.of(granted.place)
        if last is None:
            return needed
        skew_ms = self.node.settings.max_clock_skew_ms
        over_ts = self._strategy.lease_outdated_ts(last.expiration_ts, skew_ms)
        for by in (0, 1):
            beside = replace(granted, start_ts=Timestamp(over_ts + by))
            if super()._still_needed(beside) is not bool(by):
                self._divergence.found(
                    f"whether {words(beside)} may follow {words(last)} is {not by}"
                )
        return needed

    def _on_fenced(self, sender: str, report: LeaseFenced) -> None:
        super()._on_fenced(sender, report)
        noted = self.not_renewed.get(report.place)
        self._divergence.compare(
            f"what ends behind {words(report)}", noted, report.start_ts, Timestamp
        )

    def _grant(self, place: PartitionId, candidate: str) -> Coroutine[object, None, None]:
        self._candidates.append((place, candidate))
        return self._compared(place, candidate, super()._grant(place, candidate))

    async def _compared(
        self, place: PartitionId, candidate: str, grant: Coroutine[object, None, None]
    ) -> None:
        model, term, number = self._model, self._model.term, len(self._ports.requests)
        await grant
        asked = self._ports.requests[number]
        start_ts, settings = asked.shown_ts, self.node.settings
        request = LeaseGrant(start_ts, place, start_ts)
        self._divergence.compare("what it asks", asked[:2], (candidate, request))
        ready = False
        if model.leads() and model.term == term:
            model.asked.pop(place, None)
            reply = asked.reply.value
            ready = isinstance(reply, LeaseAccepted) and reply.accepted
            if ready:
                until = plus_ms(start_ts, settings.lease_duration_ms)
                model.accepted(Lease(place, candidate, start_ts, until))
        self._compare_looks("an answer", [AT_ONCE] if ready else [])
        self._divergence.compare("what it may write", self._granted, model.ready)
        self._divergence.compare(
            "the partitions whose candidates it has asked", list(self._asking), list(model.asked)
        )
