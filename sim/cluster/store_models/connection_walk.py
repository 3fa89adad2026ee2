"""A client's connection to the store beside a run: which process it asks, and for how long.

Processes seldom fail to serve in a run, and clients go on with the next one at once. So beside each
run a connection asks processes that answer as the walk has it: by turns, and past those that did
not serve of late.
"""

from collections.abc import Coroutine
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.library_ends import outcome
from ddlsim.fdb.config import CONTROLLER, FdbConfig, Shard
from ddlsim.fdb.connection import Connection
from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.fdb.keys import pack
from ddlsim.fdb.messages import (
    STALE,
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
    WatchKey,
)
from ddlsim.fdb.settings import FdbSettings
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ports import NO_REPLY
from ddlsim.units import US_PER_MS, Micros

CONFIG: Final = FdbConfig(
    settings=FdbSettings(
        request_ms=30, retry_ms=4, avoid_ms=50, commit_timeout_ms=70, future_version_ms=20,
        watch_timeout_ms=90, grv_cache_ms=10,
    ),
    grvs=("g1", "g2", "g3"),
    proxies=("p1", "p2", "p3"),
    shards=(Shard((), ("s1", "s2", "s3")), Shard(("m",), ("s4",)), Shard(("t",), ("s1", "s4"))),
)  # fmt: skip
KEY: Final = pack(("a",))
VALUES: Final[dict[bytes, object]] = {pack((text, 1)): text for text in "abmnty"}
COMMIT: Final = Commit(1, 5, (), (KEY,), ())
LATE: Final = FdbError(ErrorCode.TIMED_OUT)
MOST: Final = 2_000
"""More requests than any of these walks makes."""
KEPT: Final = 1000
"""So many metadata versions are remembered."""


class EndlessError(Exception):
    """A connection does not come to an end."""


class Asking:
    """The machine of a client: processes in `silent` do not answer, others as `answers` say."""

    def __init__(self, disk: dict[str, object], offset: int) -> None:
        self.name = "client"
        self.now_us = 1_000_000
        self.clock = HybridClock(lambda: self.now_us // US_PER_MS)
        self.disk = disk
        self.silent: dict[str, object] = {}
        self.answers: dict[type, object] = {}
        self.asked: list[tuple[str, Any, int]] = []
        self.rests: list[int] = []
        self._offset = offset

    def spread(self, _purpose: str, _bound_us: int) -> int:
        return self._offset

    async def sleep(self, span_us: int) -> None:
        self.now_us += span_us
        self.rests.append(span_us)

    async def request(self, to: str, message: Any, timeout_us: Micros) -> Any:
        self.asked.append((to, message, timeout_us))
        if len(self.asked) > MOST:
            raise EndlessError(f"{message} is asked {MOST} times")
        if to in self.silent:
            return self.silent[to]
        if isinstance(message, GetRange):
            keys = [key for key in sorted(VALUES) if message.begin <= key < message.end]
            pairs = tuple((key, VALUES[key]) for key in keys[: message.limit])
            return GotRange(pairs, more=len(keys) > message.limit)
        return self.answers[type(message)]


class Asks:
    """Connections, and what they must ask for."""

    def __init__(self, divergence: Divergence, draws: Draws) -> None:
        self._divergence = divergence
        self._same = divergence.compare
        self._draws = draws

    def compare(self) -> None:
        """Every kind of request."""
        reads = (Got(7), lambda one: one.get(KEY, 9, _go_on), ("s1", "s2", "s3"), 50, Get(KEY, 9))
        ask = GetReadVersion(risky=True)
        versions = (ReadVersion(5, 3), _version, ("g1", "g2", "g3"), 30, ask)
        done = Committed(8, ReadVersion(9, 4))
        commits = (done, lambda one: one.commit(COMMIT, _go_on), CONFIG.proxies, 70, COMMIT)
        try:
            for each in (reads, versions, commits):
                self._turns(*each)
                self._fails(*each)
            self._ranges()
            self._cache()
            self._cache_of_commits()
            self._numbers()
            self._watches()
        except EndlessError as error:
            self._divergence.found(f"{error}")

    def _connected(self, answer: object) -> tuple[Asking, Connection]:
        node: Any = Asking({}, self._draws.below(7))
        node.answers[_kind(answer)] = answer
        return node, Connection(node, CONFIG)

    def _turns(
        self, answer: Any, ask: Any, names: tuple[str, ...], span_ms: int, message: object
    ) -> None:
        """All that serve are asked by turns; one that did not is passed over for a while."""
        node, one = self._connected(answer)
        due = answer.value if isinstance(answer, Got) else answer
        for _ in range(2 * len(names)):
            self._same(f"the answer to {message}", _done(ask(one)), due)
        turns = [to for to, _, _ in node.asked]
        self._same("the first turns", sorted(turns[: len(names)]), sorted(names))
        self._same("the next turns", turns[len(names) :], turns[: len(names)])
        sent = {(repr(asked), span_us) for _, asked, span_us in node.asked}
        self._same("what is asked", sent, {(repr(message), span_ms * US_PER_MS)})
        self._same("the rests of what is served", node.rests, [])
        node.silent, node.asked = {names[0]: STALE}, []
        for _ in range(4 * len(names)):
            self._same(f"the answer to {message} then", _done(ask(one)), due)
        times = sum(to == names[0] for to, _, _ in node.asked)
        self._same(f"how often {names[0]} is asked", times, 1)
        self._same("the rests then", node.rests, [CONFIG.settings.retry_ms * US_PER_MS])
        node.now_us += (CONFIG.settings.avoid_ms - 5) * US_PER_MS
        node.silent, node.asked = {}, []
        for _ in range(len(names)):
            _done(ask(one))
        times = sum(to == names[0] for to, _, _ in node.asked)
        self._same(f"how often {names[0]} is asked before its time", times, 0)
        node.now_us += 2 * US_PER_MS
        for _ in range(len(names)):
            _done(ask(one))
        again = sum(to == names[0] for to, _, _ in node.asked)
        self._same(f"how often {names[0]} is asked behind its time", again, 1)

    def _fails(
        self, answer: Any, ask: Any, names: tuple[str, ...], _span_ms: int, message: Any
    ) -> None:
        """Where none serves, all are asked, until the transaction's time is over."""
        node, one = self._connected(answer)
        for silent in (STALE, NO_REPLY):
            node.silent = dict.fromkeys(names, silent)
            node.asked, limited = [], _Limited(6)
            got = outcome(_within(one, message, limited))
            unknown = isinstance(message, Commit) and silent is NO_REPLY
            due = Failed(ErrorCode.COMMIT_UNKNOWN_RESULT) if unknown else ErrorCode.TIMED_OUT
            self._same(f"{message} that is not served, but {silent}", got, due)
            self._same("how often it is asked", len(node.asked), 1 if unknown else 6)
            if not unknown:
                self._same("what is asked by turns", {to for to, _, _ in node.asked}, set(names))
        node.silent = {}
        node.answers[_kind(answer)] = Failed(ErrorCode.FUTURE_VERSION)
        if isinstance(message, Get):
            self._same("a read that fails", outcome(ask(one)), ErrorCode.FUTURE_VERSION)
        elif isinstance(message, Commit):
            failed = node.answers[_kind(answer)]
            self._same("a commit that fails", outcome(ask(one)), failed)

    def _ranges(self) -> None:
        """The parts of a range come from the shards that hold them, up to the limit."""
        for limit in range(1, 8):
            for begin, end in (("a", "z"), ("b", "n"), ("m", "t"), ("n", "z"), ("a", "b")):
                node, one = self._connected(Got(1))
                first, last = pack((begin,)), pack((end,))
                got = outcome(one.get_range(first, last, 9, limit, _go_on))
                inside = [key for key in sorted(VALUES) if first <= key < last]
                pairs = [(key, VALUES[key]) for key in inside[:limit]]
                found = list(got[0]) if isinstance(got, tuple) else got
                self._same(f"{begin} to {end}, up to {limit}", found, pairs)
                upto = got[1] if isinstance(got, tuple) else b""
                rest = [key for key in inside[len(pairs) :] if key < upto]
                self._same(f"what is left out of {begin} to {end}", rest, [])
                if len(inside) < limit:
                    self._same(f"how far {begin} to {end} is read", upto, last)
                for to, message, _ in node.asked:
                    team = CONFIG.shards[[m <= message.begin for m in BEGINS].count(True)].team
                    if to not in team:
                        self._divergence.found(f"{to} is asked for {message}")
                    most = limit - sum(key < message.begin for key in inside)
                    self._same(f"the limit of {message}", message.limit, most)
        node, one = self._connected(Got(1))
        node.silent = {"s4": Failed(ErrorCode.TRANSACTION_TOO_OLD)}
        failed = outcome(one.get_range(pack(("a",)), pack(("z",)), 9, 9, _go_on))
        self._same("a range that fails", failed, ErrorCode.TRANSACTION_TOO_OLD)
        node.silent = {"s1": NO_REPLY, "s2": STALE}
        part = outcome(one.get_range(pack(("a",)), pack(("b",)), 9, 9, _go_on))
        self._same("a part that another one serves", part, ([(pack(("a", 1)), "a")], pack(("b",))))

    def _cache(self) -> None:
        """A version is kept for so long, from the first transaction on that accepts one.

        A newer one replaces it, an older one does not; the metadata versions of the last ones are
        remembered.
        """
        node, one = self._connected(ReadVersion(5, 3))
        _done(_version(one))
        first = _done(one.read_version(_go_on, risky=False, cached=True))
        self._same("how often is asked", (len(node.asked), first.version), (2, 5))
        self._same("the risk", [one.risky for _, one, _ in node.asked], [True, False])
        node.answers[GetReadVersion] = ReadVersion(6, 5)
        _done(_version(one))
        newer = _done(one.read_version(_go_on, risky=False, cached=True))
        self._same("the version kept behind a newer one", (len(node.asked), newer.version), (3, 6))
        node.answers[GetReadVersion] = ReadVersion(4, 2)
        _done(_version(one))
        cache_us = CONFIG.settings.grv_cache_ms * US_PER_MS
        for later_us, version in ((cache_us, 6), (cache_us + US_PER_MS, 4)):
            node.now_us = 1_000_000 + later_us
            got = _done(one.read_version(_go_on, risky=False, cached=True))
            self._same(f"the version kept for {later_us} us", got.version, version)
        for version in range(10, 12 + KEPT):
            node.answers[GetReadVersion] = ReadVersion(version, version - 1)
            _done(_version(one))
        known = [one.metadata_version_at(10 + place) for place in (1, 2, KEPT)]
        self._same("the metadata versions", known, [None, 11, 9 + KEPT])

    def _cache_of_commits(self) -> None:
        """The end of a commit's batch is kept like a version that was asked for with the commit.

        A commit that has failed leaves what there was.
        """
        cache_us = CONFIG.settings.grv_cache_ms * US_PER_MS
        over_us = cache_us + US_PER_MS
        newer, older = ((9, cache_us, 9), (9, over_us, 2)), ((4, 0, 5), (4, US_PER_MS, 2))
        for end, late_us, kept in (*newer, (5, cache_us, 5), *older):
            node, one = self._connected(ReadVersion(5, 3))
            _done(one.read_version(_go_on, risky=False, cached=True))
            node.answers[GetReadVersion] = ReadVersion(2, 1)
            node.now_us += cache_us
            node.answers[Commit] = Committed(end - 1, ReadVersion(end, 7))
            _done(one.commit(COMMIT, _go_on))
            node.answers[Commit] = Failed(ErrorCode.NOT_COMMITTED)
            _done(one.commit(COMMIT, _go_on))
            node.now_us += late_us
            got = _done(one.read_version(_go_on, risky=False, cached=True))
            self._same(f"the version kept {late_us} us behind {end}", got.version, kept)
            known = one.metadata_version_at(end)
            self._same("the metadata version behind a commit", known, 7)

    def _numbers(self) -> None:
        """The numbers of commits rise, also over a restart."""
        disk: dict[str, object] = {}
        numbers: list[int] = []
        for _ in range(3):
            node: Any = Asking(disk, 0)
            one = Connection(node, CONFIG)
            numbers += [one.next_number() for _ in range(3)]
        self._same("the numbers of commits", numbers, sorted({*numbers}))
        self._same("how many there are", len(numbers), 9)

    def _watches(self) -> None:
        """A watch is set at one of those that hold the key; without a word its time is over."""
        for answer, due in (
            (Fired(9), None),
            (Failed(ErrorCode.TIMED_OUT), ErrorCode.TIMED_OUT),
            (Failed(ErrorCode.FUTURE_VERSION), ErrorCode.FUTURE_VERSION),
            (NO_REPLY, ErrorCode.TIMED_OUT),
        ):
            node, one = self._connected(Got(1))
            node.answers[WatchKey] = answer
            self._same(f"a watch and {answer}", _done(one.changed(KEY, 7, 9)), due)
            to, message, span_us = node.asked[0]
            watch_us = CONFIG.settings.watch_timeout_ms * US_PER_MS
            self._same("what is watched", (message, span_us), (WatchKey(KEY, 7, 9), watch_us))
            if to not in CONFIG.shards[0].team:
                self._divergence.found(f"{to} is asked to watch {KEY!r}")


BEGINS: Final = [pack(shard.begin) for shard in CONFIG.shards[1:]]


class _Limited:
    """The check of a transaction whose time is over at the call of that number."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def __call__(self) -> None:
        self._left -= 1
        if self._left <= 0:
            raise LATE


def _go_on() -> None:
    """The check of a transaction that has time."""


def _kind(answer: object) -> type:
    """What is answered so."""
    kinds: dict[type, type] = {Got: Get, ReadVersion: GetReadVersion, Committed: Commit}
    return kinds[type(answer)]


def _done(task: Coroutine[Any, Any, Any]) -> Any:
    return outcome(task)


def _version(one: Connection) -> Coroutine[Any, Any, ReadVersion]:
    return one.read_version(_go_on, risky=True, cached=False)


def _within(one: Connection, message: Any, limited: _Limited) -> Coroutine[Any, Any, Any]:
    """The same request within a time."""
    if isinstance(message, Get):
        return one.get(message.key, message.version, limited)
    if isinstance(message, Commit):
        return one.commit(message, limited)
    return one.read_version(limited, risky=True, cached=False)


def walk_connection(models: Models, seed: int) -> None:
    """Compare a connection beside the run of this seed."""
    Asks(models.divergence("connection", CONTROLLER), Draws(seed, 9)).compare()
