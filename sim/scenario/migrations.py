"""The DDL of a scenario: its schema, its migrations, and the instant of each statement."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ddlsim.model.records import Record
from ddlsim.scenario import checks, config
from ddlsim.scenario.declared import Declared
from ddlsim.scenario.files import Files
from ddlsim.scenario.first_schema import check_schema
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin
from ddlsim.scenario.sqltext import SqlLine, read_ddl, read_file
from ddlsim.units import Micros, ms

MEANT: Final = "if it is to be refused, make it a [[step]] that expects so"


class MigrationEntry(Record, frozen=True):
    """A `[[migration]]` with its statements read, its client and its node."""

    client: str
    node: str
    table: config.Migration
    statements: tuple[SqlLine, ...]


class PacedStatement(NamedTuple):
    """A migration's statement; `at_us` None: as soon as the one before has ended."""

    entry: MigrationEntry
    at_us: Micros | None
    line: SqlLine


def read_schema(table: config.Schema, origin: Origin, files: Files) -> tuple[SqlLine, ...]:
    """The statements of `[schema]`."""
    if table.sql is not None and table.file is not None:
        raise origin.error(("schema", "file"), "sql and file both; keep one of them")
    if table.sql is None and table.file is None:
        return ()
    lines = _statements(table, origin, files, ("schema",))
    check_schema(lines, origin, ("schema", "sql" if table.file is None else "file"))
    return lines


def read_migrations(
    tables: list[config.Migration], nodes: tuple[str, ...], origin: Origin, files: Files
) -> tuple[MigrationEntry, ...]:
    """Every migration; by default each has a client of its own, on the first node."""
    entries = []
    for index, table in enumerate(tables):
        path: Path = ("migration", index)
        checks.must_exist(table.node, nodes, origin, (*path, "node"))
        if (table.sql is None) == (table.file is None):
            raise origin.error(path, 'a migration has either sql = "…" or file = "…"')
        client = table.client or f"migration-{index + 1}"
        checks.must_be_client(client, nodes, origin, (*path, "client"))
        statements = _statements(table, origin, files, path)
        entries.append(MigrationEntry(client, table.node or nodes[0], table, statements))
    return tuple(entries)


def check_names(entries: tuple[MigrationEntry, ...], declared: Declared, origin: Origin) -> None:
    """Check that the statements of a scenario make all that its migrations need.

    A statement that can only be refused is a slip: the run would end as OK without it.
    """
    for index, entry in enumerate(entries):
        for line in entry.statements:
            if (why := declared.refused(line.statement, MEANT)) is not None:
                what, file = f"{line.sql!r}: {why}", entry.table.file
                if file is None:
                    raise origin.error_at(line.line, ("migration", index, "sql"), what)
                raise origin.file_error(("migration", index, "file"), file, line.line, what)


def _statements(
    table: config.Schema | config.Migration, origin: Origin, files: Files, path: Path
) -> tuple[SqlLine, ...]:
    if table.sql is not None:
        return read_ddl(table.sql, origin, (*path, "sql"))
    assert table.file is not None
    file_path = (*path, "file")
    return read_file(files.read(table.file, origin, file_path), table.file, origin, file_path)


def paced(entries: tuple[MigrationEntry, ...]) -> Iterator[PacedStatement]:
    """Every statement of every migration, with its instant."""
    for entry in entries:
        at_us, every_ms = ms(entry.table.at_ms), entry.table.every_ms
        for number, line in enumerate(entry.statements):
            if every_ms is not None:
                yield PacedStatement(entry, Micros(at_us + number * ms(every_ms)), line)
            else:
                yield PacedStatement(entry, at_us if number == 0 else None, line)
