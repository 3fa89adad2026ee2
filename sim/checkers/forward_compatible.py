"""I8: each committed transaction's schema is forward-compatible with the one at its commit_ts."""

from collections.abc import Iterator

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.rulings import ruling_of
from ddlsim.checkers.spec.spec import Ruling
from ddlsim.history.events import AnyEvent
from ddlsim.units import show


class ForwardCompatible:
    """From I to C, step by step at commit_ts, for every table of every committed transaction.

    I is every version that the transaction was enlisted with, or ran an operation under; C is the
    one that the complete log says is effective at commit_ts, whatever the validator thought. A
    transaction with commit_ts = Tu commits under the new schema.
    """

    name = "forward_compatible"
    invariant = "I8"
    severity: Severity = "safety"
    summary = "what a transaction ran under is forward-compatible with the schema at its commit_ts"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """One anomaly for each table of a committed transaction whose way to C holds a "no"."""
        for tx in judged(case):
            for object_id, version in versions_used(case, tx):
                yield from _judged(case, tx, object_id, version)


def judged(case: Case) -> list[Transaction]:
    """Committed transactions; of a store without readers, which are at their read version."""
    if not case.is_layered:
        return case.committed
    return [tx for tx in case.committed if tx.writes and not case.is_upkeep(tx.name)]


def is_crossing(case: Case, tx: Transaction, object_id: int, initial: int) -> bool:
    """Whether another version than I is effective at commit_ts, by the complete log."""
    target = case.schemas.effective(object_id, tx.stamp)
    return (0 if target is None else target.version) != initial


def versions_used(case: Case, tx: Transaction) -> list[tuple[int, int]]:
    """(object, version) of every enlistment that was validated, of every use, and of the views and
    aliases by which tables were used, whether their end was looked for at commit or not."""
    assert tx.committed is not None, tx.name
    used = {(object_id, initial): None for object_id, initial, _ in tx.committed.tables}
    uses = tx.uses()
    used.update({(object_id, version): None for object_id, version, _, _ in uses})
    for at, enlisted in tx.enlisted if uses else ():
        if at < tx.committed_at and case.schemas.is_way(enlisted.object_id):
            used[enlisted.object_id, enlisted.version] = None
    return list(used)


def first_incompatible(
    case: Case, object_id: int, after: int, ts: int | None
) -> tuple[SchemaVersion, Ruling] | None:
    """The first step up to a timestamp, or ever, that is incompatible [110.compat.steps]."""
    for step in case.schemas.steps_at(object_id, after, ts):
        ruling = ruling_of(case, step)
        if not ruling.compatible:
            return step, ruling
    return None


def _judged(case: Case, tx: Transaction, object_id: int, initial: int) -> Iterator[Anomaly]:
    assert tx.committed is not None, tx.name
    commit_ts = tx.stamp
    target = case.schemas.effective(object_id, commit_ts)
    upto = 0 if target is None else target.version
    table = case.schemas.describe(object_id, initial)
    if initial > upto:
        yield Anomaly(
            "not-yet-active",
            f"{tx.name} ran under {table} and committed at {show(commit_ts)}, before "
            f"that version was active: the schema then was version {upto}",
            (*case.schemas.logged(case.schemas.version(object_id, initial)), tx.committed),
            clauses=("110.valid.1",),
        )
        return
    found = first_incompatible(case, object_id, initial, commit_ts)
    if found is None:
        return
    step, ruling = found
    yield Anomaly(
        "incompatible-commit",
        f"{tx.name} ran under {table} and committed at {show(commit_ts)}, when version "
        f"{upto} was active; the step to version {step.version}, active since "
        f"{show(step.activation_ts)}, is not forward-compatible: {ruling.reason} "
        f"[{ruling.clause}]",
        (*_uses(tx, object_id), *case.schemas.logged(step), tx.committed),
        clauses=("110.valid.1", ruling.clause),
    )


def _uses(tx: Transaction, object_id: int) -> tuple[AnyEvent, ...]:
    """The first write of a transaction on a table, else its first read."""
    writes: list[AnyEvent] = [event for _, event in tx.writes if event.object_id == object_id]
    reads: list[AnyEvent] = [event for _, event in tx.reads if event.object_id == object_id]
    return tuple((writes or reads)[:1])


CHECKERS.add("forward_compatible", ForwardCompatible())
