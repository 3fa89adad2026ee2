"""Levers that only write down how they are pulled."""

from collections.abc import Sequence
from typing import Any

from sim.nemesis.base import LEADER
from sim.units import Micros

Pull = tuple[Any, ...]


class NotedLevers:
    """A cluster of three whose leader is n1 and whose every primary is n2."""

    def __init__(self) -> None:
        self.pulls: list[Pull] = []

    def nodes(self) -> Sequence[str]:
        return ("n1", "n2", "n3")

    def resolve(self, role: str) -> str:
        if role == LEADER:
            return "n1"
        return "n2" if role.startswith("primary of") else role

    def delay_traffic(
        self, *, sender: str | None, to: str | None, kind: str | None, by_us: Micros
    ) -> None:
        self.pulls.append(("delay", sender, to, kind, by_us))

    def hold_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        self.pulls.append(("hold", sender, to, kind))

    def block_traffic(self, *, sender: str | None, to: str | None, kind: str | None) -> None:
        self.pulls.append(("block", sender, to, kind))

    def set_weather(
        self,
        *,
        sender: str | None,
        to: str | None,
        kind: str | None,
        loss: float | None = None,
        duplication: float | None = None,
    ) -> None:
        self.pulls.append(("weather", sender, to, kind, loss, duplication))

    def clock_step(self, node: str, by_us: int, *, returns: bool) -> None:
        self.pulls.append(("step", node, by_us, returns))

    def clock_drift(self, node: str, ppm: int) -> None:
        self.pulls.append(("drift", node, ppm))

    def pause(self, node: str) -> None:
        self.pulls.append(("pause", node))

    def slow_apply(self, node: str, stage: str, delay_us: Micros) -> None:
        self.pulls.append(("slow", node, stage, delay_us))

    def release(self) -> None:
        self.pulls.append(("release",))


class Picks:
    """Dice that give what they are told to."""

    def __init__(self, *picks: int) -> None:
        self._picks = list(picks)

    def below(self, bound: int) -> int:
        pick = self._picks.pop(0)
        assert pick < bound
        return pick
