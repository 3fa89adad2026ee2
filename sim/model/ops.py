"""What a client can ask of the database: operations, as plain data.

An operation names its table as the client does, by name. Keys are the value of the key column (a
tuple where the key has several columns). Generated writes name only keys; the client fills the
other columns of the schema version that it has cached with values unique to (operation, column), or
with `spread` n with one of n values, so that rows meet in a unique index.
Fields that a kind of operation lacks are class variables of it, so that callers need not ask.
"""

from typing import ClassVar, Final

from ddlsim.model.records import Tagged
from ddlsim.model.schema import Value

Key = Value | tuple[Value, ...]
"""A primary key: the value of its one column, or of its columns in order."""


class Begin(Tagged, frozen=True, tag="begin"):
    """Begin an explicit transaction; a read-only one reads the past, from any replica.

    `as_of_ms` chooses the timestamp that it reads at, in whole ms after the client's present
    (before it, if negative); None leaves the choice to the coordinator.
    """

    read_only: bool = False
    as_of_ms: int | None = None


class Commit(Tagged, frozen=True, tag="commit"):
    """Commit the client's transaction."""


class Rollback(Tagged, frozen=True, tag="rollback"):
    """Roll the client's transaction back."""


class Get(Tagged, frozen=True, tag="get"):
    """Read one row by key, as `Scan` reads them all."""

    table: str
    key: Key
    metadata: bool = False
    columns: tuple[str, ...] = ()


class Put(Tagged, frozen=True, tag="put"):
    """Write one row; `values` by column name, None where the client fills every column."""

    table: str
    key: Key
    values: dict[str, Value] | None = None
    spread: int = 0
    metadata: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()


class Delete(Tagged, frozen=True, tag="delete"):
    """Delete one row by key."""

    table: str
    key: Key
    metadata: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()


class Insert(Tagged, frozen=True, tag="insert"):
    """Write a row where there is none; the answer is whether there was none.

    `strict`, as SQL's INSERT: where there is one it fails.
    """

    table: str
    key: Key
    values: dict[str, Value] | None = None
    strict: bool = False
    spread: ClassVar[int] = 0
    metadata: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()


class Replace(Tagged, frozen=True, tag="replace"):
    """Write a row where there is one; the answer is whether there was one."""

    table: str
    key: Key
    values: dict[str, Value] | None = None
    spread: ClassVar[int] = 0
    metadata: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()


class Update(Tagged, frozen=True, tag="update"):
    """Set some columns of a row, as SQL's UPDATE; the answer is whether there was one."""

    table: str
    key: Key
    values: dict[str, Value]
    metadata: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()


class Scan(Tagged, frozen=True, tag="scan"):
    """Read every row of a table.

    With `metadata` it is a `SELECT *`, which shows the columns too; `columns` are those that a
    SELECT names, none where it names none.
    """

    key: ClassVar[None] = None
    table: str
    metadata: bool = False
    columns: tuple[str, ...] = ()


ANY_INDEX: Final = ""
"""The name for whatever index has the columns of a query."""


class Find(Tagged, frozen=True, tag="find"):
    """Read the rows that have these values in the columns of an index, by that index.

    By `ANY_INDEX`, whatever public index has just these columns.
    """

    key: ClassVar[None] = None
    table: str
    index: str
    values: dict[str, Value]
    metadata: ClassVar[bool] = False
    columns: ClassVar[tuple[str, ...]] = ()


class Ddl(Tagged, frozen=True, tag="ddl"):
    """Run one DDL statement."""

    sql: str


Conditional = Insert | Replace | Update
"""Writes that depend on the row they find; the answer is whether they wrote."""
DataOperation = Get | Put | Delete | Insert | Replace | Update | Scan | Find
"""What reads or writes rows."""
Read = Get | Scan | Find
"""What reads rows and writes none."""
READS: Final = ("get", "scan", "find")
"""The tags of `Read`."""
WHOLE: Final = ("scan", "find")
"""The tags of those that are about every row of a partition."""
Operation = Begin | Commit | Rollback | DataOperation | Ddl
"""Anything that a client can ask."""
