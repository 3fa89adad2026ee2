"""A commit proxy: gathers transactions into batches and commits each batch as a whole.

    gathered (commit_batch_us) -> versions of the sequencer -> decided by all resolvers
      -> behind the proxy's batch before it, and not a window ahead of what has committed:
         local state, mutations by shard
      -> on the disks of all logs -> reported to the sequencer -> answered

* `_gathering`: what has arrived since the last batch began; `_timer` is set while it is not empty.
  `_batches`: how many have begun; `_idle_timer` looks whether any did.
* `_turn`: the end of this proxy's last batch in the stage of the local state: `_state` is changed
  in the order of versions.
* `_state`: metadata version and local space as of the last batch; changes of other proxies arrive
  with the answers of the resolvers, those between two batches before the second one is written.
* `_seen`: client and number of the last commits that were taken: a copy of a message must not
  commit twice.
* `_committed`: the last version that is known to have committed. No log has versions that are more
  than a window beyond it (FoundationDB: "semi-committed pipeline limited by MVCC window"), so that
  what a recovery takes back ends before the versions of the next generation begin.
* Whatever ends a generation ends the batches under way: their clients hear that the result is
  unknown, since logs may have the batch.
"""

from collections.abc import Iterable
from typing import Final

from ddlsim.fdb.config import FdbConfig, Parts
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.keys import METADATA_VERSION, is_local, pack
from ddlsim.fdb.local_state import LocalState
from ddlsim.fdb.membership import Process
from ddlsim.fdb.messages import (
    ADD,
    CLEAR,
    EVERYWHERE,
    SET,
    STALE,
    STAMPED_KEY,
    STAMPED_VALUE,
    Commit,
    Committed,
    Entry,
    Failed,
    Generation,
    GetCommitted,
    GetCommitVersions,
    Mutation,
    Push,
    Range,
    ReadVersion,
    ReportCommitted,
    Resolve,
    Resolved,
    Stale,
    StateChange,
    Tail,
    ToResolve,
    VersionsGranted,
    Written,
)
from ddlsim.model.ports import Future, Node, Timer
from ddlsim.units import US_PER_MS, Micros

KEPT_NUMBERS = 10_000
"""So many commits are remembered; a copy of a message comes sooner than so many others."""
Outcome = Committed | Failed | Stale
Waiting = tuple[Commit, Future[Outcome]]
UNKNOWN: Final = Failed(ErrorCode.COMMIT_UNKNOWN_RESULT)


class Proxy(Process):
    """Commits batches of transactions."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._parts = Parts(config.resolver_begins)
        self._shards = Parts(tuple(shard.begin for shard in config.shards))
        self._gathering: list[Waiting] = []
        self._pending: dict[Future[Outcome], None] = {}
        self._timer: Timer | None = None
        self._idle_timer: Timer | None = None
        self._batches = 0
        self._undecided: dict[int, None] = {}
        self._committed = 0
        self._behind: Future[None] | None = None
        self._turn: Future[None] | None = None
        self._state = LocalState()
        self._seen: dict[tuple[str, int], None] = {}
        super().__init__(node, config)
        self._batch_us = Micros(config.settings.commit_batch_us)
        self._idle_us = Micros(config.settings.idle_commit_ms * US_PER_MS)
        node.on(Commit, self.commit)

    # --- generations ------------------------------------------------------------------------------

    def begin(self, generation: Generation, tail: Tail) -> None:
        """Start with the state that the last generation left."""
        self._batches = 0
        self._undecided = {}
        self._committed = generation.start_version
        self._behind = None
        self._turn = None
        self._state = LocalState.of(tail.changes, generation.start_version)
        self._idle_timer = self.node.call_later(self._idle_us, self._look_if_idle, 0)

    def end(self) -> None:
        """Of what is under way, the result is unknown."""
        for timer in (self._timer, self._idle_timer):
            if timer is not None:
                timer.cancel()
        self._gathering = []
        for future in self._pending:
            future.set(UNKNOWN)
        self._pending = {}

    # --- gathering --------------------------------------------------------------------------------

    async def commit(self, sender: str, request: Commit) -> Outcome | None:
        """Take a transaction into the next batch; its outcome. None for a copy."""
        if self.generation is None:
            return STALE
        seen = self._seen
        if (sender, request.number) in seen:
            self.node.probe("store-copy-ignored")
            return None
        seen[sender, request.number] = None
        if len(seen) > KEPT_NUMBERS:
            del seen[next(iter(seen))]
        future: Future[Outcome] = self.node.future()
        self._pending[future] = None
        if not self._gathering:
            self._timer = self.node.call_later(self._batch_us, self._begin_batch)
        self._gathering.append((request, future))
        return await future

    def _look_if_idle(self, batches: int) -> None:
        """Begin an empty batch, to move versions on, if there was none since the last look."""
        is_idle = self._batches == batches and not self._gathering
        seen = self._batches + is_idle
        self._idle_timer = self.node.call_later(self._idle_us, self._look_if_idle, seen)
        if is_idle:
            self._begin_batch()

    def _begin_batch(self) -> None:
        """Send what was gathered on its way."""
        assert self.generation is not None, "a proxy without a generation has no timer"
        batch, self._gathering = self._gathering, []
        self._batches += 1
        self.node.start(self._commit_batch(self.generation, self._batches, batch))

    # --- a batch ----------------------------------------------------------------------------------

    async def _commit_batch(self, generation: Generation, place: int, batch: list[Waiting]) -> None:
        number = generation.number
        before = self._turn
        mine: Future[None] = self.node.future()
        self._turn = mine
        self._undecided[place] = None
        asked = GetCommitVersions(number, place, self._answered(), len(batch))
        granted = await self.ask(number, generation.sequencer, asked)
        if granted is None:
            return
        requests = [
            self._stamped(one, version) for version, (one, _) in enumerate(batch, granted.first)
        ]
        resolved = await self._resolve(generation, place, granted, requests)
        if resolved is None:
            return
        del self._undecided[place]
        if before is not None and not before.done:
            await before
            if not self.serves(number):
                return
        if not await self._is_within_window(generation, granted.first - 1):
            return
        refused, entry = self._assemble(granted, requests, resolved)
        metadata_version = self._state.metadata_version
        mine.set(None)
        logs = generation.logs
        push = Push(number, entry, self._committed)
        if await self.ask_all(number, logs, [push] * len(logs)) is None:
            return
        self._has_committed(granted.last)
        report = ReportCommitted(number, granted.last, metadata_version)
        if await self.ask(number, generation.sequencer, report) is None:
            return
        seen_at = ReadVersion(granted.last, metadata_version)
        for version, (_, future) in enumerate(batch, granted.first):
            del self._pending[future]
            future.set(refused.get(version) or Committed(version, seen_at))

    def _answered(self) -> int:
        """The batch up to which all have their versions and are decided."""
        return next(iter(self._undecided)) - 1

    async def _is_within_window(self, generation: Generation, version: int) -> bool:
        """Wait until what has committed is at most a window behind a version.

        It asks for what other proxies have committed, and again after a rest, which ends when a
        batch of its own commits: a rest longer than a window would leave it further behind each
        time. False once the generation is over.
        """
        number, asked, node = generation.number, GetCommitted(generation.number), self.node
        while self._is_ahead(version):
            known = await self.ask(number, generation.sequencer, asked)
            if known is None:
                return False
            self._has_committed(known.version)
            if self._is_ahead(version):
                node.probe("store-window-full")
            again_us = node.watch.now_us + self._retry_us
            while self._is_ahead(version) and node.watch.now_us < again_us:
                await self._rest(Micros(again_us - node.watch.now_us))
                if not self.serves(number):
                    return False
        return True

    def _is_ahead(self, version: int) -> bool:
        return version - self._committed > self.settings.window

    async def _rest(self, rest_us: Micros) -> None:
        """Rest until something commits here, and for so long at most."""
        assert self._behind is None, "one batch after the other waits for the window"
        behind = self._behind = self.node.future()
        timer = self.node.call_later(rest_us, self._rested, behind)
        await behind
        timer.cancel()

    def _rested(self, behind: Future[None]) -> None:
        if self._behind is behind:
            self._behind = None
        if not behind.done:
            behind.set(None)

    def _has_committed(self, version: int) -> None:
        """Note what has committed."""
        if version > self._committed:
            self._committed = version
            if self._behind is not None:
                self._rested(self._behind)

    @staticmethod
    def _stamped(request: Commit, version: int) -> Commit:
        """The transaction once its commit version is known."""
        if not request.has_stamps:
            return request
        return stamped(request, version)

    async def _resolve(
        self,
        generation: Generation,
        place: int,
        granted: VersionsGranted,
        requests: list[Commit],
    ) -> list[Resolved] | None:
        """What all resolvers decide; None once the generation is over."""
        transactions: list[ToResolve] = []
        changes: list[StateChange] = []
        for version, one in enumerate(requests, granted.first):
            transactions.append(
                ToResolve(version, one.read_version, one.reads, one.writes, one.pasts, one.futures)
            )
            if one.bump or one.futures or (self.settings.local_keys and _writes_local(one)):
                changes.append(self._change(version, one))
        number, previous, last = generation.number, granted.previous, granted.last
        answered, seen, rest = self._answered(), self._state.version, tuple(changes)
        return await self.ask_all(
            number,
            generation.resolvers,
            [
                Resolve(number, place, answered, previous, last, seen, part, rest)
                for part in self._split(transactions, len(generation.resolvers))
            ],
        )

    def _change(self, version: int, request: Commit) -> StateChange:
        local = tuple(one for one in request.mutations if is_local(one[1]))
        local = local if self.settings.local_keys else ()
        return StateChange(version, request.bump, local, request.required, request.futures)

    def _split(self, transactions: list[ToResolve], count: int) -> list[tuple[ToResolve, ...]]:
        """The transactions for each resolver, with those conflict ranges that are its own."""
        if count == 1:
            return [tuple(transactions)]
        split: list[list[ToResolve]] = [[] for _ in range(count)]
        for one in transactions:
            parts = [self._shares(one, number, count) for number in range(count)]
            for own, part in zip(split, parts, strict=True):
                if part.reads or part.writes or part.pasts or part.futures:
                    own.append(part)
        return [tuple(own) for own in split]

    def _shares(self, one: ToResolve, number: int, count: int) -> ToResolve:
        def own(key: bytes) -> bool:
            return min(self._parts.of(key), count - 1) == number

        return ToResolve(
            one.version,
            one.read_version,
            tuple(self._own_ranges(one.reads, number, count)),
            tuple(self._own_ranges(one.writes, number, count)),
            tuple(past for past in one.pasts if own(past[0])),
            tuple(future for future in one.futures if own(future[0])),
        )

    def _own_ranges(self, ranges: tuple[Range, ...], number: int, count: int) -> Iterable[Range]:
        """The shares of a resolver; the last one also has those of resolvers that are missing."""
        parts = self._parts
        for one in ranges:
            if isinstance(one, bytes):
                if min(parts.of(one), count - 1) == number:
                    yield one
            else:
                for part in parts.over(*one):
                    if min(part, count - 1) == number:
                        yield parts.clip(part, *one)

    # --- what is logged ---------------------------------------------------------------------------

    def _assemble(
        self, granted: VersionsGranted, requests: list[Commit], resolved: list[Resolved]
    ) -> tuple[dict[int, Failed], Entry]:
        """Why transactions are refused, by version; what is logged of the others."""
        refused: dict[int, Failed] = {}
        for answer in resolved:
            for version, failed in answer.refused:
                first = refused.setdefault(version, failed)
                if first is not failed:
                    refused[version] = Failed(first.code, first.conflicts + failed.conflicts)
        self._catch_up(resolved, granted.first)
        written: dict[int, list[tuple[int, tuple[Mutation, ...]]]] = {}
        changes: list[StateChange] = []
        for version, one in enumerate(requests, granted.first):
            if version in refused:
                continue
            if one.required and not self._state.holds(one.required):
                self.node.probe("store-required")
                keys = tuple(key for key, _ in one.required)
                refused[version] = Failed(ErrorCode.NOT_COMMITTED, keys)
                continue
            self._write(written, version, one, changes)
        self._state.version = granted.last
        by_shard: dict[int, Written] = {shard: tuple(own) for shard, own in written.items()}
        return refused, Entry(granted.previous, granted.last, by_shard, tuple(changes))

    def _catch_up(self, resolved: list[Resolved], first: int) -> None:
        """Take the changes of other proxies that lie before this batch."""
        state = self._state
        for votes in zip(*(answer.changes for answer in resolved), strict=True):
            change = votes[0]
            if state.version < change.version < first:
                accepted = all(vote.accepted for vote in votes)
                self.node.probe("store-change-taken")
                if accepted:
                    state.apply(change)
                state.version = change.version

    def _write(
        self,
        written: dict[int, list[tuple[int, tuple[Mutation, ...]]]],
        version: int,
        request: Commit,
        changes: list[StateChange],
    ) -> None:
        """Add a committed transaction to what is logged."""
        if request.bump or request.futures or (self.settings.local_keys and _writes_local(request)):
            change = self._change(version, request)
            self._state.apply(change)
            changes.append(change)
        by_shard: dict[int, list[Mutation]] = {}
        for mutation in request.mutations:
            for shard, share in self._shares_of(mutation):
                by_shard.setdefault(shard, []).append(share)
        if request.bump:
            bumped = (SET, METADATA_VERSION, version)
            by_shard.setdefault(self._shards.of(METADATA_VERSION), []).append(bumped)
        for shard, own in by_shard.items():
            written.setdefault(shard, []).append((version, tuple(own)))

    def _shares_of(self, mutation: Mutation) -> Iterable[tuple[int, Mutation]]:
        """What of a mutation belongs to which shard: a server may have several, in any order."""
        kind, key, value = mutation
        if self.settings.local_keys and is_local(key):
            return ((EVERYWHERE, mutation),)
        if kind == CLEAR:
            assert isinstance(value, bytes), f"{value!r} does not end a range"
            shards = self._shards
            return [
                (shard, (CLEAR, *shards.clip(shard, key, value)))
                for shard in shards.over(key, value)
            ]
        return ((self._shards.of(key), mutation),)


def _writes_local(request: Commit) -> bool:
    return any(is_local(key) for _, key, _ in request.mutations)


def stamped(request: Commit, version: int) -> Commit:
    """A transaction whose versionstamps are filled in."""
    mutations: list[Mutation] = []
    writes = list(request.writes)
    for kind, key, value in request.mutations:
        if kind == STAMPED_VALUE:
            mutations.append((SET, key, value(version)))  # type: ignore[operator]  # a function
        elif kind == STAMPED_KEY:
            assert isinstance(value, tuple), f"{value!r} does not make a key"
            make, inner = value
            made = pack(make(version))
            mutations.append((SET, made, inner))
            writes.append(made)
        else:
            assert kind in (SET, CLEAR, ADD), f"kind {kind}"
            mutations.append((kind, key, value))
    return Commit(
        request.number,
        request.read_version,
        request.reads,
        tuple(writes),
        tuple(mutations),
        request.pasts,
        request.futures,
        request.bump,
        request.required,
    )
