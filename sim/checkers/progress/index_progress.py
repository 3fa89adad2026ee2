"""Part of I9: in a calm run (`calm`) an index that is built or removed in states goes on.

REGISTERED and STOPPING end once the transactions that began before them have, and each of these
ends within its time limit; BUILDING ends once every partition has taken the steps of its backfill
[110.ours.index.build]. In the end no index is left on its way for longer than that takes.

Where SQL is a layer on a store, a statement takes its index on, and the history tells which
statements processes still have under way in the end. An index on its way whose statement none of
them has stays so for good, calm or not, unless a process of that statement is dead: another one
does not take its work.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.progress.calm import Calm
from ddlsim.history.events import UpdateLogged, WriteExecuted
from ddlsim.history.world_events import LeftOpen
from ddlsim.model.ddl import IndexCreated, IndexDropped, IndexStateSet, ObjectChange
from ddlsim.model.schema import PUBLIC
from ddlsim.units import US_PER_MS, as_ms

Place = tuple[int, int]
"""(table id, index id)."""
UNNAMED: Final = ""
"""The name in `LeftOpen` of statements that a process has still to go on with."""


def index_progress(case: Case, calm: Calm, from_us: int, ended_us: int) -> Iterator[Anomaly]:
    """The indexes on their way; `ended_us` is how long a transaction may be open."""
    if case.is_layered or not case.keeps_entries or not calm.leases_last:
        return
    for place, (update, state) in _on_their_way(case).items():
        since_us = max(update.at_us, from_us)
        waited_us = case.history.end_us - since_us
        allowed_us = ended_us + _changes_us(case, calm) + _steps_us(case, calm, place[0])
        if waited_us > allowed_us:
            yield Anomaly(
                "index-stands-still",
                f"index {place[1]} of {case.schemas.name(place[0])} was still {state} when the run "
                f"ended, as it has been since {as_ms(update.at_us)} ms; nothing had disturbed it "
                f"for {as_ms(waited_us)} ms, where {as_ms(allowed_us)} ms are enough",
                (update,),
                clauses=("110.ours.index.build",),
            )


def abandoned_indexes(case: Case) -> Iterator[Anomaly]:
    """Indexes of a layer on their way, whose statement no process has under way in the end."""
    if not case.is_layered:
        return
    makers: dict[str | None, dict[str, None]] = {}
    for _, update in case.schemas.updates:
        makers.setdefault(update.op, {})[update.node] = None
    open_ones = {left.tx for _, left in case.of(LeftOpen)}
    for place, (update, state) in _on_their_way(case).items():
        may_go_on = UNNAMED in open_ones or update.op in open_ones
        if update.op is None or may_go_on or any(node in case.dead for node in makers[update.op]):
            continue
        yield Anomaly(
            "index-abandoned",
            f"index {place[1]} of {case.schemas.name(place[0])} was still {state} when the run "
            f"ended, as it has been since {as_ms(update.at_us)} ms, and no process had {update.op} "
            f"under way, though {', '.join(makers[update.op])} ran",
            (update,),
        )


def _on_their_way(case: Case) -> dict[Place, tuple[UpdateLogged, str]]:
    """The newest update of each index whose state another one follows, and that state."""
    found: dict[Place, tuple[UpdateLogged, str]] = {}
    for _, update in case.schemas.updates:
        for step in update.objects:
            for place, state in _states(step):
                found.pop(place, None)
                if state not in {None, PUBLIC}:
                    found[place] = (update, str(state))
            if step.definition is None:
                gone = [place for place in found if place[0] == step.object_id]
                for place in gone:
                    del found[place]
    return found


def _states(step: ObjectChange) -> Iterator[tuple[Place, str | None]]:
    for change in step.changes:
        match change:
            case IndexCreated(index=index):
                yield (step.object_id, index.id), index.state
            case IndexStateSet(index_id=index_id, state=state):
                yield (step.object_id, index_id), state
            case IndexDropped(index=index):
                yield (step.object_id, index.id), None


def _changes_us(case: Case, calm: Calm) -> int:
    """The activation of a state, a question to each node, and the next state in the log."""
    nodes = sum(bool(node) for node in case.header.settings)
    asked_us = calm.largest_us("election_timeout_ms") + calm.resend_us + 4 * calm.slowest_us
    active_us = calm.largest_us("delay_duration_ms") + calm.skew_us + calm.completeness_us
    return 2 * active_us + 4 * nodes * asked_us + 4 * calm.submit_us + calm.place_us


def _steps_us(case: Case, calm: Calm, table_id: int) -> int:
    """The steps of a backfill, as if all rows were in one partition, each with its pause."""
    rows = {repr(one.key) for _, one in case.of(WriteExecuted) if one.object_id == table_id}
    steps = len(rows) // max(calm.smallest_us("backfill_rows") // US_PER_MS, 1) + 2
    return steps * (calm.largest_us("backfill_pause_ms") + calm.submit_us + calm.resend_us)
