"""IEP-110's commit check: I must be forward-compatible with C, the schema at commit_ts.

It is made for every object that the transaction has enlisted, where commit_ts is fixed: at the
coordinator for two-phase commits, at the partition's leader for one-phase writes, and at the
primary of the commit partition in Apache Ignite 3 (`as_shipped`). All of them look the objects up
and then ask `validate`.
"""

from collections.abc import Iterable

from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import FullWrite
from ddlsim.protocol.metastorage.schema_sync import MetadataLateError
from ddlsim.protocol.strategy import CoordinatorPart, SchemaSyncPart, Tables, Verdict
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp


def validate(sync: SchemaSyncPart, tables: Tables, ts: Timestamp) -> Reason | None:
    """Judge I against the schema C at `ts`, for every object [110.valid.1]; the first reason."""
    for object_id, initial, current in tables:
        assert initial > 0, f"object {object_id} was enlisted without a version"
        if current != initial:
            steps = sync.catalog.steps(object_id, initial, ts)
            reason = sync.strategy.check_commit(steps)
            if reason is not None:
                return reason
    return None


async def looked_up(
    sync: SchemaSyncPart, tx: str, enlisted: Iterable[tuple[int, int]], commit_ts: Timestamp
) -> Tables:
    """The versions at commit_ts beside those that were enlisted; may raise `MetadataLateError`."""
    tables: list[tuple[int, int, int]] = []
    for object_id, initial in enlisted:
        found = await sync.object_at(commit_ts, tx, None, "commit", object_id)
        tables.append((object_id, initial, 0 if found is None else found.version))
    return tuple(tables)


async def schema_at_commit_ts(
    coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
) -> Verdict:
    """Judge I against the schema C effective at commit_ts, for each object [110.valid.1]."""
    sync = coordinator.sync
    enlisted = [(each.object_id, each.version) for each in tx.by_id.values()]
    try:
        tables = await looked_up(sync, tx.id.label, enlisted, commit_ts)
    except MetadataLateError:
        return Reason.METADATA_LATE, ()
    return validate(sync, tables, commit_ts), tables


def schema_at_the_stamp(
    sync: SchemaSyncPart, command: FullWrite, stamp: Timestamp
) -> Verdict | None:
    """Judge a one-phase write at its commit_ts, before it is appended (IGNITE-27460).

    Returns None where the metadata is not complete for the stamp yet: the leader cannot wait
    between the stamp and the log.
    """
    complete_ts, lookup_ts = sync.needed_for(stamp)
    if sync.safe_time < complete_ts:
        return None
    tables: list[tuple[int, int, int]] = []
    tx, op, now = command.tx.label, command.op, sync.node.watch.now_us
    for object_id, initial, _ in command.tables:
        found = sync.catalog.at(lookup_ts).by_id(object_id)
        current = 0 if found is None else found.version
        sync.record_resolved(tx, op, "commit", None, object_id, stamp, current, now)
        tables.append((object_id, initial, current))
    return validate(sync, tuple(tables), lookup_ts), tuple(tables)


def schema_on_arrival(
    _sync: SchemaSyncPart, command: FullWrite, _stamp: Timestamp
) -> Verdict | None:
    """Trust the check that the primary made before the write was stamped."""
    return None, command.tables
