"""When each node was faulty: under a fault that names it, crashed, or still catching up after that.

A fault begins and heals, a node crashes and restarts; without that it is faulty to the end. Then it
stays faulty while messages that the fault delayed may be on their way, or a command that it made
slow is still being applied, and for a settling time, in which it catches up with what it missed.
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
    TrafficDelayed,
)
from ddlsim.model.groups import META

SLOW_LISTENER: Final = "slow_listener"
"""The fault that makes a node apply the meta storage slowly."""
EVERYWHERE: Final = ""
"""Stands for the cluster, where a fault does not say which nodes it touches."""


class FaultSpan(NamedTuple):
    """A span in which one node was faulty, and why."""

    from_us: int
    until_us: int
    why: str


class FaultyNodes:
    """When each node was faulty, in order."""

    def __init__(self, case: Case, settling_us: int) -> None:
        self.spans: dict[str, list[FaultSpan]] = {}
        self._settling_us = settling_us
        self._delays_us = _delays(case)
        self._open: dict[tuple[str, str], list[int]] = {}
        for event in sorted(case.faults, key=lambda one: one.at_us):
            why = event.fault if isinstance(event, FaultBegan | FaultHealed) else "crash"
            for node in _touched(event):
                if isinstance(event, FaultBegan | NodeCrashed):
                    self._open.setdefault((node, why), []).append(event.at_us)
                else:
                    self._end(node, why, event.at_us)
        for (node, why), begun in self._open.items():
            for _ in list(begun):
                self._end(node, why, case.history.end_us)
        for spans in self.spans.values():
            spans.sort()

    def _end(self, node: str, why: str, at_us: int) -> None:
        begun = self._open.get((node, why))
        if begun:
            until_us = at_us + self._delays_us.get((node, why), 0) + self._settling_us
            span = FaultSpan(begun.pop(0), until_us, why)
            self.spans.setdefault(node, []).append(span)

    def during(self, node: str, from_us: int, until_us: int) -> FaultSpan | None:
        """The first span of a node that overlaps a span of time, if any."""
        for name in (node, EVERYWHERE):
            for span in self.spans.get(name, ()):
                if span.from_us <= until_us and span.until_us >= from_us:
                    return span
        return None

    def any_of(self, nodes: Iterable[str], from_us: int, until_us: int) -> bool:
        """Whether one of several nodes was faulty within a span of time."""
        return any(self.during(node, from_us, until_us) is not None for node in nodes)

    def nodes(self, from_us: int, until_us: int) -> dict[str, FaultSpan]:
        """The nodes that were faulty within a span of time, and why."""
        found = {node: self.during(node, from_us, until_us) for node in self.spans}
        return {node: span for node, span in found.items() if span is not None}


class Leaders:
    """The leaders of the meta storage: by their elections, else the node of its first update."""

    def __init__(self, case: Case) -> None:
        elected = [e for _, e in case.of(LeaderElected) if e.group == META]
        self._from_us = [event.at_us for event in elected]
        first = [update.node for _, update in case.schemas.updates[:1]]
        self._nodes = [*first, *(event.node for event in elected)]
        self._offset = len(first)
        self._vacancies = list(_vacancies(case, first))

    def were_missing(self, from_us: int, until_us: int) -> bool:
        """Whether the meta storage had no leader at some time within a span."""
        return any(since <= until_us and to >= from_us for since, to in self._vacancies)

    def between(self, from_us: int, until_us: int) -> list[str]:
        """Every node that led at some time within a span."""
        low = bisect_left(self._from_us, from_us) - 1 + self._offset
        high = bisect_left(self._from_us, until_us + 1) - 1 + self._offset
        return self._nodes[max(low, 0) : high + 1]


def _vacancies(case: Case, first: list[str]) -> Iterator[tuple[int, int]]:
    """From each crash or stepping down of the meta storage's newest leader to the next election."""
    leader = first[0] if first else None
    term = since_us = None
    placed: list[Placed[LeaderElected | LeaderSteppedDown | NodeCrashed]]
    placed = [*case.of(LeaderElected), *case.of(LeaderSteppedDown), *case.of(NodeCrashed)]
    for _, event in sorted(placed, key=lambda each: each[0]):
        if not isinstance(event, NodeCrashed) and event.group != META:
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


def _delays(case: Case) -> dict[tuple[str, str], int]:
    """How late a fault's messages and commands may come after it has healed, by node and fault."""
    found: dict[tuple[str, str], int] = {}
    for _, begun in case.of(FaultBegan):
        if begun.fault == SLOW_LISTENER:
            for node in _touched(begun):
                found[node, begun.fault] = slow_apply_us(case)
    for _, event in case.of(TrafficDelayed):
        for node in event.nodes or (EVERYWHERE,):
            key = (node, event.fault)
            found[key] = max(found.get(key, 0), event.by_us)
    return found


def slow_apply_us(case: Case) -> int:
    """For how long a command that was being applied slowly may be behind the fault's end."""
    return case.of_cluster.get("slow_apply_us", 0)


def _touched(event: FaultBegan | FaultHealed | NodeCrashed | NodeRestarted) -> tuple[str, ...]:
    """The nodes that an event names; a fault that names none may concern any."""
    if isinstance(event, FaultBegan | FaultHealed) and event.nodes:
        return event.nodes
    return (event.node or EVERYWHERE,)
