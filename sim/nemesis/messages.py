"""Messages between nodes are lost, doubled, or overtake each other, each with a probability."""

from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar, Literal

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault


@dataclass(frozen=True, kw_only=True)
class MessageFault(Fault):
    """Changes one property of links with this `probability`: of all, or of those of `node`.

    `kind` narrows it to one kind of message. Messages from and to clients are left alone.
    """

    targets: ClassVar[tuple[str, ...]] = ("node",)
    changes: ClassVar[Literal["loss", "duplication", "reordering"]]

    probability: float
    node: str | None = None
    kind: str | None = None

    @property
    def told(self) -> str:
        of_kind = f"{self.kind} messages" if self.kind else "messages"
        where = f"between {self.node} and other nodes" if self.node else "between nodes"
        what = self.summary.replace("messages", of_kind).replace("between nodes", where)
        share = f", each with probability {self.probability:g}" if self.probability < 1 else ""
        return what + share

    def verify(self) -> None:
        check(0 < self.probability <= 1, "probability", "must be more than 0 and at most 1")

    def begin(self, actions: FaultActions) -> None:
        node = None if self.node is None else actions.resolve(self.node)
        change = {self.changes: self.probability}
        for sender, to in permutations(actions.nodes(), 2):
            if node in (None, sender, to):
                actions.set_link_profile(sender=sender, to=to, kind=self.kind, **change)


@fault
@dataclass(frozen=True, kw_only=True)
class MessageLoss(MessageFault):
    """Each message is lost with this `probability`."""

    name: ClassVar[str] = "message_loss"
    summary: ClassVar[str] = "messages between nodes are lost"
    changes: ClassVar[Literal["loss", "duplication", "reordering"]] = "loss"


@fault
@dataclass(frozen=True, kw_only=True)
class MessageDuplication(MessageFault):
    """Each message is delivered twice with this `probability`."""

    name: ClassVar[str] = "message_duplication"
    summary: ClassVar[str] = "messages between nodes are doubled"
    changes: ClassVar[Literal["loss", "duplication", "reordering"]] = "duplication"


@fault
@dataclass(frozen=True, kw_only=True)
class MessageReordering(MessageFault):
    """Each message is out of line with this `probability`.

    It then does not wait behind one that was sent before it and takes longer; where latency never
    varies there is nothing to overtake.
    """

    name: ClassVar[str] = "message_reordering"
    summary: ClassVar[str] = "messages between nodes overtake each other"
    changes: ClassVar[Literal["loss", "duplication", "reordering"]] = "reordering"
