"""Hypothesis strategies for types, columns, statements, simple changes, and whole migrations."""

from hypothesis import strategies as st

from sim.model.ddl import (
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
from sim.model.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    TEMPORAL_TYPES,
    Column,
    ColumnType,
    Constraint,
    Index,
    Value,
)
from sim.protocol.catalog import Snapshot
from sim.protocol.ddl import Built
from tests.schemas import grown

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


def constants(column_type: ColumnType) -> st.SearchStrategy[Value]:
    """Constants that a column of a type holds, None among them."""
    name = column_type.name
    if name in INTEGER_TYPES:
        return st.one_of(st.none(), st.integers(0, 5))
    if name in FLOAT_TYPES:
        return st.one_of(st.none(), st.sampled_from([0.5, 2.0]))
    if name == "BOOLEAN":
        return st.one_of(st.none(), st.booleans())
    if name == "DECIMAL":
        return st.none()
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
    after_type = draw(st.one_of(st.just(before.type), column_types()))
    default = draw(st.one_of(st.just(before.default), constants(after_type)))
    nullable = draw(st.booleans())
    kept = before.initial_default
    after = Column(before.id, before.name, after_type, nullable, default, kept)
    if after == before and type(default) is type(before.default):
        after = Column(before.id, before.name, after_type, not nullable, default, kept)
    return ColumnAltered(before, after)


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
        st.builds(ColumnAdded, columns()),
        st.builds(ColumnDropped, columns()),
        st.just(ColumnRenamed(1, "a", "b")),
        st.builds(ConstraintAdded, CONSTRAINTS),
        st.builds(ConstraintDropped, CONSTRAINTS),
        st.builds(IndexCreated, INDEXES),
        st.builds(IndexDropped, INDEXES),
        st.sampled_from([ObjectCreated(), ObjectDropped(), ObjectRenamed("a", "b"), ZoneAltered()]),
    )


# --- statements ----------------------------------------------------------------------------------

TABLES = st.sampled_from(["t", "t", "t", "u"])
COLUMNS = st.sampled_from(["a", "b", "c", "d"])
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
    ]
)


@st.composite
def specs(draw: st.DrawFn) -> ColumnSpec:
    """A column as written."""
    column_type = draw(NARROW)
    default = draw(constants(column_type))
    return ColumnSpec(draw(COLUMNS), column_type, draw(st.booleans()), default is not None, default)


@st.composite
def column_alterations(draw: st.DrawFn) -> AlterColumn:
    """ALTER COLUMN with any mix of type, nullability and default."""
    column_type = draw(st.one_of(st.none(), NARROW))
    sets_default = draw(st.booleans())
    default = draw(constants(column_type or ColumnType("INTEGER"))) if sets_default else None
    nullable = draw(st.sampled_from([None, True, False]))
    return AlterColumn(draw(COLUMNS), column_type, nullable, sets_default, default)


def actions() -> st.SearchStrategy[Action]:
    """One action of an ALTER TABLE."""
    names = st.sampled_from(["c1", "c2"])
    return st.one_of(
        st.builds(AddColumn, specs()),
        st.builds(DropColumn, COLUMNS),
        st.builds(RenameColumn, COLUMNS, COLUMNS),
        column_alterations(),
        st.builds(
            AddConstraint, st.builds(ConstraintSpec, names, st.just("check"), st.just("CHECK (1)"))
        ),
        st.builds(DropConstraint, names),
    )


def statements() -> st.SearchStrategy[Statement]:
    """Any statement on few names, so that they meet; many of them will be refused."""
    key = ColumnSpec("id", ColumnType("INTEGER"))
    made = st.lists(specs(), max_size=3, unique_by=lambda spec: spec.name)
    return st.one_of(
        st.builds(CreateTable, TABLES, made.map(lambda found: (key, *found)), key=st.just(("id",))),
        st.builds(DropTable, TABLES),
        st.builds(RenameTable, TABLES, TABLES),
        st.builds(AlterTable, TABLES, st.lists(actions(), min_size=1, max_size=3).map(tuple)),
        st.builds(AlterTable, TABLES, actions().map(lambda action: (action,))),
        st.builds(AlterTable, TABLES, actions().map(lambda action: (action,))),
        st.builds(CreateIndex, st.sampled_from("ij"), TABLES, COLUMNS.map(lambda name: (name,))),
        st.builds(DropIndex, st.sampled_from("ij")),
        st.builds(CreateView, st.just("w"), st.just("SELECT"), TABLES.map(lambda name: (name,))),
        st.builds(DropView, st.just("w")),
    )


START = CreateTable(
    "t",
    (
        ColumnSpec("id", ColumnType("INTEGER")),
        ColumnSpec("a", ColumnType("INTEGER"), has_default=True, default=5),
        ColumnSpec("b", ColumnType("VARCHAR", length=4)),
    ),
    ("id",),
)


@st.composite
def migrations(draw: st.DrawFn, size: int = 14) -> list[Built]:
    """What is carried out of a random sequence of statements that begins with a table."""
    snapshot, built = Snapshot(), []
    for asked in [START, *draw(st.lists(statements(), max_size=size))]:
        snapshot, outcome = grown(snapshot, asked)
        if isinstance(outcome, Built):
            built.append(outcome)
    return built
