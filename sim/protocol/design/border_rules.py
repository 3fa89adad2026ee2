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
from ddlsim.protocol.design.flows import replicate_wait_acknowledge
from ddlsim.protocol.schema.column_types import Misfit, fit
from ddlsim.protocol.schema.compatibility import is_forward_compatible
from ddlsim.protocol.schema.ddl import Built, build
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.strategy import CoordinatorPart, SchemaChangePart, Steps
from ddlsim.protocol.transaction.enlistment import enlisted
from ddlsim.protocol.transaction_record import Enlistment, Transaction

# --- operations after a DDL -----------------------------------------------------------------------


async def enlist_what_is_current(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """Option 1: each operation runs under the schema of its time, if that is compatible."""
    now = coordinator.node.clock.now()
    known = tx.by_name.get(name)
    if known is not None:
        object_id = known.object_id
        found = await coordinator.sync.object_at(now, tx.id.label, op, "enlist", object_id)
        if found is None:
            return Reason.TABLE_DROPPED
        if found.version == known.version:
            return known
        steps = coordinator.sync.catalog.steps(object_id, known.version, now)
        if not all(is_forward_compatible(step) for step in steps):
            return Reason.SCHEMA_INCOMPATIBLE
        tx.by_id.pop(object_id, None)
    else:
        found = await coordinator.sync.named_at(now, tx.id.label, op, name)
        if found is None:
            return Reason.TABLE_NOT_FOUND
    return enlisted(coordinator, tx, name, found, now)


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


async def enlist_as_of_begin_or_creation(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """baseTs = max(beginTs, creation of the table): as of begin, else as it is [110.simple]."""
    known = tx.by_name.get(name)
    if known is not None:
        return known
    base_ts, label = tx.id.begin_ts, tx.id.label
    found = await coordinator.sync.named_at(base_ts, label, op, name)
    if found is None:
        base_ts = coordinator.node.clock.now()
        found = await coordinator.sync.named_at(base_ts, label, op, name)
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
