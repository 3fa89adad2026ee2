"""SQL statements in, schema changes out.

`parse` reads a text of statements with `;` between them:

    CREATE TABLE, ALTER TABLE (any number of actions), DROP TABLE
    CREATE [UNIQUE] INDEX, DROP INDEX
    CREATE VIEW, ALTER VIEW … RENAME TO, DROP VIEW
    CREATE ZONE, ALTER ZONE … SET, DROP ZONE
    SELECT * FROM t, SELECT a, b FROM t, either with WHERE key = constant

and nothing else; `parse_operations` reads writes of rows too (dml). A word that is not understood
is an error, with its line and column and what was expected in its place. IF [NOT] EXISTS may stand
wherever it has a meaning. Names fold to lower case unless they are quoted, so `T`, `t` and `"t"`
are one name and `"T"` is another.

What only concerns the storage of the real system is read and has no effect: USING SORTED or HASH,
directions of index columns, COLOCATE BY, storage profiles.

sqlglot parses, with the dialect `Ignite` (dialect); what Ignite adds to its parser is, from the
bottom up, reader, columns, tables and grammar.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from sim.sql.dialect import Ignite, tokenize
from sim.sql.dml import Operations, RowWrite
from sim.sql.errors import SqlError, Unread
from sim.sql.grammar import Grammar, Parsed

__all__ = ["Parsed", "RowWrite", "SqlError", "parse", "parse_operations"]

_TEXTS_REMEMBERED: Final = 4096


def parse(text: str, first_line: int = 1) -> list[Parsed]:
    """Every statement of a text whose first line has the given number."""
    return _told(_parse, text, first_line)


def parse_operations(text: str, first_line: int = 1) -> list[Any]:
    """The same, and writes of rows too: a `Parsed` whose statement may be a `RowWrite`."""
    return _told(_parse_operations, text, first_line)


def _told(read: Callable[[str], tuple[Parsed, ...]], text: str, first_line: int) -> list[Parsed]:
    try:
        found = read(text)
    except Unread as error:
        line = text.count("\n", 0, error.offset) + first_line
        column = error.offset - text.rfind("\n", 0, error.offset)
        raise SqlError(error.message, line, column, error.expected) from None
    except RecursionError:
        what = "parentheses nested too deeply to be read"
        raise SqlError(what, first_line, 1, "a flatter expression") from None
    return [one._replace(line=one.line + first_line, written=dict(one.written)) for one in found]


def _parse_operations(text: str) -> tuple[Parsed, ...]:
    return tuple(Operations(dialect=Ignite).statements(tokenize(text), text))


@lru_cache(_TEXTS_REMEMBERED)
def _parse(text: str) -> tuple[Parsed, ...]:
    """The statements of a text; the same DDL is run again and again."""
    return tuple(Grammar(dialect=Ignite).statements(tokenize(text), text))
