"""Upper bounds of waits, by closed forms over the settings in the header; part of I11.

* Tu = Tm + DD, with the largest DD of any node, or right after the activation before it.
* A statement is acknowledged for Tu + CSmax, up to the next tick; what has nothing to do, or is
  refused, for the same of the version that it rests on. In a calm run its client hears of it once
  the node's clock shows that, one message later.
* A look-up at Top waits until the node's safe time is Top - DD, and no longer.
* A read-only transaction reads at its begin less (idle interval of partitions + CSmax), or later.

The first, second and fourth are exact on the reference timeline; the third is exact in time, since
the wait ends with a safe time in the history, or with the pause of its node that begins then. Where
settings change, nothing is judged, and where a node dies, no look-up: what they waited for is not
known. Nor where timestamps are versions of a store, which rest on no clock and on none of these.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import Final

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import (
    DdlDecided,
    Failed,
    Ok,
    ReadTimeChosen,
    SafeTimeAdvanced,
    SchemaResolved,
    TxBegan,
    UpdateLogged,
)
from ddlsim.history.world_events import FaultBegan, FaultHealed, NodeCrashed, SettingChanged
from ddlsim.units import US_PER_MS, Timestamp, as_ms, physical_ms, plus_ms, round_up, show

ATTEMPT: Final = re.compile(r"(?:~\d+)?(?:r\d+)?\Z")
"""What follows on the name of an implicit transaction at a restarted node, or tried again."""
LOOK: Final = re.compile(r"\.look\d+\Z")
"""What follows on the name of a statement that looks for rows, in that of its transaction."""
PAUSE: Final = "pause"
"""The fault that stops a node for a while."""
TICK_US: Final = 2 * US_PER_MS
"""What whole milliseconds of clocks, timestamps and timers may add up to."""


def needless_waits(case: Case) -> Iterator[Anomaly]:
    """Activations, acknowledgements, look-ups, reads in the past."""
    if not judges_waits(case):
        return
    yield from _activations(case)
    yield from _acknowledgements(case)
    if not case.of(NodeCrashed):
        yield from _look_ups(case)
    yield from _past(case)


def judges_waits(case: Case) -> bool:
    """Whether the settings say, for the whole run, how long a wait may take."""
    return not case.of(SettingChanged) and "" in case.header.settings and not case.is_layered


def _setting(case: Case, node: str, key: str) -> int | None:
    return case.header.settings.get(node, {}).get(key)


def _activations(case: Case) -> Iterator[Anomaly]:
    delays = case.settings("delay_duration_ms")
    if not delays:
        return
    delay_ms, last_ts = max(delays), 0
    for _, update in case.schemas.updates:
        due_ts = max(plus_ms(Timestamp(update.message_ts), delay_ms), last_ts + 1)
        last_ts = update.activation_ts
        if update.op is not None and update.activation_ts > due_ts:
            yield Anomaly(
                "activated-too-late",
                f"the update of {update.op} is stamped {show(update.message_ts)} and "
                f"activates at {show(update.activation_ts)}, where DD is {delay_ms} ms",
                (update,),
                clauses=("98.past.2",),
            )


def _acknowledgements(case: Case) -> Iterator[Anomaly]:
    clocks, transit_us = case.once(Clocks), _transit_us(case)
    for _, decided in case.of(DdlDecided):
        skew_ms = _setting(case, decided.node, "max_clock_skew_ms")
        if skew_ms is None:
            continue
        due_ts = round_up(plus_ms(Timestamp(decided.activation_ts), skew_ms))
        if decided.acknowledge_ts > due_ts:
            yield Anomaly(
                "acknowledged-too-late",
                f"{decided.op} waits for {show(decided.acknowledge_ts)} on node "
                f"{decided.node}, where Tu + CSmax is {show(due_ts)}",
                (decided,),
                clauses=("98.flow.4",),
            )
            continue
        operation = case.operations.get(decided.op)
        ended = None if operation is None else operation.ended
        if transit_us is None or not isinstance(ended, Ok | Failed):
            continue
        shown_us = clocks.shows_us(decided.node, physical_ms(due_ts), decided.at_us)
        if ended.at_us > shown_us + transit_us:
            yield Anomaly(
                "answered-too-late",
                f"{decided.op} was answered at {as_ms(ended.at_us)} ms, where the clock of "
                f"node {decided.node} had shown Tu + CSmax{_when(due_ts)} since "
                f"{as_ms(shown_us)} ms and no message takes longer than "
                f"{as_ms(transit_us)} ms",
                (decided, ended),
                clauses=("98.flow.4",),
            )


def _when(due_ts: Timestamp) -> str:
    """Which instant that is; none where a statement rests on the catalog as it began."""
    return f" = {show(due_ts)}" if due_ts > 0 else ""


def _transit_us(case: Case) -> int | None:
    """How long an answer takes at most, where nothing is broken; None if unknown."""
    slowest_us = case.of_cluster.get("slowest_us")
    if not case.of_cluster.get("calm") or case.faults or slowest_us is None:
        return None
    return slowest_us + TICK_US


def _look_ups(case: Case) -> Iterator[Anomaly]:
    """Each wait against the first safe time of its node that would have done."""
    moved: dict[str, tuple[list[int], list[int]]] = {}
    for _, event in case.of(SafeTimeAdvanced):
        safe, at = moved.setdefault(event.node, ([], []))
        safe.append(event.safe_ts)
        at.append(event.at_us)
    pauses = _pauses(case)
    for _, resolved in case.of(SchemaResolved):
        delay_ms = _setting(case, resolved.node, "delay_duration_ms")
        if not resolved.waited_us or delay_ms is None or resolved.node not in moved:
            continue
        safe, at = moved[resolved.node]
        place = bisect_left(safe, plus_ms(Timestamp(resolved.ts), -delay_ms))
        began_us = resolved.at_us - resolved.waited_us
        enough_us = max(at[place], began_us) if place < len(safe) else resolved.at_us
        paused = any(
            from_us <= enough_us and resolved.at_us <= until_us
            for from_us, until_us in pauses.get(resolved.node, ())
        )
        if enough_us < resolved.at_us and not paused:
            yield Anomaly(
                "waited-too-long",
                f"node {resolved.node} waited until {as_ms(resolved.at_us)} ms to look up "
                f"the schema at {show(resolved.ts)} for {resolved.tx} "
                f"({resolved.purpose}); since {as_ms(enough_us)} ms its safe time was at "
                f"least that less DD = {delay_ms} ms",
                (resolved,),
                clauses=("98.past.3",),
            )


def _pauses(case: Case) -> dict[str, list[tuple[int, int]]]:
    """When each node was paused: its steps, a woken look-up too, then wait for the end of that.

    A node that several faults pause goes on when the last of them ends.
    """
    faults: list[tuple[int, FaultBegan | FaultHealed]] = [
        *case.of(FaultBegan),
        *case.of(FaultHealed),
    ]
    pauses = sorted((one for one in faults if one[1].fault == PAUSE), key=itemgetter(0))
    under_way: Counter[str] = Counter()
    since_us: dict[str, int] = {}
    found: dict[str, list[tuple[int, int]]] = {}
    for _, event in pauses:
        for node in event.nodes:
            if isinstance(event, FaultHealed):
                under_way[node] -= 1
                if not under_way[node]:
                    found.setdefault(node, []).append((since_us.pop(node), event.at_us))
            else:
                under_way[node] += 1
                since_us.setdefault(node, event.at_us)
    for node, from_us in since_us.items():
        found.setdefault(node, []).append((from_us, case.history.end_us))
    return found


def _past(case: Case) -> Iterator[Anomaly]:
    chosen = {event.op: None for _, event in case.of(ReadTimeChosen)}
    active = {(event.op, event.activation_ts): None for _, event in case.of(UpdateLogged)}
    for _, began in case.of(TxBegan):
        skew_ms = _setting(case, began.node, "max_clock_skew_ms")
        idle_ms = _setting(case, began.node, "partition_idle_ms")
        if began.read_ts is None or skew_ms is None or idle_ms is None:
            continue
        ops = (began.tx, ATTEMPT.sub("", began.tx))  # an implicit one that did nothing has no other
        if case.transactions[began.tx].chosen or any(op in chosen for op in ops):
            continue
        looks = LOOK.search(began.tx) is not None
        if looks and (LOOK.sub("", began.tx), began.read_ts) in active:
            continue  # a statement looks for rows as of its own update [110.later.2]
        due_ts = plus_ms(Timestamp(began.begin_ts), -(idle_ms + skew_ms))
        if began.read_ts < due_ts:
            yield Anomaly(
                "reads-too-far-back",
                f"{began.tx} began at {show(began.begin_ts)} and reads at "
                f"{show(began.read_ts)}, where replicas know everything up to "
                f"{show(due_ts)}: idle interval {idle_ms} ms, CSmax {skew_ms} ms",
                (began,),
                clauses=("98.own",),
            )
