"""Time limits for operations on a node whose metadata lags: remedies of [98.risk.2].

The text only names the risk: a lagging node freezes the transactions in which it takes part. By
default they wait; here they fail after half of the operation timeout, so that the coordinator gets
an answer before it gives the primary up, with a retriable reason. (The third policy, promotion of
another primary, is the placement driver's: `keeps_lease`.)
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
    """As the default, but after a tenth of the operation timeout go on with incomplete metadata.

    It is no remedy: a version that the node has not applied may be in force.
    """
    complete_ts, lookup_ts = sync.needed_for(op_ts)
    wait_us = Micros(sync.node.settings.metadata_hope_ms * US_PER_MS)
    try:
        await sync.safe_time_reaches_in_time(complete_ts, wait_us)
    except MetadataLateError:
        sync.node.probe("proceeded-unsafely")
    return sync.catalog.at(lookup_ts)
