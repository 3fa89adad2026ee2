"""Whether a client learns why its transaction was aborted under way; part of I12.

A coordinator that aborts answers with a code that says whether to try again [110.flow.7]. So an
operation that was under way when its coordinator aborted its transaction is not answered that the
transaction *has already ended*: that is for operations that come later, and says not to try again.

Nothing is judged of an operation beside a commit or a rollback of its client, which may have ended
the transaction first, nor where the coordinator died and cannot know the reason any more.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.operations import Operation
from ddlsim.history.events import Failed, TxAborted
from ddlsim.model.reasons import Reason
from ddlsim.units import as_ms

ENDS = ("commit", "rollback")
"""The kinds of operations that end a transaction."""
FINISHED = Reason.TX_FINISHED.name


def abort_answers(case: Case) -> Iterator[Anomaly]:
    """Each refusal as finished of what was under way at an abort for another reason."""
    if case.is_layered:
        return
    for operation in case.operations.values():
        ended, invoked = operation.ended, operation.invoked
        if invoked is None or not isinstance(ended, Failed) or ended.reason != FINISHED:
            continue
        for name in [*operation.txs][-1:]:
            tx = case.transactions[name]
            aborted = tx.aborted
            if aborted is None or aborted.reason == FINISHED or aborted.node != invoked.node:
                continue
            under_way = invoked.at_us <= aborted.at_us <= ended.at_us
            if under_way and _is_sure(case, tx, operation, aborted):
                yield Anomaly(
                    "reason-not-answered",
                    f"{operation.name} was under way when {tx.name} was aborted with "
                    f"{aborted.reason} at {as_ms(aborted.at_us)} ms, and its client was answered "
                    f"{FINISHED}",
                    (invoked, aborted, ended),
                    clauses=("110.flow.7",),
                )


def _is_sure(case: Case, tx: Transaction, operation: Operation, aborted: TxAborted) -> bool:
    """Whether nothing else may have ended the transaction, and its coordinator lives."""
    assert operation.ended is not None, operation.name
    until_us = operation.ended.at_us
    for op in tx.ops:
        other = case.operations.get(op)
        if other is None or other is operation or other.invoked is None:
            continue
        if other.invoked.kind in ENDS and other.invoked.at_us <= until_us:
            return False
    events = case.history.events
    deaths = (events[at].at_us for at in case.deaths.get(aborted.node, ()))
    return not any(aborted.at_us <= one <= until_us for one in deaths)
