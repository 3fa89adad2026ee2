"""Reads of the past: exactly what was committed up to read_ts, under the schema of read_ts.

Part of I10. A write counts for a reader by its commit_ts alone, whenever that was stored: a read
at a timestamp has to wait until it is settled what is committed up to there. With a causal token a
client reads at or after everything that was acknowledged to it before.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.writes import Item, Version, Writes, the_row, version_of
from ddlsim.checkers.own_ddl import Promise, promise_of
from ddlsim.history.events import AnyEvent, ReadExecuted
from ddlsim.model.design import SKEW_BOUNDED
from ddlsim.units import show


def past_reads(case: Case, writes: Writes, tx: Transaction) -> Iterator[Anomaly]:
    """Each use of a schema, and each row or missing row of each read, against read_ts."""
    read_ts = tx.read_ts
    assert read_ts is not None, tx.name
    reported: dict[int, None] = {}
    for object_id, version, _, event in tx.uses():
        due = case.schemas.existing(object_id, read_ts)
        if object_id in reported or version == (0 if due is None else due.version):
            continue
        reported[object_id] = None
        yield Anomaly(
            "past-schema",
            f"{tx.name} reads at {show(read_ts)} and ran on node {event.node} under "
            f"{case.schemas.describe(object_id, version)}; the schema then was version "
            f"{0 if due is None else due.version}",
            (event,),
            assumes=(SKEW_BOUNDED,),
            clauses=("98.ap",),
        )
    for _, read in tx.reads:
        found = {row.key: row.writer for row in read.rows}
        keys = dict.fromkeys(found)
        if read.predicate:
            keys.update(writes.partitions.get((read.object_id, read.partition), {}))
        for key in keys:
            if (read.object_id, key) in case.undecided_rows:
                continue
            due_version = writes.newest_at((read.object_id, key), read_ts)
            if not _is_due(found.get(key), due_version):
                yield _misread(case, tx, read, key, found.get(key), due_version)


def _is_due(writer: str | None, due: Version | None) -> bool:
    """A deleted row may be shown as its deleter left it, or not at all."""
    if due is None:
        return writer is None
    if writer is None:
        return due.write.event.row is None
    return writer == due.write.tx


def _misread(
    case: Case, tx: Transaction, read: ReadExecuted, key: object, writer: str | None, due: object
) -> Anomaly:
    assert tx.read_ts is not None, tx.name
    truth = "no transaction had written it"
    witness: tuple[AnyEvent, ...] = (read,)
    if isinstance(due, Version):
        truth = f"{due.write.tx} had, and committed at {show(due.commit_ts)}"
        witness = (due.write.event, case.history.events[due.committed_at], read)
    return Anomaly(
        "past-misread",
        f"{tx.name} reads at {show(tx.read_ts)}; on node {read.node} it found {version_of(writer)} "
        f"of {the_row(case, read.object_id, key, read.version)}, but by then {truth}",
        witness,
        assumes=(SKEW_BOUNDED,),
    )


# --- sessions ------------------------------------------------------------------------------------


def session_reads(case: Case, writes: Writes, tx: Transaction) -> Iterator[Anomaly]:
    """What was acknowledged to the client before the transaction began: its DDL and its commits."""
    if not tx.session or tx.chosen or tx.begins_at is None:
        return
    promise = _promised(case, tx)
    if promise is not None:
        yield from _missed_ddl(case, tx, promise)
    for _, read in tx.reads:
        keys = {row.key: None for row in read.rows}
        if read.predicate:
            keys |= writes.partitions.get((read.object_id, read.partition), {})
        for key in keys:
            yield from _missed_write(case, writes, tx, read, (read.object_id, key))


def _promised(case: Case, tx: Transaction) -> Promise | None:
    """The latest activation that was acknowledged to the client."""
    found: Promise | None = None
    for ddl in case.ddls.values():
        invoked = ddl.operation.invoked
        if invoked is None or invoked.client != tx.client:
            continue
        promise = promise_of(case, ddl)
        assert tx.begins_at is not None, tx.name
        if promise is None or promise.acknowledged_at > tx.begins_at:
            continue
        if found is None or promise.activation_ts > found.activation_ts:
            found = promise
    return found


def _missed_ddl(case: Case, tx: Transaction, promise: Promise) -> Iterator[Anomaly]:
    """An older version than the promised one, or no table where one was promised and stands still.

    By read_ts another client may have renamed or dropped it.
    """
    assert tx.read_ts is not None, tx.name
    missed: str | None = None
    by_then_ts = max(promise.activation_ts, tx.read_ts)
    for use in tx.uses():
        due = case.schemas.effective(use.object_id, promise.activation_ts)
        if due is not None and use.version < due.version:
            missed = case.schemas.describe(use.object_id, use.version)
    for _, resolved in tx.resolved:
        named = resolved.name is not None and not resolved.object_id
        if named and case.schemas.relations(str(resolved.name), by_then_ts):
            missed = f"no table {resolved.name!r}"
    if missed is None:
        return
    yield Anomaly(
        "session-missed-ddl",
        f"{promise.op} was acknowledged to the client of {tx.name}, active since "
        f"{show(promise.activation_ts)}, and then read at "
        f"{show(tx.read_ts)}, where there was {missed}",
        promise.witness,
        assumes=(SKEW_BOUNDED,),
        clauses=("98.own",),
    )


def _missed_write(
    case: Case, writes: Writes, tx: Transaction, read: ReadExecuted, item: Item
) -> Iterator[Anomaly]:
    """A version above read_ts whose commit was acknowledged to the same client."""
    assert tx.read_ts is not None, tx.name
    assert tx.begins_at is not None, tx.name
    for version in reversed(writes.versions.get(item, [])):
        if version.commit_ts <= tx.read_ts:
            return
        writer = case.transactions[version.write.tx]
        acknowledged = writer.ends_at is not None and writer.ends_at < tx.begins_at
        if acknowledged and writer.client == tx.client:
            yield Anomaly(
                "session-missed-write",
                f"the commit of {writer.name} was acknowledged to the client of {tx.name} (at "
                f"{show(version.commit_ts)}), and then read {item[1]!r} at "
                f"{show(tx.read_ts)}",
                (version.write.event, read),
            )
            return
