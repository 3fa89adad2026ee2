"""Outcomes of transactions as answers tell them, against what is stored; part of I7.

An acknowledged commit is stored, a failed one is not, and what was rolled back did not commit. An
operation that fails ends its transaction [110.valid.2] [110.table.exists] [110.flow.7]: none that
had failed for its client, by whatever reason but that the transaction had ended, is of one that
commits. One that was still under way when its client asked for the commit says nothing of that
[110.x.2]. An operation that is a transaction of its own takes effect once, however often it is
tried.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Operation, Transaction
from ddlsim.history.events import AnyEvent, Failed, Invoked, Ok, TxCommitted
from ddlsim.units import show

ENDS: Final = ("commit", "rollback")
"""The kinds of operations that end a transaction."""


def client_outcomes(case: Case) -> Iterator[Anomaly]:
    """Explicit transactions, then operations that are transactions of their own."""
    for tx in case.transactions.values():
        for name in tx.ops:
            operation = case.operations.get(name)
            invoked = None if operation is None else operation.invoked
            if operation is not None and invoked is not None and invoked.tx == tx.name:
                yield from _learned(case, tx, operation, invoked)
    for operation in case.operations.values():
        if operation.invoked is not None and operation.invoked.tx is None and operation.txs:
            yield from _alone(case, operation, operation.invoked)


def _learned(
    case: Case, tx: Transaction, operation: Operation, invoked: Invoked
) -> Iterator[Anomaly]:
    """What one operation says of the end of its transaction."""
    ended = operation.ended
    if invoked.kind == "commit":
        if isinstance(ended, Ok) and _is_lost(case, tx):
            yield _lost_commit(tx, invoked, ended)
        if _has_failed(operation) and tx.committed is not None and tx.writes:
            yield _phantom_commit(tx, invoked, tx.committed)
    elif tx.committed is None:
        return
    elif invoked.kind == "rollback" and isinstance(ended, Ok):
        yield Anomaly(
            "rolled-back-and-committed",
            f"{tx.name} was rolled back for its client, but it is committed at "
            f"{show(tx.committed.commit_ts)}",
            (invoked, ended, tx.committed),
        )
    elif invoked.kind not in ENDS and _had_failed(case, tx, operation):
        assert isinstance(ended, Failed), operation.name
        yield Anomaly(
            "committed-after-failure",
            f"{operation.name} failed for its client ({ended.reason}), which ends {tx.name}, but "
            f"that is committed at {show(tx.committed.commit_ts)}",
            (invoked, ended, tx.committed),
            clauses=("110.valid.2", "110.flow.7"),
        )


def _is_lost(case: Case, tx: Transaction) -> bool:
    """Whether a transaction did something, and is known not to be committed."""
    return bool(tx.accesses) and tx.committed is None and not case.is_undecided(tx.name)


def _had_failed(case: Case, tx: Transaction, operation: Operation) -> bool:
    """Whether an operation had failed for its client when that asked for the commit."""
    if not _has_failed(operation) or operation.ended_at is None:
        return False
    asked = [one.invoked_at for op in tx.ops if (one := case.operations.get(op)) and _commits(one)]
    return all(at is None or operation.ended_at < at for at in asked)


def _commits(operation: Operation) -> bool:
    return operation.invoked is not None and operation.invoked.kind == "commit"


def _alone(case: Case, operation: Operation, invoked: Invoked) -> Iterator[Anomaly]:
    """An operation that is a transaction of its own, tried under several names.

    An answer is about the last try; one that found nothing to do says so by False.
    """
    ended = operation.ended
    tries = [case.transactions[name] for name in operation.txs]
    last = tries[-1]
    is_lost = _is_lost(case, last) or (last.writes and last.committed is None)
    if is_lost and isinstance(ended, Ok) and ended.value is not False:
        yield _lost_commit(last, invoked, ended)
    effects = [tx for tx in tries if tx.committed is not None and tx.writes]
    for tx in effects if _has_failed(operation) else ():
        assert tx.committed is not None, tx.name
        yield _phantom_commit(tx, invoked, tx.committed)
    if len(effects) > 1:
        names = " and ".join(tx.name for tx in effects)
        yield Anomaly(
            "committed-twice",
            f"{operation.name} was to take effect once, and {names} are committed for it",
            (invoked, *(tx.committed for tx in effects if tx.committed is not None)),
            clauses=("110.flow.8",),
        )


def _has_failed(operation: Operation) -> bool:
    ended = operation.ended
    return isinstance(ended, Failed) and ended.reason != "TX_FINISHED"


def _lost_commit(tx: Transaction, invoked: Invoked, ended: Ok) -> Anomaly:
    did: list[AnyEvent] = [event for _, event in tx.writes]
    return Anomaly(
        "lost-commit",
        f"the commit of {tx.name} was acknowledged to its client, but no node stored it",
        (invoked, ended, *(did or tx.accesses)[:1]),
    )


def _phantom_commit(tx: Transaction, invoked: Invoked, committed: TxCommitted) -> Anomaly:
    return Anomaly(
        "phantom-commit",
        f"{tx.name} failed for its client, but it is committed at {show(committed.commit_ts)}",
        (invoked, committed),
    )
