"""What operations do to a schema's tuples: the ground on which the judges' oracle stands.

A *state* is one top-level object as an operation meets it: its name, its columns, and what is
forbidden. An operation names its object by name, and columns by their ids [110.compat.id]: a row
that a client encodes holds no names. It gives values of the types that the client knows, and may
leave columns out, which then take their defaults. Zones have no tuples, and no operation names one.

A constraint is opaque: its SQL is not read here, so some tuple breaks it and some other does not. A
reader finds a tuple through an index that is built only if its writer knew of the index.
"""

from typing import NamedTuple

from ddlsim.checkers.spec.types import Datum, holds, read, size, upgraded_datum
from ddlsim.model.schema import Column, ColumnType


class Access(NamedTuple):
    """An index; one that is only registered is written to and not read yet."""

    id: int
    columns: tuple[int, ...]
    unique: bool = False
    built: bool = True


class State(NamedTuple):
    """One object under one schema; without a name it does not exist.

    `aliases` are names that it had before and that still mean it.
    """

    name: str | None
    columns: tuple[Column, ...] = ()
    key: tuple[int, ...] = ()
    constraints: tuple[int, ...] = ()
    accesses: tuple[Access, ...] = ()
    has_tuples: bool = True
    aliases: tuple[str, ...] = ()


NOTHING = State(None)
"""The state of an object before it is created and after it is dropped."""


class ClientValue(NamedTuple):
    """A value as the client gives it: of the type that it knows the column by; None is NULL."""

    datum: Datum | None
    type: ColumnType


class Operation(NamedTuple):
    """One write: whereto, what is given by column id, and which constraints its row breaks."""

    name: str
    values: dict[int, ClientValue]
    breaks: frozenset[int] = frozenset()


class Row(NamedTuple):
    """A tuple: its cells by column id, what it breaks, and the indexes that it was entered in."""

    cells: dict[int, Datum | None]
    breaks: frozenset[int]
    entries: frozenset[int]


def executed(state: State, operation: Operation) -> Row | None:
    """The tuple that an operation leaves under a schema; None where the schema refuses it."""
    if operation.name not in (state.name, *state.aliases):
        return None
    columns = {column.id: column for column in state.columns}
    if operation.values.keys() - columns.keys():
        return None
    cells: dict[int, Datum | None] = {}
    for column in state.columns:
        given = operation.values.get(column.id)
        if given is None:
            cells[column.id] = read(column.default, column.type)
        elif given.datum is None:
            cells[column.id] = None
        else:
            cells[column.id] = upgraded_datum(given.datum, given.type, column.type)
    entries = frozenset(access.id for access in state.accesses)
    row = Row(cells, operation.breaks, entries)
    return None if forbidden(state, row) else row


def upgraded_row(row: Row, source: State, target: State) -> Row:
    """A tuple of one schema under another; a column that it lacks shows what it was added with."""
    types = {column.id: column.type for column in source.columns}
    cells: dict[int, Datum | None] = {}
    for column in target.columns:
        if column.id not in row.cells:
            cells[column.id] = read(column.initial_default, column.type)
            continue
        datum = row.cells[column.id]
        cells[column.id] = datum and upgraded_datum(datum, types[column.id], column.type)
    return row._replace(cells=cells)


def forbidden(state: State, row: Row) -> str | None:
    """Why a tuple must not exist under a schema; None if it may."""
    if state.name is None:
        return "it does not exist in the commit schema"
    for column in state.columns:
        datum = row.cells[column.id]
        if datum is None:
            if not column.nullable:
                return f"{column.name} is NOT NULL, and an old tuple may have no value there"
        elif not holds(column.type, datum):
            return f"{column.name} may hold {shown(datum)}, which is no {column.type}"
    if row.breaks.intersection(state.constraints):
        return "an old tuple may break the new constraint"
    return None


def clash(state: State, one: Row, other: Row) -> bool:
    """Whether two tuples agree in what must be unique: the key, or a unique index."""
    unique = [access.columns for access in state.accesses if access.unique]
    return any(
        columns
        and all(
            one.cells[id_] is not None and one.cells[id_] == other.cells[id_] for id_ in columns
        )
        for columns in (state.key, *unique)
    )


def found_by(state: State, row: Row) -> frozenset[int]:
    """The indexes through which a reader finds a tuple."""
    return frozenset(one.id for one in state.accesses if one.built) & row.entries


def shown(datum: Datum | None) -> str:
    """A value for people, cut short."""
    if datum is None:
        return "NULL"
    if isinstance(datum.content, str) and len(datum.content) <= 40:
        return repr(datum.content) if datum.kind == "text" else datum.content
    if isinstance(datum.content, int | float):
        return str(datum.content)
    return f"a value of {size(datum.content)} characters"
