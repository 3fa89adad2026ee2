"""Part of I9: in a calm run (`calm`) an old name ends once its window is over [110.later.3].

The meta storage's leader submits the end then, again behind each statement that comes before it. A
node whose clock is slow waits for as much longer. That no name ends early is `alias_rules`.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.calm import TICKS_US, Calm
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import UpdateLogged
from ddlsim.model.schema import Alias
from ddlsim.units import US_PER_MS, Timestamp, physical_ms, plus_ms


def alias_progress(case: Case, calm: Calm, from_us: int) -> Iterator[Anomaly]:
    """The old names that stand for longer than their window and the log take."""
    for alias, rename, ended_us in _windows(case):
        due_ts = plus_ms(Timestamp(rename.activation_ts), alias.window_ms)
        since_us = max(physical_ms(due_ts) * US_PER_MS + calm.skew_us, from_us)
        races = sum(since_us < one.at_us <= ended_us for _, one in case.schemas.updates)
        turns_us = (1 + races) * (calm.submit_us + calm.command_us)
        allowed_us = TICKS_US + calm.resend_us + turns_us
        if ended_us - since_us > allowed_us:
            yield Anomaly(
                "alias-stands-still",
                f"the name {alias.name!r}, which a rename has left for {alias.window_ms} ms, was "
                f"to end at {since_us / US_PER_MS:g} ms, and was there at "
                f"{ended_us / US_PER_MS:g} ms; {allowed_us / US_PER_MS:g} ms more are enough",
                (rename,),
                clauses=("110.later.3",),
            )


def _windows(case: Case) -> list[tuple[Alias, UpdateLogged, int]]:
    """Each old name, the rename that left it, and when it was gone or the run was over."""
    begun: dict[int, tuple[Alias, UpdateLogged]] = {}
    gone_us: dict[int, int] = {}
    for _, update in case.schemas.updates:
        for change in update.objects:
            if isinstance(change.definition, Alias):
                begun.setdefault(change.object_id, (change.definition, update))
            elif change.definition is None:
                gone_us.setdefault(change.object_id, update.at_us)
    end_us = case.history.end_us
    return [(*one, gone_us.get(object_id, end_us)) for object_id, one in begun.items()]
