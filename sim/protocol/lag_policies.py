"""What a node that lags does to the operations it takes part in: the remedies of [98.risk.2].

The text leaves it at the risk: a lagging node freezes the transactions in which it takes part. By
default they wait; here they end after half of the operation timeout, so that the coordinator hears
of it before it gives the primary up, with a reason for which the client tries again, maybe
elsewhere. (The third policy, promotion of another primary, is the placement driver's:
`keeps_lease`.)
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from sim.protocol.catalog import Snapshot
from sim.protocol.late import MetadataLateError
from sim.units import US_PER_MS, Micros, Timestamp

if TYPE_CHECKING:
    from sim.protocol.schema_sync import SchemaSync

    OnceLate = Callable[[SchemaSync, Timestamp, Timestamp], Coroutine[Any, Any, Snapshot]]


def _look_up(
    sync: "SchemaSync", op_ts: Timestamp, once_late: "OnceLate"
) -> Snapshot | Coroutine[Any, Any, Snapshot]:
    """At once where the metadata is complete, else as the policy says."""
    settings, strategy = sync.node.settings, sync.strategy
    delay_ms = min(settings.delay_duration_ms, sync.delay_bound_ms)
    complete_ts = strategy.completeness_ts(op_ts, delay_ms, settings.max_clock_skew_ms)
    lookup_ts = strategy.lookup_ts(op_ts, delay_ms)
    if sync.safe_time < complete_ts:
        return once_late(sync, complete_ts, lookup_ts)
    return sync.catalog.at(lookup_ts)


def wait_in_time_then_look_up(
    sync: "SchemaSync", op_ts: Timestamp
) -> Snapshot | Coroutine[Any, Any, Snapshot]:
    """As the default [98.flow.3], but for half the operation timeout at most [98.risk.2]."""
    return _look_up(sync, op_ts, _look_up_in_time)


async def _look_up_in_time(
    sync: "SchemaSync", complete_ts: Timestamp, lookup_ts: Timestamp
) -> Snapshot:
    """The part of it that takes time; who asked is told by `MetadataLateError`."""
    wait_us = Micros(sync.node.settings.metadata_wait_ms * US_PER_MS)
    await sync.safe_time_reaches_in_time(complete_ts, wait_us)
    return sync.catalog.at(lookup_ts)


def wait_a_while_then_look_up(
    sync: "SchemaSync", op_ts: Timestamp
) -> Snapshot | Coroutine[Any, Any, Snapshot]:
    """As the default, but after a tenth of the operation timeout go on with what is known.

    The remedy that is none: what a node does not know may be in force.
    """
    return _look_up(sync, op_ts, _look_up_anyway)


async def _look_up_anyway(
    sync: "SchemaSync", complete_ts: Timestamp, lookup_ts: Timestamp
) -> Snapshot:
    wait_us = Micros(sync.node.settings.metadata_hope_ms * US_PER_MS)
    try:
        await sync.safe_time_reaches_in_time(complete_ts, wait_us)
    except MetadataLateError:
        sync.node.probe("proceeded-unsafely")
    return sync.catalog.at(lookup_ts)
