"""Statements with which the model of DDL is compared beside those of a run (`statements`).

A run has some twenty statements; what a catalog decides by types, defaults and names has hundreds
of cases. So at each statement a few more are built, on a catalog of tables with columns of every
type, and compared; nothing else sees them. Which ones follows from a number, so that runs of
different worlds have different ones.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from ddlsim.checkers.case.rows import differences
from ddlsim.checkers.spec.types import domain, size
from ddlsim.cluster.models.schema.constants import is_held
from ddlsim.kernel.rng import mix, name_id
from ddlsim.model.ddl import (
    Action,
    AddColumn,
    AddConstraint,
    AlterColumn,
    AlterTable,
    AlterZone,
    ColumnSpec,
    ConstraintSpec,
    CreateIndex,
    CreateTable,
    CreateView,
    CreateZone,
    DropColumn,
    DropConstraint,
    DropIndex,
    DropTable,
    DropView,
    DropZone,
    ObjectChange,
    ObjectCreated,
    Reference,
    RenameColumn,
    RenameTable,
    RenameView,
    RenameZone,
    Statement,
)
from ddlsim.model.schema import (
    DEFAULT_DECIMAL_PRECISION,
    DEFAULT_LENGTH,
    FLOAT_TYPES,
    INTEGER_TYPES,
    Column,
    ColumnType,
    Comparison,
    Condition,
    Constraint,
    Index,
    IsNull,
    Junction,
    Table,
    Value,
    View,
    Zone,
)
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.rows import upgrade
from ddlsim.units import Timestamp

One = TypeVar("One")

FIRST: Final = 12
"""How many statements of a run are followed by others here."""
COUNT: Final = 10
"""How many follow each of them."""
RETYPED: Final = 24
"""How many changes of types follow the first one."""
INTEGER: Final = ColumnType("INTEGER")


class Family(NamedTuple):
    """Types that are alike, and constants at their edges, or that mean the same in other letters.

    The first constants are defaults of columns, where they are values of the column's type.
    """

    types: tuple[ColumnType, ...]
    constants: tuple[Value, ...]


def _precise(name: str, *precisions: int | None) -> tuple[ColumnType, ...]:
    return tuple(ColumnType(name, None, one) for one in precisions)


NUMBERS: Final = (5, 0, True, 127, 128, -129, 32768, 1 << 31, -(1 << 63), 0.5, "1", None)
POINTS: Final = (
    *("2000-02-29 01:02:03.12", "2000-02-29 01:02:03", "2000-02-29 01:02:03.120"),
    *("2000-02-29 01:02:03.124", "2000-02-29", "2001-02-29 01:02:03", "2000-02-29 24:00:00"),
    *("2000-02-29T01:02:03Z", "1900-02-29", "2000-02-29 01:02:03Z", "01:02:03", 5),
)
FAMILIES: Final = (
    Family(tuple(map(ColumnType, INTEGER_TYPES)), NUMBERS),
    Family(tuple(map(ColumnType, FLOAT_TYPES)), (0.5, 5, 1e39, True, "0.5", 1e-3)),
    Family(
        (
            ColumnType("DECIMAL"),
            ColumnType("DECIMAL", None, DEFAULT_DECIMAL_PRECISION, 0),
            *(
                ColumnType("DECIMAL", None, *one)
                for one in ((2, 2), (4, 2), (5, 2), (5, 1), (3, 0))
            ),
        ),
        ("0.5", 0.5, 1, "99.99", 100, "1.255", "0.50", "no", True, 0, "NaN"),
    ),
    Family(
        tuple(ColumnType("VARCHAR", one) for one in (None, DEFAULT_LENGTH, 2, 3, 5, 20)),
        ("k5", "K5", 5, "5", True, "", "k55", "abcdef", 0.5, None),
    ),
    Family(
        tuple(ColumnType("VARBINARY", one) for one in (None, DEFAULT_LENGTH, 2, 3)),
        ("abcd", "ABCD", "abcdef", "abcdef01", 5),
    ),
    Family((ColumnType("BOOLEAN"),), (True, False, 0, "true", 1)),
    Family(
        (ColumnType("DATE"),),
        (
            *("2000-02-29", "2001-02-29", "1900-02-29", "2000-13-01", "2000-12-31", "2000-04-31"),
            *("2000-01-00", "2000-00-01", "0000-01-01", "2000-12-32", "no", "2000-02-30", 5),
        ),
    ),
    Family(
        _precise("TIME", None, 0, 2, 3),
        (
            *("01:02:03", "01:02:03.5", "01:02:03.50", "24:00:00", "00:60:00", "00:00:60"),
            *("23:59:59", "01:02:03.", "no", 5),
        ),
    ),
    Family(_precise("TIMESTAMP", None, 0, 3, 7), POINTS),
    Family(_precise("TIMESTAMP WITH LOCAL TIME ZONE", None, 0, 2, 6), POINTS),
    Family(
        (ColumnType("UUID"),),
        (
            *("00000000-0000-0000-0000-00000000000a", "00000000-0000-0000-0000-00000000000A"),
            *("00000000-0000-0000-0000-00000000000g", "no", 5),
        ),
    ),
)
RELATIONS: Final = ("t", "t", "t", "t", "u", "s", "w", "x", "never")
ZONES: Final = ("z", "y", "x", "e", "default", "never")
INDEXES: Final = ("i", "j", "never")
CONSTRAINTS: Final = ("k", "l", "never")
EXTRA: Final = ("never", "other", "id", "n")


class _Catalog(NamedTuple):
    snapshot: Snapshot
    names: tuple[tuple[str, ...], ...]


def catalog() -> Snapshot:
    """Tables, views and zones; table `t` has a column of every type."""
    return _catalog().snapshot


@cache
def _catalog() -> _Catalog:
    """The same, and the names of the columns of `t` by the family of their type."""
    columns = [Column(1, "id", INTEGER, nullable=False), Column(2, "n", INTEGER, nullable=False)]
    names = []
    for family in FAMILIES:
        first = len(columns) + 1
        for number, type_ in enumerate(family.types, first):
            given = family.constants[0] if number % 3 else None
            default = given if is_held(given, type_, constant=True) else None
            nullable = default is None or number % 2 == 0
            columns.append(Column(number, f"c{number}", type_, nullable, default, default))
        names.append(tuple(f"c{number}" for number in range(first, len(columns) + 1)))
    key = (Column(1, "id", INTEGER, nullable=False), Column(2, "v", INTEGER))
    bound = Constraint(12, "k", "check", "c3 > 0", (3,), Comparison(0, ">", 0))
    single = Constraint(13, "l", "unique", "UNIQUE (c5, c4)", (5, 4))
    objects = (
        Zone(1, "z", 3, 2, 1, first_name="x"),
        Zone(2, "y", 2, 4, 3, is_default=True),
        Zone(3, "e", 1, 1, 1),
        Table(
            *(4, "t", 7, tuple(columns), (1, 2), "x"),
            indexes=(Index(10, "i", (4, 6)), Index(11, "j", (7,), unique=True)),
            constraints=(bound, single),
            next_column_id=len(columns) + 2,
        ),
        Table(5, "u", 1, key, (1,), "default", next_column_id=3),
        Table(6, "s", 1, key, (1,), "default", next_column_id=3),
        View(7, "w", 2, "SELECT * FROM u", (5,)),
        View(8, "x", 1, "SELECT * FROM w", (7,)),
    )
    kinds = {Table: "table", View: "view", Zone: "zone"}
    changes = (
        ObjectChange(one.id, kinds[type(one)], one.name, 1, one, (ObjectCreated(),))
        for one in objects
    )
    start = Timestamp(1)
    return _Catalog(Snapshot().after(1, start, start, tuple(changes)), tuple(names))


def beside(statement: Statement, activation_ts: int, number: int) -> Iterator[Statement]:
    """What is built beside a run's statement of this number, where Tu of its catalog is this."""
    if number <= FIRST:
        first = name_id(repr(statement)) ^ activation_ts ^ number
        for one in range(COUNT):
            yield Sample(mix(first, one)).statement()
        for one in range(RETYPED if number == 1 else 0):
            yield Sample(mix(first, COUNT + one)).retyped()


def misread(step: ObjectChange) -> list[str]:
    """What rows show wrongly behind a step, by the judges' upgrade.

    One has the defaults of all columns, one has NULL wherever it may, and one was written when the
    table had only its first two.
    """
    before, after = catalog().by_id(step.object_id), step.definition
    if not isinstance(before, Table) or not isinstance(after, Table):
        return []
    found: list[str] = []
    first = replace(before, columns=before.columns[:2], version=before.version - 1)
    for source, nulls in ((before, False), (before, True), (first, False)):
        row = tuple(
            (one.id, None if nulls and one.nullable else one.default) for one in source.columns
        )
        found += differences(row, source, upgrade(row, source, after), after)
    return found


class Sample:
    """A statement on `catalog()`, the one of a number."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._drawn = 0

    def _below(self, bound: int) -> int:
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def _one(self, of: Sequence[One]) -> One:
        return of[self._below(len(of))]

    def _some(self, of: Sequence[One], most: int) -> tuple[One, ...]:
        return tuple(self._one(of) for _ in range(1 + self._below(most)))

    def statement(self) -> Statement:
        """The statement: half of them ALTER TABLE, a sixth CREATE TABLE."""
        name, new, excused = self._one(RELATIONS), self._one(RELATIONS), self._below(3) == 0
        match self._below(24):
            case 0 | 1 | 2 | 3:
                return self._create(new, excused=excused)
            case 4:
                return DropTable(name, excused)
            case 5:
                return RenameTable(name, new, excused)
            case 6:
                return CreateView(new, "SELECT 1", self._some(RELATIONS, 2), excused)
            case 7:
                other = self._below(2) == 0
                return DropView(name, excused) if other else RenameView(name, new, excused)
            case 8 | 9:
                columns, unique = self._some(self._columns(), 2), self._below(2) == 0
                return CreateIndex(self._one(INDEXES), name, columns, unique, excused)
            case 10:
                return DropIndex(self._one(INDEXES), excused)
            case 11 | 12 | 13:
                return self._zone(excused=excused)
            case _:
                name = "t" if self._below(8) else name
                return AlterTable(name, self._actions(), excused)

    def retyped(self) -> Statement:
        """A change of a column's type to one that is like it, to text as long as its, or any."""
        at = self._below(len(FAMILIES))
        family = FAMILIES[at]
        place = self._below(len(family.types))
        to = self._type(family, family.types[place : place + 1])
        return AlterTable("t", (AlterColumn(_catalog().names[at][place], to),))

    def _zone(self, *, excused: bool) -> Statement:
        name, few = self._one(ZONES), (None, 1, 2, 3)
        partitions, replicas = self._one(few), self._one(few)
        kinds: tuple[Statement, ...] = (
            CreateZone(name, partitions, replicas, excused),
            AlterZone(name, partitions, replicas, excused),
            AlterZone(name, None, None, excused, default=True),
            RenameZone(name, self._one(ZONES), excused),
            DropZone(name, excused),
        )
        return self._one(kinds)

    def _create(self, name: str, *, excused: bool) -> CreateTable:
        names = ("a", "b", "c", "d")[: 2 + self._below(3)]
        family = self._one(FAMILIES)
        specs = [ColumnSpec(one, self._one(family.types)) for one in names[1:]]
        specs.append(self._column(names[0]))
        if self._below(8) == 0:
            specs.append(self._column(self._one(names)))
        key = self._some((*names, *names, "never"), 2) if self._below(4) else ()
        count = (0, 0, 1, 2)[self._below(4)]
        constraints = tuple(self._constraint(names) for _ in range(count))
        zone = self._one((None, None, *ZONES))
        return CreateTable(name, tuple(specs), key, constraints, zone, excused)

    def _columns(self) -> tuple[str, ...]:
        """Names of columns of `t`, and a few that are of its key, or of no table."""
        names = _catalog().names
        columns = (self._one(self._one(names)) for _ in range(3))
        return (*columns, self._one(names[0]), self._one(EXTRA))

    def _type(self, near: Family, of: tuple[ColumnType, ...] = ()) -> ColumnType:
        """A type: of a family, text of about the length that these take, or any.

        These are the types `of`, or else those of the family.
        """
        kind = self._below(4)
        if kind < 2:
            return self._one(near.types)
        if kind == 2:
            text = domain(self._one(of or near.types))
            longest = max(size(text.text(edge)) for edge in text.edges)
            return ColumnType("VARCHAR", max(1, longest - self._below(2)))
        return self._one(self._one(FAMILIES).types)

    def _column(self, name: str) -> ColumnSpec:
        family = self._one(FAMILIES)
        type_, nullable = self._one(family.types), self._below(3) > 0
        if self._below(2) == 0:
            return ColumnSpec(name, type_, nullable)
        computed = "rand_uuid" if self._below(6) == 0 else ""
        given = None if computed else self._one(family.constants)
        return ColumnSpec(name, type_, nullable, has_default=True, default=given, computed=computed)

    def _constraint(self, names: Sequence[str]) -> ConstraintSpec:
        name = self._one(("", *CONSTRAINTS))
        columns = self._some(names, 2)
        if self._below(2):
            return ConstraintSpec(name, "unique", f"UNIQUE ({', '.join(columns)})", columns)
        parts = tuple(self._compared(place) for place, _ in enumerate(columns))
        whole = parts[0] if len(parts) == 1 else Junction(self._one(("and", "or")), parts)
        if self._below(6):
            return ConstraintSpec(name, "check", f"{whole}", columns, whole)
        if self._below(2):
            return ConstraintSpec(name, "check", "other", reads=columns)
        to = Reference(
            self._one(("t", *RELATIONS)), self._some((*names, "id"), 2)[self._below(2) :]
        )
        return ConstraintSpec(name, "foreign", f"{to}", reads=columns, references=to)

    def _compared(self, place: int) -> Condition:
        if self._below(4) == 0:
            return IsNull(place, self._below(2) == 0)
        constants: tuple[Value, ...] = (0, 1.5, "k5", "1", True)
        return Comparison(place, self._one(("=", "<", ">=")), self._one(constants))

    def _actions(self) -> tuple[Action, ...]:
        """One action or two; half of the second ones concern the column of the first."""
        first = self._action()
        if self._below(3) < 2:
            return (first,)
        if self._below(2) or isinstance(first, AddConstraint | DropConstraint):
            return (first, self._action())
        if isinstance(first, AddColumn):
            near = next(one for one in FAMILIES if first.column.type in one.types)
            return (first, self._of_column(first.column.name, near))
        name = first.new_name if isinstance(first, RenameColumn) else first.name
        return (first, self._of_column(name, self._one(FAMILIES)))

    def _of_column(self, name: str, near: Family) -> Action:
        """An action on a column of this name, which has a type of this family or had it."""
        match self._below(6):
            case 0:
                return AddColumn(self._column(name))
            case 1:
                return DropColumn(name)
            case 2:
                return RenameColumn(name, "never")
            case _:
                return self._altered(name, near)

    def _action(self) -> Action:
        name, excused = self._one(self._columns()), self._below(4) == 0
        match self._below(15):
            case 0 | 1:
                added = self._one((name, "never", "other"))
                return AddColumn(self._column(added), excused)
            case 2:
                return DropColumn(name, excused)
            case 3:
                return RenameColumn(name, self._one(self._columns()))
            case 4 | 5:
                return AddConstraint(self._constraint(self._columns()))
            case 6:
                return DropConstraint(self._one(CONSTRAINTS), excused)
            case _:
                return self._alter()

    def _alter(self) -> AlterColumn:
        """A change of a column, most of them of its type."""
        at = self._below(len(FAMILIES))
        family, name = FAMILIES[at], self._one(_catalog().names[at])
        return self._altered(name if self._below(12) else self._one(EXTRA), family)

    def _altered(self, name: str, family: Family) -> AlterColumn:
        match self._below(8):
            case 0:
                return AlterColumn(name, nullable=self._below(2) == 0)
            case 1 | 2:
                return AlterColumn(name, sets_default=True, default=self._one(family.constants))
            case 3:
                return AlterColumn(name, sets_default=True, computed="rand_uuid")
            case 4 | 5:
                return AlterColumn(
                    name,
                    self._type(family),
                    self._one((None, True, False)),
                    sets_default=True,
                    default=self._one(family.constants),
                )
            case _:
                return AlterColumn(name, self._type(family), self._one((None, None, True)))
