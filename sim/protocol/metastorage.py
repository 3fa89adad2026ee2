"""The meta storage: one replicated log of schema updates, with a state machine on every node.

There is a member, voter or learner, on every node, so that updates arrive everywhere in order,
once and without gaps [98.def.3]. Every command carries the timestamp Tm that the leader stamped on
it, strictly increasing in log order; applying a command moves the node's safe time to its Tm.

What happens to a committed command on a node, in this order:

1. *log*: the state machine applies it. A catalog update is a compare-and-set: it takes effect if
   the catalog version is still the one it was built against. Every node decides alike.
2. *catalog*: the catalog listeners run; from here on the node sees the update [98.def.2]. The
   node's *schema safe time* moves now and not before [98.x.3]: it promises that everything with a
   smaller Tm is visible. One command after the other, so it never overtakes an earlier update.
3. *listener*: whatever else listens to the meta storage. It must not hold up the schema.

Each stage can be slow on a node; a slow stage is part of the propagation delay PD. When nothing
happens for H, the leader commits an idle safe-time command, through the same log [98.safe.3].
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from sim.history.events import UpdateApplied, UpdateLogged
from sim.model.ports import NO_REPLY, Future, Node, Timer
from sim.model.records import Record
from sim.protocol.catalog import Catalog
from sim.protocol.messages import CatalogUpdate, SafeTimeCommand, Submit, Submitted
from sim.protocol.raft import AppendEntries, AppendReply, Entry, Member
from sim.protocol.schema_sync import SchemaSync
from sim.protocol.strategy import Strategy
from sim.units import US_PER_MS, Micros, Timestamp


class Stamped(Record, frozen=True):
    """A command as it stands in the log, under the leader's timestamp."""

    message_ts: Timestamp
    command: CatalogUpdate | SafeTimeCommand


class AppliedUpdate(Record, frozen=True):
    """A catalog update that took effect, on its way to the catalog listeners."""

    message_ts: Timestamp
    activation_ts: Timestamp
    catalog_version: int
    update: CatalogUpdate


class Delays:
    """How slow each stage of application is on a node, in microseconds."""

    __slots__ = ("catalog", "listener", "log")

    def __init__(self) -> None:
        self.log = 0
        self.catalog = 0
        self.listener = 0


class MetaStorage:
    """One node's member of the meta storage group, and its state machine."""

    def __init__(
        self,
        node: Node,
        member: Member,
        strategy: Strategy,
        catalog: Catalog,
        sync: SchemaSync,
        *,
        cluster_delay_ms: int,
        idle_ticks: bool,
    ) -> None:
        self.node = node
        self.member = member
        self.catalog = catalog
        self.delays = Delays()
        self.on_activation: Callable[[AppliedUpdate], None] | None = None
        self._strategy = strategy
        self._sync = sync
        self._cluster_delay_ms = cluster_delay_ms
        self._idle_ticks = idle_ticks
        self._applied_version = catalog.version
        self._results: dict[str, Submitted] = {}
        self._proposals: dict[int, Future[Any]] = {}
        self._log_stage: deque[tuple[int, Stamped]] = deque()
        self._catalog_stage: deque[tuple[Timestamp, AppliedUpdate | None]] = deque()
        self._log_busy = False
        self._catalog_busy = False
        self._idle_timer: Timer | None = None
        self._resend_armed = False
        self._version_waiters: list[tuple[int, Future[Any]]] = []
        node.on(AppendEntries, self._on_append)
        node.on(AppendReply, self._on_append)
        node.on(Submit, self._on_submit)
        self._arm_idle_timer()

    # --- submitting -------------------------------------------------------------------------------

    async def submit(self, update: CatalogUpdate) -> Submitted:
        """Run a command through the log; resent until answered, applied at most once."""
        node = self.node
        while True:
            request = Submit(node.clock.now(), update)
            reply = await node.request(self.member.leader, request, node.settings.resend_us)
            if reply is not NO_REPLY:
                node.clock.update(reply.sent_ts)
                return reply  # type: ignore[no-any-return]  # requests are typed by their handler
            node.probe("submit-resent")

    async def catalog_reaches(self, version: int) -> None:
        """Wait until this node's catalog has applied a version, listeners included."""
        if self.catalog.version < version:
            applied = self.node.future()
            self._version_waiters.append((version, applied))
            await applied

    def tick(self) -> None:
        """Commit an idle safe-time command now; only the leader does [98.safe.3]."""
        if self.member.is_leader:
            message_ts = self._strategy.tick_ts(self.node.clock)
            self._propose(Stamped(message_ts, SafeTimeCommand()))
            self.node.probe("idle-tick")

    # --- the leader's side ------------------------------------------------------------------------

    async def _on_submit(self, sender: str, request: Submit) -> Submitted:
        """Stamp, replicate, apply, answer.

        The stamp is taken and the entry appended without an await between them, so that the order
        in the log is the order of the stamps; a command that is sent again gets a new stamp
        [98.x.5].
        """
        del sender
        node = self.node
        node.clock.update(request.sent_ts)
        update = request.update
        known = self._results.get(update.command_id)
        if known is None:
            index = self._propose(Stamped(node.clock.now(), self._with_delay(update)))
            applied = self._proposals.get(index)
            if applied is not None:
                await applied
            known = self._results[update.command_id]
        return Submitted(node.clock.now(), known.accepted, known.catalog_version)

    def _with_delay(self, update: CatalogUpdate) -> CatalogUpdate:
        """The update as it goes into the log: with a DD that no reader's exceeds [98.x.4]."""
        delay = self._strategy.message_delay(update.delay_duration_ms, self._cluster_delay_ms)
        if delay == update.delay_duration_ms:
            return update
        return CatalogUpdate(update.command_id, update.expected_version, delay, update.objects)

    def _propose(self, stamped: Stamped) -> int:
        """Append a stamped command; when it is not applied at once, `_proposals` has its wait."""
        self._arm_idle_timer()
        index = len(self.member.log) + 1
        self._proposals[index] = self.node.future()
        proposed = self.member.propose(stamped)
        assert proposed == index, f"proposed at {proposed}, expected {index}"
        self._after_step()
        self._arm_resend()
        return index

    def _arm_idle_timer(self) -> None:
        """A tick is due H after the last command; every command arms it anew."""
        if not self.member.is_leader or not self._idle_ticks:
            return
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        interval = Micros(self.node.settings.safe_time_interval_ms * US_PER_MS)
        self._idle_timer = self.node.call_later(interval, self._idle)

    def _idle(self) -> None:
        self._idle_timer = None
        self.tick()

    def _arm_resend(self) -> None:
        """While a member has not confirmed everything, look again after a while."""
        if not self._resend_armed:
            self._resend_armed = True
            self.node.call_later(self.node.settings.resend_us, self._resend)

    def _resend(self) -> None:
        self._resend_armed = False
        behind = self.member.resend()
        if self.member.outbox:
            self.node.probe("append-resent")
            self._after_step()
        if behind:
            self._arm_resend()

    # --- every member's side ----------------------------------------------------------------------

    def _on_append(self, sender: str, message: AppendEntries | AppendReply) -> None:
        self.member.step(sender, message)
        self._after_step()

    def _after_step(self) -> None:
        """Carry out what the step machine decided."""
        member = self.member
        if member.outbox:
            outbox, member.outbox = member.outbox, []
            for to, message in outbox:
                self.node.send(to, message)
        if member.committed:
            while member.committed:
                index, entry = member.committed.popleft()
                self._log_stage.append((index, self._stamped(entry)))
            self._run_log_stage()

    @staticmethod
    def _stamped(entry: Entry) -> Stamped:
        assert type(entry.command) is Stamped, entry.command
        return entry.command

    def _run_log_stage(self) -> None:
        """Apply committed commands one after another, each after the node's delay."""
        while self._log_stage and not self._log_busy:
            if self.delays.log:
                self._log_busy = True
                self.node.call_later(Micros(self.delays.log), self._leave_log_stage)
                return
            self._apply(*self._log_stage.popleft())

    def _leave_log_stage(self) -> None:
        self._log_busy = False
        self._apply(*self._log_stage.popleft())
        self._run_log_stage()

    def _apply(self, index: int, stamped: Stamped) -> None:
        """The state machine: decide the compare-and-set, hand the result to the catalog."""
        command = stamped.command
        applied: AppliedUpdate | None = None
        if type(command) is CatalogUpdate and command.command_id not in self._results:
            applied = self._compare_and_set(index, stamped.message_ts, command)
        if not self._strategy.publish_safe_time.after_catalog_listeners:
            self._sync.publish(stamped.message_ts)
        self._catalog_stage.append((stamped.message_ts, applied))
        self._run_catalog_stage()
        waiting = self._proposals.pop(index, None)
        if waiting is not None:
            waiting.set(None)

    def _compare_and_set(
        self, index: int, message_ts: Timestamp, update: CatalogUpdate
    ) -> AppliedUpdate | None:
        accepted = update.expected_version == self._applied_version
        if accepted:
            self._applied_version += 1
        else:
            self.node.probe("catalog-cas-lost")
        version = self._applied_version
        self._results[update.command_id] = Submitted(message_ts, accepted, version)
        if not accepted:
            return None
        activation_ts = self._strategy.activation_ts(message_ts, update.delay_duration_ms)
        self.node.record_once(
            ("update", version),
            UpdateLogged(
                self.node.elapsed_us(),
                self.node.name,
                update.op,
                index,
                version,
                message_ts,
                activation_ts,
                update.delay_duration_ms,
                update.objects,
            ),
        )
        return AppliedUpdate(message_ts, activation_ts, version, update)

    # --- the catalog listeners --------------------------------------------------------------------

    def _run_catalog_stage(self) -> None:
        while self._catalog_stage and not self._catalog_busy:
            _, applied = self._catalog_stage[0]
            if applied is not None and self.delays.catalog:
                self._catalog_busy = True
                self.node.call_later(Micros(self.delays.catalog), self._leave_catalog_stage)
                return
            self._notify_catalog(*self._catalog_stage.popleft())

    def _leave_catalog_stage(self) -> None:
        self._catalog_busy = False
        self._notify_catalog(*self._catalog_stage.popleft())
        self._run_catalog_stage()

    def _notify_catalog(self, message_ts: Timestamp, applied: AppliedUpdate | None) -> None:
        """The catalog learns of the update, then the schema safe time moves [98.x.3]."""
        if applied is not None:
            version, activation_ts = applied.catalog_version, applied.activation_ts
            self.catalog.apply(version, message_ts, activation_ts, applied.update.objects)
            node = self.node
            if node.recording:
                node.record(
                    UpdateApplied(node.elapsed_us(), node.name, version, message_ts, activation_ts)
                )
            self._wake_version_waiters()
            node.spawn(self._count_activation(activation_ts))
            if self.on_activation is not None:
                self.on_activation(applied)
        self._sync.publish(message_ts)

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
