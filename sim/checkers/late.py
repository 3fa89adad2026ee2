"""Whether a transaction used a version of a table when the next one was in force already.

A check at operations that works rules that out [110.valid.2] [110.x.1]; so an anomaly in which it
happened is another one than where a transaction had done all it did to the table before.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.case.case import Transaction
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.writes import Item, Version, Writes
from ddlsim.checkers.edges import SchemaUse
from ddlsim.history.events import WriteExecuted

NOT_LATE: Final = ""
LATE: Final = "late"
LATE_AND_NOTHING: Final = "late, nothing found"
"""None of its operations then found a row or left one: reads, and deletes of what is not there."""


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
        item = (use.object_id, write.key)
        if write.op_ts >= since or _overwrites_newer(writes, tx, item, since):
            yield not _deletes_nothing(writes, tx, write)


def _deletes_nothing(writes: Writes, tx: Transaction, write: WriteExecuted) -> bool:
    """Whether a write is the delete of a key that had no row, of its own transaction neither."""
    item = (write.object_id, write.key)
    own = (one for _, one in tx.writes if (one.object_id, one.key) == item)
    if any(one.row is not None for one in own):
        return False
    before = _version_before(writes, tx, item)
    return before is None or before.write.event.row is None


def _version_before(writes: Writes, tx: Transaction, item: Item) -> Version | None:
    """The version that a transaction's own replaced."""
    place = writes.order.get((tx.name, item), 0)
    return writes.versions[item][place - 1] if place > 0 else None


def _overwrites_newer(writes: Writes, tx: Transaction, item: Item, since: int) -> bool:
    """Whether the version before a transaction's own was committed at `since` or later."""
    before = _version_before(writes, tx, item)
    return before is not None and before.commit_ts >= since
