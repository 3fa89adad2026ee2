"""When each node was sick: under a fault that names it, dead, or not yet recovered from either.

A fault begins and heals, a node dies and is restarted; a node that never is, is sick to the end.
After that it stays sick for a settling time, in which it catches up with what it missed.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ddlsim.checkers.case.case import Case, Placed
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaderElected,
    LeaderSteppedDown,
    NodeCrashed,
    NodeRestarted,
)

EVERYWHERE: Final = ""
"""Stands for the cluster, where a fault does not say which nodes it touches."""


class Spell(NamedTuple):
    """One time of sickness of one node, from and until."""

    from_us: int
    until_us: int
    why: str


class Sickness:
    """Every node's spells of sickness, in order."""

    def __init__(self, case: Case, settling_us: int) -> None:
        self.spells: dict[str, list[Spell]] = {}
        self._settling_us = settling_us
        self._open: dict[tuple[str, str], list[int]] = {}
        for event in sorted(case.sick, key=lambda one: one.at_us):
            why = event.fault if isinstance(event, FaultBegan | FaultHealed) else "crash"
            for node in _touched(event):
                if isinstance(event, FaultBegan | NodeCrashed):
                    self._open.setdefault((node, why), []).append(event.at_us)
                else:
                    self._end(node, why, event.at_us)
        for (node, why), begun in self._open.items():
            for _ in list(begun):
                self._end(node, why, case.history.end_us)
        for spells in self.spells.values():
            spells.sort()

    def _end(self, node: str, why: str, at_us: int) -> None:
        begun = self._open.get((node, why))
        if begun:
            spell = Spell(begun.pop(0), at_us + self._settling_us, why)
            self.spells.setdefault(node, []).append(spell)

    def during(self, node: str, from_us: int, until_us: int) -> Spell | None:
        """A node's sickness within a stretch of time, if any."""
        for name in (node, EVERYWHERE):
            for spell in self.spells.get(name, ()):
                if spell.from_us <= until_us and spell.until_us >= from_us:
                    return spell
        return None

    def any_of(self, nodes: Iterable[str], from_us: int, until_us: int) -> bool:
        """Whether one of several nodes was sick within a stretch of time."""
        return any(self.during(node, from_us, until_us) is not None for node in nodes)

    def patients(self, from_us: int, until_us: int) -> dict[str, Spell]:
        """The nodes that were sick within a stretch of time, and how."""
        found = {node: self.during(node, from_us, until_us) for node in self.spells}
        return {node: spell for node, spell in found.items() if spell is not None}


class Leaders:
    """Who led the meta storage: as it was told, else whoever logged its first update."""

    def __init__(self, case: Case) -> None:
        elected = [e for _, e in case.of(LeaderElected) if e.group == "meta"]
        self._from_us = [event.at_us for event in elected]
        first = [update.node for _, update in case.schemas.updates[:1]]
        self._nodes = [*first, *(event.node for event in elected)]
        self._offset = len(first)
        self._vacancies = list(_vacancies(case, first))

    def were_missing(self, from_us: int, until_us: int) -> bool:
        """Whether the meta storage had no leader at some time within a stretch."""
        return any(since <= until_us and to >= from_us for since, to in self._vacancies)

    def between(self, from_us: int, until_us: int) -> list[str]:
        """Everybody who led at some time within a stretch."""
        low = bisect_left(self._from_us, from_us) - 1 + self._offset
        high = bisect_left(self._from_us, until_us + 1) - 1 + self._offset
        return self._nodes[max(low, 0) : high + 1]


def _vacancies(case: Case, first: list[str]) -> Iterator[tuple[int, int]]:
    """From each death or stepping down of the meta storage's newest leader to the next election."""
    leader = first[0] if first else None
    term = since_us = None
    placed: list[Placed[LeaderElected | LeaderSteppedDown | NodeCrashed]]
    placed = [*case.of(LeaderElected), *case.of(LeaderSteppedDown), *case.of(NodeCrashed)]
    for _, event in sorted(placed, key=lambda each: each[0]):
        if not isinstance(event, NodeCrashed) and event.group != "meta":
            continue
        if isinstance(event, LeaderElected):
            if since_us is not None:
                yield since_us, event.at_us
            leader, term, since_us = event.node, event.term, None
        elif event.node == leader and since_us is None:
            newest = isinstance(event, NodeCrashed) or term in {None, event.term}
            since_us = event.at_us if newest else None
    if since_us is not None:
        yield since_us, case.history.end_us


def _touched(event: FaultBegan | FaultHealed | NodeCrashed | NodeRestarted) -> tuple[str, ...]:
    """The nodes that an event is about; a fault that does not tell them may mean any."""
    if isinstance(event, FaultBegan | FaultHealed) and event.nodes:
        return event.nodes
    return (event.node or EVERYWHERE,)
