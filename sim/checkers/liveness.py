"""I9: after faults heal, everything ends; without a faulty participant nothing freezes.

[98.risk.2] [98.x.6]
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.progress.bounds import Bounds
from ddlsim.checkers.progress.calm import Calm
from ddlsim.checkers.progress.faulty_nodes import slow_apply_us
from ddlsim.checkers.progress.obligations import cannot_end, cleaned_us, obligations, recovered_us
from ddlsim.checkers.progress.stuck import waiting
from ddlsim.checkers.progress.waits import Waits
from ddlsim.history.events import AnyEvent, SafeTimeAdvanced, UpdateApplied, UpdateLogged
from ddlsim.history.world_events import (
    LeftOpen,
    NeverCompleted,
    NodeCrashed,
    SchemaBehind,
    TxRecovered,
)
from ddlsim.units import US_PER_MS, Timestamp, as_ms, physical_ms, show

WITH_THE_CATALOG: Final = ("AFTER_LISTENERS", "ON_APPLICATION")
"""The rules by which safe time waits for nothing behind the catalog."""
RESTORED: Final = ("restored_safe_ts", "as_far_as_the_log")
"""The rule by which it does not begin anew where a node restarts [98.x.7]."""


class Liveness:
    """Everything that was begun has ended, and how long the last of it took is measured.

    What never completes makes a run *stuck*, whatever is claimed. Beside that: no living node's
    schema safe time stands still for good while others move on, or waits for anything but the
    catalog; no transaction that has ended, or has lost its coordinator, leaves locks or intents
    behind; no process that a watch tells of updates misses one for good; and no operation waits for
    a faulty node that is not one of its participants (`waits`), as every process of a store is
    where SQL is a layer on it. Only this checker sees a design that is safe because it stands
    still.
    """

    name = "liveness"
    invariant = "I9"
    severity: Severity = "liveness"
    summary = "after faults heal everything ends; without a faulty participant nothing freezes"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """What never ended, what froze, what was left behind, waits for unrelated faulty nodes."""
        yield from _never(case)
        yield from _frozen(case)
        yield from _held_up(case)
        yield from _left_open(case)
        yield from _behind(case)
        yield from obligations(case)
        case.measures = replace(case.measures, after_heal_ms=_after_heal_ms(case))
        if case.of_cluster.get("calm") and case.faults and not case.is_layered:
            waits = Waits(case, case.once(Bounds))
            yield from waits.check()
            case.measures = replace(case.measures, blocked_behind=waits.blocked_behind())


def _never(case: Case) -> Iterator[Anomaly]:
    for _, event in case.of(NeverCompleted):
        operation = case.operations.get(event.op)
        if operation is None or operation.invoked is None:
            continue  # a scripted step that never began
        witness = (operation.invoked, event)
        yield Anomaly("never-completed", waiting(case, event), witness, stuck=True)


# --- safe time -----------------------------------------------------------------------------------


def _frozen(case: Case) -> Iterator[Anomaly]:
    """A node whose safe time stayed behind what others had reached a grace before the end.

    The grace is longer than any healthy node takes to catch up: a second and ten idle intervals.
    A node whose safe time never moved has stood at 0 since the run began.
    """
    last: dict[str, SafeTimeAdvanced] = {}
    nodes = sum(bool(node) for node in case.header.settings)
    for _, event in reversed(case.of(SafeTimeAdvanced)):
        last.setdefault(event.node, event)
        if len(last) == nodes:
            break
    if not last:
        return
    leader = max(last.values(), key=lambda event: event.safe_ts)
    grace_us = (1000 + 10 * max(case.settings("safe_time_interval_ms"), default=0)) * US_PER_MS
    end_us = case.history.end_us
    healed_us = max((event.at_us for event in case.faults), default=0) + slow_apply_us(case)
    dead = case.dead
    named = {node: None for node in case.header.settings if node}
    for node in {**dict.fromkeys(last), **named}:
        moved = last.get(node)
        since_us, stands_ts = (0, 0) if moved is None else (moved.at_us, moved.safe_ts)
        behind_ms = physical_ms(Timestamp(leader.safe_ts)) - physical_ms(Timestamp(stands_ts))
        still_us = end_us - max(since_us, healed_us)
        if node in dead or behind_ms * US_PER_MS < grace_us or still_us < grace_us:
            continue
        yield Anomaly(
            "safe-time-froze",
            f"the safe time of node {node} has stood at {show(stands_ts)} since "
            f"{as_ms(since_us)} ms; node {leader.node} had reached "
            f"{show(leader.safe_ts)} when the run ended at {as_ms(end_us)} ms",
            (leader,) if moved is None else (moved, leader),
            clauses=("98.x.6",),
        )


def _held_up(case: Case) -> Iterator[Anomaly]:
    """Safe time moves once the catalog has applied, and waits for no other listener [98.x.3].

    So it shows an update in the instant in which the catalog does.
    """
    rules = case.header.design.rules
    if (
        rules.get("publish_safe_time") not in WITH_THE_CATALOG
        or rules.get(RESTORED[0]) != RESTORED[1]
    ):
        return
    moved: dict[str, dict[int, int]] = {}
    for _, event in case.of(SafeTimeAdvanced):
        highest = moved.setdefault(event.node, {})
        highest[event.at_us] = max(event.safe_ts, highest.get(event.at_us, 0))
    for node, highest in moved.items():
        instants = list(highest)
        most = list(accumulate(highest.values(), max))
        for _, applied in case.of(UpdateApplied):
            place = bisect_right(instants, applied.at_us)
            if applied.node != node or (place and most[place - 1] >= applied.message_ts):
                continue
            yield Anomaly(
                "safe-time-held-up",
                f"the catalog of node {node} has applied version {applied.catalog_version}, "
                f"stamped {show(applied.message_ts)}, at {as_ms(applied.at_us)} ms, and its safe "
                f"time had not come to there",
                (applied,),
                clauses=("98.x.3", "98.risk.2"),
            )


WATCH_US: Final = 1_000 * US_PER_MS
"""More than it takes to arm a watch, to be told of a change and to read the schema."""


def _behind(case: Case) -> Iterator[Anomaly]:
    """A process whose watch has not told it of an update, though it was armed again since.

    Where the network loses messages, or a script holds them, a watch may be lost again and again.
    """
    if not case.of_cluster.get("calm"):
        return
    changed_us = max((event.at_us for _, event in case.of(UpdateLogged)), default=0)
    over_us = max((event.at_us for event in case.faults), default=changed_us)
    over_us = max(over_us, changed_us)
    for _, behind in case.of(SchemaBehind):
        if behind.at_us - over_us >= behind.again_ms * US_PER_MS + WATCH_US:
            yield Anomaly(
                "schema-froze",
                f"when the run ended, node {behind.node} still kept update {behind.kept} of the "
                f"schema and not {behind.newest}; the last update and the last fault were over at "
                f"{as_ms(over_us)} ms",
                (behind,),
            )


# --- what was left behind ------------------------------------------------------------------------


def _left_open(case: Case) -> Iterator[Anomaly]:
    """A transaction that its client may still end, on a node that lives, may hold what it has.

    So may one whose outcome was only found in the store when the run had ended. Where the run ended
    too soon to tell, it is stuck.
    """
    calm = case.once(Calm)
    recovered = {event.tx: event for _, event in case.of(TxRecovered)}
    deaths = {event.node: (at, event) for at, event in case.of(NodeCrashed)}
    for _, left in case.of(LeftOpen):
        tx = case.transactions.get(left.tx)
        over: AnyEvent | None = None if tx is None else tx.committed or tx.aborted
        over, due_us = over or recovered.get(left.tx), cleaned_us(calm)
        if over is not None:
            if over.at_us >= left.at_us:
                continue
            first, how = over, f"it had ended at {as_ms(over.at_us)} ms"
        else:
            placed = case.began.get(left.tx)
            if placed is None:
                continue
            died_at, died = deaths.get(placed[1].node, (-1, None))
            if died is None or died_at < placed[0]:
                continue
            over, due_us = died, recovered_us(calm)
            first, how = placed[1], f"its coordinator {died.node} had died"
        if tx is not None and cannot_end(case, tx):
            continue
        passed_us = left.at_us - max(over.at_us, calm.disturbed_us or 0)
        is_early = passed_us <= due_us
        if is_early:
            how += (
                f", and nothing disturbed it for {as_ms(passed_us)} ms then, where up to "
                f"{as_ms(due_us)} ms may pass: a longer `drain_ms` of [run] would decide it"
            )
        yield Anomaly(
            "left-open",
            f"when the run ended, node {left.node} still had {left.what} of {left.tx}, "
            f"though {how}",
            (first, left),
            stuck=is_early,
        )


# --- how long the rest took ----------------------------------------------------------------------


def _after_heal_ms(case: Case) -> float | None:
    """The longest time to its end of anything under way or begun once the last fault was healed.

    Without any fault, once the load was over; a restart heals a crash.
    """
    healed_us = max((event.at_us for event in case.faults), default=None)
    if healed_us is None:
        healed_us = case.of_cluster.get("load_ms", 0) * US_PER_MS
    longest: int | None = None
    for operation in case.operations.values():
        asked, ended = operation.invoked, operation.ended
        if asked is None or ended is None or ended.at_us <= healed_us:
            continue
        took_us = ended.at_us - max(asked.at_us, healed_us)
        longest = took_us if longest is None else max(longest, took_us)
    return None if longest is None else longest / US_PER_MS


CHECKERS.add("liveness", Liveness())
