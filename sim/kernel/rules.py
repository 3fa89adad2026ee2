"""What may be done to a message when it is sent: let pass, drop, hold, delay."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from sim.kernel.envelope import Envelope

if TYPE_CHECKING:
    from sim.kernel.network import Network


class Verdict(Enum):
    """A rule's answer, unless it is a `Delay`."""

    PASS = auto()
    DROP = auto()
    HOLD = auto()


class Delay(NamedTuple):
    """Later by so much; the rules that follow are asked as well."""

    by_us: int


class Rule:
    """Which messages, by sender, receiver, kind and label (None is a wildcard), and what then.

    A rule of one's own overrides `judge`, and `matches` where patterns do not say enough.
    """

    network: "Network"  # since `Network.install`

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
        channel = envelope.channel
        return (
            (self.to is None or self.to == channel.to)
            and (self.from_ is None or self.from_ == channel.sender)
            and (self.kind is None or self.kind == channel.kind)
            and (self.label is None or self.label == envelope.label)
        )

    def judge(self, envelope: Envelope) -> Verdict | Delay:
        raise NotImplementedError

    def keep(self, envelope: Envelope, due_us: int, *, in_order: bool) -> None:
        """Take charge of an envelope after the verdict HOLD."""
        raise NotImplementedError

    def remove(self) -> None:
        """No longer in force; a second time changes nothing."""
        if self in self.network.rules:
            self.network.remove(self)


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

    def restore(self) -> None:
        """From now on as before; what is under way still arrives late, and in order."""
        self.remove()


class Partition(Rule):
    """Groups that do not hear each other."""

    def __init__(self, groups: Sequence[Sequence[str]]) -> None:
        super().__init__()
        self._side = {name: number for number, group in enumerate(groups) for name in group}
        assert len(self._side) == sum(map(len, groups)), f"a host in two groups: {groups!r}"

    def judge(self, envelope: Envelope) -> Verdict:
        sender = self._side.get(envelope.channel.sender)
        receiver = self._side.get(envelope.channel.to)
        apart = sender is not None and receiver is not None and sender != receiver
        return Verdict.DROP if apart else Verdict.PASS

    def heal(self) -> None:
        self.remove()


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
        self.held: list[tuple[Envelope, int, bool]] = []

    def judge(self, envelope: Envelope) -> Verdict:
        return Verdict.HOLD

    def keep(self, envelope: Envelope, due_us: int, *, in_order: bool) -> None:
        self.held.append((envelope, due_us, in_order))

    def release(self) -> None:
        """Let go: what would have arrived by now arrives now, the rest when it would have."""
        self.remove()
        held, self.held = self.held, []
        for envelope, due_us, in_order in held:
            self.network.route(envelope, due_us, in_order=in_order, after=self.order)
