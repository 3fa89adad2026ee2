"""What a database must do to be recorded; the SQL that most of them share.

SQLAlchemy reads URLs, imports drivers and connects (`sim/record/engine.py`), and by its
`Connection.exec_driver_sql` everything is sent but the statements of clients. Those go to a cursor
of the driver, on the connection that SQLAlchemy has made (`Database.cursor`): sent by
`exec_driver_sql` they took 1.6 times the CPU for a transaction on SQLite and 1.5 times on
PostgreSQL, all that is recorded of it included (medians of runs that took turns).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from ddlsim.problems import BadInputError
from ddlsim.record.errors import class_of
from ddlsim.record.programs import (
    ANCHORS,
    ASK,
    CLEAR,
    CREATE,
    DROP,
    PLAIN,
    RECREATE,
    RETYPE,
    SWAP,
    TRUNCATE,
    AddColumn,
    Append,
    Read,
    UniqueIndex,
)
from ddlsim.record.url import URL, without_secrets
from ddlsim.registry import Registry

if TYPE_CHECKING:
    import sqlalchemy
    from sqlalchemy.engine.interfaces import DBAPICursor

    Connection = sqlalchemy.Connection
    Engine = sqlalchemy.Engine
    Cursor = DBAPICursor
else:
    Connection = Engine = Cursor = Any

LOCK_MS: Final = 300
"""How long a statement may wait for a lock: DDL behind an open reader would wait for good."""
STATEMENT_MS: Final = 10_000
"""How long a statement may take at all."""


class RefusedError(BadInputError):
    """A database that cannot be recorded as asked; the message is one line with what to do."""


class Level(NamedTuple):
    """A level of isolation: its name in SQL, and the model that the documentation promises."""

    sql: str
    promise: str


class Facts(NamedTuple):
    """What a database says of itself."""

    server: str
    driver: str
    settings: dict[str, str]


class Problem(NamedTuple):
    """An error of a database: its code, its class and its text."""

    code: str
    kind: str
    text: str


Run = Callable[[str], Sequence[Sequence[Any]]]
"""Sends a statement, records it, and returns its rows."""


class Database(ABC):
    """A database that is recorded.

    `levels` are the levels of isolation that it has, by the recorder's names for them, the default
    first; `mark` stands for a value in a statement; `faults` are those that it can be given;
    `most_clients` is the bound on them: each is a thread with a connection;
    `online_indexes`: it has indexes that are created and dropped without a lock on writers.
    """

    name: ClassVar[str]
    levels: ClassVar[dict[str, Level]]
    mark: ClassVar[str] = "?"
    transactional_ddl: ClassVar[bool] = True
    online_indexes: ClassVar[bool] = False
    begin_sql: ClassVar[str] = "BEGIN"
    truncate_sql: ClassVar[str] = "TRUNCATE TABLE"
    appended_sql: ClassVar[str] = "v || {}"
    unique_sql: ClassVar[str] = "UNIQUE"
    dropped_from_sql: ClassVar[str] = ""
    valid_sql: ClassVar[str] = ""
    names_sql: ClassVar[str] = (
        "SELECT column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND table_name = '{}' ORDER BY ordinal_position"
    )
    faults: ClassVar[tuple[str, ...]] = ("slow-clients",)
    most_clients: ClassVar[int] = 1_000

    def __init__(self, url: URL, *, prepared: bool) -> None:
        self.url, self.prepared = url, prepared
        self.driver: Any = url.get_dialect().import_dbapi()
        self._engines: dict[URL, Engine] = {}

    @property
    def left_behind(self) -> str:
        """The file that a recording makes and leaves; empty where there is none."""
        return ""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """What the driver is given to connect, where the URL does not say otherwise."""
        return {}

    def engine(self, url: URL) -> Engine:
        """What connects to a URL."""
        from ddlsim.record.engine import engine_of

        if url not in self._engines:
            self._engines[url] = engine_of(url, self.arguments)
        return self._engines[url]

    def ground(self) -> AbstractContextManager[object]:
        """The place for the tables: made before the recording, taken away after it where it is not
        a file. Raises `RefusedError`.
        """
        return nullcontext()

    def check_clients(self, clients: int) -> None:
        """Refuse more clients than can have a connection; raises `RefusedError`."""
        if clients > self.most_clients:
            raise RefusedError(f"{self.name}: it takes {self.most_clients:,} clients at most")

    def drop(self, schema: str) -> None:
        """Take away a schema of this name, with all that is in it."""
        raise NotImplementedError

    def drop_database(self, name: str) -> None:
        """Take away a database of this name, where it is more than a schema."""
        self.drop(name)

    @property
    def place(self) -> URL:
        """Where the tables are."""
        return self.url

    def connect(self, isolation: str) -> Connection:
        """A connection whose transactions have a level of isolation, statements without BEGIN
        committed one by one, with time limits set.
        """
        made = self.engine(self.place).connect()
        try:
            self.set_up(made, isolation)
        except BaseException:
            made.close()
            raise
        return made

    @abstractmethod
    def set_up(self, connection: Connection, isolation: str) -> None:
        """Set the level and the limits of a new connection."""

    @abstractmethod
    def facts(self, connection: Connection) -> Facts:
        """Version and settings."""

    @abstractmethod
    def says(self, connection: Connection) -> str:
        """The level of isolation as the database tells it."""

    def number(self, connection: Connection) -> int | None:
        """What the server calls a session by, where sessions can be looked at; nothing is sent."""
        del connection
        return None

    def code(self, error: Any) -> str:
        """The code of an error of the driver."""
        return type(error).__name__

    def cursor(self, connection: Connection) -> Cursor:
        """Where a client's statements are sent."""
        return connection.connection.cursor()

    def changed(self, cursor: Cursor) -> int:
        """How many rows a statement has changed."""
        return cursor.rowcount

    def problem(self, error: Exception) -> Problem | None:
        """What an exception means; None if it is not the database's."""
        from sqlalchemy.exc import SQLAlchemyError

        given = getattr(error, "orig", None) or error
        is_drivers = isinstance(given, self.driver.Error)
        if not is_drivers and not isinstance(given, SQLAlchemyError):
            return None
        code = self.code(given) if is_drivers else type(given).__name__
        text = " ".join(without_secrets(self.url, str(given)).split())
        return Problem(code, class_of(self.name, code, text), text)

    @contextmanager
    def refusing(self, say: Callable[[Problem], str]) -> Iterator[None]:
        """Raise an error of the database as `RefusedError`, in words; leave any other one."""
        try:
            yield
        except Exception as error:
            problem = self.problem(error)
            if problem is None:
                raise
            raise RefusedError(f"{self.name}: {say(problem)}") from None

    # --- statements ------------------------------------------------------------------------------

    def begin(self, *, writes: bool) -> str:
        """How a transaction begins."""
        del writes
        return self.begin_sql

    def create(self, table: str) -> str:
        """A table with the columns that each has from the beginning."""
        return f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, x INTEGER, v TEXT, c0 INTEGER)"

    def insert(self, table: str, rows: Sequence[int]) -> str:
        """Rows with lists of one element, 0, and no value of x."""
        values = ", ".join(f"({row}, NULL, '0', 0)" for row in rows)
        return f"INSERT INTO {table} VALUES {values}"

    def read(self, table: str, step: Read) -> tuple[str, tuple[Any, ...]]:
        """All columns of some rows."""
        sql = (
            f"SELECT * FROM {table} WHERE id <= {ANCHORS[-1]} "
            f"OR id BETWEEN {self.mark} AND {self.mark} ORDER BY id"
        )
        return sql, (step.low, step.high)

    def append(self, table: str, step: Append) -> tuple[str, tuple[Any, ...]]:
        """One more element in the list of a row, and its value of x if one is given."""
        x, given = ("", ()) if step.x is None else (f"x = {self.mark}, ", (step.x,))
        v = self.appended_sql.format(self.mark)
        sql = f"UPDATE {table} SET {x}v = {v} WHERE id = {self.mark}"
        return sql, (*given, f",{step.value}", step.row)

    def insert_one(self, table: str, step: Append) -> tuple[str, tuple[Any, ...]]:
        """A row with a list of one element."""
        mark = self.mark
        sql = f"INSERT INTO {table} (id, x, v, c0) VALUES ({mark}, {mark}, {mark}, 0)"
        return sql, (step.row, step.x, str(step.value))

    def unique_index(self, table: str, step: UniqueIndex) -> str:
        """What an act on a unique index sends. By the name of an index a reader of the recording
        has its table, and that it is to be unique.
        """
        name, online = f"{table}_unique_{step.number}", " CONCURRENTLY" if step.online else ""
        return {
            CREATE: f"CREATE {self.unique_sql} INDEX{online} {name} ON {table} (x)",
            DROP: f"DROP INDEX{online} IF EXISTS {name}{self.dropped_from_sql.format(table)}",
            ASK: self.valid_sql.format(name),
            CLEAR: f"UPDATE {table} SET x = NULL WHERE x IS NOT NULL",
        }[step.act]

    def change(self, run: Run, table: str, step: AddColumn) -> None:
        """Add a column in the way of the step."""
        ways = {PLAIN: self.add, RETYPE: self.retype, TRUNCATE: self.truncate, SWAP: self.swap,
                RECREATE: self.recreate}  # fmt: skip
        ways[step.way](run, table, step)

    def add(self, run: Run, table: str, step: AddColumn) -> None:
        """Add a column, by one statement."""
        run(f"ALTER TABLE {table} ADD COLUMN {column(step)}")

    def retype(self, run: Run, table: str, step: AddColumn) -> None:
        """Add a column and change the type of another one, so that all rows are written anew.

        This is the way of those that have no statement for it.
        """
        self.swap(run, table, step, type_of(step))

    def truncate(self, run: Run, table: str, step: AddColumn) -> None:
        """Add a column after all rows were taken away and put back."""
        run(f"CREATE TABLE {table}_kept AS SELECT * FROM {table}")
        run(f"{self.truncate_sql} {table}")
        run(f"INSERT INTO {table} SELECT * FROM {table}_kept")
        run(f"DROP TABLE {table}_kept")
        self.add(run, table, step)

    def swap(self, run: Run, table: str, step: AddColumn, type_: str = "INTEGER") -> None:
        """Have a copy with the column take the table's place."""
        names = self._names(run, table)
        run(f"CREATE TABLE {table}_new ({definition(names, type_)}, {column(step)})")
        self._copy(run, names, table, f"{table}_new")
        run(f"ALTER TABLE {table} RENAME TO {table}_old")
        run(f"ALTER TABLE {table}_new RENAME TO {table}")
        run(f"DROP TABLE {table}_old")

    def recreate(self, run: Run, table: str, step: AddColumn) -> None:
        """Drop the table and create it again, with the column and the rows."""
        names = self._names(run, table)
        run(f"CREATE TABLE {table}_kept AS SELECT * FROM {table}")
        run(f"DROP TABLE {table}")
        run(f"CREATE TABLE {table} ({definition(names, 'INTEGER')}, {column(step)})")
        self._copy(run, names, f"{table}_kept", table)
        run(f"DROP TABLE {table}_kept")

    def _names(self, run: Run, table: str) -> list[str]:
        return [str(row[0]) for row in run(self.names_sql.format(table))]

    def _copy(self, run: Run, names: Sequence[str], source: str, target: str) -> None:
        listed = ", ".join(names)
        run(f"INSERT INTO {target} ({listed}) SELECT {listed} FROM {source}")

    # --- faults ----------------------------------------------------------------------------------

    def cut(self, connection: Connection) -> None:
        """Cut a connection that a client is using."""
        raise NotImplementedError

    def terminate(self, connection: Connection) -> None:
        """Have the server end a client's session."""
        raise NotImplementedError

    def held(self, table: str) -> AbstractContextManager[object]:
        """A table that no other session can use within the block."""
        raise NotImplementedError

    def restart(self) -> None:
        """End the server at once and start it again."""
        raise NotImplementedError


def column(step: AddColumn) -> str:
    """The column of a step as DDL has it."""
    return f"c{step.number} INTEGER DEFAULT {step.number}"


def definition(names: Sequence[str], type_: str) -> str:
    """The columns of a table as DDL has them; `type_` is that of the column x."""
    types = {"id": "INTEGER PRIMARY KEY", "x": type_, "v": "TEXT"}
    return ", ".join(
        f"{name} {types[name]}" if name in types else f"{name} INTEGER DEFAULT {name[1:]}"
        for name in names
    )


def type_of(step: AddColumn) -> str:
    """The type that a rewrite gives to the column x: another one each time."""
    return "BIGINT" if step.number % 2 else "INTEGER"


Opened = Callable[..., Database]
DATABASES: Final[Registry[Opened]] = Registry("recorded database", "ddlsim.record.dialects")
"""Every kind of database by the driver's name in its URL."""
