"""Which columns the names of tables have, by all statements of a scenario."""

from ddlsim.scenario.row_types import RowTypes
from ddlsim.sql import parse


def test_the_old_name_of_a_renamed_table_has_its_later_columns() -> None:
    """Designs may keep the old name as an alias [110.later.3]."""
    sql = "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t RENAME TO u; ALTER TABLE u ADD w INT"
    types = RowTypes(one.statement for one in parse(sql))
    assert [types.lacks(table, "w") for table in ("t", "u")] == [None, None]
    assert "no version of t has a column 'x'" in str(types.lacks("t", "x"))


def test_a_view_gives_its_table_no_columns() -> None:
    sql = "CREATE TABLE t (id INT PRIMARY KEY); CREATE VIEW u AS SELECT id FROM t"
    assert RowTypes(one.statement for one in parse(sql)).lacks("t", "w") is not None
