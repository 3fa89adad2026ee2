"""A transaction of the client library: reads at one version, writes that leave at commit.

    open --reads, writes--> open --commit--> committed
                              |       +--FdbError--> failed --on_error--> open, empty again

* `_version`: the read version, taken at the first read, or at commit by one that never read.
* `_read`, `_written`: conflict ranges; to read what the transaction itself has set adds none.
* `_values`: what was read of the store: a second read of a key gives the same without a message.
* A transaction with writes reads and writes one key at least, its own (`SELF_CONFLICT`) if no
  other: so that a transaction whose outcome is unknown can be ended by one that conflicts with it.
"""

from collections.abc import Callable
from typing import Final

from ddlsim.fdb import keys
from ddlsim.fdb.connection import Connection
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import METADATA_VERSION, SELF_CONFLICT, Key, pack, unpack
from ddlsim.fdb.messages import Commit, Committed, Range
from ddlsim.fdb.watches import Watch
from ddlsim.fdb.writes import NOT_WRITTEN, Added, Stamped, Writes, added
from ddlsim.model.ports import Timer
from ddlsim.model.records import Record
from ddlsim.units import US_PER_MS, Micros

NO_LIMIT: Final = 1 << 30
OF_VERSIONS: Final = (ErrorCode.TRANSACTION_TOO_OLD, ErrorCode.FUTURE_VERSION)
"""Errors of a read version, behind which another one is asked for soon."""


class TxOptions(Record, frozen=True):
    """How a transaction reads and commits; each as FoundationDB's option of that name.

    `causal_write_risky`: without a self-conflict key. `timeout_us`: how long it may take.
    """

    read_only: bool = False
    causal_read_risky: bool = False
    cached_read_version: bool = False
    causal_write_risky: bool = False
    timeout_us: int | None = None


class Transaction:
    """One transaction of a client process."""

    def __init__(self, connection: Connection, options: TxOptions) -> None:
        self._connection = connection
        self._options = options
        self._tries = 0
        self._expired = False
        self._timer: Timer | None = None
        if options.timeout_us is not None:
            self._timer = connection.node.call_later(Micros(options.timeout_us), self._expire)
        self._clear()

    def _clear(self) -> None:
        self._version: int | None = None
        self._metadata: int | None = None
        self._read: dict[Range, None] = {}
        self._written: dict[Range, None] = {}
        self._values: dict[bytes, object] = {}
        settings = self._connection.settings
        self._writes = Writes(settings.key_bytes, settings.value_bytes)
        self._pasts: list[tuple[bytes, int]] = []
        self._futures: list[tuple[bytes, int]] = []
        self._required: list[tuple[bytes, object]] = []
        self._bumps = False
        self._watches: list[tuple[bytes, Watch]] = []

    def _expire(self) -> None:
        self._expired = True

    def _check(self) -> None:
        if self._expired:
            raise FdbError(ErrorCode.TIMED_OUT)

    # --- versions ---------------------------------------------------------------------------------

    async def read_version(self) -> int:
        """The version that all reads of this transaction see."""
        return await self._begin(risky=self._options.causal_read_risky)

    async def _begin(self, *, risky: bool) -> int:
        if self._version is None:
            cached = self._options.cached_read_version
            taken = await self._connection.read_version(self._check, risky=risky, cached=cached)
            self._check()
            if self._version is None:  # two reads may have begun at once
                self._version = taken.version
                self._metadata = taken.metadata_version
        return self._version

    def set_read_version(self, version: int) -> None:
        """Read at a version chosen by hand, before anything was read."""
        assert self._version is None, f"the read version is {self._version} already"
        self._version = version
        self._metadata = self._connection.metadata_version_at(version)

    async def metadata_version(self, *, snapshot: bool = False) -> int | None:
        """The metadata version at the read version; None after a bump by this transaction.

        It came with the read version. Of a version set by hand that is no longer remembered, it is
        read from the store.
        """
        if self._bumps:
            return None
        version = await self.read_version()
        if not snapshot:
            self._read[METADATA_VERSION] = None
        if self._metadata is None:
            found = await self._connection.get(METADATA_VERSION, version, self._check)
            self._check()
            self._metadata = found if isinstance(found, int) else 0
        return self._metadata

    def bump_metadata_version(self) -> None:
        """Set the metadata version to this transaction's commit version."""
        self._bumps = True

    # --- reads ------------------------------------------------------------------------------------

    async def get(self, key: Key, *, snapshot: bool = False) -> object:
        """A key's value, None if there is none; `snapshot`: without a read conflict."""
        packed = pack(key)
        known: object = NOT_WRITTEN
        if self._writes:
            known = self._writes.at(packed)
            if type(known) is Stamped:
                raise FdbError(ErrorCode.ACCESSED_UNREADABLE)
            if known is not NOT_WRITTEN and type(known) is not Added:
                return known
        if not snapshot:
            self._read[packed] = None
        value = await self._stored(packed)
        return added(value, known.delta) if isinstance(known, Added) else value

    async def _stored(self, packed: bytes) -> object:
        if packed in self._values:
            return self._values[packed]
        version = self._version
        if version is None:
            version = await self.read_version()
        value = await self._connection.get(packed, version, self._check)
        self._check()
        self._values[packed] = value
        return value

    async def get_range(
        self, begin: Key, end: Key, *, snapshot: bool = False, limit: int | None = None
    ) -> list[tuple[Key, object]]:
        """The keys from `begin` up to `end`, which is not part of it, with their values, in order.

        At most the first `limit`; the read conflict reaches as far as was read.
        """
        first, last = pack(begin), pack(end)
        found: list[tuple[bytes, object]] = []
        wanted = NO_LIMIT if limit is None else limit
        at = first
        while at < last and len(found) < wanted:
            version = await self.read_version()
            pairs, upto = await self._connection.get_range(
                at, last, version, wanted - len(found), self._check
            )
            self._check()
            found += self._merged(pairs, at, upto)
            at = upto
        if len(found) > wanted:
            del found[wanted:]
        if len(found) == wanted and found:
            at = keys.after(found[-1][0])
        if not snapshot and first < at:
            self._read[first, min(at, last)] = None
        return [(unpack(key), value) for key, value in found]

    def _merged(
        self, pairs: list[tuple[bytes, object]], begin: bytes, end: bytes
    ) -> list[tuple[bytes, object]]:
        """What the store has of a range, with what this transaction wrote there."""
        writes = self._writes
        if not writes:
            return pairs
        merged = {key: value for key, value in pairs if writes.at(key) is NOT_WRITTEN}
        stored = dict(pairs)
        for key, value in writes.within(begin, end).items():
            if isinstance(value, Stamped):
                raise FdbError(ErrorCode.ACCESSED_UNREADABLE)
            if isinstance(value, Added):
                merged[key] = added(stored.get(key), value.delta)
            elif value is not None:
                merged[key] = value
        return sorted(merged.items())

    # --- writes -----------------------------------------------------------------------------------

    def set(self, key: Key, value: object) -> None:
        """Set a key; None is no value, and clears it."""
        self._writes.set(pack(key), value)

    def clear(self, key: Key) -> None:
        """Clear a key."""
        self._writes.set(pack(key), None)

    def clear_range(self, begin: Key, end: Key) -> None:
        """Clear the keys from `begin` up to `end`, which is not part of it.

        With the switch `local_keys`, keys of the local space are cleared one by one.
        """
        first, last = pack(begin), pack(end)
        if self._connection.settings.local_keys and keys.reaches_local(first, last):
            raise ValueError(f"the local space is not cleared by range: {begin} to {end}")
        self._writes.clear_range(first, last)

    def add(self, key: Key, delta: int | float) -> None:
        """Add to the number that the key holds when this commits; no read conflict."""
        self._writes.add(pack(key), delta)

    def set_versionstamped_value(self, key: Key, make: Callable[[int], object]) -> None:
        """Set a key to what `make` gives for the commit version."""
        self._writes.set_stamped_value(pack(key), make)

    def set_versionstamped_key(self, make: Callable[[int], Key], value: object) -> None:
        """Set the key that `make` gives for the commit version."""
        self._writes.set_stamped_key(make, value)

    # --- conflict ranges --------------------------------------------------------------------------

    def add_read_conflict_key(self, key: Key, since: int | None = None) -> None:
        """Commit only if the key was not written after the read version, or after `since`.

        `since` needs the switch `past_read_conflicts`.
        """
        if since is None:
            self._read[pack(key)] = None
        else:
            self._need("past_read_conflicts", on=self._connection.settings.past_read_conflicts)
            self._pasts.append((pack(key), since))

    def add_read_conflict_range(self, begin: Key, end: Key) -> None:
        """Commit only if no key of the range was written after the read version."""
        self._read[pack(begin), pack(end)] = None

    def add_write_conflict_key(self, key: Key, at: int | None = None) -> None:
        """The key counts as written when this commits, or, too, at version `at`, later than that.

        `at` needs the switch `future_write_conflicts`.
        """
        if at is None:
            self._written[pack(key)] = None
        else:
            settings = self._connection.settings
            self._need("future_write_conflicts", on=settings.future_write_conflicts)
            self._futures.append((pack(key), at))

    @staticmethod
    def _need(switch: str, *, on: bool) -> None:
        if not on:
            raise ValueError(f"the plane has no {switch}: its switch is off")

    # --- the local space --------------------------------------------------------------------------

    async def local(self, key: Key) -> object:
        """What storage servers hold of a key of the local space, at the read version.

        Any of them is asked. Without a read conflict: `require_local` is the check at commit.
        """
        self._need("local_keys", on=self._connection.settings.local_keys)
        version = await self.read_version()
        storages = self._connection.config.storages
        value = await self._connection.get_from(storages, pack(key), version, self._check)
        self._check()
        return value

    def require_local(self, key: Key, value: object) -> None:
        """Commit only if a key of the local space has this value at the commit version."""
        self._need("local_keys", on=self._connection.settings.local_keys)
        self._required.append((pack(key), value))

    # --- watches ----------------------------------------------------------------------------------

    def watch(self, key: Key) -> Watch:
        """A watch for changes of a key after this transaction, armed when it commits.

        It ends with a commit that fails, with `on_error`, and with `cancel`.
        """
        watch = Watch(self._connection, pack(key))
        self._watches.append((pack(key), watch))
        return watch

    # --- the end ----------------------------------------------------------------------------------

    async def commit(self) -> int:
        """Commit; the commit version, of a transaction without writes its read version."""
        try:
            return await self._committed()
        except FdbError:
            self.cancel()
            raise

    async def _committed(self) -> int:
        self._check()
        risky = self._options.causal_read_risky or not self._read
        version = await self._begin(risky=risky)
        committed = version
        if self._writes or self._written or self._bumps or self._futures:
            assert not self._options.read_only, "a read-only transaction has written"
            committed = await self._send(version)
        if self._timer is not None:
            self._timer.cancel()
        for key, watch in self._watches:
            known = self._writes.at(key)
            plain = not isinstance(known, Added | Stamped) and known is not NOT_WRITTEN
            watch.arm(version, committed, (known,) if plain else None)
        self._watches = []
        return committed

    async def _send(self, version: int) -> int:
        connection = self._connection
        self._written.update(dict.fromkeys(self._writes.ranges()))
        if self._bumps:
            self._written[METADATA_VERSION] = None
        own = self._self_conflict()
        request = Commit(
            connection.next_number(),
            version,
            tuple(self._read),
            tuple(self._written),
            self._writes.mutations(),
            tuple(self._pasts),
            tuple(self._futures),
            self._bumps,
            tuple(self._required),
            self._writes.has_stamps,
        )
        if self._writes.bytes + _bytes(request) > connection.settings.transaction_bytes:
            raise FdbError(ErrorCode.TRANSACTION_TOO_LARGE)
        outcome = await connection.commit(request, self._check)
        if isinstance(outcome, Committed):
            return outcome.version
        if outcome.code is ErrorCode.COMMIT_UNKNOWN_RESULT:
            connection.node.probe("store-commit-unknown")
            if own is not None:
                await self._end_unknown(own)
        raise FdbError(outcome.code, outcome.conflicts)

    def _self_conflict(self) -> bytes | None:
        """A key that this transaction reads and writes; a new one if there is none."""
        if self._options.causal_write_risky:
            return None
        for one in self._written:
            if isinstance(one, bytes) and one in self._read:
                return one
        name = f"{self._connection.node.name}/{self._connection.next_number()}"
        own = SELF_CONFLICT + name.encode()
        self._read[own] = self._written[own] = None
        return own

    async def _end_unknown(self, own: bytes) -> None:
        """Commit a write of a key that the unknown transaction read: it cannot commit after that.

        Without it, what is tried again could be committed twice, the first time after the second.
        """
        while True:
            self._check()
            taken = await self._connection.read_version(self._check, risky=False, cached=False)
            number = self._connection.next_number()
            request = Commit(number, taken.version, (own,), (own,), ())
            if isinstance(await self._connection.commit(request, self._check), Committed):
                return
            await self._rest()

    async def on_error(self, error: FdbError) -> None:
        """Rest, and begin again, empty; raises what is not to be tried again.

        The rest is longer each time, but as long behind each read version of the wrong age.
        """
        self._check()
        if not error.code.retriable:
            raise error
        if error.code in OF_VERSIONS:
            settings = self._connection.settings
            rest_ms = min(settings.version_rest_ms, settings.backoff_most_ms)
            await self._connection.node.sleep(Micros(rest_ms * US_PER_MS))
        else:
            await self._rest()
        self.cancel()
        self._clear()

    def cancel(self) -> None:
        """Give the transaction up: watches that are not armed end.

        What FoundationDB's library does when a transaction is destroyed.
        """
        for _, watch in self._watches:
            watch.cancel()
        self._watches = []

    async def _rest(self) -> None:
        settings = self._connection.settings
        longest_ms = min(settings.backoff_ms << min(self._tries, 20), settings.backoff_most_ms)
        self._tries += 1
        node = self._connection.node
        await node.sleep(node.spread("fdb-backoff", Micros(1 + longest_ms * US_PER_MS)))


def _bytes(request: Commit) -> int:
    """Bytes of a commit's conflict ranges."""
    total = 0
    for one in request.reads + request.writes:
        total += len(one) if isinstance(one, bytes) else len(one[0]) + len(one[1])
    return total
