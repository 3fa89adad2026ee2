"""Messages between nodes get lost."""

from dataclasses import dataclass
from itertools import permutations
from typing import ClassVar

from ddlsim.nemesis.base import (
    Fault,
    check,
    fault,
)
from ddlsim.nemesis.levers import Levers


@fault
@dataclass(frozen=True, kw_only=True)
class MessageLoss(Fault):
    """Each is lost with this `probability`: all, or those that `node` sends or is sent.

    `kind` narrows it to one kind of message. What clients send and are sent is left alone.
    """

    name: ClassVar[str] = "message_loss"
    summary: ClassVar[str] = "messages between nodes are lost"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    probability: float
    node: str | None = None
    kind: str | None = None

    def verify(self) -> None:
        check(0 < self.probability <= 1, "probability", "must be more than 0 and at most 1")

    def begin(self, levers: Levers) -> None:
        node = None if self.node is None else levers.resolve(self.node)
        for sender, to in permutations(levers.nodes(), 2):
            if node in (None, sender, to):
                levers.set_link_profile(sender=sender, to=to, kind=self.kind, loss=self.probability)
