"""I12: what the client of a DDL was told, against the log and against the schema it rests on."""

from typing import Any

import pytest

from ddlsim.checkers.rules.idle_statements import changes_nothing
from ddlsim.history.events import DdlDecided, Failed, Invoked, Ok, Unknown
from ddlsim.model.ddl import ColumnDropped
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.schema import Alias
from tests.support.history import Story, add_column, ts
from tests.support.judging import anomalies
from tests.support.schemas import snapshot_of, statement

REASON = ("DDL_CONFLICT",)


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("machinery", story)]


@pytest.mark.parametrize(
    ("end", "reason", "found"),
    [
        (Ok, (), []),
        (Failed, REASON, ["failed-but-logged"]),
        (Unknown, ("NODE_UNREACHABLE",), []),
    ],
)
def test_a_failed_answer_to_a_logged_update_breaks_i12(
    end: type, reason: tuple[str, ...], found: list[str]
) -> None:
    story = Story()
    story.ddl("D", story.table(), add_column(2, "w"), tu=100, ack=200, end=end, reason=reason)
    assert kinds(story) == found


def test_an_update_logged_after_its_failed_answer_breaks_i12() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=100, submit=50)
    story.add(20, Failed, "client of D", "D", *REASON)
    assert kinds(story) == ["failed-but-logged"]


@pytest.mark.parametrize(
    ("end", "found"),
    [(Ok, ["acknowledged-not-logged"]), (Failed, []), (Unknown, [])],
)
@pytest.mark.parametrize("outcome", [None, "installed", "refused"])
def test_an_ok_without_an_update_in_the_log_breaks_i12(
    end: type, found: list[str], outcome: str | None
) -> None:
    story = Story()
    story.table()
    story.add(10, Invoked, "c", "D", None, "n1", "ddl", sql="DROP TABLE t")
    if outcome is not None:
        story.add(11, DdlDecided, "n1", "D", outcome, 1, ts(0), ts(0))
    story.add(12, end, "c", "D", *(() if end is Ok else REASON))
    assert kinds(story) == found


def noop(sql: str, catalog: int) -> Story:
    """t from the beginning, u from catalog version 2 on; both have id and v."""
    story = Story()
    story.table()
    story.created("C", "u", tu=100, submit=1, ack=300)
    story.add(10, Invoked, "c", "D", None, "n1", "ddl", sql=sql)
    story.add(11, DdlDecided, "n1", "D", "noop", catalog, ts(0), ts(0), statement(sql))
    story.add(400, Ok, "c", "D")
    return story


@pytest.mark.parametrize(
    ("sql", "catalog", "found"),
    [
        ("DROP TABLE IF EXISTS u", 1, []),
        ("DROP TABLE IF EXISTS u", 2, ["untrue-noop"]),
        ("CREATE TABLE IF NOT EXISTS u (id INT PRIMARY KEY)", 1, ["untrue-noop"]),
        ("CREATE TABLE IF NOT EXISTS u (id INT PRIMARY KEY)", 2, []),
        ("CREATE TABLE u (id INT PRIMARY KEY)", 2, ["untrue-noop"]),
        ("ALTER TABLE u ADD COLUMN IF NOT EXISTS v INT", 2, []),
        ("ALTER TABLE t ADD COLUMN IF NOT EXISTS w INT", 2, ["untrue-noop"]),
    ],
)
def test_a_noop_is_true_at_the_version_that_it_names(
    sql: str, catalog: int, found: list[str]
) -> None:
    """Of that version: u is there from catalog version 2 on, active or not."""
    assert kinds(noop(sql, catalog)) == found


def test_a_table_that_has_an_old_name_hides_what_the_name_stood_for() -> None:
    """[110.later.3], where old names are not reserved: t became s and is t again."""
    (table,) = snapshot_of("CREATE TABLE t (id INT PRIMARY KEY, v INT)").objects()
    old = Alias(9, "t", 1, "", (table.id,), 60)
    for sql in (
        "ALTER TABLE t ADD COLUMN IF NOT EXISTS v INT",
        "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)",
    ):
        assert changes_nothing(statement(sql), (table, old)) is None
    assert changes_nothing(statement("DROP TABLE IF EXISTS t"), (old,)) == "there is 't'"


@pytest.mark.parametrize(
    ("last", "end", "found"),
    [
        ("confirmed", Ok, []),
        ("dropped", Ok, ["acknowledged-not-logged"]),
        (None, Ok, ["acknowledged-not-logged"]),
        ("confirmed", Failed, ["failed-but-logged"]),
        ("dropped", Failed, []),
        (None, Failed, []),
    ],
)
def test_a_pending_column_is_in_effect_once_it_is_confirmed(
    last: str | None, end: type, found: list[str]
) -> None:
    """[110.later.2]"""
    story = Story()
    t = story.table()
    column = add_column(2, "w", nullable=False).column
    story.ddl("D", t, ColumnPending(column), tu=100, submit=1)
    if last is not None:
        change: Any = ColumnConfirmed(column) if last == "confirmed" else ColumnDropped(column)
        story.ddl("D", t, change, tu=300, submit=201)
    story.add(400, end, "client of D", "D", *(() if end is Ok else REASON))
    assert kinds(story) == found


SCHEMA = (
    "CREATE ZONE z WITH partitions=4, replicas=3;"
    "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, n VARCHAR(9) NOT NULL,"
    " CONSTRAINT positive CHECK (v > 0)); CREATE INDEX i ON t (v); CREATE VIEW w AS SELECT * FROM t"
)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW IF NOT EXISTS w AS SELECT * FROM t",
        "CREATE TABLE IF NOT EXISTS w (id INT PRIMARY KEY)",
        "CREATE INDEX IF NOT EXISTS i ON t (n)",
        "CREATE ZONE IF NOT EXISTS z WITH partitions=1",
        "DROP VIEW IF EXISTS x",
        "DROP INDEX IF EXISTS x",
        "DROP ZONE IF EXISTS x",
        "ALTER TABLE IF EXISTS x RENAME TO y",
        "ALTER TABLE IF EXISTS x ADD COLUMN a INT",
        "ALTER ZONE z SET replicas=3",
        "ALTER TABLE t ALTER COLUMN v DROP NOT NULL",
        "ALTER TABLE t ALTER COLUMN v SET DEFAULT 5",
        "ALTER TABLE t ALTER COLUMN n SET NOT NULL",
        "ALTER TABLE t DROP COLUMN IF EXISTS x",
        "ALTER TABLE t DROP CONSTRAINT IF EXISTS x",
    ],
)
def test_changes_nothing_is_none_for_idle_statements(sql: str) -> None:
    assert changes_nothing(statement(sql), snapshot_of(SCHEMA).objects()) is None


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE INDEX i ON t (n)",
        "CREATE INDEX IF NOT EXISTS j ON t (n)",
        "CREATE ZONE IF NOT EXISTS y WITH partitions=1",
        "DROP VIEW IF EXISTS w",
        "DROP TABLE IF EXISTS t",
        "DROP INDEX IF EXISTS i",
        "DROP ZONE IF EXISTS z",
        "DROP TABLE x",
        "ALTER TABLE IF EXISTS t RENAME TO y",
        "ALTER TABLE t RENAME COLUMN v TO y",
        "ALTER ZONE z SET replicas=1",
        "ALTER ZONE x SET replicas=1",
        "ALTER TABLE x ADD COLUMN IF NOT EXISTS v INT",
        "ALTER TABLE t ALTER COLUMN v SET NOT NULL",
        "ALTER TABLE t ALTER COLUMN v SET DEFAULT 6",
        "ALTER TABLE t ALTER COLUMN v DROP DEFAULT",
        "ALTER TABLE t ALTER COLUMN v SET DATA TYPE BIGINT",
        "ALTER TABLE t ALTER COLUMN x SET DEFAULT 6",
        "ALTER TABLE t DROP COLUMN IF EXISTS v",
        "ALTER TABLE t DROP CONSTRAINT IF EXISTS positive",
    ],
)
def test_changes_nothing_says_what_is_to_do(sql: str) -> None:
    assert changes_nothing(statement(sql), snapshot_of(SCHEMA).objects()) is not None
