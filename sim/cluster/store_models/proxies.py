"""Commit proxies and GRV proxies beside their models: what they take, and what they answer."""

from typing import Any, Final

from ddlsim.cluster.models.exchange import Sent
from ddlsim.cluster.store_models.assembly import Assembly
from ddlsim.cluster.store_models.beside import Member
from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.grv import Answer, Grv
from ddlsim.fdb.messages import (
    STALE,
    Commit,
    Committed,
    Confirm,
    Confirmed,
    Entry,
    Failed,
    Generation,
    GetCommitted,
    GetReadVersion,
    ReadVersion,
    Resolved,
    Tail,
    VersionsGranted,
)
from ddlsim.fdb.proxy import Outcome, Proxy
from ddlsim.model.ports import Node

UNKNOWN = Failed(ErrorCode.COMMIT_UNKNOWN_RESULT)


class ModelledProxy(Member, Proxy):
    """A commit proxy: each commit once, and unknown results where its generation has ended."""

    part = "proxy"

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._taken: dict[tuple[str, int], None] = {}
        self._assembly = Assembly(config, (), 0)
        super().__init__(node, config)

    async def commit(self, sender: str, request: Commit) -> Outcome | None:
        serving, name = self.serving, (sender, request.number)
        is_copy = name in self._taken
        if serving is None or is_copy:
            answer = await super().commit(sender, request)
            expected = STALE if serving is None else None
            self.divergence.compare(f"the answer to {request}", answer, expected)
            return answer
        self._taken[name] = None
        number = self.divergence.opens(f"the answer to {request}", self.ends(serving, lambda: None))
        answer = await super().commit(sender, request)
        self.divergence.closes(number)
        if self.serving != serving:
            self.divergence.compare("an answer of a generation that is over", answer, UNKNOWN)
        elif isinstance(answer, Committed):
            self.beside.acknowledged = max(self.beside.acknowledged, answer.version)
        elif not isinstance(answer, Failed) or answer == UNKNOWN:
            self.divergence.found(f"{request} is answered with {answer}")
        return answer

    def begin(self, generation: Generation, tail: Tail) -> None:
        super().begin(generation, tail)
        self._assembly = Assembly(self.config, tail.changes, generation.start_version)

    def _assemble(
        self, granted: VersionsGranted, requests: list[Commit], resolved: list[Resolved]
    ) -> tuple[dict[int, Failed], Entry]:
        """The batches of a generation come in order, and none is a window ahead of the commits."""
        assembled = super()._assemble(granted, requests, resolved)
        divergence = self.divergence
        if divergence.is_known:
            return assembled
        last, ahead = self._assembly.version, granted.first - 1 - self._committed
        if granted.first <= last:
            divergence.found(f"the batch from {granted.first} comes behind that to {last}")
        if ahead > self.settings.window:
            what = f"the batch from {granted.first} is logged where {self._committed} has committed"
            divergence.found(what)
        expected = self._assembly.take(granted, requests, resolved)
        divergence.compare("what is refused, and what is logged,", assembled, expected)
        bumped = self._state.metadata_version
        divergence.compare("the metadata version", bumped, self._assembly.bumped)
        return assembled


KEPT: Final = 200
"""So many rounds of a GRV proxy are kept: of a span with an older one nothing is known."""


class Round:
    """What a GRV proxy asks at an instant: which logs, and when each request was answered.

    An end of -1: not yet. `is_again`: requests without an answer may be sent again then, and their
    words count from when they were sent first.
    """

    def __init__(self, *, is_again: bool) -> None:
        self.is_again = is_again
        self.logs: list[str] = []
        self.ends_us: list[int] = []

    def answered(self, now_us: int) -> None:
        """One of the requests is answered: which one makes no difference."""
        if -1 in self.ends_us:
            self.ends_us[self.ends_us.index(-1)] = now_us

    def is_over_before(self, now_us: int) -> bool:
        """Whether all of it was answered before an instant."""
        return -1 not in self.ends_us and max(self.ends_us) < now_us


class ModelledGrv(Member, Grv):
    """A GRV proxy: versions that were asked for since, with a word of the logs that counts.

    `_versions` of the sequencer and `_words` of the logs have the last instants at which they
    were asked for, `_rounds` has what was asked for, by its instant, behind `_dropped_us`,
    `_again_us` when a log that has not answered may be asked again.
    """

    part = "grv"

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self._asked_us = -1
        self._versions: dict[ReadVersion, int] = {}
        self._words: dict[str, int] = {}
        self._rounds: dict[int, Round] = {}
        self._dropped_us = -1
        self._again_us: set[int] = set()
        super().__init__(node, config)
        self.exchange.on_request[GetCommitted].append(self._asks_for_version)
        self.exchange.on_answer[GetCommitted] = [self._has_version]
        self.exchange.on_answer[Confirm] = [self._has_word]
        self.exchange.on_request[Confirm].append(self._asks_for_word)

    def _asks_for_version(self, _asked: object, sent: Sent) -> None:
        self._asked_us = sent.at_us
        self._round(sent).ends_us.append(-1)

    def _asks_for_word(self, _asked: object, sent: Sent) -> None:
        """Logs are asked only where no word of all of them counts, unless they are asked again.

        That is done one after the other: a rest behind the time for an answer, or behind another
        one's answer.
        """
        generation, now_us = self.generation, sent.at_us
        since_us = max(now_us - int(self._confirm_us), self.divergence.resumed_us())
        for at_us, one in self._rounds.items():
            is_whole = generation is not None and sorted(one.logs) == sorted(generation.logs)
            is_first = is_whole and not one.is_again
            counts = is_first and since_us < at_us < now_us and one.is_over_before(now_us)
            if counts and now_us not in self._again_us:
                self.divergence.found(f"{sent.to} is asked, and the words of {at_us} us count")
        self._round(sent).ends_us.append(-1)
        self._round(sent).logs.append(sent.to)
        self._again_us.add(now_us + sent.wait_us + int(self._retry_us))

    def _round(self, sent: Sent) -> "Round":
        if len(self._rounds) > KEPT:
            self._dropped_us = next(iter(self._rounds))
            del self._rounds[self._dropped_us]
        is_again = sent.at_us in self._again_us
        return self._rounds.setdefault(sent.at_us, Round(is_again=is_again))

    def _answered_us(self, since_us: int, until_us: int) -> int | None:
        """When all that was asked for in a span was answered; None: it was not, or may not be."""
        if until_us >= self.divergence.now_us or self.divergence.resumed_us() >= since_us:
            return None
        if self._dropped_us >= since_us:
            return None
        rounds = [one for at_us, one in self._rounds.items() if since_us <= at_us <= until_us]
        ends_us = [end_us for one in rounds for end_us in one.ends_us]
        return max(ends_us) if ends_us and -1 not in ends_us else None

    def _has_version(self, _asked: object, sent: Sent, answer: Any) -> None:
        self._again_us.add(self.divergence.now_us + int(self._retry_us))
        if isinstance(answer, ReadVersion) and sent.message.generation == self.serving:
            self._versions[answer] = max(self._versions.get(answer, -1), sent.at_us)
            self._round(sent).answered(self.divergence.now_us)

    def _has_word(self, _asked: object, sent: Sent, answer: Any) -> None:
        self._again_us.add(self.divergence.now_us + int(self._retry_us))
        if isinstance(answer, Confirmed) and sent.message.generation == self.serving:
            self._words[sent.to] = max(self._words.get(sent.to, 0), sent.at_us)
            self._round(sent).answered(self.divergence.now_us)

    def over(self) -> None:
        super().over()
        self._words, self._rounds = {}, {}

    async def read_version(self, sender: str, request: GetReadVersion) -> Answer:
        arrived_us, serving, generation = self.divergence.now_us, self.serving, self.generation
        if serving is None or generation is None:
            answer = await super().read_version(sender, request)
            self.divergence.compare("the answer without a generation", answer, STALE)
            return answer
        batch_us = int(self._batch_us)

        def due_us() -> int | None:
            until_us = arrived_us + batch_us
            is_asked = self._asked_us >= arrived_us
            return self._answered_us(arrived_us, until_us) if is_asked else until_us

        number = self.divergence.opens("the answer with a version", self.ends(serving, due_us))
        answer = await super().read_version(sender, request)
        self.divergence.closes(number)
        if self.serving != serving:
            self.divergence.compare("an answer of a generation that is over", answer, STALE)
            return answer
        if not isinstance(answer, ReadVersion) or self._versions.get(answer, -1) < arrived_us:
            self.divergence.found(f"{answer} was not asked for since the request arrived")
        elif not request.risky:
            self._compare_words(generation.logs, arrived_us - int(self._confirm_us))
        return answer

    def _compare_words(self, logs: tuple[str, ...], since_us: int) -> None:
        """All logs have said that they serve, when they were asked at an instant or later."""
        if self.divergence.resumed_us() >= since_us:
            return
        missing = [name for name in logs if self._words.get(name, -1) < since_us]
        if missing:
            self.divergence.found(f"a version is given without the word of {missing[0]}")
