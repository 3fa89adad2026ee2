"""The tokens of EDN: where a form ends, what does not count (comments, what stands behind `#_`),
and whether a form is sound. A form stays bytes here.
"""

import re
from typing import Final

TOKEN: Final = re.compile(
    rb"(?P<drop>#_)"
    rb'|(?P<atom>"[^"\\]*+(?:\\.[^"\\]*+)*"|\\.[^\s\]\[{}(),;"\\]*+|##[^\s,\[\]{}()"\\;]*+'
    rb'|[^\s,\[\]{}()"\\;#][^\s,\[\]{}()"\\;]*+)'
    rb"|(?P<open>[\[{(])|(?P<close>[\]})])|(?P<note>;[^\n]*+)|(?P<tag>#[^\s,\[\]{}()\"\\;]*+)"
    rb'|(?P<bad>")',
    re.DOTALL,
)
NAMED: Final = {b"\\formfeed": b"\\u000C", b"\\backspace": b"\\u0008"}
"""Characters whose names edn_format does not know: it takes them for two forms."""

_MARKS: Final = re.compile(rb";|#_")
_SIGN: Final = re.compile(rb"[^\n]")
_CHARACTER: Final = re.compile(
    rb"\\(?:newline|return|space|tab|formfeed|backspace|u[0-9A-Fa-f]{4}|[\x00-\x7f]|[\x80-\xff]+)",
    re.DOTALL,
)
_NUMBER: Final = re.compile(
    rb"[+-]?(?:(?:0|[1-9]\d*+)(?:N|/[1-9]\d*+|(?:\.\d++)?(?:[eE][+-]?\d++)?M?)"
    rb"|0[xX][0-9A-Fa-f]++N?)"
)
_NUMERIC: Final = re.compile(rb"[+-]?\d")
_NAME: Final = re.compile(rb":?(?:[^/]++(?:/[^/]++)?|/)")
_SPECIAL: Final = (b"##NaN", b"##Inf", b"##-Inf")


def end_of_form(data: bytes, at: int) -> int:
    """Where the form that begins here ends, all of which counts; `ValueError` where none ends."""
    depth = 0
    while found := TOKEN.search(data, at):
        at = found.end()
        kind = found.lastgroup
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        if kind in {"bad", "drop"} or depth < 0:
            break
        if not depth and kind in {"atom", "close"}:
            return at
    raise ValueError("it is cut off, or its brackets do not match")


def bare(data: bytes) -> bytes:
    """The same text with blanks in place of comments and of each `#_` with the form behind it;
    every other sign, and every line, stays where it was. A `#_` that no form is behind stays, too.
    """
    if _MARKS.search(data) is None:
        return data
    parts: list[bytes] = []
    kept = 0
    for begin, end in _dropped(data):
        parts += [data[kept:begin], _SIGN.sub(b" ", data[begin:end])]
        kept = end
    return b"".join(parts) + data[kept:]


def _dropped(data: bytes) -> list[tuple[int, int]]:
    """What does not count, in order; parts of a part are left out."""
    spans: list[tuple[int, int]] = []
    waiting: list[list[int]] = [[]]
    for found in TOKEN.finditer(data):
        kind = found.lastgroup
        if kind == "bad":
            break
        if kind == "note":
            spans.append(found.span())
        elif kind == "drop":
            waiting[-1].append(found.start())
        elif kind == "open":
            waiting.append([])
        elif kind == "close":
            waiting.pop()
            if not waiting:
                break
        if kind in {"atom", "close"} and waiting[-1]:
            begin = waiting[-1].pop()
            while spans and spans[-1][0] >= begin:
                spans.pop()
            spans.append((begin, found.end()))
    return spans


def sound(part: bytes) -> bytes:
    """A form as edn_format reads it whole; `ValueError` for an atom that is none of EDN, which
    edn_format takes for several (`01`, `1a`).
    """
    parts: list[bytes] = []
    kept = 0
    for found in TOKEN.finditer(part):
        if found.lastgroup == "atom":
            atom = found.group()
            if not _is_sound(atom):
                raise ValueError(f"{atom[:40].decode('utf-8', 'replace')} is no form of EDN")
            if atom in NAMED:
                parts += [part[kept : found.start()], NAMED[atom]]
                kept = found.end()
    return b"".join(parts) + part[kept:]


def _is_sound(atom: bytes) -> bool:
    if atom.startswith(b'"'):
        return True
    if atom.startswith(b"\\"):
        return _CHARACTER.fullmatch(atom) is not None
    if atom.startswith(b"##"):
        return atom in _SPECIAL
    form = _NUMBER if _NUMERIC.match(atom) else _NAME
    return form.fullmatch(atom) is not None
