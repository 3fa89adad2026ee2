"""sqlglot's parser made strict: words, names and lists that have to come next, and their places."""

import re
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.base import BaseParser
from sqlglot.tokenizer_core import Token, TokenType

from ddlsim.sql.errors import Unread

T = TypeVar("T")

_NAME: Final = re.compile(r"[^\W\d]\w*")
_WORDS: Final = """
    ADD ALTER AND AS BY CHECK COLUMN COLUMNS CONSTRAINT CREATE DEFAULT DROP EXISTS FOREIGN FROM
    IF IN INTO IS NOT NULL ON OR ORDER PRIMARY REFERENCES RENAME SELECT SET TABLE TO UNIQUE USING
    VALUES WHERE WITH
"""
DIGITS: Final = 18
"""No size or precision has more."""
_RESERVED: Final = frozenset(_WORDS.split())
"""Words that name nothing unless they are quoted."""

_EXPECTED: Final = re.compile(r"Expect(?:ing|ed) (.+?)(?: but got .*)?", re.DOTALL)
"""How sqlglot's own methods tell what they expected."""


class Reader(BaseParser):
    """What sqlglot's parser lacks; every complaint is an `Unread` with its offset.

    `written` tells how each name of the present statement stands in the text.
    """

    written: dict[str, str]

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> NoReturn:
        """What sqlglot's own methods complain about: in an expression, or in a query."""
        told = _EXPECTED.fullmatch(message)
        expected = told.group(1) if told else "an expression"
        raise self.wrong(expected if expected[0].isalpha() else repr(expected), at=token)

    def _parse_as_command(self, start: Token) -> NoReturn:
        """What sqlglot does with all that it cannot read, under a mere warning."""
        raise self.wrong("SQL that sqlglot can read", at=start)

    def wrong(self, expected: str, why: str | None = None, at: Token = SENTINEL_NONE) -> Unread:
        """The error that something else comes next, or at a token, than was expected."""
        token = at or self._curr
        if not token:
            return Unread(why or "the statement ends here", self._prev.end + 1, expected)
        found = f"unexpected {self._find_sql(token, token)!r}"
        return Unread(why or found, token.start, expected)

    def end(self, expected: str = "the end of the statement") -> None:
        """Nothing may be left."""
        if self._curr:
            raise self.wrong(expected)

    def word(self, expected: str, *words: str) -> str:
        """One of these words, which has to come next."""
        if not self._match_texts(words):
            raise self.wrong(expected)
        return self._prev.text.upper()

    def need(self, *words: str) -> None:
        """These words, or signs, which have to come next."""
        for word in words:
            self.word(word if word[0].isalpha() else repr(word), word)

    def listed(self, item: Callable[[], T]) -> list[T]:
        """Items between parentheses, with commas between them."""
        self.need("(")
        items = self._parse_csv(item)
        self.word("',' or ')'", ")")
        return items

    def maybe_listed(self, item: Callable[[], T]) -> list[T]:
        """Items between parentheses, or one without."""
        return self.listed(item) if self.sees(TokenType.L_PAREN) else [item()]

    def sees(self, kind: TokenType) -> bool:
        """Whether such a token comes next."""
        return self._match(kind, advance=False)

    def _parse_csv(
        self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA
    ) -> list[T]:
        """Something has to come behind each comma."""

        def item() -> T | None:
            found = parse_method()
            if found is None and self._prev.token_type is sep:
                raise self.wrong("an expression")
            return found

        return super()._parse_csv(item, sep)

    def text_since(self, start: Token) -> str:
        """The text from a token up to here."""
        return self._find_sql(start, self._prev)

    def name(self, what: str = "a column name") -> str:
        """A name, which has to come next, folded to lower case unless it is quoted."""
        token = self._curr
        quoted = token.token_type is TokenType.IDENTIFIER and token.text != ""
        if not quoted and not self._is_plain_name(token):
            raise self.wrong(what)
        self._advance()
        name = token.text if quoted else token.text.lower()
        self.written.setdefault(name, token.text)
        return name

    def _is_plain_name(self, token: Token) -> bool:
        if not token or token.token_type in self.TEXT_MATCH_EXCLUDED_TOKENS:
            return False
        return token.text.upper() not in _RESERVED and _NAME.fullmatch(token.text) is not None

    def object_name(self, what: str) -> str:
        """The name of a table, view or index, with or without the schema PUBLIC."""
        name = self.name(what)
        if not self.sees(TokenType.DOT):
            return name
        if name.lower() != "public":
            raise self.wrong(f"no schema but PUBLIC before {what}")
        self._advance()
        return self.name(what)

    def literal(self, kind: TokenType, expected: str) -> str:
        """A literal of a kind, which has to come next."""
        if not self._match(kind):
            raise self.wrong(expected)
        return self._prev.text

    def whole(self, what: str, low: int, high: int) -> int:
        """A whole number within bounds, which has to come next."""
        start, expected = self._curr, f"{what}, a whole number from {low} to {high}"
        digits = self.literal(TokenType.NUMBER, expected)
        if not digits.isdecimal() or len(digits) > DIGITS or not low <= int(digits) <= high:
            raise self.wrong(expected, at=start)
        return int(digits)
