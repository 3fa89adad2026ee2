"""What a node that lags does to the operations it takes part in: the remedies of [98.risk.2].

The text leaves it at the risk: a lagging node freezes the transactions in which it takes part. By
default they wait; here they end after half of the operation timeout, so that the coordinator hears
of it before it gives the primary up, with a reason for which the client tries again, maybe
elsewhere. (The third policy, promotion of another primary, is the placement driver's:
`keeps_lease`.)
"""

from ddlsim.protocol.metastorage.schema_sync import MetadataLateError
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.strategy import SchemaSyncPart
from ddlsim.units import US_PER_MS, Micros, Timestamp


async def wait_in_time_then_look_up(sync: SchemaSyncPart, op_ts: Timestamp) -> Snapshot:
    """As the default [98.flow.3], but for half the operation timeout at most [98.risk.2].

    Raises `MetadataLateError` when that was not enough.
    """
    complete_ts, lookup_ts = sync.needed_for(op_ts)
    wait_us = Micros(sync.node.settings.metadata_wait_ms * US_PER_MS)
    await sync.safe_time_reaches_in_time(complete_ts, wait_us)
    return sync.catalog.at(lookup_ts)


async def wait_a_while_then_look_up(sync: SchemaSyncPart, op_ts: Timestamp) -> Snapshot:
    """As the default, but after a tenth of the operation timeout go on with what is known.

    The remedy that is none: what a node does not know may be in force.
    """
    complete_ts, lookup_ts = sync.needed_for(op_ts)
    wait_us = Micros(sync.node.settings.metadata_hope_ms * US_PER_MS)
    try:
        await sync.safe_time_reaches_in_time(complete_ts, wait_us)
    except MetadataLateError:
        sync.node.probe("proceeded-unsafely")
    return sync.catalog.at(lookup_ts)
