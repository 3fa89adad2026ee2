"""The `ignite` dialect of sqlglot, and its tokens.

Whatever sqlglot's tokenizer skips without being a comment, and whatever it would swallow as the
rest of a command, is an error here.
"""

import logging
import re
from typing import ClassVar, Final

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from ddlsim.sql.errors import Unread
from ddlsim.sql.grammar import Grammar

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # its warnings are errors here

_GAP: Final = re.compile(r"\s*(?:--|/\*|$)", re.DOTALL)
"""What may stand between two tokens: space, or a comment."""


class Ignite(Dialect):
    """Apache Ignite 3: standard SQL, names folded, and zones."""

    class Tokenizer(tokens.Tokenizer):
        """No word starts a command: sqlglot would swallow the rest of the statement."""

        COMMANDS: ClassVar[set[TokenType]] = set()
        HEX_STRINGS: ClassVar[list[str | tuple[str, str]]] = [("x'", "'"), ("X'", "'")]
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            "BINARY VARYING": TokenType.VARBINARY,
            **{
                word: kind
                for word, kind in tokens.Tokenizer.KEYWORDS.items()
                if word not in {"PRIMARY KEY", "FOREIGN KEY"}  # which may be a name in one piece
            },
        }

    Parser = Grammar


def tokenize(text: str) -> list[Token]:
    """The tokens of a text; whatever is neither token nor comment is an error."""
    try:
        found = Ignite().tokenize(text)
    except TokenError:
        opening, offset = _unclosed(text)
        raise Unread(f"{opening} is never closed", offset, "its end") from None
    end = 0
    for start, after in [(one.start, one.end + 1) for one in found] + [(len(text), len(text))]:
        gap = text[end:start]
        if not _GAP.match(gap):
            raise Unread("unreadable characters", end + len(gap) - len(gap.lstrip()), "SQL")
        end = after
    return found


_PIECE: Final = re.compile(r"--[^\n]*|/\*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|.", re.DOTALL)


def _unclosed(text: str) -> tuple[str, int]:
    """The quote or comment that is opened and never closed, and where; sqlglot does not tell."""
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
