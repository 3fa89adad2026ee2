"""Rules: what becomes of messages that match them; `Network.install` puts one in force.

A rule lets a message pass, drops, holds, copies or delays it. It looks at each message when that is
sent; what is on its way already is not touched.
"""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from ddlsim.kernel.channel import Envelope


class Verdict(Enum):
    """A rule's answer, unless it is a `Delay`."""

    DROP = auto()
    HOLD = auto()


class Delay(NamedTuple):
    """Later by so much; the rules that follow are asked as well."""

    by_us: int


class Copy(NamedTuple):
    """Delivered, and once more so much later; the rules that follow judge both."""

    by_us: int


class Judge(Protocol):
    """What rules are installed in: the network."""

    rules: "list[Rule]"

    def remove(self, rule: "Rule") -> None:
        """No longer have this rule in force."""

    def judge(self, envelope: Envelope, due_us: int, rules: "Rules", *, in_order: bool) -> None:
        """Have those of these rules that are in force judge a message; put it on its way."""


class Rule:
    """Which messages, by sender, receiver, kind and label (None is a wildcard), and what then.

    Subclasses override `judge`, and `matches` where patterns do not say enough.
    """

    network: Judge  # since it was installed

    def __init__(
        self,
        from_: str | None = None,
        to: str | None = None,
        kind: str | None = None,
        label: int | None = None,
    ) -> None:
        self.from_, self.to, self.kind, self.label = from_, to, kind, label
        self.order = 0  # of installation, from 1
        self.hits = 0  # how many messages it has judged

    def matches(self, envelope: Envelope) -> bool:
        """Whether it concerns a message; asked once of each that is sent, not of its copies."""
        channel = envelope.channel
        return (
            (self.to is None or self.to == channel.to)
            and (self.from_ is None or self.from_ == channel.sender)
            and (self.kind is None or self.kind == channel.kind)
            and (self.label is None or self.label == envelope.label)
        )

    def judge(self, envelope: Envelope) -> Verdict | Delay | Copy:
        raise NotImplementedError

    def keep(self, envelope: Envelope, due_us: int, behind: "Rules", *, in_order: bool) -> None:
        """Take charge of an envelope after the verdict HOLD; the rules `behind` match it, too."""
        raise NotImplementedError

    def remove(self) -> None:
        """No longer in force; a second time changes nothing."""
        if self in self.network.rules:
            self.network.remove(self)


Rules = Sequence[Rule]


class Block(Rule):
    """Nothing comes through in this direction."""

    def judge(self, envelope: Envelope) -> Verdict:
        return Verdict.DROP


class Slow(Rule):
    """Everything here takes longer."""

    def __init__(self, from_: str | None, to: str | None, kind: str | None, *, by_us: int) -> None:
        super().__init__(from_, to, kind)
        assert type(by_us) is int, f"microseconds are whole: {by_us!r}"
        self._delay = Delay(by_us)

    def judge(self, envelope: Envelope) -> Delay:
        return self._delay


class Strike(Rule):
    """The next `count` messages that match, or `only` this one, have one fate; then it is over."""

    def __init__(
        self,
        from_: str | None = None,
        to: str | None = None,
        kind: str | None = None,
        *,
        fate: Verdict | Delay | Copy,
        count: int = 1,
        only: Envelope | None = None,
        struck: Callable[[int], None],
    ) -> None:
        """`struck` is called when a message meets its fate, with the number of those to come."""
        super().__init__(from_, to, kind)
        self._fate, self._left, self._only, self._struck = fate, count, only, struck

    def matches(self, envelope: Envelope) -> bool:
        return super().matches(envelope) and self._only in (None, envelope)

    def judge(self, envelope: Envelope) -> Verdict | Delay | Copy:
        self._left -= 1
        if not self._left:
            self.remove()
        self._struck(self._left)
        return self._fate


class Hold(Rule):
    """Messages kept back until they are released, then delivered in the order of sending."""

    def __init__(
        self,
        from_: str | None = None,
        to: str | None = None,
        kind: str | None = None,
        label: int | None = None,
    ) -> None:
        super().__init__(from_, to, kind, label)
        self.held: list[tuple[Envelope, int, Rules, bool]] = []

    def judge(self, envelope: Envelope) -> Verdict:
        return Verdict.HOLD

    def keep(self, envelope: Envelope, due_us: int, behind: Rules, *, in_order: bool) -> None:
        self.held.append((envelope, due_us, behind, in_order))

    def release(self) -> None:
        """Let go: what would have arrived by now arrives now, the rest when it would have."""
        self.remove()
        held, self.held = self.held, []
        for envelope, due_us, behind, in_order in held:
            self.network.judge(envelope, due_us, behind, in_order=in_order)
