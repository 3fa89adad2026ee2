"""The leader of a group hands over to another node."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.model.groups import META
from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import RUNNING, Claim, Fault, fault
from ddlsim.nemesis.roles import group_words


@fault
@dataclass(frozen=True, kw_only=True)
class LeaderTransfer(Fault):
    """The leader of `group` (`meta`, or a partition, `t/0`) hands over to `to` or the next voter.

    It happens at an instant; the new leader stays.
    """

    name: ClassVar[str] = "leader_transfer"
    summary: ClassVar[str] = "the leader of a group hands over to another node"
    targets: ClassVar[tuple[str, ...]] = ("to",)
    groups: ClassVar[tuple[str, ...]] = ("group",)
    instant: ClassVar[bool] = True
    planes: ClassVar[tuple[str, ...]] = ("ignite",)

    group: str = META
    to: str | None = None

    @property
    def told(self) -> str:
        to = "its next voter" if self.to is None else self.to
        return f"the leader of {group_words(self.group)} hands over to {to}"

    def claims(self) -> tuple[Claim, ...]:
        return () if self.to is None else (Claim(RUNNING, self.to, alone=False),)

    def begin(self, actions: FaultActions) -> None:
        actions.transfer(self.group, None if self.to is None else actions.resolve(self.to))
