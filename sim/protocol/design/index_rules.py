"""Indexes that are built: rules of Apache Ignite 3 for their states (strategy `ignite_index`).

An index has a state, and each change of it is a schema update of its own (strategies.md, C6):

    state        as the catalog has it   writes     queries by it
    REGISTERED   write_only              its entries    no
    BUILDING     reorganization          its entries    no     the backfill goes through the rows
    AVAILABLE    public                  its entries    yes
    STOPPING     write_only              its entries    those that began before
    (removed)                            -              no     the entries are erased

    CREATE INDEX -> REGISTERED --drained--> BUILDING --filled--> AVAILABLE
    DROP INDEX: AVAILABLE -> STOPPING --drained--> removed; what is not AVAILABLE yet is removed

*Drained*: no node that answers has an open transaction that began before the state was active. A
node that does not answer is left out; so a transaction from before REGISTERED may still be open,
and must not commit once the build has begun: the backfill may have gone past its rows.
"""

from functools import partial

from ddlsim.history.event import Cells
from ddlsim.model.ddl import (
    CreateIndex,
    DropIndex,
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
    SimpleChange,
    Statement,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import PUBLIC, Index, Table
from ddlsim.protocol.design.as_shipped import each_step_as_shipped
from ddlsim.protocol.design.flows import acknowledged, logged
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.schema.index_states import created_in, had_state, set_to
from ddlsim.protocol.schema.indexes import Entry, changes
from ddlsim.protocol.strategy import DrainPart, SchemaChangePart, Steps
from ddlsim.units import MAX_TIMESTAMP, Timestamp

REGISTERED, BUILDING, AVAILABLE = "write_only", "reorganization", PUBLIC
STOPPING = "write_only"


# --- what a write does  [index_entries] -----------------------------------------------------------


def by_state(table: Table, old: Cells | None, new: Cells | None) -> list[Entry]:
    """Every index of the table gets the entries of its state; constraints have no entries."""
    ids = [one.id for one in table.indexes]
    return [entry for entry in changes(table, old, new) if entry.of.id in ids]


# --- what begins with a change  [fills_index, erases_index] ---------------------------------------


def once_building(change: SimpleChange) -> int | None:
    """The backfill begins with BUILDING: what is older than the index cannot commit any more."""
    if isinstance(change, IndexStateSet) and change.state == BUILDING:
        return change.index_id
    return None


def once_registered(change: SimpleChange) -> int | None:
    """The backfill begins with REGISTERED."""
    return change.index.id if isinstance(change, IndexCreated) else None


def once_removed(change: SimpleChange) -> int | None:
    """Entries are erased once the index is removed: no query by it can come any more."""
    return change.index.id if isinstance(change, IndexDropped) else None


def once_stopping(change: SimpleChange) -> int | None:
    """Entries are erased with STOPPING."""
    if isinstance(change, IndexStateSet) and change.state == STOPPING:
        return change.index_id
    return None


# --- between two states  [drain] ------------------------------------------------------------------


async def older_have_ended(part: DrainPart, active_ts: Timestamp) -> None:
    """Wait until the transactions from before the present state have ended."""
    await part.older_have_ended(active_ts)


async def at_once(_part: DrainPart, _active_ts: Timestamp) -> None:
    """Wait for no transaction."""


# --- at commit  [check_commit] --------------------------------------------------------------------


def each_step_as_shipped_and_no_build(steps: Steps) -> Reason | None:
    """As shipped; and no index was registered and then built on the way [110.ours.index.build]."""
    return each_step_as_shipped(steps) or _built_behind(steps)


def _built_behind(steps: Steps) -> Reason | None:
    registered: dict[int | None, None] = {}
    for step in steps:
        for change in step.changes:
            if isinstance(change, IndexCreated):
                registered[change.index.id] = None
            elif once_building(change) in registered:
                return Reason.SCHEMA_INCOMPATIBLE
    return None


# --- statements  [install] ------------------------------------------------------------------------


async def install_in_states(change: SchemaChangePart, op: str, statement: Statement) -> Decision:
    """CREATE INDEX is answered once the index is AVAILABLE, DROP INDEX once it is removed.

    The states between them follow by themselves (`index_build`), and other statements go on beside
    them. CREATE INDEX is refused where its index is dropped before it is AVAILABLE.
    """
    if isinstance(statement, DropIndex):
        await _not_stopping(change, statement.name)
    done = await logged(change, op, partial(_first_state, change, statement))
    if done is None or not isinstance(done.built, Built):
        return await acknowledged(change, op, done)
    begun = next((one for one in done.built.objects if _has_next(one)), None)
    if begun is None:
        return await acknowledged(change, op, done)
    return await _ended(change, op, begun)


async def _not_stopping(change: SchemaChangePart, name: str) -> None:
    """Wait while the index of a name is on its way out: then it is not there."""
    while True:
        table = change.catalog.latest().index_owner(name)
        if table is None or not _is_stopping(change, table, _called(table, name)):
            return
        await change.node.sleep(change.node.settings.retry_us)


def _called(table: Table, name: str) -> Index:
    return next(one for one in table.indexes if one.name == name)


def _is_stopping(change: SchemaChangePart, table: Table, index: Index) -> bool:
    """Whether an index has been AVAILABLE, and is so no more."""
    definition = change.catalog.definition
    return index.state != AVAILABLE and had_state(definition, table, index.id, AVAILABLE)


def _first_state(
    change: SchemaChangePart, statement: Statement, snapshot: Snapshot
) -> Built | NoOp | Refused:
    """The first update of a statement: an index is REGISTERED, or STOPPING if it was AVAILABLE."""
    built = change.strategy.rename(statement, snapshot, change.strategy.alias_ms)
    if not isinstance(built, Built):
        return built
    if isinstance(statement, CreateIndex):
        return Built(tuple(created_in(one, REGISTERED) for one in built.objects))
    table = snapshot.index_owner(statement.name) if isinstance(statement, DropIndex) else None
    if table is None or not isinstance(statement, DropIndex):
        return built
    index = _called(table, statement.name)
    if _is_stopping(change, table, index):
        return Refused(Reason.DDL_CONFLICT, f"index {index.name!r} is being dropped")
    return Built((set_to(table, index, STOPPING),)) if index.state == AVAILABLE else built


def _has_next(step: ObjectChange) -> bool:
    """Whether a step gives an index a state that another one follows."""
    return any(isinstance(one, IndexCreated | IndexStateSet) for one in step.changes)


async def _ended(change: SchemaChangePart, op: str, begun: ObjectChange) -> Decision:
    """Wait for the last state, while other statements begin, and acknowledge that."""
    node, catalog, asked = change.node, change.catalog, change.goes_on()
    ids = [one.index.id for one in begun.changes if isinstance(one, IndexCreated)]
    last: ObjectChange | None = None
    while last is None:
        await node.sleep(node.settings.retry_us)
        steps = catalog.steps(begun.object_id, begun.version, MAX_TIMESTAMP)
        last = next((one for one in steps if _is_last(one, begun)), None)
    active_ts = catalog.activation_of_object(begun.object_id, last.version)
    due = change.strategy.acknowledge_ts(active_ts, node.settings.max_clock_skew_ms)
    built = not ids or any(isinstance(one, IndexStateSet) for one in last.changes)
    outcome = "installed" if built else "refused"
    await change.acknowledge(op, outcome, catalog.at(active_ts).version, active_ts, due, asked)
    if built:
        return change.installed()
    return Decision(Reason.DDL_CONFLICT, "the index was dropped before it was built")


def _is_last(step: ObjectChange, begun: ObjectChange) -> bool:
    """Whether the index that a step concerns is AVAILABLE or gone by a later one."""
    (first,) = begun.changes
    assert isinstance(first, IndexCreated | IndexStateSet), first
    index_id = first.index.id if isinstance(first, IndexCreated) else first.index_id
    return step.definition is None or any(
        once_removed(one) == index_id or one == IndexStateSet(index_id, AVAILABLE)
        for one in step.changes
    )
