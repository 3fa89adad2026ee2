"""The statements of a file as a database's own client would send them, one after the other.

sqlglot's tokens tell where strings, quoted names, dollar quotes and comments end; the text between
them is sent as it stands. Nothing is parsed: what the statements mean is the database's business.
Comments that MariaDB executes (`/*! ... */`) are no comments here.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

from sqlglot.dialects import DuckDB, MySQL, Postgres, SQLite
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from ddlsim.sql.errors import SqlError

FAMILIES: Final[dict[str, type[Dialect]]] = {
    "postgresql": Postgres,
    "mariadb": MySQL,
    "sqlite": SQLite,
    "duckdb": DuckDB,
}
"""Whose tokens a database has."""
WITH_BODIES: Final = frozenset({"TRIGGER", "FUNCTION", "PROCEDURE", "EVENT"})
"""What is created with statements of its own between BEGIN and END."""
BEFORE_KIND: Final = frozenset(
    {"CREATE", "OR", "REPLACE", "TEMP", "TEMPORARY", "CONSTRAINT", "AGGREGATE", "DEFINER", "=", "@",
     "CURRENT_USER", "CURRENT_ROLE", "(", ")", ""}
)  # fmt: skip
"""Words of CREATE before the kind of what is created; a name of an account is none."""
OPENING: Final = frozenset({"BEGIN", "CASE"})
LOOPS: Final = frozenset({"IF", "LOOP", "WHILE", "REPEAT", "FOR"})
"""After END these close what no word of `OPENING` has opened."""
STRINGS: Final = frozenset(
    {TokenType.STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING, TokenType.NATIONAL_STRING,
     TokenType.RAW_STRING, TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING}
)  # fmt: skip
NO_WORDS: Final = STRINGS | {TokenType.IDENTIFIER}
FIRST_WORDS: Final = 16
"""So many words of a statement at most are looked at for the kind of what it creates."""
COMMAND: Final = re.compile(r"^\\", re.MULTILINE)
EXECUTED: Final = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--\s[^\n]*|\#[^\n]*"""
    r"|(?P<opens>/\*M?!\d*).*?(?P<closes>\*/)|/\*.*?\*/",
    re.DOTALL,
)
"""Strings, names and comments of MariaDB, of which the groups are comments that it executes."""
STARTS: Final = frozenset({"BEGIN", "ATOMIC", "THEN", "ELSE", "DO", "LOOP", "REPEAT", ";"})
"""Words behind which a statement of a body may begin."""
DYNAMIC: Final = frozenset({"EXECUTE", "PREPARE"})
"""Words of statements whose strings may be SQL."""
CLIENTS: Final = "a command of a client, not of the database"


class Sent(NamedTuple):
    """A statement as it is sent, and the line on which it begins, from 1.

    `words` are its words in capitals, without strings; `qualifiers` those before a dot; `inner` the
    words of statements that may be in its body, or in strings that it executes.
    """

    sql: str
    line: int
    words: tuple[str, ...]
    qualifiers: frozenset[str]
    inner: tuple[tuple[str, ...], ...] = ()


def split(text: str, database: str) -> list[Sent]:
    """The statements of a text for a database; raises `SqlError`."""
    executed = _executed(text) if database == "mariadb" else []
    plain = _without(text, executed)
    groups = [*_grouped(_tokens(plain, database))]
    found = [_sent(text, each, executed, database) for each in groups]
    for each in found:
        if each.words[:1] == ("DELIMITER",) and database == "mariadb":
            raise SqlError(CLIENTS, each.line, 1, "SQL")
    return found


def _executed(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where comments that MariaDB executes are opened, and where they are closed."""
    found = [one for one in EXECUTED.finditer(text) if one["opens"]]
    return [(one.span("opens"), one.span("closes")) for one in found]


def _without(text: str, executed: list[tuple[tuple[int, int], tuple[int, int]]]) -> str:
    """The text with blanks in the place of the marks of these comments."""
    for spans in executed:
        for begin, end in spans:
            text = text[:begin] + " " * (end - begin) + text[end:]
    return text


def _tokens(text: str, database: str) -> list[Token]:
    commands = [at.start() for at in COMMAND.finditer(text)]
    try:
        found = [*_tokenizer(FAMILIES[database])().tokenize(text)]
    except TokenError as error:
        if commands:
            raise SqlError(CLIENTS, _line(text, commands[0]), 1, "SQL") from None
        raise SqlError(f"not readable ({' '.join(str(error).split())[:80]})", 1, 1, "SQL") from None
    for at in commands:
        if not any(one.start < at <= one.end for one in found):
            raise SqlError(CLIENTS, _line(text, at), 1, "SQL")
    return found


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


@cache
def _tokenizer(dialect: type[Dialect]) -> Any:
    """A dialect in which no word swallows the rest of its statement, strings and all."""
    own: Any = getattr(dialect, "Tokenizer")  # noqa: B009 - made by a metaclass
    plain = type("Tokenizer", (own,), {"COMMANDS": set(), "KEYWORDS": own.KEYWORDS})
    return type(f"Plain{dialect.__name__}", (dialect,), {"Tokenizer": plain})


def _grouped(found: Sequence[Token]) -> Iterator[list[Token]]:
    """Tokens up to each semicolon that ends a statement."""
    held: list[Token] = []
    depth = 0
    for at, token in enumerate(found):
        if token.token_type is TokenType.SEMICOLON and not depth:
            if held:
                yield held
            held = []
            continue
        held.append(token)
        if _has_body(held) or _is_block(found[at : at + 3]):
            following = _word(found[at + 1]) if at + 1 < len(found) else ""
            depth = max(0, depth + _step(token, _word(found[at - 1]), following))
    if held:
        yield held


def _is_block(held: Sequence[Token]) -> bool:
    """Whether these words begin a block outside of any CREATE, which MariaDB has."""
    return [_word(one) for one in held] == ["BEGIN", "NOT", "ATOMIC"]


def _has_body(held: Sequence[Token]) -> bool:
    if _is_block(held[:3]):
        return True
    words = [_word(one) for one in held[:FIRST_WORDS]]
    accounts = {at + 1 for at, word in enumerate(words) if word in {"=", "@"}}
    kind = next(
        (each for at, each in enumerate(words) if each not in BEFORE_KIND and at not in accounts),
        "",
    )
    return words[0] == "CREATE" and kind in WITH_BODIES


def _step(token: Token, before: str, following: str) -> int:
    word = _word(token)
    if word in OPENING:
        return 0 if before == "END" else 1
    return -1 if word == "END" and following not in LOOPS else 0


def _word(token: Token) -> str:
    """The word in capitals; nothing for a string or a quoted name."""
    return "" if token.token_type in NO_WORDS else token.text.upper()


def _sent(
    text: str,
    held: Sequence[Token],
    executed: list[tuple[tuple[int, int], tuple[int, int]]],
    database: str,
) -> Sent:
    begin, end = held[0].start, held[-1].end + 1
    for (opens, _), (_, closes) in executed:
        begin = opens if opens < begin < closes else begin
        end = closes if opens < end < closes else end
    inner = [*_inner(held, database)]
    words = _words(held)
    return Sent(
        text[begin:end],
        text.count("\n", 0, begin) + 1,
        words,
        _qualifiers(held).union(*(_qualifiers(one) for one in inner)),
        tuple(_words(one) for one in inner),
    )


def _words(held: Sequence[Token]) -> tuple[str, ...]:
    return tuple(one.text.upper() for one in held if one.token_type not in STRINGS)


def _qualifiers(held: Sequence[Token]) -> frozenset[str]:
    dotted = pairwise(one for one in held if one.token_type not in STRINGS)
    return frozenset(a.text.upper() for a, b in dotted if b.token_type is TokenType.DOT)


def _inner(
    held: Sequence[Token], database: str, *, in_body: bool = False
) -> Iterator[Sequence[Token]]:
    """What may be a statement within one: of a body, or of a string that is SQL."""
    words = [_word(one) for one in held]
    is_code = in_body or _has_body(held) or words[0] in {"DO", "BEGIN"}
    if is_code:
        starts = [at + 1 for at, word in enumerate(words) if word in STARTS]
        yield from (held[at:] for at in starts if at < len(held))
    kinds = {TokenType.HEREDOC_STRING} if is_code else set()
    kinds |= set() if DYNAMIC.isdisjoint(words) else {TokenType.STRING}
    for one in held:
        if one.token_type in kinds:
            for each in _grouped(_readable(one.text, database)):
                yield each
                yield from _inner(each, database, in_body=True)


def _readable(text: str, database: str) -> list[Token]:
    """The tokens of a string that may be SQL; none if it is a single word, or not readable."""
    try:
        found = _tokens(text, database)
    except SqlError:
        return []
    return found if len(found) > 1 else []
