"""The operations of entries, or of transactions, as columns of numbers.

An operation has a function, a key, and a value, which is none (`NIL`), a single one (`ONE`) or a
list (`LISTED`). Values that are no whole numbers are numbered: `names` has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ddlsim.foreign.readers.brief import hashable
from ddlsim.graph.history import NONE, Array

READ: Final = 0
APPEND: Final = 1
WRITE: Final = 2
FUNCTIONS: Final = (":r", ":append", ":w")
"""What `READ`, `APPEND` and `WRITE` are called."""
CODES: Final = {":r": READ, "r": READ, ":append": APPEND, "append": APPEND, ":w": WRITE, "w": WRITE}

NIL: Final = 0
ONE: Final = 1
LISTED: Final = 2
ODD: Final = -2
"""Instead of a count: the entry's value is no list of ordinary operations on whole numbers."""


@dataclass(slots=True)
class Operations:
    """Columns of operations, those of entry `i` from `first[i]` on, `count[i]` of them.

    A count is `NONE` where an entry has no operations, `ODD` where `odd` has its value. The
    values of operation `j` are `number[begin[j]]` and those after it, `length[j]` of them.
    """

    first: Array
    count: Array
    function: Array
    key: Array
    form: Array
    begin: Array
    length: Array
    number: Array
    odd: dict[int, Any]

    def value(self, entry: int, names: Sequence[str]) -> Any:
        """The value of an entry as lists; functions are called by `names`."""
        count, first = int(self.count[entry]), int(self.first[entry])
        if count < 0:
            return self.odd.get(entry)
        return [
            [names[int(self.function[op])], int(self.key[op]), self.value_of(op)]
            for op in range(first, first + count)
        ]

    def in_order(self, order: Array) -> "Operations":
        """Those of the same entries in another order."""
        place = np.argsort(order)
        odd = {int(place[entry]): value for entry, value in self.odd.items()}
        return replace(self, first=self.first[order], count=self.count[order], odd=odd)

    def value_of(self, op: int) -> Any:
        """The value of an operation."""
        if self.form[op] == NIL:
            return None
        low = int(self.begin[op])
        if self.form[op] == ONE:
            return int(self.number[low])
        return self.number[low : low + int(self.length[op])].tolist()


def columns_of(values: list[Any]) -> Operations:
    """The values of entries as columns; None is no value. What does not fit is `odd`."""
    count: list[int] = []
    odd: dict[int, Any] = {}
    function: list[int] = []
    key: list[int] = []
    form: list[int] = []
    begin: list[int] = []
    length: list[int] = []
    number: list[int] = []
    for entry, value in enumerate(values):
        if value is None or not _is_ordinary(value):
            count.append(NONE if value is None else ODD)
            if value is not None:
                odd[entry] = value
            continue
        count.append(len(value))
        for name, of, what in value:
            function.append(CODES[name])
            key.append(of)
            form.append(NIL if what is None else LISTED if isinstance(what, list) else ONE)
            begin.append(len(number))
            number += what if isinstance(what, list) else [] if what is None else [what]
            length.append(len(number) - begin[-1])
    counts = np.asarray(count, np.int64)
    own = np.maximum(counts, 0)
    return Operations(
        np.cumsum(own) - own, counts, np.asarray(function, np.uint8), np.asarray(key, np.int64),
        np.asarray(form, np.uint8), np.asarray(begin, np.int64), np.asarray(length, np.int64),
        np.asarray(number, np.int64), odd,
    )  # fmt: skip


def _is_ordinary(value: Any) -> bool:
    """Whether it is a list of known operations, and all their keys and values are whole numbers."""
    return isinstance(value, list) and all(
        isinstance(one, list)
        and len(one) == 3
        and isinstance(one[0], str)
        and one[0] in CODES
        and _is_whole(one[1])
        and (_is_whole(one[2]) or (CODES[one[0]] == READ and _is_read(one[2])))
        for one in value
    )


def _is_read(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(map(_is_whole, value)))


def _is_whole(value: Any) -> bool:
    return type(value) is int and -(2**62) < value < 2**62


def joined(one: Operations, other: Operations) -> Operations:
    """Entries of the one, and then those of the other."""
    ops, numbers, entries = len(one.key), len(one.number), len(one.count)
    both = np.concatenate
    return Operations(
        both([one.first, other.first + ops]), both([one.count, other.count]),
        both([one.function, other.function]), both([one.key, other.key]),
        both([one.form, other.form]), both([one.begin, other.begin + numbers]),
        both([one.length, other.length]), both([one.number, other.number]),
        one.odd | {at + entries: value for at, value in other.odd.items()},
    )  # fmt: skip


def ranges(first: Array, count: Array) -> Array:
    """first[0], first[0] + 1, ... count[0] of them, then those of first[1], and so on."""
    total = int(count.sum())
    ends = np.cumsum(count)
    found: Array = np.arange(total) + np.repeat(first - (ends - count), count)
    return found


def whole(values: list[Any]) -> Array | None:
    """Values as numbers if all of them are, and fit; None otherwise."""
    if not set(map(type, values)) <= {int}:
        return None
    try:
        return np.asarray(values, np.int64)
    except OverflowError:
        return None


def numbered(values: list[Any]) -> tuple[list[Any], Array]:
    """The different values, and the number of each one among them."""
    known: dict[Any, int] = {}
    different: list[Any] = []
    number = np.zeros(len(values), np.int64)
    for at, value in enumerate(values):
        one = hashable(value)
        if one not in known:
            known[one] = len(different)
            different.append(value)
        number[at] = known[one]
    return different, number


def dense(numbers: Array) -> tuple[Array, Array]:
    """The different numbers, ascending, and the place of each one among them."""
    if not len(numbers):
        return numbers, numbers
    low = int(numbers.min())
    span = int(numbers.max()) - low + 1
    if span > 8 * len(numbers) + 1000:
        found, place = np.unique(numbers, return_inverse=True)
        return found, place.astype(np.int64)
    used = np.zeros(span, np.bool_)
    used[numbers - low] = True
    place = np.cumsum(used) - 1
    return np.flatnonzero(used) + low, place[numbers - low]
