"""Coordinators whose clients are shown something else than what happened."""

from collections.abc import Sequence

from msgspec.structs import replace

from ddlsim.model.reasons import Reason
from ddlsim.mutants.base import mutates
from ddlsim.protocol.messages import Answer, ClientOperation, Refusal
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.protocol.transaction.routing import Answered
from ddlsim.protocol.transaction_record import Enlistment, Transaction


@mutates("coordinator", "goes_on_after_failure", "110.valid.2", "data_matches_schema")
class ForgivingCoordinator(Coordinator):
    """An operation that fails leaves its transaction open, which commits without it."""

    def _failed(self, tx: Transaction, reason: Reason) -> None:
        """Nothing follows."""


@mutates("coordinator", "shows_one_partition", "110.lin", "data_matches_schema")
class HastyCoordinator(Coordinator):
    """A scan shows its client the rows of the first partition alone."""

    def _gathered(
        self,
        tx: Transaction,
        request: ClientOperation,
        enlistment: Enlistment,
        answers: Sequence[Answered],
    ) -> Answer | Refusal:
        """What all partitions answer is waited for, and one of them counts."""
        reply = super()._gathered(tx, request, enlistment, answers)
        if isinstance(reply, Refusal):
            return reply
        first = super()._gathered(tx, replace(request, metadata=False), enlistment, answers[:1])
        return replace(reply, rows=first.rows) if isinstance(first, Answer) else first
