"""A history as columns: one row for each transaction, one for each operation, names apart.

A version is a number in its key's order: 0 is the initial one, 1 the first written, and so on
without gaps. The maker of a history decides that order (by commit timestamps, or from lists that
were read); a write without a place in it, as an aborted one that was not read, has version -1. Of
one that committed that leaves open what it would show, unless it appends to a list of its own.

A DDL is a virtual transaction that writes the key `schema:<table>`, with versions in the order of
activation; every transaction that works on the table has an operation `SCHEMA` with the version it
ran under. A scan's row is a `READ`, a key that it covered and did not find a `PREDICATE` read of
the version (0, or that of a deletion) which it took for absent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

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
"""Numbers of keys that may lie between those in use; each takes memory."""
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


def check(history: ColumnHistory) -> None:
    """Raise `HistoryError` unless the columns make a history; does not look at its meaning."""
    for group in (OF_TRANSACTIONS, OF_OPERATIONS):
        lengths = {name: len(getattr(history, name)) for name in group}
        if len(set(lengths.values())) > 1:
            raise HistoryError(f"columns of different lengths: {lengths}")
    early = (history.end >= 0) & (history.end < history.begin)
    if early.any():
        at = int(np.argmax(early))
        ended, began = int(history.end[at]), int(history.begin[at])
        raise HistoryError(f"transaction {at}: it ended at {ended}, before it began at {began}")
    if history.transactions and int(history.status.max()) > UNKNOWN:
        at = int(np.argmax(history.status))
        raise HistoryError(f"transaction {at}: a status is 0, 1 or 2, not {history.status[at]}")
    _check_names(history)
    if not history.operations:
        return
    most = 8 * history.operations + SPARE_KEYS
    _refuse(history, history.key >= most, "keys are numbered without gaps: renumber them")
    tx, n = history.tx, history.transactions
    _refuse(history, (tx < 0) | (tx >= n), f"its transaction is not one of 0 to {n - 1}")
    _refuse(history, np.append(False, tx[1:] < tx[:-1]), "operations are not sorted by transaction")
    _refuse(history, history.key < 0, "a key's number is negative")
    _refuse(history, history.kind >= len(KINDS), f"a kind is one of 0 to {len(KINDS) - 1}")
    _refuse(history, history.version < NONE, "a version is -1 (none), 0 (initial) or higher")
    _refuse(history, is_write(history.kind) & (history.version == 0), "version 0 is not written")


def _check_names(history: ColumnHistory) -> None:
    """Lists of names are long enough."""
    for what in ("transactions", "keys"):
        given, count = getattr(history.names, what), getattr(history, what)
        if given is not None and len(given) < count:
            raise HistoryError(f"{len(given)} names of {what}, but there are {count}")


def _refuse(history: ColumnHistory, wrong: Array, why: str) -> None:
    if wrong.any():
        at = int(np.argmax(wrong))
        shown = {name: int(getattr(history, name)[at]) for name in OF_OPERATIONS}
        raise HistoryError(f"operation {at}: {why} ({shown})")


def is_write(kind: Array) -> Array:
    """Which kinds install a version."""
    found: Array = (kind == WRITE) | (kind == APPEND)
    return found


def columns_of(history: ColumnHistory) -> dict[str, Array]:
    """Every column by its name."""
    return {one.name: getattr(history, one.name) for one in fields(history) if one.name != "names"}
