"""Fault actions that only note how they are called."""

from collections.abc import Callable, Sequence
from typing import Any

from ddlsim.nemesis.actions import Fate
from ddlsim.nemesis.roles import LEADER
from ddlsim.units import Micros

Call = tuple[Any, ...]


class NotedActions:
    """A cluster of three whose leader is n1 and whose every primary is n2."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def nodes(self) -> Sequence[str]:
        return ("n1", "n2", "n3")

    def resolve(self, role: str) -> str:
        if role == LEADER:
            return "n1"
        return "n2" if role.startswith("primary of") else role

    def later(self, by_us: Micros, call: Callable[[], None]) -> None:
        """Called at once; the delay is noted."""
        self.calls.append(("later", by_us))
        call()

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        self.calls.append(("delay", sender, to, kind, by_us))

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        self.calls.append(("hold", sender, to, kind))

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        self.calls.append(("block", sender, to, kind))

    def set_link_profile(
        self,
        *,
        sender: str | None,
        to: str | None,
        kind: str | None,
        loss: float | None = None,
        duplication: float | None = None,
        reordering: float | None = None,
    ) -> None:
        self.calls.append(("link", sender, to, kind, loss, duplication, reordering))

    def strike_next(
        self, fate: Fate, *, count: int, sender: str | None, to: str | None, kind: str
    ) -> None:
        self.calls.append(("strike", *fate, count, sender, to, kind))

    def strike_its_message(self, fate: Fate) -> None:
        self.calls.append(("strike", *fate))

    def cut_off(self, node: str) -> None:
        self.calls.append(("cut", node))

    def reconnect(self, node: str) -> None:
        self.calls.append(("reconnect", node))

    def clock_beyond(self, node: str, by_us: int) -> None:
        self.calls.append(("beyond", node, by_us))

    def crash(self, node: str, *, torn: int | None) -> None:
        self.calls.append(("crash", node, torn))

    def slow_disk(self, node: str, by_us: Micros) -> None:
        self.calls.append(("disk", node, by_us))

    def set_setting(self, node: str, key: str, value: int) -> None:
        self.calls.append(("set", node, key, value))

    def transfer(self, group: str, to: str | None) -> None:
        self.calls.append(("transfer", group, to))

    def re_elect(self, group: str, rival: int) -> None:
        self.calls.append(("re-elect", group, rival))

    def expire_lease(self, place: str) -> None:
        self.calls.append(("expire", place))

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        self.calls.append(("step", node, by_us, returns))

    def clock_drift(self, node: str, ppm: int) -> None:
        self.calls.append(("drift", node, ppm))

    def pause(self, node: str) -> None:
        self.calls.append(("pause", node))

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        self.calls.append(("slow", node, stage, delay_us))

    def undo(self) -> None:
        self.calls.append(("undo",))


class Picks:
    """Dice that give what they are told to."""

    def __init__(self, *picks: int) -> None:
        self._picks = list(picks)

    def below(self, bound: int) -> int:
        pick = self._picks.pop(0)
        assert pick < bound
        return pick
