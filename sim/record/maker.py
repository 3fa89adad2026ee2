"""The client that makes tables: the first ones before all others work, and new ones meanwhile."""

import threading
from typing import Final

from ddlsim.record.client import Client, Tally
from ddlsim.record.dialects.base import Database, Problem, RefusedError
from ddlsim.record.journal import Journal
from ddlsim.record.programs import Program
from ddlsim.record.shape import TABLES, InUse, name_of

AGAIN_S: Final = 0.5
"""How long after tables could not be made other ones are."""
LOOK_S: Final = 0.2


class Maker(Client):
    """Makes all tables that are in use together in one transaction, where the database can.

    A number is that of one table for ever, also where the table could not be made. `number` is the
    maker's place behind all other clients.
    """

    def __init__(
        self, database: Database, isolation: str, journal: Journal, number: int, in_use: InUse
    ) -> None:
        super().__init__(database, isolation, journal, Tally(), number, number + 1)
        self._in_use, self._next = in_use, 0

    def begin(self, stop: threading.Event) -> None:
        """Make the first tables; `RefusedError` where the database does not."""
        try:
            with self._database.refusing(_refused):
                self.connection = self._database.connect(self._isolation)
            problem = self._make_tables(stop)
        finally:
            self.close()
        if problem is not None:
            raise RefusedError(f"{self._database.name}: {_refused(problem)}")

    def renew(self, stop: threading.Event) -> None:
        """Put new tables in the place of those that are used up, until the recording ends."""
        try:
            while not stop.is_set():
                if not self._in_use.used_up.wait(LOOK_S) or not self._connected(stop):
                    continue
                first = self._next
                names = [name_of(table) for table in range(first, first + TABLES)]
                self._journal.tables(first, names)
                if self._make_tables(stop) is None:
                    self._in_use.renewed(first)
                else:
                    stop.wait(AGAIN_S)
                self.close()
        finally:
            self.close()

    def _make_tables(self, stop: threading.Event) -> Problem | None:
        step = self._in_use.shape.tables(self._next)
        self._next += TABLES
        return self._attempt(Program((step,), alone=not self._database.transactional_ddl), stop)


def _refused(problem: Problem) -> str:
    return f"the tables cannot be made ({problem.code}: {problem.text})"
