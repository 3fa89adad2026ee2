"""The meta storage: one replicated log of schema updates, with a member on every node.

There is a member, voter or learner, on every node, so that updates arrive everywhere in order,
once and without gaps [98.def.3]. Every command carries the timestamp Tm that the leader stamped on
it, strictly increasing in log order, also from one leader to the next: a new leader merges the last
stamp of its log into its clock before it stamps a command [98.x.1]. What a node does with a
committed command is `application`.

After H without a command the leader commits an idle safe-time command, through the same log
[98.safe.3]: without it a node could not distinguish "no update" from "an update is on its way".
"""

from collections.abc import Callable

from msgspec.structs import replace

from ddlsim.model.groups import META
from ddlsim.model.ports import Node, NoReplyType
from ddlsim.model.records import Record
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import (
    CatalogUpdate,
    NodeJoined,
    NotLeader,
    SafeTimeCommand,
    Submit,
    Submitted,
)
from ddlsim.protocol.meta_commands import AppliedUpdate, LeaseUpdate, Stamped
from ddlsim.protocol.metastorage.application import Application
from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.metastorage.stages import Delays
from ddlsim.protocol.raft import RAFT_MESSAGES, Member
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.waiting import resend_delay
from ddlsim.units import Micros, Timestamp

"""The group's name."""


class MetaStorageConfig(Record, frozen=True):
    """The members of the group, and settings that are the same for the whole cluster.

    All nodes begin with the safe time `start_ts`, before there is a command in the log.
    """

    voters: tuple[str, ...]
    learners: tuple[str, ...]
    leader: str
    cluster_delay_ms: int
    idle_ticks: bool
    start_ts: Timestamp


class MetaStorage:
    """One node's member of the meta storage group, and what it applies."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        catalog: Catalog,
        sync: SchemaSync,
        leases: Leases,
        config: MetaStorageConfig,
        *,
        application_class: type[Application] = Application,
        ticker_class: type[SafeTimeTicker] = SafeTimeTicker,
        group_class: type[Group] = Group,
        member_class: type[Member] = Member,
        delays: Delays,
    ) -> None:
        self.node = node
        self.leases = leases
        self.application = application_class(node, strategy, catalog, sync, leases, delays)
        self.ticker = ticker_class(node, self._tick, enabled=config.idle_ticks)
        self.on_elected: Callable[[int], None] | None = None
        self._stamps: dict[str, Timestamp] = {}
        self._strategy = strategy
        self._config = config
        self.group = group_class(
            node,
            META,
            self.application,
            voters=config.voters,
            learners=config.learners,
            leader=config.leader,
            member_class=member_class,
            idle_ms=self._idle_ms,
        )
        self.group.on_elected = self._elected
        self.group.on_deposed = self._deposed
        for kind in RAFT_MESSAGES:
            node.on(kind, self.group.receive)
        node.on(Submit, self._on_submit)

    def _idle_ms(self) -> int | None:
        """H, where idle commands are sent."""
        return self.node.settings.safe_time_interval_ms if self._config.idle_ticks else None

    def start(self) -> None:
        """Restore what the disk holds, then take part."""
        self.group.start()
        if self.group.is_leader:
            self.ticker.start(self.group.term)
            if self.on_elected is not None:
                self.on_elected(self.group.term)

    def on_activation(self, watcher: Callable[[AppliedUpdate], None]) -> None:
        """Call `watcher` with every update that this node's catalog has applied."""
        self.application.watchers.append(watcher)

    # --- submitting -------------------------------------------------------------------------------

    async def submit(self, command: CatalogUpdate | NodeJoined) -> Submitted:
        """Run a command through the log; resent until answered, applied at most once.

        A node that does not lead answers with the leader that it follows, if any.
        """
        node, voters = self.node, self._config.voters
        asked = 0
        hint: str | None = None
        while True:
            to = hint or self.group.leader or voters[asked % len(voters)]
            asked += 1
            hint = None
            began = node.watch.now_us
            request = Submit(node.clock.now(), command)
            wait_us = resend_delay(node.settings, asked - 1)
            reply = await node.request(to, request, wait_us)
            if not isinstance(reply, NoReplyType):
                node.clock.update(reply.sent_ts)
            if isinstance(reply, Submitted):
                return reply
            node.probe("submit-resent")
            if isinstance(reply, NotLeader) and reply.leader not in (None, to):
                hint = reply.leader
            elif node.watch.now_us - began < wait_us:  # refused, not lost
                await node.sleep(node.settings.retry_us)
            if isinstance(reply, NoReplyType) and self.group.leader == to:
                hint = voters[asked % len(voters)]

    async def catalog_reaches(self, version: int) -> None:
        """Wait until this node's catalog has applied a version, listeners included."""
        await self.application.catalog_reaches(version)

    def tick(self) -> None:
        """Commit an idle safe-time command now; only the leader does [98.safe.3]."""
        if self.group.is_leader:
            self._tick(self.group.term)

    # --- the leader's side ------------------------------------------------------------------------

    def _elected(self, term: int) -> None:
        """Begin to lead: no stamp below those in the log, and a first command of this term.

        Nor below the safe time that all nodes began with, where the log is empty still.

        Only a command of its own term lets a leader commit entries of earlier terms (Raft 5.4.2),
        so it appends an idle safe-time command at once.
        """
        assert self.group.is_leader, f"{self.node.name} does not lead the meta storage"
        last_stamp = max(self.group.last_stamp, self._config.start_ts)
        self._strategy.take_over_clock(self.node.clock, last_stamp)
        self._tick(term)
        self.node.call_later(Micros(0), self.ticker.start, term)
        if self.on_elected is not None:
            self.on_elected(term)

    def _deposed(self, term: int) -> None:
        self.ticker.stop(term)

    def _tick(self, term: int) -> None:
        assert self.group.is_leader, f"{self.node.name} does not lead the meta storage"
        message_ts = self._strategy.tick_ts(self.node.clock)
        self._propose(Stamped(message_ts, SafeTimeCommand(term)))
        self.node.probe("idle-tick")

    async def _on_submit(self, _sender: str, request: Submit) -> Submitted | NotLeader:
        """Stamp, replicate, apply, answer.

        The stamp is taken and the entry appended without an await between them, so that the order
        in the log is the order of the stamps; a command that is sent again gets a new stamp
        [98.x.5].
        """
        node, application = self.node, self.application
        node.clock.update(request.sent_ts)
        command = request.update
        if command.command_id not in application.results:
            if not self.group.is_leader:
                return NotLeader(node.clock.now(), self.group.leader)
            await application.reaches(await self._stamped_and_proposed(command))
        known = application.results.get(command.command_id)
        if known is None:  # another leader's entry has taken its place
            return NotLeader(node.clock.now(), self.group.leader)
        return Submitted(node.clock.now(), known.accepted, known.catalog_version)

    async def _stamped_and_proposed(self, command: CatalogUpdate | NodeJoined) -> int:
        """The index at which the command stands, under a stamp of now."""
        return self._propose(Stamped(self.stamp(command), self._with_delay(command)))

    def stamp(self, command: CatalogUpdate | NodeJoined) -> Timestamp:
        """Tm: the leader's now, each time anew [98.past.2] [98.x.5]."""
        first_ts = self._stamps.get(command.command_id)
        stamp = self._strategy.stamp_again(first_ts, self.node.clock.now())
        self._stamps.setdefault(command.command_id, stamp)
        return stamp

    def propose_leases(self, update: LeaseUpdate) -> int:
        """Append new leases; the placement driver runs where the meta storage is led."""
        return self._propose(Stamped(self.node.clock.now(), update))

    def _with_delay(self, command: CatalogUpdate | NodeJoined) -> CatalogUpdate | NodeJoined:
        """The update as it goes into the log: with a DD that no reader's exceeds [98.x.4]."""
        if type(command) is not CatalogUpdate:
            return command
        own_ms = command.delay_duration_ms
        delay_ms = self._strategy.message_delay(own_ms, self._config.cluster_delay_ms)
        if delay_ms == own_ms:
            return command
        return replace(command, delay_duration_ms=delay_ms)

    def _propose(self, stamped: Stamped) -> int:
        """Append a stamped command and send it to every member; its index in the log."""
        self.ticker.arm()
        return self.group.propose(stamped)
