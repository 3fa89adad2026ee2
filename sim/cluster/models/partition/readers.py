"""The model of a read in the past: what a replica must have, and the version that it shows.

A replica answers once nothing can still be committed in its partition at or below read_ts: its safe
time has come there, or, at a primary that leads the group, its clock is beyond read_ts and all that
was stamped is applied; a replica without others brings that about. It shows the last version up to
read_ts; an intent counts as one if its transaction is found to have committed by then.
"""

from typing import Any, ClassVar, cast

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.exchange import Exchange, Sent
from ddlsim.cluster.models.words import words
from ddlsim.model.ops import Key
from ddlsim.model.ports import Node
from ddlsim.model.settings import Settings
from ddlsim.protocol.commands import Outcome, SafeTimeSync
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.partition.replica_manager import LocalReplica, ReplicaManager, Submission
from ddlsim.protocol.replica_messages import Read
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction.execution import NOTHING, Found
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp, show


class Resolving:
    """A participant as readers have it; `found` is the last outcome of each transaction."""

    def __init__(self, participant: Any) -> None:
        self._participant = participant
        self.found: dict[tuple[TxId, Timestamp], Outcome | None] = {}

    async def resolved(
        self, tx: TxId, commit_place: PartitionId, read_ts: Timestamp
    ) -> Outcome | None:
        """The outcome of a transaction."""
        outcome: Outcome | None = await self._participant.resolved(tx, commit_place, read_ts)
        self.found[tx, read_ts] = outcome
        return outcome


class Proxy:
    """Another part as readers have it, with some of its attributes replaced."""

    def __init__(self, part: object, **replaced: object) -> None:
        self._part = part
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._part, name)


class PastReads:
    """The reads that a coordinator sends: each to the next replica, after a rest."""

    def __init__(
        self, exchange: Exchange, divergence: Divergence, placement: Placement, settings: Settings
    ) -> None:
        self._divergence = divergence
        self._placement = placement
        self._settings = settings
        self._last: dict[tuple[TxId, str, int], Sent] = {}
        exchange.on_request.setdefault(Read, []).append(self._sent)
        exchange.on_answer.setdefault(Read, []).append(self._answered)

    def _answered(self, _asked: object, sent: Sent, value: object) -> None:
        read: Read = sent.message
        if isinstance(value, Operated):
            self._last.pop((read.tx, read.op, read.partition), None)

    def _sent(self, _asked: object, sent: Sent) -> None:
        read: Read = sent.message
        replicas = self._placement.replicas_of((read.table_id, read.partition))
        before = self._last.get((read.tx, read.op, read.partition))
        self._last[read.tx, read.op, read.partition] = sent
        if sent.to not in replicas:
            self._divergence.found(f"{read.op} is sent to {sent.to}, where no replica is")
        elif before is not None and before.to in replicas:
            following = replicas[(replicas.index(before.to) + 1) % len(replicas)]
            rested = sent.at_us >= before.at_us + self._settings.retry_us
            if sent.to != following or not rested or read.read_ts != before.message.read_ts:
                self._divergence.found(
                    f"{words(read)} follows {words(before)}; the next: {words(following)}"
                )


class ModelledReaders(Readers):
    """Readers that compare what they wait for and what they show."""

    models: ClassVar[Models]

    def __init__(
        self,
        node: Node,
        strategy: Strategy,
        sync: SchemaSync,
        replicas: ReplicaManager,
        replica: Replica,
    ) -> None:
        self._divergence = self.models.divergence("readers", node.name)
        self._resolving = Resolving(replica.participant)
        self._submitted = self._begun = self._submitted_us = 0
        self._alone: dict[PartitionId, int] = {}  # since when reads wait without a command for them
        self.models.at_end.append(self._compare_alone)
        self._due: dict[int, dict[Key, None]] = {}  # keys of a scan that were not looked at yet
        proxy = Proxy(replica, participant=self._resolving)
        manager = Proxy(replicas, submit=self._submit, result_of=self._result_of)
        self._manager = replicas
        super().__init__(
            node, strategy, sync, cast("ReplicaManager", manager), cast("Replica", proxy)
        )

    def _submit(self, local: LocalReplica, command: SafeTimeSync) -> Any:
        if not local.is_alone and not self._replica.is_primary(local.place):
            self._divergence.found(f"a command is sent to read {local.place} at no primary")
        submitted = self._manager.submit(local, command)
        self._submitted, self._submitted_us = self._submitted + 1, self.node.watch.now_us
        self._alone.pop(local.place, None)
        self._begun += not isinstance(submitted, Submission)
        return submitted

    def _compare_alone(self) -> None:
        """A replica without others waits for what it has submitted, and for nothing else."""
        for place, since_us in self._alone.items():
            if since_us < self.node.watch.now_us:
                self._divergence.found(f"a read waits for others in {place}, which has none")

    async def _result_of(self, submission: Submission[None]) -> None:
        self._begun += 1
        await self._manager.result_of(submission)

    async def read(self, sender: str, request: Read) -> Operated | None:
        if self._begun < self._submitted and self.node.watch.now_us > self._submitted_us:
            self._divergence.found("a command for a read was made and not sent")
        self._compare_alone()
        answered: Operated | None = await super().read(sender, request)
        left = self._due.pop(id(request), None)
        if left and answered is not None and answered.reason is None:
            self._divergence.found(f"{request.op} scanned without looking at {[*left]}")
        if answered is not None and answered.op_ts != request.read_ts:
            self._divergence.found(
                f"{request.op} was to read as of {show(request.read_ts)}: {words(answered)}"
            )
        return answered

    async def _complete(self, local: LocalReplica, request: Read) -> None:
        await self._completed(local, request)
        if request.action == "scan":
            keys = dict.fromkeys((*local.machine.rows, *local.machine.intents))
            self._due[id(request)] = {} if id(request) in self._due else keys  # {}: a copy of it

    async def _completed(self, local: LocalReplica, request: Read) -> None:
        read_ts, group, before = request.read_ts, local.group, self._submitted
        is_complete, began_us = local.machine.safe_ts >= read_ts, self.node.watch.now_us
        if group.is_alone and not is_complete:
            self._alone.setdefault(local.place, began_us)
        await super()._complete(local, request)
        if self._alone.get(local.place) == self.node.watch.now_us:
            del self._alone[local.place]  # it did not wait
        if is_complete and self._submitted != before:
            self._divergence.found(f"{request.op} could be read, and a command was sent for it")
        if local.machine.safe_ts >= read_ts:
            return
        leads = group.is_leader and self._replica.is_primary(local.place)
        stamps_above = self.node.clock.current() >= read_ts
        if not leads or not stamps_above or group.last_stamp > local.machine.safe_ts:
            self._divergence.found(
                f"{local.place} is not complete up to {show(read_ts)}; it is read"
            )

    async def _seen(self, local: LocalReplica, request: Read, key: Key) -> Found:
        read_ts, machine = request.read_ts, local.machine
        intent = machine.intents.get(key)
        self._due.get(id(request), {}).pop(key, None)
        found: Found = await super()._seen(local, request, key)
        versions = [
            (one.commit_ts, (one.writer, one.version, one.row))
            for one in machine.rows.get(key, ())
            if one.commit_ts <= read_ts
        ]
        if intent is not None:
            outcome = self._resolving.found.get((intent.tx, read_ts))
            commit_ts = None if outcome is None else outcome.commit_ts
            if commit_ts is not None and commit_ts <= read_ts:
                versions.append((commit_ts, (intent.tx.label, intent.version, intent.row)))
        newest = max(versions, key=lambda one: one[0], default=(0, NOTHING))
        self._divergence.compare(f"{key!r} as of {show(read_ts)}", found, newest[1])
        return found
