"""Tables, columns, indexes, constraints, views and zones: data without rules.

Every object has an id that is never used again; names are only what SQL calls it. Columns too are
identified by their ids and never by their names [110.compat.id]: a column that is dropped and added
again under its old name is another column.
"""

from typing import Final

from msgspec import field

from ddlsim.model.records import Record, Tagged

Value = int | float | str | bool | None
"""What a cell can hold. Decimals and date-times travel as their canonical text."""

INTEGER_TYPES: Final = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")
"""Integral types, from the narrowest to the widest."""
FLOAT_TYPES: Final = ("REAL", "DOUBLE")
"""Floating-point types, from the narrowest to the widest."""
TEMPORAL_TYPES: Final = ("TIME", "TIMESTAMP", "TIMESTAMP WITH LOCAL TIME ZONE")
"""Date-time types that have a precision."""

DEFAULT_LENGTH: Final = 65536
"""The length of VARCHAR and VARBINARY where none is written."""
DEFAULT_DECIMAL_PRECISION: Final = 32767
"""The precision of DECIMAL where none is written; the scale is then 0."""
DEFAULT_TIME_PRECISION: Final = {"TIME": 0, "TIMESTAMP": 6, "TIMESTAMP WITH LOCAL TIME ZONE": 6}
"""Digits of a second where none are written: standard SQL says 0 for TIME, 6 for timestamps."""


class ColumnType(Record, frozen=True):
    """A column's type: `VARCHAR` has a length, `DECIMAL` precision and scale, times a precision."""

    name: str
    length: int | None = None
    precision: int | None = None
    scale: int | None = None

    def __str__(self) -> str:
        if self.length is not None:
            return f"{self.name}({self.length})"
        if self.precision is None:
            return self.name
        inner = f"{self.precision}" if self.scale is None else f"{self.precision}, {self.scale}"
        head, _, tail = self.name.partition(" ")
        return f"{head}({inner}) {tail}".rstrip()


class Column(Record, frozen=True):
    """A column; `initial_default` is the default it was added with and never changes.

    Old rows that lack the column show `initial_default`; new rows that do not mention it take
    `default`.
    """

    id: int
    name: str
    type: ColumnType
    nullable: bool = True
    default: Value = None
    initial_default: Value = None


PUBLIC: Final = "public"
"""The state of an index that is maintained by every write and answers queries."""
INDEX_STATES: Final = ("delete_only", "write_only", "reorganization", PUBLIC)
"""The states of an index in the order in which it is built; a drop goes through them backwards."""


class Index(Record, frozen=True, omit_defaults=True):
    """An index of a table, over columns by id; `state` is one of `INDEX_STATES`.

    In JSON `state` is left out where it is `public`; `unique` always stands there, which its
    factory brings about: msgspec leaves out no field that has one.
    """

    id: int
    name: str
    columns: tuple[int, ...]
    unique: bool = field(default_factory=bool)
    state: str = PUBLIC


class Comparison(Tagged, frozen=True, tag="compare"):
    """A column compared with a constant; `operator` is `=`, `<>`, `<`, `<=`, `>` or `>=`."""

    place: int
    operator: str
    constant: Value


class IsNull(Tagged, frozen=True, tag="is-null"):
    """IS NULL, or `negated` IS NOT NULL."""

    place: int
    negated: bool = False


class Junction(Tagged, frozen=True, tag="junction"):
    """Conditions joined by `and` or `or`."""

    operator: str
    parts: tuple["Condition", ...]


Condition = Comparison | IsNull | Junction
"""A condition on one row. `place` counts the columns of the constraint that it belongs to."""


class Constraint(Record, frozen=True):
    """A named constraint of a table: `kind` is `check`, `unique` or `foreign`; `text` its SQL.

    `columns` are those of a `unique`, or those that `condition` reads, by id. A `check` without a
    `condition` and every `foreign` are kept as text and not enforced on rows.
    """

    id: int
    name: str
    kind: str
    text: str
    columns: tuple[int, ...] = ()
    condition: Condition | None = None


class Table(Tagged, frozen=True, tag="table", cache_hash=True):
    """A table at one of its versions; `key` holds the ids of the key columns, in order."""

    id: int
    name: str
    version: int
    columns: tuple[Column, ...]
    key: tuple[int, ...]
    zone: str
    indexes: tuple[Index, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    next_column_id: int = 0


class View(Tagged, frozen=True, tag="view"):
    """A view at one of its versions; `tables` are the ids of the tables that it reads."""

    id: int
    name: str
    version: int
    sql: str
    tables: tuple[int, ...]


class Alias(View, frozen=True, tag="alias"):
    """The old name of a table or view that was renamed: a view of it that goes away by itself.

    It stays for at least `window_ms` [110.later.3].
    """

    window_ms: int = 0


class Zone(Tagged, frozen=True, tag="zone"):
    """A distribution zone: how many partitions and replicas its tables have.

    `is_default` marks the zone of tables that name none. A zone that was renamed keeps its
    `first_name`, by which its tables know it.
    """

    id: int
    name: str
    version: int
    partitions: int
    replicas: int
    is_default: bool = False
    first_name: str = ""

    @property
    def place(self) -> str:
        """What its tables know it by, whatever it is called today."""
        return self.first_name or self.name


SchemaObject = Table | View | Alias | Zone
"""A top-level object of the catalog [110.compat.scope]."""
