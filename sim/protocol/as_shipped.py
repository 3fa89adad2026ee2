"""Rules of Apache Ignite 3 as shipped, where they differ from the IEPs' (strategy `ignite3`)."""

from typing import TYPE_CHECKING

from sim.model.ddl import ColumnAltered, SimpleChange
from sim.model.reasons import Reason
from sim.protocol.compatibility import IGNITE3, forward_compatible, judge
from sim.protocol.late import MetadataLateError
from sim.protocol.strategy import CheckPoints, Steps
from sim.units import Timestamp

if TYPE_CHECKING:
    from sim.protocol.coordinator import Coordinator
    from sim.protocol.messages import Finish
    from sim.protocol.schema_sync import SchemaSync
    from sim.protocol.transaction import Transaction

AFTER_LOCKS_WITH_ROWS = CheckPoints(
    on_arrival=True,
    after_locks=True,
    exists_on_arrival=True,
    only_with_rows=True,
    deleted_rows=False,
)
"""Apache Ignite 3: existence on arrival; the version once a row is found or is to be written."""


def at_begin(now: Timestamp, begin_ts: Timestamp, created_ts: Timestamp) -> Timestamp:
    """The schema of all tables is that at the transaction's begin (Apache Ignite 3)."""
    del now, created_ts
    return begin_ts


def each_step_as_shipped(steps: Steps) -> Reason | None:
    """The same by the rules of the shipped code: columns by name, fewer types."""
    return None if forward_compatible(steps, IGNITE3) else Reason.SCHEMA_INCOMPATIBLE


def allow_what_widens(change: SimpleChange) -> str | None:
    """A DDL may only widen a type, and by the rules of the shipped code."""
    for verdict in judge(change, "table", IGNITE3) if isinstance(change, ColumnAltered) else ():
        if verdict.clause == "110.column.type" and not verdict.compatible:
            return verdict.reason
    return None


def judge_writes_and_queries(*, wrote: bool, queried: bool) -> bool:
    """A key-value transaction that only read is just unlocked (Apache Ignite 3)."""
    return wrote or queried


async def judged_at_finish(
    coordinator: "Coordinator", tx: "Transaction", commit_ts: Timestamp
) -> tuple[Reason | None, tuple[tuple[int, int, int], ...]]:
    """Leave the judgement to the primary of the commit partition (Apache Ignite 3)."""
    del coordinator, commit_ts
    return None, tuple((e.object_id, e.version, e.version) for e in tx.by_id.values())


async def schema_at_finish(
    sync: "SchemaSync", request: "Finish"
) -> tuple[Reason | None, tuple[tuple[int, int, int], ...]]:
    """Judge I against C at commit_ts by what the commit partition's primary knows [110.valid.1]."""
    verdict: Reason | None = None
    tables: list[tuple[int, int, int]] = []
    commit_ts = request.commit_ts
    assert commit_ts is not None, f"{request.tx.label} does not want to commit"
    for object_id, initial, _ in request.tables:
        try:
            found = await sync.object_at(commit_ts, request.tx.label, None, "commit", object_id)
        except MetadataLateError:
            return Reason.METADATA_LATE, request.tables
        current = 0 if found is None else found.version
        tables.append((object_id, initial, current))
        if current != initial and verdict is None:
            verdict = sync.strategy.check_commit(sync.catalog.steps(object_id, initial, commit_ts))
    return verdict, tuple(tables)
