"""A history as columns: one row for each transaction, one for each operation, names apart.

A version is a number in its key's order: 0 is the initial one, 1 the first written, and so on
without gaps. The maker of a history decides that order (by commit timestamps, or from lists that
were read); a write without a place in it, as an aborted one that was not read, has version -1. Of
one that committed that leaves open what it would show, unless it appends to a list of its own.

A DDL is a virtual transaction that writes the key `schema:<table>`, with versions in the order of
activation; every transaction that works on the table has an operation `SCHEMA` with the version it
ran under. A scan's row is a `READ`, a key that it covered and did not find a `PREDICATE` read of
the version (0, or that of a deletion) which it took for absent. After a write of the scan's own
transaction to the key that is its own deletion; another version says that it missed its own row.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""Whole numbers or truth values; `DTYPES` has the type of each column."""

COMMITTED: Final = 0
ABORTED: Final = 1
UNKNOWN: Final = 2

READ: Final = 0
WRITE: Final = 1
APPEND: Final = 2
LIST_READ: Final = 3
PREDICATE: Final = 4
SCHEMA: Final = 5
PRECEDES: Final = 6
"""Nothing was read, but the transaction is known to precede the next version: rw without wr."""
KINDS: Final = ("read", "write", "append", "list-read", "predicate", "schema-use", "precedes")

SPARE_KEYS: Final = 1_000_000
"""Numbers of keys, or of versions, that may lie between those in use; each takes memory."""
NONE: Final = -1
"""An instant, a timestamp, a process or a version that is not known, or does not count."""
FOREVER: Final = np.iinfo(np.int64).max
"""The end of what has not ended."""

DTYPES: Final[dict[str, type[np.generic]]] = {
    "process": np.int32,
    "begin": np.int64,
    "end": np.int64,
    "read_ts": np.int64,
    "commit_ts": np.int64,
    "status": np.uint8,
    "ddl": np.bool_,
    "tx": np.int32,
    "key": np.int32,
    "kind": np.uint8,
    "version": np.int32,
    "strict_only": np.bool_,
}
OF_TRANSACTIONS: Final = ("process", "begin", "end", "read_ts", "commit_ts", "status", "ddl")
OF_OPERATIONS: Final = ("tx", "key", "kind", "version", "strict_only")


class HistoryError(ValueError):
    """A history that cannot be judged: what is wrong, and in which row."""


@dataclass(frozen=True, slots=True)
class Names:
    """What transactions and keys are called; by number where nothing is given."""

    transactions: Sequence[str] | None = None
    keys: Sequence[str] | None = None

    def transaction(self, number: int) -> str:
        """`T7`, or as it is called."""
        return f"T{number}" if self.transactions is None else self.transactions[number]

    def key(self, number: int) -> str:
        """`k7`, or as it is called."""
        return f"k{number}" if self.keys is None else self.keys[number]


@dataclass(frozen=True, slots=True)
class ColumnHistory:
    """A history; transactions are numbered from 0, operations are sorted by them.

    Of a transaction: its process (client), the instants of its invocation and of its answer
    (any unit of one clock, or positions), the timestamps it read and committed at, whether it is
    `COMMITTED`, `ABORTED` or `UNKNOWN`, and whether it is a DDL. A begin of -1 takes it out of the
    reach of those that ended before, an end of -1 means that none surely comes after it.
    One that is unknown counts as committed as soon as a write of it has a place in a key's order.

    Of an operation, in the order of the program: the transaction, the key, the kind, the version,
    and whether the anti-dependency out of it is one that only the strict graph has.
    """

    process: Array
    begin: Array
    end: Array
    read_ts: Array
    commit_ts: Array
    status: Array
    ddl: Array
    tx: Array
    key: Array
    kind: Array
    version: Array
    strict_only: Array
    names: Names = field(default_factory=Names)

    @property
    def transactions(self) -> int:
        """How many transactions there are, DDLs included."""
        return len(self.process)

    @property
    def operations(self) -> int:
        """How many operations there are."""
        return len(self.tx)

    @property
    def keys(self) -> int:
        """One more than the largest number of a key."""
        return int(self.key.max()) + 1 if len(self.key) else 0


def make(
    *,
    transactions: dict[str, Any],
    operations: dict[str, Any],
    names: Names | None = None,
) -> ColumnHistory:
    """A history from columns (arrays or sequences), those left out filled in, and checked.

    Required are `tx`, `key`, `kind` and `version`; without `status` all are committed. Raises
    `HistoryError` for columns that do not make a history.
    """
    size = max((len(column) for column in transactions.values()), default=0)
    count = len(operations["tx"])
    filled: dict[str, Array] = {}
    for name, dtype in DTYPES.items():
        given = (transactions if name in OF_TRANSACTIONS else operations).get(name)
        length = size if name in OF_TRANSACTIONS else count
        if given is None:
            default = 0 if name in {"status", "ddl", "strict_only"} else NONE
            filled[name] = np.full(length, default, dtype)
        else:
            filled[name] = np.asarray(given, dtype)
    history = ColumnHistory(**filled, names=names or Names())
    check(history)
    return history


class Largest(NamedTuple):
    """The largest number of a column of operations, and the first of those in words."""

    number: int = NONE
    words: str = ""


class Before(NamedTuple):
    """What a history has before one of its parts."""

    transactions: int = 0
    operations: int = 0
    key: Largest = Largest()
    version: Largest = Largest()


def check(history: ColumnHistory) -> None:
    """Raise `HistoryError` unless the columns make a history; does not look at its meaning."""
    for group in (OF_TRANSACTIONS, OF_OPERATIONS):
        lengths = {name: len(getattr(history, name)) for name in group}
        if len(set(lengths.values())) > 1:
            raise HistoryError(f"columns of different lengths: {lengths}")
    check_whole(check_part(history, Before()), history.names)


def check_part(part: ColumnHistory, before: Before) -> Before:
    """`check` of one part, transactions numbered on; what the next part has before it."""
    _check_transactions(part, before.transactions)
    transactions = before.transactions + part.transactions
    if not part.operations:
        return before._replace(transactions=transactions)
    tx, n, first = part.tx, transactions, before.operations
    _refuse(part, (tx < 0) | (tx >= n), f"its transaction is not one of 0 to {n - 1}", first)
    unsorted = np.append(False, tx[1:] < tx[:-1])
    _refuse(part, unsorted, "operations are not sorted by transaction", first)
    _refuse(part, part.key < 0, "a key's number is negative", first)
    _refuse(part, part.kind >= len(KINDS), f"a kind is one of 0 to {len(KINDS) - 1}", first)
    told = "a version is -1 (none), 0 (initial) or higher"
    _refuse(part, part.version < NONE, told, first)
    _refuse(part, is_write(part.kind) & (part.version == 0), "version 0 is not written", first)
    return Before(
        transactions,
        first + part.operations,
        _larger(part, "key", first, before.key),
        _larger(part, "version", first, before.version),
    )


def _larger(part: ColumnHistory, name: str, first: int, than: Largest) -> Largest:
    """The largest number of a column in a part, if it is above that before."""
    at = int(np.argmax(getattr(part, name)))
    number = int(getattr(part, name)[at])
    why = f"{name}s are numbered without gaps: renumber them"
    return Largest(number, _shown(part, at, first, why)) if number > than.number else than


def check_whole(whole: Before, names: Names) -> None:
    """`check` of what only all parts together tell."""
    for what, count in (("transactions", whole.transactions), ("keys", whole.key.number + 1)):
        given = getattr(names, what)
        if given is not None and len(given) < count:
            raise HistoryError(f"{len(given)} names of {what}, but there are {count}")
    for largest in (whole.key, whole.version):
        if largest.number >= 8 * whole.operations + SPARE_KEYS:
            raise HistoryError(largest.words)


def _check_transactions(part: ColumnHistory, first: int) -> None:
    """The columns of the transactions; the first of them has this number."""
    early = (part.end >= 0) & (part.end < part.begin)
    if early.any():
        at = int(np.argmax(early))
        ended, began = int(part.end[at]), int(part.begin[at])
        raise HistoryError(
            f"transaction {first + at}: it ended at {ended}, before it began at {began}"
        )
    if part.transactions and int(part.status.max()) > UNKNOWN:
        at = int(np.argmax(part.status))
        raise HistoryError(
            f"transaction {first + at}: a status is 0, 1 or 2, not {part.status[at]}"
        )
    for name in OF_TRANSACTIONS:
        column = getattr(part, name)
        if part.transactions and int(column.min()) < NONE:
            at = int(np.argmin(column))
            raise HistoryError(
                f"transaction {first + at}: {name} is {column[at]}: -1 (not known) or higher"
            )


def _refuse(part: ColumnHistory, wrong: Array, why: str, first: int) -> None:
    if wrong.any():
        raise HistoryError(_shown(part, int(np.argmax(wrong)), first, why))


def _shown(part: ColumnHistory, at: int, first: int, why: str) -> str:
    """What is wrong with an operation, with its number and columns."""
    shown = {name: int(getattr(part, name)[at]) for name in OF_OPERATIONS}
    return f"operation {first + at}: {why} ({shown})"


def is_write(kind: Array) -> Array:
    """Which kinds install a version."""
    found: Array = (kind == WRITE) | (kind == APPEND)
    return found


def columns_of(history: ColumnHistory) -> dict[str, Array]:
    """Every column by its name."""
    return {one.name: getattr(history, one.name) for one in fields(history) if one.name != "names"}
