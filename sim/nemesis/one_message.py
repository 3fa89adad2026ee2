"""Single messages are lost, late or delivered twice: that of a moment, or the next of a kind."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Final

from ddlsim.nemesis.actions import Fate, FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.units import Ms, ms

CLIENT_REQUEST: Final = "client-"
"""How the kinds of clients' requests begin."""


@dataclass(frozen=True, kw_only=True)
class OneMessage(Fault):
    """Strikes the message at whose sending the fault begins: `when = "finish sent"`.

    With a `kind` it strikes the next `count` messages of this kind instead, between nodes or with
    clients, those from `sender` and to `to` if they are given. It ends when they have met their
    fate. A message of a node to itself passes no link, and nothing strikes it.
    """

    targets: ClassVar[tuple[str, ...]] = ("sender", "to")

    kind: str | None = None
    count: int = 1
    sender: str | None = None
    to: str | None = None

    @property
    def of_its_moment(self) -> bool:
        return self.kind is None

    @property
    def told(self) -> str:
        many = self.count > 1
        what = "the moment's own message" if self.kind is None else f"the next {self.kind} message"
        what = f"the next {self.count} {self.kind} messages" if many else what
        ends = ((word, end) for word, end in (("from", self.sender), ("to", self.to)) if end)
        link = "".join(f" {word} {end}" for word, end in ends)
        return f"{what}{link} {'are' if many else 'is'} {self.ends_up}"

    @property
    @abstractmethod
    def ends_up(self) -> str:
        """What becomes of each message, in words."""

    def verify(self) -> None:
        check(self.count >= 1, "count", "must be at least 1")
        for field in ("count", "sender", "to"):
            plain = self.kind is not None or getattr(self, field) in (None, 1)
            check(plain, field, "needs kind: without it the fault strikes the moment's own message")

    def begin(self, actions: FaultActions) -> None:
        if self.kind is None:
            actions.strike_its_message(self.fate())
            return
        ends = (None if end is None else actions.resolve(end) for end in (self.sender, self.to))
        sender, to = ends
        actions.strike_next(self.fate(), count=self.count, sender=sender, to=to, kind=self.kind)

    @abstractmethod
    def fate(self) -> Fate:
        """What becomes of each message."""


@fault
@dataclass(frozen=True, kw_only=True)
class LostMessage(OneMessage):
    """The message is lost."""

    name: ClassVar[str] = "lost_message"
    summary: ClassVar[str] = "one message is lost, or the next few of a kind"

    @property
    def ends_up(self) -> str:
        return "lost"

    def fate(self) -> Fate:
        return Fate("lost")


@fault
@dataclass(frozen=True, kw_only=True)
class LateMessage(OneMessage):
    """The message takes `delay_ms` longer; later ones of its kind on its link wait behind it."""

    name: ClassVar[str] = "late_message"
    summary: ClassVar[str] = "one message is late, or the next few of a kind"

    delay_ms: Ms

    def verify(self) -> None:
        super().verify()
        check(self.delay_ms > 0, "delay_ms", "must be more than 0")

    @property
    def ends_up(self) -> str:
        return f"{self.delay_ms:g} ms late"

    def fate(self) -> Fate:
        return Fate("late", ms(self.delay_ms))


@fault
@dataclass(frozen=True, kw_only=True)
class DoubledMessage(OneMessage):
    """The message is delivered, and once more `delay_ms` later.

    No request of a client: a client sends it once [reading 6], over a connection that delivers it
    once, and a node runs each request that it receives.
    """

    name: ClassVar[str] = "doubled_message"
    summary: ClassVar[str] = "one message is delivered twice, or the next few of a kind"

    delay_ms: Ms = 0

    def verify(self) -> None:
        super().verify()
        check(self.delay_ms >= 0, "delay_ms", "must not be negative")

    @property
    def ends_up(self) -> str:
        if not self.delay_ms:
            return "delivered twice at once"
        return f"delivered again {self.delay_ms:g} ms later"

    def fate(self) -> Fate:
        return Fate("doubled", ms(self.delay_ms))
