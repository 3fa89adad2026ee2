"""The smallest histories that show each type of anomaly, of lists and of registers.

Transactions of a plant are concurrent unless it says when they began and ended.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from tests.support.jepsen_histories import APPENDS, REGISTERS, Entry, Operation


class Planted(NamedTuple):
    """A transaction: its operations, how it ended, when it was asked for and answered."""

    value: tuple[Operation, ...]
    type: str = "ok"
    begin: int = 0
    end: int = 99
    process: int = -1


def _a(key: int, element: int) -> Operation:
    return ("append", key, element)


def _l(key: int, *elements: int) -> Operation:
    return ("r", key, elements)


def _w(key: int, value: int) -> Operation:
    return ("w", key, value)


def _r(key: int, value: int | None = None) -> Operation:
    return ("r", key, value)


def _t(*operations: Operation, **when: Any) -> Planted:
    return Planted(operations, **when)


LISTS: Final[dict[str, tuple[Planted, ...]]] = {
    "internal": (_t(_l(0), _a(0, 1), _l(0)), _t(_l(0, 1), begin=100, end=200)),
    "G1a": (_t(_a(0, 1), type="fail"), _t(_l(0, 1))),
    "G1b": (_t(_a(0, 1), _a(0, 2)), _t(_l(0, 1)), _t(_l(0, 1, 2), begin=100, end=200)),
    "garbage-read": (_t(_a(0, 1)), _t(_l(0, 1, 77))),
    "duplicate-elements": (_t(_a(0, 1)), _t(_l(0, 1, 1))),
    "incompatible-order": (_t(_a(0, 1)), _t(_a(0, 2)), _t(_l(0, 1, 2)), _t(_l(0, 2, 1))),
    "dirty-update": (_t(_a(0, 1), type="fail"), _t(_a(0, 2)), _t(_l(0, 1, 2))),
    "lost-update": (
        _t(_l(0), _a(0, 1)),
        _t(_l(0), _a(0, 2)),
        _t(_l(0, 1, 2), begin=100, end=200),
    ),
    "G0": (_t(_a(0, 1), _a(1, 1)), _t(_a(0, 2), _a(1, 2)), _t(_l(0, 1, 2), _l(1, 2, 1))),
    "G1c": (_t(_a(0, 1), _l(1, 1)), _t(_a(1, 1), _l(0, 1))),
    "G-single": (
        _t(_l(0), _l(1, 1)),
        _t(_a(0, 1), _a(1, 1)),
        _t(_l(0, 1), begin=100, end=200),
    ),
    "G-nonadjacent": (
        _t(_a(0, 1)),
        _t(_a(1, 1)),
        _t(_l(0, 1), _l(1)),
        _t(_l(0), _l(1, 1)),
        _t(_l(0, 1), _l(1, 1), begin=100, end=200),
    ),
    "G2-item": (
        _t(_l(0), _a(1, 1)),
        _t(_l(1), _a(0, 1)),
        _t(_l(0, 1), _l(1, 1), begin=100, end=200),
    ),
    "G-single-process": (
        _t(_a(0, 1), process=0, end=40),
        _t(_l(0), process=0, begin=50),
        _t(_l(0, 1)),
    ),
    "G1c-process": (_t(_l(0, 1), process=0, end=40), _t(_a(0, 1), process=0, begin=50)),
    "G0-process": (
        _t(_a(0, 2), process=0, end=40),
        _t(_a(0, 1), process=0, begin=50),
        _t(_l(0, 1, 2), begin=100, end=200),
    ),
    "G-single-realtime": (_t(_a(0, 1), end=40), _t(_l(0), begin=50), _t(_l(0, 1))),
    "G1c-realtime": (_t(_l(0, 1), end=40), _t(_a(0, 1), begin=50)),
    "G0-realtime": (
        _t(_a(0, 2), end=40),
        _t(_a(0, 1), begin=50),
        _t(_l(0, 1, 2), begin=100, end=200),
    ),
    "G-nonadjacent-realtime": (
        _t(_l(0), _l(1, 1), end=40),
        _t(_a(0, 1), begin=10, end=45),
        _t(_a(1, 1), begin=5, end=60),
        _t(_l(1), begin=50, end=70),
    ),
}
"""Of list-append histories, by the type of anomaly that is to be named."""

VALUES: Final[dict[str, tuple[Planted, ...]]] = {
    "internal": (_t(_w(0, 1), _r(0, 2)), _t(_w(0, 2))),
    "G1a": (_t(_w(0, 1), type="fail"), _t(_r(0, 1))),
    "G1b": (_t(_w(0, 1), _w(0, 2)), _t(_r(0, 1))),
    "garbage-read": (_t(_w(0, 1)), _t(_r(0, 77))),
    "dirty-update": (_t(_w(0, 1), type="fail"), _t(_r(0, 1), _w(0, 2))),
    "lost-update": (_t(_r(0), _w(0, 1)), _t(_r(0), _w(0, 2))),
    "G1c": (_t(_w(0, 1), _r(1, 1)), _t(_w(1, 1), _r(0, 1))),
    "G-single": (_t(_r(0), _r(1, 1)), _t(_w(0, 1), _w(1, 1))),
    "G-nonadjacent": (
        _t(_w(0, 1)),
        _t(_w(1, 1)),
        _t(_r(0, 1), _r(1)),
        _t(_r(0), _r(1, 1)),
    ),
    "G2-item": (_t(_r(0), _w(1, 1)), _t(_r(1), _w(0, 1))),
    "G1c-process": (_t(_r(0, 1), process=0, end=40), _t(_w(0, 1), process=0, begin=50)),
    "G-single-process": (_t(_w(0, 1), process=0, end=40), _t(_r(0), process=0, begin=50)),
    "G1c-realtime": (_t(_r(0, 1), end=40), _t(_w(0, 1), begin=50)),
    "G-single-realtime": (
        _t(_w(0, 1), end=10),
        _t(_w(0, 2), begin=20, end=30),
        _t(_r(0, 1), begin=40, end=50),
    ),
}
"""Of register histories."""

PLANTS: Final = {APPENDS: LISTS, REGISTERS: VALUES}


def stretched(entries: Sequence[Entry]) -> list[Entry]:
    """A list history around which something stale is wound: one component holds nearly all of it.

    The first transaction appends to a key of its own, the last one does not see it.
    """
    key = 1 + max((key for one in entries for _, key, _ in one.value), default=-1)
    first, last = (("append", key, 1),), (("r", key, ()),)
    asked, seen = (("r", key, None),), (("r", key, (1,)),)
    begin = [Entry("invoke", 10**6, first), Entry("ok", 10**6, first)]
    end = [
        Entry("invoke", 10**6, asked), Entry("ok", 10**6, seen),
        Entry("invoke", 10**6, asked), Entry("ok", 10**6, last),
    ]  # fmt: skip
    return [*begin, *entries, *end]


def plant(
    entries: Sequence[Entry], workload: str, type_: str, at: int | None = None
) -> list[Entry]:
    """A history with a plant put in, on keys and processes of its own, at a place of it."""
    middle = len(entries) // 2 if at is None else at
    keys = 1 + max((key for one in entries for _, key, _ in one.value), default=-1)
    process = 1 + max((one.process for one in entries), default=-1)
    planted = PLANTS[workload][type_]
    timed: list[tuple[int, int, Entry]] = []
    for number, one in enumerate(planted):
        who = process + (one.process if one.process >= 0 else 10 + number)
        value = tuple((name, keys + key, told) for name, key, told in one.value)
        asked = tuple((name, key, None if name == "r" else told) for name, key, told in value)
        answer = value if one.type == "ok" else asked
        timed.append((one.begin, number, Entry("invoke", who, asked)))
        timed.append((one.end, number, Entry(one.type, who, answer)))
    timed.sort(key=lambda each: each[:2])
    return [*entries[:middle], *(entry for _, _, entry in timed), *entries[middle:]]
