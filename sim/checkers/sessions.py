"""Whose transaction or statement it is, and whether its client carries a causal token."""

from sim.checkers.case import Case, Transaction
from sim.checkers.edges import Node
from sim.history.events import Invoked


def invocation(case: Case, tx: Transaction) -> Invoked | None:
    """Where a client first asked for a transaction."""
    for op in tx.ops:
        operation = case.operations.get(op)
        if operation is not None and operation.invoked is not None:
            return operation.invoked
    return None


def carries_token(case: Case, tx: Transaction) -> bool:
    """Whether its client carries a causal token."""
    invoked = invocation(case, tx)
    return invoked is not None and invoked.session


def client_of(case: Case, node: Node) -> str | None:
    """Whose transaction or statement it is."""
    if node.tx is not None:
        invoked = invocation(case, node.tx)
    else:
        op = None if node.update is None else node.update.op
        operation = None if op is None else case.operations.get(op)
        invoked = None if operation is None else operation.invoked
    return None if invoked is None else invoked.client
