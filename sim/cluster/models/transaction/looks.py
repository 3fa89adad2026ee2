"""Looks for outcomes beside a run, at a coordinator that answers at will.

A coordinator is seldom about to decide just when a reader asks. So beside each run a participant
looks for outcomes, and the coordinator's answers are all short rows of them: what is about to end
is asked for again, for a reader until it is decided, else `PROBES` times; what is pending is
pending, what is aborted is aborted; and where the coordinator is silent, or has no such
transaction, the commit partition says how it has ended.

Nor does the primary of a write that is not replicated often lose its lease and get another one. So
a coordinator asks for such writes again under each lease: under any other one than that which they
were made under, also of the same node, they will never be, and the transaction aborts.
"""

from collections import deque
from itertools import product
from types import SimpleNamespace
from typing import Any, Final, cast

from ddlsim.cluster.models.design.commit_questions import ended
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.transaction.participant import PROBES
from ddlsim.cluster.models.words import when, words
from ddlsim.kernel.engine import Future
from ddlsim.model.ports import NO_REPLY
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import Outcome
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.replica_messages import AreReplicated, Fate, TxState, TxStateRequest
from ddlsim.protocol.transaction.commit import TransactionCompletion
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp

ENDS: Final = (Fate.PENDING, Fate.ABORTED, Fate.UNKNOWN, None)
"""The coordinator's last answer; None stands for silence."""
STORED: Final = Outcome(Timestamp(77), ())
"""How the commit partition says that it has ended."""
TX: Final = TxId(Timestamp(5), 1, "T")
PLACE: Final = (3, 2)


class Asking:
    """A participant at one node of two; `answers` are those of the other one, the coordinator."""

    def __init__(self, answers: list[Fate | None]) -> None:
        self._answers = answers
        self.wrong: list[str] = []
        self.asked = self.recovered = 0
        self.node = SimpleNamespace(
            settings=SimpleNamespace(orphan_answer_ms=9, retry_us=1),
            clock=SimpleNamespace(now=lambda: Timestamp(6), update=lambda _ts: None),
            request=self._request,
            sleep=self._sleep,
        )
        self._nodes = ("n1", "n2")

    async def _request(self, to: str, request: TxStateRequest, _wait_us: int) -> Any:
        self.asked += 1
        if to != "n2" or request.tx != TX:
            self.wrong.append(f"{words(request)} goes to {to}")
        answer = self._answers.pop(0) if self._answers else Fate.PENDING
        return NO_REPLY if answer is None else TxState(Timestamp(7), answer)

    async def _sleep(self, _wait_us: int) -> None:
        return

    async def _recovered(self, tx: TxId, commit_place: PartitionId) -> Outcome:
        self.recovered += 1
        if (tx, commit_place) != (TX, PLACE):
            self.wrong.append(f"the end of {tx.label} is looked for in {commit_place}")
        return STORED


def compare_looks(divergence: Divergence) -> None:
    """Look for the outcome of a transaction with each row of answers, and ask for its writes."""
    for holder, start in (("n1", 5), ("n1", 9), ("n2", 9), (None, 0)):
        _compare_asking(divergence, holder, start)
    for deciding, end, read_ts in product((0, 1, 3), ENDS, (None, Timestamp(70))):
        _compare(divergence, deciding, end, read_ts)
    _compare(divergence, PROBES, Fate.ABORTED, None)
    _compare(divergence, PROBES + 1, Fate.ABORTED, Timestamp(70))


def _compare_asking(divergence: Divergence, holder: str | None, start: int) -> None:
    """Ask for two writes that were made under the lease that began at 5."""
    used = Lease(PLACE, "n1", Timestamp(5), Timestamp(90))
    lease = None if holder is None else Lease(PLACE, holder, Timestamp(start), Timestamp(90))
    sent: list[tuple[str, AreReplicated]] = []
    part: Any = SimpleNamespace(
        node=SimpleNamespace(
            clock=SimpleNamespace(now=lambda: Timestamp(6)),
            send=lambda to, message: sent.append((to, message)),
        ),
        _leases=SimpleNamespace(of=lambda _: lease),
    )
    tx, idle = Transaction(TX, 0), Future[None](deque())
    tx.participants[PLACE], tx.idle = used, idle
    tx.unreplicated = {"o1": PLACE, "o2": PLACE}
    TransactionCompletion._ask_again(part, tx, idle)
    asked = AreReplicated(Timestamp(6), TX, ("o1", "o2"), PLACE)
    divergence.compare("what is asked for writes", sent, [("n1", asked)])
    is_lost = lease is not None and start != used.start_ts
    due = Reason.PRIMARY_EXPIRED if is_lost else None
    divergence.compare(f"how it goes on under {words(lease)}", tx.reason, due)
    divergence.compare("whether it looks again", (idle.done, tx.idle), (True, None))


def _compare(
    divergence: Divergence, deciding: int, end: Fate | None, read_ts: Timestamp | None
) -> None:
    asking = Asking([*[Fate.DECIDING] * deciding, end])
    part = cast("Any", asking)
    outcome = ended(Participant.resolved(part, TX, PLACE, read_ts))
    due: Outcome | None = None
    gives_up = read_ts is None and deciding >= PROBES
    if not gives_up and end is not Fate.PENDING:
        due = Outcome(None, ()) if end is Fate.ABORTED else STORED
    what = f"{deciding} times about to end, then {end}, read at {when(read_ts)}"
    if outcome != due or asking.wrong:
        divergence.found(f"{what}: taken for {words(outcome)}, not {words(due)}; {asking.wrong}")
    if asking.asked != deciding + (not gives_up):
        divergence.found(f"{what}: asked for {asking.asked} times")
