"""The simple changes between two versions by ids, and the rule that judges them."""

import pytest

from ddlsim.model.ddl import ColumnAltered, ObjectChange
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design.border_rules import endpoints_by_id
from ddlsim.protocol.schema.endpoints import difference
from ddlsim.units import MAX_TIMESTAMP
from tests.support.protocol import catalog_of

T = """CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, s VARCHAR(9) NOT NULL,
    CONSTRAINT c CHECK (v > 0))"""

OTHER_CONSTRAINT = ["ConstraintAdded", "ConstraintDropped"]


def steps_of(*statements: str) -> tuple[ObjectChange, ...]:
    """The steps of t from its first version to its last."""
    catalog = catalog_of((T, 0), *((text, 10 + number) for number, text in enumerate(statements)))
    return catalog.steps(1, 1, MAX_TIMESTAMP)


def altered(*actions: str) -> tuple[ObjectChange, ...]:
    """The same, of statements that alter it."""
    return steps_of(*(f"ALTER TABLE t {action}" for action in actions))


@pytest.mark.parametrize(
    ("actions", "left"),
    [
        (["ADD COLUMN w INT", "DROP COLUMN w"], []),
        (["ADD COLUMN w INT DEFAULT 1", "ALTER COLUMN w DROP DEFAULT"], ["ColumnAdded"]),
        (["ADD COLUMN w INT", "ALTER COLUMN w SET DEFAULT 1", "DROP COLUMN w"], []),
        (["DROP COLUMN s", "ADD COLUMN s VARCHAR(9)"], ["ColumnAdded", "ColumnDropped"]),
        (["ALTER COLUMN s DROP NOT NULL", "DROP COLUMN s"], ["ColumnDropped"]),
        (["ALTER COLUMN v SET DEFAULT 6", "ALTER COLUMN v SET DEFAULT 5"], []),
        (["ALTER COLUMN v SET DEFAULT 6", "ALTER COLUMN v SET DEFAULT 7"], ["ColumnAltered"]),
        (["RENAME COLUMN v TO w"], []),
        (["ALTER COLUMN v SET DEFAULT 6", "RENAME COLUMN v TO w"], ["ColumnAltered"]),
        (["ADD CONSTRAINT d CHECK (id > 0)", "DROP CONSTRAINT d"], []),
        (["DROP CONSTRAINT c", "ADD CONSTRAINT c CHECK (v > 0)"], OTHER_CONSTRAINT),
        (["RENAME TO x; ALTER TABLE x RENAME TO t"], []),
        (["RENAME TO x; ALTER TABLE x RENAME TO y"], ["ObjectRenamed"]),
    ],
)  # fmt: skip
def test_what_is_done_and_undone_is_no_difference(actions: list[str], left: list[str]) -> None:
    """By ids: another column or constraint of the name is another one, a renamed column is not."""
    statements = "; ".join(f"ALTER TABLE t {action}" for action in actions).split("; ")
    assert [type(one).__name__ for one in difference(steps_of(*statements))] == left


def test_changes_of_one_statement_and_of_several_count_alike() -> None:
    compound = difference(altered("ADD COLUMN w INT, DROP COLUMN v"))
    assert compound == difference(altered("ADD COLUMN w INT", "DROP COLUMN v"))


def test_an_alteration_leads_from_the_first_definition_to_the_last() -> None:
    [one] = difference(altered("ALTER COLUMN v SET DEFAULT 6", "ALTER COLUMN v SET DEFAULT 7"))
    assert isinstance(one, ColumnAltered)
    assert (one.before.default, one.after.default) == (5, 7)


@pytest.mark.parametrize(
    ("statements", "commits"),
    [
        (["ALTER TABLE t ADD COLUMN w INT", "ALTER TABLE t DROP COLUMN w"], True),
        (["ALTER TABLE t ALTER COLUMN v SET DEFAULT 6"], False),
        (["ALTER TABLE t DROP COLUMN s", "ALTER TABLE t ADD COLUMN w INT"], False),
        (["CREATE UNIQUE INDEX i ON t (v)", "DROP INDEX i"], True),
        (["CREATE UNIQUE INDEX i ON t (v)"], False),
        (["ALTER TABLE t RENAME TO x", "ALTER TABLE x RENAME TO t"], True),
        (["ALTER TABLE t RENAME TO x"], False),
        (["DROP TABLE t"], False),
    ],
)
def test_a_commit_is_judged_by_the_difference(statements: list[str], commits: bool) -> None:
    """By the rules of IEP-110 for each simple change that is left."""
    found = endpoints_by_id(steps_of(*statements))
    assert found is (None if commits else Reason.SCHEMA_INCOMPATIBLE)
