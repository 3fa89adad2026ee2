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
    """Given with the new column, old rows would show it, and no backfill would touch them."""
    steps = remedy_of("ALTER TABLE t ALTER COLUMN x SET DATA TYPE SMALLINT", "iep")
    sqls = [one["sql"] for one in steps if one["sql"]]
    assert sqls[0] == "ALTER TABLE t ADD COLUMN x_new SMALLINT"
    assert sqls[-1] == "ALTER TABLE t ALTER COLUMN x SET DEFAULT 1"
    copied = next(at for at, one in enumerate(sqls) if one.startswith("UPDATE"))
    assert 0 < copied < len(sqls) - 1
