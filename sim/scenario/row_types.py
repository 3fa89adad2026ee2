"""Checks keys and values of steps against the tables that they name.

A name may mean several tables during a run, and a column may have several types: what fits any
statement of the scenario is accepted, what fits none is an error with its line.
"""

from collections.abc import Iterable, Mapping

from ddlsim.model.ddl import (
    AddColumn,
    AlterColumn,
    AlterTable,
    ColumnSpec,
    CreateTable,
    CreateView,
    RenameColumn,
    RenameTable,
    RenameView,
    Statement,
)
from ddlsim.model.ops import Key
from ddlsim.model.schema import ColumnType, Value
from ddlsim.protocol.schema.alter_table import IMPLICIT_KEY, with_key
from ddlsim.protocol.schema.column_types import convertible, holds
from ddlsim.scenario.problems import near

Types = dict[str, dict[ColumnType, None]]
"""The types that columns of a name have had, in order."""


class RowTypes:
    """Keys and columns that the statements of a scenario declare, by the names of tables."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        self._columns: dict[str, Types] = {}
        self._keys: dict[str, dict[tuple[tuple[str, ColumnType], ...], None]] = {}
        ordered = list(statements)
        self._views = {one.name for one in ordered if isinstance(one, CreateView)}
        self._views |= {one.new_name for one in ordered if isinstance(one, RenameView)}
        for statement in ordered:
            self._declare(statement)
        self._made = {
            table: {name: dict(types) for name, types in columns.items()}
            for table, columns in self._columns.items()
        }
        for _ in ordered:  # a chain of renames is at most this long
            for statement in ordered:
                self._change(statement)

    def wrong_key(self, table: str, key: Key) -> str | None:
        """Why no table of this name can have this key; None if one can."""
        keys = list(self._keys.get(table, ()))
        parts = key if isinstance(key, tuple) else (key,)
        if not keys or any(_is_key(parts, columns) for columns in keys):
            return None
        written = ", ".join(f"{name} {type_}" for name, type_ in keys[0])
        if len(keys[0]) > 1:
            return f"{shown(key)} is not a key of {table}; give [{written}]"
        return f"{shown(key)} is not a key of {table}, which is {written}"

    def key_of(
        self, table: str, named: Mapping[str, Value], *, whole: bool
    ) -> tuple[str, ...] | None:
        """The columns of a key of a table that are all named; `whole`: and no others are."""
        for columns in self._keys.get(table, ()):
            names = tuple(name for name, _ in columns)
            if all(name in named for name in names) and (not whole or len(named) == len(names)):
                return names
        return None

    def key_names(self, table: str, count: int) -> tuple[str, ...]:
        """The columns of a key of so many parts; numbered names where no statement declares it."""
        for columns in self._keys.get(table, ()):
            if len(columns) == count:
                return tuple(name for name, _ in columns)
        return tuple(f"key{number}" for number in range(1, count + 1))

    def keys_in_words(self, table: str) -> str:
        """The keys of tables of this name, as messages show them."""
        return " or ".join(
            ", ".join(f"{name} {type_}" for name, type_ in columns)
            for columns in self._keys.get(table, ())
        )

    def wrong_value(self, table: str, column: str, value: Value) -> str | None:
        """Why no column of this name can have this value; None if one can."""
        types = list(self._columns.get(table, {}).get(column, ()))
        if value is None or not types or any(holds(one, value) for one in types):
            return None
        return f"{shown(value)} is not a value of {column} {' or '.join(map(str, types))}"

    def not_of_key(self, table: str, key: Key, column: str, value: Value) -> str | None:
        """Why no row of a table of this name with this key has this value; None if one can.

        Only where the column is one of the key, whichever of the table's keys it is.
        """
        parts = key if isinstance(key, tuple) else (key,)
        keys = [dict(one) for one in self._keys.get(table, ()) if _is_key(parts, one)]
        if not keys or not all(column in one for one in keys):
            return None
        said = dict.fromkeys(parts[[*one].index(column)] for one in keys)
        if value in said:
            return None
        whole = f"the key {shown(key)} says {column} = {' or '.join(map(shown, said))}"
        return f"{whole}, not {shown(value)}; leave {column} out"

    def lacks(self, table: str, column: str, meant: str = "") -> str | None:
        """Why no version of a table of this name has this column; None if one has.

        And None for a name that a view has, too, or that no statement gives columns. `meant` says
        what to do if that is meant.
        """
        known = self._columns.get(table, {})
        if not known or column in known or table in self._views:
            return None
        what = f"no version of {table} has a column {column!r}{aside(meant)}"
        return f"{what}; {near(column, [one for one in known if one != IMPLICIT_KEY])}"

    def never_becomes(self, table: str, column: str, new: ColumnType, meant: str) -> str | None:
        """Why no version of a column converts to a type; None if one does, or was made with it.

        A renamed one may have been made as any column. `meant` says what to do if that is meant.
        """
        every = [types for columns in self._made.values() for types in columns.values()]
        own = self._made.get(table, {}).get(column)
        types = [one for one in self._columns.get(table, {}).get(column, ()) if one != new]
        if not types or any(convertible(one, new) for one in types):
            return None
        if any(new in one for one in ([own] if own else every)):
            return None
        what = " or ".join(map(str, types))
        return f"no conversion leads from {column} of {table} ({what}) to {new}{aside(meant)}"

    def _declare(self, statement: Statement) -> None:
        match statement:
            case CreateTable(name=name):
                made = with_key(statement)
                columns, key = made.columns, made.key
                for spec in columns:
                    self._declare_column(name, spec)
                by_name = {spec.name: spec.type for spec in columns}
                if all(part in by_name for part in key):
                    whole = tuple((part, by_name[part]) for part in key)
                    self._keys.setdefault(name, {})[whole] = None
            case AlterTable(name=name, actions=actions):
                for action in actions:
                    if isinstance(action, AddColumn):
                        self._declare_column(name, action.column)
            case _:
                pass

    def _declare_column(self, table: str, spec: ColumnSpec) -> None:
        self._columns.setdefault(table, {}).setdefault(spec.name, {})[spec.type] = None

    def _change(self, statement: Statement) -> None:
        """Declare a new name, or a view, as the old one, which may still be used; or a new type."""
        match statement:
            case (
                RenameTable(name=name, new_name=new_name)
                | RenameView(name=name, new_name=new_name)
                | CreateView(name=new_name, tables=(name,))
            ):
                self._share(name, new_name)
                if not isinstance(statement, CreateView):
                    self._share(new_name, name)  # the old name may be an alias [110.later.3]
            case AlterTable(name=name, actions=actions):
                known = self._columns.get(name, {})
                for action in actions:
                    if isinstance(action, RenameColumn) and action.name in known:
                        known.setdefault(action.new_name, {}).update(known[action.name])
                        self._rename_in_keys(name, action)
                    elif isinstance(action, AlterColumn) and action.name in known and action.type:
                        known[action.name][action.type] = None
            case _:
                pass

    def _share(self, name: str, other: str) -> None:
        """Declare for another name what is declared for a name."""
        for column, types in self._columns.get(name, {}).items():
            self._columns.setdefault(other, {}).setdefault(column, {}).update(types)
        self._keys.setdefault(other, {}).update(self._keys.get(name, {}))

    def _rename_in_keys(self, table: str, action: RenameColumn) -> None:
        keys = self._keys.get(table, {})
        for key in [one for one in keys if action.name in dict(one)]:
            names = [action.new_name if name == action.name else name for name, _ in key]
            keys[tuple(zip(names, (type_ for _, type_ in key), strict=True))] = None


def aside(meant: str) -> str:
    """What to do if something is meant, as it stands within a message."""
    return f" ({meant})" if meant else ""


def _is_key(parts: tuple[Value, ...], columns: tuple[tuple[str, ColumnType], ...]) -> bool:
    return len(parts) == len(columns) and all(
        holds(type_, part) for part, (_, type_) in zip(parts, columns, strict=True)
    )


def shown(value: Key) -> str:
    """A key or value as TOML writes it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None:
        return "NULL"
    return f'"{value}"' if isinstance(value, str) else str(value)
