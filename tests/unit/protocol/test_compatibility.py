"""Each rule says yes or no, with its clause and column; one "no" decides; silence is an error."""

import pytest

from ddlsim.model.ddl import ColumnAltered, ObjectChange, SimpleChange
from ddlsim.model.schema import Column, ColumnType
from ddlsim.protocol.schema.compatibility import (
    IEP,
    IGNITE3,
    RULES,
    RuleVerdict,
    first_incompatible,
    forward_compatible,
    is_forward_compatible,
    judge,
    judge_step,
)
from tests.support.schemas import change_of, simple_change_of

T = """CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, s VARCHAR(5) NOT NULL,
at TIMESTAMP(3), CONSTRAINT c CHECK (v > 0)); CREATE INDEX i ON t (s);
CREATE VIEW w AS SELECT id FROM t; CREATE ZONE z;"""

CASES = [
    ("CREATE TABLE n (id INT PRIMARY KEY)", "110.table.create", True),
    ("ALTER TABLE t RENAME TO n", "110.table.rename", False),
    ("CREATE VIEW n AS SELECT id FROM t", "110.view", True),
    ("DROP VIEW w", "110.view", False),
    ("ALTER VIEW w RENAME TO n", "110.view", False),
    ("CREATE ZONE n", "110.zone", True),
    ("ALTER ZONE z SET REPLICAS 2", "110.zone", True),
    ("DROP ZONE z", "110.zone", True),
    ("ALTER TABLE t ADD COLUMN n INT", "110.column.add", True),
    ("ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 1", "110.column.add", True),
    ("ALTER TABLE t DROP COLUMN v", "110.column.drop", False),
    ("ALTER TABLE t RENAME COLUMN v TO n", "110.column.rename", True),
    ("ALTER TABLE t ALTER COLUMN s DROP NOT NULL", "110.column.nullable", True),
    ("ALTER TABLE t ALTER COLUMN v SET NOT NULL", "110.column.nullable", False),
    ("ALTER TABLE t ALTER COLUMN v SET DEFAULT 6", "110.column.default", False),
    ("ALTER TABLE t ALTER COLUMN s SET DEFAULT 'a'", "110.column.default", False),
    ("ALTER TABLE t ALTER COLUMN v DROP DEFAULT", "110.column.default", False),
    ("ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT", "110.column.type", True),
    ("ALTER TABLE t ALTER COLUMN v SET DATA TYPE SMALLINT", "110.column.type", False),
    ("ALTER TABLE t ALTER COLUMN v SET DATA TYPE VARCHAR(11)", "110.column.type", True),
    ("ALTER TABLE t ALTER COLUMN v SET DATA TYPE VARCHAR(10)", "110.column.type", False),
    ("ALTER TABLE t ALTER COLUMN s SET DATA TYPE VARCHAR(6)", "110.column.type", True),
    ("ALTER TABLE t ALTER COLUMN s SET DATA TYPE VARCHAR(4)", "110.column.type", False),
    ("ALTER TABLE t ALTER COLUMN at SET DATA TYPE TIMESTAMP(6)", "110.column.type", True),
    ("ALTER TABLE t DROP CONSTRAINT c", "110.constraint.drop", True),
    ("ALTER TABLE t ADD CONSTRAINT n UNIQUE (v)", "110.ours.constraint.add", False),
    ("CREATE INDEX n ON t (v)", "110.ours.index.create", True),
    ("CREATE UNIQUE INDEX n ON t (v)", "110.ours.index.unique", False),
    ("DROP INDEX i", "110.ours.index.drop", True),
]


@pytest.mark.parametrize(("asked", "clause", "compatible"), CASES, ids=[case[0] for case in CASES])
def test_a_change_is_judged_by_its_rule(asked: str, clause: str, *, compatible: bool) -> None:
    change = change_of(T, asked)
    (verdict,) = judge_step(change)
    assert (verdict.clause, verdict.compatible) == (clause, compatible)
    assert verdict.reason
    assert is_forward_compatible(change) is compatible


def test_dropping_a_table_is_judged_as_such() -> None:
    (verdict,) = judge_step(change_of("CREATE TABLE t (id INT PRIMARY KEY)", "DROP TABLE t"))
    assert (verdict.clause, verdict.compatible) == ("110.table.drop", False)


DIFFERENT = {
    "ALTER TABLE t RENAME COLUMN v TO n",
    "ALTER TABLE t ALTER COLUMN v SET DATA TYPE VARCHAR(11)",
    "ALTER TABLE t ALTER COLUMN at SET DATA TYPE TIMESTAMP(6)",
}


@pytest.mark.parametrize(("asked", "clause", "compatible"), CASES, ids=[case[0] for case in CASES])
def test_the_shipped_code_refuses_a_little_more(
    asked: str, clause: str, *, compatible: bool
) -> None:
    (verdict,) = judge_step(change_of(T, asked), IGNITE3)
    assert verdict.clause == clause
    assert verdict.compatible is (compatible and asked not in DIFFERENT)


def test_the_rule_sets_have_the_names_of_the_baselines() -> None:
    assert RULES == {"iep": IEP, "ignite3": IGNITE3}


def mixed(asked: str) -> list[tuple[str, bool, str | None]]:
    return [
        (verdict.clause, verdict.compatible, verdict.column)
        for verdict in judge(simple_change_of(T, "ALTER TABLE t ALTER COLUMN " + asked))
    ]


def test_all_rules_that_match_apply_in_the_texts_order() -> None:
    """INT -> LONG DEFAULT 42 NOT NULL triggers three rules [110.mixed]."""
    assert mixed("v SET DATA TYPE BIGINT NOT NULL DEFAULT 42") == [
        ("110.column.nullable", False, "v"),
        ("110.column.default", False, "v"),
        ("110.column.type", True, "v"),
    ]
    assert mixed("s SET DATA TYPE VARCHAR(9) DROP NOT NULL") == [
        ("110.column.nullable", True, "s"),
        ("110.column.type", True, "s"),
    ]


def test_a_compound_statement_is_judged_change_by_change() -> None:
    """ALTER TABLE … DROP COLUMN, ADD COLUMN, in either order [110.compat.compound]."""
    for actions in ("DROP COLUMN v, ADD COLUMN n INT", "ADD COLUMN n INT, DROP COLUMN v"):
        change = change_of(T, "ALTER TABLE t " + actions)
        assert not is_forward_compatible(change)
        assert sorted(verdict.compatible for verdict in judge_step(change)) == [False, True]
    assert is_forward_compatible(change_of(T, "ALTER TABLE t ADD COLUMN n INT, DROP CONSTRAINT c"))


def steps(*statements: str) -> list[ObjectChange]:
    found, schema = [], T
    for asked in statements:
        found.append(change_of(schema, asked))
        schema += asked + ";"
    return found


def test_every_step_is_judged_even_if_they_undo_each_other() -> None:
    """The default changes and changes back: two incompatible steps [110.compat.steps]."""
    there_and_back = steps(
        "ALTER TABLE t ALTER COLUMN v SET DEFAULT 6", "ALTER TABLE t ALTER COLUMN v SET DEFAULT 5"
    )
    assert not forward_compatible(there_and_back)
    assert not forward_compatible(
        steps("ALTER TABLE t ADD COLUMN n INT", "ALTER TABLE t DROP COLUMN n")
    )
    assert forward_compatible(
        steps("ALTER TABLE t ADD COLUMN n INT", "ALTER TABLE t RENAME COLUMN n TO m")
    )
    assert forward_compatible([])


def test_the_first_no_is_named() -> None:
    verdict = first_incompatible(
        steps(
            "ALTER TABLE t ADD COLUMN n INT, DROP COLUMN v",
            "ALTER TABLE t ALTER COLUMN n SET DEFAULT 1",
        )
    )
    assert isinstance(verdict, RuleVerdict)
    assert (verdict.clause, verdict.column) == ("110.column.drop", "v")


def test_a_default_of_another_kind_is_another_default() -> None:
    number = Column(1, "v", ColumnType("DOUBLE"), default=1)
    (verdict,) = judge(ColumnAltered(number, Column(1, "v", ColumnType("DOUBLE"), default=1.0)))
    assert verdict.clause == "110.column.default"


def test_a_change_that_no_rule_judges_is_an_error() -> None:
    column = Column(1, "v", ColumnType("INTEGER"))
    nothing: SimpleChange = ColumnAltered(column, column)
    with pytest.raises(AssertionError, match="no rule judges"):
        judge(nothing)
    with pytest.raises(AssertionError, match="no rule judges"):
        judge_step(ObjectChange(1, "table", "t", 2, None, ()))
