"""How large the recorder's tables are: how many, which rows, and which of them are in use when.

A list that grows without end makes each read longer, so rows are used in turn: a client's
transactions work on one window of rows after the other. The plan knows no progress of other
clients; that their windows differ a little does no harm.
"""

from dataclasses import dataclass
from typing import Final

from ddlsim.record.programs import ANCHORS

TABLES: Final = 3
MOST_COLUMNS: Final = 60
"""Columns that are added to one table: each read shows all of them, and databases have a limit."""
ROWS: Final = 3
"""Rows of a window."""
TURN: Final = 50
"""Transactions of a client in one window."""
PER_SECOND: Final = 2_000
"""Transactions for which there are windows, where only the time is given."""
MOST_TABLES: Final = 60


@dataclass(frozen=True, slots=True)
class Shape:
    """The tables: so many, each with the anchors and the rows of so many windows.

    The last `spare` rows of a window are not there at first.
    """

    tables: int
    windows: int
    clients: int
    spare: int = 0

    def window(self, turn: int) -> tuple[int, int]:
        """The first and the last row of a client's transaction of this number."""
        number = min(turn // TURN, self.windows - 1)
        rows = ROWS + self.spare
        first = len(ANCHORS) + 1 + number * rows
        return first, first + rows - 1

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The rows of each table, as they are inserted together."""
        windows = (self.window(number * TURN) for number in range(self.windows))
        return (ANCHORS, *(tuple(range(low, high + 1 - self.spare)) for low, high in windows))

    @property
    def names(self) -> tuple[str, ...]:
        """The tables' names by their numbers."""
        return tuple(f"t{number}" for number in range(self.tables))


def shape_of(
    clients: int, transactions: int | None, seconds: float, columns_per_s: float, spare: int = 0
) -> Shape:
    """The shape for a recording of so many transactions, or of so many seconds, with so many
    columns a second.
    """
    total = transactions if transactions is not None else round(PER_SECOND * seconds)
    columns = columns_per_s * (seconds if transactions is None else total / 100)
    tables = min(MOST_TABLES, max(TABLES, round(1.5 * columns / MOST_COLUMNS)))
    return Shape(tables, max(1, -(-total // (clients * TURN))), clients, spare)
