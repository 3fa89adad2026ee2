"""One node's meta storage falls behind; nothing else does.  [98.risk.2]"""

from dataclasses import dataclass
from typing import ClassVar, Final

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.units import Ms, ms

REPLICATION: Final = "append-entries"


@fault
@dataclass(frozen=True, kw_only=True)
class LearnerLag(Fault):
    """The log does not reach the node, or `delay_ms` late; when it heals, all of it arrives."""

    name: ClassVar[str] = "learner_lag"
    summary: ClassVar[str] = "one node's meta storage falls behind; nothing else does"
    source: ClassVar[str] = "IEP-98, Risks [98.risk.2]"
    targets: ClassVar[tuple[str, ...]] = ("node",)

    node: str
    delay_ms: Ms | None = None

    @property
    def told(self) -> str:
        if self.delay_ms is None:
            return f"the meta storage log does not reach {self.node}"
        return f"the meta storage log reaches {self.node} {self.delay_ms:g} ms late"

    def verify(self) -> None:
        check(self.delay_ms is None or self.delay_ms > 0, "delay_ms", "must be more than 0")

    def begin(self, actions: FaultActions) -> None:
        to = actions.resolve(self.node)
        if self.delay_ms is None:
            actions.hold_traffic(sender=None, to=to, kind=REPLICATION)
        else:
            actions.delay_traffic(sender=None, to=to, kind=REPLICATION, by_us=ms(self.delay_ms))
