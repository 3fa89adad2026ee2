"""A store that answers at once, and machines on it: what a layer is driven on beside a run.

Every version of every key is kept, with the versions at which ranges were written. A transaction
fails if something that it read was written above its read version: that is all there is to it.
"""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Coroutine
from types import SimpleNamespace
from typing import Any

from ddlsim.cluster.store_models.draws import Draws
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import METADATA_VERSION, Key, pack
from ddlsim.fdb.transaction import TxOptions
from ddlsim.kernel.engine import Loop
from ddlsim.layer.keyspace import HEAD, INDEXES, JOBS, SCHEMA
from ddlsim.model.hlc import HybridClock
from ddlsim.model.settings import Settings
from ddlsim.units import US_PER_MS, Micros

PLAIN = TxOptions()
FOREVER = 1 << 62
LOG: Key = (SCHEMA, "log")
"""What keys of updates begin with."""
POLL_US = 2_000
Span = tuple[bytes, bytes]
Change = tuple[Span, object, Key | None]
"""A range, its value, and the key that is set; a range that is cleared has none."""


class Shelf:
    """The store; its versions are milliseconds, or more where commits follow each other.

    The next commits that write a key with the prefix `struck` fail with `fails`; of the first
    `lost` behind these no answer comes, and they have committed; `unread` reads of the log fail
    behind that. Of the next ones `unknown` says which have no answer: those that have committed
    (true), and that have not (false). If `late`, the next one has no answer either, and commits
    just before the one that comes behind it (`held`). Each wait takes `delay_us`. `copies` are
    what it had when a statement had made an update, or had written how far it was. `watching`
    counts the watches that may still be armed, `loose` the entries of statements that no update of
    the schema made fail.
    """

    def __init__(self, loop: Loop, window: int) -> None:
        self.loop = loop
        self.window = window
        self.last = 1
        self.keys: dict[bytes, Key] = {}
        self.values: dict[bytes, list[tuple[int, Any]]] = {}
        self.written: list[tuple[int, Span]] = []
        self.futures: list[tuple[int, Span]] = []
        self.bumps = [0]
        self.fails: list[FdbError] = []
        self.at_us: dict[int, int] = {}
        self.lost = 0
        self.unknown: list[bool | None] = []
        self.late = False
        self.held: ShelfTransaction | None = None
        self.unread = 0
        self.struck: Key = ()
        self.delay_us = 0
        self.watching = 0
        self.loose = 0
        self.keeps_copies = False
        self.copies: list[Shelf] = []

    def copied(self) -> "Shelf":
        """The same store, to go on with apart."""
        found = Shelf(self.loop, self.window)
        found.last, found.bumps = self.version, list(self.bumps)
        found.keys, found.written = dict(self.keys), list(self.written)
        found.futures = list(self.futures)
        found.values = {key: list(values) for key, values in self.values.items()}
        return found

    async def wait(self) -> None:
        """What an answer takes."""
        if self.delay_us:
            await self.loop.sleep(self.delay_us)

    @property
    def version(self) -> int:
        """The newest version."""
        return max(self.last, self.loop.now_us // US_PER_MS)

    def at(self, packed: bytes, version: int = FOREVER) -> Any:
        """A key's value at a version."""
        known = self.values.get(packed, ())
        return next((value for since, value in reversed(known) if since <= version), None)

    def now(self, key: Key) -> Any:
        """A key's last value."""
        return self.at(pack(key))

    def under(self, *prefix: object) -> dict[Key, Any]:
        """The keys that begin so and have a value."""
        return {key: self.now(key) for key in self.listed(*prefix)}

    def listed(self, *prefix: object) -> list[Key]:
        """These keys: 1 and 1.0 are equal, but keys of their own."""
        size = len(prefix)
        found = [(one, key) for one, key in self.keys.items() if key[:size] == prefix]
        return [key for one, key in found if self.at(one) is not None]

    def carry_out(self, changes: list[Change], version: int) -> None:
        """Write at a version."""
        for (begin, end), value, key in changes:
            if key is not None:
                self.keys[begin] = key
            for one in [one for one in self.keys if begin <= one < end]:
                self.values.setdefault(one, []).append((version, value))
            self.written.append((version, (begin, end)))
        self.last = version
        self.at_us[version] = self.loop.now_us


class ShelfWatch:
    """Looks at a key again and again."""

    def __init__(self, tx: "ShelfTransaction", key: Key) -> None:
        self._tx = tx
        self._packed = pack(key)
        self.seen: object = None

    @property
    def fired(self) -> Awaitable[None]:
        """Comes once the value differs."""
        return self._differs()

    async def _differs(self) -> None:
        while self._tx.shelf.at(self._packed) == self.seen:
            await self._tx.loop.sleep(POLL_US)

    def arm(self, version: int) -> None:
        """Begin with the value at a version."""
        self.seen = self._tx.shelf.at(self._packed, version)


class ShelfTransaction:
    """A transaction: what it has read, what it changes, and what else is to be compared."""

    def __init__(self, shelf: Shelf, options: TxOptions) -> None:
        self.shelf = shelf
        self.loop = shelf.loop
        self.options = options
        self._clear()

    def _clear(self) -> None:
        self.version: int | None = None
        self.reads: list[tuple[Span, int | None]] = []
        self.changes: list[Change] = []
        self.stamped: list[tuple[Key, Callable[[int], object]]] = []
        self.futures: list[tuple[Span, int]] = []
        self.required: list[tuple[Key, object]] = []
        self.bumped = False
        self.watches: list[ShelfWatch] = []

    async def read_version(self) -> int:
        if self.version is not None:
            return self.version
        version = self.shelf.version
        await self.shelf.wait()
        self.version = version
        return version

    async def metadata_version(self, *, snapshot: bool = False) -> int | None:
        version = await self.read_version()
        if not snapshot:
            self.reads.append(((METADATA_VERSION, METADATA_VERSION + b"\x00"), None))
        return max(one for one in self.shelf.bumps if one <= version)

    def bump_metadata_version(self) -> None:
        self.bumped = True

    def _seen(self, packed: bytes, version: int) -> Any:
        for key, _ in self.stamped:
            if pack(key) == packed:
                raise FdbError(ErrorCode.ACCESSED_UNREADABLE)
        own = [one for one in self.changes if one[0][0] <= packed < one[0][1]]
        return own[-1][1] if own else self.shelf.at(packed, version)

    async def get(self, key: Key, *, snapshot: bool = False) -> Any:
        version, packed = await self.read_version(), pack(key)
        if not snapshot:
            self.reads.append(((packed, packed + b"\x00"), None))
        await self.shelf.wait()
        self._fails_if_unread(key)
        return self._seen(packed, version)

    def _fails_if_unread(self, key: Key) -> None:
        shelf = self.shelf
        if shelf.unread and not shelf.lost and key[0] == SCHEMA:
            shelf.unread -= 1
            raise FdbError(ErrorCode.TRANSACTION_TOO_OLD)

    async def get_range(
        self, begin: Key, end: Key, *, snapshot: bool = False, limit: int | None = None
    ) -> list[tuple[Key, Any]]:
        version, first, last = await self.read_version(), pack(begin), pack(end)
        known = self.shelf.keys | {one[0][0]: one[2] for one in self.changes if one[2] is not None}
        found: list[tuple[Key, Any]] = []
        for packed in sorted(one for one in known if first <= one < last):
            value = self._seen(packed, version)
            if value is not None:
                found.append((known[packed], value))
            if len(found) == limit:
                last = packed + b"\x00"
                break
        if not snapshot:
            self.reads.append(((first, last), None))
        await self.shelf.wait()
        self._fails_if_unread(begin)
        return found

    def set(self, key: Key, value: object) -> None:
        packed = pack(key)
        self.changes.append(((packed, packed + b"\x00"), value, key))

    def clear(self, key: Key) -> None:
        self.set(key, None)

    def clear_range(self, begin: Key, end: Key) -> None:
        self.changes.append(((pack(begin), pack(end)), None, None))

    def set_versionstamped_value(self, key: Key, make: Callable[[int], object]) -> None:
        self.stamped.append((key, make))

    def add_read_conflict_key(self, key: Key, since: int | None = None) -> None:
        packed = pack(key)
        self.reads.append(((packed, packed + b"\x00"), since))

    def add_write_conflict_key(self, key: Key, at: int | None = None) -> None:
        assert at is not None, "only what counts as written later is asked for"
        packed = pack(key)
        self.futures.append(((packed, packed + b"\x00"), at))

    async def local(self, key: Key) -> Any:
        return self.shelf.at(pack(key), await self.read_version())

    def require_local(self, key: Key, value: object) -> None:
        self.required.append((key, value))

    def watch(self, key: Key) -> ShelfWatch:
        self.watches.append(ShelfWatch(self, key))
        self.shelf.watching += 1
        return self.watches[-1]

    def cancel(self) -> None:
        self.shelf.watching -= len(self.watches)
        self.watches = []

    async def commit(self) -> int:
        version, shelf = await self.read_version(), self.shelf
        for watch in self.watches:
            watch.arm(version)
        self.cancel()
        if not (self.changes or self.stamped or self.futures or self.bumped):
            return version
        await shelf.wait()
        if shelf.fails and self._is_struck():
            raise shelf.fails.pop(0)
        unknown = shelf.unknown.pop(0) if shelf.unknown and self._is_struck() else None
        if unknown is False:
            raise FdbError(ErrorCode.COMMIT_UNKNOWN_RESULT)
        if self._is_struck():
            if shelf.late:
                shelf.late, shelf.held = False, self._apart()
                raise FdbError(ErrorCode.COMMIT_UNKNOWN_RESULT)
            held, shelf.held = shelf.held, None
            if held is not None:
                held.land(await held.read_version())
        return self.land(version, unknown=bool(unknown))

    def _apart(self) -> "ShelfTransaction":
        """The same transaction, whatever becomes of this one."""
        found = ShelfTransaction(self.shelf, self.options)
        found.version, found.bumped = self.version, self.bumped
        found.reads, found.changes = list(self.reads), list(self.changes)
        found.stamped, found.futures = list(self.stamped), list(self.futures)
        found.required = list(self.required)
        return found

    def land(self, version: int, *, unknown: bool = False) -> int:
        """Commit now what has read at a version, or fail."""
        shelf = self.shelf
        committed = shelf.version + 1
        if self.reads and version < committed - shelf.window:
            raise FdbError(ErrorCode.TRANSACTION_TOO_OLD)
        conflicts = self._conflicts(version, committed)
        if conflicts:
            raise FdbError(ErrorCode.NOT_COMMITTED, tuple(conflicts))
        made: list[Change] = list(self.changes)
        for key, make in self.stamped:
            made.append(((pack(key), pack(key) + b"\x00"), make(committed), key))
        shelf.carry_out(made, committed)
        shelf.futures += [(at, span) for span, at in self.futures]
        if self.bumped:
            shelf.bumps.append(committed)
            shelf.written.append((committed, (METADATA_VERSION, METADATA_VERSION + b"\x00")))
        self._done(unknown=unknown)
        return committed

    def _is_struck(self) -> bool:
        prefix = self.shelf.struck
        keys = [one[2] for one in self.changes] + [key for key, _ in self.stamped]
        return any(key is not None and key[: len(prefix)] == prefix for key in keys)

    def _done(self, *, unknown: bool) -> None:
        shelf = self.shelf
        keys = [one[2] for one in self.changes if one[2]] + [key for key, _ in self.stamped]
        if {JOBS, INDEXES} <= {key[0] for key in keys} and not self._conflicts_on(HEAD):
            shelf.loose += 1
        if shelf.keeps_copies and any(key[0] == JOBS or key[:2] == LOG for key in keys):
            shelf.copies.append(shelf.copied())
        if shelf.lost and self._is_struck():
            shelf.lost -= 1
            unknown = True
        if unknown:
            raise FdbError(ErrorCode.COMMIT_UNKNOWN_RESULT)

    def _conflicts_on(self, key: Key) -> bool:
        """Whether a write of a key behind the read version makes it fail."""
        packed = pack(key)
        return any(begin <= packed < end for (begin, end), _ in self.reads)

    def _conflicts(self, version: int, committed: int) -> list[bytes | Span]:
        reads = [(span, version if since is None else since) for span, since in self.reads]
        oldest = min((since for _, since in reads), default=committed)
        shelf = self.shelf
        written = shelf.written[bisect_right(shelf.written, oldest, key=lambda one: one[0]) :]
        written += [one for one in shelf.futures if oldest < one[0] <= committed]
        found: list[bytes | Span] = [
            (begin, end)
            for (begin, end), since in reads
            if any(since < at and begin < last and first < end for at, (first, last) in written)
        ]
        required = self.required
        return found + [pack(key) for key, value in required if self.shelf.now(key) != value]

    async def on_error(self, error: FdbError) -> None:
        if not error.code.retriable:
            raise error
        await self.loop.sleep(US_PER_MS)
        self.cancel()
        self._clear()


class Machine:
    """A machine of a process of the layer, as it sees it; `events` are what it records."""

    def __init__(self, name: str, loop: Loop, settings: Settings, draws: Draws) -> None:
        self.name = name
        self.loop = self.watch = loop
        self.settings = settings
        self.clock = HybridClock(lambda: loop.now_us // US_PER_MS)
        self.disk: dict[str, object] = {}
        self.recording = True
        self.events: list[Any] = []
        self.disk_delay_us = 0
        self.handlers: dict[type, Callable[[str, Any], Any]] = {}
        self.probes: dict[str, int] = {}
        self._once: dict[object, None] = {}
        self._draws = draws
        self.sleep, self.call_later, self.future = loop.sleep, loop.call_later, loop.future
        self.sleep_by_clock = loop.sleep  # its clock shows true time

    def on(self, kind: type, handler: Callable[[str, Any], Any]) -> None:
        self.handlers[kind] = handler

    def spawn(self, task: Coroutine[Any, Any, Any]) -> None:
        self.loop.spawn(task)

    def spread(self, _purpose: str, bound_us: int) -> Micros:
        return Micros(self._draws.below(max(bound_us, 1)))

    def record(self, event: object) -> None:
        self.events.append(event)

    def is_first(self, key: object) -> bool:
        """Whether it is the first to record this: its own alone count here."""
        is_new = key not in self._once
        self._once[key] = None
        return is_new

    def probe(self, name: str) -> None:
        self.probes[name] = self.probes.get(name, 0) + 1


def shelved(shelf: Shelf) -> Any:
    """A process's way to the store."""

    def transaction(options: TxOptions = PLAIN) -> ShelfTransaction:
        return ShelfTransaction(shelf, options)

    return SimpleNamespace(transaction=transaction)
