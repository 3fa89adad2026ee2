"""Transactions out of entries: invocations paired with their completions, operations as columns.

A transaction is numbered by its place in the history; real time is the order of the entries, by
their indices if they have some. Their times are not compared between processes; where they go back
within one, the order of the entries is not that in which they came, and real time is not known. A
failed one keeps only its writes. One without completion, or with `info`, is unknown: it has no end,
and its reads have no values. An invocation after an unanswered one of the same process leaves the
first unknown. A completion without its invocation has no known begin. Where a process has both, the
one before the other, it had several transactions under way: which answer is whose is not certain,
so that none of its answers from there on has a known begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ddlsim.foreign.readers import answers
from ddlsim.foreign.readers.brief import Notation, edn
from ddlsim.foreign.readers.by_key import ByKey
from ddlsim.foreign.readers.entries import FAIL, INFO, INVOKE, LARGEST, OK, Table
from ddlsim.foreign.readers.operations import (
    CODES,
    LISTED,
    NIL,
    ONE,
    READ,
    dense,
    numbered,
    ranges,
    whole,
)
from ddlsim.foreign.readers.problems import Trouble
from ddlsim.graph.history import ABORTED, COMMITTED, NONE, UNKNOWN, Array


@dataclass
class Transactions:
    """Transactions and their operations as columns.

    Of a transaction: `status`, `process`, `begin` and `end` as positions in the history (-1 where
    not known, or not to be counted), and `entry`, the place of the entry that has its operations.
    Of an operation: its transaction, kind and key (dense), and its value: `number[first]` and those
    after it, `length` of them, where `form` is not `NIL`. `names` has the values that numbers stand
    for, if they are not these numbers. `notation` writes a value as the file does. `cut` says that
    writes may be missing from the history: some entry hides them. `untimed` says why the order in
    time is not certain, if so.
    """

    status: Array
    process: Array
    begin: Array
    end: Array
    entry: Array
    tx: Array
    kind: Array
    key: Array
    form: Array
    first: Array
    length: Array
    number: Array
    names: Sequence[Any] | None
    keys: Sequence[Any]
    indices: Array
    lines: Array
    troubles: list[Trouble]
    untimed: str
    has_indices: bool
    notation: Notation

    def __len__(self) -> int:
        return len(self.status)

    @property
    def cut(self) -> bool:
        """Whether there may be writes that are not recorded."""
        return any(trouble.hides_writes for trouble in self.troubles)

    @cached_property
    def by_key(self) -> ByKey:
        """The operations by transaction and key."""
        return ByKey(self.tx, self.key)

    def ops_of(self, number: int) -> tuple[int, int]:
        """The first operation of a transaction, and the one behind its last."""
        bounds = np.asarray([number, number + 1], self.tx.dtype)  # of another type all are copied
        low, high = self.tx.searchsorted(bounds)
        return int(low), int(high)

    def element(self, number: int) -> Any:
        """The value that a number stands for."""
        return number if self.names is None else self.names[number]

    def value(self, op: int) -> Any:
        """The value of an operation."""
        if self.form[op] == NIL:
            return None
        low = int(self.first[op])
        if self.form[op] == ONE:
            return self.element(int(self.number[low]))
        return [*map(self.element, self.number[low : low + int(self.length[op])].tolist())]

    def value_text(self, op: int) -> str:
        """The value of an operation in the notation of the file."""
        return self.notation(self.value(op))

    def key_text(self, op: int) -> str:
        """The key of an operation in the notation of the file."""
        return self.notation(self.keys[int(self.key[op])])

    def operation(self, name: str, op: int) -> str:
        """An operation by its function's name, its key and its value."""
        function = f":{name}" if self.notation is edn else name
        key = self.keys[int(self.key[op])]
        return self.notation([function, key, self.value(op)])

    def name(self, number: int) -> str:
        """A transaction by the index of its completion, as Jepsen has it; else by its line."""
        at = int(self.entry[number])
        return f"T{self.indices[at]}" if self.has_indices else f"T{self.lines[at]}"


def transactions_of(table: Table) -> Transactions:
    """The transactions of a history."""
    troubles = list(table.troubles)
    place, has_indices, untimed = _places(table, troubles)
    untimed = untimed or _backwards(table, place)
    first, last, crossed = _paired(table, place, troubles)
    order = np.argsort(np.where(first >= 0, place[first], place[last]), kind="stable")
    first, last, crossed = first[order], last[order], crossed[order]
    how = np.where(last >= 0, table.types[last], INFO)
    status = np.select([how == OK, how == FAIL], [COMMITTED, ABORTED], UNKNOWN).astype(np.uint8)
    chosen = _chosen(table, first, last, how)
    entry = np.where(last >= 0, last, first)
    differ = answers.differing(table, first, last)
    troubles += (Trouble(int(table.lines[entry[at]]), what) for at, what in differ)
    without = np.zeros(len(entry), np.bool_)
    without[[at for at, _ in differ]] = True
    odd = _odd(table, chosen, entry, without, troubles)
    status[without] = UNKNOWN
    counts = np.where(without, 0, table.operations.count[chosen])
    found = _named(table, chosen, counts) if odd else _whole(table, chosen, counts)
    kept = (found.kind != READ) | (status[found.tx] == COMMITTED)
    process = table.processes[np.where(first >= 0, first, last)]
    end = np.where((last >= 0) & (status == COMMITTED), place[last], NONE)
    begin = np.where((first >= 0) & ~crossed, place[first], NONE)
    return Transactions(
        status, process, begin, end, entry,
        found.tx[kept], found.kind[kept], found.key[kept], found.form[kept], found.first[kept],
        found.length[kept], found.number, found.names, found.keys,
        table.indices, table.lines, troubles, untimed, has_indices, table.notation,
    )  # fmt: skip


def _places(table: Table, troubles: list[Trouble]) -> tuple[Array, bool, str]:
    """Each entry's place in real time, whether indices name it, and why places are doubtful."""
    count = len(table)
    place = np.arange(count)
    index = table.indices
    if not count or bool((index < 0).any()):
        some = np.flatnonzero(index < 0)
        if len(some) < count:
            what = "an entry has no index, and others have"
            troubles.append(Trouble(table.lines[int(some[0])], what, hides_writes=False))
        return place, False, ""
    _gaps(table, index, troubles)
    if bool((index[1:] > index[:-1]).all()):
        return place, True, ""
    order = np.argsort(index, kind="stable")
    twice = np.flatnonzero(index[order][1:] == index[order][:-1])
    for at in twice[:100].tolist():
        one, other = int(order[at]), int(order[at + 1])
        what = f"index {index[one]} is at line {table.lines[one]} already"
        troubles.append(Trouble(table.lines[other], what, hides_writes=False))
    if len(twice):
        return place, False, "some indices occur twice"
    place[order] = np.arange(count)
    return place, True, ""


def _backwards(table: Table, place: Array) -> str:
    """The first entry whose time is before that of the entry before it of its process, in words."""
    timed = np.flatnonzero(table.times >= 0)
    order = timed[np.lexsort((place[timed], table.processes[timed]))]
    process, time = table.processes[order], table.times[order]
    back = np.flatnonzero((process[1:] == process[:-1]) & (time[1:] < time[:-1]))
    if not len(back):
        return ""
    first = back[np.argmin(place[order[back + 1]])]
    line, others = table.lines[order[first + 1]], len(back) - 1
    what = f"at line {line} the time of process {process[first]} goes back from {time[first]} to"
    return f"{what} {time[first + 1]}" + (f", and at {others:,} others" if others else "")


def _gaps(table: Table, index: Array, troubles: list[Trouble]) -> None:
    """Indices that no entry has: what stood there is lost, and may have been anything."""
    known = np.sort(np.concatenate([index, np.asarray(table.passed, np.int64)]))
    known = known[known >= 0]
    before = np.append(NONE, known[:-1])
    gaps = np.flatnonzero(known > before + 1)
    order = np.argsort(index, kind="stable") if len(gaps) else index
    for low, high in zip(before[gaps].tolist(), known[gaps].tolist(), strict=True):
        at = min(int(np.searchsorted(index[order], high)), len(order) - 1)
        lost = f"index {low + 1} is" if high == low + 2 else f"indices {low + 1} to {high - 1} are"
        troubles.append(Trouble(table.lines[int(order[at])], f"{lost} missing before this"))


def _paired(table: Table, place: Array, troubles: list[Trouble]) -> tuple[Array, Array, Array]:
    """Invocations and their completions, -1 where there is none; and whose may be another's."""
    types, process = table.types, table.processes
    order = np.lexsort((place, process))
    invoked = types[order] == INVOKE
    same = process[order][1:] == process[order][:-1]
    pair = np.append(same & invoked[:-1] & ~invoked[1:], False)
    ended = np.append(False, pair[:-1])
    asked_again = np.flatnonzero(np.append(same, False) & invoked & ~pair)
    for at in order[asked_again][:100].tolist():
        what = f"process {process[at]} got no answer to this, and went on"
        troubles.append(Trouble(table.lines[at], what, hides_writes=False))
    unasked = order[~invoked & ~ended]
    known = process[unasked] >= -LARGEST
    for at in unasked[(types[unasked] == OK) & known][:100].tolist():
        what = f"process {process[at]} has a completion here without an invocation"
        troubles.append(Trouble(table.lines[at], what))
    silent = table.operations.count[unasked] == NONE
    alone_ended = unasked[(types[unasked] == OK) | ~silent]
    pairs = np.flatnonzero(pair)
    alone = np.flatnonzero(invoked & ~pair)
    none = np.full(max(len(alone_ended), len(alone)), NONE)
    first = np.concatenate([order[pairs], order[alone], none[: len(alone_ended)]])
    last = np.concatenate([order[pairs + 1], none[: len(alone)], alone_ended])
    left = order[asked_again]
    return first, last, _crossed(process, place, (left, unasked[known]), last)


def _crossed(process: Array, place: Array, doubts: tuple[Array, Array], last: Array) -> Array:
    """Which answers are of a process with several transactions under way, from the first one on.

    `doubts` are invocations that got no answer, and completions that had no invocation.
    """
    left, unasked = doubts
    since: dict[int, int] = {}
    for one in left[np.argsort(place[left])].tolist():
        since.setdefault(int(process[one]), int(place[one]))
    until: dict[int, int] = {}
    for one in unasked[np.argsort(place[unasked])].tolist():
        until[int(process[one])] = int(place[one])
    found = np.zeros(len(last), np.bool_)
    for one, start in since.items():
        if until.get(one, NONE) > start:
            found |= (last >= 0) & (process[last] == one) & (place[last] > start)
    return found


def _chosen(table: Table, first: Array, last: Array, how: Array) -> Array:
    """The entry that has the operations of each transaction.

    A completion has what was done; without one, or after a failure, the invocation counts.
    """
    has_operations = table.operations.count != NONE
    asked = (how != OK) & (first >= 0) & has_operations[first]
    found: Array = np.where(asked | (last < 0), first, last)
    return found


def _odd(
    table: Table, chosen: Array, entry: Array, without: Array, troubles: list[Trouble]
) -> bool:
    """Whether operations hold other values than whole numbers; an unusable one is `without`."""
    odd = False
    for at in np.flatnonzero((table.operations.count[chosen] < 0) & ~without).tolist():
        value = table.value(int(chosen[at]))
        wrong = _wrong(value, table.notation)
        if wrong:
            troubles.append(Trouble(int(table.lines[entry[at]]), wrong))
            without[at] = True
        odd |= not wrong
    return odd


class _Columns(NamedTuple):
    """The operations of transactions, as in `Transactions`."""

    tx: Array
    kind: Array
    key: Array
    form: Array
    first: Array
    length: Array
    number: Array
    names: Sequence[Any] | None
    keys: Sequence[Any]


def _whole(table: Table, chosen: Array, counts: Array) -> _Columns:
    """The operations of some entries, all of whole numbers."""
    of = table.operations
    op = ranges(of.first[chosen], counts)
    tx = np.repeat(np.arange(len(chosen), dtype=np.int32), counts)
    keys, key = dense(of.key[op])
    return _Columns(
        tx, of.function[op], key, of.form[op], of.begin[op], of.length[op], of.number, None,
        keys.tolist(),
    )  # fmt: skip


def _named(table: Table, chosen: Array, counts: Array) -> _Columns:
    """The operations of some entries, with values of any kind, numbered."""
    values = [
        table.value(at) if count else []
        for at, count in zip(chosen.tolist(), counts.tolist(), strict=True)
    ]
    flat = [one for value in values for one in value]
    tx = np.repeat(np.arange(len(values), dtype=np.int32), [*map(len, values)])
    kind = np.asarray([CODES[one[0]] for one in flat], np.uint8)
    read = [kind == READ and isinstance(one[2], list) for kind, one in zip(kind, flat, strict=True)]
    form = [
        LISTED if listed else NIL if one[2] is None else ONE
        for listed, one in zip(read, flat, strict=True)
    ]
    parts = [one[2] if listed else [one[2]] for listed, one in zip(read, flat, strict=True)]
    length = np.asarray([*map(len, parts)], np.int64)
    names, number = numbered([one for part in parts for one in part])
    keys = [one[1] for one in flat]
    known = whole(keys)
    different, key = numbered(keys) if known is None else dense(known)
    return _Columns(
        tx, kind, key, np.asarray(form, np.uint8), np.cumsum(length) - length, length, number,
        names, list(different),
    )  # fmt: skip


def _wrong(value: Any, said: Notation) -> str:
    """What is wrong with the operations of a transaction; nothing if all is well."""
    if value is None:
        return "an entry has no operations"
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
