"""NOT NULL columns without default on empty tables: every way that the two steps can end."""

from typing import Any

import pytest

from ddlsim.protocol.design import mandatory_columns
from ddlsim.protocol.schema.ddl import Refused
from ddlsim.protocol.schema_change.row_counter import RowCounter
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from ddlsim.units import plus_ms
from ddlsim.verify.row import RunRow
from tests.scenarios.runs import compared, runner_of

GENERATED = "generated/empty_tables"
HEAD = """
title   = "A mandatory column"
source  = "a test"
clauses = ["110.later.2"]

[strategy]
name = "b12_two_step"

[protocol]
preset = "ignite3_tests"

[cluster]
nodes = 3
voters = 1
partitions = 2

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[leader]]
group = "t/0"
node = "n2"

[[leader]]
group = "t/1"
node = "n3"
"""


def step(name: str, at_ms: int, what: str, expect: str, client: str = "", node: str = "n2") -> str:
    """A step of a client of its own."""
    return (
        f'[[step]]\nid = "{name}"\nclient = "{client or name}"\nnode = "{node}"\nat_ms = {at_ms}\n'
        f"{what}\nexpect = {expect}\n"
    )


def alter(name: str, at_ms: int, actions: str, expect: str = '"ok"') -> str:
    """An ALTER TABLE of t, issued on n2."""
    return step(name, at_ms, f'ddl = "ALTER TABLE t {actions}"', expect)


def row_of(*parts: str, protocol: str = "", design: str = "b12_two_step") -> RunRow:
    """The run of some steps: all end as they expect, and nothing is found."""
    head = HEAD.replace("[cluster]", f"{protocol}\n[cluster]").replace("b12_two_step", design)
    scenario = read(head + "\n".join(parts), "mandatory")
    row = runner_of(scenario).row(0)
    assert row.crash is None
    assert row.missed == ()
    assert row.violations == ()
    return row


MANDATORY = "ADD COLUMN w INT NOT NULL"
ROW = step("p", 20, 'do = ["put", "t", 3, { v = 1 }]', '"ok"')


def test_on_an_empty_table_it_takes_twice_as_long() -> None:
    """2 (DD + CSmax), 107 ms each, rounded up."""
    expect = "{ waits_until_ms = 316, tolerance_ms = 2 }"
    row = row_of(alter("d", 100, MANDATORY, expect))
    assert row.reached.get("column-confirmed", 0) == 1


def test_other_columns_come_along() -> None:
    rows = "{ rows = [{ id = 1, v = 1, w = 2, x = 3, y = 4 }] }"
    row_of(
        alter("d", 100, "ADD COLUMN (w INT NOT NULL, x INT, y INT NOT NULL)"),
        step("p", 350, 'do = ["put", "t", 1, { v = 1, w = 2, x = 3, y = 4 }]', '"ok"'),
        step("q", 360, 'do = ["put", "t", 1, { v = 1, w = 2 }]', '{ fails = "BAD_ROW" }'),
        step("r", 370, 'do = ["get", "t", 1]', rows),
    )


def test_what_does_more_than_adding_columns_is_refused_as_ever() -> None:
    row = row_of(alter("d", 100, f"{MANDATORY}, DROP COLUMN v", '{ fails = "DDL_REFUSED" }'))
    assert row.reached.get("table-looked-at", 0) == 0


def test_what_needs_no_value_is_installed_as_ever() -> None:
    row = row_of(ROW, alter("d", 100, "ADD COLUMN w INT NOT NULL DEFAULT 1"))
    assert row.reached.get("column-pending", 0) == 0


@pytest.mark.parametrize("design", ["b12_two_step", "b12_naive_check"])
def test_a_column_that_exists_already_needs_no_look(design: str) -> None:
    """IF NOT EXISTS: only `x` is new, and rows may lack it."""
    both = "ADD COLUMN IF NOT EXISTS (v INT NOT NULL, x INT)"
    again = alter("e", 300, "ADD COLUMN IF NOT EXISTS x INT NOT NULL")
    row = row_of(ROW, alter("d", 100, both), again, design=design)
    assert row.reached.get("table-looked-at", 0) == 0
    assert (row.reached["ddl-installed"], row.reached["ddl-noop"]) == (1, 1)


def test_rows_in_any_partition_cancel_it() -> None:
    """Key 3 lies in the second; afterwards the table is as it was."""
    row = row_of(
        ROW,
        alter("d", 100, MANDATORY, '{ fails = "DDL_REFUSED" }'),
        step("q", 350, 'do = ["put", "t", 3, { v = 2 }]', '"ok"'),
        alter("e", 360, "ADD COLUMN w INT"),
    )
    assert row.reached.get("column-cancelled", 0) == 1


def test_rows_that_were_deleted_do_not_count() -> None:
    row_of(ROW, step("x", 40, 'do = ["delete", "t", 3]', '"ok"'), alter("d", 100, MANDATORY))


def test_an_index_on_the_pending_column_goes_with_it() -> None:
    index = step("i", 210, 'ddl = "CREATE INDEX i ON t (w)"', '"ok"', node="n1")
    again = step("j", 450, 'ddl = "CREATE INDEX i ON t (v)"', '"ok"')
    row_of(ROW, alter("d", 105, MANDATORY, '{ fails = "DDL_REFUSED" }'), index, again)


@pytest.mark.parametrize("sql", ["ALTER TABLE t DROP COLUMN w", "DROP TABLE t"])
@pytest.mark.parametrize("rows", [ROW, ""])
def test_a_column_that_goes_while_it_is_pending_is_not_confirmed(sql: str, rows: str) -> None:
    reason = "DDL_REFUSED" if rows else "DDL_CONFLICT"
    drop = step("x", 150, f'ddl = "{sql}"', '"ok"', node="n1")
    row = row_of(rows, alter("d", 100, MANDATORY, f'{{ fails = "{reason}" }}'), drop)
    assert row.reached.get("column-confirmed", 0) == 0


def test_one_of_two_that_goes_takes_the_other_along() -> None:
    drop = step("x", 150, 'ddl = "ALTER TABLE t DROP COLUMN w"', '"ok"', node="n1")
    two = "ADD COLUMN (w INT NOT NULL, x INT NOT NULL)"
    row = row_of(
        alter("d", 100, two, '{ fails = "DDL_CONFLICT" }'),
        drop,
        alter("e", 400, "ADD COLUMN x INT"),
    )
    assert row.reached.get("column-cancelled", 0) == 1


def test_an_unreadable_table_keeps_no_pending_column() -> None:
    row = row_of(
        alter("d", 100, MANDATORY, '{ fails = "NODE_UNREACHABLE" }'),
        '[[faults]]\nname = "crash"\nnode = "n3"\nfrom_ms = 150\n[run]\nload_ms = 3_000',
        protocol="operation_timeout_ms = 1_000",
    )
    assert row.reached.get("column-cancelled", 0) == 1


def test_a_crash_between_the_steps_leaves_a_pending_column() -> None:
    """The row of n3 has no value of it in the end; DROP COLUMN would undo it."""
    fault = '[[faults]]\nname = "crash"\nnode = "n2"\nfrom_ms = 150\nfor_ms = 300'
    row = row_of(
        ROW.replace('node = "n2"', 'node = "n3"'),
        alter("d", 100, MANDATORY, '"unknown"'),
        fault,
        step("e", 900, 'ddl = "ALTER TABLE t ADD COLUMN w INT"', '{ fails = "OBJECT_EXISTS" }'),
    )
    assert row.reached.get("column-pending", 0) == 1
    assert row.reached.get("column-cancelled", 0) == row.reached.get("column-confirmed", 0) == 0


# --- planted faults -------------------------------------------------------------------------------


def found(overrides: dict[str, Any], seeds: int = 12) -> set[str]:
    """The invariants that the generated scenario convicts a design of."""
    runner = runner_of(load(GENERATED, overrides))
    return convicted([runner.row(seed) for seed in range(seeds)])


def convicted(rows: list[RunRow]) -> set[str]:
    """The invariants that these runs violate."""
    assert all(row.crash is None for row in rows)
    graves = [one for row in rows for one in row.violations if one.status == "violation"]
    return {one.invariant for one in graves}


def test_the_two_step_design_has_no_violation() -> None:
    scenario = load(GENERATED)
    runner = runner_of(scenario)
    rows = [runner.row(seed) for seed in range(12)]
    sum_ = compared(scenario, rows)
    assert sum_.unexpected == ()
    assert sum_.never_reached == ()
    assert convicted(rows) == set()


def test_no_column_stays_pending_because_others_change_the_catalog() -> None:
    """With one attempt each, many statements give up; what was begun is ended all the same."""
    runner = runner_of(load(GENERATED, {"protocol.ddl_attempts": 1}))
    rows = [runner.row(seed) for seed in range(12)]
    assert all(row.crash is None for row in rows)
    assert sum(row.reached.get("ddl-attempts-exhausted", 0) for row in rows) > 0
    assert not any(row.violations and row.failed for row in rows)


def test_a_look_before_the_change_is_convicted() -> None:
    assert found({"strategy.name": "b12_naive_check"}) == {"I7"}


def test_a_pending_column_that_transactions_may_cross_is_convicted() -> None:
    fields = {"check_commit": "commit_anyway", "on_activated": "leave_unmarked"}
    assert "I8" in found({f"strategy.{name}": rule for name, rule in fields.items()})


def test_two_steps_without_a_look_are_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nobody_looks(*_: Any) -> Refused | None:
        return None

    monkeypatch.setattr(mandatory_columns, "_why_not_empty", nobody_looks)
    assert found({}) == {"I7"}


def test_a_look_at_the_past_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    look = RowCounter.rows_at

    async def at_the_message(self: Any, table_id: int, read_ts: Any, label: str) -> Any:
        return await look(self, table_id, plus_ms(read_ts, -60), label)

    monkeypatch.setattr(RowCounter, "rows_at", at_the_message)
    assert found({}) == {"I7"}
