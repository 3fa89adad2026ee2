"""The replicas that a node holds: for each of its partitions a group's member and its machine.

A group is born when it is first needed, with the partition's first replica as its leader; every
node that holds a replica comes to the same group, since its members follow from the catalog. A
node that does not know the table yet, or restores its metadata, holds nothing and ignores messages.

A leader stamps every command: larger than every stamp in the log, its predecessors' included, so
that *partition safe time* never goes back. Where nothing is written, it stamps an idle command now
and then; a group of one needs none, since it has no other member.
"""

from heapq import heappop, heappush
from typing import Final, Generic, NamedTuple, TypeVar, cast

from ddlsim.history.world_events import TxRecovered
from ddlsim.model.ops import Key
from ddlsim.model.ports import Future, Node, NoReplyType
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import (
    CleanUp,
    Command,
    FillIndex,
    FullWrite,
    PrimaryChange,
    SafeTimeSync,
    StampedCommand,
    WriteIntent,
)
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.partition.partition import Intent, Partition
from ddlsim.protocol.raft import Member
from ddlsim.protocol.replica_messages import PartitionRaft, PartitionSubmit, PartitionSubmitted
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.replication.state_machine import BUSY, NOT_LEADER, Applied, BusyType, Pending
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.waiting import resend_delay, was_refused
from ddlsim.units import MIN_TIMESTAMP, US_PER_MS, Micros, Timestamp, show

R = TypeVar("R")
ELSEWHERE: Applied[object] = Applied(NOT_LEADER)
"""What comes of a command where another node leads, or none."""
BY_THE_LOG: Final = (Reason.TX_FINISHED, Reason.PRIMARY_EXPIRED)
"""Refusals of a one-phase write where it is applied; all others are made before the log."""


class LocalReplica:
    """A replica on this node: its group's member, its machine, and what only a primary has.

    `lease` is this node's own, by which it is primary, while it may be; `pending` are the primary's
    own intents that its group has not applied yet, by key, and `at_once` its writes in one phase
    that are on their way. `stamped_us` is when this node, leading the group, last stamped a
    command.
    """

    __slots__ = (
        "at_once",
        "group",
        "is_alone",
        "lease",
        "machine",
        "pending",
        "place",
        "stamped_us",
        "waiting",
    )

    def __init__(self, place: PartitionId, group: Group, machine: Partition) -> None:
        self.place = place
        self.group = group
        self.machine = machine
        self.is_alone = group.is_alone
        self.lease: Lease | None = None
        self.stamped_us = 0
        self.pending: dict[Key, Intent] = {}
        self.at_once: dict[Key, Intent] = {}
        self.waiting: list[tuple[Timestamp, int, Future[None]]] = []


class Submission(NamedTuple, Generic[R]):
    """A command whose result is not known yet, and what came of it at this node."""

    local: LocalReplica
    command: Command[R]
    attempt: Applied[object] | Pending


class ReplicaManager:
    """The replicas of one node."""

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        sync: SchemaSync,
        leases: Leases,
        placement: Placement,
        *,
        partition_class: type[Partition],
        group_class: type[Group] = Group,
        member_class: type[Member],
        birth_ts: Timestamp,
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self.leases = leases
        self.placement = placement
        self.members: dict[PartitionId, LocalReplica] = {}
        self._partition_class = partition_class
        self._group_class = group_class
        self._member_class = member_class
        self._birth_ts = birth_ts
        self._order = 0
        self._submissions: int = leases.born_ts  # an earlier life had other numbers
        self._in_flight: dict[tuple[str, int], Pending] = {}
        self._refused: dict[tuple[str, int], tuple[object, Timestamp]] = {}
        self._stamp = strategy.partition_stamp
        node.on(PartitionRaft, self._on_raft)
        node.on(PartitionSubmit, self._on_submit)

    # --- groups -----------------------------------------------------------------------------------

    def at(self, place: PartitionId) -> LocalReplica | None:
        """This node's replica of a partition; None where it holds none."""
        found = self.members.get(place)
        return found or self._born(place)

    def revive(self, places: list[PartitionId]) -> None:
        """Begin again with what the disk of a restarted node holds."""
        for place in places:
            self.at(place)

    def _born(self, place: PartitionId) -> LocalReplica | None:
        node = self.node
        if self.sync.is_restoring or not self.placement.knows(place[0]):
            return None
        voters = self.placement.replicas_of(place)
        if node.name not in voters:
            return None
        assert place not in self.members, f"{node.name} holds {place} already"
        machine = self._partition_class(
            node, self.strategy, place, self._birth_ts, self._knows_version
        )
        machine.index.definition = self.sync.catalog.definition
        alone = len(voters) == 1
        group = self._group_class(
            node,
            machine.name,
            machine,
            voters=voters,
            wrap=None if alone else lambda message: PartitionRaft(place, message),
            member_class=self._member_class,
            idle_ms=lambda: node.settings.partition_idle_ms,
        )
        found = self.members[place] = LocalReplica(place, group, machine)
        if not alone:
            machine.on_safe_time = lambda ts: self._safe_time_moved(found, ts)
            group.on_elected = lambda term: self._elected(found, term)
        group.start()
        self.see_lease(found, self.leases.of(place))
        if not alone and group.is_leader:
            found.stamped_us = node.watch.now_us
            self._arm_idle(found, group.term)
        return found

    def see_lease(self, local: LocalReplica, lease: Lease | None) -> None:
        """Keep a lease by which this node is primary; the locks of an earlier life are gone."""
        assert lease is None or lease.place == local.place, f"{lease} is not of {local.place}"
        mine = lease is not None and lease.holder == self.node.name
        if mine and lease is not None and self.leases.is_of_this_life(lease.start_ts):
            local.lease = lease
        else:
            local.lease = None

    def _knows_version(self, catalog_version: int) -> bool:
        return self.sync.catalog.version >= catalog_version

    def _on_raft(self, sender: str, envelope: PartitionRaft) -> None:
        local = self.members.get(envelope.place) or self._born(envelope.place)
        if local is not None:
            local.group.receive(sender, envelope.message)

    def _elected(self, local: LocalReplica, term: int) -> None:
        """A leader's first command lets it commit what earlier terms left behind (Raft 5.4.2)."""
        assert local.group.is_leader, f"{self.node.name} does not lead {local.place}"
        self._propose(local, SafeTimeSync())
        self._arm_idle(local, term)

    def _arm_idle(self, local: LocalReplica, term: int) -> None:
        """An idle command is due one period after the last one that was stamped."""
        assert not local.is_alone, f"{local.place} has one replica and needs no idle command"
        due_us = local.stamped_us + self.node.settings.partition_idle_ms * US_PER_MS
        delay_us = Micros(max(due_us - self.node.watch.now_us, 0))
        self.node.call_later(delay_us, self._idle, local, term, local.stamped_us)

    def _idle(self, local: LocalReplica, term: int, stamped_us: int) -> None:
        """Nothing was stamped for a period: stamp something; else look when it will be one."""
        group = local.group
        if not group.is_leader or group.term != term:
            return
        if local.stamped_us == stamped_us:
            self.node.probe("partition-tick")
            self._propose(local, SafeTimeSync())
        self._arm_idle(local, term)

    # --- commands ---------------------------------------------------------------------------------

    async def run(self, local: LocalReplica, command: Command[R]) -> R:
        """Run a command through the group; its result, however long that takes."""
        submitted = self.submit(local, command)
        if isinstance(submitted, Applied):
            return submitted.result
        return await self.result_of(submitted)

    def submit(self, local: LocalReplica, command: Command[R]) -> Applied[R] | Submission[R]:
        """Begin to run a command: its result, or what `result_of` has to be awaited for."""
        assert self.members[local.place] is local, f"{local.place} is another replica"
        attempt = self._propose(local, command) if local.group.is_leader else ELSEWHERE
        if isinstance(attempt, Applied) and attempt is not ELSEWHERE:
            return attempt  # type: ignore[return-value]  # what the partition gives for it
        return Submission(local, command, attempt)

    async def result_of(self, submission: Submission[R]) -> R:
        """Wait for the result; without one, send the command to the present leader again.

        The first request goes out at once; what was refused rests before it is sent again. A
        one-phase write that may be in the log is ended there, once its leader has lacked the
        metadata for its stamp for as long as an operation may take: it might lack it for good.
        """
        node, (local, command, attempt) = self.node, submission
        group, asked, began_us = local.group, 0, self.node.watch.now_us
        doubtful = refused = False
        number = self._next_number()
        while True:
            if isinstance(attempt, Pending):
                result = await attempt.future
                doubtful = refused = True  # appended, and perhaps replaced
            else:
                result = attempt.result
            if result is not NOT_LEADER and (result is not BUSY or not doubtful):
                if doubtful and type(command) is FullWrite and isinstance(result, Reason):
                    result = await self._ended(local, command, result)
                return cast("R", result)
            if result is BUSY and self._takes_long(began_us):
                ended = await self._ended(local, cast("FullWrite", command), Reason.METADATA_LATE)
                return cast("R", ended)
            if refused:
                await node.sleep(node.settings.retry_us)
            refused = True
            if group.is_leader:
                attempt = self._propose(local, command)
                continue
            to = group.leader or group.voters[asked % len(group.voters)]
            asked += 1
            attempt = ELSEWHERE
            if to == node.name:  # not yet, or no longer
                continue
            request = PartitionSubmit(node.clock.now(), local.place, command, number)
            sent_us, wait_us = node.watch.now_us, resend_delay(node.settings, asked)
            reply = await node.request(to, request, wait_us)
            if isinstance(reply, NoReplyType):
                doubtful, refused = True, was_refused(node, sent_us, wait_us)
                continue
            doubtful = doubtful or reply.result is NOT_LEADER  # appended, and perhaps replaced
            attempt = await self._result(local, reply)
            number = self._number_after(reply, number)

    def _number_after(self, reply: PartitionSubmitted, number: int) -> int:
        """Another number once it was busy: copies of that message are refused for good."""
        return self._next_number() if reply.result is BUSY else number

    def _next_number(self) -> int:
        self._submissions += 1
        return self._submissions

    def _takes_long(self, began_us: int) -> bool:
        """Whether an operation's time limit has passed since an instant."""
        return self.node.watch.now_us - began_us >= self.node.settings.operation_timeout_us

    async def _ended(
        self, local: LocalReplica, command: FullWrite, reason: Reason
    ) -> Timestamp | Reason:
        """How a one-phase write ends that was refused before the log and may be in it already.

        Its transaction is ended in the log, unless the write comes before that.
        """
        if reason in BY_THE_LOG:
            return reason
        self.node.probe("one-phase-repeated")
        await self.run(local, CleanUp(command.tx, None))
        node, label = self.node, command.tx.label
        commit_ts = local.machine.ended[command.tx]
        if commit_ts is not None:
            return commit_ts
        if node.recording and node.is_first(("recovered", label)):
            node.record(TxRecovered(node.watch.now_us, node.name, label, "aborted"))
        return reason

    async def _result(self, local: LocalReplica, reply: PartitionSubmitted) -> Applied[object]:
        """What the leader's reply comes to, once this replica has applied it too."""
        self.node.clock.update(reply.sent_ts)
        if reply.done:
            await self.safe_time_reaches(local, reply.stamp)
            return Applied(reply.result)
        self.node.probe("partition-submit-repeated")
        return Applied(BUSY) if reply.result is BUSY else ELSEWHERE

    def _propose(self, local: LocalReplica, command: Command[object]) -> Applied[object] | Pending:
        """Stamp and append at the leader; a one-phase write may be refused, or find it `BUSY`."""
        group = local.group
        stamp = self._stamp(self.node.clock, group.last_stamp)
        if type(command) is FullWrite:
            validated = self._validated(local, command, stamp)
            if not isinstance(validated, FullWrite):
                return Applied(validated)
            command = validated
        local.stamped_us = self.node.watch.now_us
        return group.proposed(StampedCommand(stamp, command))

    def _validated(
        self, local: LocalReplica, command: FullWrite, stamp: Timestamp
    ) -> FullWrite | Reason | BusyType:
        """The one-phase path: I must be forward-compatible at the stamp, before it is appended."""
        if command.tx in local.machine.ended:
            return command
        sync, strategy = self.sync, self.strategy
        verdict = strategy.validate_one_phase(sync, command, stamp)
        if verdict is None:
            self.node.probe("one-phase-awaits-metadata")
            return BUSY
        self.node.probe("one-phase-revalidated")
        reason, tables = verdict
        if reason is not None:
            return reason
        if tables == command.tables:
            return command
        return FullWrite(
            command.tx,
            command.op,
            command.op_ts,
            command.key,
            command.version,
            command.row,
            command.lease_start,
            command.catalog_version,
            tables,
            command.expires_ts,
            command.entries,
        )

    async def _on_submit(self, sender: str, request: PartitionSubmit) -> PartitionSubmitted:
        """Another replica's command, at the leader; a copy waits for what came first."""
        node = self.node
        node.clock.update(request.sent_ts)
        local = self.at(request.place)
        if local is None or not local.group.is_leader:
            leader = None if local is None else local.group.leader
            return PartitionSubmitted(node.clock.now(), done=False, leader=leader)
        command = request.command
        needed = 0
        if isinstance(command, WriteIntent | FullWrite | FillIndex):
            needed = command.catalog_version
        if not self._knows_version(needed):
            node.probe("catalog-version-awaited")
            return PartitionSubmitted(node.clock.now(), done=False, leader=node.name)
        if type(command) is FullWrite and request.sent_ts <= self.leases.born_ts:
            # an earlier life may have refused a first copy of it; if not, it is sent again
            return PartitionSubmitted(node.clock.now(), done=False, leader=node.name)
        before, number = local.group.last_stamp, (sender, request.number)
        if number in self._refused:
            result, _ = self._refused[number]
            return PartitionSubmitted(node.clock.now(), done=result is not BUSY, result=result)
        copy = self._in_flight.get(number)
        attempt = copy or self._propose(local, request.command)
        stamp = local.group.last_stamp
        if isinstance(attempt, Pending):
            self._in_flight[number] = attempt
            result = await attempt.future
            self._in_flight.pop(number, None)
        else:
            result = attempt.result
            if type(command) is FullWrite and stamp == before:
                self._keep_refusal(number, result, command, before)
        if result is NOT_LEADER or result is BUSY:
            return PartitionSubmitted(node.clock.now(), done=False, result=result)
        if copy is None and stamp == before:  # refused before it was appended
            stamp = MIN_TIMESTAMP
        return PartitionSubmitted(node.clock.now(), done=True, result=result, stamp=stamp)

    def _keep_refusal(
        self, number: tuple[str, int], result: object, command: FullWrite, stamp: Timestamp
    ) -> None:
        """Refuse copies of a one-phase write that was refused before the log, as it was.

        Its submitter may have made it an intent, or aborted it, and a copy must not commit it. The
        log refuses it once its lease is over: then nothing needs to be kept. A node that restarts
        has kept nothing, so it takes no one-phase write that was sent before.
        """
        for known, (_, expires_ts) in tuple(self._refused.items()):
            if expires_ts > stamp:
                break
            del self._refused[known]
        self._refused[number] = (result, command.expires_ts)

    # --- primaries --------------------------------------------------------------------------------

    async def become_primary(self, place: PartitionId, start_ts: Timestamp) -> bool:
        """Know everything that was committed before, and fence what earlier primaries may send."""
        local = self.at(place)
        if local is None or not self.leases.is_of_this_life(start_ts):
            return False
        await self.run(local, PrimaryChange(start_ts, self.node.name))
        return True

    # --- partition safe time ----------------------------------------------------------------------

    def _safe_time_moved(self, local: LocalReplica, ts: Timestamp) -> None:
        assert local.machine.safe_ts >= ts, f"{local.place} has not come to {show(ts)}"
        local.machine.record_safe_time(ts)
        waiting = local.waiting
        while waiting and waiting[0][0] <= ts:
            heappop(waiting)[2].set(None)

    async def safe_time_reaches(self, local: LocalReplica, ts: Timestamp) -> None:
        """Wait until this replica knows everything of its partition up to `ts`."""
        if local.machine.safe_ts >= ts:
            return
        reached: Future[None] = self.node.future()
        self._order += 1
        heappush(local.waiting, (ts, self._order, reached))
        await reached
        assert local.machine.safe_ts >= ts, f"{local.place} has not come to {show(ts)}"
