"""A node's clock jumps, forwards or back, as when its time service corrects it."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.units import SignedMs, ms


@fault
@dataclass(frozen=True, kw_only=True)
class ClockStep(Fault):
    """The clock jumps by `by_ms`; healed, it jumps back, unless the offset `stays`."""

    name: ClassVar[str] = "clock_step"
    summary: ClassVar[str] = "a node's clock jumps, forwards or back"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    by_ms: SignedMs
    stays: bool = False

    @property
    def told(self) -> str:
        where = "forwards" if self.by_ms > 0 else "back"
        stays = ", for good" if self.stays else ""
        return f"{self.node}'s clock jumps {where} by {abs(self.by_ms):g} ms{stays}"

    def verify(self) -> None:
        check(self.by_ms != 0, "by_ms", "must not be 0")

    def begin(self, actions: FaultActions) -> None:
        actions.clock_step(actions.resolve(self.node), ms(self.by_ms), returns=not self.stays)
