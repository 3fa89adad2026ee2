"""A transaction log beside its model: a list of batches, which a crash leaves as it is."""

from ddlsim.cluster.store_models.beside import Member, since_us
from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.log import Log
from ddlsim.fdb.messages import (
    CONFIRMED,
    EVERYWHERE,
    LOGGED,
    STALE,
    Confirm,
    Confirmed,
    Entry,
    Generation,
    Lock,
    Locked,
    Logged,
    Peek,
    Peeked,
    Pop,
    Push,
    Stale,
    StateChange,
    Tail,
)
from ddlsim.model.ports import Node


class Batches:
    """What a log's disk must have."""

    def __init__(self) -> None:
        self.served = self.locked = self.end = 0
        self.entries: list[Entry] = []
        self.changes: list[StateChange] = []
        self.popped: dict[str, int] = {}

    def forget(self, storages: tuple[str, ...]) -> None:
        """Keep the entries that some storage server may still ask for."""
        least = min(self.popped.get(name, 0) for name in storages)
        self.entries = [entry for entry in self.entries if entry.last > least]


class ModelledLog(Member, Log):
    """A log that compares what it writes, gives and keeps."""

    part = "log"

    def __init__(self, node: Node, config: FdbConfig) -> None:
        disk = self.beside.disks.setdefault(node.name, Batches())
        assert isinstance(disk, Batches), f"{disk} is no log"
        self._batches = disk
        self._ends: list[tuple[int, int]] = []
        self._all_have = 0
        super().__init__(node, config)
        self._own = {
            name: {EVERYWHERE}
            | {number for number, shard in enumerate(config.shards) if name in shard.team}
            for name in config.storages
        }
        self.divergence.compare("the end of the disk", self.last, disk.end)

    # --- generations ------------------------------------------------------------------------------

    def begin(self, generation: Generation, tail: Tail) -> None:
        super().begin(generation, tail)
        disk = self._batches
        disk.served, disk.locked, disk.end = generation.number, 0, generation.start_version
        disk.entries, disk.changes = list(tail.entries), list(tail.changes)
        disk.popped = dict(tail.popped)
        self._ends = [(disk.end, self.divergence.now_us)]
        self._all_have = disk.end
        self.divergence.compare("the end of the disk", self.last, disk.end)

    def _refuses(self, number: int) -> bool:
        return number < self._batches.locked

    def lock(self, sender: str, request: Lock) -> Locked | Stale:
        answer = super().lock(sender, request)
        disk = self._batches
        if request.generation < max(disk.locked, self._number):
            self.divergence.compare("the answer to a late lock", answer, STALE)
            return answer
        disk.locked = request.generation
        if self.serving is not None:
            self.divergence.found("a log that is locked goes on")
        if not isinstance(answer, Locked):
            self.divergence.found(f"{request} is answered with {answer}")
            return answer
        tail = answer.tail
        got = (answer.generation, tail.end, tail.changes, dict(tail.popped))
        expected = (disk.served, disk.end, tuple(disk.changes), disk.popped)
        self.divergence.compare("what a locked log says", got, expected)
        entries = tuple(disk.entries)
        self.divergence.compare("the entries of a locked log", tail.entries, entries)
        return answer

    def confirm(self, sender: str, request: Confirm) -> Confirmed | Stale:
        answer = super().confirm(sender, request)
        expected = CONFIRMED if request.generation == self.serving else STALE
        self.divergence.compare("the word of a log", answer, expected)
        return answer

    # --- batches ----------------------------------------------------------------------------------

    async def push(self, sender: str, request: Push) -> Logged | Stale:
        arrived_us, serving = self.divergence.now_us, self.serving
        synced_us = arrived_us + self.settings.log_sync_us + self.node.disk_delay_us

        def due_us() -> int | None:
            had_us = self._had_us(request.entry.previous)
            return None if had_us is None else max(synced_us, had_us)

        def ends_us() -> int | None:
            if self.serving == request.generation:
                return due_us()
            # A batch that reaches the disk behind its generation may wait on: its proxy asks again.
            ended_us = self.ended_us.get(request.generation, 0)
            return ended_us if ended_us >= synced_us or arrived_us > ended_us else None

        number = self.divergence.opens("the answer to a push", ends_us)
        answer = await super().push(sender, request)
        self.divergence.closes(number)
        if self.divergence.is_known:
            return answer
        if self.is_stale(request.generation, serving, answer):
            return answer
        disk, entry = self._batches, request.entry
        self.divergence.compare("the answer to a push", answer, LOGGED)
        self.divergence.not_before("a batch is on the disk", synced_us)
        if disk.end < entry.last:
            self._written(entry)
        self._all_have = max(self._all_have, request.committed)
        return answer

    def _had_us(self, version: int) -> int | None:
        """When the log had all batches up to a version; None: it has not."""
        return since_us(self._ends, version)

    def _written(self, entry: Entry) -> None:
        disk = self._batches
        if disk.end != entry.previous:
            self.divergence.found(f"a batch behind {entry.previous} is written behind {disk.end}")
        disk.end = entry.last
        self._ends.append((entry.last, self.divergence.now_us))
        if entry.written:
            disk.entries.append(entry)
        disk.changes += entry.changes
        self.divergence.compare("the end of the disk", self.last, disk.end)

    # --- storage servers --------------------------------------------------------------------------

    async def peek(self, sender: str, request: Peek) -> Peeked | Stale:
        arrived_us, serving = self.divergence.now_us, self.serving

        def due_us() -> int | None:
            had_us = self._had_us(request.above + 1)
            return None if had_us is None else max(arrived_us, had_us)

        number = self.divergence.opens(
            f"the answer to {request}", self.ends(request.generation, due_us)
        )
        answer = await super().peek(sender, request)
        self.divergence.closes(number)
        if self.divergence.is_known:
            return answer
        if self.is_stale(request.generation, serving, answer):
            return answer
        disk = self._batches
        if disk.end <= request.above:
            self.divergence.found(f"{request} is answered without anything new")
            return answer
        found: list[Entry] = []
        for entry in disk.entries:
            own = {shard: each for shard, each in entry.written.items() if self._has(sender, shard)}
            if entry.last > request.above and own:
                found.append(Entry(entry.previous, entry.last, own))
        expected = Peeked(tuple(found), disk.end, self._all_have)
        self.divergence.compare(f"the answer to {request}", answer, expected)
        return answer

    def _has(self, storage: str, shard: int) -> bool:
        return shard in self._own[storage]

    def pop(self, sender: str, request: Pop) -> None:
        super().pop(sender, request)
        popped = self._batches.popped
        if request.version > popped.get(sender, 0):
            popped[sender] = request.version
            self._batches.forget(self.config.storages)
