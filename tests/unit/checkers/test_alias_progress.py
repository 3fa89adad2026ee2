"""I9: in a calm run an old name ends once its window is over."""

import pytest

from ddlsim.history.events import UpdateLogged
from ddlsim.history.world_events import FaultBegan
from ddlsim.model.ddl import ObjectChange, ObjectCreated, ObjectDropped
from ddlsim.model.schema import Alias
from tests.support.history import ts
from tests.support.quiet_runs import COMMAND, RESENT, SUBMIT, quiet
from tests.unit.checkers.test_obligations import kinds

ALIAS = Alias(2, "t", 1, "", (1,), 40)
DELAY, SKEW = 20, 5
DUE = 30 + 40 + SKEW
"""Active at 30 ms, for 40 ms, by a clock that is 5 ms behind."""
TURN = SUBMIT + COMMAND
ALLOWED = 3 + RESENT + TURN


def left(
    end: int,
    *,
    until: int | None = None,
    disturbed: bool = False,
    races: int = 0,
    raced: int = DUE + 1,
) -> list[str]:
    """A rename at 10 ms in a run that ends then; the end of its old name is logged at `until`."""
    story = quiet(end)
    created = ObjectChange(2, "alias", "t", 1, ALIAS, (ObjectCreated(),))
    dropped = ObjectChange(2, "alias", "t", 2, None, (ObjectDropped(),))
    steps: list[tuple[int, ObjectChange]] = [(10, created)]
    for number in range(races):
        other = ObjectChange(9 + number, "view", "v", 1, None, (ObjectDropped(),))
        steps.append((raced + number, other))
    if until is not None:
        steps.append((until, dropped))
    for number, (at, step) in enumerate(steps, start=2):
        story.add(
            at, UpdateLogged, "n1", None, number, number, ts(at), ts(at + DELAY), DELAY, (step,)
        )
    if disturbed:
        story.add(end - 1, FaultBegan, "pause", "n2", ("n2",))
    return kinds(story)


def test_an_old_name_ends_within_what_clocks_and_the_log_take() -> None:
    assert left(DUE + ALLOWED) == []
    assert left(DUE + ALLOWED + 1) == ["alias-stands-still"]


@pytest.mark.parametrize("races", [0, 2])
def test_an_end_is_active_when_it_is_due_or_as_much_later_as_the_log_is_late(races: int) -> None:
    """It is logged a DD before that, by the clock that decides."""
    last = DUE - SKEW - DELAY + 3 + (1 + races) * COMMAND
    assert left(DUE + 900, until=last, races=races, raced=DUE - DELAY) == []
    late = left(DUE + 900, until=last + 1, races=races, raced=DUE - DELAY)
    assert late == ["alias-stands-still"]


def test_each_statement_that_comes_first_takes_a_turn() -> None:
    assert left(DUE + ALLOWED + 2 * TURN, races=2) == []
    assert left(DUE + ALLOWED + 2 * TURN + 1, races=2) == ["alias-stands-still"]


def test_nothing_is_said_where_a_fault_goes_on() -> None:
    assert left(DUE + ALLOWED + 1, disturbed=True) == []
