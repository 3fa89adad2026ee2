"""The model of the meta storage's state machine: what its log makes of catalog, leases and nodes.

Commands are applied in the order of the log, once. A catalog update is a compare-and-set on the
catalog version, a lease update on the number of those before; one with a result changes nothing.
The last life of a node is the one that joined with the largest timestamp, in whatever order the
commands come.
An update is effective from Tu on, by the rules of the design from Tm and the DD in its message, and
none before the one in front of it. The catalog takes each update, in order; safe time follows where
the design says. A wait for an index or a catalog version ends in the instant in which it is there.
"""

from collections.abc import Callable
from typing import ClassVar

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.waits import Waits
from ddlsim.cluster.models.words import words
from ddlsim.model.ports import Node
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, SafeTimeCommand, Submitted
from ddlsim.protocol.meta_commands import AppliedUpdate, LeaseUpdate, MetaState, Stamped
from ddlsim.protocol.metastorage.application import Application, Applied
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.metastorage.stages import Delays
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import Timestamp, show


class MetaModel:
    """The state behind each command; `for_catalog` is what the catalog has still to take."""

    def __init__(self, strategy: Strategy, catalog: Catalog, safe_time: Timestamp) -> None:
        self._strategy = strategy
        self.applied = (0, 0)
        self.version = catalog.version
        self.message_ts = safe_time
        self.lease_version = 0
        self.leases: dict[PartitionId, Lease] = {}
        self.results: dict[str, Submitted] = {}
        self.joined: dict[str, Timestamp] = {}
        self.updates: list[AppliedUpdate] = []
        self.for_catalog: list[Applied] = []
        self.last_activation_ts = catalog.latest().activation_ts

    def apply(self, index: int, term: int, stamped: Stamped) -> None:
        """Take a command."""
        if index <= self.applied[0]:
            return
        self.applied = (index, term)
        command, message_ts, update = stamped.command, stamped.message_ts, None
        if isinstance(command, SafeTimeCommand):
            if not self._strategy.tick_counts(command.term, term):
                return
        elif isinstance(command, LeaseUpdate):
            if command.expected == self.lease_version:
                self._take_leases(command.leases, self.lease_version + 1)
        elif command.command_id not in self.results:
            if isinstance(command, NodeJoined):
                before = self.joined.get(command.node)
                if before is None or before < command.joined_ts:
                    self.joined[command.node] = command.joined_ts
                self.results[command.command_id] = Submitted(
                    message_ts, accepted=True, catalog_version=self.version
                )
            else:
                update = self._update(message_ts, command)
        self.message_ts = message_ts
        self.for_catalog.append((message_ts, update))

    def _take_leases(self, leases: tuple[Lease, ...], version: int) -> None:
        self.lease_version = version
        self.leases.update({lease.place: lease for lease in leases})

    def _update(self, message_ts: Timestamp, update: CatalogUpdate) -> AppliedUpdate | None:
        accepted = update.expected_version == self.version
        self.version += accepted
        self.results[update.command_id] = Submitted(message_ts, accepted, self.version)
        if not accepted:
            return None
        planned_ts = self._strategy.activation_ts(message_ts, update.delay_duration_ms)
        activation_ts = self._strategy.activation_in_order(planned_ts, self.last_activation_ts)
        applied = AppliedUpdate(message_ts, activation_ts, self.version, update)
        self._take_update(applied)
        return applied

    def _take_update(self, applied: AppliedUpdate) -> None:
        self.updates.append(applied)
        self.last_activation_ts = applied.activation_ts

    def install(self, state: MetaState) -> None:
        """Take over a snapshot."""
        for applied in state.updates[len(self.updates) :]:
            self._take_update(applied)
            self.version = applied.catalog_version
            self.for_catalog.append((applied.message_ts, applied))
        self.results.update(state.results)
        self.joined.update(state.joined)
        self._take_leases(state.leases, state.lease_version)
        self.message_ts = self._strategy.restored_safe_ts(state.message_ts)
        self.for_catalog.append((self.message_ts, None))
        self.applied = (state.index, state.term)

    def snapshot(self, leases: tuple[Lease, ...]) -> MetaState:
        """All of the state; `leases` has those, too, that were there from the start."""
        joined, results = tuple(self.joined.items()), tuple(self.results.items())
        return MetaState(
            *self.applied,
            self.message_ts,
            tuple(self.updates),
            results,
            self.lease_version,
            leases,
            joined,
        )


class ModelledApplication(Application):
    """A state machine that compares its state, snapshots and waits, and what the catalog takes."""

    models: ClassVar[Models]

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        catalog: Catalog,
        sync: SchemaSync,
        leases: Leases,
        delays: Delays,
    ) -> None:
        self._divergence = self.models.divergence("meta storage", node.name)
        self._model = MetaModel(strategy, catalog, sync.safe_time)
        self._indexes = Waits(self._divergence, self.models.loop, "index")
        self._versions = Waits(self._divergence, self.models.loop, "catalog version")
        super().__init__(node, strategy, catalog, sync, leases, delays)

    def _apply(self, item: tuple[int, int, Stamped]) -> None:
        model, command = self._model, item[2].command
        model.apply(*item)
        super()._apply(item)
        self._compare_state(command)
        if isinstance(command, CatalogUpdate | NodeJoined):
            name = command.command_id
            result, expected = self.results.get(name), model.results.get(name)
            self._divergence.compare(f"the result of {name}", result, expected)
            if isinstance(command, NodeJoined):
                self._divergence.compare(
                    "the nodes that joined", self.joined, model.joined, dict[str, Timestamp]
                )
        elif isinstance(command, LeaseUpdate):
            self._compare_leases()
        self._indexes.reached(self.applied_index)

    def _compare_state(self, last: object) -> None:
        model = self._model
        here = (self.applied_index, self.applied_term, self._message_ts, self.lease_version)
        there = (*model.applied, model.message_ts, model.lease_version)
        if here != there:
            what = f"index, term, Tm and leases behind {words(last)}"
            self._divergence.compare(what, here, there, tuple[int, int, Timestamp, int])
        last_ts = self._last_activation_ts
        self._divergence.compare(
            "the last activation", last_ts, model.last_activation_ts, Timestamp
        )
        if len(self._updates) != len(model.updates) or len(self.joined) != len(model.joined):
            self._divergence.found(f"updates, or nodes that joined, differ behind {words(last)}")

    def _compare_leases(self) -> None:
        known = self.leases.all()
        for place, lease in self._model.leases.items():
            self._divergence.compare(f"the lease of {place}", known.get(place), lease)

    def _notify_catalog(self, item: Applied) -> None:
        expected = self._model.for_catalog.pop(0) if self._model.for_catalog else None
        self._divergence.compare("what the catalog takes", item, expected)
        super()._notify_catalog(item)
        message_ts, applied = item
        if applied is not None:
            version = applied.catalog_version
            self._divergence.compare("the catalog version", self.catalog.version, version)
            self._versions.reached(version)
        waits = self._strategy.publish_safe_time.after_other_listeners or self.sync.is_restoring
        if self.sync.safe_time < message_ts and not waits:
            self._divergence.found(
                f"{show(message_ts)} is complete; safe time: {show(self.sync.safe_time)}"
            )

    def _apply_to_catalog(self, applied: AppliedUpdate) -> None:
        watchers, called = self.watchers, list[int]()
        self.watchers = [self._counted(one, at, called) for at, one in enumerate(watchers)]
        super()._apply_to_catalog(applied)
        self.watchers = watchers
        if called != list(range(len(watchers))):
            self._divergence.found(
                f"of {len(watchers)} listeners to the catalog it called {called}"
            )

    @staticmethod
    def _counted(
        watcher: Callable[[AppliedUpdate], None], at: int, called: list[int]
    ) -> Callable[[AppliedUpdate], None]:
        def counted(applied: AppliedUpdate) -> None:
            called.append(at)
            watcher(applied)

        return counted

    async def reaches(self, index: int) -> None:
        wait = self._indexes.begin(index)
        await super().reaches(index)
        self._indexes.end(wait, self.applied_index)

    async def catalog_reaches(self, version: int) -> None:
        wait = self._versions.begin(version)
        await super().catalog_reaches(version)
        self._versions.end(wait, self.catalog.version)

    def snapshot(self) -> MetaState:
        state: MetaState = super().snapshot()
        expected = self._model.snapshot(tuple(self.leases.all().values()))
        self._divergence.compare("a snapshot", state, expected)
        return state

    def install(self, state: object) -> None:
        assert isinstance(state, MetaState), state
        self._model.install(state)
        super().install(state)
        self._compare_state(f"the snapshot at {state.index}")
        self._compare_leases()
        self._divergence.compare("the results", self.results, self._model.results)
        self._divergence.compare(
            "the nodes that joined", self.joined, self._model.joined, dict[str, Timestamp]
        )
        self._indexes.reached(self.applied_index)

    def restored(self) -> None:
        super().restored()
        restored_ts = self._strategy.restored_safe_ts(self._model.message_ts)
        if self.sync.safe_time < restored_ts or self.sync.is_restoring:
            self._divergence.found(
                f"{show(restored_ts)} is restored; safe time: {show(self.sync.safe_time)}"
            )
