"""NOT NULL columns without default on an empty table, which IEP-110 postpones [110.later.2].

Such a column is undefined for rows that exist, so the table has to be read first. A read before the
installation proves nothing: rows may be written under the old schema until the new one activates.
In two steps the read is decisive:

    1. the column is installed as *pending*, active from Tu1: a write under that version has to
       give it a value, and no transaction of an older version may commit from Tu1 on, since the
       change is forward-incompatible
    2. the table is read as of Tu1, all partitions: a row that is not there by then is never added
       without a value
    3. an empty table has the column *confirmed*, active from Tu2; else it is dropped, as another
       version, and the statement refused

Each step waits until it is effective everywhere, so that such a statement takes twice as long as
others, 2 (DD + CSmax). What others do to the column meanwhile stays: a column that is dropped while
it is pending is not confirmed. A node that dies in between leaves a pending column behind, which
promises nothing of the rows from before it; DROP COLUMN undoes it.

Only a statement that adds columns and does nothing else can be taken back, and is done in this way;
in any other a mandatory column is refused as ever.
"""

from functools import partial
from typing import Final, TypeGuard

from ddlsim.model.ddl import (
    AddColumn,
    AlterTable,
    ColumnAdded,
    ColumnDropped,
    IndexDropped,
    ObjectChange,
    SimpleChange,
    Statement,
)
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.design.flows import acknowledged, logged, replicate_wait_acknowledge
from ddlsim.protocol.schema.alter_table import is_mandatory
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.ddl_answers import Decision, changed, evolve, refuse
from ddlsim.protocol.strategy import SchemaChangePart
from ddlsim.units import Timestamp

GONE: Final = Refused(Reason.DDL_CONFLICT, "a column was dropped before it was confirmed")


async def install_if_seen_empty(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """Install if the table is empty now: rows may be added between the read and Tu."""
    if not adds_mandatory_columns(statement):
        return await replicate_wait_acknowledge(change, op, statement)
    await change.knows_enough()
    snapshot = change.catalog.latest()
    built = _with_columns(statement, snapshot)
    why: Refused | None = None
    if isinstance(built, Built) and any(map(_is_mandatory, built.objects[0].changes)):
        now = change.node.clock.now()
        why = await _why_not_empty(change, op, built.objects[0], now)
    done = await logged(change, op, lambda newest: why or _with_columns(statement, newest))
    return await acknowledged(change, op, done)


async def install_pending_first(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """Install the columns as pending, read the table as of then, confirm or cancel."""
    if not adds_mandatory_columns(statement):
        return await replicate_wait_acknowledge(change, op, statement)
    node, strategy = change.node, change.strategy
    done = await logged(change, op, partial(_with_pending, statement), "pending-")
    pended = None if done is None else _pended(done.built)
    if done is None or pended is None:
        return await acknowledged(change, op, done)
    node.probe("column-pending")
    skew_ms = node.settings.max_clock_skew_ms
    await node.clock_passes(strategy.acknowledge_ts(done.activation_ts, skew_ms))
    why = await _why_not_empty(change, op, pended, done.activation_ts)
    rounds, ended = 0, None
    while ended is None:  # a column must not stay pending because others change the catalog too
        ended = await logged(change, op, partial(_ended, pended, why), f"end-{rounds}-")
        rounds += 1
    if not isinstance(ended.built, Built):
        return await acknowledged(change, op, ended)
    if any(isinstance(one, ColumnConfirmed) for one in ended.built.objects[0].changes):
        node.probe("column-confirmed")
        return await acknowledged(change, op, ended)
    node.probe("column-cancelled")
    return await acknowledged(change, op, ended._replace(built=why or GONE))


def adds_mandatory_columns(statement: Statement) -> bool:
    """Whether it adds columns, does nothing else, and rows that exist lack a value of one."""
    if not isinstance(statement, AlterTable):
        return False
    added = [action.column for action in statement.actions if isinstance(action, AddColumn)]
    return len(added) == len(statement.actions) and any(map(is_mandatory, added))


# --- the steps ------------------------------------------------------------------------------------


def _with_columns(statement: Statement, snapshot: Snapshot) -> Built | NoOp | Refused:
    """The statement as if it were allowed."""
    return build(statement, snapshot, snapshot.next_object_id, mandatory=True)


def _with_pending(statement: Statement, snapshot: Snapshot) -> Built | NoOp | Refused:
    """The same; a mandatory column is pending."""
    built = _with_columns(statement, snapshot)
    if not isinstance(built, Built):
        return built
    (change,) = built.objects
    changes = tuple(
        ColumnPending(one.column) if _is_mandatory(one) else one for one in change.changes
    )
    assert change.definition is not None, f"{change.name} is gone"
    return Built((changed(change.definition, changes),))


def _is_mandatory(change: SimpleChange) -> TypeGuard[ColumnAdded]:
    return isinstance(change, ColumnAdded) and is_mandatory(change.column)


def _pended(built: Built | NoOp | Refused) -> ObjectChange | None:
    """The step that made columns pending; none did where IF NOT EXISTS found them all."""
    if not isinstance(built, Built):
        return None
    (change,) = built.objects
    return change if any(isinstance(one, ColumnPending) for one in change.changes) else None


def _ended(pended: ObjectChange, why: Refused | None, snapshot: Snapshot) -> Built | Refused:
    """The second version: the columns confirmed if all are still there, else all dropped."""
    table = snapshot.by_id(pended.object_id)
    if not isinstance(table, Table):
        return why or GONE
    ids = _columns_of(pended)
    left = [column for column in table.columns if column.id in ids]
    if not left:
        return why or GONE
    changes: list[SimpleChange] = []
    if why is None and len(left) == len(ids):
        pending = _columns_of(pended, only_pending=True)
        changes += [ColumnConfirmed(column) for column in left if column.id in pending]
    else:
        indexes = tuple(one for one in table.indexes if not ids.keys() & set(one.columns))
        changes += [IndexDropped(one) for one in table.indexes if one not in indexes]
        changes += [ColumnDropped(column) for column in left]
        kept = tuple(column for column in table.columns if column.id not in ids)
        table = evolve(table, columns=kept, indexes=indexes)
    return Built((changed(evolve(table, version=table.version + 1), tuple(changes)),))


def _columns_of(pended: ObjectChange, *, only_pending: bool = False) -> dict[int, None]:
    """The ids of the columns that a statement has added."""
    kinds = ColumnPending if only_pending else ColumnPending | ColumnAdded
    return {one.column.id: None for one in pended.changes if isinstance(one, kinds)}


# --- the read -------------------------------------------------------------------------------------


async def _why_not_empty(
    change: SchemaChangePart, op: str, added: ObjectChange, read_ts: Timestamp
) -> Refused | None:
    """None if the table has no rows at a timestamp; else that it has some, or cannot be read."""
    assert change.row_counter is not None, f"{change.node.name} cannot read tables"
    node, number = change.node, 0
    until_us = node.watch.now_us + node.settings.operation_timeout_us
    while True:
        found = await change.row_counter.rows_at(added.object_id, read_ts, f"{op}.look{number}")
        if not isinstance(found, Reason):
            break
        if node.watch.now_us >= until_us:
            message = (
                f"table {added.name!r} could not be read to see if it is empty: {found.sentence}"
            )
            return Refused(found, message)
        await node.sleep(node.settings.resend_us)
        number += 1
    if not found:
        return None
    return refuse(
        f"table {added.name!r} is not empty: its rows have no value of a column that is NOT NULL "
        "and has no default; give it one [110.later.2]"
    )
