"""Remedies: their own statements, linted step by step, do what they promise."""

from typing import Any

import pytest

from ddlsim.sql import parse_script
from tests.support.linting import lint

SCHEMA = """CREATE TABLE t (id INT PRIMARY KEY, v INT, w BIGINT, x INT NOT NULL DEFAULT 1);
CREATE VIEW old AS SELECT id FROM t"""
STATEMENTS = (
    "ALTER TABLE t DROP COLUMN v",
    "ALTER TABLE t ALTER COLUMN v SET NOT NULL",
    "ALTER TABLE t ALTER COLUMN w SET DATA TYPE INT",
    "ALTER TABLE t ALTER COLUMN w SET DATA TYPE INT NOT NULL DEFAULT 7",
    "ALTER TABLE t ALTER COLUMN x SET DEFAULT 2",
    "ALTER TABLE t ALTER COLUMN x DROP DEFAULT",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (v > 0)",
    "CREATE UNIQUE INDEX i ON t (v, w)",
    "DROP VIEW old",
    "ALTER VIEW old RENAME TO new",
    "ALTER TABLE t RENAME COLUMN v TO y",
    "ALTER TABLE t ADD COLUMN z INT NOT NULL",
)


def remedy_of(sql: str, baseline: str) -> list[dict[str, Any]]:
    [statement] = lint(SCHEMA, sql, baseline)["statements"]
    steps: list[dict[str, Any]] = statement["remedy"]
    return steps


def columns(*statements: str) -> set[tuple[str, str, bool]]:
    """What the columns of t are after these statements, as the linter's own catalog has them."""
    from ddlsim.lint.compat import _Migration
    from ddlsim.model.schema import Table

    migration = _Migration("iep")
    for one in parse_script(";".join((SCHEMA, *statements))).statements:
        migration.assume("", one)
    table = next(one for one in migration._snapshot.objects() if isinstance(one, Table))
    return {(one.name, str(one.type), one.nullable) for one in table.columns}


@pytest.mark.parametrize("baseline", ["iep", "ignite3"])
@pytest.mark.parametrize("sql", STATEMENTS)
def test_before_it_is_drained_nothing_aborts_anything(sql: str, baseline: str) -> None:
    """Steps before the drain are compatible, none is refused, and the last has the effect."""
    before = lint(SCHEMA, sql, baseline)["statements"][0]
    steps = remedy_of(sql, baseline)
    assert bool(steps) is (before["forward_compatible"] is not True)
    ddl = [one["sql"] for one in steps if one["sql"] and parse_script(one["sql"]).statements]
    drained = next((at for at, one in enumerate(steps) if "drain" in one["do"]), 0)
    early = [one["sql"] for one in steps[:drained] if one["sql"] in ddl]
    verdicts = lint(SCHEMA, ";".join(early), baseline)["statements"]
    assert all(one["forward_compatible"] for one in verdicts)
    whole = lint(SCHEMA, ";".join(ddl), baseline)["statements"]
    assert all(one["error"] is None for one in whole)
    if before["error"] is None and steps:
        assert columns(*ddl) == columns(sql)


def test_a_mandatory_column_is_added_nullable_filled_drained_and_tightened() -> None:
    steps = remedy_of("ALTER TABLE t ADD COLUMN z INT NOT NULL", "iep")
    assert [one["sql"] for one in steps if one["sql"]] == [
        "ALTER TABLE t ADD COLUMN z INTEGER",
        "UPDATE t SET z = ... WHERE z IS NULL",
        "ALTER TABLE t ALTER COLUMN z SET NOT NULL",
    ]
    assert "drain" in steps[-2]["do"]


def test_a_statement_of_several_changes_is_taken_apart() -> None:
    steps = remedy_of("ALTER TABLE t DROP COLUMN v, DROP COLUMN w", "iep")
    assert steps[0]["do"] == "write each of its changes as a statement of its own"


def test_what_is_compatible_needs_no_remedy() -> None:
    assert remedy_of("ALTER TABLE t ADD COLUMN z INT", "iep") == []


def test_a_default_comes_after_the_old_rows_were_copied() -> None:
    """Given with the new column, old rows would show it beside their copies."""
    steps = remedy_of("ALTER TABLE t ALTER COLUMN x SET DATA TYPE SMALLINT", "iep")
    sqls = [one["sql"] for one in steps if one["sql"]]
    assert sqls == [
        "ALTER TABLE t ADD COLUMN x_new SMALLINT",
        "UPDATE t SET x_new = CAST(x AS SMALLINT)",
        "ALTER TABLE t ALTER COLUMN x_new SET DEFAULT 1",
        "ALTER TABLE t ALTER COLUMN x_new SET NOT NULL",
        "ALTER TABLE t DROP COLUMN x",
        "ALTER TABLE t RENAME COLUMN x_new TO x",
    ]


def statements(schema: str, sql: str, baseline: str = "iep") -> list[str]:
    """The SQL of a remedy that changes the schema."""
    [entry] = lint(schema, sql, baseline)["statements"]
    sqls = [one["sql"] for one in entry["remedy"] if one["sql"]]
    return [one for one in sqls if not one.startswith(("UPDATE", "SELECT"))]


def test_a_column_that_needs_a_value_needs_none_before_clients_leave_it_out() -> None:
    """[110.ours.notnull]."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, b INT NOT NULL)"
    first = "ALTER TABLE t ALTER COLUMN b DROP NOT NULL"
    drop = "ALTER TABLE t DROP COLUMN b"
    [entry] = lint(schema, drop)["statements"]
    assert entry["remedy"][0]["sql"] == first
    assert statements(schema, drop) == [first, drop]
    retyped = statements(schema, "ALTER TABLE t ALTER COLUMN b SET DATA TYPE SMALLINT")
    assert retyped.index(first) < retyped.index(drop)


def test_a_default_that_a_check_or_a_unique_constraint_forbids_is_no_hindrance() -> None:
    """[110.ours.unique] [110.ours.check]: what reads the column goes before clients leave it out.

    NULLs are distinct and make no comparison false, and the last constraint may be false anyway.
    """
    columns = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT DEFAULT 0, CONSTRAINT k {})"
    drop = "ALTER TABLE t DROP COLUMN {}"
    cases = {
        "UNIQUE (a, b)": ("b",),
        "CHECK (b > 0)": ("b",),
        "CHECK (a > 0)": (),
        "CHECK (a IS NOT NULL)": ("a",),
        "CHECK (a IS NOT NULL OR b > 0)": ("a", "b"),
        "CHECK (a > 0 AND b = 0)": (),
    }
    for check, hindered in cases.items():
        for name in ("a", "b"):
            made = statements(columns.format(check), drop.format(name))
            assert len(made) == (2 if name in hindered else 1), (check, name)
            assert made[0] == "ALTER TABLE t DROP CONSTRAINT k" or name not in hindered


def test_indexes_and_constraints_of_a_column_are_made_anew_on_the_new_one() -> None:
    """The name that the new column would have is taken."""
    schema = (
        "CREATE TABLE t (id INT PRIMARY KEY, b INT, b_new INT, CONSTRAINT k CHECK (b > 0)); "
        "CREATE INDEX i ON t (b); CREATE UNIQUE INDEX u ON t (id, b)"
    )
    assert statements(schema, "ALTER TABLE t ALTER COLUMN b SET DATA TYPE SMALLINT") == [
        "ALTER TABLE t ADD COLUMN b_new_2 SMALLINT",
        "CREATE INDEX i_new ON t (b_new_2)",
        "CREATE UNIQUE INDEX u_new ON t (id, b_new_2)",
        "ALTER TABLE t ADD CONSTRAINT k_new CHECK (b_new_2 > 0)",
        "DROP INDEX i",
        "DROP INDEX u",
        "ALTER TABLE t DROP COLUMN b",
        "ALTER TABLE t RENAME COLUMN b_new_2 TO b",
    ]


def test_a_unique_index_is_gone_before_clients_leave_its_defaulted_column_to_the_default() -> None:
    """[110.ours.unique]: the second INSERT would repeat the default."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, b INT{}); CREATE UNIQUE INDEX u ON t (b)"
    for default, is_before in ((" DEFAULT 1", True), ("", False)):
        retype = "ALTER TABLE t ALTER COLUMN b SET DATA TYPE SMALLINT"
        [entry] = lint(schema.format(default), retype)["statements"]
        sqls, dos = ([one[key] for one in entry["remedy"]] for key in ("sql", "do"))
        switched = dos.index("deploy clients that use b_new only")
        assert (sqls.index("DROP INDEX u") < switched) is is_before


def test_a_constraint_that_does_not_fit_the_new_type_is_left_to_the_author() -> None:
    schema = "CREATE TABLE t (id INT PRIMARY KEY, b INT, CONSTRAINT k CHECK (b > 0))"
    [entry] = lint(schema, "ALTER TABLE t ALTER COLUMN b SET DATA TYPE VARCHAR(3)")["statements"]
    expected = "find another constraint in place of k, which does not fit b_new"
    assert expected in [one["do"] for one in entry["remedy"]]


def test_a_remedy_of_a_refused_statement_depends_on_why_it_is_refused() -> None:
    schema = "CREATE TABLE t (id INT PRIMARY KEY, a INT); CREATE INDEX i ON t (a)"
    refused = (
        "ALTER TABLE t ADD COLUMN a INT NOT NULL",
        "ALTER TABLE t ADD COLUMN n INT NOT NULL DEFAULT 'x'",
        "ALTER TABLE t ADD COLUMN n INT NOT NULL, DROP COLUMN id",
        "ALTER TABLE t DROP COLUMN a, DROP COLUMN z",
        "ALTER TABLE u ADD COLUMN n INT NOT NULL",
        "ALTER TABLE t ALTER COLUMN id SET DATA TYPE BIGINT",
    )
    for baseline in ("iep", "ignite3", "b12"):
        for sql in refused:
            [entry] = lint(schema, sql, baseline)["statements"]
            assert (entry["forward_compatible"], entry["remedy"]) == (None, []), sql
    assert statements(schema, "ALTER TABLE t DROP COLUMN a, ADD COLUMN m INT") == [
        "DROP INDEX i",
        "ALTER TABLE t DROP COLUMN a, ADD COLUMN m INT",
    ]
    assert statements(schema, "ALTER TABLE t ADD COLUMN n INT NOT NULL, ADD COLUMN m INT") == [
        "ALTER TABLE t ADD COLUMN n INTEGER",
        "ALTER TABLE t ALTER COLUMN n SET NOT NULL",
        "ALTER TABLE t ADD COLUMN m INTEGER",
    ]


def test_type_default_and_not_null_of_one_column_are_changed_one_after_the_other() -> None:
    """[110.mixed]."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, c SMALLINT)"
    sql = "ALTER TABLE t ALTER COLUMN c SET DATA TYPE INT NOT NULL DEFAULT 7"
    alter = "ALTER TABLE t ALTER COLUMN c SET"
    expected = [f"{alter} DATA TYPE INTEGER", f"{alter} DEFAULT 7", f"{alter} NOT NULL"]
    assert statements(schema, sql) == expected


def test_a_default_that_means_the_same_after_another_type_is_not_given_twice() -> None:
    """The column that took its place has it as text, the statement as the number that it was."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, b REAL DEFAULT 0.5)"
    alter = "ALTER COLUMN b SET DATA TYPE VARCHAR(12)"
    found = statements(schema, f"ALTER TABLE t {alter}, ALTER COLUMN b SET NOT NULL")
    assert found[-1] == "ALTER TABLE t ALTER COLUMN b SET NOT NULL"
    assert sum("SET DEFAULT" in one for one in found) == 1


def test_where_no_not_null_is_added_a_column_has_it_from_the_beginning() -> None:
    """By Ignite 3: the default that it needs then is dropped once the rows have values."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, c SMALLINT)"
    assert statements(schema, "ALTER TABLE t ALTER COLUMN c SET NOT NULL", "ignite3") == [
        "ALTER TABLE t ADD COLUMN c_new SMALLINT NOT NULL DEFAULT 0",
        "ALTER TABLE t ALTER COLUMN c_new DROP DEFAULT",
        "ALTER TABLE t DROP COLUMN c",
        "ALTER TABLE t RENAME COLUMN c_new TO c",
    ]


def test_names_of_a_remedy_stand_between_quotes_where_they_need_them() -> None:
    schema = 'CREATE TABLE "T x" (id INT PRIMARY KEY, "Order" INT NOT NULL, "select" INT)'
    assert statements(schema, 'ALTER TABLE "T x" DROP COLUMN "Order", DROP COLUMN "select"') == [
        'ALTER TABLE "T x" ALTER COLUMN "Order" DROP NOT NULL',
        'ALTER TABLE "T x" DROP COLUMN "Order"',
        'ALTER TABLE "T x" DROP COLUMN "select"',
    ]


def test_a_constraint_that_took_the_place_of_another_is_dropped_in_its_place() -> None:
    schema = "CREATE TABLE t (id INT PRIMARY KEY, b INT, CONSTRAINT k CHECK (b > 0))"
    retype = "ALTER TABLE t ALTER COLUMN b SET DATA TYPE SMALLINT, DROP CONSTRAINT k"
    assert statements(schema, retype)[-1] == "ALTER TABLE t DROP CONSTRAINT k_new"
    added = "ADD CONSTRAINT k CHECK (id > 1), DROP CONSTRAINT k"
    again = retype.replace("CONSTRAINT k", f"COLUMN b, {added}")
    assert statements(schema, again)[-1] == "ALTER TABLE t DROP CONSTRAINT k"
    named = retype.replace("DROP CONSTRAINT k", "ADD CONSTRAINT k_new CHECK (b > 1)")
    made = statements(schema, named)
    assert "ALTER TABLE t ADD CONSTRAINT k_new_2 CHECK (b_new > 0)" in made
    assert made[-1] == "ALTER TABLE t ADD CONSTRAINT k_new CHECK (b > 1)"
