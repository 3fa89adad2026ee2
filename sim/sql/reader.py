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
RESERVED: Final = frozenset(_WORDS.split())
"""Words that name nothing unless they are quoted."""

_EXPECTED: Final = re.compile(r"Expect(?:ing|ed) (.+?)(?: but got .*)?", re.DOTALL)
"""How sqlglot's own methods tell what they expected."""


class Reader(BaseParser):
    """sqlglot's parser with required words, names and lists; errors are `Unread` with an offset.

    `written` tells how each name of the present statement stands in the text.
    """

    written: dict[str, str]

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> NoReturn:
        """Raise what sqlglot's own methods report, in an expression or a query."""
        matched = _EXPECTED.fullmatch(message)
        expected = matched.group(1) if matched else "an expression"
        raise self.wrong(expected if expected[0].isalpha() else repr(expected), at=token)

    def _parse_as_command(self, start: Token) -> NoReturn:
        """Raise an error where sqlglot would only warn and keep the text as a command."""
        raise self.wrong("SQL that sqlglot can read", at=start)

    def wrong(self, expected: str, why: str | None = None, at: Token = SENTINEL_NONE) -> Unread:
        """The error for an unexpected next token, or for the given one."""
        token = at or self._curr
        if not token:
            return Unread(why or "the statement ends here", self._prev.end + 1, expected)
        found = f"unexpected {self._find_sql(token, token)!r}"
        return Unread(why or found, token.start, expected)

    def end(self, expected: str = "the end of the statement") -> None:
        """Raise an error if tokens are left."""
        if self._curr:
            raise self.wrong(expected)

    def word(self, expected: str, *words: str) -> str:
        """Consume one of these words; an error if another token comes next."""
        if not self._match_texts(words):
            raise self.wrong(expected)
        return self._prev.text.upper()

    def need(self, *words: str) -> None:
        """Consume these words or signs; an error if other tokens come next."""
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
        """Whether a token of this kind comes next."""
        return self._match(kind, advance=False)

    def _parse_csv(
        self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA
    ) -> list[T]:
        """Items with commas between them; an error where none follows a comma."""

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
        """Consume a name, folded to lower case unless quoted; an error if none comes next."""
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
        return token.text.upper() not in RESERVED and _NAME.fullmatch(token.text) is not None

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
        """Consume a literal of a kind; an error if none comes next."""
        if not self._match(kind):
            raise self.wrong(expected)
        return self._prev.text

    def whole(self, what: str, low: int, high: int) -> int:
        """Consume a whole number within bounds; an error if none comes next."""
        start, expected = self._curr, f"{what}, a whole number from {low} to {high}"
        digits = self.literal(TokenType.NUMBER, expected)
        if not digits.isdecimal() or len(digits) > DIGITS or not low <= int(digits) <= high:
            raise self.wrong(expected, at=start)
        return int(digits)
