"""Compound statements over few names, so that names pass from column to column, and their remedies.

No `compat` ends in an error. What forbids a statement comes with a remedy, none of whose statements
is refused, and which leave the columns that the statement leaves.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.lint.compat import BASELINES, exit_code
from ddlsim.model.schema import Table
from tests.support.linting import lint
from tests.support.schemas import grown, snapshot_of, statement

SCHEMA = "CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(9), w INT DEFAULT 1)"
NAMES = ("v", "s", "w", "x")
TYPES = ("INT", "BIGINT", "SMALLINT", "VARCHAR(9)", "VARCHAR(20)", "TIMESTAMP(3)")
ALTERATIONS = (
    "SET NOT NULL",
    "DROP NOT NULL",
    "SET DEFAULT 1",
    "DROP DEFAULT",
    "SET DATA TYPE BIGINT NOT NULL DEFAULT 3",
    *(f"SET DATA TYPE {one}" for one in TYPES),
)
PASSED_ON = (
    "ALTER TABLE t RENAME COLUMN v TO x, RENAME COLUMN s TO v",
    "ALTER TABLE t RENAME COLUMN v TO x, DROP COLUMN s, RENAME COLUMN x TO s",
    "ALTER TABLE t RENAME COLUMN v TO x, RENAME COLUMN s TO v, RENAME COLUMN x TO s",
    "ALTER TABLE t DROP COLUMN v, ADD COLUMN v VARCHAR(9)",
)


@st.composite
def compounds(draw: st.DrawFn) -> str:
    """ALTER TABLE with several actions; each is about columns that are there right then."""
    there = ["v", "s", "w"]
    actions = []
    for _ in range(draw(st.integers(2, 4))):
        free = [one for one in NAMES if one not in there]
        kinds = [*(("ADD", "RENAME") if free else ()), *(("DROP", "ALTER") if there else ())]
        kind = draw(st.sampled_from([one for one in kinds if there or one == "ADD"]))
        name = draw(st.sampled_from(free if kind == "ADD" else there))
        if kind == "ADD":
            null = draw(st.sampled_from(("", " DEFAULT '2'", " NOT NULL DEFAULT '2'")))
            actions.append(f"ADD COLUMN {name} {draw(st.sampled_from(TYPES[:5]))}{null}")
            there.append(name)
        elif kind == "ALTER":
            actions.append(f"ALTER COLUMN {name} {draw(st.sampled_from(ALTERATIONS))}")
        else:
            there.remove(name)
            new = draw(st.sampled_from(free)) if kind == "RENAME" else None
            there += [new] if new else []
            actions.append(f"RENAME COLUMN {name} TO {new}" if new else f"DROP COLUMN {name}")
    return "ALTER TABLE t " + ", ".join(actions)


def columns(*statements: str) -> dict[str, str]:
    """Names and types of the columns of t after these statements."""
    snapshot = snapshot_of(SCHEMA)
    for one in statements:
        snapshot, _ = grown(snapshot, statement(one))
    table = snapshot.by_name("t")
    assert isinstance(table, Table)
    return {one.name: str(one.type) for one in table.columns}


def judged_with_remedy(sql: str, baseline: str) -> None:
    report = lint(SCHEMA, sql, baseline)
    [entry] = report["statements"]
    assert exit_code(report) == {True: 0, False: 1, None: 3}[entry["forward_compatible"]]
    if entry["error"] is not None or entry["forward_compatible"]:
        return
    ddl = [one["sql"] for one in entry["remedy"] if (one["sql"] or "").startswith("ALTER")]
    assert ddl
    again = lint(SCHEMA, ";".join(ddl), baseline)["statements"]
    assert [one["error"] for one in again] == [None] * len(ddl)
    assert columns(*ddl) == columns(sql)


@pytest.mark.parametrize("baseline", BASELINES)
@given(compounds())
def test_every_compound_statement_has_a_verdict_and_a_true_remedy(baseline: str, sql: str) -> None:
    judged_with_remedy(sql, baseline)


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("sql", PASSED_ON)
def test_a_name_may_pass_to_another_column(sql: str, baseline: str) -> None:
    judged_with_remedy(sql, baseline)
    if baseline == "ignite3":
        [entry] = lint(SCHEMA, sql, baseline)["statements"]
        assert entry["forward_compatible"] is False
        assert entry["remedy"][0]["do"] == "write each of its changes as a statement of its own"


def test_the_steps_of_a_change_end_with_that_change_alone() -> None:
    sql = "ALTER TABLE t DROP COLUMN v, DROP COLUMN s, ADD COLUMN x INT"
    [entry] = lint(SCHEMA, sql)["statements"]
    assert [one["sql"] for one in entry["remedy"] if one["sql"]] == [
        "ALTER TABLE t DROP COLUMN v",
        "ALTER TABLE t DROP COLUMN s",
        "ALTER TABLE t ADD COLUMN x INTEGER",
    ]
