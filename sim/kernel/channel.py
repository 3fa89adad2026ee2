"""What goes over a link: the messages of one kind on it, what may happen to them, and a message.

`LinkProfile` says what links do to messages; a `Channel` adopts the profiles that concern it. An
`Envelope` is a message on its way.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Protocol

import msgspec

from ddlsim.kernel.deadlines import Asked
from ddlsim.kernel.engine import MAIL, SLIM
from ddlsim.kernel.rng import (
    FIRST,
    GOLDEN,
    MASK,
    SECOND,
    Quantiles,
    mix,
    name_id,
    threshold,
)

LOSS, DUPLICATION, REORDERING, SECOND_DELAY = (name_id(word) for word in (
    "loss", "duplication", "reordering", "delay of the copy"
))  # fmt: skip
NO_TABLE: Final[Quantiles] = ()


class Endpoint(Protocol):
    """What a message can be delivered to."""

    @property
    def alive(self) -> bool: ...

    def receive(self, envelope: "Envelope") -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkProfile:
    """What a link does to messages; what is None is left to earlier profiles."""

    latency: Quantiles | None = None
    loss: float | None = None
    duplication: float | None = None
    reordering: float | None = None

    def __post_init__(self) -> None:
        if self.latency is not None and self.latency[0] < 0:
            raise ValueError(f"a latency must not be negative: {self.latency[0]} us")
        for name in ("loss", "duplication", "reordering"):
            threshold(getattr(self, name) or 0.0)

    @property
    def misbehaves(self) -> bool:
        """Whether it says of anything but latency how likely it is."""
        return (self.loss, self.duplication, self.reordering) != (None, None, None)


class Channel:
    """The messages of one kind on one link."""

    __slots__ = (
        "constant_us", "count", "deliver", "duplication", "endpoint", "key", "kind", "last_due_us",
        "loopback", "loss", "on_send", "overrides", "plain", "reordering", "replies", "seen",
        "sender", "table", "to",
    )  # fmt: skip

    def __init__(self, seed: int, sender: str, to: str, kind: str, endpoint: Endpoint) -> None:
        self.sender, self.to, self.kind, self.endpoint = sender, to, kind, endpoint
        self.deliver: Watch = endpoint.receive
        self.on_send: Watch | None = None  # called with each message, before its fate is drawn
        self.reseed(seed)
        self.count = 0
        self.last_due_us = 0
        self.seen: dict[int, int] = {}  # how often each label has been sent
        self.replies: dict[type, Channel] = {}  # the way back, by the type of the reply
        self.loopback = sender == to
        self.overrides: tuple[Any, ...] = ()  # the overrides that say what may happen to a message
        self.adopt(())

    def reseed(self, seed: int) -> None:
        """Draw by another seed from now on; its profiles are to be adopted anew."""
        self.key = mix(mix(seed, name_id(f"{self.sender} > {self.to}")), name_id(self.kind))

    def adopt(self, profiles: Iterable[LinkProfile]) -> None:
        """Take over what these entries say and nothing else; of two the later one counts."""
        table, loss, duplication, reordering = NO_TABLE, 0, 0, 0
        for profile in profiles:
            if profile.latency is not None:
                table = profile.latency
            if profile.loss is not None:
                loss = threshold(profile.loss)
            if profile.duplication is not None:
                duplication = threshold(profile.duplication)
            if profile.reordering is not None:
                reordering = threshold(profile.reordering)
        self.table = table
        one_value = table and table[0] == table[-1]
        self.constant_us: int | None = table[0] if one_value else None
        self.loss, self.duplication, self.reordering = loss, duplication, reordering
        odd = loss or duplication or reordering or self.loopback
        self.plain = not odd and self.on_send is None

    def watch(self, sent: "Watch | None", arrived: "Watch | None") -> None:
        """Call `sent` with each message that is sent from now on, `arrived` with each that arrives
        at a host that is up, before the host handles it. Its profiles are to be adopted anew."""
        receive = self.endpoint.receive

        def deliver(envelope: Envelope) -> None:
            if arrived is not None and self.endpoint.alive:
                arrived(envelope)
            receive(envelope)

        self.on_send = sent
        self.deliver = receive if arrived is None else deliver

    def happens(self, what: int, limit: int, label: int, occurrence: int) -> bool:
        """Whether this fate, of the probability `limit`, meets the n-th message of this label.

        `mix(mix(key ^ what, label), occurrence) < limit`, written out: it is asked of each message.
        """
        draw = ((self.key ^ what) + label * GOLDEN) & MASK
        draw = ((draw ^ (draw >> 30)) * FIRST) & MASK
        draw = ((draw ^ (draw >> 27)) * SECOND) & MASK
        draw = ((draw ^ (draw >> 31)) + occurrence * GOLDEN) & MASK
        draw = ((draw ^ (draw >> 30)) * FIRST) & MASK
        draw = ((draw ^ (draw >> 27)) * SECOND) & MASK
        return draw ^ (draw >> 31) < limit


class Envelope(msgspec.Struct, eq=False):
    """A message on its way: the event that delivers it.

    A request `asks`, a reply `answers` what was asked; what goes one way does neither.
    """

    channel: Channel
    label: int
    payload: Any
    asks: Asked | None
    answers: Asked | None
    callbacks: ClassVar = MAIL

    def fire(self) -> None:
        self.channel.deliver(self)


class TracedEnvelope(Envelope, eq=False, kw_only=True):
    """The same for a run that is traced."""

    sent_us: int
    serial: int
    note: Callable[[str, Envelope], None]
    callbacks: ClassVar = SLIM

    def fire(self) -> None:
        self.note("deliver" if self.channel.endpoint.alive else "vanish", self)
        self.channel.deliver(self)


Watch = Callable[[Envelope], None]
"""Called with a message."""
