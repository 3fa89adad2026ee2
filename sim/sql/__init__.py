"""SQL statements in, schema changes out.

`parse` reads a text of statements with `;` between them:

    CREATE TABLE, ALTER TABLE (any number of actions), DROP TABLE
    CREATE [UNIQUE] INDEX, DROP INDEX
    CREATE VIEW, ALTER VIEW … RENAME TO, DROP VIEW
    CREATE ZONE, ALTER ZONE … SET, DROP ZONE
    SELECT * FROM t, SELECT a, b FROM t, either with WHERE key = constant

and nothing else: a word that is not understood is an error, with its line and column and what was
expected in its place. IF [NOT] EXISTS may stand wherever it has a meaning. Names fold to lower case
unless they are quoted, so `T`, `t` and `"t"` are one name and `"T"` is another.

What only concerns the storage of the real system is read and has no effect: USING SORTED or HASH,
directions of index columns, COLOCATE BY, storage profiles.
"""

from typing import NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

from sim.model.ddl import Statement
from sim.model.ops import Get, Scan
from sim.sql.cursor import Cursor
from sim.sql.dialect import tokenize
from sim.sql.errors import SqlError
from sim.sql.objects import (
    alter_view,
    alter_zone,
    create_index,
    create_view,
    create_zone,
    drop,
    select,
)
from sim.sql.tables import alter_table, create_table

__all__ = ["Parsed", "SqlError", "parse"]


class Parsed(NamedTuple):
    """One statement: what it asks for, its text, its first line, and its names as written.

    `written` maps each name to its first spelling in the statement.
    """

    statement: Statement | Get | Scan
    sql: str
    line: int
    written: dict[str, str]


def parse(text: str, first_line: int = 1) -> list[Parsed]:
    """Every statement of a text whose first line has the given number."""
    try:
        tokens = tokenize(text)
    except SqlError as error:
        line = error.line + first_line - 1
        raise SqlError(error.message, line, error.column, error.expected) from None
    parsed = []
    for chunk in _split(tokens):
        cursor = Cursor(chunk, text, first_line)
        statement = _statement(cursor)
        cursor.end()
        sql = text[chunk[0].start : chunk[-1].end + 1]
        line = first_line + text.count("\n", 0, chunk[0].start)
        parsed.append(Parsed(statement, sql, line, cursor.written))
    return parsed


def _split(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement; nothing between two semicolons is no statement."""
    chunks: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            chunks.append([])
        else:
            chunks[-1].append(token)
    return [chunk for chunk in chunks if chunk]


def _statement(cursor: Cursor) -> Statement | Get | Scan:
    """One statement, by its first words."""
    if cursor.take("SELECT"):
        return select(cursor)
    if cursor.take("DROP"):
        return drop(cursor)
    if cursor.take("CREATE"):
        return _create(cursor)
    if not cursor.take("ALTER"):
        raise cursor.wrong("CREATE, ALTER, DROP or SELECT")
    if cursor.take("TABLE"):
        return alter_table(cursor)
    if cursor.take("VIEW"):
        return alter_view(cursor)
    if cursor.take("ZONE"):
        return alter_zone(cursor)
    raise cursor.wrong("TABLE, VIEW or ZONE")


def _create(cursor: Cursor) -> Statement:
    if cursor.take("TABLE"):
        return create_table(cursor)
    if cursor.take("VIEW"):
        return create_view(cursor)
    if cursor.take("ZONE"):
        return create_zone(cursor)
    unique = cursor.take("UNIQUE")
    if not cursor.take("INDEX"):
        raise cursor.wrong("INDEX" if unique else "TABLE, [UNIQUE] INDEX, VIEW or ZONE")
    return create_index(cursor, unique=unique)
