"""Rules of Apache Ignite 3 as shipped, where they differ from the IEPs' (strategy `ignite3`)."""

from ddlsim.history.event import Cells
from ddlsim.model.ddl import (
    ColumnAltered,
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
    ObjectRenamed,
    SimpleChange,
)
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import Finish, Operated
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError
from ddlsim.protocol.schema.compatibility import IGNITE3, forward_compatible, judge
from ddlsim.protocol.strategy import (
    CheckPoints,
    CoordinatorPart,
    OnePhasePart,
    SchemaSyncPart,
    Steps,
    Verdict,
)
from ddlsim.protocol.transaction.commit_check import looked_up, validate
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp

AFTER_LOCKS_WITH_ROWS = CheckPoints(
    on_arrival=True,
    after_locks=True,
    exists_on_arrival=True,
    only_with_rows=True,
    deleted_rows=False,
    rows_first=True,
)
"""Apache Ignite 3: existence on arrival; the version once a row is found or is to be written.

What a read finds is judged as it is found, before the table's version is.
"""

NO_TABLE_VERSION = (IndexCreated, IndexDropped, IndexStateSet, ObjectRenamed)
"""Indexes are objects of their own in the shipped catalog, and a name is not part of a schema."""


def at_begin(_now: Timestamp, begin_ts: Timestamp, _created_ts: Timestamp) -> Timestamp:
    """The schema of all tables is that at the transaction's begin (Apache Ignite 3)."""
    return begin_ts


def is_table_version(step: ObjectChange) -> bool:
    """Whether the shipped catalog gives the table another version for a step."""
    return not all(isinstance(change, NO_TABLE_VERSION) for change in step.changes)


def same_table_version(_initial: int, _current: int, steps: Steps) -> Reason | None:
    """An operation fails if the table's version at opTs, as shipped, is not that of I."""
    return Reason.SCHEMA_CHANGED if any(map(is_table_version, steps)) else None


def is_of_same_table_version(steps: Steps, _row: Cells | None) -> bool:
    """Whether a row of a later step is of the same table version, as shipped."""
    return not any(map(is_table_version, steps))


def each_step_as_shipped(steps: Steps) -> Reason | None:
    """The rules of the shipped code: before and after by name, fewer types."""
    return None if forward_compatible(steps, IGNITE3) else Reason.SCHEMA_INCOMPATIBLE


def allow_what_widens(change: SimpleChange) -> str | None:
    """A DDL may only widen a column: its type by the shipped rules, and NOT NULL to NULL."""
    if not isinstance(change, ColumnAltered):
        return None
    for verdict in judge(change, "table", IGNITE3):
        if verdict.compatible:
            continue
        if verdict.clause == "110.column.type":
            return f"column {change.before.name!r}: {verdict.reason}"
        if verdict.clause == "110.column.nullable":
            return f"column {change.before.name!r}: the shipped code adds no NOT NULL to a column"
    return None


def judge_writes_and_queries(*, wrote: bool, queried: bool) -> bool:
    """A key-value transaction that only read is just unlocked (Apache Ignite 3)."""
    return wrote or queried


async def ask_leader_again(write: OnePhasePart) -> Operated:
    """A leader without metadata is busy (EBUSY): retry until it is complete, or time is up.

    The last attempt begins within `busy_leader_us`; then `METADATA_LATE` is returned. The
    coordinator has that before it asks anew: else a leader whose metadata is never complete for its
    stamp may be asked for ever.
    """
    node = write.node
    resend_us = node.settings.resend_us
    until_us = write.began_us + node.settings.busy_leader_us
    while node.watch.now_us + resend_us < until_us:
        node.probe("one-phase-asked-again")
        await node.sleep(resend_us)
        answered = await write.commit()
        if answered is not None:
            return answered
    return Operated(node.clock.now(), write.op_ts, Reason.METADATA_LATE)


async def judged_at_finish(
    _coordinator: CoordinatorPart, tx: Transaction, _commit_ts: Timestamp
) -> Verdict:
    """No judgement at the coordinator: the commit partition's primary judges (Ignite 3)."""
    return None, tuple((e.object_id, e.version, e.version) for e in tx.by_id.values())


async def schema_at_finish(sync: SchemaSyncPart, request: Finish) -> Verdict:
    """Judge I against C at commit_ts, at the primary of the commit partition [110.valid.1]."""
    commit_ts = request.commit_ts
    assert commit_ts is not None, f"{request.tx.label} does not want to commit"
    enlisted = [(object_id, initial) for object_id, initial, _ in request.tables]
    try:
        tables = await looked_up(sync, request.tx.label, enlisted, commit_ts)
    except MetadataLateError:
        return Reason.METADATA_LATE, request.tables
    return validate(sync, tables, commit_ts), tables
