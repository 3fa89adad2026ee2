"""A resolver beside its model, which forgets no write."""

from ddlsim.cluster.store_models.beside import Member, since_us
from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.messages import (
    Failed,
    Generation,
    Range,
    Resolve,
    Resolved,
    Stale,
    StateChange,
    Tail,
    ToResolve,
)
from ddlsim.fdb.resolver import Resolver
from ddlsim.fdb.settings import FdbSettings
from ddlsim.model.ports import Node


class Writes:
    """All writes that were accepted since a version, by key and by range."""

    def __init__(self, began: int, futures: tuple[tuple[bytes, int], ...]) -> None:
        self.began = began
        self._keys: dict[bytes, list[int]] = {}
        self._ranges: list[tuple[int, bytes, bytes]] = []
        for key, at in futures:
            self.add(key, at)

    def add(self, written: Range, version: int) -> None:
        """A key or a range is written at a version, which may lie ahead."""
        if isinstance(written, bytes):
            self._keys.setdefault(written, []).append(version)
        else:
            self._ranges.append((version, *written))

    def between(self, read: Range, since: int, upto: int) -> bool:
        """Whether any of it was written above one version and not above another."""
        if isinstance(read, bytes):
            keys: tuple[bytes, ...] = (read,)
            first, end = read, read + b"\x00"
        else:
            first, end = read
            keys = tuple(key for key in self._keys if first <= key < end)
        for key in keys:
            versions = self._keys.get(key, ())
            if versions and max(versions) > since and any(since < one <= upto for one in versions):
                return True
        return any(
            since < one <= upto and begin < end and first < last
            for one, begin, last in self._ranges
        )


class Decisions:
    """What must become of transactions, one after the other."""

    def __init__(self, settings: FdbSettings, writes: Writes) -> None:
        self._settings = settings
        self.writes = writes

    def decide(self, tx: ToResolve) -> Failed | None:
        """Why a transaction is refused; if it is not, its writes count from now on."""
        refused = self._refused(tx)
        if refused is None:
            for written in tx.writes:
                self.writes.add(written, tx.version)
            for key, at in tx.futures:
                self.writes.add(key, at)
        return refused

    def is_open(self, tx: ToResolve) -> bool:
        """Whether a decision depends on when the store forgets: only with a mistake of C13."""
        oldest = tx.version - self._settings.window
        return self._settings.forgotten_is_clean and any(since < oldest for _, since in tx.pasts)

    def _refused(self, tx: ToResolve) -> Failed | None:
        oldest = tx.version - self._settings.window
        if tx.reads and tx.read_version < oldest:
            return Failed(ErrorCode.TRANSACTION_TOO_OLD)
        if any(self._conflicts(read, tx.read_version, tx) for read in tx.reads):
            return Failed(ErrorCode.NOT_COMMITTED, self._told(tx))
        for key, since in tx.pasts:
            if since < oldest:
                return Failed(ErrorCode.TRANSACTION_TOO_OLD)
            if self._conflicts(key, since, tx):
                return Failed(ErrorCode.NOT_COMMITTED, self._told(tx))
        return None

    def _conflicts(self, read: Range, since: int, tx: ToResolve) -> bool:
        return since < self.writes.began or self.writes.between(read, since, tx.version)

    def _told(self, tx: ToResolve) -> tuple[Range, ...]:
        """What has conflicted in the window, of that whose writes this resolver has seen."""
        asked = [*((read, tx.read_version) for read in tx.reads), *tx.pasts]
        writes, oldest = self.writes, tx.version - self._settings.window
        return tuple(
            read
            for read, since in asked
            if since >= writes.began and writes.between(read, max(since, oldest), tx.version)
        )

    def in_window(self, tx: ToResolve, failed: Failed) -> Failed:
        """What a failure says, but for writes before the window: these may be forgotten,
        or not yet."""
        oldest = tx.version - self._settings.window
        early = {key for key, since in tx.pasts if since < oldest}
        if not early:
            return failed
        told = self._told(tx)
        kept = tuple(one for one in failed.conflicts if one in told or one not in early)
        return Failed(failed.code, kept)


class ModelledResolver(Member, Resolver):
    """A resolver that compares its decisions."""

    part = "resolver"

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._decisions = Decisions(config.settings, Writes(0, ()))
        self._decided: dict[tuple[str, int], Resolved] = {}
        self._answered: dict[str, int] = {}
        self._ends: list[tuple[int, int]] = []
        self._all_changes: list[StateChange] = []
        self._top = 0
        super().__init__(node, config)

    def begin(self, generation: Generation, tail: Tail) -> None:
        super().begin(generation, tail)
        futures: list[tuple[bytes, int]] = []
        if self.settings.resolver_keeps_future:
            futures = [one for change in tail.changes for one in change.futures]
        start = generation.start_version
        self._decisions = Decisions(self.settings, Writes(start, tuple(futures)))
        self._all_changes, self._top = [], start
        self._ends = [(start, self.divergence.now_us)]
        self._decided, self._answered = {}, {}

    async def resolve(self, sender: str, request: Resolve) -> Resolved | Stale | None:
        arrived_us, serving = self.divergence.now_us, self.serving

        def due_us() -> int | None:
            if self._top < request.previous:
                return None
            return max(arrived_us, self._since_us(request.previous))

        number = self.divergence.opens(
            f"the answer to {request}", self.ends(request.generation, due_us)
        )
        answer = await super().resolve(sender, request)
        self.divergence.closes(number)
        if self.divergence.is_known:
            return answer
        if self.is_stale(request.generation, serving, answer):
            return answer
        if request.last <= self._top:
            known = request.number > self._answered.get(sender, 0)
            expected = self._decided.get((sender, request.number)) if known else None
            self.divergence.compare("the answer to a repeated batch", answer, expected)
        elif isinstance(answer, Resolved):
            self._compare(request, answer)
            self._decided[sender, request.number] = answer
            self._answered[sender] = max(self._answered.get(sender, 0), request.answered)
        else:
            self.divergence.found(f"{request} is not decided")
        return answer

    def _since_us(self, version: int) -> int:
        """When the batches up to a version were all decided."""
        at_us = since_us(self._ends, version)
        return self.since_us if at_us is None else at_us

    def _compare(self, request: Resolve, answer: Resolved) -> None:
        """Decide about a batch as well; it comes behind its predecessor."""
        if request.previous != self._top:
            self.divergence.found(f"{request} is decided behind {self._top}")
            return
        by_version = {tx.version: tx for tx in request.transactions}
        told = tuple(
            (version, self._decisions.in_window(by_version[version], failed))
            for version, failed in answer.refused
        )
        given = dict(told)
        refused: list[tuple[int, Failed]] = []
        for tx in request.transactions:
            if self._decisions.is_open(tx):
                failed = given.get(tx.version)
                if failed is None:
                    for written in tx.writes:
                        self._decisions.writes.add(written, tx.version)
            else:
                failed = self._decisions.decide(tx)
            if failed is not None:
                refused.append((tx.version, failed))
        unseen = [one for one in self._all_changes if one.version > request.seen]
        got, expected = (told, answer.changes), (tuple(refused), tuple(unseen))
        self.divergence.compare(f"the decision about {request}", got, expected)
        out = dict(refused)
        for change in request.changes:
            taken = StateChange(
                change.version,
                change.bump,
                change.mutations,
                change.required,
                change.futures,
                change.version not in out,
            )
            self._all_changes.append(taken)
        self._top = request.last
        self._ends.append((request.last, self.divergence.now_us))
