"""A key-value store in memory with the interface of FoundationDB's client library, in plain words.

One object, nothing waits, no messages: a list of writes by version, and the rule that a transaction
fails if one of its read keys was written after its read version. What a transaction sets itself is
laid over what it reads. Tests of the layer drive it by hand; nothing is shared with `ddlsim.fdb`
but keys and errors.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import METADATA_VERSION, Key, pack
from ddlsim.fdb.transaction import TxOptions
from ddlsim.layer.keyspace import MODES, SCHEMA
from ddlsim.model.ports import Node
from ddlsim.units import Micros

Range = tuple[bytes, bytes]
PLAIN = TxOptions()
SOON_US = Micros(1000)


class PlainStore:
    """All versions of all keys; `version` is that of the last commit, or what a test says.

    The next transactions read at the versions in `older`; the next commits of writes fail with
    `fails`; of as many as `lost_answers` the outcome is unknown, and they have committed. The next
    reads of the schema behind one of these fail with `unread`. Of nodes in `cut_watches` no watch
    fires; those in `cut_schema` do not reach the schema and its modes. `most_rests` is how often
    one transaction has rested behind an error, of that which did so most often.
    """

    def __init__(self, window: int = 1 << 60) -> None:
        self.version = 100
        self.ticks: Callable[[], int] = lambda: 0
        self.window = window
        self.values: dict[bytes, list[tuple[int, Any]]] = {}
        self.keys: dict[bytes, Key] = {}
        self.written: list[tuple[int, Range]] = []
        self.metadata: list[int] = [0]
        self.older: list[int] = []
        self.fails: list[ErrorCode] = []
        self.lost_answers = 0
        self.unread: list[ErrorCode] = []
        self.watching = 0
        self.has_lost_an_answer = False
        self.cut_watches: set[str] = set()
        self.cut_schema: set[str] = set()
        self.most_rests = 0

    @property
    def present(self) -> int:
        """The newest version: that of the last commit, or later where versions go by in time."""
        return max(self.version, self.ticks())

    def at(self, packed: bytes, version: int) -> Any:
        """The value of a key at a version."""
        value = None
        for since, one in self.values.get(packed, ()):
            if since <= version:
                value = one
        return value

    def now(self, key: Key) -> Any:
        """The newest value of a key."""
        return self.at(pack(key), 1 << 62)

    def under(self, space: str) -> list[tuple[Key, Any]]:
        """The keys of a space that have values now, in order."""
        found = [(self.keys[one], self.at(one, 1 << 62)) for one in sorted(self.keys)]
        return [(key, value) for key, value in found if key[0] == space and value is not None]


class PlainWatch:
    """A watch that looks at the store every millisecond."""

    def __init__(self, node: Node, store: PlainStore, key: Key) -> None:
        self.node = node
        self.store = store
        self.key = key
        self.seen: Any = None

    @property
    def fired(self) -> Awaitable[None]:
        """Comes once the value differs from the one at the read version."""
        return self._wait()

    async def _wait(self) -> None:
        while self.node.name in self.store.cut_watches or self.store.now(self.key) == self.seen:
            await self.node.sleep(SOON_US)


class PlainTransaction:
    """A transaction: `reads` and `writes` are its conflict ranges."""

    def __init__(self, node: Node, store: PlainStore, options: TxOptions) -> None:
        self.node = node
        self.store = store
        self.options = options
        self._rests = 0
        self._begin()

    def _begin(self) -> None:
        self.version: int | None = None
        self.reads: list[Range] = []
        self.pasts: list[tuple[Range, int]] = []
        self.futures: list[tuple[Range, int]] = []
        self.required: list[tuple[bytes, Any]] = []
        self.overlay: list[tuple[Range, Any]] = []
        self.stamped: list[tuple[Key, Callable[[int], Any]]] = []
        self.bumps = False
        self.watches: list[PlainWatch] = []

    def _now(self) -> int:
        if self.version is None:
            older = self.store.older
            self.version = older.pop(0) if older else self.store.present
        return self.version

    def _reaches(self, key: Key) -> None:
        if self.node.name in self.store.cut_schema and key[0] in (SCHEMA, MODES):
            raise FdbError(ErrorCode.FUTURE_VERSION)
        if self.store.has_lost_an_answer and self.store.unread and key[0] == SCHEMA:
            raise FdbError(self.store.unread.pop(0))

    async def read_version(self) -> int:
        return self._now()

    async def metadata_version(self, *, snapshot: bool = False) -> int | None:
        if self.bumps:
            return None
        version = self._now()
        if not snapshot:
            self.reads.append((METADATA_VERSION, METADATA_VERSION + b"\x00"))
        return max(one for one in self.store.metadata if one <= version)

    def bump_metadata_version(self) -> None:
        self.bumps = True

    def _seen(self, packed: bytes) -> Any:
        for key, _ in self.stamped:
            if pack(key) == packed:
                raise FdbError(ErrorCode.ACCESSED_UNREADABLE)
        for (begin, end), value in reversed(self.overlay):
            if begin <= packed < end:
                return value
        return self.store.at(packed, self._now())

    async def get(self, key: Key, *, snapshot: bool = False) -> Any:
        self._reaches(key)
        packed = pack(key)
        self._now()
        if not snapshot:
            self.reads.append((packed, packed + b"\x00"))
        return self._seen(packed)

    async def get_range(
        self, begin: Key, end: Key, *, snapshot: bool = False, limit: int | None = None
    ) -> list[tuple[Key, Any]]:
        self._reaches(begin)
        first, last = pack(begin), pack(end)
        self._now()
        known = dict(self.store.keys)
        for (key, _), value in self.overlay:
            if value is not None:
                known[key] = self._names[key]
        inside = [one for one in sorted(known) if first <= one < last]
        found = [(known[one], self._seen(one)) for one in inside]
        found = [(key, value) for key, value in found if value is not None][:limit]
        if limit is not None and len(found) == limit:
            last = pack(found[-1][0]) + b"\x00"
        if not snapshot:
            self.reads.append((first, last))
        return found

    _names: dict[bytes, Key]

    def set(self, key: Key, value: object) -> None:
        packed = pack(key)
        self._names = {**getattr(self, "_names", {}), packed: key}
        self.overlay.append(((packed, packed + b"\x00"), value))

    def clear(self, key: Key) -> None:
        self.set(key, None)

    def clear_range(self, begin: Key, end: Key) -> None:
        self.overlay.append(((pack(begin), pack(end)), None))

    def set_versionstamped_value(self, key: Key, make: Callable[[int], object]) -> None:
        self.stamped.append((key, make))

    def add_read_conflict_key(self, key: Key, since: int | None = None) -> None:
        packed = pack(key)
        one = packed, packed + b"\x00"
        if since is None:
            self.reads.append(one)
        else:
            self.pasts.append((one, since))

    def add_write_conflict_key(self, key: Key, at: int | None = None) -> None:
        packed = pack(key)
        assert at is not None, "only writes in the future are needed here"
        self.futures.append(((packed, packed + b"\x00"), at))

    async def local(self, key: Key) -> Any:
        return self.store.at(pack(key), self._now())

    def require_local(self, key: Key, value: object) -> None:
        self.required.append((pack(key), value))

    def watch(self, key: Key) -> PlainWatch:
        self.watches.append(PlainWatch(self.node, self.store, key))
        self.store.watching += 1
        return self.watches[-1]

    def cancel(self) -> None:
        self.store.watching -= len(self.watches)
        self.watches = []

    async def commit(self) -> int:
        version = self._now()
        for watch in self.watches:
            watch.seen = self.store.at(pack(watch.key), version)
        self.cancel()
        if not self.overlay and not self.stamped and not self.bumps:
            return version
        store = self.store
        if store.fails:
            raise FdbError(store.fails.pop(0))
        committed = store.present + 1
        has_reads = not self.options.causal_write_risky or bool(self.reads)
        if has_reads and version < committed - store.window:
            raise FdbError(ErrorCode.TRANSACTION_TOO_OLD)
        self._check(version, committed)
        self._apply(committed)
        if store.lost_answers:
            store.lost_answers -= 1
            store.has_lost_an_answer = True
            raise FdbError(ErrorCode.COMMIT_UNKNOWN_RESULT)
        return committed

    def _check(self, version: int, committed: int) -> None:
        checked = [(one, version) for one in self.reads] + self.pasts
        conflicts: list[bytes | Range] = [
            (begin, end)
            for (begin, end), since in checked
            if any(
                since < at <= committed and first < end and begin < last
                for at, (first, last) in self.store.written
            )
        ]
        conflicts += [
            packed for packed, value in self.required if self.store.at(packed, committed) != value
        ]
        if conflicts:
            raise FdbError(ErrorCode.NOT_COMMITTED, tuple(conflicts))

    def _apply(self, committed: int) -> None:
        store = self.store
        for (begin, end), value in self.overlay:
            if value is not None or end == begin + b"\x00":
                store.keys[begin] = self._names[begin]
            for packed in [one for one in store.keys if begin <= one < end]:
                store.values.setdefault(packed, []).append((committed, value))
            store.written.append((committed, (begin, end)))
        for key, make in self.stamped:
            packed = pack(key)
            store.keys[packed] = key
            store.values.setdefault(packed, []).append((committed, make(committed)))
            store.written.append((committed, (packed, packed + b"\x00")))
        for one, at in self.futures:
            store.written.append((at, one))
        if self.bumps:
            store.metadata.append(committed)
            store.written.append((committed, (METADATA_VERSION, METADATA_VERSION + b"\x00")))
        store.version = committed

    async def on_error(self, error: FdbError) -> None:
        if not error.code.retriable:
            raise error
        self._rests += 1
        self.store.most_rests = max(self.store.most_rests, self._rests)
        await self.node.sleep(SOON_US)
        self.cancel()
        self._begin()


class PlainDatabase:
    """A process's way to the store."""

    def __init__(self, node: Node, store: PlainStore) -> None:
        self.node = node
        self.store = store

    def transaction(self, options: TxOptions = PLAIN) -> PlainTransaction:
        return PlainTransaction(self.node, self.store, options)
