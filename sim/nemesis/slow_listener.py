"""A node receives its meta storage log in time, but applies it slowly."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.units import Ms, ms


@fault
@dataclass(frozen=True, kw_only=True)
class SlowListener(Fault):
    """Every command takes `delay_ms` longer at a stage: the log, the catalog, or its listeners."""

    name: ClassVar[str] = "slow_listener"
    summary: ClassVar[str] = "a node applies its meta storage log slowly"
    source: ClassVar[str] = "IGNITE-25286: a slow listener froze transactions"
    targets: ClassVar[tuple[str, ...]] = ("node",)
    planes: ClassVar[tuple[str, ...]] = ("ignite",)

    node: str
    delay_ms: Ms
    stage: Literal["log", "catalog", "listener"] = "listener"

    @property
    def told(self) -> str:
        where = {"log": "in the log", "catalog": "in the catalog", "listener": "in its listeners"}
        what = f"each command of the meta storage takes {self.delay_ms:g} ms longer"
        return f"{what} on {self.node}, {where[self.stage]}"

    def verify(self) -> None:
        check(self.delay_ms > 0, "delay_ms", "must be more than 0")

    def begin(self, actions: FaultActions) -> None:
        actions.slow_apply(actions.resolve(self.node), self.stage, ms(self.delay_ms))
