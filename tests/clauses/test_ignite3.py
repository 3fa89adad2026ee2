"""What Apache Ignite 3 does as shipped, each point in the smallest world that shows it.

Each world is told a second time under `iep`, or with the one rule of the texts put back, and then
comes out otherwise.
"""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.model.reasons import Reason
from ddlsim.protocol.design import as_shipped, flows
from ddlsim.protocol.design.schema_rules import (
    ARRIVAL_AND_AFTER_LOCKS,
    each_step_forward_compatible,
    must_be_same_schema,
)
from ddlsim.protocol.strategy import Steps
from tests.clauses.story import HERE, Story, Told, answers, differs, held

T_AND_U = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY, v INT)"


def ignite3(lines: str, more: str = "", **options: Any) -> Story:
    return Story(lines, more, name="ignite3", **options)


def under_iep(story: Story) -> Told:
    """The same under the texts."""
    changed = Story.__new__(Story)
    changed.lines, changed.text, changed.strategy = story.lines, story.text, {"name": "iep"}
    return changed.tell()


# --- which changes make a table version ---------------------------------------------------------


@pytest.mark.parametrize("ddl", ["CREATE INDEX i ON t (v)", "DROP INDEX i"])
def test_an_index_is_no_table_version(ddl: str) -> None:
    """Neither for an operation nor for a row that was written afterwards."""
    index = "; CREATE INDEX i ON t (v)" if ddl.startswith("DROP") else ""
    story = ignite3(
        f"""
        20   T1@n1: w1 = put t 1 {{ v = 1 }}
        50   d@n1: d = {ddl}
        d.ok a@n2: w2 = put t 2 {{ v = 2 }}
        w2.ok T1: r = get t 2
        r.ok T1: w3 = put t 3 {{ v = 3 }}
        w3.ok T1: c = commit
        """,
        schema=f"CREATE TABLE t (id INT PRIMARY KEY, v INT){index}",
    )
    shown = answers("r", "w3", "c")
    assert shown(story.tell()) == [{"id": 2, "v": 2}, "ok", "ok"]
    assert shown(under_iep(story))[0] == "SCHEMA_CHANGED"
    assert differs(story, shown, check_operation=must_be_same_schema, excuses_tuple=None)


def test_an_operation_does_not_see_a_rename_but_the_commit_does() -> None:
    """Only commit validation compares names; what only read is not judged."""
    story = ignite3(
        """
        20   T1@n1: w1 = put t 1 { v = 1 }
        20   T2@n1: r1 = get t 2
        50   d@n1: d = ALTER TABLE t RENAME TO x
        d.ok T1: w2 = put t 3 { v = 3 }
        d.ok T2: r2 = get t 2
        w2.ok T1: c1 = commit
        r2.ok T2: c2 = commit
        """
    )
    shown = answers("w2", "r2", "c1", "c2")
    assert shown(story.tell()) == ["ok", "ok", "SCHEMA_INCOMPATIBLE", "ok"]
    assert shown(under_iep(story))[0] != "ok"
    assert differs(story, shown, check_operation=must_be_same_schema)


# --- what is compared, and when ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "expected"), [(9, ["ok", "ok"]), (1, ["SCHEMA_CHANGED", "SCHEMA_CHANGED"])]
)
def test_a_delete_is_compared_where_it_finds_a_row(key: int, expected: list[str]) -> None:
    story = ignite3(
        f"""
        10   a@n1: w0 = put t 1 {{ v = 1 }}
        20   T@n1: w = put t 5 {{ v = 5 }}
        50   d@n1: d = ALTER TABLE t ADD COLUMN x INT
        d.ok T: x = delete t {key}
        x.ok T: c = commit
        x.failed T: c2 = commit
        """
    )
    told = story.tell()
    assert [told["x"], told["c"] if key == 9 else told["c2"]] == expected
    if key == 9:
        shown = answers("x")
        assert shown(under_iep(story)) == ["SCHEMA_CHANGED"]
        assert differs(story, shown, check_operation_when=ARRIVAL_AND_AFTER_LOCKS)


def test_newer_row_is_reported_before_the_version_is_compared() -> None:
    """T1 finds a row of the new version, T3 one of its own."""
    story = ignite3(
        """
        10   a@n1: w0 = put t 2 { v = 2 }
        20   T1@n1: w1 = put u 1
        20   T3@n1: w3 = put u 3
        20   T4@n1: w4 = put u 4
        50   d@n1: d = ALTER TABLE t ADD COLUMN w INT
        d.ok b@n2: w2 = put t 1 { v = 1, w = 1 }
        w2.ok T1: r1 = get t 1
        w2.ok T3: r3 = get t 2
        w2.ok T4: r4 = scan t
        """,
        schema=T_AND_U,
    )
    shown = answers("r1", "r3", "r4")
    told = story.tell()
    assert shown(told) == ["NEWER_ROW_VERSION", "SCHEMA_CHANGED", "NEWER_ROW_VERSION"]
    version_first = replace(as_shipped.AFTER_LOCKS_WITH_ROWS, rows_first=False)
    assert differs(story, shown, check_operation_when=version_first)


# --- the initial schema --------------------------------------------------------------------------


def test_the_schema_of_all_tables_is_that_at_the_begin() -> None:
    """A later table is not visible; an ALTER before the first use aborts where there is a row."""
    story = ignite3(
        """
        10   a@n1: w0 = put u 1 { v = 1 }
        20   T1@n1: b1 = begin
        20   T2@n1: b2 = begin
        20   T3@n1: b3 = begin
        50   d@n1: d = CREATE TABLE x (id INT PRIMARY KEY)
        d.ok d: e = ALTER TABLE u ADD COLUMN w INT
        e.ok T1: r1 = get x 1
        e.ok T2: r2 = get u 1
        e.ok T3: r3 = get u 2
        """,
        schema=T_AND_U,
    )
    shown = answers("r1", "r2", "r3")
    assert shown(story.tell()) == ["TABLE_NOT_FOUND", "SCHEMA_CHANGED", "ok"]
    assert shown(under_iep(story)) == ["ok", {"id": 1, "v": 1, "w": None}, "ok"]


# --- one phase -----------------------------------------------------------------------------------

LEADER_APART = "[cluster]\nnodes = 3\nvoters = 1\nreplicas = 3\npartitions = 1\n"
TO_N3 = '[[leader]]\ngroup = "t/0"\nnode = "n3"\nat_ms = 50\n'


def test_a_leader_without_metadata_is_busy_and_asked_again() -> None:
    """No intent is left: the write commits in one phase once the leader knows its schema."""
    late = held("n1", "n3", "append-entries", 60, 700)
    story = ignite3(
        "195 c@n2: w = put t 1 { v = 1 }", LEADER_APART + late + TO_N3, leaders={"t/0": "n2"}
    )

    def shown(told: Told) -> list[Any]:
        return [told["w"], told.at_ms("w") > 700, told.history.probes["one-phase-commit"]]

    assert shown(story.tell()) == ["ok", True, 1]
    assert shown(under_iep(story)) == ["ok", False, 0]
    assert differs(story, shown, leader_is_late=flows.write_in_two_phases)


# --- the commit ----------------------------------------------------------------------------------


def no_step_is_compound(steps: Steps) -> Reason | None:
    return each_step_forward_compatible(steps)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ("DROP COLUMN v, ADD COLUMN v INT", "ok"),
        ("ADD COLUMN x INT, DROP COLUMN x", "ok"),
        ("DROP COLUMN v, ADD COLUMN v BIGINT", "ok"),
        ("DROP COLUMN v, ADD COLUMN v INT DEFAULT 7", "SCHEMA_INCOMPATIBLE"),
        ("DROP COLUMN v, ADD COLUMN v SMALLINT", "SCHEMA_INCOMPATIBLE"),
        ("DROP COLUMN v, ADD COLUMN x INT", "SCHEMA_INCOMPATIBLE"),
    ],
)
def test_a_compound_statement_is_one_difference_by_name(actions: str, expected: str) -> None:
    story = ignite3(
        f"""
        20   T@n1: w = put t 1 {{ v = 1 }}
        50   d@n1: d = ALTER TABLE t {actions}
        d.ok T: c = commit
        """,
        leaders=HERE,
    )
    shown = answers("c")
    assert shown(story.tell()) == [expected]
    assert shown(under_iep(story)) != ["ok"]
    if expected == "ok":
        assert differs(story, shown, check_commit=no_step_is_compound)
