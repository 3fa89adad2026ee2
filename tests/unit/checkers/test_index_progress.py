"""I9: in a calm run an index that is built or removed in states goes on to its next state."""

import pytest
from msgspec.structs import replace

from ddlsim.history.events import UpdateLogged
from ddlsim.history.world_events import FaultBegan
from ddlsim.model.ddl import (
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
    ObjectDropped,
    SimpleChange,
)
from ddlsim.model.schema import Column, ColumnType, Index, Table
from tests.support.history import ts
from tests.support.quiet_runs import COMMIT, COMPLETE, DATA, PLACE, RESENT, SUBMIT, quiet
from tests.unit.checkers.test_obligations import kinds

INDEX = Index(7, "i", (1,), state="write_only")
TABLE = Table(1, "t", 2, (Column(1, "k", ColumnType("INTEGER")),), (1,), "default", (INDEX,))
REGISTERED, BUILDING, PUBLIC = (
    IndexCreated(INDEX),
    IndexStateSet(7, "reorganization"),
    IndexStateSet(7, "public"),
)
STOPPING = IndexStateSet(7, "write_only")
CHANGES = 2 * (20 + 5 + COMPLETE) + 4 * 2 * (100 + RESENT + 4) + 4 * SUBMIT + PLACE
STEPS = 2 * (30 + SUBMIT + RESENT)
ALLOWED = 4 * (300 + COMMIT) + DATA + CHANGES + STEPS


def left(
    end: int, *changes: SimpleChange, disturbed: bool = False, builds: bool = True
) -> list[str]:
    """One update for each change, the last one at 10 ms, in a run that ends then."""
    story = quiet(end, backfill_rows=2, backfill_pause_ms=30)
    if builds:
        story.design = replace(story.design, rules={"index_entries": "by_state"})
    for number, change in enumerate(changes, start=2):
        at = 10 - len(changes) + number - 1
        table = None if isinstance(change, ObjectDropped) else replace(TABLE, version=number)
        step = ObjectChange(1, "table", "t", number, table, (change,))
        story.add(at, UpdateLogged, "n1", None, number, number, ts(at), ts(at + 20), 20, (step,))
    if disturbed:
        story.add(end - 1, FaultBegan, "pause", "n2", ("n2",))
    return kinds(story)


@pytest.mark.parametrize(
    "changes",
    [(REGISTERED,), (REGISTERED, BUILDING), (REGISTERED, BUILDING, PUBLIC, STOPPING)],
)
def test_an_index_goes_on_within_what_transactions_questions_and_steps_take(
    changes: tuple[SimpleChange, ...],
) -> None:
    assert left(10 + ALLOWED, *changes) == []
    assert left(11 + ALLOWED, *changes) == ["index-stands-still"]


@pytest.mark.parametrize(
    "changes",
    [
        (REGISTERED, BUILDING, PUBLIC),
        (REGISTERED, IndexDropped(INDEX)),
        (REGISTERED, ObjectDropped()),
    ],
)
def test_an_index_that_is_available_or_gone_may_stay_so(changes: tuple[SimpleChange, ...]) -> None:
    assert left(11 + ALLOWED, *changes) == []


def test_nothing_is_said_where_a_fault_goes_on_or_indexes_have_no_states() -> None:
    assert left(11 + ALLOWED, REGISTERED, disturbed=True) == []
    assert left(11 + ALLOWED, REGISTERED, builds=False) == []
