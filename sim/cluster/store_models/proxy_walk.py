"""A commit proxy beside a run: batches of which much is refused, and versions that run ahead.

In a run few transactions change the local space, ranges seldom reach over shards, and versions are
seldom a window ahead of what has committed. So beside each run a proxy takes commits that follow
from the run's seed; sequencer, resolvers and logs answer as the walk has it, late, or not at first.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.assembly import Assembled, Assembly
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.shelf import Machine
from ddlsim.fdb.config import CONTROLLER, FdbConfig, Shard
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.keys import LOCAL, pack
from ddlsim.fdb.messages import (
    ADD,
    CLEAR,
    LOGGED,
    RECRUITED,
    REPORTED,
    SET,
    STALE,
    STAMPED_KEY,
    STAMPED_VALUE,
    Commit,
    Committed,
    Failed,
    Generation,
    GetCommitted,
    GetCommitVersions,
    Mutation,
    Push,
    Range,
    ReadVersion,
    Recruit,
    ReportCommitted,
    Resolve,
    Resolved,
    StateChange,
    Tail,
    VersionsGranted,
)
from ddlsim.fdb.proxy import Proxy
from ddlsim.fdb.settings import FdbSettings
from ddlsim.kernel.engine import Future, Loop
from ddlsim.model.ports import NO_REPLY
from ddlsim.model.settings import Settings
from ddlsim.units import US_PER_MS

PARTS: Final = 4
STEPS: Final = 8
BATCH_US: Final = 100
LATENCY_US: Final = 250
IDLE_MS: Final = 5
QUIET_US: Final = 60_000
"""Longer than all answers to what is under way take."""
CONFIG: Final = FdbConfig(
    settings=FdbSettings(
        local_keys=True, commit_batch_us=BATCH_US, window_ms=20, versions_per_second=1000,
        retry_ms=1, request_ms=3, idle_commit_ms=IDLE_MS,
    ),
    proxies=("p1",),
    resolvers=("r1", "r2"),
    resolver_begins=((), ("h",)),
    logs=("l1", "l2"),
    shards=tuple(Shard(begin, ("s1",)) for begin in ((), ("c",), ("h",), ("p",))),
)  # fmt: skip
WINDOW: Final = CONFIG.settings.window
KEYS: Final = tuple(pack((letter,)) for letter in "abcghmpz")
LOCALS: Final = tuple(pack((LOCAL, number)) for number in range(3))
SPLIT: Final = pack(("h",))
CONFLICT: Final = ErrorCode.NOT_COMMITTED
UNKNOWN: Final = Failed(ErrorCode.COMMIT_UNKNOWN_RESULT)


class Machines(Machine):
    """The proxy's machine: what it asks is answered by the walk, after a while.

    `decided` has, by generation and number of a batch, when each resolver's answer came.
    """

    def __init__(self, loop: Loop, settings: Settings, draws: Draws) -> None:
        super().__init__("p1", loop, settings, draws)
        self.start = loop.start
        self.answer: Callable[[str, Any], Any] = lambda _to, _message: NO_REPLY
        self.decided: dict[tuple[int, int], dict[str, int]] = {}

    def request(self, to: str, message: Any, timeout_us: int) -> Future[Any]:
        answer, future = self.answer(to, message), self.loop.future()
        late = timeout_us if answer is NO_REPLY else 1 + self._draws.below(LATENCY_US)
        self.loop.call_later(late, self._has_answer, to, message, answer, future)
        return future

    def _has_answer(self, to: str, message: Any, answer: Any, future: Future[Any]) -> None:
        if isinstance(message, Resolve) and isinstance(answer, Resolved):
            self.decided.setdefault((message.generation, message.number), {})[to] = self.loop.now_us
        future.set(answer)


class ProxyWalk:
    """A proxy and its commits; what others have committed, and what is answered to the proxy."""

    def __init__(self, divergence: Divergence, settings: Settings, draws: Draws) -> None:
        self._divergence = divergence
        self._same = divergence.compare
        self._draws = draws
        self._loop = Loop()
        self._node = node = Machines(self._loop, settings, draws)
        node.answer = self._answer
        self._asked: dict[object, Any] = {}
        self._answers: dict[int, list[Any]] = {}
        self._sent = self._number = 0
        self._ended_us: dict[int, int] = {}
        self._is_over = False
        port: Any = node
        self.proxy = proxy = Proxy(port, CONFIG)
        assemble = proxy._assemble

        def watched(
            granted: VersionsGranted, requests: list[Commit], resolved: list[Resolved]
        ) -> Assembled:
            found = assemble(granted, requests, resolved)
            self._assembles(granted, requests, resolved, found)
            return found

        proxy._assemble = watched  # type: ignore[method-assign]  # looks at each batch

    def _begin(self) -> None:
        """The next generation begins; what was under way has an unknown result."""
        self._ended_us[self._number] = self._loop.now_us
        self._number += 1
        start = 10_000 * self._number
        drawn = [self._change(start - 9 + place) for place in range(self._draws.below(4))]
        changes = tuple(replace(one, required=()) for one in drawn)  # what is logged has counted
        tail = Tail(start - 5, (), changes, ())
        names = ("g1",), ("p1",), CONFIG.resolvers, CONFIG.logs
        recruit = Recruit(Generation(self._number, start, "seq", *names), tail)
        answer = self._node.handlers[Recruit]("controller", recruit)
        self._same("a recruitment", answer, RECRUITED)
        self._assembly = Assembly(CONFIG, changes, start)
        self._last = self._committed = self._said = self._known = self._assembled = start
        self._told_us = self._asked_for = -1
        self._begun_us = self._loop.now_us
        self._asked = {}
        self._others: list[StateChange] = []
        self._left: list[Commit] = []
        self._batches: dict[int, tuple[VersionsGranted, list[Commit]]] = {}
        self._pushed: dict[int, set[str]] = {}
        self._bumped: dict[int, int] = {}
        self._due: dict[int, Any] = {}
        self._is_over = False

    # --- what is answered -------------------------------------------------------------------------

    def _answer(self, to: str, message: Any) -> Any:
        """An answer; what is not answered at first is asked again, and answered as it was."""
        draws = self._draws
        if message.generation != self._number:
            late_us = self._loop.now_us - self._ended_us[message.generation]
            if late_us > CONFIG.settings.retry_ms * US_PER_MS:  # it did not rest then
                self._divergence.found(f"{message} is sent {late_us} us behind its generation")
            return STALE
        if self._is_over:
            return STALE
        if isinstance(message, GetCommitted):
            self._compare_question()
            return self._committed_so_far()
        known = repr((to, message))
        if known not in self._asked:
            self._asked[known] = self._first_answer(to, message)
            if not draws.below(10):
                return NO_REPLY
        return self._asked[known]

    def _next(self) -> int:
        """The first version of the batch that is logged next."""
        return min(first for first in self._batches if first > self._assembled)

    def _compare_question(self) -> None:
        """What has committed is asked for only if a batch is too far ahead, behind a rest."""
        first, rested_us = self._next(), self._told_us + CONFIG.settings.retry_ms * US_PER_MS
        if first - 1 - max(self._said, self._known) <= WINDOW:
            self._divergence.found(f"what has committed is asked for, and {self._known} has")
        before, self._asked_for = self._asked_for, first
        if before == first and self._loop.now_us < rested_us:
            self._divergence.found("what has committed is asked for without a rest")

    def _compare_answered(self, message: GetCommitVersions | Resolve) -> None:
        """It says up to which batch it has all answers; at this instant it may not know of one."""
        now_us, place, decided = self._loop.now_us, 1, self._node.decided
        while len(ends_us := decided.get((self._number, place), {})) == len(CONFIG.resolvers):
            if message.answered < place and max(ends_us.values()) == now_us:
                break
            place += 1
        self._same(f"the answers that are there at {message}", message.answered, place - 1)

    def _first_answer(self, to: str, message: Any) -> Any:
        if isinstance(message, GetCommitVersions | Resolve):
            self._compare_answered(message)
        if isinstance(message, GetCommitVersions):
            return self._granted(message)
        if isinstance(message, Resolve):
            return self._resolved(to, message)
        if isinstance(message, Push):
            return self._logged(to, message)
        assert isinstance(message, ReportCommitted), f"{message} is asked for"
        self._known = max(self._known, message.version)
        done = self._pushed.get(message.version, set())
        self._same(f"the logs that have {message.version}", sorted(done), ["l1", "l2"])
        bumped = self._bumped.get(message.version)
        self._same("the metadata version", message.metadata_version, bumped)
        self._committed = max(self._committed, message.version)
        return REPORTED

    def _granted(self, message: GetCommitVersions) -> VersionsGranted:
        """Versions behind those of others, which changed something, or behind a long rest."""
        draws, previous = self._draws, self._last
        rest_us, self._begun_us = self._loop.now_us - self._begun_us, self._loop.now_us
        idle_us = IDLE_MS * US_PER_MS
        if rest_us > 2 * idle_us + LATENCY_US or (not message.count and rest_us < idle_us):
            self._divergence.found(f"{message} comes {rest_us} us behind the batch before")
        for _ in range(draws.below(4)):
            self._others.append(self._change(previous + 1))
            self._last = previous = previous + 1
        if not draws.below(6):
            self._last += WINDOW + draws.below(3 * WINDOW)
        batch, self._left = self._left, []
        self._same("the transactions of a batch", message.count, len(batch))
        first = self._last + 1 + draws.below(3)
        self._last = last = first + max(len(batch), 1) - 1
        granted = VersionsGranted(previous, first, last)
        self._batches[first] = granted, batch
        return granted

    def _change(self, version: int) -> StateChange:
        """A change of another proxy's."""
        draws = self._draws
        values = tuple(
            (SET, draws.pick(LOCALS), draws.pick((None, 0, 1, 2))) for _ in range(draws.below(4))
        )
        required = ((draws.pick(LOCALS), draws.below(3)),) * draws.below(2)
        return StateChange(version, bool(draws.below(2)), values, required, ())

    @staticmethod
    def _told(version: int, one: Commit) -> StateChange | None:
        """What a transaction changes for all proxies."""
        local = tuple(mutation for mutation in one.mutations if mutation[1] in LOCALS)
        if not (local or one.bump or one.futures):
            return None
        return StateChange(version, one.bump, local, one.required, one.futures)

    def _committed_so_far(self) -> ReadVersion:
        """What has committed comes up to what was granted, step by step."""
        self._committed = max(self._committed, min(self._committed + WINDOW // 2, self._last))
        self._said, self._told_us = self._committed, self._loop.now_us
        return ReadVersion(self._committed, 0)

    def _resolved(self, to: str, message: Resolve) -> Resolved:
        draws = self._draws
        refused = [
            (one.version, Failed(CONFLICT, one.reads[: draws.below(2)]))
            for one in message.transactions
            if not draws.below(4)
        ]
        changes: list[StateChange] = []
        for one in self._others:
            if message.seen < one.version <= message.previous:
                accepted = (one.version * 7 + CONFIG.resolvers.index(to)) % 4 > 0
                parts = one.version, one.bump, one.mutations, one.required, one.futures
                changes.append(StateChange(*parts, accepted))
        granted, batch = next(
            pair for pair in self._batches.values() if pair[0].last == message.last
        )
        got = {
            one.version: (one.reads, one.writes, one.pasts, one.futures)
            for one in message.transactions
        }
        stamped = list(map(_stamped, batch, _versions(granted)))
        due = {version: _part(to, one) for version, one in enumerate(stamped, granted.first)}
        self._same(f"what {to} is asked", got, {at: own for at, own in due.items() if any(own)})
        told = [self._told(*each) for each in enumerate(stamped, granted.first)]
        self._same(f"the changes for {to}", list(message.changes), [one for one in told if one])
        return Resolved(tuple(refused), tuple(changes))

    def _logged(self, to: str, message: Push) -> Any:
        entry = message.entry
        ahead = next(one[0].first for one in self._batches.values() if one[0].last == entry.last)
        if ahead - 1 - max(self._said, self._committed) > WINDOW:
            self._divergence.found(f"{entry} is logged where {self._committed} has committed")
        if message.committed < self._known:
            self._divergence.found(f"{message} does not tell that {self._known} has committed")
        self._pushed.setdefault(entry.last, set()).add(to)
        return LOGGED

    # --- what the proxy does ----------------------------------------------------------------------

    def _assembles(
        self,
        granted: VersionsGranted,
        requests: list[Commit],
        resolved: list[Resolved],
        found: Assembled,
    ) -> None:
        """A batch is about to be logged."""
        batch = self._batches[granted.first][1]
        self._same("the batch that is next", granted.first, self._next())
        stamped = list(map(_stamped, batch, _versions(granted)))
        self._same("the transactions of a batch", requests, stamped)
        due = self._assembly.take(granted, requests, resolved)
        self._same("what is refused, and what is logged,", found, due)
        self._assembled = granted.last
        self._bumped[granted.last] = self._assembly.bumped
        seen_at = ReadVersion(granted.last, self._assembly.bumped)
        for version, one in enumerate(batch, granted.first):
            self._due[one.number] = due[0].get(version) or Committed(version, seen_at)

    def take(self) -> None:
        """Some generations, each ended while much is under way, or once all is answered."""
        draws = self._draws
        for part in range(PARTS):
            self._begin()
            self._answers = {}
            for _ in range(STEPS):
                for _ in range(1 + draws.below(3)):
                    self._commit()
                self._rest(draws.below(3 * BATCH_US))
            if part % 2:
                self._rest(QUIET_US)
                self._same("what is not answered", [*self._open()], [])
                due = {number: [one] for number, one in self._due.items()}
                self._same("the answers", self._answers, due)
            self._end(by_word=bool(draws.below(2)))

    def _open(self) -> list[int]:
        return [number for number, answers in self._answers.items() if not answers]

    def _end(self, *, by_word: bool) -> None:
        """The generation is over, by the word of another process or by the next recruitment."""
        self._commit()
        self._rest(self._draws.below(2 * BATCH_US))
        open_then = self._open()
        if by_word:
            self._is_over = True
            self._rest(QUIET_US)
            answers = list[Any]()
            self._ask(Commit(0, 0, (), (), ()), answers)
            self._same("a commit without a generation", answers, [STALE])
        else:
            sent = self._answers
            self._begin()
            self._answers = sent
            self._rest(1)
        for number in open_then:
            due = [UNKNOWN], [self._due.get(number, UNKNOWN)]
            if self._answers[number] not in due:
                self._divergence.found(f"{number} is answered {self._answers[number]} behind it")

    def _rest(self, span_us: int) -> None:
        self._loop.run(until_us=self._loop.now_us + span_us)

    def _commit(self) -> None:
        self._sent += 1
        commit = self._drawn(self._sent)
        self._left.append(commit)
        answers = self._answers[commit.number] = list[Any]()
        self._ask(commit, answers)
        if not self._draws.below(6):
            self._ask(commit, answers)  # a copy, which is not answered

    def _ask(self, commit: Commit, answers: list[Any]) -> None:
        result: Coroutine[Any, Any, Any] = self._node.handlers[Commit]("client", commit)

        async def watched() -> None:
            answer = await result
            answers.extend(() if answer is None else (answer,))

        self._loop.start(watched())

    def _drawn(self, number: int) -> Commit:
        """A transaction: keys and ranges over parts and shards, local keys, stamps."""
        draws = self._draws
        mutations = tuple(self._mutation() for _ in range(draws.below(4)))
        required = tuple(
            (draws.pick(LOCALS), draws.pick((None, 0, 1)))
            for _ in range(max(draws.below(4) - 1, 0))
        )
        kinds = {kind for kind, _, _ in mutations}
        return Commit(
            number,
            0,
            tuple(self._range() for _ in range(draws.below(3))),
            tuple(self._range() for _ in range(draws.below(3))),
            mutations,
            tuple((draws.pick(KEYS), 0) for _ in range(max(draws.below(5) - 2, 0))),
            tuple((draws.pick(KEYS), 9) for _ in range(max(draws.below(5) - 2, 0))),
            bump=not draws.below(4),
            required=required,
            has_stamps=not kinds.isdisjoint((STAMPED_KEY, STAMPED_VALUE)),
        )

    def _range(self) -> Range:
        draws = self._draws
        place = draws.below(len(KEYS) - 1)
        end = draws.pick(KEYS[place + 1 :])
        return (KEYS[place], end) if draws.below(2) else KEYS[place]

    def _mutation(self) -> Mutation:
        draws = self._draws
        key, what = draws.pick(KEYS), draws.below(8)
        if what < 2:
            return SET, draws.pick(LOCALS), draws.pick((None, 0, 1, 2))
        if what < 4:
            place = draws.below(len(KEYS) - 1)
            return CLEAR, KEYS[place], draws.pick(KEYS[place + 1 :])
        if what == 4:
            return STAMPED_VALUE, key, _made
        if what == 5:
            return STAMPED_KEY, b"", (lambda version: ("k", version), 7)
        return draws.pick((SET, ADD)), key, what


def _made(version: int) -> object:
    return "made", version


def _versions(granted: VersionsGranted) -> range:
    return range(granted.first, granted.last + 1)


def _stamped(commit: Commit, version: int) -> Commit:
    """A transaction at its version."""
    mutations: list[Mutation] = []
    writes = list(commit.writes)
    for kind, key, value in commit.mutations:
        made: Any = value
        if kind == STAMPED_KEY:
            own = pack(made[0](version))
            writes.append(own)
            mutations.append((SET, own, made[1]))
        else:
            is_made = kind == STAMPED_VALUE
            mutations.append((SET, key, made(version)) if is_made else (kind, key, value))
    return Commit(
        commit.number, 0, commit.reads, tuple(writes), tuple(mutations), commit.pasts,
        commit.futures, bump=commit.bump, required=commit.required, has_stamps=False,
    )  # fmt: skip


def _part(resolver: str, one: Commit) -> tuple[Any, ...]:
    """What a resolver is asked of a transaction."""
    timed = [
        tuple((key, at) for key, at in each if _own(resolver, (key,)))
        for each in (one.pasts, one.futures)
    ]
    return _own(resolver, one.reads), _own(resolver, one.writes), *timed


def _own(resolver: str, ranges: tuple[Range, ...]) -> tuple[Range, ...]:
    """What of these lies in the part of a resolver: below the split, or from it on."""
    found: list[Range] = []
    is_first = resolver == CONFIG.resolvers[0]
    for one in ranges:
        if isinstance(one, bytes):
            found += (one,) if (one < SPLIT) == is_first else ()
            continue
        begin, end = one
        first, last = (begin, min(end, SPLIT)) if is_first else (max(begin, SPLIT), end)
        found += ((first, last),) if first < last else ()
    return tuple(found)


def walk_proxy(models: Models, settings: Settings, seed: int) -> None:
    """Compare a proxy beside the run of this seed."""
    ProxyWalk(models.divergence("proxy walk", CONTROLLER), settings, Draws(seed, 11)).take()
