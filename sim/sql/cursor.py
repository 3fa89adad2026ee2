"""A place in a statement, token by token: what stands there, what is expected, what is wrong."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlglot.expressions import Table
from sqlglot.tokenizer_core import Token, TokenType

from sim.sql.dialect import check_expression, position, tables_read
from sim.sql.errors import SqlError

T = TypeVar("T")

_LITERALS: Final = (TokenType.STRING, TokenType.HEX_STRING, TokenType.IDENTIFIER, TokenType.NUMBER)
_NAME: Final = re.compile(r"[^\W\d]\w*")
_WORDS: Final = """
    ADD ALTER AND AS BY CHECK COLUMN COLUMNS CONSTRAINT CREATE DEFAULT DROP EXISTS FOREIGN FROM
    IF IN INTO IS NOT NULL ON OR ORDER PRIMARY REFERENCES RENAME SELECT SET TABLE TO UNIQUE USING
    VALUES WHERE WITH
"""
_RESERVED: Final = frozenset(_WORDS.split())
"""Words that name nothing unless they are quoted."""


class Cursor:
    """Reads the tokens of one statement from left to right.

    Names that are not quoted fold to lower case; quoted ones stay as they are. `written` tells how
    each name stood in the text.
    """

    def __init__(self, tokens: list[Token], text: str, first_line: int) -> None:
        self._tokens = tokens
        self._at = 0
        self._text = text
        self._first_line = first_line
        self.written: dict[str, str] = {}

    def _word(self, ahead: int) -> str | None:
        """The word some tokens ahead, in upper case; None for signs, literals and quoted names."""
        if self._at + ahead >= len(self._tokens):
            return None
        token = self._tokens[self._at + ahead]
        return None if token.token_type in _LITERALS else token.text.upper()

    def sees(self, *words: str) -> bool:
        """Whether these words, or signs, come next."""
        return all(self._word(ahead) == word for ahead, word in enumerate(words))

    def take(self, *words: str) -> bool:
        """Step over these words if they come next."""
        if not self.sees(*words):
            return False
        self._at += len(words)
        return True

    def take_one_of(self, *words: str) -> str | None:
        """Step over one of these words if it comes next, and tell which."""
        return next((word for word in words if self.take(word)), None)

    def expect(self, *words: str) -> None:
        """Step over these words, which have to come next."""
        for word in words:
            if not self.take(word):
                raise self.wrong(repr(word) if not word[0].isalpha() else word)

    def _literal(self, kind: TokenType) -> str | None:
        """Step over a literal of a kind if it comes next."""
        if self._at < len(self._tokens) and self._tokens[self._at].token_type is kind:
            self._at += 1
            return self._tokens[self._at - 1].text
        return None

    def string(self) -> str | None:
        """A string literal, if it comes next."""
        return self._literal(TokenType.STRING)

    def hex_string(self) -> str | None:
        """A binary literal as hexadecimal digits, if it comes next."""
        return self._literal(TokenType.HEX_STRING)

    def number(self) -> str | None:
        """A number without sign, if it comes next."""
        return self._literal(TokenType.NUMBER)

    def whole(self, what: str, low: int, high: int) -> int:
        """A whole number within bounds, which has to come next."""
        mark = self.mark()
        digits = self.number()
        if digits is None or not digits.isdecimal() or not low <= int(digits) <= high:
            raise self.wrong(f"{what}, a whole number from {low} to {high}", at=mark)
        return int(digits)

    def name(self, what: str = "a name") -> str:
        """A name, which has to come next."""
        quoted = self._literal(TokenType.IDENTIFIER)
        if quoted:
            return self._named(quoted, quoted)
        word = self._word(0)
        if word is None or word in _RESERVED or not _NAME.fullmatch(word):
            raise self.wrong(what)
        self._at += 1
        written = self._tokens[self._at - 1].text
        return self._named(written.lower(), written)

    def _named(self, name: str, written: str) -> str:
        self.written.setdefault(name, written)
        return name

    def object_name(self, what: str) -> str:
        """The name of a table, view or index, with or without the schema PUBLIC."""
        name = self.name(what)
        if not self.sees("."):
            return name
        if name != "public":
            raise self.wrong(f"no schema but PUBLIC before {what}")
        self.expect(".")
        return self.name(what)

    def listed(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Items between parentheses, with commas between them."""
        self.expect("(")
        items = [item()]
        while self.take(","):
            items.append(item())
        if not self.take(")"):
            raise self.wrong("',' or ')'")
        return tuple(items)

    def sees_after_name(self, word: str) -> bool:
        """Whether a word stands behind the next word and a name."""
        return self._word(2) == word

    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self._at == len(self._tokens)

    def expression(self) -> None:
        """An expression in parentheses, which has to come next."""
        self.expect("(")
        start, depth = self._at, 1
        while depth:
            if self._at == len(self._tokens):
                raise self.wrong("')'")
            depth += {"(": 1, ")": -1}.get(self._word(0) or "", 0)
            self._at += 1
        if self._at - 1 == start:
            self._at -= 1
            raise self.wrong("an expression")
        with self._moved():
            check_expression(self._tokens[start : self._at - 1], self._text)

    def query(self) -> tuple[str, tuple[str, ...]]:
        """All that is left as a query: its text, and the tables that it reads."""
        if not (self.sees("SELECT") or self.sees("WITH")):
            raise self.wrong("SELECT or WITH")
        start, self._at = self._at, len(self._tokens)
        with self._moved():
            tables = tables_read(self._tokens[start:], self._text)
        return self.since(start), tuple(self._folded(table) for table in tables)

    def _folded(self, table: Table) -> str:
        """The name of a table in a query, folded as all names are."""
        if table.db and table.db.lower() != "public":
            raise self.wrong("no schema but PUBLIC", f"unknown schema {table.db!r}")
        quoted = bool(table.this.args.get("quoted"))
        return table.name if quoted else table.name.lower()

    @contextmanager
    def _moved(self) -> Iterator[None]:
        """Errors of sqlglot count lines from the top of the text; the text begins further down."""
        try:
            yield
        except SqlError as error:
            line = error.line + self._first_line - 1
            raise SqlError(error.message, line, error.column, error.expected) from None

    def mark(self) -> int:
        """The present place, for `since` and `wrong`."""
        return self._at

    def since(self, mark: int) -> str:
        """The text from a marked place up to here."""
        return self._text[self._tokens[mark].start : self._tokens[self._at - 1].end + 1]

    def end(self, expected: str = "the end of the statement") -> None:
        """Nothing may be left."""
        if self._at < len(self._tokens):
            raise self.wrong(expected)

    def wrong(self, expected: str, why: str | None = None, at: int | None = None) -> SqlError:
        """The error that something else stands here, or at a marked place, than was expected."""
        place = self._at if at is None else at
        if place < len(self._tokens):
            token = self._tokens[place]
            offset = token.start
            found = f"unexpected {self._text[offset : token.end + 1]!r}"
        else:
            offset, found = self._tokens[-1].end + 1, "the statement ends here"
        line, column = position(self._text, offset)
        return SqlError(why or found, line + self._first_line - 1, column, expected)
