"""What the figures of one run need of its history: spans of faults, activations, clocks, lags."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sim.history.events import (
    Failed,
    Invoked,
    Ok,
    SafeTimeAdvanced,
    Unknown,
    UpdateLogged,
)
from sim.history.history import History
from sim.history.world_events import ClockSet, FaultBegan, FaultHealed
from sim.units import US_PER_MS, Timestamp, physical_ms

MILLION = 1_000_000


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
    """For every node: instants, and by how much its schema safe time lagged behind the newest.

    Just before a node advances it lags most, so both sides of every step are given.
    """
    newest = 0
    known: dict[str, int] = {}
    found: dict[str, tuple[list[float], list[float]]] = {}
    for event in history.of(SafeTimeAdvanced):
        newest = max(newest, physical_ms(Timestamp(event.safe_ts)))
        before = known.get(event.node)
        times, behind = found.setdefault(event.node, ([], []))
        at_ms = event.at_us / US_PER_MS
        if before is not None:
            times.append(at_ms)
            behind.append(newest - before)
        known[event.node] = physical_ms(Timestamp(event.safe_ts))
        times.append(at_ms)
        behind.append(newest - known[event.node])
    return dict(sorted(found.items()))


def setting(history: History, name: str) -> Any:
    """A setting of the cluster, or the largest of its nodes; None if there is none."""
    values = [of[name] for of in history.header.settings.values() if name in of]
    return max(values, default=None)
