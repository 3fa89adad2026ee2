"""What the processes of a generation have in common: they serve it until the next one begins.

    idle --Recruit of n--> serves n --Recruit of m > n--> serves m
      (after a restart)      |
                             +--Stale from a later one--> over, until the next Recruit

* `generation`: the one that the process serves; None while idle or over. A task of a generation
  compares numbers after each of its waits, and ends without an effect when they differ.
* `_known`: the largest number that the process was recruited for, also before a restart: a late
  copy of a `Recruit` must not begin a generation again without its memory.
"""

from collections.abc import Sequence
from typing import Generic, TypeVar

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.messages import (
    RECRUITED,
    STALE,
    Generation,
    Ping,
    Pong,
    Recruit,
    Recruited,
    Stale,
    Tail,
)
from ddlsim.model.ports import Future, Node, NoReplyType, Request
from ddlsim.units import US_PER_MS, Micros

R = TypeVar("R")
START = Tail(0, (), (), ())
KNOWN = "known generation"


def first_generation(config: FdbConfig) -> Generation:
    """The generation with which a new cluster begins, at version 0."""
    return Generation(
        1, 0, config.sequencers[0], config.grvs, config.proxies, config.resolvers, config.logs
    )


class Process:
    """A process that is recruited for generations. `begin` and `end` are for subclasses."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self.node = node
        self.config = config
        self.settings = config.settings
        self.generation: Generation | None = None
        known = node.disk.get(KNOWN, 0)
        assert isinstance(known, int), f"{known!r} is no generation"
        self._known = known
        self._request_us = Micros(config.settings.request_ms * US_PER_MS)
        self._retry_us = Micros(config.settings.retry_ms * US_PER_MS)
        node.on(Ping, self.pong)
        node.on(Recruit, self.recruit)

    def pong(self, _sender: str, _ping: Ping) -> Pong:
        """Say which generation this process serves."""
        return Pong(0 if self.generation is None else self.generation.number)

    def recruit(self, _sender: str, request: Recruit) -> Recruited | Stale:
        """Begin to serve a generation."""
        if request.generation.number < self._known:
            return STALE
        if request.generation.number > self._known:
            self.over()
            self.start(request.generation, request.tail)
        return RECRUITED if self.serves(request.generation.number) else STALE

    def start(self, generation: Generation, tail: Tail) -> None:
        """Serve a generation from now on."""
        self._known = self.node.disk[KNOWN] = generation.number
        self.generation = generation
        self.begin(generation, tail)

    def is_member(self, generation: Generation) -> bool:
        """Whether this process is one of a generation's."""
        return self.node.name in (
            generation.sequencer,
            *generation.grvs,
            *generation.proxies,
            *generation.resolvers,
            *generation.logs,
        )

    def serves(self, number: int) -> bool:
        """Whether this process serves the generation of that number."""
        return self.generation is not None and self.generation.number == number

    def over(self) -> None:
        """Serve no generation, until the next recruitment."""
        if self.generation is not None:
            self.generation = None
            self.end()

    def begin(self, generation: Generation, tail: Tail) -> None:
        """Start with a generation's state; `tail` is what the last one left."""

    def end(self) -> None:
        """Answer what still waits: its generation is over."""

    async def ask(self, number: int, to: str, request: Request[R | Stale]) -> R | None:
        """The answer of a process of the generation; None once that is over."""
        answer: R | Stale | NoReplyType | None
        answer = await self.node.request(to, request, self._request_us)
        if isinstance(answer, NoReplyType):
            answer = await self.ask_again(number, to, request)
        if answer is None or isinstance(answer, Stale):
            self._out_of_date(number)
            return None
        return answer if self.serves(number) else None

    async def ask_all(
        self, number: int, to: Sequence[str], requests: Sequence[Request[R | Stale]]
    ) -> list[R] | None:
        """The answers of several processes, asked at once; None once the generation is over."""
        request, request_us = self.node.request, self._request_us
        asked = [request(*pair, request_us) for pair in zip(to, requests, strict=True)]
        answers: list[R] = []
        for place, under_way in enumerate(asked):
            answer: R | Stale | NoReplyType | None = await under_way
            if isinstance(answer, NoReplyType):
                answer = await self.ask_again(number, to[place], requests[place])
            if answer is None or isinstance(answer, Stale):
                self._out_of_date(number)
                return None
            answers.append(answer)
        return answers if self.serves(number) else None

    async def ask_again(
        self, number: int, to: str, request: Request[R | Stale]
    ) -> R | Stale | None:
        """An answer after one that did not come; None once the generation is over."""
        while True:
            if not self.serves(number):
                return None
            await self.node.sleep(self._retry_us)
            answer = await self.node.request(to, request, self._request_us)
            if not isinstance(answer, NoReplyType):
                return answer

    def _out_of_date(self, number: int) -> None:
        """Another process has gone on: this generation is over here as well."""
        if self.serves(number):
            self.over()


class Answers(Generic[R]):
    """What batches were answered, by proxy and number, but for those whose answers a proxy has."""

    def __init__(self) -> None:
        self._kept: dict[str, dict[int, R]] = {}

    def of(self, proxy: str, number: int) -> R | None:
        """The answer to a batch; None if there was none, or the proxy has it."""
        return self._kept.get(proxy, {}).get(number)

    def keep(self, proxy: str, number: int, answered: int, answer: R) -> None:
        """Keep an answer, behind those to earlier batches; forget those up to `answered`."""
        kept = self._kept.setdefault(proxy, {})
        while kept and (first := next(iter(kept))) <= answered:
            del kept[first]
        kept[number] = answer


class Chain:
    """Batches in the order of their versions: each waits for the one that ends at `previous`."""

    def __init__(self, node: Node, version: int) -> None:
        self._node = node
        self.version = version
        self._waiting: dict[int, Future[None]] = {}

    async def reached(self, version: int) -> None:
        """Wait until the chain is at a version, which is ahead of it, or is broken."""
        assert self.version < version, f"{self.version} is not before {version}"
        waiting = self._waiting.get(version)
        if waiting is None:
            waiting = self._waiting[version] = self._node.future()
        await waiting

    def advance(self, version: int) -> None:
        """The next batch is done."""
        assert version > self.version, f"{version} comes behind {self.version}"
        self.version = version
        waiting = self._waiting.pop(version, None)
        if waiting is not None:
            waiting.set(None)

    def break_up(self) -> None:
        """End all waits: the generation is over, and its chain with it."""
        for waiting in self._waiting.values():
            waiting.set(None)
