"""Prepared statements by SQL, for drivers that prepare none: PREPARE, EXECUTE, DEALLOCATE."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from ddlsim.record.dialects.base import Connection, Cursor, Database

Form = Callable[[str, str], str]
MOST: Final = 100
"""Statements that stay prepared on a connection; of more, the one longest unused is given up.
Servers have a limit for all of their connections.
"""


class Planned:
    """A cursor that prepares each statement with values at its first use.

    `prepares` makes PREPARE of a name and a statement, `executes` EXECUTE of a name and of values
    as literals, which stand in it as the drivers have no parameters for it.
    """

    def __init__(self, cursor: Cursor, prepares: Form, executes: Form) -> None:
        self._cursor, self._prepares, self._executes = cursor, prepares, executes
        self._names: OrderedDict[str, str] = OrderedDict()
        self._made = 0

    def execute(self, sql: str, values: Sequence[Any] = ()) -> None:
        """Send a statement; one with values as EXECUTE, after PREPARE where it is the first."""
        if not values:
            self._cursor.execute(sql)
            return
        if sql not in self._names:
            self._prepare(sql)
        self._names.move_to_end(sql)
        given = ", ".join(map(literal, values))
        self._cursor.execute(self._executes(self._names[sql], given))

    def _prepare(self, sql: str) -> None:
        if len(self._names) == MOST:
            _, oldest = self._names.popitem(last=False)
            self._cursor.execute(f"DEALLOCATE PREPARE {oldest}")
        name = f"s{self._made}"
        self._cursor.execute(self._prepares(name, sql))
        self._made += 1
        self._names[sql] = name

    @property
    def description(self) -> Any:
        """The columns of the answer."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """The number of rows that were changed."""
        return self._cursor.rowcount

    def fetchall(self) -> Sequence[Sequence[Any]]:
        """The rows of the answer."""
        return self._cursor.fetchall()


def planned(database: Database, connection: Connection, prepares: Form, executes: Form) -> Cursor:
    """The one of a connection where statements are prepared, else a new cursor of it."""
    cursor = connection.connection.cursor()
    if not database.prepared:
        return cursor
    made = Planned(cursor, prepares, executes)
    return cast(Cursor, connection.info.setdefault(Planned, made))


def literal(value: Any) -> str:
    """A value in a statement; texts of clients have no backslash."""
    if isinstance(value, int):
        return str(value)
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"
