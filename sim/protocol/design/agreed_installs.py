"""Installs a schema change with the agreement of every node: behind a barrier, through a gate, or
acknowledged by all of them.

IEP-98 rejects the first two for their cost: one node that does not answer blocks all DML, or the
DDL, without end. So it does the acknowledgement of the third.
"""

from ddlsim.model.ddl import Statement
from ddlsim.protocol.design.flows import (
    acknowledged,
    allowed,
    logged,
    renamed_by_design,
    replicate_wait_acknowledge,
)
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.strategy import SchemaChangePart, SchemaSyncPart
from ddlsim.units import US_PER_MS, Micros, Timestamp


async def behind_a_barrier(sync: SchemaSyncPart, op_ts: Timestamp) -> Snapshot:
    """The schema at Top, once no barrier is up; the wait does not change Top.

    A node that has opened has merged a clock that is beyond the activation, so what it stamps from
    then on is on the new schema.
    """
    if sync.barriers is not None and not sync.barriers.is_open:
        sync.node.probe("barrier-met")
        await sync.barriers.opens()
    return sync.catalog.at(op_ts)


async def install_behind_a_barrier(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """Close all nodes, install, open all nodes; wait for every node without a limit."""
    return await _install(change, op, statement, limit_us=None)


async def install_behind_an_impatient_barrier(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """Close and open all nodes, but go on without those that have not answered in time."""
    limit_us = Micros(change.node.settings.barrier_wait_ms * US_PER_MS)
    return await _install(change, op, statement, limit_us=limit_us)


async def _install(
    change: SchemaChangePart, op: str, statement: Statement, *, limit_us: Micros | None
) -> Decision:
    barriers = change.barriers
    assert barriers is not None, f"{change.node.name} has no barriers"
    await change.knows_enough()
    snapshot = change.catalog.latest()
    built = allowed(change.strategy, build(statement, snapshot, snapshot.next_object_id))
    objects: tuple[int, ...] = ()
    if isinstance(built, Built):
        objects = tuple(each.object_id for each in built.objects)
        await barriers.all_prepared(op, objects, closes=True, limit_us=limit_us)
    decision = await replicate_wait_acknowledge(change, op, statement)
    if objects:
        await barriers.all_switched(op, change.catalog.latest().version, limit_us=limit_us)
    return decision


async def install_once_known_everywhere(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """Hold the update until every node has acknowledged its announcement, then install it."""
    barriers = change.barriers
    assert barriers is not None, f"{change.node.name} has no barriers"
    await change.knows_enough()
    snapshot = change.catalog.latest()
    built = build(statement, snapshot, snapshot.next_object_id)
    if not isinstance(built, NoOp | Refused):
        await barriers.all_prepared(op, (), closes=False)
    return await replicate_wait_acknowledge(change, op, statement)


async def install_and_hear_from_all(
    change: SchemaChangePart, op: str, statement: Statement
) -> Decision:
    """Replicate the update, and acknowledge it once every node has applied it and shows Tu.

    Every node is asked once the clock here shows Tu. The request carries that clock and the node
    merges it, so no bound on physical clocks is needed for what the client does next [98.own]. A
    statement that is refused or changes nothing rests on a version in the same way.
    """
    barriers = change.barriers
    assert barriers is not None, f"{change.node.name} has no barriers"
    done = await logged(change, op, renamed_by_design(change, statement))
    decision = await acknowledged(change, op, done)
    if done is not None:
        await barriers.all_switched(op, done.version)
    return decision
