"""What the definition of forward compatibility and IEP-110's own rules disagree about.

Each test is one disagreement, with the example that PROTOCOL.md gives ("Where the definition and
the rules disagree"). The judges go by the kind of a change and by the upgrade that the text has, as
the rules do; here the oracle is asked about actual tables, other upgrades, or other operations.
"""

from decimal import Decimal
from itertools import product

import pytest

from ddlsim.checkers.spec import tuples as spec_tuples
from ddlsim.checkers.spec.oracle import breach
from ddlsim.checkers.spec.spec import forward_compatible
from ddlsim.checkers.spec.tuples import ClientValue, Operation, State, executed, upgraded_row
from ddlsim.checkers.spec.types import Datum, domain, upgraded_datum
from ddlsim.model.ddl import ColumnAltered
from ddlsim.model.schema import FLOAT_TYPES, INTEGER_TYPES, Column, ColumnType, Table
from ddlsim.protocol.schema.compatibility import is_forward_compatible
from ddlsim.protocol.schema.ddl import Built
from tests.support.oracle_world import TYPES, state_of
from tests.support.schemas import change_of, grown, snapshot_of, statement

KEY = Column(0, "id", ColumnType("INTEGER"), nullable=False)
ROOMY = ColumnType("VARCHAR", length=30)


def table(*columns: Column) -> State:
    return State("t", (KEY, *columns), (0,))


def ends(schema: str, *steps: str) -> tuple[State, State, list[bool]]:
    """A table before and after some statements, and what the rules say of each."""
    snapshot = snapshot_of(schema)
    before = next(one for one in snapshot.objects() if isinstance(one, Table))
    verdicts: list[bool] = []
    for text in steps:
        snapshot, outcome = grown(snapshot, statement(text))
        assert isinstance(outcome, Built), outcome
        verdicts += [is_forward_compatible(change) for change in outcome.objects]
    return state_of(before), state_of(snapshot.by_id(before.id), before), verdicts


# --- the list of types is shorter than "an exact conversion" -------------------------------------


def converted(datum: Datum, source: ColumnType, target: ColumnType) -> Datum:
    """A more generous upgrade: numbers become numbers, and days the midnights they begin with."""
    kind = domain(target).kind
    if datum.kind == "date" and kind == "timestamp":
        return Datum(kind, f"{datum.content} 00:00:00")
    if datum.kind not in {"integer", "real", "decimal"} or kind not in {
        "integer",
        "real",
        "decimal",
    }:
        return upgraded_datum(datum, source, target)
    content = datum.content
    assert isinstance(content, int | float | str), datum
    number = Decimal(content)
    if kind == "integer" and number == int(number):
        return Datum(kind, int(number))
    if kind == "decimal" and number == round(number, target.scale or 0):
        return Datum(kind, f"{number:.{target.scale or 0}f}")
    if kind == "real" and Decimal(float(number)) == number:
        return Datum(kind, float(number))
    return datum


def test_more_types_convert_exactly_than_the_list_has(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [
        ColumnAltered(Column(1, "v", one), Column(1, "v", other))
        for one, other in product((*TYPES, ColumnType("DECIMAL", precision=19, scale=0)), repeat=2)
        if one != other
    ]
    listed = {str(one) for one in pairs if forward_compatible(one)}
    monkeypatch.setattr(spec_tuples, "upgraded_datum", converted)
    found = {
        (one.before.type.name, one.after.type.name)
        for one in pairs
        if str(one) not in listed and breach(table(one.before), table(one.after)) is None
    }
    # Integers fit a floating-point type whose mantissa is longer, and decimals with room for them;
    # a decimal with more digits on both sides of its point holds what it held.
    wholes = {(one, "DECIMAL") for one in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
    floats = set(product(("TINYINT", "SMALLINT"), FLOAT_TYPES)) | {("INTEGER", "DOUBLE")}
    assert found >= {("DATE", "TIMESTAMP"), ("DECIMAL", "DECIMAL"), *wholes, *floats}
    assert not {("BIGINT", "DOUBLE"), ("INTEGER", "REAL"), ("DOUBLE", "REAL")} & found
    assert {one for one, _ in found} <= {*INTEGER_TYPES, "DECIMAL", "DATE"}


def test_more_precision_alone_does_not_hold_what_a_decimal_held() -> None:
    """The text asks for a higher precision and says nothing of the scale."""
    before, after = (ColumnType("DECIMAL", precision=p, scale=s) for p, s in ((5, 2), (6, 4)))
    found = breach(table(Column(1, "v", before)), table(Column(1, "v", after)))
    assert found is not None
    assert found.requirement == "110.fwd.1"


# --- requirement 3 holds for values and not for statements ---------------------------------------


@pytest.mark.parametrize(
    ("written", "before", "after", "stored"),
    [
        (0.1, "REAL", "DOUBLE", 0.10000000149011612),
        ("12:00:00.123456", "TIME(3)", "TIME(6)", "12:00:00.123"),
    ],
)
def test_a_statement_would_have_left_another_value_under_the_wider_type(
    written: float | str, before: str, after: str, stored: float | str
) -> None:
    """The text calls both compatible; who knows the statement sees which schema it met."""
    initial, target, verdicts = ends(
        f"CREATE TABLE t (id INT PRIMARY KEY, v {before})",
        f"ALTER TABLE t ALTER COLUMN v SET DATA TYPE {after}",
    )
    assert verdicts == [True]
    kind = domain(initial.columns[1].type).kind
    narrow, wide = Datum(kind, stored), Datum(kind, written)
    key = ClientValue(Datum("integer", 1), KEY.type)

    def put(state: State, datum: Datum) -> object:
        column = state.columns[1]
        row = executed(state, Operation("t", {1: key, column.id: ClientValue(datum, column.type)}))
        assert row is not None, datum
        return upgraded_row(row, state, target).cells

    assert put(initial, narrow) != put(target, wide)
    assert put(initial, narrow) == put(target, narrow)


def test_swapped_names_are_seen_by_reads_that_name_columns() -> None:
    """Three compatible renames swap two columns: by ids nothing happened, by names everything."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)"
    swap = ("a TO x", "b TO a", "x TO b")
    initial, target, verdicts = ends(
        schema, *(f"ALTER TABLE t RENAME COLUMN {one}" for one in swap)
    )
    assert verdicts == [True, True, True]
    assert breach(initial, target) is None

    def a_is_1(state: State) -> Operation:
        ids = {column.name: column.id for column in state.columns}
        given = {ids[name]: ClientValue(Datum("integer", 1), KEY.type) for name in ("id", "a")}
        return Operation("t", given)

    before, after = executed(initial, a_is_1(initial)), executed(target, a_is_1(target))
    assert before is not None
    assert after is not None
    assert upgraded_row(before, initial, target).cells != after.cells


# --- the kind of a change says less than the table -----------------------------------------------


@pytest.mark.parametrize(
    ("schema", "step"),
    [
        (
            "CREATE TABLE t (id INT PRIMARY KEY, v INT NOT NULL)",
            "ALTER TABLE t ALTER COLUMN v SET DEFAULT 5",
        ),
        ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE UNIQUE INDEX i ON t (id)"),
        ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", "CREATE UNIQUE INDEX i ON t (v, id)"),
    ],
)
def test_the_rule_refuses_what_no_tuple_of_this_table_shows(schema: str, step: str) -> None:
    """Nobody can leave a NOT NULL column without a default out; a key is unique already."""
    initial, target, verdicts = ends(schema, step)
    assert verdicts == [False]
    assert breach(initial, target) is None


# --- steps say more than their ends --------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        ("ALTER TABLE t ALTER COLUMN v SET DEFAULT 6", "ALTER TABLE t ALTER COLUMN v DROP DEFAULT"),
        ("ALTER TABLE t ADD COLUMN c INT", "ALTER TABLE t DROP COLUMN c"),
        ("ALTER TABLE t RENAME TO u", "ALTER TABLE u RENAME TO t"),
        ("ALTER TABLE t ALTER COLUMN v SET NOT NULL", "ALTER TABLE t ALTER COLUMN v DROP NOT NULL"),
        ("ALTER TABLE t ADD CONSTRAINT k CHECK (v > 0)", "ALTER TABLE t DROP CONSTRAINT k"),
        ("CREATE UNIQUE INDEX i ON t (v)", "DROP INDEX i"),
    ],
)
def test_there_and_back_is_refused_though_nothing_is_different(steps: tuple[str, str]) -> None:
    initial, target, verdicts = ends("CREATE TABLE t (id INT PRIMARY KEY, v INT)", *steps)
    assert False in verdicts
    assert breach(initial, target) is None


@pytest.mark.parametrize(
    ("datum", "types"),
    [
        (Datum("real", 0.10000000149011612), (ColumnType("REAL"), ColumnType("DOUBLE"))),
        (
            Datum("time", "12:00:00.5"),
            (ColumnType("TIME", precision=1), ColumnType("TIME", precision=3)),
        ),
    ],
)
def test_text_depends_on_the_way_that_led_there(
    datum: Datum, types: tuple[ColumnType, ColumnType]
) -> None:
    """Widened and then made text is another text than made text at once; both ways are allowed."""
    narrow, wide = types
    for one, other in ((narrow, wide), (wide, ROOMY), (narrow, ROOMY)):
        assert forward_compatible(ColumnAltered(Column(1, "v", one), Column(1, "v", other)))
    step_by_step = upgraded_datum(upgraded_datum(datum, narrow, wide), wide, ROOMY)
    assert step_by_step != upgraded_datum(datum, narrow, ROOMY)


def test_a_default_set_to_what_it_means_is_no_change() -> None:
    """Ours: the catalog sees no change there, so that "any manipulation" needs no reading."""
    schema = "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5)"
    retyped = "ALTER TABLE t ALTER COLUMN v SET DATA TYPE VARCHAR(11) SET DEFAULT '5'"
    (change,) = change_of(schema, retyped).changes
    assert isinstance(change, ColumnAltered)
    assert change.after.default == 5
    assert forward_compatible(change)
