"""What a node does with a committed command of the meta storage, stage by stage.

1. *log*: the state machine applies it. A catalog update is a compare-and-set: it takes effect if
   the catalog version is still the one it was built against. Every node decides alike.
2. *catalog*: the catalog listeners run; from here on the node sees the update [98.def.2]. The
   node's *schema safe time* moves now and not before [98.x.3]: it promises that everything with a
   smaller Tm is visible. One command after the other, so it never overtakes an earlier update.
3. *listener*: whatever else listens to the meta storage. It must not hold up the schema.

Each stage can be slow on a node; the first two are then part of the propagation delay PD. Were safe
time published before the second stage, a node would look up schemas that it has not applied.
"""

from collections.abc import Callable

from ddlsim.history.events import UpdateApplied, UpdateLogged
from ddlsim.model.ports import Future, Node
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import CatalogUpdate, NodeJoined, SafeTimeCommand, Submitted
from ddlsim.protocol.meta_commands import AppliedUpdate, LeaseUpdate, MetaState, Stamped
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.metastorage.stages import Delays, Stage
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import Timestamp

Applied = tuple[Timestamp, AppliedUpdate | None]
"""A command past the state machine: its Tm, and the update if it is one that took effect."""


class Application:
    """One node's state machine and the listeners behind it."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        catalog: Catalog,
        sync: SchemaSync,
        leases: Leases,
        delays: Delays,
    ) -> None:
        self.node = node
        self.catalog = catalog
        self.leases = leases
        self.delays = delays
        self.results: dict[str, Submitted] = {}
        self.watchers: list[Callable[[AppliedUpdate], None]] = []
        self.joined: dict[str, Timestamp] = {}
        self.lease_version = 0
        self._strategy = strategy
        self.sync = sync
        self.applied_index = 0
        self.applied_term = 0
        self._applied_version = catalog.version
        self._message_ts = sync.safe_time
        self._last_activation_ts = catalog.latest().activation_ts
        self._updates: list[AppliedUpdate] = []
        self._waiting: dict[int, list[Future[None]]] = {}
        self._version_waiters: list[tuple[int, Future[None]]] = []
        self._log: Stage[tuple[int, int, Stamped]] = Stage(
            node, lambda _: self.delays.log, self._apply
        )
        self._listening: Stage[Applied] = Stage(
            node, lambda item: self.delays.catalog if item[1] else 0, self._notify_catalog
        )
        self._others: Stage[Timestamp] = Stage(
            node, lambda _: self.delays.listener, self._notify_others
        )

    def apply(self, index: int, term: int, command: object) -> None:
        """Apply a committed command; commands come in the order of the log."""
        assert type(command) is Stamped, command
        item = (index, term, command)
        if self.delays.log or self._log.waiting:
            self._log.take(item)
        else:  # nearly always
            self._apply(item)

    def restore(self, index: int, term: int, command: object) -> None:
        """Apply, without its delays, a command that was applied before the node died."""
        assert isinstance(command, Stamped), command
        delays, self.delays = self.delays, Delays()
        self._log.take((index, term, command))
        self.delays = delays

    def restoring(self) -> None:
        """Publish no safe time until the whole log is applied again: it must not go back."""
        assert not self.sync.is_restoring, f"{self.node.name} is being restored already"
        self.sync.is_restoring = True

    def restored(self) -> None:
        """Publish safe time again: it is where it was before the crash [98.x.7]."""
        assert self.sync.is_restoring, f"{self.node.name} is not being restored"
        self.sync.is_restoring = False
        self.sync.advance_safe_time(self.restored_safe_time(self._message_ts))

    def stamp_of(self, command: object) -> Timestamp:
        """Tm."""
        assert type(command) is Stamped, command
        return command.message_ts

    def stamp_of_state(self, state: object) -> Timestamp:
        """Tm of the last command in a snapshot."""
        assert isinstance(state, MetaState), state
        return state.message_ts

    async def reaches(self, index: int) -> None:
        """Wait until the state machine has applied the entry at an index."""
        if self.applied_index < index:
            applied: Future[None] = self.node.future()
            self._waiting.setdefault(index, []).append(applied)
            await applied
            assert self.applied_index >= index, f"{index} is not applied"

    async def catalog_reaches(self, version: int) -> None:
        """Wait until the catalog has applied a version, listeners included."""
        if self.catalog.version < version:
            applied: Future[None] = self.node.future()
            self._version_waiters.append((version, applied))
            await applied
            assert self.catalog.version >= version, f"the catalog is not at {version}"

    # --- snapshots --------------------------------------------------------------------------------

    def may_store(self, _command: object) -> bool:
        """Every node can store everything: the catalog is what this log brings."""
        return True

    def may_install(self, _state: object) -> bool:
        """Every node can install every snapshot."""
        return True

    def snapshot(self) -> MetaState:
        """The state machine's whole state; safe time is the last command's Tm [98.x.7]."""
        return MetaState(
            self.applied_index,
            self.applied_term,
            self._message_ts,
            tuple(self._updates),
            tuple(self.results.items()),
            self.lease_version,
            tuple(self.leases.all().values()),
            tuple(self.joined.items()),
        )

    def install(self, state: object) -> None:
        """Take over a state, another member's or this disk's own: what is new in it, in order.

        It goes to the catalog behind whatever is still on its way there. What a node knew before it
        died is back without the delays of its listeners, since safe time comes back with it.
        """
        assert isinstance(state, MetaState), state
        delays = self.delays
        if self.sync.is_restoring:
            self.delays = Delays()
        self._install(state)
        self.delays = delays

    def _install(self, state: MetaState) -> None:
        for applied in state.updates[len(self._updates) :]:
            self._updates.append(applied)
            self._applied_version = applied.catalog_version
            self._last_activation_ts = applied.activation_ts
            self._listening.take((applied.message_ts, applied))
        self.results.update(state.results)
        self.joined.update(state.joined)
        self.lease_version = state.lease_version
        for lease in state.leases:
            self.leases.begin(lease)
        self._message_ts = self.restored_safe_time(state.message_ts)
        self._listening.take((self._message_ts, None))
        self._advance(state.index, state.term)

    def restored_safe_time(self, message_ts: Timestamp) -> Timestamp:
        """What is complete once everything up to a command is back, or a snapshot is in."""
        return self._strategy.restored_safe_ts(message_ts)

    def _advance(self, index: int, term: int) -> None:
        self.applied_index, self.applied_term = index, term
        for waited in [waited for waited in self._waiting if waited <= index]:
            for waiting in self._waiting.pop(waited):
                waiting.set(None)

    # --- the state machine ------------------------------------------------------------------------

    def _apply(self, item: tuple[int, int, Stamped]) -> None:
        """Do what the command asks for, hand the result to the catalog."""
        index, term, stamped = item
        if index <= self.applied_index:  # a snapshot has overtaken it
            return
        command, message_ts = stamped.command, stamped.message_ts
        applied: AppliedUpdate | None = None
        counts = True
        if type(command) is SafeTimeCommand:  # nearly always
            counts = self._strategy.tick_counts(command.term, term)
        else:
            applied = self._decide(index, stamped)
        if counts:
            self._message_ts = message_ts
            if not self._strategy.publish_safe_time.after_catalog_listeners:
                self.sync.advance_safe_time(message_ts)
            if applied is not None or self._listening.waiting:
                self._listening.take((message_ts, applied))
            else:  # nearly always: no update, so that the listeners have nothing to do
                self._notify_catalog((message_ts, None))
        else:
            self.node.probe("tick-ignored")
        if index in self._waiting:
            self._advance(index, term)
        else:
            self.applied_index, self.applied_term = index, term

    def _decide(self, index: int, stamped: Stamped) -> AppliedUpdate | None:
        """Do what a command asks for; gives the update if it is one that takes effect."""
        command, message_ts = stamped.command, stamped.message_ts
        match command:
            case CatalogUpdate():
                if command.command_id not in self.results:
                    return self._compare_and_set(index, message_ts, command)
            case LeaseUpdate():
                self._take_leases(command)
            case NodeJoined():
                self._take_joined(message_ts, command)
        return None

    def _take_leases(self, update: LeaseUpdate) -> None:
        """Leases are a compare-and-set too: two placement drivers must not both grant."""
        if update.expected != self.lease_version:
            self.node.probe("lease-cas-lost")
            return
        assert update.leases, "an update of no lease"
        self.lease_version += 1
        for lease in update.leases:
            self.leases.begin(lease)

    def _take_joined(self, message_ts: Timestamp, command: NodeJoined) -> None:
        """Keep when a node last joined: what an earlier life of it has submitted may come later."""
        if command.command_id not in self.results:
            last_ts = self.joined.get(command.node, command.joined_ts)
            self.joined[command.node] = max(last_ts, command.joined_ts)
            self.results[command.command_id] = Submitted(
                message_ts, accepted=True, catalog_version=self._applied_version
            )

    def _compare_and_set(
        self, index: int, message_ts: Timestamp, update: CatalogUpdate
    ) -> AppliedUpdate | None:
        accepted = update.expected_version == self._applied_version
        if accepted:
            self._applied_version += 1
        else:
            self.node.probe("catalog-cas-lost")
        version = self._applied_version
        self.results[update.command_id] = Submitted(message_ts, accepted, version)
        if not accepted:
            return None
        planned_ts = self._strategy.activation_ts(message_ts, update.delay_duration_ms)
        activation_ts = self._strategy.activation_in_order(planned_ts, self._last_activation_ts)
        self._last_activation_ts = activation_ts
        node = self.node
        if node.recording and node.is_first(("update", version)):
            node.record(
                UpdateLogged(
                    node.watch.now_us,
                    node.name,
                    update.op,
                    index,
                    version,
                    message_ts,
                    activation_ts,
                    update.delay_duration_ms,
                    update.objects,
                    update.expected_version,
                )
            )
        applied = AppliedUpdate(message_ts, activation_ts, version, update)
        self._updates.append(applied)
        return applied

    # --- the listeners ----------------------------------------------------------------------------

    def _notify_catalog(self, item: Applied) -> None:
        """Apply the update to the catalog, then move the schema safe time [98.x.3]."""
        message_ts, applied = item
        if applied is not None:
            self._apply_to_catalog(applied)
        comes_last = self._strategy.publish_safe_time.after_other_listeners
        if not comes_last:
            self.sync.advance_safe_time(message_ts)
        if comes_last or self.delays.listener:
            self._others.take(message_ts)

    def _notify_others(self, message_ts: Timestamp) -> None:
        """Publish safe time once all listeners have handled the command."""
        if self.delays.listener:
            self.node.probe("slow-listener")
        self.sync.advance_safe_time(message_ts)

    def _apply_to_catalog(self, applied: AppliedUpdate) -> None:
        node = self.node
        version, activation_ts = applied.catalog_version, applied.activation_ts
        self.catalog.apply(version, applied.message_ts, activation_ts, applied.update.objects)
        if node.recording:
            node.record(
                UpdateApplied(
                    node.watch.now_us, node.name, version, applied.message_ts, activation_ts
                )
            )
        self._wake_version_waiters()
        node.spawn(self._count_activation(activation_ts))
        for watcher in self.watchers:
            watcher(applied)

    async def _count_activation(self, activation_ts: Timestamp) -> None:
        await self.node.clock_passes(activation_ts)
        self.node.probe("schema-activated")

    def _wake_version_waiters(self) -> None:
        waiting, self._version_waiters = self._version_waiters, []
        for version, applied in waiting:
            if version <= self.catalog.version:
                applied.set(None)
            else:
                self._version_waiters.append((version, applied))
