"""What the schema of a scenario leaves behind before the run begins."""

from ddlsim.scenario.first_schema import tables_at_start
from tests.support.small_scenario import scenario

SQL = """[schema]
sql = \"\"\"
CREATE TABLE a (id INT PRIMARY KEY);
CREATE TABLE b (k VARCHAR PRIMARY KEY);
CREATE TABLE c (id INT PRIMARY KEY);
ALTER TABLE a RENAME TO d;
DROP TABLE c;
CREATE VIEW w AS SELECT * FROM d;
\"\"\"
"""


def test_tables_have_the_names_that_they_begin_with() -> None:
    tables = tables_at_start(scenario(SQL).schema)

    assert list(tables) == ["b", "d"]
    assert tables["d"].name == "d"
    assert tables["d"].key == ("id",)


def test_workloads_see_those_tables_and_no_others() -> None:
    world = scenario(SQL).workload_world("w")
    assert [table.name for table in world.tables] == ["b", "d"]


def test_groups_and_roles_may_name_them() -> None:
    text = SQL + '[[leader]]\ngroup = "d/0"\nnode = "n2"\n'
    text += '[[faults]]\nname = "pause"\nnode = "primary of d"\n'
    assert scenario(text).faults
