"""Passes over instants: brought forward, rounded, or replaced by what comes before."""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import pairwise
from math import ceil
from typing import Any, Final

from ddlsim.history.world_events import FaultBegan
from ddlsim.nemesis.base import FAULTS
from ddlsim.nemesis.roles import OF_MOMENTS
from ddlsim.shrink.candidates import Candidates, each, every
from ddlsim.shrink.data import STAGING, Data, Table, edited, steps_of, with_table, without_steps
from ddlsim.shrink.fault_words import begun_of
from ddlsim.shrink.trial import Failure, Shown
from ddlsim.units import US_PER_MS

GRIDS_MS: Final = (100, 50, 10, 5, 1)
"""What instants are rounded to, the roundest first."""
GAPS_MS: Final = (0, 1, 10, 100)
"""The gaps between two instants that are tried."""
MORE_MS: Final = (1, 100)
"""How long a drain may go on behind a violation, at least."""
SHARES: Final = (0.125, 0.5, 0.75)
"""A drain that a stuck run uses up is tried at these shares of its length."""
EARLY_MS: Final = (0, 1, -1)
"""How much earlier than its moment a fault begins that has an instant; or later."""
NEVER_US: Final = 1 << 62
"""When a step was issued that was not."""
MOST_STEPS: Final = 40
"""Of more steps none is left out alone while the others stay at their instants."""
INSTANTS: Final = ("at_ms", "from_ms", "until_ms")
Place = tuple[Table, str]
"""A table of the timeline and the key of an instant in it."""


def _instants(data: Data) -> Iterator[Place]:
    """Every instant of the timeline."""
    for name in ("step", *STAGING):
        for table in data.get(name, []):
            for key in INSTANTS:
                if isinstance(table.get(key), int | float):
                    yield table, key


def earlier(best: Shown, failure: Failure) -> Candidates:
    """Everything from an instant on, brought forward to the one before."""
    del failure
    times = sorted({0, *(table[key] for table, key in _instants(best.data))})
    shift = 0.0
    data = best.data
    for before_ms, at_ms in pairwise(times):
        for gap_ms in GAPS_MS:
            by_ms = at_ms - before_ms - gap_ms
            if by_ms < 1:
                break
            whole = int(by_ms)
            candidate = _moved(data, at_ms - shift, whole)
            if (yield candidate):
                data = candidate
                shift += whole
                break


def _moved(data: Data, from_ms: float, by_ms: float) -> Data:
    """Every instant from one on moved forward; faults that began before it end earlier."""

    def move(copy: Data) -> None:
        for table, key in list(_instants(copy)):
            if table[key] >= from_ms - 1e-9:
                table[key] = _neat(table[key] - by_ms)
        for table in copy.get("faults", []):
            begins, lasts = table.get("from_ms", 0), table.get("for_ms")
            if isinstance(lasts, int | float) and begins < from_ms <= begins + lasts:
                table["for_ms"] = _neat(max(lasts - by_ms, 1))
        run = copy.get("run", {})
        if "load_ms" in run:
            run["load_ms"] = _neat(max(run["load_ms"] - by_ms, 1))

    return edited(data, move)


def _neat(number: float) -> float | int:
    """Whole numbers as integers, others to the microsecond."""
    rounded = round(number, 3)
    return int(rounded) if rounded == int(rounded) else rounded


def lengths(best: Shown, failure: Failure) -> Candidates:
    """A load and a drain that end soon behind the violation: candidates that get stuck end sooner.

    They stay until the last passes: where something is left open, runs last no longer then, and
    many more are tried.
    """
    run = best.data.get("run", {})
    if not {"load_ms", "drain_ms"} <= {*run}:
        yield from default_lengths(best, failure)
        return
    over_ms = max(ceil(best.ends_us / US_PER_MS - run["load_ms"]), 0)
    lengths_ms = [one for more in MORE_MS if (one := over_ms + more) < run["drain_ms"]]
    yield from each([with_table(best.data, "run", run | {"drain_ms": one}) for one in lengths_ms])


def default_lengths(best: Shown, failure: Failure) -> Candidates:
    """Load and drain as long as what is planned needs."""
    del failure
    run = best.data.get("run", {})
    loads = {key: value for key, value in run.items() if key == "load_ms"}
    yield from each([with_table(best.data, "run", table) for table in ({}, loads) if table != run])


def drain(best: Shown, failure: Failure) -> Candidates:
    """A shorter drain, where a stuck run has used it up: what never ends is judged by a bound."""
    del failure
    run = best.data.get("run", {})
    if not {"load_ms", "drain_ms"} <= {*run}:
        return
    if best.history.end_us >= (run["load_ms"] + run["drain_ms"]) * US_PER_MS:
        lengths_ms = [ceil(run["drain_ms"] * share) for share in SHARES]
        yield from each(
            [with_table(best.data, "run", run | {"drain_ms": one}) for one in lengths_ms]
        )


def rounded(best: Shown, failure: Failure) -> Candidates:
    """Instants and durations as round numbers: all of them, then each."""
    del failure
    data = best.data
    for grid in GRIDS_MS:
        candidate = edited(data, partial(_round_all, grid=grid))
        if (yield candidate):
            data = candidate
            break
    paths = list(_number_paths(data))
    edits = [_rounding(path, grid) for path in paths for grid in GRIDS_MS]
    yield from every(data, edits)


def _round_all(data: Data, grid: int) -> None:
    for table, key in _instants(data):
        table[key] = round(table[key] / grid) * grid


def _number_paths(data: Data) -> Iterator[tuple[str | int, ...]]:
    """Every number of the scenario outside of what steps do."""

    def walk(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        if isinstance(value, dict | list):
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            for key, item in inner:
                if key != "do":
                    yield from walk(item, (*path, key))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield path

    return walk(data, ())


def _rounding(path: tuple[str | int, ...], grid: int) -> Callable[[Data], Data | None]:
    def edit(data: Data) -> Data | None:
        here: Any = data
        for part in path:
            here = here[part]
        near = round(here / grid) * grid
        if near == here or (near == 0 and here != 0 and grid > 1):
            return None

        def put(copy: Data) -> None:
            inner: Any = copy
            for part in path[:-1]:
                inner = inner[part]
            inner[path[-1]] = near

        return edited(data, put)

    return edit


def instants(best: Shown, failure: Failure) -> Candidates:
    """Faults that begin at an instant, in place of the moment that has a number or conditions.

    A moment that must come often needs all that lets it come; an instant needs nothing.
    """
    del failure
    data = best.data
    if (yield _at_instants(data, _numbered(best), 0)):
        return
    for at, begun in _numbered(best).items():
        for early_ms in EARLY_MS:
            candidate = _at_instants(data, {at: begun}, early_ms)
            if (yield candidate):
                data = candidate
                break


def all_instants(best: Shown, failure: Failure) -> Candidates:
    """All such faults at once."""
    del failure
    yield _at_instants(best.data, _numbered(best), 0)


def _numbered(best: Shown) -> dict[int, FaultBegan]:
    """The places of faults whose moment has more than a name, each with its beginning."""
    faults = best.data.get("faults", [])
    placed = [(at, one) for at, one in enumerate(faults) if isinstance(one.get("when"), dict)]
    begun = {at: begun_of(best.history, faults, one) for at, one in placed}
    return {at: event for at, event in begun.items() if event is not None}


def _at_instants(data: Data, begun: dict[int, FaultBegan], early_ms: float) -> Data:
    def put(copy: Data) -> None:
        for at, event in begun.items():
            _at_instant(copy["faults"][at], event, early_ms)

    return edited(data, put)


def _at_instant(fault: Table, begun: FaultBegan, early_ms: float) -> None:
    """Let a fault begin when it began, on the node that it struck, in place."""
    del fault["when"]
    fault["from_ms"] = _neat(max(begun.at_us / US_PER_MS - early_ms, 0))
    for key in FAULTS.get(fault["name"]).targets:
        role = fault.get(key)  # or several nodes, whose roles a moment does not name
        if isinstance(role, str) and role in OF_MOMENTS and len(begun.nodes) == 1:
            fault[key] = begun.nodes[0]


def at_their_instants(best: Shown, failure: Failure) -> Candidates:
    """Without single steps, while all others stay at the instants at which they were issued.

    Where steps wait for each other, all that come after one that is left out come earlier, and may
    miss what is around them.
    """
    del failure
    steps = steps_of(best.data)
    issued = {step["id"]: issued_us(best, step["id"])[0] for step in steps}
    if len(steps) > MOST_STEPS or max(issued.values(), default=NEVER_US) == NEVER_US:
        return

    def put(copy: Data) -> None:
        for step in steps_of(copy):
            for key in ("plus_ms", "after"):
                step.pop(key, None)
            step["at_ms"] = _neat(issued[step["id"]] / US_PER_MS)

    data = edited(best.data, put)
    for at in reversed(range(len(steps))):
        candidate = without_steps(data, [at])
        if (yield candidate):
            data = candidate


def all_ordered(best: Shown, failure: Failure) -> Generator[Data, bool | None, bool | None]:
    """All steps after the end of the step before; returns whether that was kept."""
    del failure
    due = _due(best)
    return (yield edited(best.data, lambda copy: _chain(copy, due, range(1, len(due)))))


def _due(best: Shown) -> list[int]:
    """The places of the steps in the order in which they were issued."""
    steps = steps_of(best.data)
    at = {step["id"]: issued_us(best, step["id"]) for step in steps}
    return sorted(range(len(steps)), key=lambda place: at[steps[place]["id"]])


def ordered(best: Shown, failure: Failure) -> Candidates:
    """Steps after the end of the step before, in place of instants: all of them, then each."""
    if (yield from all_ordered(best, failure)):
        return
    data = best.data
    due = _due(best)
    for place in range(1, len(due)):
        candidate = edited(data, partial(_chain, due=due, places=[place]))
        if (yield candidate):
            data = candidate


def issued_us(best: Shown, step: str) -> tuple[int, int]:
    """When a step was issued, and as which of the events; what was not comes last."""
    for place, event in enumerate(best.history.events):
        if getattr(event, "op", None) == step:
            return event.at_us, place
    return NEVER_US, 0


def _chain(data: Data, due: list[int], places: Any) -> None:
    """Tie the steps at these places of the order in time to the end of the one before each."""
    steps = steps_of(data)
    tied = [steps[at] for at in due]
    for place in places:
        step = tied[place]
        for key in ("at_ms", "plus_ms", "after"):
            step.pop(key, None)
        step["after"] = f"{tied[place - 1]['id']}.done"
