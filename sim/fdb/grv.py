"""A GRV proxy: gives read versions, for many clients at once.

    gathered (grv_batch_us) -> the sequencer's last committed version, and, where the last one has
    expired (confirm_ms), every log's word that it still serves the generation -> answered

A request is served by a question to the sequencer that was sent after it arrived: what was
committed before the client asked is below the version that it gets. Without the word of the logs a
generation that has ended unknown to this process would give a version of the past: that is the risk
that `risky` requests take. The word counts from when it was asked for: a recovery waits as long
between locking the logs and the first commit of the next generation.

* `_asked`: how many questions to the logs there were; `_confirmed` and `_expired`: the last that
  all logs have answered, the last whose time is over.
"""

from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.membership import Process
from ddlsim.fdb.messages import (
    STALE,
    Confirm,
    Generation,
    GetCommitted,
    GetReadVersion,
    ReadVersion,
    Stale,
)
from ddlsim.model.ports import Future, Node
from ddlsim.units import US_PER_MS, Micros

Answer = ReadVersion | Stale


class Grv(Process):
    """Gives read versions."""

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._gathering: dict[bool, list[Future[Answer]]] = {}
        self._pending: dict[Future[Answer], None] = {}
        self._asked = self._confirmed = self._expired = 0
        super().__init__(node, config)
        self._batch_us = Micros(config.settings.grv_batch_us)
        self._confirm_us = Micros(config.settings.confirm_ms * US_PER_MS)
        node.on(GetReadVersion, self.read_version)

    def end(self) -> None:
        """Nothing more comes of what is under way, and no word of the logs counts."""
        self._gathering = {}
        for future in self._pending:
            future.set(STALE)
        self._pending = {}
        self._expired = self._asked

    async def read_version(self, _sender: str, request: GetReadVersion) -> Answer:
        """The last committed version, with the next question to the sequencer."""
        if self.generation is None:
            return STALE
        future: Future[Answer] = self.node.future()
        self._pending[future] = None
        gathering = self._gathering.get(request.risky)
        if gathering is None:
            self._gathering[request.risky] = [future]
            number = self.generation.number
            self.node.call_later(self._batch_us, self._begin_batch, number, request.risky)
        else:
            gathering.append(future)
        return await future

    def _begin_batch(self, number: int, risky: bool) -> None:  # noqa: FBT001 - a timer's argument
        if self.generation is not None and self.serves(number):
            batch = self._gathering.pop(risky)
            self.node.start(self._serve(self.generation, batch, risky=risky))

    async def _serve(
        self, generation: Generation, batch: list[Future[Answer]], *, risky: bool
    ) -> None:
        number = generation.number
        if risky or self._confirmed > self._expired:
            version = await self.ask(number, generation.sequencer, GetCommitted(number))
        else:
            version = await self._confirmed_version(generation)
        if version is None:
            return
        for future in batch:
            del self._pending[future]
            future.set(version)

    async def _confirmed_version(self, generation: Generation) -> ReadVersion | None:
        """The sequencer's version and the word of the logs; None once the generation is over."""
        number = generation.number
        self._asked += 1
        asked = self._asked
        self.node.call_later(self._confirm_us, self._expire, asked)
        to = (generation.sequencer, *generation.logs)
        requests = [GetCommitted(number), *[Confirm(number)] * len(generation.logs)]
        answers = await self.ask_all(number, to, requests)
        if answers is None:
            return None
        if asked > self._expired:
            self._confirmed = max(self._confirmed, asked)
        version = answers[0]
        assert isinstance(version, ReadVersion), f"{version} is no read version"
        return version

    def _expire(self, asked: int) -> None:
        self._expired = asked
