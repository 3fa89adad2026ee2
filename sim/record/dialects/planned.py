"""Prepared statements by SQL, for drivers that prepare none: PREPARE, EXECUTE, DEALLOCATE."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

MOST: Final = 100
"""Statements that stay prepared on a connection; of more, the one longest unused is given up.
Servers have a limit for all of their connections.
"""


class Planned:
    """A connection that prepares each statement with values at its first use.

    It is the cursor of its connection too. `prepares` makes PREPARE of a name and a statement,
    `executes` EXECUTE of a name and of values as literals, which stand in it as the drivers have no
    parameters for it. `connection` is the driver's.
    """

    def __init__(
        self,
        connection: Any,
        cursor: Any,
        prepares: Callable[[str, str], str],
        executes: Callable[[str, str], str],
    ) -> None:
        self.connection, self._cursor = connection, cursor
        self._prepares, self._executes = prepares, executes
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
        self._cursor.execute(self._executes(self._names[sql], ", ".join(map(literal, values))))

    def _prepare(self, sql: str) -> None:
        if len(self._names) == MOST:
            _, oldest = self._names.popitem(last=False)
            self._cursor.execute(f"DEALLOCATE PREPARE {oldest}")
        name = f"s{self._made}"
        self._cursor.execute(self._prepares(name, sql))
        self._made += 1
        self._names[sql] = name

    def cursor(self) -> "Planned":
        """This one: statements are prepared for a connection."""
        return self

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """The columns of the answer."""
        found: Sequence[Sequence[Any]] | None = self._cursor.description
        return found

    @property
    def rowcount(self) -> int:
        """The number of rows that were changed."""
        return int(self._cursor.rowcount)

    def fetchall(self) -> Sequence[Sequence[Any]]:
        """The rows of the answer."""
        found: Sequence[Sequence[Any]] = self._cursor.fetchall()
        return found

    def close(self) -> None:
        """End the connection, and what was prepared on it."""
        self.connection.close()


def literal(value: Any) -> str:
    """A value in a statement; texts of clients have no backslash."""
    if isinstance(value, int):
        return str(value)
    return "NULL" if value is None else "'" + str(value).replace("'", "''") + "'"
