"""The models of index builds: states of indexes, and the work on entries that a node begins.

From PROTOCOL.md, "Index builds" [110.ours.index.build] [110.ours.index.entries].

* An index is created REGISTERED, and goes on to BUILDING and AVAILABLE; once it was AVAILABLE it
  goes to STOPPING before it is removed. An update of a state changes nothing else.
* REGISTERED and STOPPING are ended once each node has said that it has no open transaction that
  writes and began before the state was active, or has not answered; BUILDING once each partition's
  primary has said that it is filled.
* A node works on a new or removed index in each partition of which it holds a replica; while it is
  primary by its lease and its clock shows the activation, it submits the step that is due.
"""

from collections.abc import Coroutine
from typing import Any, ClassVar, cast

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.ports import Ports
from ddlsim.cluster.models.words import words
from ddlsim.model.ddl import IndexCreated, IndexDropped, IndexStateSet, ObjectChange
from ddlsim.model.ports import Node, NoReplyType
from ddlsim.model.schema import PUBLIC, Index, Table
from ddlsim.protocol.commands import Command, EraseIndex, FillIndex
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.index_build.backfill import Backfill
from ddlsim.protocol.index_build.index_states import AreOlderOpen, IndexStates, IsFilled, Told
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.units import US_PER_MS, Micros, Timestamp, show

NEXT = {"": "write_only", "write_only": "reorganization", "reorganization": PUBLIC}
"""The state behind each; `write_only` of an index that was public is the last one."""
EDGED = 3
Work = tuple[PartitionId, int, Timestamp]
"""A partition, an index, and the activation of what begins the work."""
Fills = list[tuple[PartitionId, int, int, Timestamp]]
Erasures = list[Work]


class Questions(Ports):
    """The ports of what asks other nodes; `answers` are the last ones, by node and question."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.call_later = node.call_later  # type: ignore[method-assign]  # timers are not kept
        self.answers: dict[object, Any] = {}

    def request(self, to: str, payload: Any, timeout_us: Micros, label: int | None = None) -> Any:
        reply = self.node.request(to, payload, timeout_us, label)
        if isinstance(payload, AreOlderOpen):
            self.answers[to, payload.before_ts] = reply
        elif isinstance(payload, IsFilled):
            self.answers[payload.place, payload.index_id] = reply
        return reply

    def answer(self, question: object) -> Any:
        """The last answer to a question; None where it was not asked."""
        return getattr(self.answers.get(question), "value", None)


class ModelledIndexStates(IndexStates):
    """States that compare each change of one, the grounds for it, and the answers to questions."""

    models: ClassVar[Models]

    def __init__(self, node: Node, *given: Any, **named: Any) -> None:
        super().__init__(node, *given, **named)
        self._questions = Questions(node)
        self.node = cast("Node", self._questions)
        self._divergence = self.models.divergence("index states", node.name)
        self._begun: list[tuple[AppliedUpdate, ObjectChange, int, str]] = []
        self._submitted: dict[tuple[int, int, int], None] = {}
        self.models.at_end.append(self._compare_left)

    @property
    def _catalog(self) -> Catalog:
        return self.metastorage.application.catalog

    def watch(self, applied: AppliedUpdate) -> None:
        self._begun = []
        super().watch(applied)
        if self.strategy.drain is None:
            return
        due = []
        for step in applied.update.objects:
            before = self._catalog.definition(step.object_id, step.version - 1)
            if isinstance(before, Table):
                self._compare_step(before, step)
            for change in step.changes:
                match change:
                    case IndexCreated(index=index):
                        due.append((applied, step, index.id, index.state))
                    case IndexStateSet(index_id=index_id, state=state):
                        due.append((applied, step, index_id, state))
        begun = [one for one in due if one[3] != PUBLIC]
        self._divergence.compare("the states that it brings to an end", self._begun, begun)
        for _, _, index_id, state in due:
            if (index_id in self.under_way) is (state == PUBLIC):
                self._divergence.found(f"index {index_id}, {state}, is on its way, or is not")

    def _next(
        self, applied: AppliedUpdate, step: ObjectChange, index_id: int, state: str
    ) -> Coroutine[Any, Any, None]:
        self._begun.append((applied, step, index_id, state))
        return self._ended(super()._next(applied, step, index_id, state), step, index_id)

    async def _ended(
        self, task: Coroutine[Any, Any, None], step: ObjectChange, index_id: int
    ) -> None:
        await task
        table = self._catalog.latest().by_id(step.object_id)
        if isinstance(table, Table):
            states = self._states(table, index_id)
            left = {states.get(one) for one in range(step.version, table.version + 1)}
            if len(left) == 1 and None not in left:
                self._divergence.found(f"index {index_id} is left as it is since {step.version}")

    def _compare_step(self, before: Table, step: ObjectChange) -> None:
        known = {one.id: one for one in before.indexes}
        due = dict(known)
        for change in step.changes:
            match change:
                case IndexCreated(index=index):
                    self._compare_state(None, index.state, before, index.id)
                    due[index.id] = index
                case IndexStateSet(index_id=index_id, state=state):
                    old = known[index_id]
                    self._compare_state(old, state, before, index_id)
                    due[index_id] = replace(old, state=state)
                case IndexDropped(index=index):
                    self._compare_removal(before, known[index.id])
                    del due[index.id]
                case _:
                    return
        expected = replace(before, version=before.version + 1, indexes=tuple(due.values()))
        self._divergence.compare("the table behind a state", step.definition, expected)

    def _compare_state(self, old: Index | None, new: str, table: Table, index_id: int) -> None:
        before = "" if old is None else old.state
        due = "write_only" if before == PUBLIC else NEXT[before]
        if before == "write_only" and self._was_public(table, index_id):
            due = "removed"
        self._divergence.compare(f"the state of index {index_id} behind {words(before)}", new, due)
        if old is not None and before != PUBLIC:
            self._compare_ended(table, index_id)

    def _compare_removal(self, table: Table, index: Index) -> None:
        if self._was_public(table, index.id):
            self._divergence.compare("the state of a removed index", index.state, "write_only")
            self._compare_ended(table, index.id)

    def _compare_ended(self, table: Table, index_id: int) -> None:
        """The leader has found that the state may end."""
        states = self._states(table, index_id)
        since = min(version for version, state in states.items() if state == states[table.version])
        if states[table.version] == "write_only" and PUBLIC in states.values():
            since = max(version for version, state in states.items() if state == PUBLIC) + 1
        if (index_id, since) not in self.models.ended_states:
            self._divergence.found(f"index {index_id} goes on, though no leader found it ready")

    def _was_public(self, table: Table, index_id: int) -> bool:
        return PUBLIC in self._states(table, index_id).values()

    def _states(self, table: Table, index_id: int) -> dict[int, str]:
        """The states of an index by the version of its table, up to this one."""
        versions = [self._catalog.definition(table.id, one) for one in range(table.version + 1)]
        return {
            one.version: index.state
            for one in versions
            if isinstance(one, Table)
            for index in one.indexes
            if index.id == index_id
        }

    async def _end(
        self, applied: AppliedUpdate, table: Table, index: Index, step: ObjectChange, tries: int
    ) -> None:
        self._compare_grounds(applied, table, index)
        command = (index.id, step.version, tries)
        if command in self._submitted:
            self._divergence.found(f"{index} goes on by a command that was refused before")
        self._submitted[command] = None
        self.models.ended_states[index.id, step.version] = None
        await super()._end(applied, table, index, step, tries)

    def _compare_grounds(self, applied: AppliedUpdate, table: Table, index: Index) -> None:
        answer = self._questions.answer
        found: dict[object, Any]
        if index.state == "reorganization":
            places = [(table.id, one) for one in range(self._placement.partitions_of(table.id))]
            found = {place: answer((place, index.id)) for place in places}
            ready = [isinstance(one, Told) and one.yes for one in found.values()]
        else:
            since_ts = applied.activation_ts
            found = {name: answer((name, since_ts)) for name in self._nodes}
            told = [one for one in found.values() if isinstance(one, Told)]
            ready = [isinstance(one, Told | NoReplyType) for one in found.values()]
            ready += [not one.yes for one in told]
        if not all(ready):
            self._divergence.found(f"{index} of {table.name} goes on behind {found}")
        if not self.metastorage.group.is_leader:
            self._divergence.found(f"{index} is ended by a node that does not lead")

    async def _on_are_older_open(self, sender: str, request: AreOlderOpen) -> Told:
        told: Told = await super()._on_are_older_open(sender, request)
        before_ts = request.before_ts
        writers = [one for one in self._coordinator.transactions.values() if one.read_ts is None]
        due = bool([one for one in writers if one.id.begin_ts < before_ts])
        self._divergence.compare(
            f"whether one from before {show(before_ts)} is open", told.yes, due
        )
        if told.sent_ts < before_ts:
            self._divergence.found(f"{words(told)} says what is open before {show(before_ts)}")
        return told

    def _on_is_filled(self, sender: str, request: IsFilled) -> Told:
        told: Told = super()._on_is_filled(sender, request)
        local = self._replicas.members.get(request.place)
        due = local is not None and request.index_id in local.machine.index.complete
        self._divergence.compare(f"whether {request.place} is filled", told.yes, due)
        return told

    def _compare_left(self) -> None:
        """A node without open work has no index on its way."""
        host = self.models.hosts.get(self.node.name)
        if self.strategy.drain is None or self.has_open_work or host is None or not host.alive:
            return
        left = [
            index
            for table in self._catalog.latest().objects()
            if isinstance(table, Table)
            for index in table.indexes
            if index.state != PUBLIC
        ]
        if left:
            self._divergence.found(f"it has no open work, and left {left}")


class ModelledBackfill(Backfill):
    """Work on entries that compares where it begins, each of its steps, and its end."""

    models: ClassVar[Models]

    def __init__(self, node: Node, *given: Any, **named: Any) -> None:
        super().__init__(node, *given, **named)
        self._divergence = self.models.divergence("backfill", node.name)
        self._fills: Fills = []
        self._erasures: Erasures = []
        self._since: dict[tuple[PartitionId, int], Timestamp] = {}
        self._rested_us: dict[tuple[PartitionId, int], int] = {}
        self._looks = 0

    def watch(self, applied: AppliedUpdate) -> None:
        self._fills, self._erasures = [], []
        super().watch(applied)
        if self.strategy.fills_index is None:
            return
        fills, erasures = [], []
        for step in applied.update.objects:
            for change in step.changes:
                for place in self._here(step.object_id):
                    if isinstance(change, IndexStateSet) and change.state == "reorganization":
                        fills.append((place, change.index_id, step.version, applied.activation_ts))
                    if isinstance(change, IndexDropped):
                        erasures.append((place, change.index.id, applied.activation_ts))
        self._divergence.compare("what it begins to fill", self._fills, fills, Fills)
        self._divergence.compare("what it begins to erase", self._erasures, erasures, Erasures)
        for place, index_id, _ in erasures:
            if (place, index_id) not in self.erasing:
                self._divergence.found(f"index {index_id} of {place} is not to be erased")

    def _here(self, table_id: int) -> list[PartitionId]:
        """The partitions of a table with a replica here."""
        placed = self._placement.places()
        mine = [place for place, nodes in placed.items() if self.node.name in nodes]
        return sorted(place for place in mine if place[0] == table_id)

    # --- tasks ------------------------------------------------------------------------------------

    def _fill(
        self, place: PartitionId, index_id: int, version: int, since_ts: Timestamp
    ) -> Coroutine[Any, Any, None]:
        self._fills.append((place, index_id, version, since_ts))
        self._since[place, index_id] = since_ts
        return self._to_the_end(super()._fill(place, index_id, version, since_ts), place, index_id)

    async def _to_the_end(
        self, task: Coroutine[Any, Any, None], place: PartitionId, index_id: int
    ) -> None:
        await task
        local, table = self.replicas.members.get(place), self.catalog.latest().by_id(place[0])
        wanted = isinstance(table, Table) and index_id in [one.id for one in table.indexes]
        if wanted and (local is None or index_id not in local.machine.index.complete):
            self._divergence.found(
                f"it ends to fill index {index_id} of {place}, which is not full"
            )

    def _erase(
        self, place: PartitionId, index_id: int, since_ts: Timestamp
    ) -> Coroutine[Any, Any, None]:
        self._erasures.append((place, index_id, since_ts))
        self._since[place, index_id] = since_ts
        return self._to_its_end(super()._erase(place, index_id, since_ts), place, index_id)

    async def _to_its_end(
        self, task: Coroutine[Any, Any, None], place: PartitionId, index_id: int
    ) -> None:
        await task
        local, table = self.replicas.members.get(place), self.catalog.latest().by_id(place[0])
        erased = local is not None and index_id in local.machine.index.erased
        if isinstance(table, Table) and not erased:
            self._divergence.found(f"it ends to erase index {index_id} of {place}, which is there")
        if (place, index_id) in self.erasing:
            self._divergence.found(f"index {index_id} of {place} is gone, and is to be erased")

    # --- steps ------------------------------------------------------------------------------------

    async def _run(self, local: LocalReplica, command: Command[None]) -> None:
        assert isinstance(command, FillIndex | EraseIndex), command
        work = (local.place, command.index_id)
        self._compare_due(local, work)
        if isinstance(command, FillIndex):
            self._compare_fill(local, command)
        elif command.index_id in local.machine.index.erased:
            self._divergence.found(f"{words(command)} is for what is erased")
        await super()._run(local, command)
        self._rested_us[work] = self.node.watch.now_us

    def _compare_due(self, local: LocalReplica, work: tuple[PartitionId, int]) -> None:
        """The node is primary by its clock, which shows that the change is active."""
        shown, lease = self.node.clock.current(), self.replicas.leases.of(local.place)
        mine = lease is not None and lease.holder == self.node.name
        if not (mine and lease is not None and shown < lease.expiration_ts):
            self._divergence.found(f"it works on {work} at {show(shown)} under {words(lease)}")
        if shown < self._since[work]:
            self._divergence.found(
                f"it works on {work} at {show(shown)}, before {show(self._since[work])}"
            )

    def _compare_fill(self, local: LocalReplica, step: FillIndex) -> None:
        place, index, settings = local.place, local.machine.index, self.node.settings
        since_ts = self._since[place, step.index_id]
        table = self.catalog.definition(place[0], step.version)
        states = {one.id: one.state for one in getattr(table, "indexes", ())}
        if states.get(step.index_id) != "reorganization" or step.index_id in index.complete:
            self._divergence.found(f"{words(step)} is for what is not BUILDING, or is filled")
        expected = FillIndex(
            step.index_id,
            step.version,
            since_ts,
            index.filled.get(step.index_id, 0),
            settings.backfill_rows,
            0 if local.group.is_alone else self.catalog.version,
        )
        self._divergence.compare("a step of a backfill", step, expected)
        rested_us = self._rested_us.get((place, step.index_id))
        now_us, pause_us = self.node.watch.now_us, settings.backfill_pause_ms * US_PER_MS
        if rested_us is not None and now_us - rested_us < pause_us:
            self._divergence.found(
                f"{words(step)} comes {now_us - rested_us} us behind the one before"
            )

    def _is_primary(self, local: LocalReplica) -> bool:
        found: bool = super()._is_primary(local)
        if self._looks < EDGED:
            self._looks += 1
            self._compare_edges(local)
        return found

    def _compare_edges(self, local: LocalReplica) -> None:
        """A lease ends before its expiration."""
        lease, now = local.lease, self.node.clock.current()
        for late in (-1, 0, 1):
            until = Timestamp(now + late)
            local.lease = Lease(local.place, self.node.name, Timestamp(now - 5), until)
            if super()._is_primary(local) is not (late > 0):
                self._divergence.found(
                    f"at {show(now)} it takes a lease until {show(until)} otherwise"
                )
        local.lease = None
        if super()._is_primary(local):
            self._divergence.found(f"it takes itself for primary of {local.place} without a lease")
        local.lease = lease
