"""Part of I9: in a calm run (`calm`) an old name ends once its window is over [110.later.3].

The meta storage's leader submits the end a DD before it is due, and again behind each statement
that comes before it: so the end is active when it is due, or as much later as the log is late. What
its own clock shows decides, and stamps; another clock may only have moved it ahead meanwhile. After
a fault it may be due already. That no name ends early is `alias_rules`.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.progress.calm import TICKS_US, Calm
from ddlsim.history.events import UpdateLogged
from ddlsim.model.schema import Alias
from ddlsim.units import US_PER_MS, Timestamp, as_ms, physical_ms, plus_ms


class Window(NamedTuple):
    """An old name, the rename that left it, and the update that ended it, if any."""

    alias: Alias
    rename: UpdateLogged
    end: UpdateLogged | None


def alias_progress(case: Case, calm: Calm, from_us: int) -> Iterator[Anomaly]:
    """The old names that stand for longer than their window and the log take."""
    for window in _windows(case):
        due_us, until_us, allowed_us = _due(case, calm, from_us, window)
        if until_us - due_us > allowed_us:
            alias = window.alias
            yield Anomaly(
                "alias-stands-still",
                f"the name {alias.name!r}, which a rename has left for {alias.window_ms} ms, was "
                f"to end at {as_ms(due_us)} ms, and was there "
                f"{'at' if window.end is None else 'until'} {as_ms(until_us)} ms; "
                f"{as_ms(allowed_us)} ms more are enough",
                (window.rename,) if window.end is None else (window.rename, window.end),
                clauses=("110.later.3",),
            )


def _due(case: Case, calm: Calm, from_us: int, window: Window) -> tuple[int, int, int]:
    """When an old name was to end, until when it stood, and how much later it may have ended.

    An end is compared by its activation; what has none, by the end of the run.
    """
    due_ts = plus_ms(Timestamp(window.rename.activation_ts), window.alias.window_ms)
    due_us = physical_ms(due_ts) * US_PER_MS
    if window.end is None:
        due_us = max(due_us + calm.skew_us, from_us)
        until_us = last_us = case.history.end_us
        since_us, late_us = due_us, calm.resend_us
        turn_us = calm.submit_us + calm.command_us
    else:
        most_us = calm.largest_us("delay_duration_ms")
        due_us = max(due_us, from_us + calm.resend_us + calm.skew_us + most_us)
        until_us = physical_ms(Timestamp(window.end.activation_ts)) * US_PER_MS
        last_us, turn_us = window.end.at_us, calm.command_us
        since_us = due_us - most_us - calm.skew_us - turn_us
        late_us = most_us - calm.smallest_us("delay_duration_ms") + calm.spread_us
    races = sum(
        since_us < one.at_us <= last_us and one is not window.end for _, one in case.schemas.updates
    )
    return due_us, until_us, TICKS_US + late_us + (1 + races) * turn_us


def _windows(case: Case) -> Iterator[Window]:
    """Each old name with the rename that left it and its end."""
    begun: dict[int, tuple[Alias, UpdateLogged]] = {}
    ends: dict[int, UpdateLogged] = {}
    for _, update in case.schemas.updates:
        for change in update.objects:
            if isinstance(change.definition, Alias):
                begun.setdefault(change.object_id, (change.definition, update))
            elif change.definition is None:
                ends.setdefault(change.object_id, update)
    for object_id, (alias, rename) in begun.items():
        yield Window(alias, rename, ends.get(object_id))
