"""The leader of a group steps down and is elected again, in a new term."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.model.groups import META
from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.nemesis.roles import group_words


@fault
@dataclass(frozen=True, kw_only=True)
class ReElection(Fault):
    """The leader of `group` (`meta`, or a partition, `t/0`) is elected anew.

    The same node leads again: what it began in its old term must not count in its new one. With a
    `rival` another voter stands for election at the same instant, the next one after the leader
    (1), or a later one (2, 3, ...), as if its election timeout had ended; either may win.
    It happens at an instant; there is nothing to heal.
    """

    name: ClassVar[str] = "re_election"
    summary: ClassVar[str] = "the same leader again, in a new term, or a rival"
    groups: ClassVar[tuple[str, ...]] = ("group",)
    instant: ClassVar[bool] = True
    planes: ClassVar[tuple[str, ...]] = ("ignite",)

    group: str = META
    rival: int = 0

    @property
    def told(self) -> str:
        stands = f"the leader of {group_words(self.group)} steps down and stands for election"
        which = {0: "", 1: "next", 2: "second", 3: "third"}.get(self.rival, f"{self.rival}th")
        return f"{stands}, and so does the {which} voter behind it" if self.rival else stands

    def verify(self) -> None:
        check(self.rival >= 0, "rival", "must not be negative")

    def begin(self, actions: FaultActions) -> None:
        actions.re_elect(self.group, self.rival)
