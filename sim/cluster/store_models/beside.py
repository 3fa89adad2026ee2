"""What the models of the store's processes have in common: generations, disks and instants."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import count
from typing import ClassVar, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.exchange import Exchange, Sent
from ddlsim.fdb.config import FdbConfig
from ddlsim.fdb.membership import Process
from ddlsim.fdb.messages import (
    RECRUITED,
    STALE,
    Confirm,
    Generation,
    GetCommitted,
    GetCommitVersions,
    Ping,
    Pong,
    Push,
    Recruit,
    Recruited,
    ReportCommitted,
    Resolve,
    Stale,
    StateChange,
    Tail,
)
from ddlsim.model.ports import NO_REPLY, Node

OF_GENERATIONS: Final = (
    Confirm,
    GetCommitted,
    GetCommitVersions,
    Push,
    ReportCommitted,
    Resolve,
)
"""What members of a generation ask each other."""
ONCE: Final = (GetCommitVersions, Push, ReportCommitted, Resolve)
"""Those of them that differ from each other: equal ones are one request, which is sent again."""
_numbers = count()


class StoreModels:
    """The models of one store: messages by machine, and what is on disks.

    `disks` has what the model of a machine keeps over a restart, `known` the largest number of a
    generation that a process was recruited for, `acknowledged` the last version of a commit that a
    proxy has answered.
    """

    def __init__(self, models: Models) -> None:
        self.models = models
        self.exchanges: dict[str, Exchange] = {}
        self.disks: dict[str, object] = {}
        self.known: dict[str, int] = {}
        self.acknowledged = 0


class Instants(Divergence):
    """The differences of a process, and whether it does things in time.

    `_open` is what has begun and not ended: what it is, when it began, and until when it must end
    as things are (None: it may go on).
    """

    __slots__ = ("_exchange", "_open")

    def __init__(self, models: Models, node: str, part: str, exchange: Exchange) -> None:
        super().__init__(models, node, part)
        self._exchange = exchange
        self._open: dict[int, tuple[str, int, Callable[[], int | None]]] = {}
        models.at_end.append(self._look_at_end)

    @property
    def now_us(self) -> int:
        """The present instant."""
        return self.models.loop.now_us

    def in_time(self, what: str, due_us: int) -> None:
        """Record that something is done later than at an instant, unless a pause held it back."""
        now_us = self.now_us
        if now_us > max(due_us, self.resumed_us()):
            self.found(f"{what} {now_us - due_us} us late")

    def not_before(self, what: str, due_us: int) -> None:
        """Record that something is done sooner than it may be."""
        if self.now_us < due_us:
            self.found(f"{what} {due_us - self.now_us} us too soon")

    def opens(self, what: str, due_us: Callable[[], int | None]) -> int:
        """Something begins; the number under which it ends."""
        self.look()
        number = next(_numbers)
        self._open[number] = what, self.now_us, due_us
        return number

    def closes(self, number: int) -> None:
        """Something has ended: in time?"""
        if not self.is_known:
            self._compare_time(*self._open[number])
        del self._open[number]

    def look(self) -> None:
        """Record what should have ended before this instant."""
        if not self.is_known:
            for each in self._open.values():
                self._compare_time(*each)

    def _compare_time(self, what: str, begun_us: int, due_us: Callable[[], int | None]) -> None:
        at_us = due_us()
        if at_us is not None:
            self.in_time(what, max(at_us, begun_us))

    @property
    def runs(self) -> bool:
        """Whether this start of the machine is the present one, and runs."""
        host = self.models.hosts[self._node]
        return host.watcher is self._exchange and host.incarnation.running

    def _look_at_end(self) -> None:
        if self.runs:
            self.look()


def since_us(ends: list[tuple[int, int]], version: int) -> int | None:
    """When a version was reached, of ends with their instants in order; None: not yet."""
    place = bisect_left(ends, (version, 0))
    return ends[place][1] if place < len(ends) else None


def state_of(changes: Iterable[StateChange]) -> tuple[int, dict[bytes, object]]:
    """The metadata version and the local space after changes that were all logged."""
    bumped, values = 0, dict[bytes, object]()
    for change in changes:
        bumped = apply_change(change, bumped, values)
    return bumped, values


def apply_change(change: StateChange, bumped: int, values: dict[bytes, object]) -> int:
    """Take a change that counts; the metadata version behind it."""
    values.update({key: value for _, key, value in change.mutations})
    return change.version if change.bump else bumped


class Member(Process):
    """A process that compares which generation it serves; models of the roles are beneath it.

    `serving` is the number of the generation that it must serve, None where it must serve none;
    `since_us` the instant at which that began or ended, `ended_us` when each has ended;
    `_waits_us` until when each request is waited for.
    """

    beside: ClassVar[StoreModels]
    part: ClassVar[str]

    def __init__(self, node: Node, config: FdbConfig) -> None:
        self.exchange = self.beside.exchanges[node.name]
        self.divergence = Instants(self.beside.models, node.name, self.part, self.exchange)
        for kind in OF_GENERATIONS:
            self.exchange.on_request[kind] = [self._asks]
        for kind in ONCE:
            self.exchange.on_request[kind].append(self._asks_again)
            self.exchange.on_answer[kind] = [self._is_refused]
        self._waits_us: dict[tuple[str, type, int], int] = {}
        self.serving: int | None = None
        self.ended_us: dict[int, int] = {}
        self.since_us = self.divergence.now_us
        super().__init__(node, config)

    @property
    def _number(self) -> int:
        """The largest number of a generation that this machine was recruited for."""
        return self.beside.known.get(self.node.name, 0)

    def recruit(self, sender: str, request: Recruit) -> Recruited | Stale:
        number, known = request.generation.number, self._number
        refused = number < known or self._refuses(number)
        answer = super().recruit(sender, request)
        expected = STALE if refused or self.serving != number else RECRUITED
        if not refused and number > known and self.serving != number:
            self.divergence.found(f"generation {number} does not begin when it is recruited for")
        self.divergence.compare(f"the answer to {request}", answer, expected)
        return answer

    def _refuses(self, number: int) -> bool:
        """Whether a role refuses a generation for a reason of its own."""
        return False

    def pong(self, sender: str, ping: Ping) -> Pong:
        answer = super().pong(sender, ping)
        self.divergence.compare("the generation in a pong", answer, Pong(self.serving or 0))
        return answer

    def start(self, generation: Generation, tail: Tail) -> None:
        if generation.number <= self._number:
            self.divergence.found(f"generation {generation.number} begins a second time")
        self.beside.known[self.node.name] = self.serving = generation.number
        self.since_us = self.divergence.now_us
        super().start(generation, tail)

    def over(self) -> None:
        if self.serving is not None:
            self.ended_us[self.serving] = self.since_us = self.divergence.now_us
            self.serving = None
            self._waits_us = {}
        super().over()

    def _asks(self, _asked: object, sent: Sent) -> None:
        """A process asks as a member of a generation that it serves, or did before it rested."""
        number = sent.message.generation
        if number == self.serving:
            return
        ended_us = self.ended_us.get(number)
        if ended_us is None:
            self.divergence.found(f"{sent.message} is sent, and {self.serving} is served")
        else:
            what = f"{sent.message} is sent behind the end of its generation,"
            self.divergence.in_time(what, ended_us + int(self._retry_us))

    def _asks_again(self, _asked: object, sent: Sent) -> None:
        """What is not answered is asked for again, after a rest."""
        name = _name_of(sent)
        if sent.message.generation == self.serving:
            if name in self._waits_us:
                due_us = self._waits_us[name] + int(self._retry_us)
                self.divergence.not_before(f"{sent.message} is sent again", due_us)
            self._waits_us[name] = sent.at_us + sent.wait_us

    def _is_refused(self, _asked: object, sent: Sent, answer: object) -> None:
        """A machine that is down answers for itself: the request is waited for no longer."""
        if answer is NO_REPLY:
            self._waits_us[_name_of(sent)] = self.divergence.now_us

    def ends(self, number: int, otherwise: Callable[[], int | None]) -> Callable[[], int | None]:
        """Until when a request of a generation must be answered: at once when that is over."""
        return lambda: otherwise() if self.serving == number else self.ended_us.get(number, 0)

    def is_stale(self, number: int, before: int | None, answer: object) -> bool:
        """Whether a request is of another generation than was served `before` it, or is now.

        Its answer must say so then, which is compared.
        """
        if number == before == self.serving:
            return False
        self.divergence.compare("an answer of another generation", answer, STALE)
        return True


def _name_of(sent: Sent) -> tuple[str, type, int]:
    """What tells a request from all others of its generation that are under way."""
    message = sent.message
    match message:
        case GetCommitVersions():
            place = message.number
        case Push():
            place = message.entry.last
        case ReportCommitted():
            place = message.version
        case _:
            place = message.last
    return sent.to, type(message), place
