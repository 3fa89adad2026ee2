"""Text of files and names as a terminal, a log or a page may be given it: nothing invisible acts.

Control characters move the cursor, change colours or the window's title; bidirectional ones make a
line read otherwise than it is. Whatever is not printable is written as Python writes it in a
string: `\\x1b`, `\\u202e`. A line end and a tab stay where a text has several lines.
"""

import html
import re
from typing import Final, TypeVar

T = TypeVar("T")
LAYOUT: Final = "\n\t"
SPACES: Final = "Zs"
LINE_MOST: Final = 300
"""No line of an error is longer."""
HEAD: Final = 190
CUT: Final = " [...] "
WORD_MOST: Final = 30


def escaped(text: str, keep: str = LAYOUT) -> str:
    """A text with everything that is not printable written out, but for the characters to keep."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep or _is_space(sign) else _written(sign)
        for sign in text
    )


def counted(number: int, what: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def natural(name: str) -> tuple[list[tuple[bool, int, str]], str]:
    """A key to sort names by: in alphabetical order, numbers in them by value (n2 before n10)."""
    parts = re.findall(r"\d+|\D+", name)
    return [(not one.isdecimal(), int(one) if one.isdecimal() else 0, one) for one in parts], name


def one_line(text: str, most: int = LINE_MOST) -> str:
    """A text as one line of at most so many characters: its beginning and its end.

    It is cut between words, where one ends within `WORD_MOST` characters.
    """
    line = escaped(" ".join(part.strip() for part in text.splitlines() if part.strip()), keep="")
    if len(line) <= most:
        return line
    head = min(HEAD, most // 2)
    first, last = line[:head], line[head + len(CUT) - most :]
    if (end := first.rfind(" ", head - WORD_MOST)) > 0:
        first = first[:end]
    if (begin := last.find(" ", 0, WORD_MOST)) >= 0:
        last = last[begin + 1 :]
    return first + CUT + last


def markup(text: str) -> str:
    """A text for HTML, SVG and XML, which cannot hold control characters at all."""
    return html.escape(escaped(text))


def _is_space(sign: str) -> bool:
    import unicodedata

    return unicodedata.category(sign) == SPACES


def _written(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")


def no_flag(word: T) -> T | str:
    """The same file by a name that no command takes for a flag: `./-a` for `-a`; `-` is stdin."""
    is_taken = isinstance(word, str) and word.startswith("-") and word != "-"
    return f"./{word}" if is_taken else word
