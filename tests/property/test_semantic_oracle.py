"""The semantic oracle against the rule table and the linter, and on tuples drawn at random.

Three comparisons: of every single change of a small universe, with the rule table; of every
statement and every two statements upon a small schema, with `compat`; and of random migrations,
step by step with both, and end to end on actual tables and tuples. What the definition and the
rules of IEP-110 disagree about is in `test_text_findings.py`.
"""

from collections.abc import Iterator
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ddlsim.checkers.spec.oracle import breach
from ddlsim.checkers.spec.spec import judged, judged_step, rulings
from ddlsim.checkers.spec.tuples import (
    ClientValue,
    Operation,
    State,
    executed,
    forbidden,
    upgraded_row,
)
from ddlsim.checkers.spec.types import Datum, Repeated, domain, holds, read
from ddlsim.lint.compat import Report
from ddlsim.model.ddl import ColumnAltered, ColumnRenamed, ObjectChange, SimpleChange
from ddlsim.model.schema import TEMPORAL_TYPES, ColumnType, SchemaObject, Table, View
from ddlsim.protocol.schema.column_types import convertible
from ddlsim.protocol.schema.compatibility import IGNITE3, is_forward_compatible, judge, judge_step
from ddlsim.protocol.schema.ddl import Built
from tests.support.ddl_strategies import column_types, migrations, simple_changes
from tests.support.linting import lint
from tests.support.oracle_world import differences, small_changes, state_of
from tests.support.schemas import grown, snapshot_of, statement

SMALL = list(small_changes())
SCHEMA = """CREATE TABLE t (id INT PRIMARY KEY, a INT DEFAULT 5, b VARCHAR(4) NOT NULL,
CONSTRAINT k CHECK (a > 0)); CREATE UNIQUE INDEX i ON t (a); CREATE VIEW w AS SELECT id FROM t"""
ACTIONS = (
    "ADD COLUMN c INT",
    "ADD COLUMN c INT NOT NULL DEFAULT 7",
    "ADD COLUMN c INT NOT NULL",
    "DROP COLUMN b",
    "DROP COLUMN a",
    "RENAME COLUMN a TO c",
    "RENAME COLUMN b TO a",
    "ALTER COLUMN a SET NOT NULL",
    "ALTER COLUMN b DROP NOT NULL",
    "ALTER COLUMN a SET DEFAULT 6",
    "ALTER COLUMN a SET DEFAULT 5",
    "ALTER COLUMN a DROP DEFAULT",
    "ALTER COLUMN b SET DEFAULT 'x'",
    "ALTER COLUMN a SET DATA TYPE BIGINT",
    "ALTER COLUMN a SET DATA TYPE SMALLINT",
    "ALTER COLUMN a SET DATA TYPE VARCHAR(11)",
    "ALTER COLUMN a SET DATA TYPE VARCHAR(20) SET DEFAULT '5'",
    "ALTER COLUMN b SET DATA TYPE VARCHAR(3)",
    "ALTER COLUMN b SET DATA TYPE VARCHAR(5)",
    "ADD CONSTRAINT l CHECK (a < 9)",
    "DROP CONSTRAINT k",
    "RENAME TO u",
)
STATEMENTS = (
    *(f"ALTER TABLE t {action}" for action in ACTIONS),
    "CREATE INDEX j ON t (b)",
    "CREATE UNIQUE INDEX j ON t (b)",
    "DROP INDEX i",
    "DROP TABLE t",
    "CREATE TABLE u (id INT PRIMARY KEY)",
    "DROP VIEW w",
    "ALTER VIEW w RENAME TO t2",
    "CREATE ZONE z",
    "ALTER TABLE t DROP COLUMN b, ADD COLUMN b INT",
    "ALTER TABLE t ADD COLUMN c INT, DROP CONSTRAINT k",
)
START = snapshot_of(SCHEMA)


def steps_of(*texts: str) -> list[ObjectChange]:
    """What the catalog makes of some statements upon the schema; what it refuses is left out."""
    snapshot, found = START, []
    for text in texts:
        snapshot, outcome = grown(snapshot, statement(text))
        found += outcome.objects if isinstance(outcome, Built) else ()
    return found


def compatible(change: ObjectChange) -> bool:
    return judged_step(change.changes, change.kind).compatible


def told_by_oracle(texts: tuple[str, ...]) -> dict[str, bool]:
    """What becomes of transactions on each object of the schema, by the oracle.

    A transaction that uses a view uses the tables that the view reads [110.view].
    """
    doomed = {change.object_id for change in steps_of(*texts) if not compatible(change)}
    used = {
        one.name: {one.id, *(one.tables if isinstance(one, View) else ())}
        for one in START.objects()
        if one.name != "default"
    }
    return {name: doomed.isdisjoint(ids) for name, ids in used.items()}


def told_by_linter(report: Report) -> dict[str, bool]:
    return {name: entry["forward_compatible"] for name, entry in report["tables"].items()}


# --- the same verdicts, clauses and requirements -------------------------------------------------


def test_oracle_and_rules_agree_on_a_small_universe() -> None:
    assert list(differences(SMALL)) == []


def test_the_shipped_rules_refuse_more_and_never_less() -> None:
    """Renamed columns, text for everything, and longer fractions of a second; nothing else."""
    refused: set[str] = set()
    for change, kind in SMALL:
        tried = judged(change, kind).compatible
        shipped = all(one.compatible for one in judge(change, kind, IGNITE3))
        assert tried or not shipped, change
        if tried and not shipped:
            refused.add(kind_of(change))
    assert refused == {"renamed", "as text", "finer time"}


def kind_of(change: SimpleChange) -> str:
    """What the oracle allows and the shipped code refuses, by what it does."""
    if isinstance(change, ColumnRenamed):
        return "renamed"
    assert isinstance(change, ColumnAltered), change
    before, after = change.before.type.name, change.after.type.name
    if after == "VARCHAR" and before != after:
        return "as text"
    return "finer time" if before == after and before in TEMPORAL_TYPES else f"{before} to {after}"


@settings(max_examples=200)
@given(simple_changes())
def test_oracle_and_rules_agree_on_any_simple_change(change: SimpleChange) -> None:
    """Clause by clause where a statement can ask for it; on all others in the verdict."""
    if isinstance(change, ColumnAltered):
        assume(convertible(change.before.type, change.after.type))
    assert list(differences([(change, "table")])) == []


@pytest.mark.parametrize("first", STATEMENTS)
def test_oracle_and_linter_agree_on_one_and_two_statements(first: str) -> None:
    different = [
        (first, second)
        for second in STATEMENTS
        if told_by_linter(lint(SCHEMA, f"{first};{second}")) != told_by_oracle((first, second))
    ]
    assert different == []


@given(migrations())
def test_oracle_and_rules_agree_on_migrations(migration: list[Built]) -> None:
    for built in migration:
        for change in built.objects:
            assert compatible(change) == is_forward_compatible(change)
            told = [(one.clause, one.compatible) for one in judge_step(change)]
            tried = [one for simple in change.changes for one in rulings(simple, change.kind)]
            assert [(one.clause, one.compatible) for one in tried] == told


# --- end to end, on the tables that there are ----------------------------------------------------


def paths(migration: list[Built]) -> Iterator[tuple[SchemaObject, SchemaObject | None]]:
    """An object at a version and at a later one, with nothing incompatible on the way."""
    starts: dict[int, list[SchemaObject]] = {}
    for change in (change for built in migration for change in built.objects):
        older = starts.setdefault(change.object_id, [])
        if not is_forward_compatible(change):
            older.clear()
        yield from ((one, change.definition) for one in older)
        if change.definition is not None:
            older.append(change.definition)


@given(migrations())
def test_what_all_rules_allow_the_tables_themselves_allow(migration: list[Built]) -> None:
    for initial, target in paths(migration):
        assert breach(state_of(initial), state_of(target, initial)) is None


def test_what_all_rules_allow_in_two_steps_the_tables_allow() -> None:
    count = 0
    (before,) = (one for one in START.objects() if isinstance(one, Table))
    for pair in product(STATEMENTS, STATEMENTS):
        steps = [one for one in steps_of(*pair) if one.object_id == before.id]
        if steps and all(map(is_forward_compatible, steps)):
            count += 1
            target = steps[-1].definition
            assert breach(state_of(before), state_of(target, before)) is None, pair
    assert count > 100


def data(type_: ColumnType) -> st.SearchStrategy[Datum]:
    """Values of a type that need not lie at its edges."""
    of = domain(type_)
    if of.kind == "integer":
        low, high = (datum.content for datum in (of.edges[0], of.edges[-1]))
        assert isinstance(low, int)
        assert isinstance(high, int)
        return st.integers(low, high).map(lambda one: Datum("integer", one))
    if of.kind == "real":
        width = 32 if type_.name == "REAL" else 64
        return st.floats(width=width, allow_nan=False, allow_infinity=False).map(
            lambda one: Datum("real", one)
        )
    if of.kind == "text":
        return st.text(max_size=min(type_.length or 9, 50)).map(lambda one: Datum("text", one))
    if of.kind == "bytes":
        times = st.integers(0, type_.length or 9)
        return times.map(lambda one: Datum("bytes", Repeated("a0", one)))
    if of.kind == "decimal":
        scale, digits = type_.scale or 0, type_.precision or 9
        number = st.integers(-(10**digits) + 1, 10**digits - 1)
        return number.map(lambda one: read(numeral(one, scale), type_) or of.edges[0])
    if type_.precision:
        fraction = st.integers(1, 10**type_.precision - 1)
        first = of.edges[0].content
        return fraction.map(
            lambda one: Datum(of.kind, f"{first}.{one:0{type_.precision}d}".rstrip("0"))
        )
    return st.sampled_from(of.edges)


def numeral(number: int, scale: int) -> str:
    text = str(abs(number)).rjust(scale + 1, "0")
    whole, fraction = text[: len(text) - scale], text[len(text) - scale :]
    return f"{'-' * (number < 0)}{whole}.{fraction}"


@st.composite
def writes(draw: st.DrawFn, state: State) -> Operation:
    """Any write of a row: each column given, NULL or left out."""
    values: dict[int, ClientValue] = {}
    for column in state.columns:
        what = draw(st.sampled_from(["given", "given", "null", "left out"]))
        if what != "left out":
            datum = draw(data(column.type)) if what == "given" else None
            values[column.id] = ClientValue(datum, column.type)
    breaks = draw(st.frozensets(st.sampled_from([*state.constraints, 0]), max_size=2))
    return Operation(state.name or "", values, breaks)


def meets_all_three(initial: State, target: State, one: Operation, other: Operation) -> bool:
    """The three requirements on two tuples, told anew and not by the oracle's own loops."""
    written = [(each, row) for each in (one, other) if (row := executed(initial, each)) is not None]
    upgraded = [(each, row, upgraded_row(row, initial, target)) for each, row in written]
    for operation, _, row in upgraded:
        under_c = executed(target, operation)
        if forbidden(target, row) or under_c is None or under_c.cells != row.cells:
            return False
    (left, right) = (upgraded[0], upgraded[-1]) if upgraded else (None, None)
    if left is None or right is None or left[1].cells == right[1].cells:
        return True
    return left[2].cells != right[2].cells


@settings(max_examples=50)
@given(st.data())
def test_tuples_at_random_show_nothing_that_the_edges_do_not(drawn: st.DataObject) -> None:
    for initial, target in paths(drawn.draw(migrations(6))):
        if isinstance(initial, Table) and target is not None:
            old, new = state_of(initial), state_of(target, initial)
            one, other = drawn.draw(writes(old)), drawn.draw(writes(old))
            assert meets_all_three(old, new, one, other)


@settings(max_examples=200)
@given(column_types(), st.data())
def test_every_type_has_what_lies_between_its_edges(
    type_: ColumnType, drawn: st.DataObject
) -> None:
    """No value is outside of its type, and no text is longer than the longest at the edges."""
    datum = drawn.draw(data(type_))
    assert holds(type_, datum)
    of = domain(type_)
    room = ColumnType("VARCHAR", length=max(len_of(type_, edge) for edge in of.edges) or 1)
    assert holds(room, Datum("text", of.text(datum)))


def len_of(type_: ColumnType, datum: Datum) -> int:
    text = domain(type_).text(datum)
    return len(text) if isinstance(text, str) else len(text.piece) * text.times
