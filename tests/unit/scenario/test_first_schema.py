"""What the schema of a scenario leaves behind before the run begins."""

import pytest

from ddlsim.scenario.first_schema import tables_at_start
from ddlsim.scenario.problems import ScenarioError
from ddlsim.workload.keys import key_of
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


def test_a_table_without_a_primary_key_has_a_hidden_one() -> None:
    """Workloads write rows by it, and steps name them by it."""
    schema = '[schema]\nsql = "CREATE TABLE t (v INT)"\n'
    step = '[[step]]\nid = "a"\nclient = "c"\nnode = "n1"\ndo = ["get", "t", {}]\n'
    [table] = scenario(schema).workload_world("w").tables
    key = key_of(table, 3)

    assert table.key == ("__p_key",)
    assert scenario(schema + step.format(f'"{key}"')).steps
    with pytest.raises(ScenarioError, match="1 is not a key of t, which is __p_key UUID"):
        scenario(schema + step.format(1))
