"""A node's clock runs faster or slower than the others."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Claim, Fault, check, fault

MILLION = 1_000_000


@fault
@dataclass(frozen=True, kw_only=True)
class ClockDrift(Fault):
    """The drift is `ppm` parts per million; healed, the rate is as before, the offset stays."""

    name: ClassVar[str] = "clock_drift"
    summary: ClassVar[str] = "a node's clock runs faster or slower"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    ppm: int

    @property
    def told(self) -> str:
        pace = "faster" if self.ppm > 0 else "slower"
        return f"{self.node}'s clock runs {pace} by {abs(self.ppm)} ppm"

    def verify(self) -> None:
        check(-MILLION < self.ppm <= MILLION, "ppm", "must lie between -999999 and 1000000")
        check(self.ppm != 0, "ppm", "must not be 0")

    def claims(self) -> tuple[Claim, ...]:
        return (Claim("the rate of its clock", self.node),)

    def begin(self, actions: FaultActions) -> None:
        actions.clock_drift(actions.resolve(self.node), self.ppm)
