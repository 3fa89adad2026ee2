"""Hypothesis strategies for types, columns, statements, simple changes, and whole migrations."""

from hypothesis import strategies as st
from msgspec.structs import replace

from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import (
    Action,
    AddColumn,
    AddConstraint,
    AlterColumn,
    AlterTable,
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ColumnSpec,
    ConstraintAdded,
    ConstraintDropped,
    ConstraintSpec,
    CreateIndex,
    CreateTable,
    CreateView,
    DropColumn,
    DropConstraint,
    DropIndex,
    DropTable,
    DropView,
    IndexCreated,
    IndexDropped,
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    RenameColumn,
    RenameTable,
    SimpleChange,
    Statement,
    ZoneAltered,
)
from ddlsim.model.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    TEMPORAL_TYPES,
    Column,
    ColumnType,
    Constraint,
    Index,
    Table,
    Value,
)
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built
from tests.support.schemas import grown

# Lengths around every longest text, so that a bound that is off by one shows.
LENGTHS = st.one_of(st.integers(1, 45), st.sampled_from([255, 65535, 65536, 131072]))


def column_types() -> st.SearchStrategy[ColumnType]:
    """Every type, written out as the SQL front end writes it out."""
    plain = st.sampled_from([*INTEGER_TYPES, *FLOAT_TYPES, "BOOLEAN", "DATE", "UUID"])
    return st.one_of(
        plain.map(ColumnType),
        st.builds(ColumnType, st.sampled_from(["VARCHAR", "VARBINARY"]), length=LENGTHS),
        st.builds(
            ColumnType,
            st.just("DECIMAL"),
            precision=st.integers(1, 20),
            scale=st.integers(0, 20),
        ),
        st.builds(ColumnType, st.sampled_from(TEMPORAL_TYPES), precision=st.integers(0, 9)),
    )


def resized(column_type: ColumnType) -> st.SearchStrategy[ColumnType]:
    """A type with the same name where that has sizes, a little wider or narrower."""
    nudge = st.integers(-2, 3)
    if column_type.length is not None:
        length = column_type.length
        return nudge.map(lambda by: ColumnType(column_type.name, length=max(length + by, 1)))
    if column_type.precision is not None:
        precision, scale = column_type.precision, column_type.scale
        return nudge.map(
            lambda by: ColumnType(column_type.name, None, max(precision + by, 1), scale)
        )
    ladder = INTEGER_TYPES if column_type.name in INTEGER_TYPES else FLOAT_TYPES
    return st.sampled_from(ladder).map(ColumnType)


def constants(column_type: ColumnType) -> st.SearchStrategy[Value]:
    """Constants that a column of a type holds, None among them."""
    name = column_type.name
    if name in INTEGER_TYPES:
        return st.one_of(st.none(), st.integers(0, 5))
    if name in FLOAT_TYPES:
        return st.one_of(st.none(), st.sampled_from([0.5, 0.1, 2.0]))
    if name == "BOOLEAN":
        return st.one_of(st.none(), st.booleans())
    if name == "DECIMAL":
        return st.one_of(st.none(), st.just(f"{0:.{column_type.scale or 0}f}"))
    if name == "TIME":
        return st.one_of(st.none(), st.sampled_from(["12:00:00", "12:00:00.123456789"]))
    return st.one_of(st.none(), st.sampled_from(["0", "a"]))


def columns(ids: st.SearchStrategy[int] | None = None) -> st.SearchStrategy[Column]:
    """Columns with a default that fits."""
    return column_types().flatmap(
        lambda column_type: st.builds(
            Column,
            id=ids or st.integers(1, 5),
            name=st.sampled_from("abc"),
            type=st.just(column_type),
            nullable=st.booleans(),
            default=constants(column_type),
            initial_default=constants(column_type),
        )
    )


@st.composite
def alterations(draw: st.DrawFn) -> ColumnAltered:
    """A column before and after an ALTER COLUMN that changed something."""
    before = draw(columns())
    after_type = draw(st.one_of(st.just(before.type), resized(before.type), column_types()))
    default = draw(st.one_of(st.just(before.default), constants(after_type)))
    nullable = draw(st.booleans())
    kept = before.initial_default
    after = Column(before.id, before.name, after_type, nullable, default, kept)
    if after == before and type(default) is type(before.default):
        after = Column(before.id, before.name, after_type, not nullable, default, kept)
    return ColumnAltered(before, after)


def as_added(column: Column) -> ColumnAdded:
    """A column as the catalog adds it: old rows show the default that new ones take."""
    return ColumnAdded(replace(column, initial_default=column.default))


INDEXES = st.builds(Index, st.just(7), st.just("i"), st.just((1,)), st.booleans())
CONSTRAINTS = st.builds(
    Constraint,
    st.just(8),
    st.just("c"),
    st.sampled_from(["check", "unique", "foreign"]),
    st.just(""),
)


def simple_changes() -> st.SearchStrategy[SimpleChange]:
    """Every kind of simple change of a table, column changes more often."""
    return st.one_of(
        alterations(),
        alterations(),
        columns().map(as_added),
        st.builds(ColumnDropped, columns()),
        st.just(ColumnRenamed(1, "a", "b")),
        st.builds(ConstraintAdded, CONSTRAINTS),
        st.builds(ConstraintDropped, CONSTRAINTS),
        st.builds(IndexCreated, INDEXES),
        st.builds(IndexDropped, INDEXES),
        st.sampled_from([ObjectCreated(), ObjectDropped(), ObjectRenamed("a", "b"), ZoneAltered()]),
        st.just(ObjectAliased("a", "b", 9)),
    )


# --- statements ----------------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c", "d"])
KEY = ColumnSpec("id", ColumnType("INTEGER"))
NARROW = st.sampled_from(
    [
        ColumnType("TINYINT"),
        ColumnType("INTEGER"),
        ColumnType("BIGINT"),
        ColumnType("DOUBLE"),
        ColumnType("BOOLEAN"),
        ColumnType("VARCHAR", length=4),
        ColumnType("VARCHAR", length=30),
        ColumnType("TIMESTAMP", precision=3),
        ColumnType("TIMESTAMP", precision=6),
    ]
)
WORTH = st.sampled_from(
    [
        *["add column", "alter column", "alter column", "drop column", "rename column"] * 3,
        *["add constraint", "drop constraint", "create index", "drop index"] * 2,
        *["rename table", "drop table", "create table", "create view", "drop view", "several"],
    ]
)
"""What a statement does, by how much there is to see in it."""


@st.composite
def specs(draw: st.DrawFn) -> ColumnSpec:
    """A column as written."""
    column_type = draw(NARROW)
    default = draw(constants(column_type))
    nullable = default is None or draw(st.booleans())
    return ColumnSpec(draw(NAMES), column_type, nullable, default is not None, default)


@st.composite
def column_alterations(draw: st.DrawFn, column: Column) -> AlterColumn:
    """ALTER COLUMN with any mix of type, nullability and default."""
    column_type = draw(st.one_of(st.none(), NARROW))
    sets_default = draw(st.integers(0, 3)) == 0
    default = draw(constants(column_type or column.type)) if sets_default else None
    nullable = draw(st.sampled_from([None, True, False]))
    return AlterColumn(column.name, column_type, nullable, sets_default, default)


@st.composite
def actions(draw: st.DrawFn, table: Table, what: str) -> Action:
    """One action of an ALTER TABLE upon what the table has."""
    column = draw(st.sampled_from(table.columns))
    match what:
        case "alter column":
            return draw(column_alterations(column))
        case "drop column":
            return DropColumn(column.name)
        case "rename column":
            return RenameColumn(column.name, draw(NAMES))
        case "add constraint":
            name = draw(st.sampled_from(["k", "l"]))
            return AddConstraint(ConstraintSpec(name, "check", "CHECK (1 > 0)"))
        case "drop constraint" if table.constraints:
            return DropConstraint(draw(st.sampled_from(table.constraints)).name)
        case _:
            return AddColumn(draw(specs()))


@st.composite
def statements(draw: st.DrawFn, snapshot: Snapshot) -> Statement:
    """Any statement upon what there is; some of them will be refused."""
    what = draw(WORTH)
    tables = snapshot.tables()
    if what == "create table" or not tables:
        made = draw(st.lists(specs(), max_size=3, unique_by=lambda spec: spec.name))
        return CreateTable(draw(st.sampled_from(["t", "u", "v"])), (KEY, *made), ("id",))
    table = draw(st.sampled_from(tables))
    match what:
        case "drop table":
            return DropTable(table.name)
        case "rename table":
            return RenameTable(table.name, draw(st.sampled_from(["t", "u", "v"])))
        case "create index":
            columns = (draw(st.sampled_from(table.columns)).name,)
            return CreateIndex(
                draw(st.sampled_from("ij")), table.name, columns, draw(st.booleans())
            )
        case "drop index":
            return DropIndex(draw(st.sampled_from("ij")))
        case "create view":
            return CreateView("w", "SELECT 1", (table.name,))
        case "drop view":
            return DropView("w")
        case "several":
            kinds = draw(st.lists(WORTH, min_size=2, max_size=3))
            return AlterTable(table.name, tuple(draw(actions(table, kind)) for kind in kinds))
        case _:
            return AlterTable(table.name, (draw(actions(table, what)),))


START = CreateTable(
    "t",
    (
        KEY,
        ColumnSpec("a", ColumnType("INTEGER"), has_default=True, default=5),
        ColumnSpec("b", ColumnType("VARCHAR", length=4), nullable=False),
    ),
    ("id",),
)


@st.composite
def migrations(draw: st.DrawFn, size: int = 12) -> list[Built]:
    """What is carried out of a random sequence of statements that begins with a table."""
    snapshot, outcome = grown(Snapshot(), START)
    assert isinstance(outcome, Built)
    built = [outcome]
    for _ in range(draw(st.integers(size // 3, size))):
        snapshot, outcome = grown(snapshot, draw(statements(snapshot)))
        if isinstance(outcome, Built):
            built.append(outcome)
    return built
