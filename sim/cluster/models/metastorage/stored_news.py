"""News beside a run: answers of a node that has something by the log alone, and a clock behind it.

A leader's stamp reaches another node with the entry, which moves no clock there [ignite3.md, 1]. So
what that node answers before the leader's own answer has come is stamped above the entry, else the
commit of a write may be stamped below it, and what is written behind a one-phase commit below that.
In a run this takes a leader whose clock is ahead, an answer of it that is late or lost, and a copy
of a message between the two. So beside a run each such answer is given by stand-ins, whose clocks
are before, at and behind the stamp.
"""

from types import SimpleNamespace
from typing import Any, Final, cast

from ddlsim.cluster.models.design.clock_rules import copies
from ddlsim.cluster.models.design.commit_questions import ended
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.model.hlc import HybridClock
from ddlsim.protocol.commands import FinishTx, FullWrite, StampedCommand, WriteIntent
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Finish, Operate
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.replica_messages import AreReplicated, RecoverTx
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction import conditional
from ddlsim.protocol.transaction.execution import Executor
from ddlsim.protocol.transaction.participant import Participant
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import LOGICAL_BITS, MIN_TIMESTAMP, Timestamp, show

PLACE: Final = (1, 0)
KEY, OTHER, ROW = (1,), (2,), (1, 1)
SHOWN: Final = Timestamp(1_000 << LOGICAL_BITS)
"""What a stand-in's clock shows at first."""
SENT: Final = Timestamp(SHOWN - 5)
"""When it was sent what it answers."""
INTENT, AT_ONCE, DECIDED = (TxId(Timestamp(SHOWN - 9 + n), 0, f"T{n}") for n in range(3))
"""Three transactions: one has left an intent, one has committed in one phase, one in two."""


class Told:
    """A node whose replica of a partition has applied commands that another node has stamped."""

    def __init__(self, clock: HybridClock, strategy: Strategy, stamp: Timestamp) -> None:
        self.sent: list[Any] = []
        self.node: Any = SimpleNamespace(
            name="news",
            clock=clock,
            recording=False,
            probe=lambda _name: None,
            send=lambda _to, report: self.sent.append(report),
        )
        machine = Partition(self.node, strategy, PLACE, MIN_TIMESTAMP, lambda _version: True)
        commands: tuple[Any, ...] = (
            WriteIntent(INTENT, "o0", SENT, KEY, 1, ROW, MIN_TIMESTAMP, PLACE, 0),
            FullWrite(AT_ONCE, "o1", SENT, OTHER, 1, ROW, MIN_TIMESTAMP, 0),
            FinishTx(DECIDED, stamp, ()),
        )
        for index, command in enumerate(commands, 1):
            machine.apply(index, 1, StampedCommand(stamp, command))
        self.local: Any = SimpleNamespace(place=PLACE, machine=machine, pending={}, at_once={})
        replicas = SimpleNamespace(at=lambda _place: self.local)
        leases = SimpleNamespace(held=lambda _place: True)
        fields = {"node": self.node, "strategy": strategy, "replicas": replicas, "leases": leases}
        self.part = part = cast("Any", SimpleNamespace(**fields, _under_way={}))
        part._finished = lambda outcome: Participant._finished(part, outcome)
        part.repeated_answer = lambda *given: Executor.repeated_answer(part, *given)


def _operate(tx: TxId, op: str, action: str, *, one_phase: bool = False) -> Operate:
    return Operate(SENT, tx, op, action, *PLACE, 1, KEY, ROW, one_phase=one_phase)


def _copy(told: Told) -> Any:
    return Executor.repeated_answer(told.part, _operate(INTENT, "o0", "put"), told.local, SHOWN)


def _copy_of_insert(told: Told) -> Any:
    request = _operate(INTENT, "o0", "insert")
    return conditional.repeated_answer(told.part, request, told.local, SHOWN)


def _question(told: Told) -> Any:
    Executor._report_again(told.part, "n", AreReplicated(SENT, INTENT, ("o0",), PLACE))
    return told.sent[-1] if told.sent else None


def _copy_at_once(told: Told) -> Any:
    request = _operate(AT_ONCE, "o1", "put", one_phase=True)
    return Replica._answer_to_a_copy(told.part, request, told.local, SHOWN)


def _recovery(told: Told) -> Any:
    return ended(Participant.recover(told.part, "n", RecoverTx(SENT, AT_ONCE, PLACE)))


def _recovery_of_decided(told: Told) -> Any:
    return ended(Participant.recover(told.part, "n", RecoverTx(SENT, DECIDED, PLACE)))


def _finish(told: Told) -> Any:
    return ended(Participant.finish(told.part, "n", Finish(SENT, DECIDED, SHOWN, PLACE, (), ())))


ANSWERS: Final = {
    "a copy of a write": _copy,
    "a copy of an insert": _copy_of_insert,
    "whether a write is replicated": _question,
    "a copy of a one-phase write": _copy_at_once,
    "the recovery of a one-phase write": _recovery,
    "the recovery of what has ended": _recovery_of_decided,
    "a finish that is sent again": _finish,
}


def compare_news(divergence: Divergence, strategy: Strategy) -> None:
    """Compare the stamps of what is answered with those of what is stored."""
    for what, answer in ANSWERS.items():
        for one in copies(HybridClock(lambda: SHOWN >> LOGICAL_BITS, SHOWN)):
            given = answer(Told(one.clock, strategy, one.stamp))
            if given is None or given.sent_ts <= one.stamp:
                divergence.found(f"{what} is answered {given} where {show(one.stamp)} is stored")
