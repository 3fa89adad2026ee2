"""Transactions out of entries: invocations paired with their completions, operations as columns.

A transaction is numbered by its place in the history; real time is the order of the entries. What
failed keeps only its writes. What has no completion, or `info`, is unknown: nobody can know to
come after it, and what it read is not told. An invocation after an unanswered one of the same
process leaves the first unknown. A completion without its invocation has no known begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ddlsim.columns.history import (
    ABORTED,
    COMMITTED,
    NONE,
    UNKNOWN,
    Array,
)
from ddlsim.foreign.readers import answers
from ddlsim.foreign.readers.brief import (
    Notation,
    edn,
    hashable,
)
from ddlsim.foreign.readers.entries import (
    FAIL,
    INFO,
    INVOKE,
    LARGEST,
    OK,
    Entries,
)
from ddlsim.foreign.readers.problems import Trouble

READ: Final = 0
APPEND: Final = 1
WRITE: Final = 2
CODES: Final = {":r": READ, "r": READ, ":append": APPEND, "append": APPEND, ":w": WRITE, "w": WRITE}


@dataclass(slots=True)
class Transactions:
    """Transactions and their operations as columns.

    Of a transaction: `status`, `process`, `begin` and `end` as positions in the history (-1 where
    not known, or not to be counted), and `entry`, the place of the entry that told its operations.
    Of an operation: its transaction, kind and key (dense), and its `value` as it was told.
    `said` writes a value as the file does. `cut` says that writes may be missing from the history:
    some entry hides them.
    """

    status: Array
    process: Array
    begin: Array
    end: Array
    entry: Array
    tx: Array
    kind: Array
    key: Array
    value: list[Any]
    keys: Sequence[Any]
    indices: list[int]
    lines: list[int]
    troubles: list[Trouble]
    untimed: bool
    numbered: bool
    said: Notation

    def __len__(self) -> int:
        return len(self.status)

    @property
    def cut(self) -> bool:
        """Whether there may be writes that are not recorded."""
        return any(trouble.hides_writes for trouble in self.troubles)

    def told(self, op: int) -> str:
        """The value of an operation, as it was told."""
        return self.said(self.value[op])

    def told_key(self, op: int) -> str:
        """The key of an operation, as it was told."""
        return self.said(self.keys[int(self.key[op])])

    def operation(self, name: str, op: int) -> str:
        """An operation by its function's name, its key and its value."""
        function = f":{name}" if self.said is edn else name
        key = self.keys[int(self.key[op])]
        return self.said([function, key, self.value[op]])

    def name(self, number: int) -> str:
        """A transaction by the index of its completion, as Jepsen has it; else by its line."""
        at = int(self.entry[number])
        return f"T{self.indices[at]}" if self.numbered else f"T{self.lines[at]}"


def transactions_of(entries: Entries) -> Transactions:
    """The transactions of a history."""
    troubles = list(entries.troubles)
    place, numbered, untimed = _places(entries, troubles)
    first, last = _paired(entries, place, troubles)
    order = np.argsort(np.where(first >= 0, place[first], place[last]), kind="stable")
    first, last = first[order], last[order]
    types = np.asarray(entries.types, np.int8)
    how = np.where(last >= 0, types[last], INFO)
    status = np.select([how == OK, how == FAIL], [COMMITTED, ABORTED], UNKNOWN).astype(np.uint8)
    entry, values, differ = _told(entries, first, last, how)
    lines = [entries.lines[at] for at in entry]
    for at, what in differ:
        troubles.append(Trouble(lines[at], what))
        values[at] = []
    operations = _Operations(values, status, lines, troubles, entries.notation)
    lost = [*operations.lost, *(at for at, _ in differ)]
    status[lost] = UNKNOWN
    process = np.asarray(entries.processes, np.int64)[np.where(first >= 0, first, last)]
    end = np.where((last >= 0) & (status == COMMITTED), place[last], NONE)
    begin = np.where(first >= 0, place[first], NONE)
    keys, key = interned(operations.keys)
    return Transactions(
        status, process, begin, end, np.asarray(entry, np.int64),
        operations.tx, operations.kind, key, operations.values, keys,
        entries.indices, entries.lines, troubles, untimed, numbered, entries.notation,
    )  # fmt: skip


def _places(entries: Entries, troubles: list[Trouble]) -> tuple[Array, bool, bool]:
    """Each entry's place in real time, whether indices name it, and whether places are doubtful."""
    count = len(entries)
    place = np.arange(count)
    index = np.asarray(entries.indices, np.int64)
    if not count or bool((index < 0).any()):
        some = np.flatnonzero(index < 0)
        if len(some) < count:
            what = "an entry has no index, and others have"
            troubles.append(Trouble(entries.lines[int(some[0])], what, hides_writes=False))
        return place, False, False
    _gaps(entries, index, troubles)
    if bool((index[1:] > index[:-1]).all()):
        return place, True, False
    order = np.argsort(index, kind="stable")
    twice = np.flatnonzero(index[order][1:] == index[order][:-1])
    for at in twice[:100].tolist():
        one, other = int(order[at]), int(order[at + 1])
        what = f"index {index[one]} stands at line {entries.lines[one]} already"
        troubles.append(Trouble(entries.lines[other], what, hides_writes=False))
    if len(twice):
        return place, False, True
    place[order] = np.arange(count)
    return place, True, False


def _gaps(entries: Entries, index: Array, troubles: list[Trouble]) -> None:
    """Indices that no entry has: what stood there is lost, and may have been anything."""
    order = np.argsort(index, kind="stable")
    known = np.concatenate([index, np.asarray(entries.passed, np.int64)])
    known = np.unique(known[known >= 0])
    before = np.append(NONE, known[:-1])
    for low, high in zip(before[known > before + 1], known[known > before + 1], strict=True):
        at = min(int(np.searchsorted(index[order], high)), len(order) - 1)
        lost = f"index {low + 1} is" if high == low + 2 else f"indices {low + 1} to {high - 1} are"
        troubles.append(Trouble(entries.lines[int(order[at])], f"{lost} missing before this"))


def _paired(entries: Entries, place: Array, troubles: list[Trouble]) -> tuple[Array, Array]:
    """Invocations and their completions, -1 where there is none."""
    types, process = np.asarray(entries.types, np.int8), np.asarray(entries.processes, np.int64)
    order = np.lexsort((place, process))
    invoked = types[order] == INVOKE
    same = process[order][1:] == process[order][:-1]
    pair = np.append(same & invoked[:-1] & ~invoked[1:], False)
    ended = np.append(False, pair[:-1])
    asked_again = np.flatnonzero(np.append(same, False) & invoked & ~pair)
    for at in order[asked_again][:100].tolist():
        what = f"process {process[at]} never got an answer to this, and went on"
        troubles.append(Trouble(entries.lines[at], what, hides_writes=False))
    unasked = order[~invoked & ~ended]
    known = process[unasked] >= -LARGEST
    for at in unasked[(types[unasked] == OK) & known][:100].tolist():
        what = f"process {process[at]} got an answer here that it never asked for"
        troubles.append(Trouble(entries.lines[at], what))
    silent = np.asarray([entries.values[at] is None for at in unasked.tolist()], np.bool_)
    told = unasked[(types[unasked] == OK) | ~silent]
    pairs = np.flatnonzero(pair)
    alone = np.flatnonzero(invoked & ~pair)
    none = np.full(max(len(told), len(alone)), NONE)
    first = np.concatenate([order[pairs], order[alone], none[: len(told)]])
    last = np.concatenate([order[pairs + 1], none[: len(alone)], told])
    return first, last


def _told(
    entries: Entries, first: Array, last: Array, how: Array
) -> tuple[list[int], list[Any], list[tuple[int, str]]]:
    """The entry that names each transaction, its operations, read, and where answers do not fit.

    What was answered tells what was done; what was not, or failed, only what was asked for.
    """
    chosen: list[int] = []
    named: list[int] = []
    for one, other, kind in zip(first.tolist(), last.tolist(), how.tolist(), strict=True):
        named.append(other if other >= 0 else one)
        asked = kind != OK and one >= 0 and entries.values[one] is not None
        chosen.append(one if asked or other < 0 else other)
    differ = answers.differing(entries, first, last)
    values = answers.read([entries.values[at] for at in chosen])
    return named, values, differ


class _Operations:
    """Flattens operations; transactions whose operations make no sense are `lost`."""

    def __init__(
        self, values: list[Any], status: Array, lines: list[int], troubles: list[Trouble],
        said: Notation,
    ) -> None:  # fmt: skip
        self.lost: list[int] = []
        if not _regular(values):
            self._look(values, lines, troubles, said)
        count = np.fromiter(map(len, values), np.int64, len(values))
        tx = np.repeat(np.arange(len(values), dtype=np.int32), count)
        flat = [one for value in values for one in value]
        kind = np.fromiter((CODES[one[0]] for one in flat), np.int8, len(flat))
        keys = [one[1] for one in flat]
        told = [one[2] for one in flat]
        kept = (kind != READ) | (status[tx] == COMMITTED)
        if self.lost:
            kept &= ~np.isin(tx, self.lost)
        if not kept.all():
            chosen = np.flatnonzero(kept)
            tx, kind = tx[chosen], kind[chosen]
            keys = [keys[at] for at in chosen.tolist()]
            told = [told[at] for at in chosen.tolist()]
        self.tx: Array = tx
        self.kind: Array = kind
        self.keys = keys
        self.values = told

    def _look(
        self, values: list[Any], lines: list[int], troubles: list[Trouble], said: Notation
    ) -> None:
        for at, value in enumerate(values):
            wrong = _wrong(value, said)
            if wrong:
                troubles.append(Trouble(lines[at], wrong))
                self.lost.append(at)
                values[at] = []


def _regular(values: list[Any]) -> bool:
    """Whether all are lists of known operations with a key and a value each."""
    if not set(map(type, values)) <= {list}:
        return False
    kinds, lengths, functions = set(), set(), set()
    for value in values:
        for one in value:
            if type(one) is not list:
                return False
            lengths.add(len(one))
            if len(one) != 3 or type(one[0]) is not str:
                return False
            functions.add(one[0])
            kinds.add(type(one[1]))
    return functions <= CODES.keys() and kinds <= {int, str}


def _wrong(value: Any, said: Notation) -> str:
    """What is wrong with the operations of a transaction; nothing if all is well."""
    if value is None:
        return "an entry does not tell its operations"
    if not isinstance(value, list):
        return (
            f"{said(value)} is no transaction; expected a list such as [[:append 1 2] [:r 3 nil]]"
        )
    for one in value:
        if not isinstance(one, list) or len(one) != 3 or not isinstance(one[0], str):
            return f"{said(one)} is no operation; expected one such as [:append 1 2]"
        if one[0] not in CODES:
            return f"{said(one)}: unknown operation {one[0]}; known: :append, :r, :w"
    return ""


def whole(values: list[Any]) -> Array | None:
    """Values as numbers if all of them are, and fit; None otherwise."""
    if not set(map(type, values)) <= {int}:
        return None
    try:
        return np.asarray(values, np.int64)
    except OverflowError:
        return None


def interned(values: list[Any]) -> tuple[Sequence[Any], Array]:
    """The different values, and the number of each one among them."""
    numbers = whole(values)
    if numbers is not None:
        found, number = np.unique(numbers, return_inverse=True)
        return found.tolist(), number.astype(np.int64)
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
