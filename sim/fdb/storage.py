"""A storage server: applies what the logs hold of its shards, and reads at versions of the window.

    pulls: Peek above `version` -> entries applied -> reads that waited, watches -> Peek ...
    reads: older than the window: too old; above `version`: waits, `future_version` at last

* `_store`: what is applied; its base is the disk. What lies above the end of the generation in
  which it was pulled never was committed, and is rolled back before the next generation's entries.
* `_waiting`: reads that wait for a version.
* `_queue`: reads that wait for their service (`storage_read_us`), one after the other, so that a
  hot key makes its servers' queues long.
* `reads`: how many were served, of keys and of ranges.
* `_watches`: by key, what waits until its value differs, and from what.
"""

from collections import deque

from ddlsim.fdb.config import FdbConfig, Parts
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.keys import EMPTY, SYSTEM, Key, is_local, pack, unpack
from ddlsim.fdb.membership import first_generation
from ddlsim.fdb.messages import (
    Failed,
    Fired,
    Generation,
    Get,
    GetRange,
    Got,
    GotRange,
    Peek,
    Peeked,
    Ping,
    Pong,
    Pop,
    WatchKey,
)
from ddlsim.fdb.store import Base, Store
from ddlsim.model.ports import Future, Node
from ddlsim.units import US_PER_MS, Micros

DISK = "store"
TOO_OLD = Failed(ErrorCode.TRANSACTION_TOO_OLD)
IN_FUTURE = Failed(ErrorCode.FUTURE_VERSION)
TIMED_OUT = Failed(ErrorCode.TIMED_OUT)


class Storage:
    """Serves reads of its shards."""

    def __init__(self, node: Node, config: FdbConfig, *, restarted: bool = False) -> None:
        self.node = node
        self.settings = config.settings
        self.generation: Generation | None = None if restarted else first_generation(config)
        base = node.disk.get(DISK)
        if base is None:
            base = node.disk[DISK] = _initial(node.name, config)
        assert isinstance(base, Base), f"{base} is no store"
        self._store = Store(base)
        self._known = base.generation
        self._waiting: list[tuple[int, Future[None]]] = []
        self._queue: deque[Future[None]] = deque()
        self.reads = 0
        self._watches: dict[bytes, dict[Future[bool], object]] = {}
        self._place = config.storages.index(node.name)
        self._retry_us = Micros(self.settings.retry_ms * US_PER_MS)
        self._peek_us = Micros(self.settings.peek_ms * US_PER_MS)
        self._pop_us = Micros(self.settings.pop_ms * US_PER_MS)
        self._future_us = Micros(self.settings.future_version_ms * US_PER_MS)
        self._watch_us = Micros(self.settings.watch_timeout_ms * US_PER_MS)
        node.on(Ping, self.pong)
        node.on(Get, self.get_as_applied if self.settings.local_as_applied else self.get)
        node.on(GetRange, self.get_range)
        node.on(WatchKey, self.watch)
        if self.generation is not None:
            node.spawn(self._pull(self.generation))
        node.spawn(self._pop())

    @property
    def version(self) -> int:
        """The last version that is applied."""
        return self._store.version

    def values(self) -> list[tuple[Key, object]]:
        """Every key of clients that it holds, with its value as of the last version applied."""
        held = self._store.scan(EMPTY, SYSTEM, self._store.version)
        return [(unpack(key), value) for key, value in held if not is_local(key)]

    # --- from the logs ----------------------------------------------------------------------------

    def pong(self, _sender: str, ping: Ping) -> Pong:
        """Adopt the controller's generation: drop what the last one never committed."""
        generation = ping.generation
        if self.generation is None or generation.number > self.generation.number:
            self.generation = generation
            for number, end in generation.ends:
                if number > self._known:
                    self._roll_back(end)
            self._known = self._store.base.generation = generation.number
            self.node.spawn(self._pull(generation))
        return Pong(self.generation.number)

    def _roll_back(self, end: int) -> None:
        if self._store.version > end:
            self.node.probe("store-rollback")
        self._look_at_watches(self._store.roll_back(end))

    async def _pull(self, generation: Generation) -> None:
        """Apply what the logs of a generation hold, one pull after the other."""
        tries = self._place
        while self.generation is generation:
            log = generation.logs[tries % len(generation.logs)]
            asked = Peek(generation.number, self._store.version)
            answer = await self.node.request(log, asked, self._peek_us)
            if self.generation is not generation:
                return
            if isinstance(answer, Peeked):
                self._apply(answer)
            else:
                tries += 1
                await self.node.sleep(self._retry_us)

    def _apply(self, peeked: Peeked) -> None:
        store = self._store
        keys: list[bytes] = []
        for entry in peeked.entries:
            for writes in entry.written.values():
                keys += store.apply(entry.last, writes)
        if self._watches:
            self._look_at_watches(keys)
        store.version = peeked.end
        store.trim(min(peeked.end - self.settings.window, peeked.committed))
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for version, reached in waiting:
                if version > peeked.end:
                    self._waiting.append((version, reached))
                elif not reached.done:
                    reached.set(None)

    async def _pop(self) -> None:
        """Let the logs forget what lies on this disk, again and again."""
        while True:
            await self.node.sleep(self._pop_us)
            if self.generation is not None:
                for log in self.generation.logs:
                    self.node.send(log, Pop(self._store.oldest))

    # --- reads ------------------------------------------------------------------------------------

    async def get(self, _sender: str, request: Get) -> Got | Failed:
        """A key's value at a version."""
        failed = await self._unreadable(request.version)
        return failed or Got(self._store.read(request.key, request.version))

    async def get_as_applied(self, sender: str, request: Get) -> Got | Failed:
        """The same, but of the local space what is applied, whatever the version asked for."""
        if is_local(request.key):
            return Got(self._store.latest(request.key))
        return await self.get(sender, request)

    async def get_range(self, _sender: str, request: GetRange) -> GotRange | Failed:
        """The keys of a range with their values at a version."""
        failed = await self._unreadable(request.version)
        if failed is not None:
            return failed
        pairs: list[tuple[bytes, object]] = []
        for pair in self._store.scan(request.begin, request.end, request.version):
            if len(pairs) == request.limit:
                return GotRange(tuple(pairs), more=True)
            pairs.append(pair)
        return GotRange(tuple(pairs), more=False)

    async def _unreadable(self, version: int) -> Failed | None:
        """Wait for a read's turn and its version; then why nothing can be read at that, if so."""
        store = self._store
        self.reads += 1
        if self.settings.storage_read_us:
            await self._served()
        if store.version < version:
            await self._reached(version)
        if store.version < version:
            return IN_FUTURE
        if version < store.oldest:
            self.node.probe("store-too-old")
            return TOO_OLD
        return None

    async def _reached(self, version: int) -> None:
        """Wait until a version is applied, or for `future_version_ms`."""
        reached: Future[None] = self.node.future()
        self._waiting.append((version, reached))
        self.node.probe("store-version-awaited")
        timer = self.node.call_later(self._future_us, _end, reached)
        await reached
        timer.cancel()
        if self._store.version < version:
            self.node.probe("store-future-version")

    async def _served(self) -> None:
        """Wait for the reads that came before, then for this one's own service."""
        served: Future[None] = self.node.future()
        self._queue.append(served)
        if len(self._queue) == 1:
            self.node.call_later(Micros(self.settings.storage_read_us), self._serve_next)
        await served

    def _serve_next(self) -> None:
        self._queue.popleft().set(None)
        if self._queue:
            self.node.call_later(Micros(self.settings.storage_read_us), self._serve_next)

    # --- watches ----------------------------------------------------------------------------------

    async def watch(self, _sender: str, request: WatchKey) -> Fired | Failed:
        """Wait until a key's value differs: a value that has come back is no difference."""
        store = self._store
        if store.version < request.version:
            await self._reached(request.version)
            if store.version < request.version:
                return IN_FUTURE
        if store.latest(request.key) != request.value:
            return Fired(store.version)
        changed: Future[bool] = self.node.future()
        waiting = self._watches.setdefault(request.key, {})
        waiting[changed] = request.value
        timer = self.node.call_later(self._watch_us, _give_up, changed)
        fired = await changed
        timer.cancel()
        waiting.pop(changed, None)
        return Fired(store.version) if fired else TIMED_OUT

    def _look_at_watches(self, keys: list[bytes]) -> None:
        """Fire the watches of keys whose value differs now, at the end of a pull."""
        for key in keys:
            waiting = self._watches.get(key)
            if waiting:
                value = self._store.latest(key)
                for changed, seen in waiting.items():
                    if seen != value and not changed.done:
                        changed.set(True)
            elif waiting is not None:
                del self._watches[key]


def _end(future: Future[None]) -> None:
    if not future.done:
        future.set(None)


def _give_up(changed: Future[bool]) -> None:
    if not changed.done:
        changed.set(False)


def _initial(name: str, config: FdbConfig) -> Base:
    """What a new storage server holds at version 0: the initial values of its shards."""
    parts = Parts(tuple(shard.begin for shard in config.shards))
    packed = [(pack(key), value) for key, value in config.initial]
    local = config.settings.local_keys
    return Base(
        values={
            key: value
            for key, value in packed
            if name in config.shards[parts.of(key)].team or (local and is_local(key))
        }
    )
