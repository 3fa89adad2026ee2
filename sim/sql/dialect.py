"""The `ignite` dialect of sqlglot: its tokens, and its expressions and queries.

sqlglot's own grammar reads statements with much good will: what it does not understand becomes a
`Command` with a mere warning, and clauses that it knows from other databases are accepted anywhere.
A linter must not overlook a word. So sqlglot does here what it does strictly, that is to cut a text
into tokens and to read expressions (CHECK) and queries (CREATE VIEW); the statements themselves are
read by the grammar of this package, token by token.
"""

import logging
import re
from typing import ClassVar, Final

from sqlglot import exp, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from sim.sql.errors import SqlError

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings are errors here

_PHRASES: Final = (
    "PRIMARY KEY",
    "FOREIGN KEY",
    "DOUBLE PRECISION",
    "CHAR VARYING",
    "CHARACTER VARYING",
)
"""Two words that sqlglot takes for one token; the grammar reads word by word."""

_GAP: Final = re.compile(r"\s*(?:--|/\*|$)", re.DOTALL)
"""What may stand between two tokens: space, or a comment."""


class Ignite(Dialect):
    """Apache Ignite 3: standard SQL, names folded, no statement that sqlglot would not read."""

    class Tokenizer(tokens.Tokenizer):
        """No word starts a command: sqlglot would swallow the rest of the statement."""

        COMMANDS: ClassVar[set[TokenType]] = set()
        HEX_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("x'", "'"), ("X'", "'")]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            word: kind for word, kind in tokens.Tokenizer.KEYWORDS.items() if word not in _PHRASES
        }


def position(text: str, offset: int) -> tuple[int, int]:
    """The line and column of an offset, counted from 1."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


def tokenize(text: str) -> list[Token]:
    """The tokens of a text; whatever is neither token nor comment is an error."""
    try:
        found = Ignite().tokenize(text)
    except TokenError:
        opening, offset = _unclosed(text)
        message = f"{opening} is never closed"
        raise SqlError(message, *position(text, offset), "its end") from None
    end = 0
    for start, after in [(one.start, one.end + 1) for one in found] + [(len(text), len(text))]:
        gap = text[end:start]
        if not _GAP.match(gap):
            offset = end + len(gap) - len(gap.lstrip())
            raise SqlError("unreadable characters", *position(text, offset), "SQL")
        end = after
    return found


_PIECE: Final = re.compile(r"--[^\n]*|/\*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", re.DOTALL)


def _unclosed(text: str) -> tuple[str, int]:
    """The quote or comment that is opened and never closed, and where."""
    depth, opened, offset = 0, 0, 0
    while offset < len(text):
        if depth and text.startswith("*/", offset):
            depth, offset = depth - 1, offset + 2
            continue
        piece = _PIECE.match(text, offset)
        assert piece is not None, offset
        found = piece.group()
        if found == "/*":
            opened = opened if depth else offset
            depth += 1
        elif found in {"'", '"'} and not depth:
            return f"the quote {found}", offset
        offset += 1 if depth and found != "/*" else len(found)
    return ("the comment /*", opened) if depth else ("the text", len(text))


def check_expression(found: list[Token], text: str) -> None:
    """Make sure that the tokens are one expression."""
    _read(found, text, exp.Condition, "an expression")


def tables_read(found: list[Token], text: str) -> list[exp.Table]:
    """Make sure that the tokens are one query, and name the tables that it reads, in order."""
    query = _read(found, text, None, "a query")
    if not isinstance(query, exp.Query) or query.find(exp.Command) is not None:
        raise SqlError("this is no query", *position(text, found[0].start), "a query")
    local = {cte.alias for cte in query.find_all(exp.CTE)}
    return [table for table in query.find_all(exp.Table) if table.db or table.name not in local]


def _read(
    found: list[Token], text: str, into: type[exp.Expr] | None, expected: str
) -> exp.Expr | None:
    """Let sqlglot read an expression or a query, and take its complaints seriously."""
    parser = Ignite().parser()
    try:
        read = parser.parse_into(into, found, text) if into else parser.parse(found, text)
    except ParseError as error:
        complaint = error.errors[0] if error.errors else {}
        place = (complaint.get("line"), complaint.get("col"))
        token = next((one for one in found if (one.line, one.col) == place), found[-1])
        message = f"unexpected {text[token.start : token.end + 1]!r}"
        raise SqlError(message, *position(text, token.start), expected) from None
    return read[0] if len(read) == 1 else None
