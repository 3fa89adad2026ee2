"""Entries one a line that shape alike but for their numbers, read all at once into arrays.

The numbers of a text are found and read together; what is left of a line is its shape. A history of
any length has some hundred shapes. Each is read once, by the reader of its format, from a line
whose numbers are marks: where a mark comes out again shows what the numbers there mean. Lines of a
shape that says anything unusual are left to the format's reader, one by one.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from mmap import MADV_DONTNEED, PAGESIZE, mmap
from typing import Any, Final, NamedTuple

import numpy as np

from ddlsim.foreign.readers.operations import CODES, LISTED, NIL, ONE, READ, Operations, ranges
from ddlsim.graph.history import NONE, Array

TYPES: Final = {"invoke": 0, "ok": 1, "fail": 2, "info": 3}
"""The types of entries."""
CHUNK: Final = 1 << 20
"""Bytes looked at together: what the processor's caches hold."""
TOGETHER: Final = 8
"""Chunks whose lines become entries together: columns of numbers take more than entries do."""
MOST_SHAPES: Final = 2_000
"""More shapes than this: the lines are not alike."""
MARK: Final = 10**17
DIGITS: Final = 18
_HUGE: Final = re.compile(rb"\d{%d}" % DIGITS)
NUMBER: Final = 1
"""Stands in a shape for a number, or for all numbers of a list."""

Text = bytes | mmap
Fields = dict[str, Any] | None
Reader = Callable[[bytes], Fields]
"""Reads a line as a map of an entry's fields; None if it cannot."""


class Format(NamedTuple):
    """What ends a number in a format (before it, after it), and what parts two of a list."""

    before: bytes
    after: bytes
    comma: bool
    read: Reader


class ShapeOp(NamedTuple):
    """An operation of a shape: its function, and the slots of its key and its value (-1: none)."""

    function: int
    key: int
    form: int
    value: int


@dataclass(frozen=True, slots=True)
class Shape:
    """What lines of a shape mean: slots of process, index and time; `ops` is None for nil."""

    type: int
    process: int
    index: int
    time: int
    ops: tuple[ShapeOp, ...] | None


class Alike(NamedTuple):
    """Entries that were understood, by line; `left` are the lines (number, text) that were not."""

    types: Array
    processes: Array
    indices: Array
    times: Array
    lines: Array
    operations: Operations
    left: list[tuple[int, bytes]]


@dataclass(frozen=True, slots=True)
class _Scan:
    """Numbers of a text; slots are numbers, or lists of them, by line; and each line's shape."""

    numbers: Array
    slot: Array
    count: Array
    line: Array
    shape: Array


def read(data: Text, form: Format) -> Alike | None:
    """The entries of a text; None if its lines are not alike."""
    shapes: dict[bytes, int] = {}
    first: list[bytes] = []
    known: list[Shape | None] = []
    parts: list[Alike] = []
    chunks, lines = _chunks(data), 0
    while some := list(islice(chunks, TOGETHER)):
        if any(bytes([NUMBER]) in chunk for chunk in some):
            return None
        scans = [_scan(chunk, form, shapes, first) for chunk in some]
        if len(shapes) > MOST_SHAPES:
            return None
        known += [_shape_of(line, form) for line in first[len(known) :]]
        scan = _joined(scans)
        parts.append(_Entries(scan, known, some, lines).alike())
        lines += len(scan.shape)
    return _whole(parts)


def _chunks(data: Text) -> Iterator[bytes]:
    """The text in parts that begin and end with the end of a line; of a file that is mapped, no
    more than a part stays in memory.
    """
    at, size = 0, len(data)
    while at < size:
        stop = data.find(b"\n", at + CHUNK)
        stop = size if stop < 0 else stop + 1
        part = data[at:stop]
        yield b"\n%b%b" % (part, b"" if part.endswith(b"\n") else b"\n")
        at = stop
        if isinstance(data, mmap) and (whole := at - at % PAGESIZE):
            data.madvise(MADV_DONTNEED, 0, whole)


def _scan(chunk: bytes, form: Format, shapes: dict[bytes, int], first: list[bytes]) -> _Scan:
    text = np.frombuffer(chunk, np.uint8)
    digit = (text - np.uint8(48)) < 10
    edge = np.flatnonzero(digit[1:] != digit[:-1]) + 1
    begin, end = edge[::2], edge[1::2]
    plain = _among(form.before)[text[begin - 1]] & _among(form.after)[text[end]]
    length = end - begin
    plain &= (length <= DIGITS) & ((length == 1) | (text[begin] != 48))
    rest = ~digit
    if not plain.all():
        odd = np.flatnonzero(~plain)
        rest[ranges(begin[odd], length[odd])] = True
        begin, end, length = begin[plain], end[plain], length[plain]
    more = _more_of_list(text, begin, end, comma=form.comma)
    follows = np.flatnonzero(more)
    rest[end[follows - 1]] = False
    wide = follows[begin[follows] - end[follows - 1] == 2]
    rest[end[wide - 1] + 1] = False
    slot = np.flatnonzero(~more)
    marked = text.copy()
    marked[begin[slot]] = NUMBER
    rest[begin[slot]] = True
    numbers = _numbers(text, begin, length)
    ends = np.flatnonzero(text == 10)
    line = np.searchsorted(begin[slot], ends[:-1])
    found = marked[rest].tobytes().split(b"\n")[1:-1]
    shape = np.empty(len(found), np.int32)
    for at, one in enumerate(found):
        number = shapes.get(one)
        if number is None:
            number = shapes[one] = len(shapes)
            first.append(one)
        shape[at] = number
    return _Scan(numbers, slot, np.diff(slot, append=len(begin)), line, shape)


def _among(characters: bytes) -> Array:
    found = np.zeros(256, np.bool_)
    found[list(characters)] = True
    return found


def _more_of_list(text: Array, begin: Array, end: Array, *, comma: bool) -> Array:
    """Which numbers follow another one in a list of nothing but numbers so far."""
    if not len(begin):
        return np.zeros(0, np.bool_)
    gap = np.append(0, begin[1:] - end[:-1])
    parting = np.append(0, text[end[:-1]])
    follows = (gap == 1) & ((parting == 44) if comma else (parting == 32) | (parting == 44))
    wide = np.flatnonzero((gap == 2) & (parting == 44))
    follows[wide[text[begin[wide] - 1] == 32]] = True
    head = np.flatnonzero(~follows)
    in_list = text[begin[head] - 1] == 91
    found: Array = follows & np.repeat(in_list, np.diff(head, append=len(begin)))
    return found


def _numbers(text: Array, begin: Array, length: Array) -> Array:
    """The numbers that begin there, the longest first in each pass."""
    found = np.zeros(len(begin), np.int64)
    rows: Array | None = None
    for at in range(int(length.max(initial=0))):
        if at:
            rows = np.flatnonzero(length > at) if rows is None else rows[length[rows] > at]
            found[rows] = found[rows] * 10 + (text[begin[rows] + at] - 48)
        else:
            found[:] = text[begin]
            found -= 48
    return found


def _joined(scans: list[_Scan]) -> _Scan:
    numbers = np.cumsum([0, *(len(one.numbers) for one in scans)])
    slots = np.cumsum([0, *(len(one.slot) for one in scans)])
    none = np.zeros(0, np.int64)
    return _Scan(
        np.concatenate([none, *(one.numbers for one in scans)]),
        np.concatenate([none, *(one.slot + n for one, n in zip(scans, numbers, strict=False))]),
        np.concatenate([none, *(one.count for one in scans)]),
        np.concatenate([none, *(one.line + n for one, n in zip(scans, slots, strict=False))]),
        np.concatenate([none, *(one.shape for one in scans)]),
    )


# --- what a shape means ---------------------------------------------------------------------------


def _shape_of(line: bytes, form: Format) -> Shape | None:
    """What a shape means; None where it is not of the ordinary kind."""
    if _HUGE.search(line):
        return None  # it might be taken for a mark
    parts = line.split(bytes([NUMBER]))
    marked = b"".join(b"%b%d" % (part, MARK + at) for at, part in enumerate(parts[:-1])) + parts[-1]
    fields = form.read(marked)
    if fields is None:
        return None
    type_ = TYPES.get(str(fields.get("type")).removeprefix(":"))
    process, index = _slot(fields.get("process")), _slot(fields.get("index"))
    if type_ is None or process == NONE or (index == NONE and "index" in fields):
        return None
    value, time = fields.get("value"), _slot(fields.get("time"))
    if value is None:
        return Shape(type_, process, index, time, None)
    if not isinstance(value, list):
        return None
    ops = tuple(op for one in value if (op := _op_of(one)) is not None)
    return Shape(type_, process, index, time, ops) if len(ops) == len(value) else None


def _slot(value: Any) -> int:
    return value - MARK if type(value) is int and value >= MARK else NONE


def _op_of(one: Any) -> ShapeOp | None:
    if not isinstance(one, list) or len(one) != 3 or not isinstance(one[0], str):
        return None
    function, key, value = CODES.get(one[0], NONE), _slot(one[1]), one[2]
    slot = _slot(value)
    if NONE in (function, key):
        return None
    if slot != NONE:
        return ShapeOp(function, key, ONE, slot)
    if function == READ and (value is None or value == []):
        return ShapeOp(function, key, NIL if value is None else LISTED, NONE)
    slot = _slot(value[0]) if isinstance(value, list) and len(value) == 1 else NONE
    return ShapeOp(function, key, LISTED, slot) if function == READ and slot != NONE else None


class _Entries:
    """Puts the lines of each shape into their places among all entries."""

    def __init__(
        self, scan: _Scan, shapes: list[Shape | None], chunks: list[bytes], before: int
    ) -> None:
        self._scan, self._shapes, self._chunks, self._before = scan, shapes, chunks, before
        known = np.asarray([one is not None for one in shapes], np.bool_)
        self._entry_line = np.flatnonzero(known[scan.shape])
        self._left = np.flatnonzero(~known[scan.shape])
        shape = scan.shape[self._entry_line]
        sizes = [NONE if one is None or one.ops is None else len(one.ops) for one in shapes]
        self._count = np.asarray(sizes, np.int64)[shape]
        self._first = np.cumsum(np.maximum(self._count, 0)) - np.maximum(self._count, 0)
        self._of_shape = np.argsort(shape, kind="stable")
        self._cuts = np.searchsorted(shape[self._of_shape], np.arange(len(shapes) + 1))

    def alike(self) -> Alike:
        scan, entries = self._scan, len(self._entry_line)
        types, processes, indices, times = (np.full(entries, NONE) for _ in range(4))
        total = int(np.maximum(self._count, 0).sum())
        function, form = np.zeros(total, np.uint8), np.zeros(total, np.uint8)
        key, begin, length = (np.zeros(total, np.int64) for _ in range(3))
        for number, shape in enumerate(self._shapes):
            rows = self._of_shape[self._cuts[number] : self._cuts[number + 1]]
            if shape is None or not len(rows):
                continue
            slot = scan.line[self._entry_line[rows]]
            types[rows] = shape.type
            processes[rows] = scan.numbers[scan.slot[slot + shape.process]]
            if shape.index != NONE:
                indices[rows] = scan.numbers[scan.slot[slot + shape.index]]
            if shape.time != NONE:
                times[rows] = scan.numbers[scan.slot[slot + shape.time]]
            for at, op_of in enumerate(shape.ops or ()):
                op = self._first[rows] + at
                function[op], form[op] = op_of.function, op_of.form
                key[op] = scan.numbers[scan.slot[slot + op_of.key]]
                if op_of.value != NONE:
                    begin[op] = scan.slot[slot + op_of.value]
                    length[op] = scan.count[slot + op_of.value]
        begin, held = _shared(scan.numbers, key, form, begin, length)
        operations = Operations(
            self._first, self._count, function, key, form, begin, length, held, {}
        )
        lines = self._entry_line + self._before + 1
        return Alike(types, processes, indices, times, lines, operations, self._lines_left())

    def _lines_left(self) -> list[tuple[int, bytes]]:
        if not len(self._left):
            return []
        lines = [line for one in self._chunks for line in one.split(b"\n")[1:-1]]
        return [(self._before + at + 1, lines[at]) for at in self._left.tolist()]


def _shared(
    numbers: Array, key: Array, form: Array, begin: Array, length: Array
) -> tuple[Array, Array]:
    """The numbers that operations hold, and where those of each begin: a list that is a beginning
    of the longest one of its key stands there only.
    """
    listed = np.flatnonzero((form == LISTED) & (length > 0))
    order = listed[np.lexsort((length[listed], key[listed]))]
    last = np.flatnonzero(np.append(key[order][1:] != key[order][:-1], True)[: len(order)])
    longest = np.repeat(order[last], np.diff(last, prepend=-1))
    own = ranges(begin[order], length[order])
    wanted = own + np.repeat(begin[longest] - begin[order], length[order])
    wrong = np.flatnonzero(numbers[own] != numbers[wanted])
    alike = np.ones(len(order), np.bool_)
    alike[np.searchsorted(np.cumsum(length[order]), wrong, side="right")] = False
    holder = np.arange(len(key))
    holder[order[alike]] = longest[alike]
    holds = np.flatnonzero(holder == np.arange(len(key)))
    count = length[holds]
    found = np.zeros(len(key), np.int64)
    found[holds] = np.cumsum(count) - count
    return found[holder], numbers[ranges(begin[holds], count)]


def _columns(one: Alike, before: int) -> list[Array]:
    """Its columns; so many numbers of others come before its own."""
    of = one.operations
    some = [of.count, of.function, of.key, of.form, of.begin + before, of.length, of.number]
    return [one.types, one.processes, one.indices, one.times, one.lines, *some]


def _whole(parts: list[Alike]) -> Alike:
    """The entries of parts that follow each other; the parts are used up."""
    left = [line for one in parts for line in one.left]
    numbers = np.cumsum([0, *(len(one.operations.number) for one in parts)]).tolist()
    columns = [_columns(parts.pop(0), before) for before in numbers[:-1]]
    found = [np.concatenate([one.pop(0) for one in columns]) for _ in range(len(columns[0]))]
    types, processes, indices, times, lines = found[:5]
    count, function, key, form, begin, length, number = found[5:]
    own = np.maximum(count, 0)
    operations = Operations(
        np.cumsum(own) - own, count, function, key, form, begin, length, number, {}
    )
    return Alike(types, processes, indices, times, lines, operations, left)
