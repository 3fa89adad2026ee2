"""Whether a transaction used a version of a table when the next one was in force already.

A check at operations that works rules that out [110.valid.2] [110.x.1]; so an anomaly in which it
happened is another one than where a transaction had done all it did to the table before.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.case.case import Transaction
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.writes import Item, Writes
from ddlsim.checkers.edges import SchemaUse

NOT_LATE: Final = ""
LATE: Final = "late"
LATE_AND_NOTHING: Final = "late, nothing found"
"""It did so by reads alone, and each of them found no row."""


def lateness(writes: Writes, tx: Transaction, use: SchemaUse, step: SchemaVersion) -> str:
    """By the timestamp of an operation, or by rows that others committed since then."""
    found = list(_late_doings(writes, tx, use, step.activation_ts))
    if not found:
        return NOT_LATE
    return LATE if any(found) else LATE_AND_NOTHING


def _late_doings(writes: Writes, tx: Transaction, use: SchemaUse, since: int) -> Iterator[bool]:
    """For each operation that came too late: whether there was a row, found or written."""
    for _, read in tx.reads:
        if read.object_id != use.object_id or read.version != use.version:
            continue
        if read.op_ts >= since:
            yield any(row.row is not None for row in read.rows)
        for row in read.rows:
            item = (read.object_id, row.key)
            if row.writer is not None and row.writer != tx.name:
                place = writes.order.get((row.writer, item))
                if place is not None and writes.versions[item][place].commit_ts >= since:
                    yield row.row is not None
    for _, write in tx.writes:
        if write.object_id != use.object_id or write.version != use.version:
            continue
        if write.op_ts >= since or _overwrites_newer(writes, tx, (use.object_id, write.key), since):
            yield True


def _overwrites_newer(writes: Writes, tx: Transaction, item: Item, since: int) -> bool:
    """Whether the version before a transaction's own was committed at `since` or later."""
    place = writes.order.get((tx.name, item), 0)
    return place > 0 and writes.versions[item][place - 1].commit_ts >= since
