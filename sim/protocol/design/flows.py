"""Flows: the sequences of waits that the IEPs prescribe, as coroutines.

Each is for one field of `Strategy`. A design that waits for something else, or does it in another
order, brings its own coroutine over the same parts.
"""

from collections.abc import Callable
from typing import NamedTuple

from ddlsim.model.ddl import Statement
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused
from ddlsim.protocol.schema.ddl_answers import Decision, refuse
from ddlsim.protocol.strategy import (
    CoordinatorPart,
    OnePhasePart,
    SchemaChangePart,
    SchemaSyncPart,
    Strategy,
)
from ddlsim.protocol.transaction.enlistment import enlisted
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.units import Timestamp

Building = Callable[[Snapshot], Built | NoOp | Refused]
"""Builds a statement against the newest schema that a node has applied."""


async def wait_then_look_up(sync: SchemaSyncPart, op_ts: Timestamp) -> Snapshot:
    """Wait until this node's metadata is complete for Top, then look up at Top [98.flow.3]."""
    complete_ts, lookup_ts = sync.needed_for(op_ts)
    if sync.safe_time < complete_ts:
        await sync.safe_time_reaches(complete_ts)
    return sync.catalog.at(lookup_ts)


async def metadata_is_complete(change: SchemaChangePart, asked_ts: Timestamp) -> None:
    """Wait until the metadata is complete for now, before an answer from the catalog [98.x.8].

    An update that was acknowledged before the statement came has Tu <= now on this clock
    [98.flow.4], so Tm <= Tu - DD <= now - DD: once safe time is there, it is applied here. The
    *newest* applied version is then the basis, effective or not: every update that this node has
    not applied activates later than now [98.own].
    """
    sync = change.sync
    complete_ts, _ = sync.needed_for(asked_ts)
    if sync.safe_time < complete_ts:
        change.node.probe("statement-awaits-metadata")
        await sync.safe_time_reaches(complete_ts)


async def whatever_is_known(_change: SchemaChangePart, _asked_ts: Timestamp) -> None:
    """Do not wait: a statement is answered from the versions that its node has applied."""


async def what_is_known(sync: SchemaSyncPart, _op_ts: Timestamp) -> Snapshot:
    """The newest schema that this node has applied, whatever Top is."""
    return sync.catalog.latest()


async def replicate_wait_acknowledge(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """Replicate the update, wait until it is effective everywhere, acknowledge [98.flow.1-4]."""
    done = await logged(change, op, renamed_by_design(change, statement))
    return await acknowledged(change, op, done)


def renamed_by_design(change: SchemaChangePart, statement: Statement) -> Building:
    """Builds the statement against a schema; what becomes of old names is the design's rule."""

    def building(snapshot: Snapshot) -> Built | NoOp | Refused:
        return change.strategy.rename(statement, snapshot, change.strategy.alias_ms)

    return building


class Logged(NamedTuple):
    """The result of a statement, and the catalog version that it became or was built on."""

    built: Built | NoOp | Refused
    version: int
    activation_ts: Timestamp


async def logged(
    change: SchemaChangePart, op: str, building: Building, step: str = ""
) -> Logged | None:
    """Build an update and send it through the log; None if it lost at every attempt.

    The update is built against the newest version that this node has applied, effective or not, and
    takes effect only if that is the newest in the log; after a lost race the node waits until it
    has applied the winner and builds again. So an update needs no complete metadata; a refusal or a
    no-op does, and is built again upon it [98.x.8]. `step` tells the updates of one statement
    apart.
    """
    for attempt in range(change.node.settings.ddl_attempts):
        snapshot = change.catalog.latest()
        built = allowed(change.strategy, building(snapshot))
        if isinstance(built, NoOp | Refused):
            await change.knows_enough()
            snapshot = change.catalog.latest()
            built = allowed(change.strategy, building(snapshot))
        if isinstance(built, NoOp | Refused):
            return Logged(built, snapshot.version, snapshot.activation_ts)
        assert isinstance(built, Built), built
        command_id = f"{op}/{step}{attempt}"
        accepted, version = await change.submit(command_id, snapshot.version, built)
        await change.metastorage.catalog_reaches(version)
        if accepted:
            return Logged(built, version, change.catalog.activation_of(version))
    change.node.probe("ddl-attempts-exhausted")
    return None


async def acknowledged(change: SchemaChangePart, op: str, done: Logged | None) -> Decision:
    """Wait until the result is effective everywhere, then acknowledge [98.flow.4].

    A no-op and a refusal rest on versions that may not be effective everywhere yet, so they wait in
    the same way: else the client could be answered "it exists already" and then not find it.
    """
    if done is None:
        return change.conflict()
    strategy, skew_ms = change.strategy, change.node.settings.max_clock_skew_ms
    built, version, activation_ts = done
    if isinstance(built, NoOp | Refused):
        due = strategy.acknowledge_known_ts(activation_ts, skew_ms)
        outcome = "noop" if isinstance(built, NoOp) else "refused"
        await change.acknowledge(op, outcome, version, activation_ts, due)
        return change.known(built)
    due = strategy.acknowledge_ts(activation_ts, skew_ms)
    await change.acknowledge(op, "installed", version, activation_ts, due)
    return change.installed()


def allowed(strategy: Strategy, built: Built | NoOp | Refused) -> Built | NoOp | Refused:
    """The result of a statement, or a refusal if the design refuses one of its changes."""
    for change in built.objects if isinstance(built, Built) else ():
        for simple in change.changes:
            why = strategy.refuses_change(simple)
            if why is not None:
                return refuse(why)
    return built


async def enlist_once(
    coordinator: CoordinatorPart, tx: Transaction, name: str, op: str
) -> Enlistment | Reason:
    """Fix tableEnlistSV at the table's first use, once per table and transaction [110.flow.2-4].

    The transaction keeps a map from names to what they meant at first, so that a name means the
    same table until its end [110.simple]; a table that it has enlisted under another name keeps
    the version that it was enlisted with.
    """
    known = tx.by_name.get(name)
    if known is not None:
        return known
    node = coordinator.node
    base_ts = tx.read_ts  # a read-only transaction sees its tables as of then
    if base_ts is None:
        base_ts = coordinator.strategy.base_ts(node.clock.now(), tx.id.begin_ts, tx.id.begin_ts)
    try:
        found = await coordinator.sync.named_at(base_ts, tx.id.label, op, name)
    except MetadataLateError:
        return Reason.METADATA_LATE
    if found is None:
        return Reason.TABLE_NOT_FOUND
    return enlisted(coordinator, tx, name, found, base_ts)


async def await_outstanding_operations(coordinator: CoordinatorPart, tx: Transaction) -> None:
    """No operation may get an op_ts above commit_ts, and no write be lost after it [110.x.2]."""
    while tx.outstanding:
        tx.idle = coordinator.node.future()
        await tx.idle
    if tx.unreplicated:
        await coordinator.completion.writes_are_replicated(tx)


async def write_in_two_phases(write: OnePhasePart) -> Operated:
    """Where the metadata is not complete for the stamp, the write becomes an intent."""
    return write.leave_intent()


async def answer_at_once(_coordinator: CoordinatorPart, _tx: Transaction) -> None:
    """Answer a commit without a further wait."""


async def mark_at_activation(coordinator: CoordinatorPart, applied: AppliedUpdate) -> None:
    """Mark what can no longer commit, and roll it back once the update is active [110.valid.3].

    A mark is the bound commit_ts < Tu. It is set when the update is known, or where the transaction
    enlists the old version after that; it is tested where commit_ts is fixed, and never undoes a
    commit_ts already fixed. Only when this node's clock has passed Tu, so that every later
    commit_ts would be out of bounds, are the transactions that are doomed by then rolled back.
    """
    coordinator.marks.mark_incompatible(applied)
    await coordinator.node.clock_passes(applied.activation_ts)
    coordinator.marks.roll_back_marked(coordinator.marks.mark_incompatible(applied))


async def stamp_at_once(coordinator: CoordinatorPart, tx: Transaction) -> None:
    """Fix commit_ts without waiting for operations that are still under way."""
    if tx.unreplicated:
        await coordinator.completion.writes_are_replicated(tx)


async def leave_unmarked(_coordinator: CoordinatorPart, _applied: AppliedUpdate) -> None:
    """Set no marks: they are an optimisation, the commit check decides anyway [110.valid.3]."""
