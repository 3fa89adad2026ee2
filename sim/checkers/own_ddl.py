"""I4: an operation that starts after the acknowledgement of a DDL sees it, on any node.

[98.own] [98.flow.4]
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.base import BOTH_VOICES, CHECKERS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Ddl, Operation
from ddlsim.checkers.case.operations import AT_THE_PRIMARY
from ddlsim.checkers.case.statements import Name, answered, built, meanings_of
from ddlsim.history.events import AnyEvent, SchemaResolved
from ddlsim.units import MIN_TIMESTAMP, Timestamp, as_ms, physical_ms, plus_ms, round_up, show

ROUNDED: Final = "activation_plus_skew_rounded"
"""The rule that acknowledges at Tu + CSmax, up to the next whole tick."""


class Promise(NamedTuple):
    """What the acknowledgement of a statement promises to everyone: Tu has passed everywhere.

    A no-op or a refusal promises the catalog version that it rests on.
    """

    op: str
    acknowledged_at: int
    activation_ts: int
    catalog_version: int
    witness: tuple[AnyEvent, ...]


class OwnDdl:
    """An operation invoked after an acknowledgement resolves at or after that Tu, and sees it.

    Three ways to break it: the primary's op_ts lies before Tu; the enlistment does, and nothing
    later in the operation makes up for it; or the operation ran under an older version although it
    resolved later. A transaction that had enlisted the table before the DDL is judged by what its
    operations do then: the old enlistment alone is no breach. Commits are not judged, since a
    transaction may take effect at any instant of its life (I3 judges where); nor are read-only
    transactions, which read the past by design and owe it to their own session only (I10).

    Where a transaction reads all at one version of a store, what counts is when it began, and a
    read-only one reads the present, unless its client chose when.

    The acknowledgement itself is too early, whatever then happened, where the design acknowledges
    at Tu + CSmax, rounded up, and no clock had shown that when it came [98.flow.4]: on a node that
    is CSmax behind, an operation could have been resolved before Tu.

    A statement, too, sees what was acknowledged before it: of the objects that it names, it must
    not rest on an older catalog version, whether it was refused, changed nothing or was built.
    """

    name = "own_ddl"
    invariant = "I4"
    severity: Severity = "session"
    summary = "an operation started after the acknowledgement of a DDL sees it, on any node"
    voices = BOTH_VOICES

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Each operation against the latest Tu that was acknowledged before it was invoked."""
        yield from _acknowledged_early(case)
        promises = _promises(case)
        if not promises:
            return
        past = _of_the_past(case)
        positions = [promise.acknowledged_at for promise in promises]
        resolved: dict[str, list[SchemaResolved]] = {}
        for _, event in case.of(SchemaResolved):
            if event.op is not None:
                resolved.setdefault(event.op, []).append(event)
        for operation in case.operations.values():
            assert operation.invoked_at is not None, operation.name
            before = bisect_right(positions, _since(case, operation))
            if before and operation.name not in past:
                promise = promises[before - 1]
                looked_up = resolved.get(operation.name, [])
                if any(event.ts < promise.activation_ts for event in looked_up):
                    yield from _too_early(case, operation, promise, looked_up)
                yield from _unseen(case, operation, promise)
        yield from _stale_statements(case, promises, positions)


def _of_the_past(case: Case) -> dict[str, None]:
    """The operations of transactions that read the past, by design or as their client asked."""
    return {
        op: None
        for tx in case.transactions.values()
        if tx.read_ts is not None and (tx.chosen or not case.is_layered)
        for op in tx.ops
    }


def _since(case: Case, operation: Operation) -> int:
    """Where an operation owes what was acknowledged before."""
    assert operation.invoked_at is not None, operation.name
    if not case.is_layered:
        return operation.invoked_at
    began = [
        tx.begins_at
        for name in operation.txs
        if (tx := case.transactions.get(name)) is not None and tx.begins_at is not None
    ]
    return min([operation.invoked_at, *began])


def _promises(case: Case) -> list[Promise]:
    """By the acknowledgement, and each with the largest Tu that was promised up to there."""
    found = [
        promise for ddl in case.ddls.values() if (promise := promise_of(case, ddl)) is not None
    ]
    found.sort(key=lambda promise: promise.acknowledged_at)
    for at in range(1, len(found)):
        before, here = found[at - 1], found[at]
        if before.activation_ts > here.activation_ts:
            found[at] = before._replace(acknowledged_at=here.acknowledged_at)
    return found


def promise_of(case: Case, ddl: Ddl) -> Promise | None:
    """What the answer to a statement promises, if there was one."""
    answered = ddl.operation.answered_at
    ended = ddl.operation.ended
    if answered is None or ended is None:
        return None
    if ddl.logged is not None:
        update = ddl.logged
        version, activation_ts = update.catalog_version, update.activation_ts
        return Promise(ddl.operation.name, answered, activation_ts, version, (update, ended))
    if ddl.decided is None:
        return None
    decided = ddl.decided
    rests_on = case.schemas.catalog(decided.catalog_version)
    activation_ts = decided.activation_ts if rests_on is None else rests_on.activation_ts
    witness = (decided, ended)
    return Promise(ddl.operation.name, answered, activation_ts, decided.catalog_version, witness)


def _acknowledged_early(case: Case) -> Iterator[Anomaly]:
    """Answers before Tu + CSmax, rounded up: by what their node waited for, and by true clocks.

    No hybrid clock is ahead of the furthest that any physical clock ever was. With the smallest
    CSmax that any node has, and the rule that the design has for such an answer.
    """
    skews, rules = case.settings("max_clock_skew_ms"), case.header.design.rules
    if not skews:
        return
    for ddl in case.ddls.values():
        decided, ended, promise = ddl.decided, ddl.operation.ended, promise_of(case, ddl)
        rule = rules.get("acknowledge_known_ts" if ddl.logged is None else "acknowledge_ts")
        if decided is None or promise is None or ended is None or rule != ROUNDED:
            continue
        due_ts = round_up(plus_ms(Timestamp(promise.activation_ts), min(skews)))
        shown_ms = case.once(Clocks).furthest_ms(ended.at_us)
        if decided.acknowledge_ts < due_ts:
            at_once = decided.acknowledge_ts == MIN_TIMESTAMP
            how = f"its node waited for {'nothing' if at_once else show(decided.acknowledge_ts)}"
        elif shown_ms < physical_ms(due_ts):
            how = f"no clock had shown more than {shown_ms} ms"
        else:
            continue
        yield Anomaly(
            "acknowledged-too-early",
            f"{_asked(case, promise)}; {how}, and Tu + CSmax, rounded up, is {show(due_ts)}",
            (*promise.witness, decided),
            clauses=("98.flow.4",),
        )


def _too_early(
    case: Case, operation: Operation, promise: Promise, resolved: list[SchemaResolved]
) -> Iterator[Anomaly]:
    """A resolution at some Top < Tu, one for each operation."""
    for event in resolved:
        if event.ts >= promise.activation_ts or not _counts(case, event, promise, resolved):
            continue
        yield Anomaly(
            "resolved-too-early",
            f"{_asked(case, promise)}; {operation.name}, invoked later at "
            f"{_ms(operation)} ms, was resolved on node {event.node} ({event.purpose}) at "
            f"{show(event.ts)}, before its Tu",
            (*promise.witness, *operation.asked, event),
            clauses=("98.own", "98.flow.4"),
        )
        return


def _counts(
    case: Case, event: SchemaResolved, promise: Promise, resolved: list[SchemaResolved]
) -> bool:
    """An enlistment counts for a transaction that began later, or where nothing followed it."""
    if event.purpose in AT_THE_PRIMARY:
        return True
    if event.purpose != "enlist":
        return False
    tx = case.transactions.get(event.tx)
    begins_at = None if tx is None else tx.begins_at
    began_later = begins_at is not None and begins_at > promise.acknowledged_at
    return began_later or not any(
        later.purpose in AT_THE_PRIMARY and later.tx == event.tx for later in resolved
    )


def _unseen(case: Case, operation: Operation, promise: Promise) -> Iterator[Anomaly]:
    """An operation that ran under an older version than the one that was acknowledged."""
    for use in case.uses_of.get(operation.name, ()):
        due = case.schemas.effective(use.object_id, promise.activation_ts)
        if due is None or use.version >= due.version:
            continue
        since = f", in force since {show(Timestamp(due.activation_ts))}"
        of_another = due.activation_ts != promise.activation_ts
        yield Anomaly(
            "ddl-not-seen",
            f"{_asked(case, promise)}; {operation.name}, invoked later at {_ms(operation)} ms, "
            f"ran on node {use.event.node} under "
            f"{case.schemas.describe(use.object_id, use.version)} and not under version "
            f"{due.version}{since if of_another else ''}",
            (*promise.witness, *operation.asked, use.event),
            clauses=("98.own",),
        )
        return


def _stale_statements(
    case: Case, promises: list[Promise], positions: list[int]
) -> Iterator[Anomaly]:
    """Statements that rest on less than what had been acknowledged before they were invoked."""
    found: list[tuple[Operation, int, tuple[Name, ...], AnyEvent]] = [
        (one.ddl.operation, one.decided.catalog_version, one.names, one.decided)
        for one in answered(case)
    ]
    for _, update in case.schemas.updates:
        ddl = case.ddls.get(update.op or "")
        if ddl is not None and update.built_on is not None:
            found.append((ddl.operation, update.built_on, built(case, update), update))
    meanings = meanings_of(case)
    for operation, rests_on, names, event in found:
        before = bisect_right(positions, operation.invoked_at or 0)
        promised = promises[before - 1].catalog_version if before else 0
        for name in names:
            known, due = meanings.at(name, rests_on), meanings.at(name, promised)
            if promised <= rests_on or known == due:
                continue
            yield Anomaly(
                "statement-on-older-catalog",
                f"{_asked(case, promises[before - 1])}; {operation.name}, invoked later at "
                f"{_ms(operation)} ms, rests on catalog version {rests_on}, in which {name} was "
                f"{_meant(known.version)} and not {_meant(due.version)}",
                (*promises[before - 1].witness, *operation.asked, event),
                clauses=("98.own", "98.x.8"),
            )
            break


def _meant(version: int) -> str:
    return f"at version {version}" if version else "not there"


def _asked(case: Case, promise: Promise) -> str:
    sql = case.statement(promise.op)
    statement = f"{promise.op} ({sql})" if sql else promise.op
    acknowledged = case.history.events[promise.acknowledged_at]
    return (
        f"{statement} was acknowledged at {as_ms(acknowledged.at_us)} ms, with Tu = "
        f"{show(promise.activation_ts)}"
    )


def _ms(operation: Operation) -> str:
    return "?" if operation.invoked is None else as_ms(operation.invoked.at_us)


CHECKERS.add("own_ddl", OwnDdl())
