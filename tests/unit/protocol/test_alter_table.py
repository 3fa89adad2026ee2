"""Actions are applied in order, all of them or none; columns keep their ids for ever."""

import pytest

from ddlsim.checkers.spec.spec import rulings
from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from tests.support.schemas import (
    change_of,
    outcome_of,
    refusal_of,
    simple_change_of,
    snapshot_of,
    statement,
    table_of,
)

T = """CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, s VARCHAR(5) NOT NULL DEFAULT 'x',
CONSTRAINT c CHECK (v > 0)); CREATE INDEX i ON t (s);"""


def altered(actions: str) -> ColumnAltered:
    change = simple_change_of(T, "ALTER TABLE t " + actions)
    assert isinstance(change, ColumnAltered)
    return change


def test_an_added_column_takes_the_next_id() -> None:
    change = change_of(T, "ALTER TABLE t ADD COLUMN (a INT, b BIGINT NOT NULL DEFAULT 1)")
    table = change.definition
    assert isinstance(table, Table)
    assert [column.id for column in table.columns] == [1, 2, 3, 4, 5]
    assert table.next_column_id == 6
    assert change.changes == (ColumnAdded(table.columns[3]), ColumnAdded(table.columns[4]))
    assert change.version == table.version == 3


def test_a_column_dropped_and_added_again_is_another_column() -> None:
    change = change_of(T, "ALTER TABLE t DROP COLUMN v, ADD COLUMN v INT")
    dropped, added = change.changes
    assert isinstance(dropped, ColumnDropped)
    assert isinstance(added, ColumnAdded)
    assert (dropped.column.id, added.column.id) == (2, 4)
    assert (dropped.column.name, added.column.name) == ("v", "v")


def test_a_renamed_column_keeps_its_id_and_place() -> None:
    assert simple_change_of(T, "ALTER TABLE t RENAME COLUMN v TO w") == ColumnRenamed(2, "v", "w")
    table = table_of(T + "ALTER TABLE t RENAME COLUMN v TO w")
    assert [column.name for column in table.columns] == ["id", "w", "s"]


def test_one_alter_column_changes_everything_at_once() -> None:
    change = altered("ALTER COLUMN v SET DATA TYPE BIGINT NOT NULL DEFAULT 42")
    before, after = change.before, change.after
    assert (before.type.name, before.nullable, before.default) == ("INTEGER", True, 5)
    assert (after.type.name, after.nullable, after.default) == ("BIGINT", False, 42)
    assert (after.id, after.name, after.initial_default) == (2, "v", 5)


def test_what_an_alter_column_does_not_mention_stays() -> None:
    after = altered("ALTER COLUMN v SET DATA TYPE BIGINT").after
    assert (after.nullable, after.default) == (True, 5)
    after = altered("ALTER COLUMN v SET NOT NULL").after
    assert (after.type.name, after.default) == ("INTEGER", 5)
    after = altered("ALTER COLUMN v DROP DEFAULT").after
    assert (after.type.name, after.nullable, after.default) == ("INTEGER", True, None)


def test_a_default_keeps_its_form_when_the_type_changes() -> None:
    after = altered("ALTER COLUMN v SET DATA TYPE VARCHAR(11)").after
    assert after.default == 5


def test_later_actions_see_what_earlier_ones_did() -> None:
    table = table_of(
        T + "ALTER TABLE t RENAME COLUMN v TO w, ALTER COLUMN w DROP DEFAULT, ADD COLUMN v INT"
    )
    assert [(column.id, column.name) for column in table.columns] == [
        (1, "id"),
        (2, "w"),
        (3, "s"),
        (4, "v"),
    ]


def test_constraints_come_and_go() -> None:
    added = simple_change_of(T, "ALTER TABLE t ADD CONSTRAINT d UNIQUE (v)")
    assert isinstance(added, ConstraintAdded)
    assert (added.constraint.name, added.constraint.kind) == ("d", "unique")
    unnamed = simple_change_of(T, "ALTER TABLE t ADD CHECK (v < 9)")
    assert isinstance(unnamed, ConstraintAdded)
    assert unnamed.constraint.name == f"t_check_{unnamed.constraint.id}"
    dropped = simple_change_of(T, "ALTER TABLE t DROP CONSTRAINT c")
    assert isinstance(dropped, ConstraintDropped)
    assert dropped.constraint.text == "CHECK (v > 0)"
    assert table_of(T + "ALTER TABLE t DROP CONSTRAINT c").constraints == ()


def test_constraints_of_one_statement_have_ids_of_their_own() -> None:
    table = table_of(T + "ALTER TABLE t ADD CHECK (v < 9), ADD CHECK (v < 8)")
    assert [one.id for one in table.constraints] == [2, 4, 5]


@pytest.mark.parametrize(
    ("actions", "reason", "message"),
    [
        ("ADD COLUMN v INT", "OBJECT_EXISTS", "column 'v' exists already"),
        ("ADD COLUMN a INT NOT NULL", "DDL_REFUSED", "is NOT NULL and has no default"),
        ("ADD COLUMN a INT NOT NULL DEFAULT NULL", "DDL_REFUSED", "is NOT NULL and has no default"),
        ("ADD COLUMN a TINYINT DEFAULT 300", "DDL_REFUSED", "'300' is not a value of TINYINT"),
        ("DROP COLUMN z", "OBJECT_NOT_FOUND", "table 't' has no column 'z'"),
        ("DROP COLUMN id", "DDL_REFUSED", "belongs to the primary key"),
        ("DROP COLUMN s", "DDL_REFUSED", "index 'i' covers column 's'"),
        ("RENAME COLUMN z TO y", "OBJECT_NOT_FOUND", "no column 'z'"),
        ("RENAME COLUMN v TO s", "OBJECT_EXISTS", "column 's' exists already"),
        ("RENAME COLUMN v TO v", "OBJECT_EXISTS", "column 'v' exists already"),
        ("ALTER COLUMN z DROP DEFAULT", "OBJECT_NOT_FOUND", "no column 'z'"),
        ("ALTER COLUMN id SET DATA TYPE BIGINT", "DDL_REFUSED", "belongs to the primary key"),
        ("ALTER COLUMN id DROP NOT NULL", "DDL_REFUSED", "belongs to the primary key"),
        ("ALTER COLUMN s SET DATA TYPE INT", "DDL_REFUSED", "no conversion from VARCHAR(5)"),
        ("ALTER COLUMN v SET DEFAULT 'a'", "DDL_REFUSED", "'a' is not a value of INTEGER"),
        ("ALTER COLUMN v SET DATA TYPE DECIMAL(1, 1)", "DDL_REFUSED", "'5' is not a value"),
        ("ADD CONSTRAINT c CHECK (v > 1)", "OBJECT_EXISTS", "constraint 'c' exists already"),
        ("DROP CONSTRAINT z", "OBJECT_NOT_FOUND", "no constraint 'z'"),
    ],
)
def test_an_action_is_refused_with_its_reason(actions: str, reason: str, message: str) -> None:
    refused = refusal_of(T, "ALTER TABLE t " + actions)
    assert refused.reason is Reason[reason]
    assert message in refused.message


def test_on_an_empty_table_a_column_may_be_mandatory() -> None:
    """[110.later.2]"""
    asked, snapshot = statement("ALTER TABLE t ADD COLUMN a INT NOT NULL"), snapshot_of(T)
    built = build(asked, snapshot, snapshot.next_object_id, mandatory=True)
    assert isinstance(built, Built)
    (added,) = built.objects[0].changes
    assert isinstance(added, ColumnAdded)
    assert (added.column.nullable, added.column.initial_default) == (False, None)
    taken = statement("ALTER TABLE t ADD COLUMN v INT NOT NULL")
    assert isinstance(build(taken, snapshot, 9, mandatory=True), Refused)
    other = statement("DROP TABLE t")
    assert build(other, snapshot, 9, mandatory=True) == build(other, snapshot, 9)


def test_one_refused_action_refuses_the_statement() -> None:
    assert "no column 'z'" in refusal_of(T, "ALTER TABLE t ADD COLUMN a INT, DROP COLUMN z").message


@pytest.mark.parametrize(
    "actions",
    [
        "ADD COLUMN IF NOT EXISTS v BIGINT",
        "DROP COLUMN IF EXISTS z",
        "DROP CONSTRAINT IF EXISTS z",
        "ALTER COLUMN v SET DATA TYPE INTEGER",
        "ALTER COLUMN v DROP NOT NULL",
        "ALTER COLUMN v SET DEFAULT 5",
        "ALTER COLUMN id SET NOT NULL",
    ],
)
def test_some_actions_change_nothing(actions: str) -> None:
    assert isinstance(outcome_of(T, "ALTER TABLE t " + actions), NoOp)


def test_an_action_that_changes_nothing_does_not_stop_the_others() -> None:
    change = change_of(T, "ALTER TABLE t DROP COLUMN IF EXISTS z, ADD COLUMN a INT")
    assert len(change.changes) == 1


ONE_UUID = "0123abcd-ffff-0000-ffff-abcdefabcdef"


@pytest.mark.parametrize(
    ("column", "same", "other"),
    [
        ("v INT DEFAULT 5", "SET DEFAULT 5", "SET DEFAULT 6"),
        ("v VARCHAR(9) DEFAULT '5'", "SET DEFAULT '5'", "SET DEFAULT '05'"),
        ("v DECIMAL(5, 2) DEFAULT 1.5", "SET DEFAULT 1.50", "SET DEFAULT 1.51"),
        ("v TIME(3) DEFAULT TIME '12:00:00.5'", "SET DEFAULT TIME '12:00:00.500'",
         "SET DEFAULT TIME '12:00:00.05'"),
        (f"v UUID DEFAULT UUID '{ONE_UUID.upper()}'", f"SET DEFAULT UUID '{ONE_UUID}'",
         f"SET DEFAULT UUID '{ONE_UUID.replace('3', '4')}'"),
        ("v INT", "DROP DEFAULT", "SET DEFAULT 0"),
    ],
)  # fmt: skip
def test_a_default_set_to_what_it_means_changes_nothing(column: str, same: str, other: str) -> None:
    schema = f"CREATE TABLE t (id INT PRIMARY KEY, {column})"
    assert isinstance(outcome_of(schema, f"ALTER TABLE t ALTER COLUMN v {same}"), NoOp)
    assert not isinstance(outcome_of(schema, f"ALTER TABLE t ALTER COLUMN v {other}"), NoOp)


@pytest.mark.parametrize(
    ("retyped", "default", "form"),
    [("DOUBLE", "1", 1), ("DOUBLE", "1.0", 1), ("VARCHAR(20)", "'1'", 1)],
)
def test_set_default_of_equal_meaning_keeps_its_form(
    retyped: str, default: str, form: object
) -> None:
    """The judges see no change there either: together with the type, or in a later statement."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 1)"
    retype = f"ALTER TABLE t ALTER COLUMN v SET DATA TYPE {retyped}"
    again = f"ALTER TABLE t ALTER COLUMN v SET DEFAULT {default}"
    (change,) = change_of(schema, f"{retype} SET DEFAULT {default}").changes
    assert isinstance(change, ColumnAltered)
    assert (change.after.default, type(change.after.default)) == (form, type(form))
    assert [ruling.clause for ruling in rulings(change)] == ["110.column.type"]
    assert isinstance(outcome_of(f"{schema}; {retype}", again), NoOp)


def test_a_default_that_a_retyped_column_cannot_keep_is_named_with_what_to_do() -> None:
    made = "CREATE TABLE t (id INT PRIMARY KEY, n DECIMAL(5, 0) DEFAULT 3);"
    refused = refusal_of(made, "ALTER TABLE t ALTER COLUMN n SET DATA TYPE BIGINT")
    what = "'3' is not a value of BIGINT as DECIMAL(5, 0) has it; drop it before, and set it again"
    assert what in refused.message
    steps = "ALTER TABLE t ALTER COLUMN n DROP DEFAULT; ALTER TABLE t ALTER COLUMN n SET DATA TYPE "
    assert table_of(made + steps + "BIGINT").columns[1].type.name == "BIGINT"
