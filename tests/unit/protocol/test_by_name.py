"""The simple changes of a statement where columns are compared by name."""

import pytest

from ddlsim.model.ddl import ColumnAdded, ColumnAltered, ColumnDropped, ColumnRenamed
from ddlsim.protocol.schema.by_name import difference
from ddlsim.protocol.schema.compatibility import IEP, IGNITE3, judge_step
from tests.support.schemas import change_of

T = "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, s VARCHAR(9) NOT NULL)"


def left(actions: str) -> list[tuple[type, str]]:
    found = []
    for one in difference(change_of(T, f"ALTER TABLE t {actions}")):
        match one:
            case ColumnAdded(column=column) | ColumnDropped(column=column):
                found.append((type(one), column.name))
            case ColumnAltered(before=column):
                found.append((type(one), column.name))
            case ColumnRenamed(new_name=name):
                found.append((type(one), name))
            case _:
                found.append((type(one), ""))
    return found


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("ADD COLUMN w INT", [(ColumnAdded, "w")]),
        ("DROP COLUMN v", [(ColumnDropped, "v")]),
        ("RENAME COLUMN v TO w", [(ColumnRenamed, "w")]),
        ("ADD COLUMN w INT, DROP COLUMN w", []),
        ("DROP COLUMN v, ADD COLUMN v INT DEFAULT 5", []),
        ("DROP COLUMN v, ADD COLUMN v INT", [(ColumnAltered, "v")]),
        ("DROP COLUMN v, RENAME COLUMN s TO v", [(ColumnAltered, "v"), (ColumnDropped, "s")]),
        ("ALTER COLUMN v SET DEFAULT 6, ALTER COLUMN v SET DEFAULT 5", []),
        ("ADD COLUMN w INT, ALTER COLUMN w SET DEFAULT 6", [(ColumnAdded, "w")]),
        ("ADD COLUMN w INT, RENAME COLUMN w TO x", [(ColumnAdded, "x")]),
        ("RENAME COLUMN v TO w, DROP COLUMN w", [(ColumnDropped, "v")]),
        ("RENAME COLUMN v TO w, RENAME COLUMN w TO v", []),
    ],
)
def test_what_is_left_of_a_compound_statement(
    actions: str, expected: list[tuple[type, str]]
) -> None:
    assert left(actions) == expected


def test_an_added_column_is_judged_as_it_is_in_the_end() -> None:
    """Where it got its default later in the statement."""
    step = change_of(T, "ALTER TABLE t ADD COLUMN w INT, ALTER COLUMN w SET DEFAULT 6")
    [verdict] = judge_step(step, IGNITE3)
    assert verdict.compatible
    assert not all(verdict.compatible for verdict in judge_step(step, IEP))


def test_judge_step_without_difference_is_compatible() -> None:
    step = change_of(T, "ALTER TABLE t DROP COLUMN v, ADD COLUMN v INT DEFAULT 5")
    [verdict] = judge_step(step, IGNITE3)
    assert (verdict.clause, verdict.compatible) == ("110.compat.compound", True)
