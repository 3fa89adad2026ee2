"""Foreign keys in a schema refer to tables in any order, as in dumps; a slip in them is found."""

import pytest

from ddlsim.cluster.cluster import initial_schema
from ddlsim.lint.compat import RefusedSchemaError
from ddlsim.model.ddl import ANY_TABLE, CreateTable
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, Refused, build
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from ddlsim.sql import parse
from tests.support.linting import lint

LATER = "CREATE TABLE b (id INT PRIMARY KEY)"
SCHEMA = f"CREATE TABLE a (id INT PRIMARY KEY, x INT REFERENCES b (id)); {LATER}"
WRONG = SCHEMA.replace("b (id))", "b (other))")
LACKS = "table 'b' has no column 'other', in a foreign key of table 'a'"
SCENARIO = (
    'title = "t"\nsource = "s"\nprotocol = { preset = "ignite3_defaults" }\n'
    '[schema]\nsql = "%s"\n[[workload]]\nname = "mixed"\noperations = 9\n'
)


def test_a_schema_refers_to_a_table_of_a_later_statement() -> None:
    assert len(initial_schema(SCHEMA)) == 2
    assert read(SCENARIO % SCHEMA, "forward").title == "t"
    report = lint(SCHEMA, "ALTER TABLE a ADD COLUMN n INT")
    assert report["statements"][0]["forward_compatible"] is True


def test_the_columns_are_looked_at_once_the_table_is_made() -> None:
    with pytest.raises(ScenarioError, match="has no column 'other'"):
        read(SCENARIO % WRONG, "wrong")
    with pytest.raises(RefusedSchemaError) as refused:
        lint(WRONG.replace("; ", ";\n"), "")
    assert (refused.value.line, refused.value.message) == (2, LACKS)


def test_a_table_that_no_statement_of_the_schema_makes_is_missing() -> None:
    with pytest.raises(RefusedSchemaError, match="there is no table 'b'"):
        lint(SCHEMA.replace(LATER, "CREATE TABLE c (id INT PRIMARY KEY)"), "")


@pytest.mark.parametrize("gone", ["DROP TABLE b", "ALTER TABLE b RENAME TO c"])
def test_a_table_that_an_earlier_statement_has_made_and_that_is_gone_is_missing(gone: str) -> None:
    first, _ = SCHEMA.split("; ")
    with pytest.raises(RefusedSchemaError, match="there is no table 'b'"):
        lint(f"{LATER}; {gone}; {first}", "")
    lint(f"{LATER}; {gone}; {first}; {LATER}", "")


def test_a_table_that_is_gone_by_then_refers_to_nothing() -> None:
    """The one that a renamed table refers to is looked at, under its name by then."""
    first, second = WRONG.split("; ")
    lint(f"{first}; DROP TABLE a; {second}", "")
    with pytest.raises(RefusedSchemaError, match="in a foreign key of table 'd'"):
        lint(f"{first}; ALTER TABLE a RENAME TO d; {second}", "")


def test_a_migration_refers_to_what_there_is() -> None:
    [first, _] = lint("", SCHEMA)["statements"]
    assert first["error"]["message"] == "there is no table 'b'"


def test_a_log_of_some_tables_may_refer_to_others() -> None:
    statement = parse(SCHEMA)[0].statement
    assert isinstance(statement, CreateTable)
    assert isinstance(build(statement, Snapshot(), 9), Refused)
    assert isinstance(build(statement, Snapshot(), 9, unchecked=ANY_TABLE), Built)


@pytest.mark.parametrize(
    ("schema", "missing"),
    [
        (SCHEMA.replace("TABLE b", "TABLE c") + "; ALTER TABLE c RENAME TO b", None),
        (WRONG.replace("; ", "; DROP TABLE a; "), None),
        (f"{LATER}; DROP TABLE b; {SCHEMA.partition(';')[0]}", "there is no table 'b'"),
    ],
    ids=["renamed to it", "gone by then", "only before"],
)
def test_a_later_table_is_one_that_is_made_later(schema: str, missing: str | None) -> None:
    if missing is None:
        assert lint(schema, "")["statements"] == []
        return
    with pytest.raises(RefusedSchemaError, match=missing):
        lint(schema, "")


def test_units_of_time_are_no_columns() -> None:
    table = "CREATE TABLE a (id INT PRIMARY KEY, t TIMESTAMP, CHECK (%s))"
    units = "TIMESTAMPDIFF(SQL_TSI_DAY, t, t) > 0 OR DATEADD(hh, id, t) > t"
    assert lint(table % units, "")["statements"] == []
    for slip in ("TIMESTAMPDIFF(SQL_TSI_DAY, no, t) > 0", "DATEADD(hh, no, t) > t", "ABS(no) > 0"):
        with pytest.raises(RefusedSchemaError, match="has no column 'no'"):
            lint(table % slip, "")
