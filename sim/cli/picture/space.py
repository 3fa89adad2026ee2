"""A space-time picture of an argument: its steps, messages, clocks, versions and transactions.

Each node's lane shows the run by that node's own clock: the band from Tm to Tu (DD) and the band
from Tu to Tu + CSmax lie where its clock shows these timestamps, so skewed clocks are seen as
bands that are not level. Beside the lane's line: which update of the argument is in force there,
and for how long its schema safe time was what a look-up waits for under the design: at least its
clock less DD, say.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from ddlsim.checkers.argument import Argument, evidence
from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import Violation
from ddlsim.cli.picture.bars import Span, spans
from ddlsim.cli.picture.cut import Cut, cut, subject_of
from ddlsim.cli.picture.layout import Lane, Layout, Named, Place, Row, layout
from ddlsim.cli.picture.steps import Message, Step, Steps
from ddlsim.escape import natural
from ddlsim.history.events import (
    AnyEvent,
    Enlisted,
    Invoked,
    MetadataRead,
    ReadExecuted,
    SafeTimeAdvanced,
    UpdateApplied,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.world_events import FaultBegan, FaultHealed, NodeCrashed, NodeRestarted
from ddlsim.nemesis.base import FAULTS
from ddlsim.units import US_PER_MS, Timestamp, as_ms, physical_ms

COLOURS: Final = 6
"""So many updates have a colour of their own, beside what was there before."""
MOST_UPDATES: Final = COLOURS
CHARACTER: Final = 6.3
BAR: Final = 9
NOTCH: Final = 44
"""The room for the words beside a bar."""
FAULT_WIDTH: Final = 8
MARK: Final = 12
"""The height of what has only an instant."""
RAFT: Final = ("append-", "vote", "request-vote", "install-snapshot", "snapshot-", "timeout-now")
AWAITED: Final = {
    "operation_less_delay": (-1, 0, "clock less DD"),
    "at_operation": (0, 0, "clock"),
    "operation_plus_skew": (0, 1, "clock plus CSmax"),
    "operation_less_delay_plus_skew": (-1, 1, "clock less DD plus CSmax"),
}
"""The safe time that a look-up waits for, by the design's rule: so many DD and CSmax from Top on,
and what that is of a node's clock. Under other rules none waits, or nothing is known of it."""
FIRST: Final = -1
"""Before every event of an instant."""


class Band(NamedTuple):
    """A stretch of a lane; `look` is its class in the page's style, `label` stands at `label_y`."""

    look: str
    x: float
    width: float
    top: float
    bottom: float
    text: str
    label: str = ""
    label_y: float = 0


class Arrow(NamedTuple):
    """A message; where it never arrived, or later than the picture ends, it stops half-way."""

    look: str
    x1: float
    y1: float
    x2: float
    y2: float
    text: str
    lost: bool = False


class Chip(NamedTuple):
    """A word at a height of a lane, on the colour of a schema version."""

    x: float
    y: float
    width: float
    colour: int
    text: str


class Notch(NamedTuple):
    """A timestamp beside the bar of a transaction; the first one has its name above it."""

    x: float
    y: float
    name: str
    text: str


class Space(NamedTuple):
    """Everything that is drawn, and what is not."""

    layout: Layout
    cut: Cut
    bands: Sequence[Band]
    arrows: Sequence[Arrow]
    chips: Sequence[Chip]
    bars: Sequence[Band]
    notches: Sequence[Notch]
    colours: Sequence[tuple[int, str]]
    layered: bool
    awaited: str | None
    """What safe time is compared with where that is drawn."""
    traced: bool
    tables: tuple[int, ...]
    steps: Steps
    acts: Mapping[int, Sequence[AnyEvent]]
    """Of each step that is drawn: its events that are the argument's own, or all if none is."""


def space(case: Case, violation: Violation | None, argument: Argument) -> Space:
    """The picture of one violation; without one, of everything that the run did."""
    return _Drawing(case, violation, argument).space()


class _Drawing:
    """What the parts of a picture have in common: its steps, its layout, its clocks."""

    def __init__(self, case: Case, violation: Violation | None, argument: Argument) -> None:
        self._case = case
        self._clocks = case.once(Clocks)
        self._awaited = AWAITED.get(case.header.design.rules.get("completeness_ts", ""))
        self._steps = Steps(case.history)
        placed = [] if violation is None else evidence(case, violation, argument.parties)
        self._subject = subject_of(case, argument.parties, [event for _, event in placed])
        self._witness = () if violation is None else tuple(map(id, violation.witness))
        offending = [at for at, event in placed if id(event) in self._witness]
        self._cut = cut(self._steps, self._subject, [at for at, _ in placed], offending)
        self._nodes = [name for name in sorted(case.header.settings, key=natural) if name]
        self._clients = {one.client: None for _, one in case.of(Invoked)}
        self._updates = self._subject.updates(case)[:MOST_UPDATES]
        self._colours = {one.catalog_version: at for at, one in enumerate(self._updates, start=1)}
        self._layout = layout(self._cut.shown, self._nodes, self._clients, list(self._named()))
        self._acts = {
            one.step.number: self._own(self._steps.events_of(one.step)) for one in self._cut.shown
        }
        self._rows = {row.shown.step.number: row for row in self._layout.rows}

    def space(self) -> Space:
        """The whole picture."""
        lanes = [lane for lane in self._layout.lanes if lane.is_node]
        bands = [band for lane in lanes for band in self._bands(lane)]
        bars = [*self._bars()]
        return Space(
            self._layout,
            self._cut,
            bands,
            list(self._arrows()),
            list(self._chips()),
            [bar for bar, _ in bars],
            [notch for _, notches in bars for notch in notches],
            [(at, f"D{version}") for version, at in self._colours.items()],
            self._case.is_layered,
            None if self._awaited is None else self._awaited[2],
            self._steps.traced,
            self._subject.tables,
            self._steps,
            self._acts,
        )

    def _own(self, events: Sequence[AnyEvent]) -> Sequence[AnyEvent]:
        own = [one for one in events if id(one) in self._witness or self._subject.concerns(one)]
        return own or events

    # --- schema updates ---------------------------------------------------------------------------

    @cached_property
    def _window(self) -> tuple[int, int]:
        """The first and the last instant of the steps that are not later."""
        instants = [one.step.at_us for one in self._cut.shown if not one.later]
        return min(instants, default=0), max(instants, default=0)

    def _named(self) -> Iterator[Named]:
        """Tm, Tu and Tu + CSmax of each update, by an exact clock; of a store its versions."""
        by = "a version of the store" if self._case.is_layered else "by an exact clock"
        for update in self._updates:
            for name, ms, place in self._instants(update, None):
                if place[0] >= self._window[0]:
                    of = f"D{update.catalog_version}"
                    short = "+ CSmax" if "CSmax" in name else f"{name} {of}"
                    yield Named(place, short, f"{name} of {of} = {ms} ms, {by}")

    def _instants(self, update: UpdateLogged, node: str | None) -> list[tuple[str, int, Place]]:
        """When a node's clock (None: an exact one) first shows Tm, Tu and Tu + CSmax.

        Versions of a store run ahead of time by what its recoveries have added: Tm is no later than
        the update is in the log, and Tu as much later as its version is larger.
        """
        layered = self._case.is_layered
        csmax_ms = 0 if layered else max(self._case.settings("max_clock_skew_ms"), default=0)
        message_ms = physical_ms(Timestamp(update.message_ts))
        active_ms = physical_ms(Timestamp(update.activation_ts))
        wanted = [("Tm", message_ms), ("Tu", active_ms)]
        wanted += [("Tu + CSmax", active_ms + csmax_ms)] if csmax_ms else []
        found: list[tuple[str, int, Place]] = []
        logged_at = self._logged_at(update)
        ahead_us = max(message_ms * US_PER_MS - update.at_us, 0) if layered else 0
        for name, ms in wanted:
            exact_us = ms * US_PER_MS - ahead_us
            at_us = exact_us if node is None else first_shows_us(self._clocks, node, ms)
            stamped = at_us == update.at_us and (name == "Tm" or (layered and ms == message_ms))
            before = logged_at - 0.5 if stamped else FIRST
            if node and not at_us and self._clocks.offsets(0)[node] > ms * US_PER_MS:
                before = FIRST  # its clock has shown that before the run began
            elif name == "Tm" and not stamped:
                before = self._asked_at(update, at_us)
            found.append((name, ms, (at_us, before)))
        return found

    def _asked_at(self, update: UpdateLogged, at_us: int) -> float:
        """The place of a Tm at an instant: behind the request for it where that is as late."""
        operation = self._case.operations.get(update.op or "")
        asked_at = None if operation is None else operation.invoked_at
        if asked_at is None or self._case.history.events[asked_at].at_us != at_us:
            return FIRST
        return asked_at + 0.5

    def _logged_at(self, update: UpdateLogged) -> int:
        return next(at for at, one in self._case.schemas.updates if one is update)

    def _colour(self, object_id: int, version: int) -> int:
        """The colour of a version: that of the argument's update that made it; else 0."""
        made = self._case.schemas.version(object_id, version)
        return 0 if made is None else self._colours.get(made.catalog_version, 0)

    def _colour_in(self, catalog_version: int) -> int:
        """The newest colour of the argument's tables in a version of the catalog."""
        held = (self._case.schemas.held(table, catalog_version) for table in self._subject.tables)
        made = (self._colours.get(one.catalog_version, 0) for one in held if one is not None)
        return max(made, default=0)

    # --- bands on a lane --------------------------------------------------------------------------

    def _bands(self, lane: Lane) -> Iterator[Band]:
        below = 0.0
        for band in side_by_side(sorted(self._faults(lane), key=lambda one: one.top), lane):
            below = max(band.top, below) + 11
            yield band._replace(label_y=below - 2)
        if self._case.is_layered:
            return  # no clock tells its processes what is in force
        for update in self._updates:
            instants = self._instants(update, lane.name)
            looks = (("dd", "DD"), ("csmax", "CSmax"))
            for (look, name), since, until in zip(looks, instants, instants[1:], strict=False):
                text = f"{name} of D{update.catalog_version} by the clock of {lane.name}: "
                text += f"{since[0]} = {since[1]} ms to {until[0]} = {until[1]} ms"
                yield from self._band(look, lane.left + 3, lane.width - 6, since[2], until[2], text)
        yield from self._complete(lane)
        yield from self._in_force(lane)

    def _band(
        self, look: str, x: float, width: float, since: Place, until: Place, text: str
    ) -> Iterator[Band]:
        """A band between two instants, where the picture has room for it."""
        top, bottom = self._layout.y(since), self._layout.y(until)
        if bottom > top and until[0] >= self._window[0]:
            yield Band(look, x, width, top, bottom, text)

    def _complete(self, lane: Lane) -> Iterator[Band]:
        """While safe time is at least what a look-up waits for that has its Top by the clock."""
        own = self._case.header.settings.get(lane.name, {})
        if self._awaited is None or "delay_duration_ms" not in own:
            return
        delays, skews, words = self._awaited
        less_ms = -delays * own["delay_duration_ms"] - skews * own["max_clock_skew_ms"]
        for since, until_us in complete_us(self._case, lane.name, less_ms):
            text = f"the safe time of {lane.name} is at least its {words}: no look-up waits, "
            text += "by the rule of the design"
            until = (until_us, FIRST)
            yield from self._band("complete", lane.right - 8, 4, since, until, text)

    def _in_force(self, lane: Lane) -> Iterator[Band]:
        """The argument's update that is in force on a node: applied, and reached by its clock.

        Of the versions of the catalog that of the largest Tu is in force, with all that came before
        it in the log. Colour 0 is for other updates of the argument's tables.
        """
        changes: list[tuple[Place, tuple[int, int]]] = []
        for at, applied in self._case.of(UpdateApplied):
            if applied.node == lane.name:
                update = self._case.schemas.update(applied.catalog_version)
                active_ms = physical_ms(Timestamp(update.activation_ts))
                active = first_shows_us(self._clocks, lane.name, active_ms), float(FIRST)
                key = update.activation_ts, update.catalog_version
                changes.append((max((applied.at_us, float(at)), active), key))
        found: list[tuple[Place, int]] = [((0, FIRST), 0)]
        newest = (0, 0)
        for since, key in sorted(changes):
            newest = max(newest, key)
            colour = self._colour_in(newest[1])
            if colour != found[-1][1]:
                found.append((since, colour))
        ends = [place for place, _ in found[1:]] + [(self._case.history.end_us, FIRST)]
        for (since, colour), until in zip(found, ends, strict=True):
            name = "none of them" if not colour else f"D{self._updates[colour - 1].catalog_version}"
            text = f"in force on {lane.name}: {name}"
            yield from self._band(f"force v{colour}", lane.x - 5, 10, since, until, text)

    def _faults(self, lane: Lane) -> Iterator[Band]:
        """Faults of a node; several of a kind that overlap are one band, until the last ends."""
        begun: dict[str, int] = {}
        under_way: Counter[str] = Counter()
        for event in sorted(self._case.faults, key=lambda one: one.at_us):
            crash = isinstance(event, NodeCrashed | NodeRestarted)
            why = event.fault if isinstance(event, FaultBegan | FaultHealed) else "dead"
            touched = (event.node,) if crash else getattr(event, "nodes", ()) or (event.node,)
            if lane.name not in touched:
                continue
            if why in FAULTS and FAULTS.get(why).instant:  # healed in name only, as the load ends
                if isinstance(event, FaultBegan):
                    yield from self._instant(lane, why, event.at_us)
                continue
            if isinstance(event, FaultBegan | NodeCrashed):
                begun.setdefault(why, event.at_us)
                under_way[why] += 1
                continue
            under_way[why] -= 1
            if why in begun and not under_way[why]:
                yield from self._fault(lane, why, begun.pop(why), event.at_us)
        for why, since_us in begun.items():
            yield from self._fault(lane, why, since_us, self._case.history.end_us)

    def _instant(self, lane: Lane, why: str, at_us: int) -> Iterator[Band]:
        """A fault that only begins, such as a transfer of a leader: a mark at its instant."""
        if self._window[0] <= at_us <= self._window[1]:
            top = self._layout.y((at_us, float(FIRST)))
            text = f"{why}: {as_ms(at_us)} ms"
            x, bottom = lane.left + 1, top + MARK
            yield Band("fault", x, FAULT_WIDTH, top, bottom, text, label=_clipped(why, 14))

    def _fault(self, lane: Lane, why: str, since_us: int, until_us: int) -> Iterator[Band]:
        text = f"{why} of {lane.name}: {as_ms(since_us)} to {as_ms(until_us)} ms"
        if since_us <= self._window[1]:
            ends = ((since_us, float(FIRST)), (until_us, float(FIRST)))
            for band in self._band("fault", lane.left + 1, FAULT_WIDTH, *ends, text):
                yield band._replace(label=_clipped(why, 14))

    # --- messages ---------------------------------------------------------------------------------

    def _arrows(self) -> Iterator[Arrow]:
        for message in self._steps.messages:
            sent = self._rows.get(message.sent_in)
            start, end = self._layout.lane(message.sender), self._layout.lane(message.to)
            if sent is None or start is None or end is None or start is end:
                continue
            arrived = None if message.arrived_in is None else self._rows.get(message.arrived_in)
            text = f"{message.kind}, {message.sender} to {message.to}, sent at "
            text += f"{as_ms(message.sent_us)} ms"
            if arrived is not None:
                text += f", arrived at {as_ms(arrived.shown.step.at_us)} ms"
                look = _look(message, sent, arrived)
                yield Arrow(look, start.x, sent.y, end.x, arrived.y, text)
            elif message.arrived_in is None and not sent.shown.relays:
                x, y = (start.x + end.x) / 2, sent.y + 9
                yield Arrow("lost", start.x, sent.y, x, y, f"{text}, never arrived", lost=True)

    # --- operations and transactions --------------------------------------------------------------

    def _chips(self) -> Iterator[Chip]:
        """The versions under which operations ran."""
        for row in self._layout.rows:
            lane = self._layout.lane(row.shown.step.lane)
            assert lane is not None, row
            found: dict[str, int] = {}
            for event in self._acts[row.shown.step.number]:
                if isinstance(event, ReadExecuted | WriteExecuted | Enlisted | MetadataRead):
                    letter = {ReadExecuted: "R ", WriteExecuted: "W "}.get(type(event), "")
                    name = self._case.schemas.name(event.object_id, event.version)
                    text = f"{letter}{_clipped(name, 5)} v{event.version}"
                    found[text] = self._colour(event.object_id, event.version)
                elif isinstance(event, UpdateApplied):
                    colour = self._colours.get(event.catalog_version, 0)
                    found |= {f"+ D{event.catalog_version}": colour} if colour else {}
            for text, colour in list(found.items())[-1:]:
                width = len(text) * CHARACTER + 8
                yield Chip(lane.x + 9, row.y, width, colour, text)

    def _bars(self) -> Iterator[tuple[Band, list[Notch]]]:
        """Transactions and statements on the lanes of their clients; words beside all of them."""
        placed = list(self._placed())
        sides = Counter[str]()
        for span, _, _, side in placed:
            sides[span.client] = max(sides[span.client], side)
        for span, lane, bar, _ in placed:
            beside = lane.x - 4 + sides[span.client] * (BAR + 2) + BAR + 3
            yield bar, list(self._notches(span, min(beside, lane.right - NOTCH)))

    def _placed(self) -> Iterator[tuple[Span, Lane, Band, int]]:
        """Their bars, each beside those of its client that it overlaps."""
        taken: dict[tuple[str, int], float] = {}
        drawn: list[tuple[float, float, Lane, Span]] = []
        for span in spans(self._case, self._subject):
            lane = self._layout.lane(span.client)
            steps = [step for at in span.positions if (step := self._step(at)) is not None]
            if lane is None or self._rows.keys().isdisjoint(step.number for step in steps):
                continue
            heights = [self._layout.y((step.at_us, step.first)) for step in steps]
            drawn.append((min(heights) - 11, max(heights) + 11, lane, span))
        for top, bottom, lane, span in sorted(drawn, key=lambda one: one[0]):
            side = next(n for n in range(99) if taken.get((span.client, n), 0.0) <= top)
            taken[span.client, side] = bottom
            x = lane.x - 4 + side * (BAR + 2)
            text = f"{span.name}, of client {span.client}"
            yield span, lane, Band(span.look, x, BAR, top, bottom, text), side

    def _step(self, at: int) -> Step | None:
        number = self._steps.step_of[at]
        return None if number is None else self._steps.steps[number]

    def _notches(self, span: Span, x: float) -> Iterator[Notch]:
        """The timestamps of a transaction at the heights of its steps; first its name."""
        by_step: dict[int, list[str]] = {}
        for at, text in span.stamps:
            step = self._step(at)
            if step is not None and step.number in self._rows:
                by_step.setdefault(step.number, []).append(text)
        title = _clipped(span.name, 10)
        for number, texts in by_step.items():
            text = texts[0] if len({*texts}) == 1 else f"{texts[0]}…"
            yield Notch(x, self._rows[number].y, title, text)
            title = ""


def first_shows_us(clocks: Clocks, node: str, ms: int) -> int:
    """The first instant at which a node's clock shows a millisecond, or more."""
    at_us = clocks.shows_us(node, ms, 0)
    if at_us > 0 and at_us - 1 + clocks.offsets(at_us - 1)[node] >= ms * US_PER_MS:
        return at_us - 1
    return at_us


def complete_us(case: Case, node: str, less_ms: int) -> Iterator[tuple[Place, int]]:
    """The stretches of time in which a node's safe time is at least its clock less so much."""
    clocks = case.once(Clocks)
    since: Place | None = None
    until_us = 0
    for at, event in case.of(SafeTimeAdvanced):
        if event.node != node:
            continue
        if since is not None and event.at_us > until_us:
            yield since, until_us
            since = None
        since = (event.at_us, float(at)) if since is None else since
        ms = physical_ms(Timestamp(event.safe_ts)) + less_ms + 1
        until_us = max(first_shows_us(clocks, node, ms), event.at_us)
    if since is not None:
        yield since, until_us


def side_by_side(bands: Sequence[Band], lane: Lane) -> Iterator[Band]:
    """Bands from the first to the last, each beside those that it overlaps.

    Those with the same ends are one, a crash and its death. Many share the room beside the line.
    """
    taken: list[Band] = []  # the last band of each column
    columns = []
    for band in bands:
        free = (
            at
            for at, last in enumerate(taken)
            if last.bottom <= band.top or (last.top, last.bottom) == (band.top, band.bottom)
        )
        column = next(free, len(taken))
        taken[column : column + 1] = [band]
        columns.append(column)
    room = lane.x - BAR / 2 - 2 - (lane.left + 1)
    step = min(FAULT_WIDTH + 1, room / max(len(taken), 1))
    for band, column in zip(bands, columns, strict=True):
        yield band._replace(x=round(band.x + column * step, 1), width=round(step - 1, 1))


def _look(message: Message, sent: Row, arrived: Row) -> str:
    look = "raft" if message.kind.startswith(RAFT) else "sent"
    return f"{look} late" if sent.shown.later or arrived.shown.later else look


def _clipped(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
