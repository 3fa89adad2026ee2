"""What the figures of one run need of its history: spans of faults, activations, clocks, lags."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

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

MILLION = 1_000_000
Course = tuple[tuple[float, int], ...]
"""The values of a setting, each with the instant in ms from which it is in force."""


class Span(NamedTuple):
    """A fault from when to when, in milliseconds of the run; `nodes` are those that it hit."""

    fault: str
    nodes: tuple[str, ...]
    from_ms: float
    until_ms: float


class Done(NamedTuple):
    """One operation: its kind, when it was asked, how long it took, and how it ended."""

    kind: str
    at_ms: float
    took_ms: float
    ending: str


def title(history: History, shown: str) -> str:
    """The heading of a figure: the scenario, the seed and what is shown."""
    return f"{history.header.scenario}, seed {history.header.seed}: {shown}"


def faults(history: History) -> list[Span]:
    """Every fault; one that never healed lasts to the end."""
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
    """When each schema update activates on a clock that is right, and what it is about."""
    found = []
    for event in history.of(UpdateLogged):
        at_ms = physical_ms(Timestamp(event.activation_ts))
        if event.op is not None and 0 < at_ms <= history.end_us / US_PER_MS:
            found.append((float(at_ms), ", ".join(change.name for change in event.objects)))
    return found


def operations(history: History) -> Iterator[Done]:
    """Every operation that ended, in the order of the ends."""
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


def clock_offsets(history: History) -> dict[str, tuple[list[float], list[float]]]:
    """For every node: instants and the offset of its clock there, both in milliseconds."""
    pieces: dict[str, list[ClockSet]] = {}
    for event in history.of(ClockSet):
        pieces.setdefault(event.node, []).append(event)
    found: dict[str, tuple[list[float], list[float]]] = {}
    for node, each in sorted(pieces.items()):
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
    """For every node: instants in ms, and its clock less its schema safe time there, in ms.

    The lag grows as the node's clock runs and falls where safe time advances, so both sides of
    each step are given and the curve is straight between two instants. A look-up of the present
    waits where it is more than DD. The clock is the physical one: a hybrid clock that a faster
    node has pushed ahead lags more. NaN parts the curve while a node is crashed.
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
    return dict(sorted(found.items()))


class _Clock:
    """A clock's offset over time, from the corners of its curve."""

    def __init__(self, times: list[float], offsets: list[float]) -> None:
        self._times, self._offsets = times, offsets

    def at(self, at_ms: float, *, after_step: bool) -> float:
        """The offset at an instant, in ms; where it steps then, the side after or before."""
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
    """A setting of the cluster, or the largest of its nodes; None if there is none."""
    values = [of[name] for of in history.header.settings.values() if name in of]
    return max(values, default=None)


def setting_over_time(history: History, name: str) -> dict[tuple[str, ...], Course]:
    """A setting's course, by the nodes that share all of it."""
    changes: dict[str, list[tuple[float, int]]] = {
        node: [(0.0, of[name])] for node, of in history.header.settings.items() if name in of
    }
    for event in history.of(SettingChanged):
        if event.key == name and event.node in changes:
            changes[event.node].append((event.at_us / US_PER_MS, event.value))
    courses: dict[Course, list[str]] = {}
    for node, course in sorted(changes.items()):
        courses.setdefault(tuple(course), []).append(node)
    return {tuple(nodes): course for course, nodes in courses.items()}
