"""What a transaction that crosses a DDL may do: the options that IEP-110 weighs and postpones.

Option 3, no operation after a DDL, is the design, and its rules are those of `iep`.
Here are the others: going on under the new schema (option 1) or under the old one (option 2), going
on after compatible changes only, reading some rows of newer schemas, another base timestamp, and
DDL that waits for transactions.
"""

from ddlsim.history.event import Cells
from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnRenamed,
    IndexCreated,
    IndexDropped,
    ObjectCreated,
    SimpleChange,
    Statement,
)
from ddlsim.model.pending import PendingChange
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import SchemaObject
from ddlsim.protocol.design.flows import enlist_once, replicate_wait_acknowledge
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError
from ddlsim.protocol.schema.column_types import Misfit, fit
from ddlsim.protocol.schema.compatibility import is_forward_compatible, judge
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.schema.endpoints import difference
from ddlsim.protocol.strategy import CoordinatorPart, SchemaChangePart, Steps
from ddlsim.protocol.transaction.enlistment import enlisted
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.units import Timestamp

# --- operations after a DDL -----------------------------------------------------------------------


async def enlist_what_is_current(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """Option 1: each operation runs under the schema of its time, if that is compatible.

    A read-only transaction has one time for all its operations, its read_ts.
    """
    if tx.read_ts is not None:
        return await enlist_once(coordinator, tx, name, op)
    try:
        return await _what_is_current(coordinator, tx, name, op)
    except MetadataLateError:
        return Reason.METADATA_LATE


async def _what_is_current(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """What is known under a name, with the views on the way and the table as they are now."""
    now, sync, label = coordinator.node.clock.now(), coordinator.sync, tx.id.label
    known = tx.by_name.get(name)
    if known is None:
        first = await sync.named_at(now, label, op, name)
        if first is None:
            return Reason.TABLE_NOT_FOUND
        return enlisted(coordinator, tx, name, first, now)
    current: list[SchemaObject] = []
    is_same = True
    for object_id, version in (*known.views, (known.table.id, known.table.version)):
        found = await sync.object_at(now, label, op, "enlist", object_id)
        if found is None:
            return Reason.TABLE_DROPPED
        if found.version != version:
            is_same = False
            steps = sync.catalog.steps(object_id, version, now)
            if not all(is_forward_compatible(step) for step in steps):
                return Reason.SCHEMA_INCOMPATIBLE
        current.append(found)
    if is_same:
        return known
    for found in current:
        if tx.by_id[found.id].version < found.version:
            del tx.by_id[found.id]
    return enlisted(coordinator, tx, name, current[0], now)


def go_on(_initial: int, _current: int, _steps: Steps) -> Reason | None:
    """Option 2: operations go on under I, whatever has changed."""
    return None


def go_on_if_compatible(initial: int, current: int, steps: Steps) -> Reason | None:
    """Postponed: operations go on under I after changes that are forward-compatible."""
    if initial == current or all(is_forward_compatible(step) for step in steps):
        return None
    return Reason.SCHEMA_CHANGED


def exact_match(steps: Steps) -> Reason | None:
    """No commit across any change, compatible or not."""
    return Reason.SCHEMA_INCOMPATIBLE if steps else None


def endpoints_by_id(steps: Steps) -> Reason | None:
    """I and C are compared by ids, whatever came between: the steps are not judged [110.compat.id].

    The next step may undo what dooms a transaction now, so it goes with `leave_unmarked`: marks
    would end the transaction before that.
    """
    for change in difference(steps):
        if not all(verdict.compatible for verdict in judge(change, steps[0].kind)):
            return Reason.SCHEMA_INCOMPATIBLE
    return None


def commit_anyway(_steps: Steps) -> Reason | None:
    """Commit across any change."""
    return None


# --- rows of newer schemas ------------------------------------------------------------------------


def any_newer_row(_steps: Steps, _cells: Cells | None) -> bool:
    """Every row of a newer schema may be read, silently downgraded."""
    return True


def by_change_type(steps: Steps, _cells: Cells | None) -> bool:
    """Rows written after changes that no older reader can notice."""
    return all(_is_harmless(change) for step in steps for change in step.changes)


def by_tuple(steps: Steps, cells: Cells | None) -> bool:
    """As by_change_type, and rows whose own values fit the columns as they were."""
    values = dict(cells or ())
    for step in steps:
        for change in step.changes:
            if _is_harmless(change):
                continue
            if not isinstance(change, ColumnAltered):
                return False
            value = values.get(change.before.id)
            if value is None:
                if not change.before.nullable:
                    return False
            elif isinstance(fit(value, change.before.type), Misfit):
                return False
    return True


def _is_harmless(change: SimpleChange) -> bool:
    if isinstance(change, IndexCreated):
        return not change.index.unique
    harmless = ColumnAdded | ColumnRenamed | PendingChange | IndexDropped | ObjectCreated
    return isinstance(change, harmless)


# --- base timestamps ------------------------------------------------------------------------------


def at_begin_or_creation(_now: Timestamp, begin_ts: Timestamp, created_ts: Timestamp) -> Timestamp:
    """The begin, or the creation of the table if that came later [110.simple].

    Only `enlist_as_of_begin_or_creation` knows the creation; `enlist_once` gives the begin for it.
    """
    return max(begin_ts, created_ts)


async def enlist_as_of_begin_or_creation(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """What the name means now is enlisted as it was at baseTs, which counts its creation.

    With baseTs = max(beginTs, tableCreationTs) a table that was altered since the begin, or since
    it was created, is enlisted in a version that no operation may use any more [110.simple].
    """
    known = tx.by_name.get(name)
    if known is not None:
        return known
    if tx.read_ts is not None:
        return await enlist_once(coordinator, tx, name, op)
    sync, label, begin_ts = coordinator.sync, tx.id.label, tx.id.begin_ts
    now = coordinator.node.clock.now()
    try:
        meant = await sync.named_at(now, label, op, name)
        if meant is None:
            return Reason.TABLE_NOT_FOUND
        created_ts = sync.catalog.activation_of_object(meant.id, 1)
        base_ts = coordinator.strategy.base_ts(now, begin_ts, created_ts)
        found = await sync.object_at(base_ts, label, op, "enlist", meant.id)
    except MetadataLateError:
        return Reason.METADATA_LATE
    if found is None:
        return Reason.TABLE_NOT_FOUND
    return enlisted(coordinator, tx, name, found, base_ts)


# --- DDL that waits -------------------------------------------------------------------------------


async def install_once_unused(change: SchemaChangePart, op: str, statement: Statement) -> Decision:
    """Wait until no open transaction has used what is to change, then install: a metadata lock."""
    assert change.barriers is not None, f"{change.node.name} has no barriers"
    await change.knows_enough()
    snapshot = change.catalog.latest()
    built = build(statement, snapshot, snapshot.next_object_id)
    if isinstance(built, Built):
        objects = tuple(each.object_id for each in built.objects)
        await change.barriers.all_prepared(op, objects, closes=False, once_unused=True)
    return await replicate_wait_acknowledge(change, op, statement)
