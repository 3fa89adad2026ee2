"""A leader beside a run, that two nodes submit commands to, in an arbitrary order.

Submissions of two nodes seldom have one number and are under way at once, and seldom does a copy of
a message come behind a refusal. So beside each run a leader of its own takes some messages in an
order that follows from the run's seed: first ones, copies of them, and ends of what was appended.

A submission is a sender's number. It is proposed once, as soon as a message of it finds the catalog
version that it needs; a copy waits for what came of that while it is on its way, and is refused as
it was while a one-phase write could still commit. One that was sent before the leader's present
life may be such a copy, and is not proposed. What is answered is what came of the command itself,
and of one that was not proposed nothing.
"""

from collections.abc import Coroutine, Generator
from types import SimpleNamespace
from typing import Any, Final, cast

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.words import words
from ddlsim.kernel.rng import mix
from ddlsim.model.hlc import HybridClock
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import Command, FullWrite, SafeTimeSync, WriteIntent
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.partition.replica_manager import ReplicaManager
from ddlsim.protocol.raft import Member
from ddlsim.protocol.replica_messages import PartitionSubmit, PartitionSubmitted
from ddlsim.protocol.replication.state_machine import BUSY, NOT_LEADER, Applied, Pending
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MIN_TIMESTAMP, Timestamp

BORN_TS: Final = Timestamp(0)
"""When the present life of the leader began."""
STEPS: Final = 60
"""How many messages and ends a leader takes beside a run."""
SENDERS: Final = ("a", "b")
PLACE: Final = (1, 0)
REFUSALS: Final = (Reason.SCHEMA_INCOMPATIBLE, BUSY)
ENDS: Final = (None, None, Reason.TX_FINISHED, NOT_LEADER)
"""What comes of a command that was appended; None stands for a result of its own."""
Key = tuple[str, int]


class End:
    """What comes of a command that was appended, once it is known."""

    def __init__(self) -> None:
        self.is_known = False
        self.value: object = None

    def __await__(self) -> Generator[None, None, object]:
        while not self.is_known:
            yield
        return self.value


class Submitted:
    """A submission: its message, what came of it, and the stamp behind it."""

    def __init__(self, message: PartitionSubmit) -> None:
        self.message = message
        self.end = End()
        self.stamp = MIN_TIMESTAMP
        self.is_taken = self.is_appended = False


class Leader(ReplicaManager):
    """A node that leads a group and proposes as its walk says."""

    def __init__(self, walk: "SubmissionWalk", strategy: Strategy) -> None:
        node = SimpleNamespace(
            name="walk, leader",
            clock=HybridClock(lambda: 0),
            on=lambda *_: None,
            probe=lambda _name: None,
        )
        self.catalog = SimpleNamespace(version=1)
        sync = SimpleNamespace(catalog=self.catalog)
        leases, placement = SimpleNamespace(born_ts=BORN_TS), SimpleNamespace()
        super().__init__(
            cast("Any", node),
            strategy,
            cast("Any", sync),
            cast("Any", leases),
            cast("Any", placement),
            partition_class=Partition,
            member_class=Member,
            birth_ts=MIN_TIMESTAMP,
        )
        self._walk = walk
        self.group: Any = SimpleNamespace(is_leader=True, leader="l", last_stamp=MIN_TIMESTAMP)
        self.members[PLACE] = cast("Any", SimpleNamespace(group=self.group))

    def _propose(self, local: Any, command: Command[object]) -> Applied[object] | Pending:
        del local
        return self._walk.proposed(command)


class SubmissionWalk:
    """A leader, and the submissions that it has been sent; every choice follows from a number."""

    def __init__(self, models: Models, strategy: Strategy, number: int) -> None:
        self._number, self._drawn = number, 0
        self._divergence: Divergence = models.divergence("submissions", "walk, leader")
        self.leader = Leader(self, strategy)
        self._known: dict[Key, Submitted] = {}
        self._talks: list[tuple[Key, Coroutine[Any, Any, PartitionSubmitted]]] = []
        self._proposed = 0
        self._at: Key = ("", 0)

    def _below(self, bound: int) -> int:
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def take(self, steps: int) -> None:
        """Take some messages and ends."""
        for _ in range(steps):
            appended = [one for one in self._known.values() if one.is_appended]
            open_ = [one for one in appended if not one.end.is_known]
            what = self._below(10)
            if what < 4 or not self._known:
                self._first()
            elif what < 7:
                self._copy()
            elif what == 7:
                self.leader.catalog.version += 1
            elif open_:
                ended = open_[self._below(len(open_))]
                value = ENDS[self._below(len(ENDS))]
                ended.end.value = Timestamp(self._drawn) if value is None else value
                ended.end.is_known = True
                self._answers()

    # --- messages ---------------------------------------------------------------------------------

    def _first(self) -> None:
        sender = SENDERS[self._below(len(SENDERS))]
        number = sum(1 for key in self._known if key[0] == sender) + 1
        sent_ts = Timestamp(BORN_TS + min(self._below(8), 1))
        message = PartitionSubmit(sent_ts, PLACE, self._command(), number)
        self._known[sender, number] = Submitted(message)
        self._send((sender, number))

    def _command(self) -> Command[Any]:
        """A write in one phase or in two, which may need a later catalog version, or none."""
        what, now = self._below(5), Timestamp(self._drawn)
        if what == 0:
            return SafeTimeSync()
        tx, needed = TxId(now, 0, f"tx {now}"), self.leader.catalog.version + self._below(8) // 7
        if what == 1:
            return WriteIntent(tx, "o", now, (1,), 1, None, MIN_TIMESTAMP, PLACE, needed)
        expires_ts = Timestamp(self.leader.group.last_stamp + 1 + self._below(30))
        return FullWrite(tx, "o", now, (1,), 1, None, MIN_TIMESTAMP, needed, (), expires_ts)

    def _copy(self) -> None:
        """A copy of what was not taken, is on its way, or was refused before the log."""
        keys = [key for key, one in self._known.items() if self._is_awaited(one)]
        if keys:
            self._send(keys[self._below(len(keys))])

    def _is_awaited(self, one: Submitted) -> bool:
        if one.is_appended or not one.is_taken:
            return not one.end.is_known
        command = one.message.command
        return isinstance(command, FullWrite) and command.expires_ts > self.leader.group.last_stamp

    def _send(self, key: Key) -> None:
        one, self._at, self._proposed = self._known[key], key, 0
        needed = getattr(one.message.command, "catalog_version", 0)
        due = not one.is_taken and needed <= self.leader.catalog.version
        if one.message.sent_ts <= BORN_TS:  # an earlier life may have refused a first copy
            due = due and not isinstance(one.message.command, FullWrite)
        one.is_taken = one.is_taken or due
        self._talks.append((key, self.leader._on_submit(key[0], one.message)))
        self._answers()
        if self._proposed != due:
            self._divergence.found(f"the command of {key} is proposed {self._proposed} times")

    def proposed(self, command: Command[object]) -> Applied[object] | Pending:
        """What comes of the command of the message that was sent last."""
        one, group = self._known[self._at], self.leader.group
        self._proposed += 1
        if isinstance(command, FullWrite) and self._below(2):
            one.end.value, one.end.is_known = REFUSALS[self._below(len(REFUSALS))], True
            return Applied(one.end.value)
        group.last_stamp = one.stamp = Timestamp(group.last_stamp + 1 + self._below(3))
        one.is_appended = True
        return Pending(cast("Any", one.end))

    # --- answers ----------------------------------------------------------------------------------

    def _answers(self) -> None:
        """Let each message go on until it waits; compare what it is answered."""
        waiting = []
        for key, talk in self._talks:
            try:
                talk.send(None)
                waiting.append((key, talk))
            except StopIteration as ended:
                self._compare(key, ended.value)
        self._talks = waiting

    def _compare(self, key: Key, reply: PartitionSubmitted) -> None:
        one = self._known[key]
        value, last_stamp = one.end.value, self.leader.group.last_stamp
        due = (one.is_taken and value not in (NOT_LEADER, BUSY), value)
        if one.end.is_known != one.is_taken or (reply.done, reply.result) != due:
            self._divergence.found(
                f"the command of {key} came to {words(value)}; the answer: {words(reply)}"
            )
        elif reply.done and not one.stamp <= reply.stamp <= last_stamp:
            self._divergence.found(f"{words(reply)} has a stamp that no command has")


def walk_submissions(models: Models, strategy: Strategy, seed: int) -> None:
    """Compare a leader beside the run of this seed."""
    SubmissionWalk(models, strategy, mix(seed, 3)).take(STEPS)
