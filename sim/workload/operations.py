"""The operations of generated transactions: reads, writes of every kind, scans; on tables or views.

Names of columns come and go while a run lasts, so some operations name columns that no table has at
the time; with `bad` some rows fit no version of their table. The client or the database refuses
both.
"""

from itertools import accumulate
from typing import Final, NamedTuple

from ddlsim.model.ddl import ColumnSpec, CreateTable, CreateView
from ddlsim.model.ops import (
    ANY_INDEX,
    Delete,
    Find,
    Get,
    Insert,
    Key,
    Operation,
    Put,
    Replace,
    Scan,
    Update,
)
from ddlsim.model.schema import INTEGER_TYPES, Value
from ddlsim.workload.assumed import NEW_COLUMNS
from ddlsim.workload.base import Die
from ddlsim.workload.keys import KeyChooser, key_of, value_of, weighted

KINDS: Final = (
    *("get", "put", "delete", "scan", "select", "insert", "strict", "replace", "update"),
    "find",
)
"""The names of the weights; `select` is a `SELECT *`, `strict` SQL's INSERT."""
NEW_NAMES: Final = 0.2
"""The share of lists of columns that name one which the table does not have at the start."""
PAIRS: Final = 0.2
"""The share of queries for the values of two columns."""
NULLS: Final = 0.1
"""The share of NULLs among the values of named columns."""
NUMBERS: Final = 100
"""How many values named columns take, unless `values` says."""
Row = tuple[CreateTable, int]
"""A table, and the number of a key."""
LONG: Final = "long" * 20
"""A text that is too long for every column but a VARCHAR without a length."""

EDGES: Final[dict[str, tuple[Value, ...]]] = {
    "DECIMAL": (
        *("0.99", "0.999", "1.5", "1.50", "9.9", "99.9", "9.99", "99.99", "999.99", "999.999"),
        *("-9999.9", "99999.99", "100000"),
    ),
    "VARCHAR": (
        *(("edges" * 9)[:size] for size in (5, 6, 7, 9, 10, 11, 12, 20, 21, 30, 31, 40)),
        *("K1", "K2", "k1", "k2"),
    ),
    "UUID": (f"{'0' * 8}-0000-0000-0000-{'0' * 11}A", f"{'0' * 8}-0000-0000-0000-{'0' * 11}a"),
    "VARBINARY": ("ff" * 8, "ff" * 9, "ff" * 16, "ff" * 17),
    "INTEGER": (127, 128, -128, -129, 32767, 32768, -32769, 2147483647, 2147483648, -2147483649),
}
"""Values at the edges of the types that columns get, and just beyond, by the type at the start."""


class Shares(NamedTuple):
    """The shares of a mixed workload that concern single operations."""

    misses: float = 0.0
    views: float = 0.0
    by_name: float = 0.0
    bad: float = 0.0
    named: float = 0.0
    values: int = 0
    edges: float = 0.0


class OperationMaker:
    """Draws the operations of one client.

    `rows` draws kinds and keys; `more` everything that the shares ask for, and nothing where all
    are 0, so that shares leave the kinds and keys as they were.
    """

    def __init__(
        self,
        weights: dict[str, int],
        keys: tuple[int, KeyChooser],
        shares: Shares,
        views: tuple[CreateView, ...],
        rows: Die,
        more: Die,
    ) -> None:
        self._kinds = list(accumulate(weights[kind] for kind in KINDS))
        self._keys, self._chooser = keys
        self._shares = shares
        self._views = views
        self._rows, self._more = rows, more

    def row(self, tables: list[CreateTable]) -> Row:
        """A row of one of the tables, for all operations of a transaction."""
        return self._rows.pick(tables), self._chooser.choose(self._rows)

    def operation(
        self, tables: list[CreateTable], *, reads: bool, row: Row | None = None
    ) -> Operation:
        """An operation on one of the tables, or on `row`; `reads`: what would write reads its row.

        But for a `bad` share, which a read-only transaction refuses.
        """
        rows, shares = self._rows, self._shares
        table = rows.pick(tables) if row is None else row[0]
        kind = KINDS[weighted(self._kinds, rows)]
        number = self._chooser.choose(rows) if row is None else row[1]
        if self._on(shares.misses):
            number += self._keys
        if reads and kind not in ("get", "scan", "select", "find") and not self._on(shares.bad):
            kind = "get"
        name, key = self._name(table), key_of(table, number)
        if kind in ("scan", "select"):
            return Scan(name, metadata=kind == "select")
        if kind == "get":
            return Get(name, key, columns=self._columns(table) if self._on(shares.named) else ())
        if kind == "find":
            return Find(name, ANY_INDEX, self._wanted(table))
        if kind == "delete":
            return Delete(name, key)
        if self._on(shares.bad):
            return self._bad(table, name, key)
        if kind == "update":
            return Update(name, key, self._values(table))
        values = self._values(table) if self._on(shares.by_name) else None
        if kind == "put":
            return Put(name, key, values, spread=shares.values)
        return (
            Replace(name, key, values)
            if kind == "replace"
            else Insert(name, key, values, strict=kind == "strict")
        )

    def _on(self, share: float) -> bool:
        return share > 0 and self._more.chance(share)

    def _name(self, table: CreateTable) -> str:
        """The name of the table, or of a view that leads to it alone at the start."""
        views = [view.name for view in self._views if self._base(view) == table.name]
        return self._more.pick(views) if views and self._on(self._shares.views) else table.name

    def _base(self, view: CreateView) -> str | None:
        """The table that a view of one table reads, through other views or not."""
        by_name = {each.name: each for each in self._views}
        tables: tuple[str, ...] = (view.name,)
        while len(tables) == 1 and tables[0] in by_name:
            tables = by_name[tables[0]].tables
        return tables[0] if len(tables) == 1 else None

    # --- columns by name --------------------------------------------------------------------------

    def _columns(self, table: CreateTable) -> tuple[str, ...]:
        """Some columns, keys apart: what the table has at the start, now and then a new one."""
        names = [column.name for column in table.columns if column.name not in table.key]
        chosen = self._more.some(names, self._more.between(1, len(names))) if names else []
        if not chosen or self._more.chance(NEW_NAMES):
            chosen.append(self._more.pick(NEW_COLUMNS))
        return tuple(chosen)

    def _wanted(self, table: CreateTable) -> dict[str, Value]:
        """The values that a query asks for: of one column, now and then of two, keys apart."""
        columns = [column for column in table.columns if column.name not in table.key]
        count = 2 if len(columns) > 1 and self._more.chance(PAIRS) else 1
        most = self._shares.values or NUMBERS
        return {
            column.name: value_of(column, self._more.below(most))
            for column in self._more.some(columns, count)
        }

    def _values(self, table: CreateTable) -> dict[str, Value]:
        """Values of some columns by name, of the types that those have at the start."""
        more = self._more
        specs = {column.name: column for column in table.columns}
        values: dict[str, Value] = {}
        for name in self._columns(table):
            number = more.below(self._shares.values or NUMBERS)
            spec = specs.get(name)
            values[name] = number if spec is None else value_of(spec, number)
            if more.chance(NULLS):
                values[name] = None
            elif self._on(self._shares.edges):
                values[name] = self._at_the_edge(spec)
        return values

    def _at_the_edge(self, spec: ColumnSpec | None) -> Value:
        """A value at the edge of a type that the column may have; of a new column, of any type."""
        name = self._more.pick(list(EDGES)) if spec is None else spec.type.name
        edges = EDGES.get("INTEGER" if name in INTEGER_TYPES else name, (None,))
        return self._more.pick(edges)

    # --- rows that do not fit ---------------------------------------------------------------------

    def _bad(self, table: CreateTable, name: str, key: Key) -> Operation:
        """A write of a row that no version of the table, or hardly any, can hold."""
        more = self._more
        columns = [one for one in table.columns if one.name not in table.key]
        wrong: list[dict[str, Value]] = [{"never": 1}]
        if columns:
            column = more.pick(columns)
            wrong += [{column.name: bad} for bad in (_of_wrong_type(column), LONG, None)]
        values = more.pick(wrong)
        match more.below(4):
            case 0:
                return Put(name, key, values)
            case 1:
                return Insert(name, key, values, strict=True)
            case 2:
                return Update(name, key, {table.key[0]: key if isinstance(key, int) else None})
            case _:
                return Update(name, key, values)


def _of_wrong_type(column: ColumnSpec) -> Value:
    """A value that a column of the type cannot hold."""
    return 7.5 if column.type.name in ("VARCHAR", "BOOLEAN") else "wrong"
