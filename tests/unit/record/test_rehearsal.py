"""The figures of a rehearsal on calls that were made by hand, and the values that a load draws."""

from collections import Counter
from dataclasses import replace
from decimal import Decimal
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, cast

import pytest

from ddlsim.cli.verbs.predicted import predictions
from ddlsim.record.dialects.base import Connection
from ddlsim.record.errors import class_of
from ddlsim.record.rehearsal import load_file, rehearse
from ddlsim.record.rehearsal.deeds import deleting
from ddlsim.record.rehearsal.load_file import Drawn, Form, form_of
from ddlsim.record.rehearsal.loading import FIRST, Target, whole
from ddlsim.record.rehearsal.measure import (
    Call,
    Lines,
    Transacted,
    Wait,
    latency,
    measure,
    waits_of,
)
from ddlsim.record.rehearsal.migration import Mark, Order
from ddlsim.record.rehearsal.rows import anomalies
from ddlsim.record.rehearsal.stages.base import STAGES
from ddlsim.record.rehearsal.tables import (
    Table,
    family_of,
    literal,
    made_columns,
    schema_sql,
    tables_of,
)
from ddlsim.record.url import url_of
from ddlsim.sql.splitting import split

MS = 1_000_000


def call(at: int, until: int, kind: str = "", table: str = "t", tx: int = 0) -> Call:
    return Call(tx, at * MS, until * MS, table, kind, kind, "SELECT", (), None)


def wait(at: int, until: int, table: str = "t") -> Wait:
    return Wait(table, at * MS, until * MS)


@pytest.mark.parametrize(
    ("calls", "waits"),
    [
        ([call(0, 1), call(10, 12)], [wait(0, 1), wait(10, 12)]),
        ([call(0, 1), call(5, 90), call(7, 91)], [wait(0, 1), wait(5, 90), wait(90, 91)]),
        ([call(3, 8, "lock-timeout"), call(9, 40)], [wait(3, 40)]),
        (
            [call(0, 1), call(3, 8, "undefined"), call(9, 40, "undefined")],
            [wait(0, 1), wait(3, 40)._replace(ended=False)],
        ),
        ([call(2, 5, table="u"), call(0, 60)], [wait(2, 5, "u"), wait(0, 60)]),
        ([call(0, 5, table="")], []),
    ],
)
def test_a_wait_lasts_from_the_first_call_to_the_next_success(
    calls: list[Call], waits: list[Wait]
) -> None:
    """Time in which nothing is asked for is no wait; each table waits for itself."""
    assert waits_of(calls) == waits


def order(sql: str) -> Order:
    return Order(sql, 1, tuple(sql.upper().split()), frozenset())


def test_a_stall_is_cut_at_its_statement_and_whole_in_the_summary() -> None:
    first = Mark(order("LOCK TABLE t"), 100 * MS, 150 * MS, 400 * MS)
    second = Mark(order("UPDATE t"), 150 * MS, 400 * MS, 400 * MS)
    never = Mark(order("DROP TABLE t"))
    calls = [call(10, 12), call(120, 410, tx=1), call(420, 421, "undefined"), call(422, 423)]
    found = measure(Lines(calls, {}), [first, second, never])
    assert [one.stall_ms for one in found.statements] == [30, 250]
    assert (found.stall_ms, found.stalled) == (290, "t")
    assert (found.before.number, found.before.max_ms, found.longest_before_ms) == (1, 2, 2)
    assert [one.aborts for one in found.statements] == [{}, {"undefined": 1}]
    assert (found.after.number, found.after.max_ms) == (1, 1)


def test_a_table_that_is_gone_behind_the_last_statement_is_a_stall() -> None:
    """The first statement that is refused is asked once the table is gone."""
    renamed = Mark(order("ALTER TABLE t RENAME TO s"), 100 * MS, 105 * MS, 105 * MS)
    calls = [call(90, 106), call(107, 108, "undefined"), call(120, 900, "undefined")]
    found = measure(Lines(calls, {}), [renamed])
    assert (found.stall_ms, found.stalled) == (793, "t")
    again = measure(Lines([*calls, call(901, 902)], {}), [renamed])
    assert (again.stall_ms, again.stalled) == (16, "t")


@pytest.mark.parametrize(
    ("used", "sent", "why", "across"),
    [
        (90, 210, "undefined", (1, 1)),
        (90, 210, "deadlock", (1, 0)),
        (90, 210, "", (1, 0)),
        (90, 195, "", (0, 0)),
        (105, 210, "", (0, 0)),
    ],
)
def test_across_are_transactions_that_surely_were(
    used: int, sent: int, why: str, across: tuple[int, int]
) -> None:
    one = Transacted(sent * MS, (sent + 1) * MS, "ok", why, {"t": used * MS})
    mark = Mark(order("ALTER TABLE t"), 100 * MS, 110 * MS, 200 * MS)
    calls = [call(0, 1), call(299, 300)]
    [found] = measure(Lines(calls, {0: one}), [mark]).statements
    assert found.crossing == across


# --- values --------------------------------------------------------------------------------------


def test_marks_stand_for_names_outside_of_strings() -> None:
    sql = "SELECT ':a', x::text, \":b\" FROM t WHERE k = :k AND v LIKE 'a%' OR w = :k"
    assert form_of(sql, "?") == Form(sql.replace(":k", "?"), ("k", "k"))
    doubled = sql.replace(":k", "%s").replace("'a%'", "'a%%'")
    assert form_of(sql, "%s") == Form(doubled, ("k", "k"))
    assert form_of("SELECT 5 % 2", "%s") == Form("SELECT 5 % 2", ())


LOAD = """
[[transaction]]
statements = ["SELECT :u, :z, :n, :k, :c"]
values.u = { draw = "uniform", low = 3, high = 5 }
values.z = { draw = "zipf", low = 10, high = 19, exponent = 1.5 }
values.n = { draw = "unique" }
values.k = { draw = "key", table = "t" }
values.c = { draw = "choice", of = ["a", 2] }
"""


@pytest.mark.parametrize("text", ["", "# clients = 3\n"])
def test_a_file_without_any_word_of_a_load_is_no_load(tmp_path: Path, text: str) -> None:
    path = tmp_path / "load.toml"
    path.write_text(text)
    with pytest.raises(
        ValueError, match="nothing of a load stands in it; known: clients, think_ms"
    ):
        load_file.read(str(path))
    path.write_text("clients = 3")
    assert load_file.read(str(path)).table.clients == 3


def test_values_are_drawn_as_they_are_told() -> None:
    [one] = load_file.parsed(LOAD, "load.toml").table.transaction
    drawn = Drawn(Random(1), {"t": ["x", "y"]}, count(1_000))
    found = {name: Counter(drawn.draw(how) for _ in range(400)) for name, how in one.values.items()}
    assert sorted(found["u"]) == [3, 4, 5]
    assert found["z"].most_common(1)[0][0] == 10
    assert {*found["z"]} <= {*range(10, 20)}
    assert (min(found["n"]), max(found["n"].values())) == (1_000, 1)
    assert sorted(found["k"]) == ["x", "y"]
    assert {*found["c"]} == {"a", 2}


@pytest.mark.parametrize(
    ("value", "number"),
    [(7, 7), ("7", 7), (7.0, 7), (7.5, None), ("07", None), ("x", None), (None, None), (True, 1)],
)
def test_a_value_is_a_whole_number_whatever_its_type(value: object, number: int | None) -> None:
    assert whole(value) == number


# --- tables --------------------------------------------------------------------------------------


def table(*columns: tuple[str, str, bool]) -> Table:
    [made] = tables_of([("t", name, type_, null, False, int(name == "id"))
                        for name, type_, null in columns])  # fmt: skip
    return made


def test_rows_have_values_for_known_types_and_all_that_is_needed() -> None:
    made = table(("id", "bigint", False), ("v", "text", True), ("g", "geometry", True))
    assert [one.name for one in made_columns(made, all_=True) or ()] == ["id", "v"]
    assert [one.name for one in made_columns(made, all_=False) or ()] == ["id"]
    assert made_columns(table(("id", "int", False), ("g", "geometry", False)), all_=True) is None


def test_values_of_one_row_agree_so_that_references_hold() -> None:
    assert [literal("integer", 7), literal("text", 7), literal("boolean", 7)] == [
        "7",
        "'7'",
        "TRUE",
    ]
    assert literal("small", 207) == "7"
    assert literal("uuid", 7) == "'00000000-0000-4000-8000-000000000007'"


@pytest.mark.parametrize(
    ("type_", "family"),
    [
        ("point", "other"), ("interval", "other"), ("int4range", "other"), ("numrange", "other"),
        ("daterange", "other"), ("tsrange", "other"), ("enum('int')", "other"), ("bit(3)", "other"),
        ("UNSIGNED BIG INT", "bigint"), ("mediumint(9)", "integer"), ("SERIAL", "integer"),
        ("", "text"), ("LONGTEXT", "text"), ("decimal(4)", "number"), ("jsonb", "json"),
        ("integer[]", "other"), ("text[]", "other"), ("year(4)", "small"),
    ],
)  # fmt: skip
def test_types_are_alike_by_their_names(type_: str, family: str) -> None:
    assert family_of(type_) == family


def test_tables_are_told_to_the_linter_in_its_types() -> None:
    told = {
        "character varying": "VARCHAR(65536)",
        "varchar(40)": "VARCHAR(40)",
        "timestamp(3) with time zone": "TIMESTAMP",
        "integer": "INT",
        "bigint(20)": "BIGINT",
        "tinyint(1)": "SMALLINT",
        "numeric(10,2)": "DECIMAL(10,2)",
        "double precision": "DOUBLE",
        "enum('a','b')": "VARCHAR(65536)",
    }
    made = table(("id", "int", False), *((f"N {name}", name, True) for name in told))
    listed = ", ".join(f'"N {name}" {like}' for name, like in told.items())
    assert schema_sql([made]) == (
        f'CREATE TABLE "t" ("id" INT NOT NULL, {listed}, PRIMARY KEY ("id"));\n'
    )


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        ("ALTER TABLE t ALTER COLUMN v TYPE varchar(80)", "survive"),
        ("ALTER TABLE t ALTER COLUMN v TYPE varchar(20)", "abort"),
        ("ALTER TABLE t ALTER v TYPE varchar(80) USING upper(v)", "survive"),
        ("ALTER TABLE t ALTER v TYPE varchar(80) USING v || ', a', ADD x int", "survive"),
        ("ALTER TABLE t ALTER v TYPE varchar(80) USING left(v, 5), DROP COLUMN w", "abort"),
        ("ALTER TABLE t ADD a int, ALTER v TYPE text USING v, ALTER w TYPE smallint", "abort"),
        ("ALTER TABLE t ALTER v TYPE text USING v, ALTER w TYPE int2 USING (w)::int2", "abort"),
        ("ALTER TABLE t ALTER COLUMN id TYPE bigint", "refused"),
        ("ALTER TABLE t ALTER COLUMN v SET NOT NULL", "none"),
        ("DROP VIEW of_the_user", "none"),
        ("DROP INDEX of_the_user", "none"),
        ("ALTER TABLE t DROP CONSTRAINT of_the_user", "none"),
        ("DROP TABLE of_none", "refused"),
    ],
)
def test_a_change_of_a_type_is_predicted_from_the_type_before(sql: str, verdict: str) -> None:
    made = tables_of(
        [
            ("t", "id", "int", False, False, 1),
            ("t", "v", "varchar(40)", False, True, 0),
            ("t", "w", "int", True, False, 0),
        ]
    )
    sent = Order(*split(sql, "postgresql")[0])
    [found] = predictions(schema_sql(made), [sent])
    assert found["verdict"] == verdict, found


@pytest.mark.parametrize("quoted", ["{}", '"{}"', "`{}`"])
def test_the_case_of_names_makes_no_difference_where_the_database_knows_none(quoted: str) -> None:
    made = tables_of([("Orders", "Id", "int", False, False, 1), ("Orders", "aB", "int", 1, 0, 0)])
    sqls = (
        f"ALTER TABLE {quoted.format('ORDERS')} ADD COLUMN {quoted.format('New')} INT DEFAULT 7",
        f"ALTER TABLE orders DROP COLUMN {quoted.format('Ab')}",
        f"ALTER TABLE orders DROP COLUMN {quoted.format('neW')}",
    )
    told = [Order(*split(sql, "sqlite")[0]) for sql in sqls]
    found = predictions(schema_sql(made, folds=True), told, folds=True)
    assert [one["verdict"] for one in found] == ["survive", "abort", "abort"]


def test_in_postgresql_a_quoted_name_keeps_its_case() -> None:
    made = tables_of([("Orders", "id", "int", False, False, 1), ("Orders", "aB", "int", 1, 0, 0)])
    sqls = (
        'ALTER TABLE "Orders" DROP COLUMN "aB"',
        'ALTER TABLE "Orders" DROP COLUMN ab',
        "ALTER TABLE Orders ADD COLUMN c INT",
    )
    told = [Order(*split(sql, "postgresql")[0]) for sql in sqls]
    found = predictions(schema_sql(made), told)
    assert [one["verdict"] for one in found] == ["abort", "refused", "refused"]


@pytest.mark.parametrize("name", ["order", "select", "primary", "group", "user", "a b", 'a"b'])
def test_a_reserved_word_is_a_name_to_the_linter(name: str) -> None:
    made = tables_of([(name, name, "int", False, False, 1), (name, "v", "int", True, False, 0)])
    shown = name.replace('"', '""')
    [sent] = [Order(*one) for one in split(f'ALTER TABLE "{shown}" DROP COLUMN v', "postgresql")]
    [found] = predictions(schema_sql(made), [sent])
    assert found["verdict"] == "abort", found


def test_what_follows_a_statement_that_is_not_read_may_be_there() -> None:
    made = schema_sql([table(("id", "int", False))])
    sqls = ("CREATE TABLE u (LIKE t)", "ALTER TABLE u RENAME TO v")
    told = [Order(*split(sql, "postgresql")[0]) for sql in sqls]
    assert [one["verdict"] for one in predictions(made, told)] == ["none", "none"]
    assert [one["verdict"] for one in predictions(made, told[1:])] == ["refused"]


# --- rows ----------------------------------------------------------------------------------------


def test_a_table_lies_below_all_from_which_deletions_reach_it() -> None:
    described = [(name, "id", "int", False, False, 1) for name in "abcdx"]
    cascades = [("b", "a"), ("c", "b"), ("d", "c"), ("a", "d"), ("d", "x")]
    above = {one.name: "".join(sorted(one.above)) for one in tables_of(described, cascades)}
    assert above == {"a": "abcdx", "b": "abcdx", "c": "abcdx", "d": "abcdx", "x": ""}
    assert not tables_of(described)[0].above


def target() -> Target:
    rows = table(("id", "int", False), ("v", "int", True))
    sent = ({FIRST, FIRST + 5, FIRST + 6}, {FIRST + 1})
    return Target(0, rows, ((1,), (2,)), "v", False, "SELECT", "UPDATE", sent)


def written(tx: int, at: int, value: int) -> Call:
    return Call(tx, at * MS, (at + 1) * MS, "t", "", "", "UPDATE", (value, 1), None)


def types(
    last: tuple[int | None, ...], outcome: str = "ok", later: int = 20, first: str = "ok"
) -> dict[str, int]:
    """Of a row that was written at 10 and later; each transaction ends 5 after its write."""
    calls = [written(0, 10, FIRST + 5), written(1, later, FIRST + 6)]
    ended = {
        0: Transacted(10 * MS, 15 * MS, first, "", {}),
        1: Transacted(later * MS, (later + 5) * MS, outcome, "", {}),
    }
    found = anomalies(Lines(calls, ended), [target()], [last], [], [])
    return {one.type: one.number for one in found}


@pytest.mark.parametrize(
    ("last", "more", "found"),
    [
        ((FIRST + 6, FIRST + 1), {}, {}),
        ((FIRST + 5, FIRST + 1), {}, {"lost-write": 1}),
        ((FIRST, FIRST + 1), {}, {"lost-write": 1}),
        ((FIRST + 5, FIRST + 1), {"later": 14}, {}),
        ((FIRST + 5, FIRST + 1), {"outcome": "fail"}, {}),
        ((FIRST + 5, FIRST + 1), {"outcome": "info"}, {}),
        ((FIRST + 6, FIRST + 1), {"outcome": "info"}, {}),
        ((FIRST + 5, FIRST + 1), {"first": "info"}, {}),
        ((FIRST + 5, FIRST + 1), {"first": ""}, {}),
        ((FIRST + 6, FIRST + 1), {"outcome": "fail"}, {"unwritten-value": 1}),
        ((FIRST + 6, FIRST), {}, {"unwritten-value": 1}),
        ((77, None), {}, {"unwritten-value": 1, "vanished-rows": 1}),
    ],
)
def test_the_last_value_of_a_row_is_one_that_can_be_the_last(
    last: tuple[int | None, ...], more: dict[str, Any], found: dict[str, int]
) -> None:
    """Writes that overlap have no order; one that failed wrote nothing; one in doubt may have."""
    assert types(last, **more) == found


@pytest.mark.parametrize(
    ("sql", "judged"),
    [
        ("UPDATE t SET id = id + 1000", False),
        ('UPDATE t SET v = 1, "id" = 2 WHERE v = 3', False),
        ("UPDATE t SET v = 1 WHERE id = 2", True),
        ("UPDATE u SET id = id + 1000", True),
    ],
)
def test_rows_that_the_migration_gives_other_keys_are_not_missed(sql: str, judged: bool) -> None:
    mark = Mark(order(sql), 1, 2, 2)
    found = anomalies(Lines([], {}), [target()], [(None, None)], [mark], [])
    assert bool(found) is judged


@pytest.mark.parametrize(
    ("sql", "judged"),
    [
        ("CREATE TABLE c (id INT, p INT REFERENCES t (id) ON DELETE CASCADE)", True),
        ("ALTER TABLE t ADD FOREIGN KEY (p) REFERENCES u (id)\n  on  delete SET NULL", True),
        ("CREATE TRIGGER r AFTER INSERT OR DELETE ON t EXECUTE FUNCTION f()", True),
        ("GRANT SELECT, DELETE, TRUNCATE ON t TO me", True),
        ("CREATE TRIGGER r AFTER DELETE ON u BEGIN DELETE FROM t WHERE id = 1; END", False),
        ("DELETE FROM t WHERE id = 1", False),
        ("TRUNCATE u, t", False),
        ("MERGE INTO t USING u ON t.id = u.id WHEN MATCHED THEN DELETE", False),
        ("REPLACE t VALUES (1, 2)", False),
        ("INSERT OR REPLACE INTO t VALUES (1, 2)", False),
        ("UPDATE t SET v = REPLACE(v, 'a', 'b')", True),
    ],
)
def test_rows_are_missed_unless_a_statement_deletes_some(sql: str, judged: bool) -> None:
    """What a foreign key or a trigger does ON DELETE deletes nothing now."""
    notes: list[str] = []
    mark = Mark(order(sql), 1, 2, 2)
    found = anomalies(Lines([], {}), [target()], [(None, None)], [mark], notes)
    assert (bool(found), bool(notes)) == (judged, not judged)
    assert deleting(sql) is not judged


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ((5, 6), (Decimal("5.00"), Decimal("6.00")), (1, 1)),
        ((5, 6), ("5", "6"), (1, 1)),
        ((5, 6), (Decimal("5.00"),), (1, None)),
        ((5, 6), (5,), (1, None)),
        ((5, 6), ("5.00", "6.00"), None),
    ],
)
def test_keys_of_another_type_are_compared_as_far_as_they_can_be(
    before: tuple[Any, ...],
    after: tuple[Any, ...],
    found: tuple[int | None, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rehearse, "run", lambda *_: [(key, 1) for key in after])
    at = url_of("sqlite:///f")
    stage, notes = STAGES.get(at.drivername)(at, prepared=False), list[str]()
    held = replace(target(), keys=tuple((key,) for key in before))
    assert rehearse.last_of(stage, cast(Connection, None), held, notes) == found
    assert bool(notes) is (found is None)


@pytest.mark.parametrize(
    ("database", "code", "text", "kind"),
    [
        ("postgresql", "0A000", "cached plan must not change result type", "cached-plan"),
        ("postgresql", "0A000", "cannot alter type of a column used by a view", "other"),
        ("postgresql", "08001", "", "connection"),
        ("postgresql", "08004", "", "connection"),
        ("postgresql", "08007", "transaction resolution unknown", "connection"),
        ("postgresql", "08P01", "protocol violation", "connection"),
        ("postgresql", "40003", "statement completion unknown", "connection"),
        ("postgresql", "40002", "integrity constraint violation", "other"),
        ("mariadb", "0800", "", "other"),
        ("sqlite", "SQLITE_ERROR", "no such column: w", "undefined"),
        ("sqlite", "SQLITE_ERROR", "table t has no column named w", "undefined"),
        ("sqlite", "SQLITE_ERROR", 'near "x": syntax error', "other"),
        ("duckdb", "ConstraintException", 'Duplicate key "id: 1"', "unique-violation"),
        ("duckdb", "ConstraintException", "NOT NULL constraint failed: t.v", "other"),
        ("duckdb", "TransactionException", "altered by a different one", "definition-changed"),
    ],
)
def test_errors_have_the_class_of_their_text(
    database: str, code: str, text: str, kind: str
) -> None:
    assert class_of(database, code, text) == kind


def test_quantiles_are_of_the_nearest_rank() -> None:
    found = latency([call(0, at) for at in range(1, 101)], 0, 200 * MS)
    assert (found.number, found.p50_ms, found.p99_ms, found.max_ms) == (100, 50, 99, 100)


@pytest.mark.parametrize(("outcome", "missed"), [("ok", {"vanished-rows": 1}), ("fail", {})])
def test_a_read_of_no_row_counts_where_its_transaction_committed(
    outcome: str, missed: dict[str, int]
) -> None:
    read = Call(0, 10 * MS, 11 * MS, "t", "", "", "SELECT", (1,), 0)
    ended = {0: Transacted(10 * MS, 15 * MS, outcome, "", {})}
    found = anomalies(Lines([read], ended), [target()], [(FIRST, FIRST + 1)], [], [])
    assert {one.type: one.number for one in found} == missed


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ((0, 0), ["t: 2 UPDATEs of rows that the migration may have deleted found none"]),
        ((0, 1), ["t: 1 UPDATE of rows that the migration may have deleted found none"]),
        ((1, 1), []),
    ],
)
def test_updates_of_rows_that_the_migration_deletes_are_noted(
    changed: tuple[int, ...], told: list[str]
) -> None:
    calls = [Call(0, 1, 2, "t", "", "", "UPDATE", (FIRST, 1), None, one) for one in changed]
    ended = {0: Transacted(1, 3, "ok", "", {})}
    mark = Mark(order("DELETE FROM t WHERE id = 1"), 1, 2, 2)
    notes: list[str] = []
    assert anomalies(Lines(calls, ended), [target()], [(None, FIRST + 1)], [mark], notes) == []
    assert [one.partition(";")[0] for one in notes[1:]] == told


def test_an_update_that_found_no_row_is_no_write_of_the_row() -> None:
    later = Call(0, 5, 6, "t", "", "", "UPDATE", (FIRST + 5, 1), None, 0)
    ended = {0: Transacted(5, 7, "ok", "", {})}
    assert not anomalies(Lines([later], ended), [target()], [(FIRST, FIRST + 1)], [], [])
