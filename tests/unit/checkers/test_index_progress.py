"""I9: in a calm run an index that is built or removed in states goes on to its next state."""

import pytest
from msgspec.structs import replace

from ddlsim.history.events import UpdateLogged
from ddlsim.history.world_events import FaultBegan, LeftOpen, NodeCrashed, NodeRestarted
from ddlsim.model.ddl import (
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
    ObjectDropped,
    SimpleChange,
)
from ddlsim.model.schema import INDEX_STATES, Column, ColumnType, Index, Table
from tests.support.history import ts
from tests.support.judging import anomalies
from tests.support.layered import Layered
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


# --- on a store -----------------------------------------------------------------------------------


def of_layer(*states: str) -> Layered:
    """D, of process n1, takes an index through these states."""
    story = Layered(("I9",))
    for number, state in enumerate(states):
        if state == "gone":
            story.drop_index("D", 10 * number + 10)
        elif number:
            story.set_state("D", state, 10 * number + 10)
        else:
            story.index("D", 10, state=state)
    return story


def told(story: Layered) -> list[str]:
    return [one.kind for one in anomalies("liveness", story)]


@pytest.mark.parametrize("upto", range(1, len(INDEX_STATES)))
def test_an_index_of_a_layer_whose_statement_no_process_has_is_abandoned(upto: int) -> None:
    """Calm or not: no other process takes it up."""
    story = of_layer(*INDEX_STATES[:upto])
    story.add(500, NodeCrashed, "n1")
    story.add(510, NodeRestarted, "n1", 2)
    assert told(story) == ["index-abandoned"]


@pytest.mark.parametrize("states", [INDEX_STATES, (*INDEX_STATES[:3], "gone")])
def test_an_index_of_a_layer_that_is_public_or_gone_may_stay_so(states: tuple[str, ...]) -> None:
    assert told(of_layer(*states)) == []


@pytest.mark.parametrize(
    ("node", "op", "found"),
    [
        ("n1", "D", []),
        ("n2", "D", []),
        ("n1", "", []),
        ("n1", "E", ["index-abandoned"]),
        (None, "", []),
    ],
)
def test_a_statement_that_is_under_way_or_whose_process_is_dead_may_be_unfinished(
    node: str | None, op: str, found: list[str]
) -> None:
    """n1 has died for good where no process has anything open."""
    story = of_layer("delete_only")
    if node is None:
        story.add(500, NodeCrashed, "n1")
    else:
        story.add(500, LeftOpen, node, op, "statement")
    assert told(story) == found
