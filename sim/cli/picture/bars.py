"""The transactions and statements of an argument, from their clients' requests to the answers."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ddlsim.checkers.case.case import Case, Operation, Transaction
from ddlsim.cli.picture.cut import Subject
from ddlsim.units import show


class Span(NamedTuple):
    """A transaction (`tx`) or a statement (`ddl`) of a client.

    `positions` are those of the events from its beginning to its end, `stamps` its timestamps with
    the positions of their events: begin_ts, each op_ts, commit_ts. A statement has an empty one.
    """

    look: str
    name: str
    client: str
    positions: Sequence[int]
    stamps: Sequence[tuple[int, str]]


def spans(case: Case, subject: Subject) -> Iterator[Span]:
    """The spans of an argument: its transactions, then its statements."""
    for tx in case.transactions.values():
        if tx.name in subject.txs and tx.client is not None:
            yield Span("tx", tx.name, tx.client, list(_positions(case, tx)), _stamps(case, tx))
    for name, operation in case.operations.items():
        if name in subject.ops and operation.invoked is not None and operation.invoked.sql:
            yield _statement(case, operation)


def _statement(case: Case, operation: Operation) -> Span:
    """A statement; it has the names of the updates that it made, if it made any."""
    assert operation.invoked is not None, operation.name
    assert operation.invoked_at is not None, operation.name
    made = [one for _, one in case.schemas.updates if one.op == operation.name]
    name = ", ".join(f"D{one.catalog_version}" for one in made) or operation.name
    ends = [] if operation.ended_at is None else [operation.ended_at]
    begins = operation.invoked_at
    return Span("ddl", name, operation.invoked.client, [begins, *ends], [(begins, "")])


def _positions(case: Case, tx: Transaction) -> Iterator[int]:
    """Where a transaction begins, acts and ends; of several tries of an operation each its own."""
    began = case.began.get(tx.name)
    found = [None if began is None else began[0], tx.committed_at, tx.aborted_at]
    for op in tx.ops:
        operation = case.operations.get(op)
        if operation is not None:
            tries = list(operation.txs)
            found += [operation.invoked_at] if tries[:1] == [tx.name] else []
            found += [operation.ended_at] if tries[-1:] == [tx.name] else []
    return (at for at in found if at is not None and at >= 0)


def _stamps(case: Case, tx: Transaction) -> list[tuple[int, str]]:
    began = case.began.get(tx.name)
    found = [] if began is None else [(began[0], show(began[1].begin_ts))]
    found += [(at, show(read.op_ts)) for at, read in tx.reads]
    found += [(at, show(write.op_ts)) for at, write in tx.writes]
    if tx.committed is not None:
        found.append((tx.committed_at, show(tx.committed.commit_ts)))
    return sorted(found)
