"""The meta storage: one replicated log of schema updates, with a member on every node.

There is a member, voter or learner, on every node, so that updates arrive everywhere in order,
once and without gaps [98.def.3]. Every command carries the timestamp Tm that the leader stamped on
it, strictly increasing in log order. What a node does with a committed command is `application`.

When nothing happens for H, the leader commits an idle safe-time command, through the same log
[98.safe.3]: without it a node could not tell "nothing happened" from "I do not know".
"""

from collections.abc import Callable

from sim.model.ports import NO_REPLY, Node, Timer
from sim.protocol.application import Application, AppliedUpdate, Delays, Stamped
from sim.protocol.catalog import Catalog
from sim.protocol.messages import CatalogUpdate, SafeTimeCommand, Submit, Submitted
from sim.protocol.raft import AppendEntries, AppendReply, Member
from sim.protocol.schema_sync import SchemaSync
from sim.protocol.strategy import Strategy
from sim.units import US_PER_MS, Micros


class MetaStorage:
    """One node's member of the meta storage group, and what it applies."""

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
        self.application = Application(node, strategy, catalog, sync)
        self._strategy = strategy
        self._cluster_delay_ms = cluster_delay_ms
        self._idle_ticks = idle_ticks
        self._idle_timer: Timer | None = None
        self._resend_armed = False
        node.on(AppendEntries, self._on_append)
        node.on(AppendReply, self._on_append)
        node.on(Submit, self._on_submit)
        self._arm_idle_timer()

    @property
    def delays(self) -> Delays:
        """How slowly this node applies, stage by stage."""
        return self.application.delays

    def on_activation(self, watcher: Callable[[AppliedUpdate], None]) -> None:
        """Tell `watcher` of every update that this node's catalog has applied."""
        self.application.watcher = watcher

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
        await self.application.catalog_reaches(version)

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
        application = self.application
        if update.command_id not in application.results:
            index = self._propose(Stamped(node.clock.now(), self._with_delay(update)))
            await application.reaches(index)
        known = application.results[update.command_id]
        return Submitted(node.clock.now(), known.accepted, known.catalog_version)

    def _with_delay(self, update: CatalogUpdate) -> CatalogUpdate:
        """The update as it goes into the log: with a DD that no reader's exceeds [98.x.4]."""
        delay = self._strategy.message_delay(update.delay_duration_ms, self._cluster_delay_ms)
        if delay == update.delay_duration_ms:
            return update
        return CatalogUpdate(update.command_id, update.expected_version, delay, update.objects)

    def _propose(self, stamped: Stamped) -> int:
        """Append a stamped command and send it to everyone; its index in the log."""
        self._arm_idle_timer()
        index = self.member.propose(stamped)
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
        while member.committed:
            index, entry = member.committed.popleft()
            assert type(entry.command) is Stamped, entry.command
            self.application.take(index, entry.command)
