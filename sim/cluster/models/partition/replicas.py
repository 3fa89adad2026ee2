"""The model of a node's replicas: births, leases, stamps, submissions, waits for safe time.

A node holds the partitions that its catalog has and whose replicas include it. A replica has the
lease of its partition while this node, in this incarnation, is its holder. A command is stamped
above all in the log, and is in the log once while it is on its way; its proposer gets its result
when this replica has applied it. A one-phase write is judged at the very stamp that it gets, unless
its transaction has ended here [110.valid.1]. A wait for safe time ends in the instant in which it
is reached.
"""

from collections.abc import Callable
from dataclasses import replace as replaced
from typing import Any, ClassVar, TypeVar, cast

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.metastorage.submissions import ToPartitions
from ddlsim.cluster.models.waits import Waits
from ddlsim.cluster.models.words import words
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import Command, FullWrite
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager, Submission
from ddlsim.protocol.replica_messages import PartitionSubmit, PartitionSubmitted
from ddlsim.protocol.replication.state_machine import BUSY, NOT_LEADER, Applied, Pending
from ddlsim.protocol.strategy import SchemaSyncPart, Strategy, Verdict
from ddlsim.units import MIN_TIMESTAMP, Timestamp, show

R = TypeVar("R")


class ModelledReplicas(ReplicaManager):
    """Replicas that compare births, leases, proposals and waits."""

    models: ClassVar[Models]

    def __init__(self, node: Any, *given: Any, **named: Any) -> None:
        self._divergence = self.models.divergence("replicas", node.name)
        self._waits: dict[PartitionId, Waits] = {}
        self._on_their_way: dict[int, tuple[object, Pending]] = {}
        self._is_hybrid = type(node.clock) is HybridClock
        self._judged: tuple[FullWrite, Timestamp] | None = None
        super().__init__(node, *given, **named)
        self.strategy = self._noting(self.strategy)
        self._above: list[Timestamp] = []
        self._stamp = self._noting_last(self._stamp)
        found, submitted = self._divergence, self.models.submitted
        ports = ToPartitions(node, lambda place: self.members[place].group, found, submitted)
        self.node = cast("Node", ports)

    def at(self, place: PartitionId) -> LocalReplica | None:
        found: LocalReplica | None = super().at(place)
        if found is None and self.placement.knows(place[0]) and not self.sync.is_restoring:
            if self.node.name in self.placement.replicas_of(place):
                self._divergence.found(f"it has no replica of {place}")
        elif found is not None and found.place != place:
            self._divergence.found(f"it takes {found.place} for {place}")
        return found

    def revive(self, places: list[PartitionId]) -> None:
        names = [name.split("/")[1:] for name in self.node.disk if name.count("/") == 2]
        on_disk = sorted((int(table), int(number)) for table, number in names)
        self._divergence.compare("the partitions that it holds again", sorted(places), on_disk)
        super().revive(places)

    def _born(self, place: PartitionId) -> LocalReplica | None:
        found: LocalReplica | None = super()._born(place)
        if found is None:
            return None
        holds = self.placement.knows(place[0]) and self.node.name in self.placement.replicas_of(
            place
        )
        if not holds or self.members.get(place) is not found:
            self._divergence.found(f"it has a replica of {place}, which is not its own")
        if self.sync.is_restoring:
            self._divergence.found(f"it has a replica of {place} before it has its metadata")
        group = found.group
        if (group.on_elected is None) is not group.is_alone:
            self._divergence.found(f"what follows an election in {place} is not known")
        if (found.machine.on_safe_time is None) is not group.is_alone:
            self._divergence.found(f"the safe time of {place} is not watched")
        return found

    def see_lease(self, local: LocalReplica, lease: Lease | None) -> None:
        super().see_lease(local, lease)
        mine = lease is not None and lease.holder == self.node.name
        own = mine and lease is not None and self.leases.is_of_this_life(lease.start_ts)
        if local.lease is not (lease if own else None):
            self._divergence.found(
                f"behind {words(lease)} the lease of {local.place} is {words(local.lease)}"
            )

    # --- commands -----------------------------------------------------------------------------

    def _noting(self, strategy: Strategy) -> Strategy:
        """The design; what it judges of one-phase writes is noted."""
        rule = strategy.validate_one_phase

        def noted(sync: SchemaSyncPart, command: FullWrite, stamp: Timestamp) -> Verdict | None:
            self._judged = (command, stamp)
            return rule(sync, command, stamp)

        return replaced(strategy, validate_one_phase=noted)

    def _propose(self, local: LocalReplica, command: Command[object]) -> Applied[object] | Pending:
        group, way = local.group, self._on_their_way
        last_stamp, log = group.last_stamp, group.member.log
        if way:
            before = way.get(id(command))
            if before is not None and before[0] is command and not self._is_over(before[1]):
                self._divergence.found(f"{words(command)} is proposed again while it is on its way")
        needed = getattr(command, "catalog_version", 0)
        if needed > self.sync.catalog.version:
            self._divergence.found(
                f"{words(command)} is proposed before its catalog version is here"
            )
        self._above = []
        is_over = isinstance(command, FullWrite) and command.tx in local.machine.ended
        attempt: Applied[object] | Pending = super()._propose(local, command)
        if self._above and self._above[0] != last_stamp:
            self._divergence.found(
                f"it stamps above {show(self._above[0])}, and {show(last_stamp)} is there"
            )
        if isinstance(attempt, Pending):
            way[id(command)] = (command, attempt)
        if isinstance(attempt, Pending) or group.last_stamp != last_stamp:
            self._compare_stamp(command, group.last_stamp, last_stamp, is_over=is_over)
            if local.stamped_us != self.node.watch.now_us:
                self._divergence.found(f"a command of {local.place} counts as stamped before")
            if log.entries:
                entry: Any = log.entries[-1].command
                if entry.command is not command:
                    self._compare_tables(command, entry.command)
        return attempt

    def _noting_last(
        self, rule: Callable[[HybridClock, Timestamp], Timestamp]
    ) -> Callable[[HybridClock, Timestamp], Timestamp]:
        """The rule for stamps; what it is to be above is noted."""

        def noted(clock: HybridClock, last_stamp: Timestamp) -> Timestamp:
            self._above.append(last_stamp)
            return rule(clock, last_stamp)

        return noted

    def _compare_stamp(
        self, command: object, stamp: Timestamp, last_stamp: Timestamp, *, is_over: bool
    ) -> None:
        if stamp <= last_stamp and self._is_hybrid:
            self._divergence.found(f"{show(stamp)} is stamped behind {show(last_stamp)}")
        if not isinstance(command, FullWrite) or is_over:
            return
        judged, self._judged = self._judged, None
        if judged is None or judged[0] is not command or judged[1] != stamp:
            self._divergence.found(
                f"{words(command)} is stamped {show(stamp)}, and was judged {words(judged)}"
            )

    def _compare_tables(self, command: object, appended: object) -> None:
        """The command itself is appended; of a one-phase write the tables may be new."""
        if isinstance(appended, FullWrite) and isinstance(command, FullWrite):
            appended = replace(appended, tables=command.tables)
        if appended != command:
            self._divergence.found(f"for {words(command)} the log has {words(appended)}")

    @staticmethod
    def _is_over(attempt: Pending) -> bool:
        future: Any = attempt.future
        return bool(future.done)

    async def result_of(self, submission: Submission[R]) -> R:
        result = await super().result_of(submission)
        self._on_their_way.pop(id(submission.command), None)
        is_busy = result is BUSY and not isinstance(submission.command, FullWrite)
        if result is NOT_LEADER or is_busy:
            self._divergence.found(f"{words(submission.command)} has no result")
        return result

    async def _result(self, local: LocalReplica, reply: PartitionSubmitted) -> Applied[object]:
        found: Applied[object] = await super()._result(local, reply)
        if reply.done and local.machine.safe_ts < reply.stamp:
            self._divergence.found(f"{local.place} has not applied what its leader confirmed")
        expected = reply.result if reply.done or reply.result is BUSY else NOT_LEADER
        if found.result is not expected:
            self._divergence.compare("what a reply comes to", found.result, expected)
        return found

    async def _on_submit(self, sender: str, request: PartitionSubmit) -> PartitionSubmitted:
        local = self.at(request.place)
        leads = local is not None and local.group.is_leader
        needed: int = getattr(request.command, "catalog_version", 0)
        due = leads and self.sync.catalog.version >= needed
        if isinstance(request.command, FullWrite):  # perhaps a copy of what an earlier life refused
            due = due and request.sent_ts > self.leases.born_ts
        reply: PartitionSubmitted = await super()._on_submit(sender, request)
        was_taken = reply.done or reply.result is not None
        if was_taken is not due:
            self._divergence.found(f"{words(request)} was taken: {was_taken}, and {due} is due")
        refused = isinstance(reply.result, Reason)
        is_applied = reply.done and local is not None and not refused
        if is_applied and local and not MIN_TIMESTAMP < reply.stamp <= local.group.last_stamp:
            self._divergence.found(f"{words(reply)} has a stamp that no command has")
        return reply

    # --- leases and safe time -----------------------------------------------------------------

    async def become_primary(self, place: PartitionId, start_ts: Timestamp) -> bool:
        ready: bool = await super().become_primary(place, start_ts)
        local = self.members.get(place)
        fenced = local is not None and local.machine.lease_start >= start_ts
        may = self.leases.is_of_this_life(start_ts) and local is not None
        if ready is not may or (ready and not fenced):
            self._divergence.found(
                f"whether it is ready for {place} since {show(start_ts)} is {ready}"
            )
        return ready

    def _safe_time_moved(self, local: LocalReplica, ts: Timestamp) -> None:
        super()._safe_time_moved(local, ts)
        waits = self._waits.get(local.place)
        if waits is not None:
            waits.reached(local.machine.safe_ts)

    async def safe_time_reaches(self, local: LocalReplica, ts: Timestamp) -> None:
        if local.machine.safe_ts >= ts:
            await super().safe_time_reaches(local, ts)
            return
        waits = self._waits.get(local.place)
        if waits is None:
            what = f"the safe time of {local.place},"
            waits = self._waits[local.place] = Waits(
                self._divergence, self.models.loop, what, Timestamp
            )
        wait = waits.begin(ts)
        await super().safe_time_reaches(local, ts)
        waits.end(wait, local.machine.safe_ts)
