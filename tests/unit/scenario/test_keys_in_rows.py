"""Columns of the key in the row of a step, beside the key that the step names.

Those that no table can have are among the bad scenarios of `tests/golden`.
"""

import pytest

from ddlsim.scenario.problems import ScenarioError
from tests.support.small_scenario import SCHEMA, scenario, step

OTHER = '[schema]\nsql = "CREATE TABLE t (a INT, id INT, v INT, PRIMARY KEY (a, id))"\n'


def written(row: str, schema: str = SCHEMA, more: str = "", **keys: str) -> str:
    do = f'["put", "t", 4, {{ {row} }}]'
    return schema + step(**{"id": '"w"', "client": '"c"', "node": '"n1"', "do": do, **keys}) + more


def ddl(sql: str) -> str:
    return step(id='"d"', client='"e"', node='"n1"', ddl=f'"{sql}"')


STORM = '[[workload]]\nname = "ddl_storm"\n'
FITS = {
    "the same value": written("id = 4, v = 1"),
    "a misfit": written("id = 5, v = 1", misfit="true"),
    "a step that is to fail": written("id = 5", expect='{ aborts = "BAD_ROW" }'),
    "a key that is renamed": written("id = 5", more=ddl("ALTER TABLE t RENAME COLUMN id TO k")),
    "another table": written("id = 5", more=ddl("CREATE TABLE t (k INT PRIMARY KEY, id INT)")),
    "DDL that is not scripted": written("id = 5", more=STORM),
    "a key of two columns": written("", OTHER, do='["put", "t", [4, 5], { id = 5 }]'),
}


@pytest.mark.parametrize("text", FITS.values(), ids=FITS)
def test_a_key_column_in_a_row_is_accepted_where_a_table_can_have_it(text: str) -> None:
    assert scenario(text).steps[0].do is not None


@pytest.mark.parametrize("kind", ["put", "insert", "strict", "replace"])
def test_a_key_column_in_a_row_that_differs_from_the_key_is_refused(kind: str) -> None:
    text = written("", do=f'["{kind}", "t", 4, {{ v = 1, id = 5 }}]')
    with pytest.raises(ScenarioError) as caught:
        scenario(text)
    what = "step[0].do[3].id: the key 4 says id = 4, not 5; leave id out"
    assert str(caught.value) == f"small.toml:9: {what}"


def test_a_row_keeps_the_key_that_any_of_two_tables_can_have() -> None:
    """The name is that of a table of two columns, too: whichever it means, id is 5 or 4."""
    both = ddl("CREATE TABLE t (id INT, a INT, PRIMARY KEY (id, a))")
    again = written("", do='["put", "t", [4, 5], { id = 5 }]', more=both, schema=OTHER)
    assert scenario(again).steps
    with pytest.raises(ScenarioError, match=r"says id = 5 or 4, not 6"):
        scenario(again.replace("{ id = 5 }", "{ id = 6 }"))
