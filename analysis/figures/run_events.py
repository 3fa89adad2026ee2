"""Extracts from a history what figures of one run show: faults, activations, clocks, lags."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

from ddlsim.escape import natural
from ddlsim.history.events import Failed, Invoked, Ok, SafeTimeAdvanced, Unknown, UpdateLogged
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    ClockSet,
    FaultBegan,
    FaultHealed,
    NodeCrashed,
    SettingChanged,
)
from ddlsim.units import US_PER_MS, Timestamp, physical_ms

T = TypeVar("T")
MILLION = 1_000_000
Course = tuple[tuple[float, int], ...]
"""The values of a setting, each with the time in ms from which it applies."""


class Span(NamedTuple):
    """The duration of a fault in ms of the run, and the nodes that it affects."""

    fault: str
    nodes: tuple[str, ...]
    from_ms: float
    until_ms: float


class Done(NamedTuple):
    """One operation: its kind, the time of its request, its latency, and its outcome."""

    kind: str
    at_ms: float
    took_ms: float
    ending: str


def title(history: History, shown: str) -> str:
    """The heading of a figure: the scenario, the seed and what is shown."""
    return f"{history.header.scenario}, seed {history.header.seed}: {shown}"


def faults(history: History) -> list[Span]:
    """Every fault; one that does not heal lasts to the end of the run."""
    begun: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    spans: list[Span] = []
    for event in history.events:
        if isinstance(event, FaultBegan):
            begun.setdefault((event.fault, event.nodes), []).append(event.at_us / US_PER_MS)
        elif isinstance(event, FaultHealed) and begun.get((event.fault, event.nodes)):
            since = begun[event.fault, event.nodes].pop(0)
            spans.append(Span(event.fault, event.nodes, since, event.at_us / US_PER_MS))
    end = history.end_us / US_PER_MS
    for (fault, nodes), left in begun.items():
        spans += [Span(fault, nodes, since, end) for since in left]
    return sorted(spans, key=lambda span: span.from_ms)


def activations(history: History) -> list[tuple[float, str]]:
    """The time of each schema update's activation on a correct clock, and its objects."""
    found = []
    for event in history.of(UpdateLogged):
        at_ms = physical_ms(Timestamp(event.activation_ts))
        if event.op is not None and 0 < at_ms <= history.end_us / US_PER_MS:
            found.append((float(at_ms), ", ".join(change.name for change in event.objects)))
    return found


def operations(history: History) -> Iterator[Done]:
    """Every completed operation, in the order of completion."""
    asked: dict[str, Invoked] = {}
    for event in history.events:
        if isinstance(event, Invoked):
            asked[event.op] = event
        elif isinstance(event, Ok | Failed | Unknown) and event.op in asked:
            began = asked.pop(event.op)
            ending = "ok" if isinstance(event, Ok) else event.reason
            if isinstance(event, Unknown):
                ending = "unknown"
            took_ms = (event.at_us - began.at_us) / US_PER_MS
            yield Done(began.kind, began.at_us / US_PER_MS, took_ms, ending)


def _by_node(found: dict[str, T]) -> list[tuple[str, T]]:
    return sorted(found.items(), key=lambda one: natural(one[0]))


def clock_offsets(history: History) -> dict[str, tuple[list[float], list[float]]]:
    """For every node: times and the offsets of its clock then, both in ms."""
    pieces: dict[str, list[ClockSet]] = {}
    for event in history.of(ClockSet):
        pieces.setdefault(event.node, []).append(event)
    found: dict[str, tuple[list[float], list[float]]] = {}
    for node, each in _by_node(pieces):
        times: list[float] = []
        offsets: list[float] = []
        ends = [piece.at_us for piece in each[1:]] + [history.end_us]
        for piece, end in zip(each, ends, strict=True):
            for at_us in (piece.at_us, end):
                drifted = (at_us - piece.at_us) * piece.drift_ppm / MILLION
                times.append(at_us / US_PER_MS)
                offsets.append((piece.offset_us + drifted) / US_PER_MS)
        found[node] = (times, offsets)
    return found


def lags(history: History) -> dict[str, tuple[list[float], list[float]]]:
    """For every node: times in ms, and its clock minus its schema safe time then, in ms.

    The lag grows with the node's clock and falls where safe time advances: both sides of each step
    are given, and the curve is linear between two times. A look-up at Top waits where the lag
    exceeds DD. The clock is the physical one; a hybrid clock that a faster node has advanced lags
    more. The curve is NaN while a node is crashed.
    """
    offsets = {node: _Clock(*curve) for node, curve in clock_offsets(history).items()}
    known: dict[str, int] = {}
    found: dict[str, tuple[list[float], list[float]]] = {}

    def point(node: str, at_ms: float, *, after_step: bool = True) -> None:
        times, lag = found.setdefault(node, ([], []))
        times.append(at_ms)
        ahead = offsets[node].at(at_ms, after_step=after_step) if node in offsets else 0.0
        lag.append(at_ms + ahead - known[node] if node in known else math.nan)

    for event in history.of(SafeTimeAdvanced, ClockSet, NodeCrashed):
        at_ms = event.at_us / US_PER_MS
        if event.node in known:
            point(event.node, at_ms, after_step=False)
        if type(event) is SafeTimeAdvanced:
            known[event.node] = physical_ms(Timestamp(event.safe_ts))
        elif type(event) is NodeCrashed:
            known.pop(event.node, None)
        if event.node in found or event.node in known:
            point(event.node, at_ms)
    for node in known:
        point(node, history.end_us / US_PER_MS)
    return dict(_by_node(found))


class _Clock:
    """A clock's offset over time, from the corners of its curve."""

    def __init__(self, times: list[float], offsets: list[float]) -> None:
        self._times, self._offsets = times, offsets

    def at(self, at_ms: float, *, after_step: bool) -> float:
        """The offset at a time, in ms; at a step the value after it or before it."""
        times, offsets = self._times, self._offsets
        place = (bisect_right if after_step else bisect_left)(times, at_ms)
        if place == 0:
            return offsets[0]
        if place == len(times):
            return offsets[-1]
        since, until = times[place - 1], times[place]
        share = (at_ms - since) / (until - since) if until > since else 1.0
        return offsets[place - 1] + share * (offsets[place] - offsets[place - 1])


def setting(history: History, name: str) -> Any:
    """The largest value of a setting over all nodes; None where none has it."""
    values = [of[name] for of in history.header.settings.values() if name in of]
    return max(values, default=None)


def setting_over_time(history: History, name: str) -> dict[tuple[str, ...], Course]:
    """The values of a setting over time, by the nodes that share them."""
    changes: dict[str, list[tuple[float, int]]] = {
        node: [(0.0, of[name])] for node, of in history.header.settings.items() if name in of
    }
    for event in history.of(SettingChanged):
        if event.key == name and event.node in changes:
            changes[event.node].append((event.at_us / US_PER_MS, event.value))
    courses: dict[Course, list[str]] = {}
    for node, course in _by_node(changes):
        courses.setdefault(tuple(course), []).append(node)
    return {tuple(nodes): course for course, nodes in courses.items()}
