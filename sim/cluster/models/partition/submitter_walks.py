"""A replica beside a run, that submits commands to a leader elsewhere and is answered at will.

Seldom is the answer to a one-phase write lost whose leader is then busy. So beside each run a
replica submits some commands, and the leader's answers follow from the run's seed.

A command is sent until an answer says what it came to. It may be in the log from the first message
on that had no answer, or whose entry another leader's took the place of; a one-phase write that may
be there is never given back as busy, and what refuses it before the log then ends it in the log. A
submission keeps its number, but for one that the leader was too busy to take.
"""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any, Final, cast

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.words import words
from ddlsim.kernel.rng import mix
from ddlsim.model.hlc import HybridClock
from ddlsim.model.ports import NO_REPLY
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import Command, FullWrite, SafeTimeSync
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.partition.replica_manager import ReplicaManager, Submission
from ddlsim.protocol.raft import Member
from ddlsim.protocol.replica_messages import PartitionSubmit, PartitionSubmitted
from ddlsim.protocol.replication.state_machine import BUSY, NOT_LEADER, Applied
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MIN_TIMESTAMP, Timestamp

SUBMISSIONS: Final = 12
"""How many commands a replica submits beside a run."""
PLACE: Final = (1, 0)
SETTINGS: Final = SimpleNamespace(resend_us=10, retry_us=1, operation_timeout_us=10_000)


class Submitter(ReplicaManager):
    """A replica whose leader is elsewhere; `ended` are the reasons for which it ends a write."""

    def __init__(self, strategy: Strategy) -> None:
        self.answers: list[Any] = []
        self.numbers: list[int] = []
        self.ended: list[Reason] = []
        self._watch = SimpleNamespace(now_us=0)
        node = SimpleNamespace(
            name="walk, submitter",
            clock=HybridClock(lambda: 0),
            settings=SETTINGS,
            watch=self._watch,
            on=lambda *_: None,
            probe=lambda _name: None,
            request=self._request,
            sleep=self._sleep,
        )
        super().__init__(
            cast("Any", node),
            strategy,
            cast("Any", SimpleNamespace()),
            cast("Any", SimpleNamespace(born_ts=MIN_TIMESTAMP)),
            cast("Any", SimpleNamespace()),
            partition_class=Partition,
            member_class=Member,
            birth_ts=MIN_TIMESTAMP,
        )

    async def _request(self, _to: str, message: PartitionSubmit, wait_us: int) -> Any:
        self.numbers.append(message.number)
        answer = self.answers.pop(0)
        self._watch.now_us += wait_us if answer is NO_REPLY else 1
        return answer

    async def _sleep(self, for_us: int) -> None:
        self._watch.now_us += for_us

    async def safe_time_reaches(self, _local: object, _ts: Timestamp) -> None:
        """Nothing: the replica has applied everything."""

    async def _ended(self, _local: object, _command: FullWrite, reason: Reason) -> Reason:
        self.ended.append(reason)
        return reason


class SubmitterWalk:
    """A submitter and what it is answered; every choice follows from a number."""

    def __init__(self, models: Models, strategy: Strategy, number: int) -> None:
        self._number, self._drawn = number, 0
        self._divergence: Divergence = models.divergence("submissions", "walk, submitter")
        self._submitter = Submitter(strategy)

    def _below(self, bound: int) -> int:
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def take(self, submissions: int) -> None:
        """Submit some commands, one after the other."""
        for _ in range(submissions):
            submitter, command = self._submitter, self._command()
            answers = [self._answer(command) for _ in range(self._below(4))]
            last = (Timestamp(self._drawn), Reason.SCHEMA_INCOMPATIBLE)[self._below(2)]
            answers.append(PartitionSubmitted(MIN_TIMESTAMP, done=True, result=last))
            submitter.answers, submitter.numbers, submitter.ended = list(answers), [], []
            group = SimpleNamespace(is_leader=False, leader="l", voters=("l",))
            local = cast("Any", SimpleNamespace(place=PLACE, group=group))
            work: Any = submitter.result_of(Submission(local, command, Applied(NOT_LEADER)))
            try:
                work.send(None)
            except StopIteration as end:
                self._compare(command, answers, end.value)

    def _command(self) -> Command[Any]:
        if self._below(4) == 0:
            return SafeTimeSync()
        tx = TxId(Timestamp(self._drawn), 0, f"tx {self._drawn}")
        return FullWrite(tx, "o", Timestamp(1), (1,), 1, None, MIN_TIMESTAMP, 0)

    def _answer(self, command: Command[Any]) -> Any:
        """None in time, or one that leaves what becomes of the command open."""
        what = self._below(4)
        if what == 0:
            return NO_REPLY
        result = (None, NOT_LEADER, BUSY if isinstance(command, FullWrite) else None)[what - 1]
        return PartitionSubmitted(MIN_TIMESTAMP, done=False, result=result)

    def _compare(self, command: Command[Any], answers: list[Any], result: object) -> None:
        """What the answers come to, in order, and under which numbers they were asked for."""
        numbers, ended = self._submitter.numbers, self._submitter.ended
        for before, (number, following) in zip(answers, pairwise(numbers), strict=False):
            is_busy = before is not NO_REPLY and before.result is BUSY
            if (number != following) is not is_busy:
                self._divergence.found(
                    f"{words(command)} is asked for as {numbers} behind {words(before)}"
                )
        may_be_there, due, ends = False, None, []
        for answer in answers:
            due = None if answer is NO_REPLY else answer.result
            if answer is NO_REPLY or due is NOT_LEADER:
                may_be_there = True
            elif due is BUSY and not may_be_there:
                break
            elif answer.done:
                refused = isinstance(command, FullWrite) and isinstance(due, Reason)
                ends = [due] if refused and may_be_there else []
        if (result, ended) != (due, ends):
            what = (
                f"answers {answers} to {words(command)} came to {words(result)}, ended for {ended}"
            )
            self._divergence.found(f"{what}; they should come to {words(due)}, for {ends}")


def walk_submitter(models: Models, strategy: Strategy, seed: int) -> None:
    """Compare a submitter beside the run of this seed."""
    SubmitterWalk(models, strategy, mix(seed, 6)).take(SUBMISSIONS)
