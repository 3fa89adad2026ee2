"""What happened when, as a picture: clients with their transactions, nodes with their faults.

What takes part in an argument is dark and named, all else pale; a vertical line is an
activation by an exact clock. It opens on the argument's stretch of time. At most `MOST` bars are
drawn, those nearest to it; how many were left out is said.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from sim.checkers.argument import Argument, update_of
from sim.checkers.case import Case, Transaction
from sim.escape import markup
from sim.history.events import UpdateApplied
from sim.history.world_events import FaultBegan, FaultHealed, NodeCrashed, NodeRestarted
from sim.units import US_PER_MS, Timestamp, physical_ms

MOST: Final = 2_000
LEFT: Final = 150
WIDTH: Final = 850
"""The room for time, right of the names of lanes."""
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
        """Where an instant is drawn."""
        return LEFT + (at_us - self.from_us) / (self.until_us - self.from_us) * WIDTH


class Timeline(NamedTuple):
    """The picture, and how many bars it has not."""

    svg: str
    left_out: int


def timeline(case: Case, argument: Argument) -> Timeline:
    """The timeline of a run, opened on an argument."""
    window = window_of(case, argument)
    dark = {party.name for party in argument.parties}
    bars = [*_transactions(case, dark), *_ddls(case, dark)]
    middle = (window.from_us + window.until_us) / 2
    bars.sort(key=lambda bar: (not bar.label, abs((bar.from_us + bar.until_us) / 2 - middle)))
    kept = bars[:MOST]
    lanes = _lanes(case, kept)
    drawn = _drawn(case, [*kept, *_faults(case)], lanes, window, argument)
    return Timeline(drawn, len(bars) - len(kept))


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
    """Sick times of nodes; of a fault that does not name any, on a lane of its own."""
    begun: dict[tuple[str, str], int] = {}
    for event in sorted(case.sick, key=lambda one: one.at_us):
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


# --- the drawing ---------------------------------------------------------------------------------


def _drawn(
    case: Case, bars: Sequence[Bar], lanes: Sequence[str], window: Window, argument: Argument
) -> str:
    rows = _rows(bars, window)
    tops: dict[str, int] = {}
    y = AXIS
    parts: list[str] = []
    for lane in lanes:
        height = LANE + ROW * (1 + max((rows[bar] for bar in rows if bar.lane == lane), default=-1))
        shade = "even" if len(tops) % 2 else "odd"
        parts.append(
            f'<rect class="{shade}" x="0" y="{y}" width="{LEFT + WIDTH}" height="{height}"/>'
        )
        parts.append(f'<text x="6" y="{y + height - 7}">{markup(_clipped(lane))}</text>')
        y += height
        tops[lane] = y
    parts.append(f'<g id="ticks">{"".join(_ticks(window, y))}</g>')
    parts += _activations(case, window, argument, y)
    for bar in sorted(bars, key=lambda one: (one.look == "dark", one.from_us)):
        parts += _bar(bar, window, tops[bar.lane], rows.get(bar))
    parts += _applied(case, window, tops)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="timeline" viewBox="0 0 {LEFT + WIDTH + 10} '
        f'{y + 6}" data-lo="{window.from_us}" data-hi="{window.until_us}" data-left="{LEFT}" '
        f'data-width="{WIDTH}" data-bottom="{y}" data-end="{max(case.history.end_us, 1)}">'
    )
    return "\n".join([head, *parts, "</svg>"])


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
    room = LEFT + WIDTH - len(bar.label) * CHARACTER
    return min(max(window.x(bar.from_us), LEFT), room)


def _bar(bar: Bar, window: Window, bottom: int, row: int | None) -> list[str]:
    shown = bar.until_us >= window.from_us and bar.from_us <= window.until_us
    low = min(max(window.x(bar.from_us), LEFT), LEFT + WIDTH)
    high = min(max(window.x(bar.until_us), LEFT), LEFT + WIDTH)
    hidden = "" if shown else ' visibility="hidden"'
    ends = f'data-a="{bar.from_us}" data-b="{bar.until_us}"'
    place = f'x="{low:.1f}" y="{bottom - 17}" width="{max(high - low, 2):.1f}" height="12"'
    title = f"<title>{markup(bar.title)}</title>"
    parts = [f'<rect class="{bar.look}" {ends} {place}{hidden}>{title}</rect>']
    if row is not None:
        x, y = _label_x(bar, window), bottom - 21 - row * ROW
        parts.append(
            f'<text class="label" {ends} x="{x:.1f}" y="{y}"{hidden}>{markup(bar.label)}</text>'
        )
    return parts


def _activations(case: Case, window: Window, argument: Argument, bottom: int) -> list[str]:
    dark = {party.name for party in argument.parties}
    parts: list[str] = []
    taken = float(LEFT)
    for _, update in case.schemas.updates:
        if update.op is None:
            continue
        name = f"D{update.catalog_version}"
        at_us = physical_ms(Timestamp(update.activation_ts)) * US_PER_MS
        shown = window.from_us <= at_us <= window.until_us
        hidden = "" if shown else ' visibility="hidden"'
        x = window.x(at_us) if shown else LEFT
        look = "active named" if name in dark else "active"
        title = f"{name}, {case.statement(update.op)}: active from {at_us / US_PER_MS:g} ms on"
        ends = f'data-a="{at_us}" data-b="{at_us}"'
        parts.append(
            f'<line class="{look}" {ends} x1="{x:.1f}" x2="{x:.1f}" y1="{AXIS - 4}" y2="{bottom}"'
            f"{hidden}><title>{markup(title)}</title></line>"
        )
        if name in dark and x >= taken:
            taken = x + (len(name) + 8) * CHARACTER if shown else taken
            parts.append(
                f'<text class="label" {ends} x="{x + 3:.1f}" y="{AXIS - 8}"{hidden}>'
                f"{name} active</text>"
            )
    return parts


def _applied(case: Case, window: Window, tops: dict[str, int]) -> list[str]:
    """When each node learned of each update."""
    parts: list[str] = []
    for _, event in case.of(UpdateApplied)[:MOST]:
        update = case.schemas.catalog(event.catalog_version)
        bottom = tops.get(f"node {event.node}")
        if bottom is None or update is None or update.op is None:
            continue
        shown = window.from_us <= event.at_us <= window.until_us
        x = window.x(event.at_us) if shown else LEFT
        title = f"D{event.catalog_version} applied at {event.at_us / US_PER_MS:g} ms"
        hidden = "" if shown else ' visibility="hidden"'
        parts.append(
            f'<line class="applied" data-a="{event.at_us}" data-b="{event.at_us}" x1="{x:.1f}" '
            f'x2="{x:.1f}" y1="{bottom - 19}" y2="{bottom - 3}"{hidden}>'
            f"<title>{markup(title)}</title></line>"
        )
    return parts


def _ticks(window: Window, bottom: int) -> Iterable[str]:
    """Some instants along the top, and fine lines down from them."""
    step = (window.until_us - window.from_us) / TICKS
    for at in range(TICKS):
        at_us = window.from_us + at * step
        x = window.x(at_us)
        yield f'<line class="tick" x1="{x:.1f}" x2="{x:.1f}" y1="14" y2="{bottom}"/>'
        yield f'<text class="time" x="{x + 2:.1f}" y="11">{at_us / US_PER_MS:.1f} ms</text>'


def _clipped(lane: str) -> str:
    most = int((LEFT - 12) / CHARACTER)
    return lane if len(lane) <= most else f"{lane[: most - 1]}…"
