"""I7: committed rows against unique indexes and CHECK; I11: refusals because of them."""

from typing import Any

import pytest

from ddlsim.model import ddl
from ddlsim.model.schema import Comparison, Constraint, Index
from tests.support.history import Story
from tests.support.judging import anomalies

UNIQUE = Index(9, "uv", (1,), unique=True)
CHECK = Constraint(8, "positive", "check", "v > 0", (1,), Comparison(0, ">", 0))


def told(story: Story) -> list[str]:
    found = anomalies("data_matches_schema", story)
    return [f"{one.kind}: {one.summary}" for one in found]


def put(story: Story, tx: str, key: Any, value: Any, at: int, version: int = 1) -> None:
    """A transaction writes one row and commits it 5 ms later; a value `gone` is a deletion."""
    row = None if value == "gone" else ((0, key), (1, value))
    story.write(tx, 1, key, at, version=version, row=row)
    story.commit(tx, at + 5)


def history(*changes: tuple[Any, int]) -> Story:
    story = Story()
    story.table()
    for number, (change, tu) in enumerate(changes):
        story.ddl(f"D{number}", 1, change, tu=tu)
    return story


def test_two_rows_with_equal_values_break_a_unique_index() -> None:
    story = history((ddl.IndexCreated(UNIQUE), 5))
    put(story, "T1", 1, 7, 10, 2)
    put(story, "T2", 2, 7, 20, 2)
    (why,) = told(story)
    assert why.startswith(
        "unique-violated: row 1 of t (version 2), committed by T1 at 15, and row 2 of t"
    )
    assert "both have (7) in the unique index uv from 25 on" in why


def test_rows_that_are_not_there_at_one_time_are_fine() -> None:
    story = history((ddl.IndexCreated(UNIQUE), 5))
    put(story, "T1", 1, 7, 10, 2)
    put(story, "T2", 1, "gone", 20, 2)
    put(story, "T3", 2, 7, 30, 2)
    put(story, "T4", 2, 8, 40, 2)
    put(story, "T5", 1, 7, 50, 2)
    put(story, "T6", 3, None, 60, 2)
    put(story, "T7", 4, None, 70, 2)
    assert told(story) == []


def test_rows_from_before_the_index_excuse_each_other_and_nothing_later() -> None:
    story = history((ddl.IndexCreated(UNIQUE), 40))
    put(story, "T1", 1, 7, 10)
    put(story, "T2", 2, 7, 20)
    assert told(story) == []
    put(story, "T3", 3, 7, 50, 2)
    assert [why.partition(":")[0] for why in told(story)] == ["unique-violated"]


def test_a_row_of_an_older_schema_that_is_committed_too_late_is_not_excused() -> None:
    story = history((ddl.IndexCreated(UNIQUE), 22))
    put(story, "T1", 1, 7, 10)
    put(story, "T2", 2, 7, 20)
    assert [why.partition(":")[0] for why in told(story)] == ["unique-violated"]


def test_an_index_demands_nothing_once_it_is_dropped() -> None:
    story = history((ddl.IndexCreated(UNIQUE), 5), (ddl.IndexDropped(UNIQUE), 25))
    put(story, "T1", 1, 7, 10, 2)
    put(story, "T2", 2, 7, 20, 2)
    assert told(story) == []


def test_a_row_that_a_check_is_false_for() -> None:
    story = history((ddl.ConstraintAdded(CHECK), 15), (ddl.ConstraintDropped(CHECK), 45))
    put(story, "T1", 1, 0, 5)
    put(story, "T2", 2, None, 20, 2)
    put(story, "T3", 3, 1, 21, 2)
    put(story, "T4", 4, 0, 42, 2)
    put(story, "T5", 5, 0, 30, 2)
    found = [why for why in told(story) if why.startswith("check-violated")]
    assert len(found) == 1
    assert "T5 wrote row 5 of t (version 2) and committed at 35" in found[0]


@pytest.mark.parametrize(
    ("look_up", "clauses"),
    [
        ((20, 1, "arrival", "o"), ("110.ours.check", "98.ap")),
        ((25, 1, "commit", None), ("110.ours.check", "98.ap")),
        ((20, 1, "commit-early", "o"), ("110.ours.check",)),
        ((20, 1, "arrival", "another"), ("110.ours.check",)),
        ((20, 2, "arrival", "o"), ("110.ours.check",)),
        ((14, 1, "arrival", "o"), ("110.ours.check",)),
        ((45, 1, "arrival", "o"), ("110.ours.check",)),
    ],
)
def test_a_row_that_breaks_a_check_names_a_look_up_that_missed_the_constraint(
    look_up: tuple[int, int, str, str | None], clauses: tuple[str, ...]
) -> None:
    top, version, purpose, op = look_up
    story = history((ddl.ConstraintAdded(CHECK), 15), (ddl.ConstraintDropped(CHECK), 40))
    story.resolve("T", 1, top, version, at=20, purpose=purpose, op=op)
    story.write("T", 1, 5, 20, version=1, row=((0, 5), (1, 0)), op="o")
    story.commit("T", 25)
    [found] = [
        one for one in anomalies("data_matches_schema", story) if one.kind == "check-violated"
    ]
    assert found.clauses == clauses


# --- needless refusals ----------------------------------------------------------------------------


def refused(reason: str, value: Any, *, reads: bool = True) -> list[str]:
    """T2 is refused a row with `value`; T1 has committed 7 under key 1, and T2 has read that."""
    story = Story(settings={"": {"tells_names": 1, "calm": 1}, "n1": {}})
    story.table()
    story.ddl("D", 1, ddl.IndexCreated(UNIQUE), ddl.ConstraintAdded(CHECK), tu=5, submit=1)
    put(story, "T1", 1, 7, 10, 2)
    op = story.write("T2", 1, 2, 20, version=2, row=((0, 2), (1, value)))
    if reads:
        story.read("T2", 1, 1, 20, "T1", version=2, op=op)
    story.abort("T2", 21, reason)
    return [one.kind for one in anomalies("precision", story)]


def test_a_unique_violation_needs_a_row_that_was_found() -> None:
    assert refused("UNIQUE_VIOLATED", 7) == []
    assert refused("UNIQUE_VIOLATED", 8) == ["no-equal-row"]
    assert refused("UNIQUE_VIOLATED", None) == ["no-equal-row"]
    assert refused("UNIQUE_VIOLATED", 7, reads=False) == ["no-equal-row"]


def test_a_check_violation_needs_a_row_that_breaks_it() -> None:
    assert refused("CHECK_VIOLATED", 0) == []
    assert refused("CHECK_VIOLATED", 1) == ["checks-hold"]
    assert refused("CHECK_VIOLATED", None) == ["checks-hold"]
