"""Members of one replication group on a wire of 1 ms: each with a disk and a list as its state."""

from collections.abc import Callable, Coroutine
from typing import Any

from ddlsim.kernel.engine import Loop, Timer
from ddlsim.model.records import Record
from ddlsim.protocol.raft import RAFT_MESSAGES
from ddlsim.protocol.replication.group import Group, Pending, disk_name
from ddlsim.units import MIN_TIMESTAMP, Timestamp
from tests.support.protocol import FakeNode, Wire, run_until

ELECTION_MS = 100


class Said(Record, frozen=True):
    """A command: a word under its leader's stamp."""

    safe_ts: Timestamp
    word: str


class Words:
    """A state machine: the words in order, those of the last life told apart."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.restored_words: list[str] = []
        self.installed: list[tuple[str, ...]] = []
        self.life: list[str] = []
        self.refused = ""
        self.applied_index = self.applied_term = 0
        self.stamp = MIN_TIMESTAMP

    def apply(self, index: int, term: int, command: Said) -> str:
        assert index == self.applied_index + 1, f"{index} after {self.applied_index}"
        self.applied_index, self.applied_term = index, term
        self.words.append(command.word)
        self.stamp = command.safe_ts
        return f"heard {command.word}"

    def restore(self, index: int, term: int, command: Said) -> None:
        self.apply(index, term, command)
        self.restored_words.append(command.word)

    def restoring(self) -> None:
        self.life.append("restoring")

    def restored(self) -> None:
        self.life.append(f"restored {self.applied_index}")

    def stamp_of(self, command: Said) -> Timestamp:
        return command.safe_ts

    def stamp_of_state(self, state: Any) -> Timestamp:
        stamp: Timestamp = state[3]
        return stamp

    def may_store(self, command: Said) -> bool:
        return command.word != self.refused

    def may_install(self, state: Any) -> bool:
        return self.refused not in state[2]

    def snapshot(self) -> Any:
        return self.applied_index, self.applied_term, tuple(self.words), self.stamp

    def install(self, state: Any) -> None:
        self.applied_index, self.applied_term, words, self.stamp = state
        self.words = list(words)
        self.installed.append(words)


class MortalNode(FakeNode):
    """A fake node that can die: what it had planned does not happen."""

    alive = True

    def call_later(self, delay_us: int, fn: Callable[..., None], *args: object) -> Timer:
        return super().call_later(delay_us, self._if_alive, fn, *args)

    def _if_alive(self, fn: Callable[..., None], *args: object) -> None:
        if self.alive:
            fn(*args)

    def spawn(self, task: Coroutine[Any, Any, Any]) -> None:
        if self.alive:
            super().spawn(task)


class Replicas:
    """Members by name; the first leads. `cut` names nodes that nobody reaches."""

    def __init__(
        self,
        names: str = "abc",
        learners: str = "",
        idle_ms: int | None = None,
        group_class: type[Group] = Group,
        **changes: Any,
    ) -> None:
        self.loop = Loop()
        self.wire = Wire(self.loop)
        self.wire.fate = lambda sent: () if {sent.sender, sent.to} & self.cut else (1000,)
        self.voters, self.learners = tuple(names), tuple(learners)
        self.changes = {"election_timeout_ms": ELECTION_MS, "resend_ms": 20} | changes
        self.cut: set[str] = set()
        self.idle_ms, self.group_class = idle_ms, group_class
        self.nodes: dict[str, MortalNode] = {}
        self.machines: dict[str, Words] = {}
        self.groups: dict[str, Group] = {}
        self.news: list[tuple[str, str, int]] = []
        for name in self.voters + self.learners:
            self._born(name, {})
        for group in self.groups.values():
            group.start()

    def __getitem__(self, name: str) -> Group:
        return self.groups[name]

    def _born(self, name: str, disk: dict[str, Any]) -> None:
        node = self.nodes[name] = MortalNode(name, self.wire, **self.changes)
        node.disk = disk
        machine = self.machines[name] = Words()
        group = self.groups[name] = self.group_class(
            node,
            "words",
            machine,
            voters=self.voters,
            learners=self.learners,
            idle_ms=lambda: self.idle_ms,
        )
        group.on_elected = lambda term: self.news.append((name, "elected", term))
        group.on_deposed = lambda term: self.news.append((name, "deposed", term))
        for kind in RAFT_MESSAGES:
            node.on(kind, group.receive)

    def say(self, name: str, word: str) -> Any:
        """Propose a word: `Applied` with its result, or `Pending`."""
        group = self.groups[name]
        stamp = Timestamp(max(group.last_stamp, MIN_TIMESTAMP, 0) + 1)
        return group.proposed(Said(stamp, word))

    def said(self, name: str, word: str, within_ms: float = 50) -> Any:
        """Propose, and wait for the result."""
        result = self.say(name, word)
        self.later(within_ms)
        if type(result) is Pending:
            assert result.future.done, f"{word} is still pending"
            return result.future.value
        return result.result

    def later(self, by_ms: float) -> None:
        run_until(self.loop, self.loop.now_us / 1000 + by_ms)

    def crash(self, name: str, *, lost: bool = False, torn: int = 0) -> None:
        """The node dies; `lost`: with what was not synced, but for `torn` entries."""
        self.nodes[name].alive = False
        self.nodes[name].handlers = dict.fromkeys(RAFT_MESSAGES, lambda *_: None)
        if lost:
            self.nodes[name].disk[disk_name("words")].lose_unsynced(torn)

    def restart(self, name: str) -> None:
        """The node is back with what its disk holds."""
        assert not self.nodes[name].alive, f"{name} is alive"
        self._born(name, self.nodes[name].disk)
        self.groups[name].start()

    @property
    def leaders(self) -> list[str]:
        """Who leads, of those that are alive."""
        return [
            name
            for name, group in self.groups.items()
            if self.nodes[name].alive and group.is_leader
        ]

    def words(self) -> list[list[str]]:
        """What each has heard."""
        return [machine.words for machine in self.machines.values()]
