"""Ways to damage a file: bytes that rot, lines that move, numbers and names that cannot be.

Each takes the bytes of a file, other files of its kind, and dice; the same dice damage alike.
"""

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Final

Mutator = Callable[[bytes, Sequence[bytes], Random], bytes]

NUMBERS: Final = (
    b"0", b"-1", b"1", b"2147483648", b"9223372036854775807", b"9223372036854775808",
    b"-9223372036854775809", b"1e999", b"-1e999", b"nan", b"inf", b"-inf", b"0.1", b"1e-320",
    b"1" + b"0" * 400, b"0x1f", b"1_000", b"007", b"NaN", b"Infinity", b"true", b"null", b"nil",
)  # fmt: skip
EVIL: Final = (
    b"\x00", b"\xff\xfe", b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x1b[2J\x07",
    "\u202e\u2066".encode(), "\u2028".encode(), b"\r", b"\\u0000", b"\\ud800", b'"', b"'", b"\\",
    b"[[", b"}}", b"{", b"]", b"(", b";", b"#", b"--", b"/*", b",", b":", b"\n\n", b"\xef\xbb\xbf",
    b"$", b"%s", b"../../x", b"a" * 5000,
)  # fmt: skip
OPENINGS: Final = (b"[", b"{", b"(", b'{"a":', b"[[", b"{:a ", b"/*", b"NOT ", b"-")
_NUMBER: Final = re.compile(rb"-?\d+(?:\.\d+)?")
_WORD: Final = re.compile(rb"[A-Za-z_][\w.-]*")
_TEXT: Final = re.compile(rb'"[^"\n]*"')


def _place(data: bytes, dice: Random) -> int:
    return dice.randrange(len(data) + 1)


def _range(data: bytes, dice: Random, most: int = 64) -> tuple[int, int]:
    low = _place(data, dice)
    return low, min(low + dice.randint(1, dice.choice((1, 4, most))), len(data))


def flip(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """One bit."""
    if not data:
        return b"\x00"
    at = dice.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :]


def overwrite(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """Some bytes by any others."""
    low, high = _range(data, dice)
    return data[:low] + dice.randbytes(high - low) + data[high:]


def cut(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """A piece is gone."""
    low, high = _range(data, dice)
    return data[:low] + data[high:]


def truncate(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """The end is gone."""
    return data[: _place(data, dice)]


def behead(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """The beginning is gone."""
    return data[_place(data, dice) :]


def repeat(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """A piece stands there twice."""
    low, high = _range(data, dice)
    return data[:high] + data[low:high] + data[high:]


def insert(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """Something that does not belong there."""
    at = _place(data, dice)
    return data[:at] + dice.choice(EVIL) + data[at:]


def nest(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """Very many opening brackets."""
    at = _place(data, dice)
    return data[:at] + dice.choice(OPENINGS) * dice.choice((10, 300, 2_000, 50_000)) + data[at:]


def splice(data: bytes, others: Sequence[bytes], dice: Random) -> bytes:
    """The beginning of one file and the end of another."""
    other = dice.choice(others)
    return data[: _place(data, dice)] + other[_place(other, dice) :]


def _token(kind: re.Pattern[bytes], data: bytes, dice: Random) -> re.Match[bytes] | None:
    found = list(kind.finditer(data))
    return dice.choice(found) if found else None


def number(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """A number by another one."""
    found = _token(_NUMBER, data, dice)
    if found is None:
        return insert(data, (), dice)
    near = b"%d" % (int(found.group().partition(b".")[0][:18]) + dice.choice((-1, 1, 2)))
    new = near if dice.random() < 0.3 else dice.choice(NUMBERS)
    return data[: found.start()] + new + data[found.end() :]


def word(data: bytes, others: Sequence[bytes], dice: Random) -> bytes:
    """A word or name by another one of the same file, or of another."""
    found = _token(_WORD, data, dice)
    other = _token(_WORD, dice.choice([data, *others]), dice)
    if found is None or other is None:
        return insert(data, (), dice)
    return data[: found.start()] + other.group() + data[found.end() :]


def text(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """A text by another one, or by what is no text."""
    found = _token(_TEXT, data, dice)
    if found is None:
        return insert(data, (), dice)
    new = dice.choice((b'""', b"7", b"[]", b"{}", b"null", b'"' + dice.choice(EVIL) + b'"'))
    return data[: found.start()] + new + data[found.end() :]


def lines(data: bytes, _: Sequence[bytes], dice: Random) -> bytes:
    """A line that is gone, stands there twice, or at another place."""
    every = data.split(b"\n")
    at, to = dice.randrange(len(every)), dice.randrange(len(every))
    how = dice.randrange(4)
    if how == 0:
        del every[at]
    elif how == 1:
        every.insert(to, every[at])
    elif how == 2:
        every[at], every[to] = every[to], every[at]
    else:
        every.insert(to, every.pop(at))
    return b"\n".join(every)


BYTES: Final[tuple[Mutator, ...]] = (flip, flip, overwrite, cut, truncate, behead, repeat, splice)
"""For files that are no text."""
TEXTS: Final[tuple[Mutator, ...]] = (
    flip, overwrite, cut, truncate, behead, repeat, insert, nest, splice,
    number, number, number, word, word, text, lines, lines,
)  # fmt: skip


def damaged(
    data: bytes, others: Sequence[bytes], mutators: Sequence[Mutator], dice: Random
) -> bytes:
    """A file damaged once, or a few times."""
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        data = dice.choice(mutators)(data, others, dice)
    return data
