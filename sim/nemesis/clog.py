"""Links are very slow: no message is lost, all are late."""

from dataclasses import dataclass
from typing import ClassVar

from ddlsim.nemesis.actions import FaultActions
from ddlsim.nemesis.base import Fault, check, fault
from ddlsim.units import Micros, Ms, ms


@fault
@dataclass(frozen=True, kw_only=True)
class Clog(Fault):
    """Messages from `node` to node `to`, or to every other node, take `delay_ms` longer.

    `both_ways` delays the way back as well; `kind` narrows it to one kind of message. Messages from
    and to clients are left alone.
    """

    name: ClassVar[str] = "clog"
    summary: ClassVar[str] = "a link becomes very slow, or all links of a node"
    targets: ClassVar[tuple[str, ...]] = ("node", "to")

    node: str
    to: str | None = None
    delay_ms: Ms
    both_ways: bool = False
    kind: str | None = None

    @property
    def told(self) -> str:
        what = f"{self.kind} messages" if self.kind else "messages"
        to, link = self.to or "every other node", f"from {self.node} to"
        link = f"between {self.node} and" if self.both_ways else link
        return f"{what} {link} {to} take {self.delay_ms:g} ms longer"

    def verify(self) -> None:
        check(self.delay_ms > 0, "delay_ms", "must be more than 0")
        check(self.to is None or self.to != self.node, "to", f"is {self.node} itself")

    def begin(self, actions: FaultActions) -> None:
        node = actions.resolve(self.node)
        ends = actions.nodes() if self.to is None else (actions.resolve(self.to),)
        by_us = ms(self.delay_ms)
        for end in ends:
            if end != node:
                self._clog(actions, node, end, by_us)
                if self.both_ways:
                    self._clog(actions, end, node, by_us)

    def _clog(self, actions: FaultActions, sender: str, to: str, by_us: Micros) -> None:
        actions.delay_traffic(sender=sender, to=to, kind=self.kind, by_us=by_us)
