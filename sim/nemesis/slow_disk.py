"""A node's disk is slow to sync."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.units import Ms, ms


@fault
@dataclass(frozen=True, kw_only=True)
class SlowDisk(Fault):
    """Every sync takes `delay_ms` longer, and so does what waits for it."""

    name: ClassVar[str] = "slow_disk"
    summary: ClassVar[str] = "a node's disk takes its time to sync"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    delay_ms: Ms

    @property
    def told(self) -> str:
        return f"{self.node}'s disk takes {self.delay_ms:g} ms longer for each sync"

    def verify(self) -> None:
        check(self.delay_ms > 0, "delay_ms", "must be more than 0")

    def begin(self, actions: FaultActions) -> None:
        actions.slow_disk(actions.resolve(self.node), ms(self.delay_ms))
