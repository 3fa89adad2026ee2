"""A node's clock leaves the bound that all rules rely on.  [98.x.3]"""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Claim, Fault, check, fault
from ddlsim.units import Ms, ms


@fault
@dataclass(frozen=True, kw_only=True)
class ClockSkewBeyond(Fault):
    """The clock is CSmax + `beyond_ms` ahead of true time, or behind it if `behind`.

    Claims that need the bound are out of assumption from then on. When the fault heals, the clock
    jumps back by as much.
    """

    name: ClassVar[str] = "clock_skew_beyond"
    summary: ClassVar[str] = "a node's clock is wrong by more than CSmax"
    source: ClassVar[str] = "IEP-98, what CSmax is needed for"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    beyond_ms: Ms
    behind: bool = False

    @property
    def told(self) -> str:
        where = "behind" if self.behind else "ahead of"
        return f"{self.node}'s clock is CSmax + {self.beyond_ms:g} ms {where} true time"

    def verify(self) -> None:
        check(self.beyond_ms > 0, "beyond_ms", "must be more than 0")

    def claims(self) -> tuple[Claim, ...]:
        return (Claim("what its clock shows", self.node),)

    def begin(self, actions: FaultActions) -> None:
        by_us = ms(self.beyond_ms)
        actions.clock_beyond(actions.resolve(self.node), -by_us if self.behind else by_us)
