"""A transaction log: every log of a generation holds all batches, in the order of their versions.

A transaction is committed once all logs have its batch: so any one of them can begin the next
generation, and one that is locked keeps proxies of the old one from committing.

    serves n --Lock of m--> locked: takes nothing --Recruit of m--> serves m
      (a restarted log is locked: its disk has the entries)

* `Disk.entries`: from the oldest batch that some storage server needs (`popped`), to `end`.
* `_chain`: the last batch on the disk. Batches wait for their predecessors, so that what is below
  `end` has no hole.
* `_peeks`: storage servers that have all there is, and wait for more.
"""

from collections import deque
from dataclasses import dataclass, field
from operator import attrgetter

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.membership import Chain, Process
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
    Recruit,
    Recruited,
    Stale,
    StateChange,
    Tail,
)
from ddlsim.model.ports import Future, Node
from ddlsim.units import Micros

DISK = "log"
_last = attrgetter("last")


@dataclass(slots=True)
class Disk:
    """What a log has on its disk; `generation` is the last that it served."""

    generation: int = 0
    locked: int = 0
    end: int = 0
    entries: deque[Entry] = field(default_factory=deque)
    changes: list[StateChange] = field(default_factory=list)
    popped: dict[str, int] = field(default_factory=dict)


class Log(Process):
    """Holds batches until all storage servers have them."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        disk = node.disk.setdefault(DISK, Disk())
        assert isinstance(disk, Disk), f"{disk} is no log"
        self._disk = disk
        self._chain = Chain(node, disk.end)
        self._committed = 0
        self._peeks: list[Future[None]] = []
        self._shards = {
            name: [
                EVERYWHERE,
                *(number for number, shard in enumerate(config.shards) if name in shard.team),
            ]
            for name in config.storages
        }
        super().__init__(node, config)
        node.on(Push, self.push)
        node.on(Peek, self.peek)
        node.on(Pop, self.pop)
        node.on(Lock, self.lock)
        node.on(Confirm, self.confirm)

    @property
    def last(self) -> int:
        """The last version that is on the disk."""
        return self._disk.end

    def has_more(self, shard: int, above: int) -> bool:
        """Whether it has writes of a shard, by its number, behind a version."""
        entries = self._disk.entries
        return any(entry.last > above and shard in entry.written for entry in entries)

    # --- generations ------------------------------------------------------------------------------

    def begin(self, generation: Generation, tail: Tail) -> None:
        """Replace everything by what the last generation has committed."""
        disk = self._disk
        disk.generation, disk.locked = generation.number, 0
        disk.end = generation.start_version
        disk.entries = deque(tail.entries)
        disk.changes = list(tail.changes)
        disk.popped = dict(tail.popped)
        self._chain = Chain(self.node, disk.end)
        self._committed = disk.end

    def end(self) -> None:
        """Let pushes and peeks of the generation go."""
        self._chain.break_up()
        self._wake_up()

    def recruit(self, sender: str, request: Recruit) -> Recruited | Stale:
        """Begin to serve a generation, unless a later one is about to begin."""
        if request.generation.number < self._disk.locked:
            return STALE
        return super().recruit(sender, request)

    def lock(self, _sender: str, request: Lock) -> Locked | Stale:
        """Serve no generation below the request's; say what there is."""
        disk = self._disk
        if request.generation < max(disk.locked, self._known):
            return STALE
        self.over()
        disk.locked = request.generation
        return Locked(disk.generation, self._tail())

    def _tail(self) -> Tail:
        disk = self._disk
        popped = tuple(disk.popped.items())
        return Tail(disk.end, tuple(disk.entries), tuple(disk.changes), popped)

    def confirm(self, _sender: str, request: Confirm) -> Confirmed | Stale:
        """Whether this log still serves a generation."""
        return CONFIRMED if self.serves(request.generation) else STALE

    # --- proxies ----------------------------------------------------------------------------------

    async def push(self, _sender: str, request: Push) -> Logged | Stale:
        """Write a batch to the disk, behind its predecessor."""
        number, entry, chain = request.generation, request.entry, self._chain
        if not self.serves(number):
            return STALE
        sync_us = self.settings.log_sync_us + self.node.disk_delay_us
        if sync_us:
            await self.node.sleep(Micros(sync_us))
        if chain.version < entry.previous:
            await chain.reached(entry.previous)
        if not self.serves(number):
            return STALE
        self._committed = max(self._committed, request.committed)
        if chain.version < entry.last:
            self._append(entry)
        return LOGGED

    def _append(self, entry: Entry) -> None:
        disk = self._disk
        assert disk.end == entry.previous, f"{entry} comes behind {disk.end}"
        disk.end = entry.last
        if entry.written:
            disk.entries.append(entry)
        if entry.changes:
            disk.changes.extend(entry.changes)
        self._chain.advance(entry.last)
        self._wake_up()

    # --- storage servers --------------------------------------------------------------------------

    async def peek(self, sender: str, request: Peek) -> Peeked | Stale:
        """What a storage server lacks; waits while there is nothing new."""
        disk = self._disk
        while self.serves(request.generation) and disk.end <= request.above:
            more: Future[None] = self.node.future()
            self._peeks.append(more)
            await more
        if not self.serves(request.generation):
            return STALE
        shards = self._shards[sender]
        found: list[Entry] = []
        for entry in reversed(disk.entries):
            if entry.last <= request.above:
                break
            written = {one: entry.written[one] for one in shards if one in entry.written}
            if written:
                found.append(Entry(entry.previous, entry.last, written))
        found.reverse()
        return Peeked(tuple(found), disk.end, self._committed)

    def _wake_up(self) -> None:
        peeks, self._peeks = self._peeks, []
        for more in peeks:
            more.set(None)

    def pop(self, sender: str, request: Pop) -> None:
        """Forget what no storage server needs any more."""
        disk = self._disk
        if request.version > disk.popped.get(sender, 0):
            disk.popped[sender] = request.version
            needed = min(disk.popped.get(name, 0) for name in self._shards)
            while disk.entries and disk.entries[0].last <= needed:
                disk.entries.popleft()
