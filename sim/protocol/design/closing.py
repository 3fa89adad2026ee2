"""The rules that close recorded findings about the documents (strategy `iep_closed`)."""

from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import FullWrite
from ddlsim.protocol.design.time_rules import activation_plus_skew_rounded
from ddlsim.protocol.strategy import CoordinatorPart, SchemaSyncPart, Tables, Verdict
from ddlsim.protocol.transaction.commit_check import schema_at_commit_ts, schema_at_the_stamp
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import MIN_TIMESTAMP, Timestamp


async def schema_at_commit_ts_exact_if_shown(
    coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
) -> Verdict:
    """As the default, and no change at all of a table whose columns the transaction was shown.

    Closes finding F-1: the tuples of a transaction do not show that it ran on the old schema of a
    forward-compatible change, but columns that it was shown do [110.valid.1].
    """
    verdict, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    if verdict is None and any(
        object_id in tx.shown and initial != current for object_id, initial, current in tables
    ):
        verdict = Reason.SCHEMA_INCOMPATIBLE
    return verdict, tables


async def schema_at_commit_ts_exact_if_used_later(
    coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
) -> Verdict:
    """As the default, and no operation, on whatever table, after an enlisted table's change."""
    verdict, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    if verdict is None and any(
        _changed_before(coordinator, tx.last_op_ts, table, commit_ts) for table in tables
    ):
        verdict = Reason.SCHEMA_INCOMPATIBLE
    return verdict, tables


async def schema_at_commit_ts_exact_if_written(
    coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
) -> Verdict:
    """As exact_if_used_later; no change at all before commit_ts where the transaction writes."""
    verdict, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    upto = commit_ts if tx.wrote else tx.last_op_ts
    if verdict is None and any(
        _changed_before(coordinator, upto, table, commit_ts) for table in tables
    ):
        verdict = Reason.SCHEMA_INCOMPATIBLE
    return verdict, tables


def _changed_before(
    coordinator: CoordinatorPart, ts: Timestamp, table: tuple[int, int, int], commit_ts: Timestamp
) -> bool:
    """Whether an object's initial version was effective no longer at `ts`."""
    object_id, initial, current = table
    if initial == current or ts > commit_ts:
        return False
    found = coordinator.sync.catalog.at(ts).by_id(object_id)
    return found is None or found.version != initial


async def schema_at_commit_ts_at_one_instant(
    coordinator: CoordinatorPart, tx: Transaction, commit_ts: Timestamp
) -> Verdict:
    """As the default, and all versions that it used were in force at one timestamp.

    Closes F-8, F-9 and F-10: else it has used one table as it was before a change, and another as
    it was made after that.
    """
    verdict, tables = await schema_at_commit_ts(coordinator, tx, commit_ts)
    if verdict is None and _never_at_once(coordinator, tables, commit_ts):
        verdict = Reason.SCHEMA_INCOMPATIBLE
    return verdict, tables


def _never_at_once(coordinator: CoordinatorPart, tables: Tables, commit_ts: Timestamp) -> bool:
    """Whether some version in use ended before another one began."""
    catalog = coordinator.sync.catalog
    begun = [catalog.activation_of_object(object_id, initial) for object_id, initial, _ in tables]
    ended = [
        catalog.activation_of_object(steps[0].object_id, steps[0].version)
        for object_id, initial, _ in tables
        if (steps := catalog.steps(object_id, initial, commit_ts))
    ]
    return bool(begun and ended) and max(begun) >= min(ended)


def exact_at_the_stamp(
    sync: SchemaSyncPart, command: FullWrite, stamp: Timestamp
) -> Verdict | None:
    """As the default for one-phase writes, and no change at all before the stamp."""
    judged = schema_at_the_stamp(sync, command, stamp)
    if judged is None or judged[0] is not None:
        return judged
    _, tables = judged
    changed = any(initial != current for _, initial, current in tables)
    return (Reason.SCHEMA_INCOMPATIBLE if changed else None), tables


async def answer_once_active_everywhere(coordinator: CoordinatorPart, tx: Transaction) -> None:
    """Answer a commit once every version that it used is effective by every clock: Tu + CSmax.

    Closes finding F-5: a client that has seen the commit and then uses a node whose clock is behind
    would else find the version before it there.
    """
    catalog, node = coordinator.sync.catalog, coordinator.node
    used = [
        catalog.activation_of_object(each.object_id, each.version) for each in tx.by_id.values()
    ]
    due = activation_plus_skew_rounded(
        max(used, default=MIN_TIMESTAMP), node.settings.max_clock_skew_ms
    )
    if node.clock.current() < due:
        node.probe("answer-awaits-activation")
        await node.clock_passes(due)


async def answer_once_past_everywhere(coordinator: CoordinatorPart, tx: Transaction) -> None:
    """Answer a commit once its commit_ts is past by every clock: Now >= commit_ts + CSmax.

    Closes finding F-6: a transaction that begins after the answer is stamped later, so a session
    that has seen the answer reads what happened before it. Closes F-5 too, since no version that it
    used is effective later than commit_ts. A read-only transaction waits in the same way for its
    read_ts: its session may have brought it from a clock ahead.
    """
    node = coordinator.node
    stamp = tx.commit_ts if tx.read_ts is None else tx.read_ts
    assert stamp is not None, f"{tx.id.label} has committed and has no commit_ts"
    due = activation_plus_skew_rounded(stamp, node.settings.max_clock_skew_ms)
    if node.clock.current() < due:
        node.probe("answer-awaits-activation")
        await node.clock_passes(due)
