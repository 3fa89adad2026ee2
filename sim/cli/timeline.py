"""What happened when, placed on a picture: the transactions of clients, the faults of nodes.

What takes part in an argument is dark and named, all else pale; a vertical line is an
activation by an exact clock. It opens on the argument's stretch of time. At most `MOST` bars are
drawn, those nearest to it; how many were left out is said. `templates/timeline.html.j2` draws it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from ddlsim.checkers.argument import Argument, update_of
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.history.events import UpdateApplied
from ddlsim.history.world_events import FaultBegan, FaultHealed, NodeCrashed, NodeRestarted
from ddlsim.units import US_PER_MS, Timestamp, physical_ms

MOST: Final = 2_000
LEFT: Final = 150
WIDTH: Final = 850
"""The room for time, right of the names of lanes."""
RIGHT: Final = LEFT + WIDTH
LANE: Final = 22
ROW: Final = 14
"""A row of labels above the bars of a lane."""
AXIS: Final = 34
CHARACTER: Final = 7.4
TICKS: Final = 8


class Bar(NamedTuple):
    """Something that lasted; `look` is its class in the page's style, `label` is shown above it."""

    lane: str
    from_us: int
    until_us: int
    look: str
    title: str
    label: str = ""


class Window(NamedTuple):
    """A stretch of time."""

    from_us: int
    until_us: int

    def x(self, at_us: float) -> float:
        """Where an instant is drawn, at an edge where it lies outside."""
        place = LEFT + (at_us - self.from_us) / (self.until_us - self.from_us) * WIDTH
        return round(min(max(place, LEFT), RIGHT), 1)

    def mark(self, look: str, ends: tuple[int, int], text: str, top: int, bottom: int) -> "Mark":
        """Something between two instants, in its place."""
        hidden = ends[1] < self.from_us or ends[0] > self.until_us
        x = self.x(ends[0])
        width = round(max(self.x(ends[1]) - x, 2), 1)
        return Mark(look, *ends, text, x, width, top, bottom, hidden)


class Mark(NamedTuple):
    """A bar, a line or a label; `hidden` where it lies outside of the window."""

    look: str
    from_us: int
    until_us: int
    text: str
    x: float
    width: float
    top: int
    bottom: int
    hidden: bool


class Lane(NamedTuple):
    """A client or a node, from `top` to `bottom`."""

    name: str
    top: int
    bottom: int


class Tick(NamedTuple):
    """An instant along the top."""

    x: float
    text: str


class Timeline(NamedTuple):
    """The picture, and how many bars it has not."""

    window: Window
    end_us: int
    bottom: int
    lanes: list[Lane]
    ticks: list[Tick]
    activations: list[Mark]
    bars: list[Mark]
    applied: list[Mark]
    labels: list[Mark]
    left_out: int
    left: int = LEFT
    right: int = RIGHT


def timeline(case: Case, argument: Argument) -> Timeline:
    """The timeline of a run, opened on an argument."""
    window = window_of(case, argument)
    dark = {party.name for party in argument.parties}
    bars = [*_transactions(case, dark), *_ddls(case, dark)]
    middle = (window.from_us + window.until_us) / 2
    bars.sort(key=lambda bar: (not bar.label, abs((bar.from_us + bar.until_us) / 2 - middle)))
    kept = [*bars[:MOST], *_faults(case)]
    kept.sort(key=lambda bar: (bar.look == "dark", bar.from_us))
    rows = _rows(kept, window)
    lanes = _placed(_lanes(case, bars[:MOST]), rows)
    bottoms = {lane.name: lane.bottom for lane in lanes}
    bottom = lanes[-1].bottom if lanes else AXIS
    lines, names = _activations(case, window, dark, bottom)
    return Timeline(
        window,
        max(case.history.end_us, 1),
        bottom,
        [lane._replace(name=_clipped(lane.name)) for lane in lanes],
        _ticks(window),
        lines,
        [_drawn(bar, window, bottoms[bar.lane]) for bar in kept],
        _applied(case, window, bottoms),
        [*names, *(_label(bar, window, bottoms[bar.lane], row) for bar, row in rows.items())],
        len(bars) - min(len(bars), MOST),
    )


def window_of(case: Case, argument: Argument) -> Window:
    """From the first to the last of an argument, with a margin; the whole run for none."""
    instants = [one.at_ms * US_PER_MS for one in argument.moments]
    for party in argument.parties:
        instants += [at * US_PER_MS for at in (party.begins_ms, party.ends_ms) if at is not None]
        update = update_of(case, party.name)
        if update is not None and update.op is not None:
            instants.append(physical_ms(Timestamp(update.activation_ts)) * US_PER_MS)
    if not instants:
        return Window(0, max(case.history.end_us, 1))
    margin = max((max(instants) - min(instants)) * 0.12, 2 * US_PER_MS)
    return Window(int(max(0, min(instants) - margin)), int(max(instants) + margin))


# --- what there is -------------------------------------------------------------------------------


def _transactions(case: Case, dark: set[str]) -> Iterable[Bar]:
    events = case.history.events
    for tx in case.transactions.values():
        if tx.begins_at is None:
            continue
        from_us = events[tx.begins_at].at_us
        until_us = max(from_us, _ended_us(case, tx))
        ended = tx.aborted.reason if tx.aborted is not None else "open"
        ended = "committed" if tx.committed is not None else ended
        look = "dark" if tx.name in dark else ("done" if tx.committed is not None else "failed")
        title = f"{tx.name}: {ended}, {from_us / US_PER_MS:g} to {until_us / US_PER_MS:g} ms"
        label = tx.name if tx.name in dark else ""
        yield Bar(f"client {tx.client}", from_us, until_us, look, title, label)


def _ended_us(case: Case, tx: Transaction) -> int:
    if tx.ends_at is not None:
        return case.history.events[tx.ends_at].at_us
    found = [event.at_us for event in (tx.committed, tx.aborted) if event is not None]
    found += [event.at_us for event in tx.accesses]
    return max(found, default=0)


def _ddls(case: Case, dark: set[str]) -> Iterable[Bar]:
    for ddl in case.ddls.values():
        operation = ddl.operation
        asked, ended = operation.invoked, operation.ended
        if asked is None:
            continue
        until_us = case.history.end_us if ended is None else ended.at_us
        name = operation.name if ddl.logged is None else f"D{ddl.logged.catalog_version}"
        look, label = ("dark", name) if name in dark else ("ddl", "")
        title = f"{name}: {asked.sql}, {asked.at_us / US_PER_MS:g} to {until_us / US_PER_MS:g} ms"
        yield Bar(f"client {asked.client}", asked.at_us, until_us, look, title, label)


def _faults(case: Case) -> Iterable[Bar]:
    """Times in which nodes were faulty; of a fault that does not name any, on a lane of its own."""
    begun: dict[tuple[str, str], int] = {}
    for event in sorted(case.faults, key=lambda one: one.at_us):
        crash = isinstance(event, NodeCrashed | NodeRestarted)
        why = event.fault if isinstance(event, FaultBegan | FaultHealed) else "dead"
        nodes = (event.node,) if crash else _touched(event)
        for node in nodes:
            if isinstance(event, FaultBegan | NodeCrashed):
                begun.setdefault((node or "", why), event.at_us)
            elif (node or "", why) in begun:
                yield _sick(node or "", why, begun.pop((node or "", why)), event.at_us)
    for (node, why), from_us in begun.items():
        yield _sick(node, why, from_us, case.history.end_us)


def _touched(event: object) -> tuple[str | None, ...]:
    assert isinstance(event, FaultBegan | FaultHealed), event
    return event.nodes or (event.node,)


def _sick(node: str, why: str, from_us: int, until_us: int) -> Bar:
    lane = f"node {node}" if node else "cluster"
    title = f"{why}, {from_us / US_PER_MS:g} to {until_us / US_PER_MS:g} ms"
    return Bar(lane, from_us, until_us, "sick", title, why)


def _lanes(case: Case, bars: Sequence[Bar]) -> list[str]:
    """Clients whose bars are drawn, those of the argument first, then the nodes."""
    clients = dict.fromkeys([bar.lane for bar in bars if bar.label])
    clients |= dict.fromkeys(sorted(bar.lane for bar in bars))
    nodes = [f"node {name}" for name in sorted(case.header.settings) if name]
    nodes += [bar.lane for bar in _faults(case)]
    return list(dict.fromkeys([*clients, *nodes]))


# --- where it stands -----------------------------------------------------------------------------


def _placed(names: Sequence[str], rows: Mapping[Bar, int]) -> list[Lane]:
    """The lanes below each other, each with room for the rows of its labels."""
    most: dict[str, int] = {}
    for bar, row in rows.items():
        most[bar.lane] = max(most.get(bar.lane, 0), row + 1)
    lanes: list[Lane] = []
    top = AXIS
    for name in names:
        lanes.append(Lane(name, top, top + LANE + ROW * most.get(name, 0)))
        top = lanes[-1].bottom
    return lanes


def _rows(bars: Sequence[Bar], window: Window) -> dict[Bar, int]:
    """The row of each label above its lane: none that is shown reaches into the next."""
    ends: dict[tuple[str, int], float] = {}
    found: dict[Bar, int] = {}
    for bar in sorted((one for one in bars if one.label), key=lambda one: one.from_us):
        if bar.until_us < window.from_us or bar.from_us > window.until_us:
            found[bar] = 0
            continue
        x, row = _label_x(bar, window), 0
        while ends.get((bar.lane, row), 0) > x:
            row += 1
        ends[bar.lane, row] = x + (len(bar.label) + 1) * CHARACTER
        found[bar] = row
    return found


def _label_x(bar: Bar, window: Window) -> float:
    """Where a label begins: with its bar, but within the picture."""
    return round(min(window.x(bar.from_us), RIGHT - len(bar.label) * CHARACTER), 1)


def _drawn(bar: Bar, window: Window, bottom: int) -> Mark:
    return window.mark(bar.look, (bar.from_us, bar.until_us), bar.title, bottom - 17, bottom - 5)


def _label(bar: Bar, window: Window, bottom: int, row: int) -> Mark:
    y = bottom - 21 - row * ROW
    mark = window.mark("label", (bar.from_us, bar.until_us), bar.label, y, y)
    return mark._replace(x=_label_x(bar, window))


def _activations(
    case: Case, window: Window, dark: set[str], bottom: int
) -> tuple[list[Mark], list[Mark]]:
    """Lines where schemas become active, and the names of those that take part."""
    lines: list[Mark] = []
    names: list[Mark] = []
    taken = float(LEFT)
    for _, update in case.schemas.updates:
        if update.op is None:
            continue
        name = f"D{update.catalog_version}"
        at_us = physical_ms(Timestamp(update.activation_ts)) * US_PER_MS
        look = "active named" if name in dark else "active"
        said = f"{name}, {case.statement(update.op)}: active from {at_us / US_PER_MS:g} ms on"
        line = window.mark(look, (at_us, at_us), said, AXIS - 4, bottom)
        lines.append(line)
        if name in dark and line.x >= taken:
            taken = taken if line.hidden else line.x + (len(name) + 8) * CHARACTER
            names.append(
                line._replace(look="label", text=f"{name} active", x=line.x + 3, bottom=AXIS - 8)
            )
    return lines, names


def _applied(case: Case, window: Window, bottoms: Mapping[str, int]) -> list[Mark]:
    """When each node applied each update."""
    marks: list[Mark] = []
    for _, event in case.of(UpdateApplied)[:MOST]:
        update = case.schemas.catalog(event.catalog_version)
        bottom = bottoms.get(f"node {event.node}")
        if bottom is None or update is None or update.op is None:
            continue
        said = f"D{event.catalog_version} applied at {event.at_us / US_PER_MS:g} ms"
        at = (event.at_us, event.at_us)
        marks.append(window.mark("applied", at, said, bottom - 19, bottom - 3))
    return marks


def _ticks(window: Window) -> list[Tick]:
    """Some instants along the top."""
    step = (window.until_us - window.from_us) / TICKS
    instants = [window.from_us + at * step for at in range(TICKS)]
    return [Tick(window.x(at_us), f"{at_us / US_PER_MS:.1f} ms") for at_us in instants]


def _clipped(lane: str) -> str:
    most = int((LEFT - 12) / CHARACTER)
    return lane if len(lane) <= most else f"{lane[: most - 1]}…"
