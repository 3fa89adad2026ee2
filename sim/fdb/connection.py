"""A client process's connection to the plane: requests, each by turns to one of those that serve.

* `_turns`: by the names of processes that could serve, which is asked next; `_offset`: where this
  client begins, so that not all begin with the same one. `_avoided`: until when, by the client's
  clock, a process that did not serve is asked only if no other one is left.
* `_cache`: the last read version that came, also with the answer to a commit of its own, and the
  client's clock when it was asked for: for transactions that accept a version of up to
  `grv_cache_ms` ago. It is filled from the first of them on (`_keeps`).
* `_metadata`: metadata versions by read version, the last 1000: of a version that was set by hand,
  what the metadata version was is known only from here, else it is read as a key.
* `_commits`: numbers of this client's commits, which go on after a restart: a proxy takes each
  number once.
"""

from collections.abc import Callable

from ddlsim.fdb.config import FdbConfig, Parts
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.messages import (
    Commit,
    Committed,
    Failed,
    Fired,
    Get,
    GetRange,
    GetReadVersion,
    Got,
    GotRange,
    ReadVersion,
    Stale,
    WatchKey,
)
from ddlsim.model.ports import Node
from ddlsim.units import US_PER_MS, Micros, physical_ms

Check = Callable[[], None]
"""Raises if the transaction's time is over."""
KEPT_METADATA_VERSIONS = 1000
COMMITS = "commits"
"""Where a client's disk holds a number above those of its commits."""
RESERVED = 1_000_000
"""So many numbers a client takes at once."""


class Connection:
    """A client process's connection."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self.node = node
        self.config = config
        self.settings = config.settings
        self.watches = 0
        self._shards = Parts(tuple(shard.begin for shard in config.shards))
        self._offset = node.spread("fdb-turn", Micros(1 << 20))
        self._turns: dict[tuple[str, ...], int] = {}
        self._avoided: dict[str, int] = {}
        self._cache: tuple[ReadVersion, int] | None = None
        self._keeps = False
        self._metadata: dict[int, int] = {}
        used = node.disk.get(COMMITS, 0)
        assert isinstance(used, int), f"{used!r} is no number of commits"
        self._commits = used
        node.disk[COMMITS] = used + RESERVED
        self._request_us = Micros(self.settings.request_ms * US_PER_MS)
        self._retry_us = Micros(self.settings.retry_ms * US_PER_MS)
        self._commit_us = Micros(self.settings.commit_timeout_ms * US_PER_MS)
        self._watch_us = Micros(self.settings.watch_timeout_ms * US_PER_MS)
        self._read_us = Micros((self.settings.future_version_ms * US_PER_MS) + self._request_us)

    # --- read versions ----------------------------------------------------------------------------

    async def read_version(self, check: Check, *, risky: bool, cached: bool) -> ReadVersion:
        """A read version, from a GRV proxy or, where that is accepted, from the cache."""
        if cached:
            self._keeps = True
            if self._cache is not None:
                version, taken_ms = self._cache
                if self._now_ms() - taken_ms <= self.settings.grv_cache_ms:
                    return version
        taken_ms = self._now_ms() if self._keeps else 0
        while True:
            grv = self._next(self.config.grvs)
            answer = await self.node.request(grv, GetReadVersion(risky), self._request_us)
            if isinstance(answer, ReadVersion):
                self._remember(answer, taken_ms)
                return answer
            await self._rest(grv, check)

    def _next(self, names: tuple[str, ...]) -> str:
        """The next of several processes by turns, but for those that did not serve of late."""
        if len(names) == 1:
            return names[0]
        turn = self._turns.get(names, self._offset) + 1
        self._turns[names] = turn
        if self._avoided:
            now_ms = self._now_ms()
            for place in range(len(names)):
                name = names[(turn + place) % len(names)]
                if self._avoided.get(name, now_ms) <= now_ms:
                    return name
        return names[turn % len(names)]

    def _avoid(self, name: str) -> None:
        self._avoided[name] = self._now_ms() + self.settings.avoid_ms

    async def _rest(self, name: str, check: Check) -> None:
        """Rest, since a process did not serve, unless the transaction's time is over."""
        self._avoid(name)
        check()
        await self.node.sleep(self._retry_us)

    def _remember(self, version: ReadVersion, taken_ms: int) -> None:
        """Keep a read version that was asked for at `taken_ms`.

        What is newer than another version is good for as long as that one is.
        """
        if self._keeps:
            known, known_ms = self._cache or (version, taken_ms)
            if known.version <= version.version:
                self._cache = version, max(taken_ms, known_ms)
        self._metadata[version.version] = version.metadata_version
        if len(self._metadata) > KEPT_METADATA_VERSIONS:
            del self._metadata[next(iter(self._metadata))]

    def metadata_version_at(self, version: int) -> int | None:
        """The metadata version that came with a read version, if it is still known."""
        return self._metadata.get(version)

    def _now_ms(self) -> int:
        return physical_ms(self.node.clock.current())

    # --- reads ------------------------------------------------------------------------------------

    async def get(self, key: bytes, version: int, check: Check) -> object:
        """A key's value at a version, from any replica."""
        shard = self._shards.of(key)
        return await self.get_from(self.config.shards[shard].team, key, version, check)

    async def get_from(
        self, team: tuple[str, ...], key: bytes, version: int, check: Check
    ) -> object:
        """A key's value at a version, from one of these storage servers."""
        while True:
            name = self._next(team)
            answer = await self.node.request(name, Get(key, version), self._read_us)
            if isinstance(answer, Got):
                return answer.value
            if isinstance(answer, Failed):
                raise FdbError(answer.code)
            await self._rest(name, check)

    async def get_range(
        self, begin: bytes, end: bytes, version: int, limit: int, check: Check
    ) -> tuple[list[tuple[bytes, object]], bytes]:
        """The first keys of a range with their values, `limit` at most; how far that is all."""
        found: list[tuple[bytes, object]] = []
        for shard in self._shards.over(begin, end):
            own = self._shards.clip(shard, begin, end)
            team = self.config.shards[shard].team
            part = await self._part(team, GetRange(*own, version, limit - len(found)), check)
            found += part.pairs
            if part.more:
                return found, found[-1][0] + b"\x00"
        return found, end

    async def _part(self, team: tuple[str, ...], request: GetRange, check: Check) -> GotRange:
        while True:
            name = self._next(team)
            answer = await self.node.request(name, request, self._read_us)
            if isinstance(answer, GotRange):
                return answer
            if isinstance(answer, Failed):
                raise FdbError(answer.code)
            await self._rest(name, check)

    # --- commits ----------------------------------------------------------------------------------

    def next_number(self) -> int:
        """A number for a commit."""
        self._commits += 1
        return self._commits

    @staticmethod
    def patient() -> None:
        """The `Check` of what has no time limit."""

    async def commit(self, request: Commit, check: Check) -> Committed | Failed:
        """A transaction's outcome; without an answer it is unknown.

        What has committed is seen by the client's next transactions, also under a cached version.
        """
        while True:
            proxy = self._next(self.config.proxies)
            taken_ms = self._now_ms() if self._keeps else 0
            answer = await self.node.request(proxy, request, self._commit_us)
            if isinstance(answer, Committed):
                self._remember(answer.seen_at, taken_ms)
                return answer
            if isinstance(answer, Failed):
                return answer
            if not isinstance(answer, Stale):
                self._avoid(proxy)
                return Failed(ErrorCode.COMMIT_UNKNOWN_RESULT)
            await self._rest(proxy, check)

    # --- watches ----------------------------------------------------------------------------------

    async def changed(self, key: bytes, value: object, version: int) -> None:
        """Wait for another value of a key at a replica.

        Raises an `FdbError`: that the replica has not reached the version, or that time is over.
        """
        name = self._next(self.config.shards[self._shards.of(key)].team)
        answer = await self.node.request(name, WatchKey(key, value, version), self._watch_us)
        if not isinstance(answer, Fired):
            raise FdbError(answer.code if isinstance(answer, Failed) else ErrorCode.TIMED_OUT)
