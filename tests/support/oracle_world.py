"""What the oracle is compared on: tables as states, and a small universe of changes."""

from collections.abc import Iterator
from itertools import product

from ddlsim.checkers.spec.spec import Ruling, rulings
from ddlsim.checkers.spec.tuples import NOTHING, Access, State
from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    IndexCreated,
    IndexDropped,
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    SimpleChange,
    ZoneAltered,
)
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.schema import (
    FLOAT_TYPES,
    INTEGER_TYPES,
    TEMPORAL_TYPES,
    Column,
    ColumnType,
    Constraint,
    Index,
    SchemaObject,
    Table,
    Value,
    Zone,
)
from ddlsim.protocol.schema.compatibility import IEP, Rule, RuleVerdict, judge

Asked = tuple[SimpleChange, str]
"""A simple change and the kind of its object."""

TYPES: tuple[ColumnType, ...] = (
    *(ColumnType(name) for name in (*INTEGER_TYPES, *FLOAT_TYPES, "BOOLEAN", "DATE", "UUID")),
    *(ColumnType(name, precision=digits) for name in TEMPORAL_TYPES for digits in (0, 3)),
    *(ColumnType("DECIMAL", precision=p, scale=s) for p, s in ((5, 2), (6, 2), (7, 3), (2, 2))),
    *(ColumnType("VARBINARY", length=length) for length in (3, 4)),
)
TEXTS = (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 18, 19, 20, 22, 23, 24, 35, 36, 99)
ROOMS = tuple(ColumnType("VARCHAR", length=length) for length in TEXTS)
"""VARCHARs just as long as the texts of the types above, and a character shorter."""
DEFAULTS: dict[str, tuple[Value, ...]] = {
    "INTEGER": (None, 0, 5),
    "BIGINT": (None, 0, 5),
    "BOOLEAN": (None, True),
    "VARCHAR": (None, "5"),
}
REQUIREMENTS = {
    "110.table.drop": "110.fwd.1",
    "110.table.rename": "110.fwd.3",
    "110.view": None,
    "110.column.add": "110.fwd.1",
    "110.column.drop": "110.fwd.2",
    "110.column.nullable": "110.fwd.1",
    "110.column.default": "110.fwd.3",
    "110.column.type": "110.fwd.1",
    "110.ours.constraint.add": "110.fwd.1",
    "110.ours.index.unique": "110.fwd.1",
    "110.later.3": "110.fwd.3",
}
"""Which requirement a change breaks; of two of them the document says it in as many words."""


def small_changes() -> Iterator[Asked]:
    """Every simple change of a small universe: all kinds, all pairs of types, all mixes."""
    index, unique = Index(7, "i", (1,)), Index(7, "i", (1, 2), unique=True)
    check = Constraint(8, "k", "check", "v > 0")
    objects = (ObjectCreated(), ObjectDropped(), ObjectRenamed("a", "b"))
    yield from product((*objects, ZoneAltered()), ("table",))
    yield from product(objects, ("view", "zone"))
    yield from product((ObjectAliased("a", "b", 9),), ("table", "view"))
    yield from product((ObjectCreated(), ObjectDropped()), ("alias",))
    for one in (
        IndexCreated(index),
        IndexCreated(unique),
        IndexDropped(index),
        IndexDropped(unique),
    ):
        yield one, "table"
    yield from ((ConstraintAdded(check), "table"), (ConstraintDropped(check), "table"))
    yield ColumnRenamed(1, "a", "b"), "table"
    for name, nullable in product(DEFAULTS, (True, False)):
        for default in DEFAULTS[name]:
            column = Column(1, "v", sized(name), nullable, default, default)
            yield from ((ColumnAdded(column), "table"), (ColumnDropped(column), "table"))
        mandatory = Column(1, "v", sized(name), nullable=False)
        yield from ((ColumnPending(mandatory), "table"), (ColumnConfirmed(mandatory), "table"))
    for before, after in product(TYPES, (*TYPES, *ROOMS)):
        if before != after:
            yield ColumnAltered(Column(1, "v", before), Column(1, "v", after)), "table"
    yield from ((change, "table") for change in mixed_changes())


def sized(name: str) -> ColumnType:
    """A type by its name, with a length if it needs one."""
    return ColumnType(name, length=20 if name == "VARCHAR" else None)


def mixed_changes() -> Iterator[ColumnAltered]:
    """Type, nullability and default together, in every way [110.mixed]."""
    columns = [
        Column(1, "v", sized(name), nullable, default)
        for name, nullable in product(DEFAULTS, (True, False))
        for default in DEFAULTS[name]
    ]
    for before, after in product(columns, columns):
        if before != after:
            yield ColumnAltered(before, after)


def differences(changes: list[Asked], rules: tuple[Rule, ...] = IEP) -> Iterator[str]:
    """Where the rule table and the oracle disagree: in a verdict, a clause, or a requirement."""
    for change, kind in changes:
        told = [(one.clause, one.compatible) for one in verdicts(change, kind, rules)]
        tried = rulings(change, kind)
        if told != [(one.clause, one.compatible) for one in tried] or wrongly_explained(tried):
            yield f"{change} of a {kind}: rules {told}, oracle {tried}"


def verdicts(change: SimpleChange, kind: str, rules: tuple[Rule, ...]) -> tuple[RuleVerdict, ...]:
    """What the table says; nothing where no rule matches."""
    try:
        return judge(change, kind, rules)
    except AssertionError:
        return ()


def wrongly_explained(tried: list[Ruling]) -> bool:
    """Whether a "no" is for another requirement than the document's."""
    return any(
        not one.compatible and REQUIREMENTS[one.clause] not in {None, one.requirement}
        for one in tried
    )


def state_of(definition: SchemaObject | None, older: SchemaObject | None = None) -> State:
    """An object of a catalog; an index that `older` does not have is not built yet."""
    if definition is None:
        return NOTHING
    if not isinstance(definition, Table):
        return State(definition.name, has_tuples=not isinstance(definition, Zone))
    known = older if isinstance(older, Table) else definition
    built = {index.id for index in known.indexes}
    return State(
        definition.name,
        definition.columns,
        definition.key,
        tuple(constraint.id for constraint in definition.constraints),
        tuple(
            Access(index.id, index.columns, index.unique, index.id in built)
            for index in definition.indexes
        ),
    )
