"""A node stops for a while, as in a long garbage collection, and then resumes."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import RUNNING, Claim, Fault, fault


@fault
@dataclass(frozen=True, kw_only=True)
class Pause(Fault):
    """Tasks, timers and deliveries of the node are postponed; its clock goes on."""

    name: ClassVar[str] = "pause"
    summary: ClassVar[str] = "a node stands still for a while"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str

    @property
    def told(self) -> str:
        return f"{self.node} stands still"

    def claims(self) -> tuple[Claim, ...]:
        return (Claim(RUNNING, self.node, alone=False),)

    def begin(self, actions: FaultActions) -> None:
        actions.pause(actions.resolve(self.node))
