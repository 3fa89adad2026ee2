"""A setting of one node is changed while the node runs."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Claim, Fault, check, fault


@fault
@dataclass(frozen=True, kw_only=True)
class SettingChange(Fault):
    """The setting `key` of `node` is `to` milliseconds; healed, it has its old value."""

    name: ClassVar[str] = "setting_change"
    summary: ClassVar[str] = "a node's DD or H is changed while it runs"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    key: Literal["delay_duration_ms", "safe_time_interval_ms"]
    to: int

    @property
    def told(self) -> str:
        return f"{self.key} of {self.node} is {self.to} ms"

    def verify(self) -> None:
        least = 1 if self.key == "safe_time_interval_ms" else 0
        check(self.to >= least, "to", f"must be at least {least}")

    def claims(self) -> tuple[Claim, ...]:
        return (Claim(f"its {self.key}", self.node),)

    def begin(self, actions: FaultActions) -> None:
        actions.set_setting(actions.resolve(self.node), self.key, self.to)
