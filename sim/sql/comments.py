"""Comments that address the linter: `-- ddlsim: ignore`, and the line of SQL that each concerns.

A comment behind or before SQL is about the line on which it stands; one on lines of its own is
about the next line of SQL, with other comments but no empty line between them.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

_COMMENT: Final = re.compile(r"--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_REQUEST: Final = re.compile(r"ddlsim\s*:\s*(\w*)(.*?)(?:\*/)?\Z", re.DOTALL | re.IGNORECASE)
_EMPTY_LINE: Final = re.compile(r"\n\s*\n")


class Request(NamedTuple):
    """A request in a comment: the `word` after `ddlsim:`, the `text` after that, and its line.

    `line` is that of the comment, `about` that of the SQL; 0 where there is none.
    """

    word: str
    text: str
    line: int
    about: int


def requests(tokens: Sequence[Token], text: str) -> Iterator[Request]:
    """Every comment that begins a request, in order; lines count from 1."""
    end = 0
    for at in range(len(tokens) + 1):
        start = tokens[at].start if at < len(tokens) else len(text)
        for comment in _COMMENT.finditer(text, end, start):
            found = _REQUEST.search(comment.group())
            if found is not None:
                about = _about(tokens, at, text, comment)
                words = " ".join(found[2].split())
                yield Request(found[1].lower(), words, _line(text, comment.start()), about)
        end = tokens[at].end + 1 if at < len(tokens) else end


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _about(tokens: Sequence[Token], at: int, text: str, comment: re.Match[str]) -> int:
    """The line of SQL that a comment before token `at` is about."""
    if at and "\n" not in text[tokens[at - 1].end + 1 : comment.start()]:
        before = next((one for one in reversed(tokens[:at]) if _is_sql(one)), None)
        return 0 if before is None else _line(text, before.end)
    after = next((one for one in tokens[at:] if _is_sql(one)), None)
    if after is None or _EMPTY_LINE.search(text[comment.end() : after.start]):
        return 0
    return _line(text, after.start)


def _is_sql(token: Token) -> bool:
    return token.token_type is not TokenType.SEMICOLON
