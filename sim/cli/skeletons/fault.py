"""A fault: what happens to the cluster between `from_ms` and the end of `for_ms`.

Its fields are the other keys of its `[[faults]]` table in a scenario. What it may do is in
`ddlsim.nemesis.actions.FaultActions`; when it ends, all that it did is undone.
"""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.units import ms


@fault
@dataclass(frozen=True, kw_only=True)
class MyFault(Fault):
    """All messages to a node arrive `by_ms` later."""

    name: ClassVar[str] = "my_fault"
    summary: ClassVar[str] = "messages to a node arrive later"
    targets: ClassVar[tuple[str, ...]] = ("node",)  # fields that name a node or a role

    node: str
    by_ms: float = 50

    def verify(self) -> None:
        check(self.by_ms >= 0, "by_ms", "must not be negative")

    def begin(self, actions: FaultActions) -> None:
        node = actions.resolve(self.node)
        actions.delay_traffic(sender=None, to=node, kind=None, by_us=ms(self.by_ms))
