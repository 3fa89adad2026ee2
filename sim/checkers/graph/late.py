"""How a transaction used a version of a table when the next one was in force already.

A check at operations that works rules that out [110.valid.2] [110.x.1]; so an anomaly in which it
happened is another one than where a transaction had done all it did to the table before. An
operation is late by its own timestamp, or it was judged in time and executed later, or came upon
what others had committed since. Where a change activated before an earlier one, the version of that
earlier one is in force again, and its use is late by no rule [98.past.2]. Where a look-up was
wrong, the check that rests on it is not to blame [98.ap], be it at an operation or at commit.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.operations import AT_THE_PRIMARY
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.writes import Item, Version, Writes
from ddlsim.checkers.graph.edges import SchemaUse
from ddlsim.history.events import Enlisted, ReadExecuted, SchemaResolved, WriteExecuted

JUDGED_BY: Final = (*AT_THE_PRIMARY, "read-only")
BY_NAME: Final = ("enlist",)
NOT_LATE: Final = ""
LATE: Final = "late"
READ_NEWER: Final = ", newer version read"
"""Behind `LATE`: none by its own timestamp, and one read a row of a newer version [110.back]."""
JUDGED_IN_TIME: Final = ", judged in time"
"""Instead of that: none read such a row, and no check that was made at a late timestamp saw it."""
NOTHING_FOUND: Final = ", nothing found"
"""Behind those: none found a row or left one: reads, and deletes of what is not there."""
WRONG_LOOK_UP: Final = ", by a wrong look-up"
"""Behind `LATE`: its node looked the version up when that was in force no more, and found it."""
MISJUDGED: Final = "committed by a wrong look-up"
"""None was late, and the check at commit found the version when that was in force no more."""
IN_FORCE_AGAIN: Final = "late, in force again"
"""Each operation was so at a timestamp at which the version that it used was in force."""


def lateness(
    case: Case, writes: Writes, tx: Transaction, use: SchemaUse, step: SchemaVersion
) -> str:
    """By the timestamp of an operation, or by rows that others committed since then."""
    if isinstance(use.event, Enlisted):
        return _lateness_of_a_way(case, tx, use, step.activation_ts)
    found = list(_late_doings(writes, tx, use, step.activation_ts))
    if not found:
        return NOT_LATE
    used = case.schemas.version(use.object_id, use.version)
    doings = [
        (at, event, is_row)
        for at, event, is_row in found
        if used is None or not case.schemas.is_in_force_again(used, event.op_ts)
    ]
    if not doings:
        return IN_FORCE_AGAIN
    how = JUDGED_IN_TIME
    since = step.activation_ts
    stamped_late = [_looks(tx, use, at, one) for at, one, _ in doings if one.op_ts >= since]
    if any(not _found_it(looks, use) for looks in stamped_late):
        how = NOT_LATE
    elif not all(_judged_in_time(looks, since) for looks in stamped_late):
        how = WRONG_LOOK_UP
    elif any(_reads_newer(event, use) for _, event, _ in doings):
        how = READ_NEWER
    if how is WRONG_LOOK_UP or any(is_row for _, _, is_row in doings):
        return LATE + how
    return LATE + how + NOTHING_FOUND


def is_misjudged(case: Case, tx: Transaction, use: SchemaUse, step: SchemaVersion) -> bool:
    """Whether a look-up at commit, when the step was in force, gave the version before it."""
    return tx.read_ts is None and any(
        one.purpose == "commit"
        and one.object_id == use.object_id
        and one.ts >= step.activation_ts
        and one.version < step.version
        and case.schemas.effective(one.object_id, one.ts) != case.schemas.version(*use[:2])
        for _, one in tx.resolved
    )


def missed(case: Case, tx: Transaction, event: WriteExecuted) -> Iterator[SchemaVersion]:
    """The versions in force at look-ups, of a write or of its commit, that gave an earlier one."""
    for _, one in tx.resolved:
        judges = one.op == event.op and one.node == event.node and one.purpose in JUDGED_BY
        if one.object_id == event.object_id and (judges or one.purpose == "commit"):
            in_force = case.schemas.effective(one.object_id, one.ts)
            if in_force is not None and in_force.version > one.version:
                yield in_force


def _lateness_of_a_way(case: Case, tx: Transaction, use: SchemaUse, since: int) -> str:
    """That of a view or alias, which holds no rows: whether it was looked up wrongly.

    In the past it is looked up once, where its name is resolved.
    """
    judged_by = AT_THE_PRIMARY if tx.read_ts is None else BY_NAME
    wrong = [
        one
        for _, one in tx.resolved
        if one.object_id == use.object_id
        and one.purpose in judged_by
        and one.ts >= since
        and one.version == use.version
        and case.schemas.effective(one.object_id, one.ts) != case.schemas.version(*use[:2])
    ]
    return LATE + WRONG_LOOK_UP if wrong else NOT_LATE


def _looks(
    tx: Transaction, use: SchemaUse, at: int, event: ReadExecuted | WriteExecuted
) -> list[SchemaResolved]:
    """What an operation was judged by where it was executed; copies that come later are not it."""
    asked = (event.op, event.node, use.object_id)
    return [
        one
        for place, one in tx.resolved
        if place < at and (one.op, one.node, one.object_id) == asked and one.purpose in JUDGED_BY
    ]


def _found_it(looks: list[SchemaResolved], use: SchemaUse) -> bool:
    """Whether all of them gave the version that was used."""
    return bool(looks) and all(one.version == use.version for one in looks)


def _judged_in_time(looks: list[SchemaResolved], since: int) -> bool:
    return all(one.ts < since for one in looks)


def _reads_newer(event: ReadExecuted | WriteExecuted, use: SchemaUse) -> bool:
    reads = event.rows if isinstance(event, ReadExecuted) else ()
    return any(row.row_version > use.version for row in reads)


def _late_doings(
    writes: Writes, tx: Transaction, use: SchemaUse, since: int
) -> Iterator[tuple[int, ReadExecuted | WriteExecuted, bool]]:
    """The operations that came too late, each with its place in the history.

    And whether there was a row, found or written.
    """
    for at, read in tx.reads:
        if read.object_id != use.object_id or read.version != use.version:
            continue
        if read.op_ts >= since:
            yield at, read, any(row.row is not None for row in read.rows)
        for row in read.rows:
            item = (read.object_id, row.key)
            if row.writer is not None and row.writer != tx.name:
                place = writes.order.get((row.writer, item))
                if place is not None and writes.versions[item][place].commit_ts >= since:
                    yield at, read, row.row is not None
    for at, write in tx.writes:
        if write.object_id != use.object_id or write.version != use.version:
            continue
        item = (use.object_id, write.key)
        if write.op_ts >= since or _overwrites_newer(writes, tx, item, since):
            yield at, write, not _deletes_nothing(writes, tx, at, write)


def _deletes_nothing(writes: Writes, tx: Transaction, at: int, write: WriteExecuted) -> bool:
    """Whether a write is the delete of a key that had no row, of its own transaction neither."""
    if write.row is not None:
        return False
    item = (write.object_id, write.key)
    own = [one for place, one in tx.writes if place < at and (one.object_id, one.key) == item]
    if own:
        return own[-1].row is None
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
