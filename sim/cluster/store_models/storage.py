"""A storage server beside its model: every version of every key, kept for ever."""

from collections.abc import Callable
from typing import Any, ClassVar

from ddlsim.cluster.models.exchange import Sent
from ddlsim.cluster.store_models.beside import Instants, StoreModels, since_us
from ddlsim.fdb.config import FdbConfig, Parts
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.keys import is_local, pack
from ddlsim.fdb.membership import first_generation
from ddlsim.fdb.messages import (
    ADD,
    CLEAR,
    Failed,
    Fired,
    Get,
    GetRange,
    Got,
    GotRange,
    Mutation,
    Peek,
    Peeked,
    Ping,
    Pong,
    Pop,
    WatchKey,
)
from ddlsim.fdb.storage import Storage
from ddlsim.model.ports import Node

TOO_OLD = Failed(ErrorCode.TRANSACTION_TOO_OLD)
IN_FUTURE = Failed(ErrorCode.FUTURE_VERSION)
TIMED_OUT = Failed(ErrorCode.TIMED_OUT)


class Values:
    """What a storage server must hold: by key, its values with their versions, oldest first.

    `oldest` and `known`, the generation, are on its disk, with the values as of `oldest`.
    """

    def __init__(self, initial: dict[bytes, object]) -> None:
        self.written = {key: [(0, value)] for key, value in initial.items()}
        self.version = self.oldest = 0
        self.known = 1

    def at(self, key: bytes, version: int) -> object:
        """The value of a key at a version."""
        last = None
        for written, value in self.written.get(key, ()):
            if written <= version:
                last = value
        return last

    def latest(self, key: bytes) -> object:
        """The last value of a key."""
        written = self.written.get(key)
        return written[-1][1] if written else None

    def within(self, begin: bytes, end: bytes, version: int) -> list[tuple[bytes, object]]:
        """The keys of a range with their values at a version, in order."""
        pairs = [(key, self.at(key, version)) for key in self.written if begin <= key < end]
        return sorted((key, value) for key, value in pairs if value is not None)

    def take(self, version: int, mutation: Mutation) -> None:
        """One mutation of a transaction."""
        kind, key, value = mutation
        if kind == CLEAR:
            assert isinstance(value, bytes), f"{value!r} does not end a range"
            for held in [one for one in self.written if key <= one < value]:
                self.written[held].append((version, None))
            return
        if kind == ADD:
            before = self.latest(key)
            if isinstance(before, int | float) and isinstance(value, int | float):
                value = before + value
        self.written.setdefault(key, []).append((version, value))

    def drop(self, above: int) -> None:
        """Take back what was written above a version."""
        self.version = min(self.version, above)
        kept = {
            key: [one for one in written if one[0] <= above]
            for key, written in self.written.items()
        }
        self.written = {key: written for key, written in kept.items() if written}


class Turn:
    """The turn of a read among those that a storage server serves one after the other."""

    def __init__(self, served_us: int) -> None:
        self.served_us = served_us


class Watched:
    """A watch of a key: from what value on, and since when that differs (None: it does not).

    It is begun once its version has been applied: a value before that is no difference.
    """

    def __init__(self, request: WatchKey) -> None:
        self.key, self.value, self.version = request.key, request.value, request.version
        self.is_begun = False
        self.due_us: int | None = None


class ModelledStorage(Storage):
    """A storage server that compares its answers, its pulls and what it lets the logs forget."""

    beside: ClassVar[StoreModels]

    def __init__(self, node: Node, config: FdbConfig, *, restarted: bool = False) -> None:
        self._exchange = exchange = self.beside.exchanges[node.name]
        self.divergence = Instants(self.beside.models, node.name, "storage", exchange)
        held = self.beside.disks.setdefault(node.name, Values(_initial(node.name, config)))
        assert isinstance(held, Values), f"{held} is no store"
        self._held = held
        held.drop(held.oldest)
        self._serving = None if restarted else first_generation(config)
        self._reached_us: list[tuple[int, int]] = [(held.version, self.divergence.now_us)]
        self._waits: list[Watched] = []
        self._turns: list[Turn] = []
        self._served_us = 0
        self._read_times = 0
        self._answered: Peeked | None = None
        self._from, self._fails = "", 0
        self._next_us = self._popped_us = self.divergence.now_us
        self._rest_us = 0  # how long it rests behind a pause, if `_next_us` is within that
        exchange.on_request[Peek] = [self._pulls]
        exchange.on_answer[Peek] = [self._pulled]
        exchange.on_send[Pop] = [self._pops]
        super().__init__(node, config, restarted=restarted)
        self.beside.models.at_end.append(self._compare_at_end)

    # --- from the logs ----------------------------------------------------------------------------

    def pong(self, sender: str, ping: Ping) -> Pong:
        generation, held = ping.generation, self._held
        adopts = self._serving is None or generation.number > self._serving.number
        if adopts:
            self._serving = generation
            for number, end in generation.ends:
                if number > held.known:
                    self._drop(end)
            held.known = generation.number
            self._answered = None  # what a log of the last one has answered is not applied any more
            self._next_us, self._from, self._fails = self.divergence.now_us, "", 0
            self._rest_us = 0
        answer = super().pong(sender, ping)
        assert self._serving is not None, "a generation was adopted"
        self.divergence.compare("the answer to a ping", answer, Pong(self._serving.number))
        return answer

    def _drop(self, end: int) -> None:
        """Take back what a generation had above its end."""
        self._held.drop(end)
        kept = [(version, us) for version, us in self._reached_us if version <= end]
        self._reached_us = kept
        self._look()

    def _pulls(self, _asked: object, sent: Sent) -> None:
        serving, request = self._serving, sent.message
        if serving is None or sent.to not in serving.logs:
            self.divergence.found(f"{sent.to} is asked for batches")
            return
        expected = Peek(serving.number, self._held.version)
        self.divergence.compare("what a log is asked for", request, expected)
        behind_a_pause_us = self.divergence.resumed_us() + self._rest_us
        self.divergence.in_time("a log is asked", max(self._next_us, behind_a_pause_us))
        logs = serving.logs
        if (
            self._from in logs
            and sent.to != logs[(logs.index(self._from) + self._fails) % len(logs)]
        ):
            self.divergence.found(f"{sent.to} is asked for batches behind {self._from}")
        self._from, self._fails = sent.to, 1  # unless there is an answer
        self._rest_us = int(self._retry_us)
        self._next_us = self.divergence.now_us + int(self._peek_us) + self._rest_us

    def _pulled(self, _asked: object, sent: Sent, answer: Any) -> None:
        serving = self._serving
        if serving is None or sent.message.generation != serving.number:
            return
        self._rest_us = 0 if isinstance(answer, Peeked) else int(self._retry_us)
        self._next_us = self.divergence.now_us + self._rest_us
        if not isinstance(answer, Peeked):
            return
        self._fails = 0
        self._answered = answer

        def applied() -> None:
            if self._answered is answer:
                self.divergence.found("what a log has answered is not applied")

        self._exchange.owe(applied)

    def _apply(self, peeked: Peeked) -> None:
        super()._apply(peeked)
        held = self._held
        if self._answered is not peeked:
            self.divergence.found("what is applied is no log's last answer")
        self._answered = None
        for entry in peeked.entries:
            for writes in entry.written.values():
                for version, mutations in writes:
                    for mutation in mutations:
                        held.take(version, mutation)
        held.version = peeked.end
        held.oldest = max(held.oldest, min(peeked.end - self.settings.window, peeked.committed))
        self._reached_us.append((held.version, self.divergence.now_us))
        self._look()
        got, expected = (self.version, self._store.oldest), (held.version, held.oldest)
        self.divergence.compare("the version, and the oldest one,", got, expected)

    def _pops(self, _to: str, message: Pop) -> None:
        self.divergence.compare("what logs may forget", message, Pop(self._held.oldest))
        self._popped_us = self.divergence.now_us

    # --- reads ------------------------------------------------------------------------------------

    async def get(self, sender: str, request: Get) -> Got | Failed:
        arrived_us, number = self.divergence.now_us, self._opens(request)
        answer = await super().get(sender, request)
        self.divergence.closes(number)
        self._compare_read(
            request, answer, arrived_us, lambda: Got(self._held.at(request.key, request.version))
        )
        return answer

    async def get_as_applied(self, sender: str, request: Get) -> Got | Failed:
        answer = await super().get_as_applied(sender, request)
        if is_local(request.key):
            latest = Got(self._held.latest(request.key))
            self.divergence.compare(f"the answer to {request}", answer, latest)
        return answer

    async def get_range(self, sender: str, request: GetRange) -> GotRange | Failed:
        arrived_us, number = self.divergence.now_us, self._opens(request)
        answer = await super().get_range(sender, request)
        self.divergence.closes(number)

        def expected() -> GotRange:
            pairs = self._held.within(request.begin, request.end, request.version)
            return GotRange(tuple(pairs[: request.limit]), more=len(pairs) > request.limit)

        self._compare_read(request, answer, arrived_us, expected)
        return answer

    def _opens(self, request: Get | GetRange) -> int:
        """A read begins: it is served behind those before it, then answered or given up."""
        self._read_times += 1
        arrived_us, version = self.divergence.now_us, request.version
        self._served_us = max(arrived_us, self._served_us) + self.settings.storage_read_us
        turn = Turn(self._served_us)
        if self.settings.storage_read_us:
            self._turns.append(turn)

        def due_us() -> int:
            given_up_us = turn.served_us + int(self._future_us)
            if self._held.version < version:
                return given_up_us
            return min(max(turn.served_us, self._had_us(version)), given_up_us)

        return self.divergence.opens(f"the answer to {request}", due_us)

    async def _served(self) -> None:
        """A turn that a pause has held back holds back those behind it."""
        await super()._served()
        now_us, read_us = self.divergence.now_us, self.settings.storage_read_us
        if now_us > self._turns.pop(0).served_us:
            for place, turn in enumerate(self._turns, 1):
                turn.served_us = now_us + place * read_us
            self._served_us = now_us + len(self._turns) * read_us

    def _compare_read(
        self,
        request: Get | GetRange,
        answer: object,
        arrived_us: int,
        expected: Callable[[], object],
    ) -> None:
        divergence, version = self.divergence, request.version
        if divergence.is_known:
            return
        served_us = arrived_us + self.settings.storage_read_us
        divergence.not_before("a read is served", served_us)
        if self._held.version < version:
            divergence.compare(f"the answer to {request}", answer, IN_FUTURE)
            divergence.not_before("a version is given up", served_us + int(self._future_us))
            return
        right = TOO_OLD if version < self._held.oldest else expected()
        divergence.compare(f"the answer to {request}", answer, right)

    def _had_us(self, version: int) -> int:
        """Since when a version has been applied, without a break."""
        at_us = since_us(self._reached_us, version)
        return self.divergence.now_us if at_us is None else at_us

    # --- watches ----------------------------------------------------------------------------------

    async def watch(self, sender: str, request: WatchKey) -> Fired | Failed:
        arrived_us = self.divergence.now_us
        watched = Watched(request)
        self._waits.append(watched)
        self._look()
        number = self.divergence.opens(
            f"the answer to {request}", lambda: self._watch_due_us(request, watched, arrived_us)
        )
        answer = await super().watch(sender, request)
        self.divergence.closes(number)
        self._waits.remove(watched)
        self._compare_watch(request, watched, answer, arrived_us)
        return answer

    def _compare_watch(
        self, request: WatchKey, watched: Watched, answer: Fired | Failed, arrived_us: int
    ) -> None:
        divergence = self.divergence
        if divergence.is_known:
            return
        if isinstance(answer, Fired):
            divergence.compare("what a watch tells", answer, Fired(self._held.version))
            differs = self._held.latest(request.key) != request.value
            if watched.due_us is None and not differs:
                divergence.found(f"{request} fires, and its key has had no other value")
        elif answer == IN_FUTURE:
            divergence.not_before("a version is given up", arrived_us + int(self._future_us))
        else:
            divergence.compare("the answer to a watch", answer, TIMED_OUT)
            divergence.not_before("a watch is given up", arrived_us + int(self._watch_us))
            if watched.due_us is not None and watched.due_us < divergence.now_us:
                divergence.found(f"{request} does not fire, though its key had another value")

    def _watch_due_us(self, request: WatchKey, watched: Watched, arrived_us: int) -> int:
        """Until when a watch fires or is given up."""
        if not watched.is_begun:
            return arrived_us + int(self._future_us)
        begun_us = max(arrived_us, self._had_us(request.version))
        if watched.due_us is None:
            return begun_us + int(self._watch_us)
        return max(begun_us, watched.due_us)

    def _look(self) -> None:
        """Watches whose keys have another value are due, from now on."""
        for one in self._waits:
            one.is_begun |= self._held.version >= one.version
            if one.is_begun and one.due_us is None and self._held.latest(one.key) != one.value:
                one.due_us = self.divergence.now_us

    # --- the end ----------------------------------------------------------------------------------

    def _compare_at_end(self) -> None:
        divergence = self.divergence
        if divergence.is_known or not divergence.runs:
            return
        divergence.compare("the number of reads", self.reads, self._read_times)
        if self._serving is not None:
            divergence.in_time("the logs may forget", self._popped_us + 2 * int(self._pop_us))
        held = {pack(key): value for key, value in self.values()}
        for key in {**held, **self._held.written}:
            if key.startswith(b"\xff") or is_local(key):
                continue
            divergence.compare(f"the last value of {key!r}", held.get(key), self._held.latest(key))


def _initial(name: str, config: FdbConfig) -> dict[bytes, object]:
    """The initial values of a storage server's shards."""
    parts = Parts(tuple(shard.begin for shard in config.shards))
    return {
        pack(key): value
        for key, value in config.initial
        if name in config.shards[parts.of(pack(key))].team
        or (config.settings.local_keys and is_local(pack(key)))
    }
