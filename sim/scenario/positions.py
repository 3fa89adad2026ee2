"""Finds the line of each key of a TOML text; `tomllib` reads the values.

The text is known to be TOML, since `tomllib` has read it; this walk only counts lines and finds the
ends of strings, arrays and inline tables.
"""

import re
from bisect import bisect_left
from typing import Final

Path = tuple[str | int, ...]
"""A key's path: names and, in lists, indices from zero."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_REST_OF_LINE: Final = re.compile(r"[^\n]*")
_SPACE: Final = re.compile(r"[ \t]*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR: Final = re.compile(r"[^,\]}#\n]+")
_ESCAPE: Final = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", re.DOTALL)


class Positions:
    """The line of every key, and of the first character of every string."""

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._ends = [end.start() for end in re.finditer("\n", self._text)]  # of lines
        self._at = 0
        self.keys: dict[Path, int] = {(): 1}
        self.strings: dict[Path, int] = {}
        self._lists: dict[Path, int] = {}
        self._walk()

    def line(self, path: Path) -> int:
        """The line of a key, or of the innermost table around it that the text has."""
        while path not in self.keys:
            path = path[:-1]
        return self.keys[path]

    def text_line(self, path: Path) -> int:
        """The line on which a string's own text begins."""
        return self.strings.get(path, self.line(path))

    # -- walking -----------------------------------------------------------------------------------

    def _walk(self) -> None:
        table: Path = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the path of the table that begins here."""
        line = self._line()
        is_list = self._text.startswith("[[", self._at)
        self._at += 2 if is_list else 1
        names = self._dotted()
        self._skip(_REST_OF_LINE)
        path = self._resolve(names[:-1])
        path = (*path, names[-1])
        if is_list:
            index = self._lists.get(path, -1) + 1
            self._lists[path] = index
            self.keys.setdefault(path, line)
            path = (*path, index)
        self.keys.setdefault(path, line)
        return path

    def _resolve(self, names: Path) -> Path:
        """A header's names with, for each list among them, the index of its last table."""
        path: Path = ()
        for name in names:
            path = (*path, name)
            if path in self._lists:
                path = (*path, self._lists[path])
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = table
        for name in self._dotted():
            path = (*path, name)
            self.keys.setdefault(path, line)
        self._skip(_SPACE)
        self._at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _dotted(self) -> Path:
        names: list[str] = []
        while True:
            self._skip(_SPACE)
            names.append(self._name())
            self._skip(_SPACE)
            if not self._text.startswith(".", self._at):
                return tuple(names)
            self._at += 1

    def _name(self) -> str:
        if self._text[self._at] in "\"'":
            begin = self._at + 1
            self._string()
            return self._text[begin : self._at - 1]
        match = _BARE.match(self._text, self._at)
        assert match is not None, f"no key at {self._text[self._at : self._at + 20]!r}"
        self._at = match.end()
        return match.group()

    def _value(self, path: Path) -> None:
        match self._text[self._at]:
            case '"' | "'":
                self.strings[path] = self._string()
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case _:
                self._skip(_SCALAR)

    def _array(self, path: Path) -> None:
        self._at += 1
        index = 0
        while self._text[self._skip(_BLANK)] != "]":
            self.keys.setdefault((*path, index), self._line())
            self._value((*path, index))
            index += 1
            if self._text[self._skip(_BLANK)] == ",":
                self._at += 1
        self._at += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while self._text[self._skip(_BLANK)] != "}":
            self._pair(path)
            if self._text[self._skip(_BLANK)] == ",":
                self._at += 1
        self._at += 1

    def _string(self) -> int:
        """Skip a string of any kind; the line on which its text begins."""
        quote = self._text[self._at]
        if not self._text.startswith(quote * 3, self._at):
            line = self._line()
            self._at = self._end_of_string(quote, self._at + 1)
            return line
        self._at += 3
        if self._text.startswith("\n", self._at):  # not part of the string
            self._at += 1
        line = self._line()
        self._at = self._end_of_string(quote * 3, self._at)
        while self._text.startswith(quote, self._at):  # up to two quotes may stand before the end
            self._at += 1
        return line

    def _end_of_string(self, quote: str, at: int) -> int:
        while not self._text.startswith(quote, at):
            escape = _ESCAPE.match(self._text, at) if quote[0] == '"' else None
            at = escape.end() if escape else at + 1
        return at + len(quote)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return self._at

    def _line(self) -> int:
        return bisect_left(self._ends, self._at) + 1


def show_path(path: Path) -> str:
    """A path as messages write it: `network.links[2].loss`."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            shown += f".{part}" if shown else part
    return shown


_PART: Final = re.compile(r'\.?(?:\[(\d+)\]|"([^"]+)"|([^.\[\]"]+))')


def read_path(text: str) -> Path:
    """The path of its text: `workload[0].clients`, or `workload.0.clients`."""
    parts: list[str | int] = []
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or (at == 0 and text[0] in ".["):
            raise ValueError(f"not a path of keys: {text!r}")
        index, quoted, name = match.groups()
        is_index = index is not None or (bool(parts) and name is not None and name.isdecimal())
        parts.append(int(index or name) if is_index else quoted or name)
        at = match.end()
    if not parts:
        raise ValueError("an empty path")
    return tuple(parts)
