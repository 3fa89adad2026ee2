"""How large the recorder's tables are: how many, which rows, and which of them are in use when.

A list that grows without end makes each read longer, and no database adds columns to a table for
ever (PostgreSQL has 1,600 in a table's life, dropped ones included). So rows are used in turn, a
window of them after the other, and tables too: once their rows have had their turns, or one of them
has its columns, new tables with new names take their place. So a recording can be of any length.
"""

import threading
from dataclasses import dataclass
from typing import Final

from ddlsim.record.programs import ANCHORS, NewTables

TABLES: Final = 3
"""Tables that are in use together."""
MOST_COLUMNS: Final = 60
"""Columns that are added to one table: each read shows all of them, and databases have a limit."""
ROWS: Final = 3
"""Rows of a window."""
TURN: Final = 50
"""Transactions of one client in one window."""
PER_SECOND: Final = 2_000
"""Transactions for which there are windows, where only the time is given."""
MOST_WINDOWS: Final = 64
"""Windows of one table."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A table: the anchors and the rows of so many windows.

    The last `spare` rows of a window are not there at first.
    """

    windows: int
    clients: int
    spare: int = 0

    def window(self, number: int) -> tuple[int, int]:
        """The first and the last row of a window."""
        rows = ROWS + self.spare
        first = len(ANCHORS) + 1 + number * rows
        return first, first + rows - 1

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The rows of each table, as they are inserted together."""
        windows = map(self.window, range(self.windows))
        return (ANCHORS, *(tuple(range(low, high + 1 - self.spare)) for low, high in windows))

    def tables(self, first: int) -> NewTables:
        """The step that makes all tables that are in use together, from a number on."""
        return NewTables(tuple(range(first, first + TABLES)), self.groups)


def shape_of(clients: int, transactions: int | None, seconds: float, spare: int = 0) -> Shape:
    """The shape for a recording of so many transactions, or of so many seconds."""
    total = transactions if transactions is not None else round(PER_SECOND * seconds)
    windows = -(-total // (clients * TURN))
    return Shape(min(MOST_WINDOWS, max(1, windows)), clients, spare)


class InUse:
    """The tables and the rows that are in use; shared by all clients.

    `first` is the number of the first table; `used_up` is set when new ones are to take their
    place. Until these are there, the last window stays in use.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.first = 0
        self.used_up = threading.Event()
        self._lock = threading.Lock()
        self._turns = 0

    def turn(self) -> tuple[int, int, int]:
        """Of a client's next transaction: the first table, the first row and the last one."""
        shape = self.shape
        with self._lock:
            number = self._turns // (TURN * shape.clients)
            self._turns += 1
            if number >= shape.windows:
                self.used_up.set()
            first = self.first
        return first, *shape.window(min(number, shape.windows - 1))

    def full(self, first: int) -> None:
        """A table has all columns that it may have; `first` is that of its time."""
        with self._lock:
            if first == self.first:
                self.used_up.set()

    def renewed(self, first: int) -> None:
        """New tables are there."""
        with self._lock:
            self.first, self._turns = first, 0
            self.used_up.clear()


def name_of(table: int) -> str:
    """What a table is called, by its number."""
    return f"t{table}"
