"""What a database must do for a rehearsal besides what it does for a recording."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, cast

from ddlsim.record import kept
from ddlsim.record.dialects.base import Connection, Database, Problem, RefusedError
from ddlsim.record.dialects.in_file import FileGround
from ddlsim.record.rehearsal.tables import Table, tables_of
from ddlsim.record.url import URL
from ddlsim.registry import Registry


class Limits(NamedTuple):
    """How long statements of a session wait for locks, and how long they take at all, in ms."""

    lock_ms: int
    statement_ms: int


class Waiting(NamedTuple):
    """What a look at the sessions has found: whether one waits for a lock, for which statements of
    others, and how many others wait, for it or beside it.
    """

    waits: bool
    holders: tuple[str, ...]
    behind: int


class Stage(Database):
    """A database with a copy of the user's schema, or the user's own where that was asked for.

    `outside` are words that a statement on a copy may not begin with: what they change is shared
    with the user's own objects, or is a file; `outside_form` is the form of its first words where
    these are not enough.
    """

    outside: ClassVar[tuple[str, ...]] = ()
    outside_form: ClassVar[str] = ""
    described_sql: ClassVar[str] = ""
    cascades_sql: ClassVar[str | None] = None
    """Asks for each foreign key with ON DELETE CASCADE; None where the database has none."""
    quote: ClassVar[str] = '"'
    folds: ClassVar[bool] = False
    """Whether names that differ in case alone are one, quoted or not."""
    usual: ClassVar[str] = ""
    """The level of isolation that a session has where nothing is said."""
    prepares: ClassVar[bool] = False
    """Whether a statement outside of a transaction is sent in one, to see how long it waits."""
    opens_by_savepoint: ClassVar[bool] = False
    """Whether SAVEPOINT outside of a transaction opens one, which ends with its RELEASE."""

    def __init__(self, url: URL, *, prepared: bool) -> None:
        super().__init__(url, prepared=prepared)
        self.in_place = False
        self.structure = True
        """Whether the structure of the URL's own database is copied."""
        self.limits = Limits(10_000, 60_000)

    def session(self, connection: Connection, limits: Limits) -> None:
        """Set the limits of a connection."""

    def set_up(self, connection: Connection, isolation: str) -> None:
        """Set what clients have, and their limits."""
        super().set_up(connection, isolation)  # type: ignore[safe-super] # a dialect comes next
        self.session(connection, self.limits)

    def described(self, connection: Connection) -> list[Table]:
        """The tables that there are, without views."""
        cascades = () if self.cascades_sql is None else run(connection, self.cascades_sql)
        return tables_of(run(connection, self.described_sql), cascades)

    def look(self, connection: Connection, session: int) -> Waiting:
        """Look at the sessions of this database, from another one."""
        raise NotImplementedError

    def interrupt(self, connection: Connection) -> None:
        """End what a session does, where the server has no limit for it."""
        del connection

    def others(self, connection: Connection) -> frozenset[str]:
        """Names, in capitals, by which a statement reaches what is not of the copy."""
        del connection
        return frozenset()

    def reaches_out(self, words: Sequence[str]) -> bool:
        """Whether the words of a statement have the form of one that may not be run on a copy."""
        form = self.outside_form
        return bool(form) and re.match(rf"(?:{form})\b", " ".join(words)) is not None

    def named(self, name: str) -> str:
        """A name as SQL has it, always quoted: every database has other reserved words."""
        mark = self.quote
        return f"{mark}{name.replace(mark, 2 * mark)}{mark}"

    def inserted(self, table: str, columns: Sequence[str], rows: Sequence[str]) -> str:
        """An INSERT of some rows."""
        listed = ", ".join(map(self.named, columns))
        return f"INSERT INTO {self.named(table)} ({listed}) VALUES {', '.join(rows)}"

    @property
    @abstractmethod
    def source(self) -> str:
        """What is copied of what the URL names, in words."""


class FileStage(Stage, FileGround):
    """A database that is a file: the file itself, or a copy that is gone after the block."""

    @property
    def source(self) -> str:
        return "the file, rows and all"

    @contextmanager
    def ground(self) -> Iterator[None]:
        """The file of the URL, or a copy in a temporary folder."""
        given = Path(self.path)
        if (self.in_place or self.structure) and not given.is_file():
            what = "there is no such file; name one, or --schema"
            raise RefusedError(f"{self.name}:///{given}: {what}")
        if self.in_place:
            with self.opened():
                yield
            return
        with kept.folder() as folder:
            self.url = self.url.set(database=str(folder / "copy.db"))
            with self.opened():
                if self.structure:
                    self.copy_structure(given)
                yield

    def opened(self) -> AbstractContextManager[None]:
        """What all connections share while the block runs."""
        return nullcontext()

    @abstractmethod
    def copy_structure(self, given: Path) -> None:
        """Copy a file, rows and all; raises `RefusedError`."""

    def interrupt(self, connection: Connection) -> None:
        cast(Any, connection.connection.driver_connection).interrupt()


def run(connection: Connection, sql: str, *values: Any) -> Sequence[Any]:
    """Send a statement, and return its rows."""
    found = connection.exec_driver_sql(sql, values or None)
    return found.all() if found.returns_rows else []


def not_copied(problem: Problem) -> str:
    """What is said where a structure could not be copied."""
    return f"the structure cannot be copied ({problem.text})"


Opened = Callable[..., Stage]
STAGES: Final[Registry[Opened]] = Registry(
    "database of rehearsals", "ddlsim.record.rehearsal.stages"
)
"""Every kind of database by the driver's name in its URL."""
