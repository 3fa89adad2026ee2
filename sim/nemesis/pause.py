"""A node stands still for a while, as in a long garbage collection, and then goes on."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import (
    LIFE,
    Claim,
    Fault,
    fault,
)


@fault
@dataclass(frozen=True, kw_only=True)
class Pause(Fault):
    """Nothing runs on the node; its clock goes on, and messages wait for it."""

    name: ClassVar[str] = "pause"
    summary: ClassVar[str] = "a node stands still for a while"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str

    def claims(self) -> tuple[Claim, ...]:
        return (Claim(LIFE, self.node, alone=False),)

    def begin(self, actions: FaultActions) -> None:
        actions.pause(actions.resolve(self.node))
