"""A primary loses its lease, since the placement driver does not renew it."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, fault
from ddlsim.nemesis.roles import group_words


@fault
@dataclass(frozen=True, kw_only=True)
class LeaseLoss(Fault):
    """The lease of a partition (`t/0`; `t` is its partition 0) runs out.

    While the fault lasts the placement driver renews no lease of it; then the partition gets a
    primary again, the same or another.
    """

    name: ClassVar[str] = "lease_loss"
    summary: ClassVar[str] = "a partition's primary loses its lease"
    places: ClassVar[tuple[str, ...]] = ("place",)
    planes: ClassVar[tuple[str, ...]] = ("ignite",)

    place: str

    @property
    def told(self) -> str:
        return f"the placement driver does not renew the lease of {group_words(self.place)}"

    def begin(self, actions: FaultActions) -> None:
        actions.expire_lease(self.place)
