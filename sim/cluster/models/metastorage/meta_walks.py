"""A node beside a run that leads the meta storage, or does not, and is sent commands in any order.

A leader seldom loses what it has appended, and leads again while the command is still sent to it.
So beside each run a node takes some messages, ends of entries and changes of its role, in an order
that follows from the run's seed.

A command with a result is answered with it. Else a leader has it in its log, from this message or
an earlier one, and answers once the entry, or another one in its place, is applied: with the
result, or, where there is none, that it is sent again. Any other node names the leader.
"""

from collections.abc import Coroutine, Generator
from types import SimpleNamespace
from typing import Any, Final, cast

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.words import words
from ddlsim.kernel.rng import mix
from ddlsim.model.hlc import HybridClock
from ddlsim.protocol.messages import NodeJoined, NotLeader, Submit, Submitted
from ddlsim.protocol.meta_commands import Stamped
from ddlsim.protocol.metastorage.metastorage import MetaStorage, MetaStorageConfig
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MIN_TIMESTAMP, Timestamp

STEPS: Final = 60
"""How many messages, ends and changes a node takes beside a run."""
COMMANDS: Final = 4
"""How many commands are under way."""
NAME: Final = "walk, meta"
OTHERS: Final = ("other", None)


class Applying:
    """What a node has applied of the log: the results of commands, and up to which index."""

    def __init__(self) -> None:
        self.results: dict[str, Submitted] = {}
        self.applied_index = 0

    def reaches(self, index: int) -> "Reached":
        """Wait until the entry at an index is applied."""
        return Reached(self, index)


class Reached:
    """A wait for an index."""

    def __init__(self, applying: Applying, index: int) -> None:
        self._applying, self._index = applying, index

    def __await__(self) -> Generator[None, None, None]:
        while self._applying.applied_index < self._index:
            yield


class Led:
    """A group that the node leads, or does not; `entries` are those that it has not applied."""

    def __init__(self) -> None:
        self.is_leader = True
        self.leader: str | None = NAME
        self.entries: list[Stamped | None] = []
        self.last_index = 0

    def propose(self, stamped: Stamped) -> int:
        """Append a command of the node's own."""
        self.entries.append(stamped)
        self.last_index += 1
        return self.last_index

    def receive(self, *_message: object) -> None:
        """Nothing: no other member sends anything."""

    def holds(self, command_id: str) -> bool:
        """Whether an entry that is not applied has a command."""
        commands = [getattr(one, "command", None) for one in self.entries]
        return any(getattr(one, "command_id", None) == command_id for one in commands)


class MetaWalk:
    """A node and what it is sent; every choice follows from a number."""

    def __init__(self, models: Models, strategy: Strategy, number: int) -> None:
        self._number, self._drawn = number, 0
        self._divergence: Divergence = models.divergence("submissions", "walk, meta")
        self.applying, self.group = Applying(), Led()
        node = SimpleNamespace(
            name=NAME,
            clock=HybridClock(lambda: 0),
            on=lambda *_: None,
            probe=lambda _name: None,
        )
        config = MetaStorageConfig((NAME,), (), NAME, 0, idle_ticks=False, start_ts=MIN_TIMESTAMP)
        made: Any = MetaStorage
        self.node: MetaStorage = made(
            *(node, strategy, None, None, None, config),
            application_class=lambda *_: self.applying,
            ticker_class=lambda *_, **__: SimpleNamespace(arm=lambda: None),
            group_class=lambda *_, **__: self.group,
            delays=None,
        )
        self._talks: list[tuple[str, int, Coroutine[Any, Any, Submitted | NotLeader]]] = []
        self.lost = self.repeated = 0

    def _below(self, bound: int) -> int:
        self._drawn += 1
        return mix(self._number, self._drawn) % bound

    def take(self, steps: int) -> None:
        """Take some messages, ends and changes."""
        for _ in range(steps):
            what = self._below(10)
            if what < 5:
                self._send(f"command {self._drawn // 80 + self._below(COMMANDS)}")
            elif what < 8:
                self._apply()
            else:
                self._change()
            self._answers()

    def _send(self, command_id: str) -> None:
        """A message of a command, the first one or another."""
        update = NodeJoined(command_id, "other", MIN_TIMESTAMP)
        group, known = self.group, command_id in self.applying.results
        before, index = len(group.entries), 0
        if group.is_leader and not known:
            index = group.last_index + 1  # where it is appended, and what its answer waits for
        talk = self.node._on_submit("other", Submit(Timestamp(1), update))
        self._talks.append((command_id, index, talk))
        self._answers()
        appended = len(group.entries) > before
        self.repeated += appended and any(one[0] == command_id for one in self._talks[:-1])
        if appended and (known or not group.is_leader):
            self._divergence.found(f"{command_id} is appended in vain")
        if group.is_leader and not known and not group.holds(command_id):
            self._divergence.found(f"{command_id} has no result, and its leader does not append it")

    def _apply(self) -> None:
        """The first entry is applied, and its command has a result unless it had one before."""
        if not self.group.entries:
            return
        entry = self.group.entries.pop(0)
        self.applying.applied_index += 1
        if entry is not None:
            name = cast("NodeJoined", entry.command).command_id
            result = Submitted(entry.message_ts, accepted=True, catalog_version=self._drawn)
            self.applying.results.setdefault(name, result)

    def _change(self) -> None:
        """Another node leads, and its entries take the places of some; or this node leads again."""
        group = self.group
        if not group.is_leader:
            group.is_leader, group.leader = True, NAME
            return
        group.is_leader, group.leader = False, OTHERS[self._below(len(OTHERS))]
        kept = self._below(len(group.entries) + 1)
        lost = len(group.entries) - kept
        group.entries[kept:] = [None] * lost
        self.lost += lost

    def _answers(self) -> None:
        """Let each message go on until it waits; compare what it is answered."""
        waiting = []
        for command_id, index, talk in self._talks:
            try:
                talk.send(None)
                waiting.append((command_id, index, talk))
            except StopIteration as end:
                self._compare(command_id, index, end.value)
        self._talks = waiting

    def _compare(self, command_id: str, index: int, answer: Submitted | NotLeader) -> None:
        known = self.applying.results.get(command_id)
        if known is None:
            right = isinstance(answer, NotLeader) and answer.leader == self.group.leader
        else:
            version = getattr(answer, "catalog_version", None)
            right = isinstance(answer, Submitted) and version == known.catalog_version
        if not right or self.applying.applied_index < index:
            self._divergence.found(
                f"{command_id} came to {words(known)}; the answer: {words(answer)}"
            )


def walk_meta(models: Models, strategy: Strategy, seed: int) -> None:
    """Compare a node beside the run of this seed."""
    MetaWalk(models, strategy, mix(seed, 8)).take(STEPS)
