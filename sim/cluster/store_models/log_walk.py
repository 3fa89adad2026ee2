"""A log beside a run: batches come in any order, storage servers ask for more than it has.

In a run batches seldom overtake each other, and a storage server is seldom ahead of the log that it
asks. So beside each run a log takes what follows from the run's seed. It answers a batch once all
before it are on its disk, and a storage server once there is something new for it, and not before.
"""

from collections.abc import Coroutine
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.shelf import Machine
from ddlsim.fdb.config import CONTROLLER, FdbConfig, Shard
from ddlsim.fdb.log import Log
from ddlsim.fdb.messages import (
    CONFIRMED,
    EVERYWHERE,
    LOGGED,
    RECRUITED,
    SET,
    STALE,
    Confirm,
    Entry,
    Generation,
    Lock,
    Locked,
    Peek,
    Peeked,
    Pop,
    Push,
    Recruit,
    StateChange,
    Tail,
)
from ddlsim.fdb.settings import FdbSettings
from ddlsim.kernel.engine import Loop
from ddlsim.model.settings import Settings

STEPS: Final = 40
SYNC_US: Final = 300
SHARDS: Final = {"s1": (EVERYWHERE, 0), "s2": (EVERYWHERE, 0, 1)}
"""The shards of each storage server."""
CONFIG: Final = FdbConfig(
    settings=FdbSettings(log_sync_us=SYNC_US),
    shards=(Shard((), ("s1", "s2")), Shard(("m",), ("s2",))),
)


class LogWalk:
    """A log, the batches of its generation, and the requests that are under way."""

    def __init__(self, divergence: Divergence, settings: Settings, draws: Draws) -> None:
        self._divergence = divergence
        self._same = divergence.compare
        self._draws = draws
        self._loop = Loop()
        node: Any = Machine("log1", self._loop, settings, draws)
        self._node = node
        self.log = Log(node, CONFIG)
        self._number = 0
        self._tail = Tail(0, (), (), ())
        self._begin()

    def _ask(self, sender: str, request: Any) -> list[Any]:
        """A request under way: its answer, once it comes."""
        answers: list[Any] = []
        result = self._node.handlers[type(request)](sender, request)
        if not isinstance(result, Coroutine):
            return [result]

        async def watched() -> None:
            answers.append(await result)

        self._loop.spawn(watched())
        return answers

    def _begin(self) -> None:
        """The next generation begins with what the last one has left."""
        self._number += 1
        start = self._tail.end + 10
        recruit = self._recruit(self._number, self._tail)
        self._same("a recruitment", self._ask("controller", recruit), [RECRUITED])
        self._end = self._last = start
        self._entries = list(self._tail.entries)
        self._changes = list(self._tail.changes)
        self._popped = dict(self._tail.popped)
        self._sent: dict[int, Entry] = {}
        self._held: dict[int, Entry] = {}
        self._pushes: list[tuple[Entry, list[Any]]] = []
        self._peeks: list[tuple[str, int, list[Any]]] = []

    @staticmethod
    def _recruit(number: int, tail: Tail) -> Recruit:
        names = ("q",), ("p",), ("r",), ("log1",)
        return Recruit(Generation(number, tail.end + 10, "seq", *names), tail)

    def take(self, steps: int) -> None:
        """Take some steps; the log rests behind each."""
        for _ in range(steps):
            what = self._draws.below(12)
            if what < 6:
                self._push()
            elif what < 10:
                self._peek()
            elif what < 11:
                self._pop()
            else:
                self._lock()
            self._loop.run(until_us=self._loop.now_us + SYNC_US + 1)
            self._compare()

    def _push(self) -> None:
        """A batch: the next one, one that is late, or one that comes again."""
        draws = self._draws
        late = [one for one in self._sent.values() if one.last > self._end]
        if late and draws.below(2):
            entry = draws.pick(late)
        else:
            if draws.below(2):
                self._next()  # this one is late
            entry = self._next()
        early = self._loop.now_us + SYNC_US - 1
        answers = self._ask("proxy1", Push(self._number, entry, self._end))
        self._loop.run(until_us=early)
        self._same("a batch that is not on the disk yet", answers, [])
        self._held[entry.previous] = entry
        self._pushes.append((entry, answers))

    def _next(self) -> Entry:
        """A batch behind all others."""
        previous, self._last = self._last, self._last + 1 + self._draws.below(3)
        entry = self._sent[previous] = self._entry(previous, self._last)
        return entry

    def _entry(self, previous: int, last: int) -> Entry:
        draws = self._draws
        writes = ((last, ((SET, b"a", last),)),)
        shards = [one for one in (EVERYWHERE, 0, 1) if draws.below(2)]
        change = StateChange(last, bump=True, mutations=(), required=(), futures=())
        return Entry(previous, last, dict.fromkeys(shards, writes), (change,) * draws.below(2))

    def _peek(self) -> None:
        """A storage server that is behind, level or ahead."""
        name = self._draws.pick(tuple(SHARDS))
        above = max(self._end - 3 + self._draws.below(8), self._popped.get(name, 0))
        answers = self._ask(name, Peek(self._number, above))
        self._peeks.append((name, above, answers))

    def _pop(self) -> None:
        name, version = self._draws.pick(tuple(SHARDS)), self._end - self._draws.below(6)
        self._ask(name, Pop(version))
        if version > self._popped.get(name, 0):
            self._popped[name] = version
            least = min(self._popped.get(one, 0) for one in SHARDS)
            self._entries = [one for one in self._entries if one.last > least]

    def _lock(self) -> None:
        """The generation is over: nothing is taken any more, and the next one begins."""
        number = self._number
        self._same("its word", self._ask("grv1", Confirm(number)), [CONFIRMED])
        self._number += self._draws.below(2)
        (locked,) = self._ask("controller", Lock(self._number + 1))
        if not isinstance(locked, Locked):
            self._divergence.found(f"a log that is locked says {locked}")
            return
        again = self._ask("controller", Lock(self._number + 1))
        self._same("a lock that comes again", again, [locked])
        tail = locked.tail
        due = (self._end, tuple(self._entries), tuple(self._changes), self._popped)
        got = (tail.end, tail.entries, tail.changes, dict(tail.popped))
        self._same("what a locked log has", (locked.generation, got), (number, due))
        self._loop.run(until_us=self._loop.now_us + 1)
        under_way = [answers for _, answers in self._pushes] + [one[2] for one in self._peeks]
        self._same("what was under way", [one for one in under_way if one != [STALE]], [])
        self._same("a late lock", self._ask("controller", Lock(number)), [STALE])
        if number < self._number:
            late = self._recruit(self._number, tail)
            self._same("a recruitment before a lock", self._ask("controller", late), [STALE])
        entry = self._entry(self._end, self._end + 1)
        for message in (Confirm(number), Push(number, entry, 0), Peek(number, 0)):
            answers = self._ask("s1", message)
            self._loop.run(until_us=self._loop.now_us + SYNC_US + 1)
            self._same(f"{type(message).__name__} behind a lock", answers, [STALE])
        self._tail = tail
        self._begin()

    def _compare(self) -> None:
        """What is answered by now, and what is not."""
        while self._end in self._held:
            entry = self._held.pop(self._end)
            self._end = entry.last
            self._changes += entry.changes
            if entry.written:
                self._entries.append(entry)
        self._same("the end of a log", self.log.last, self._end)
        for entry, answers in self._pushes:
            due = [LOGGED] if entry.last <= self._end else []
            self._same(f"the answer to {entry}", answers, due)
        self._pushes = [one for one in self._pushes if not one[1]]
        for name, above, answers in self._peeks:
            if above >= self._end:
                self._same(f"the answer to {name}, which has {above}", answers, [])
                continue
            found = answers[0] if answers else None
            if not isinstance(found, Peeked):
                self._divergence.found(f"{name} is answered {found} at {above} of {self._end}")
                continue
            new = [one for one in self._entries if above < one.last <= found.end]
            own = [{s: one.written[s] for s in SHARDS[name] if s in one.written} for one in new]
            due_lasts = [one.last for one, written in zip(new, own, strict=True) if written]
            self._same("the batches of an answer", [one.last for one in found.entries], due_lasts)
            written = [one.written for one in found.entries]
            self._same("the writes of an answer", written, [one for one in own if one])
            if not above < found.end <= self._end:
                self._divergence.found(f"{name} at {above} is given the end {found.end}")
        self._peeks = [one for one in self._peeks if not one[2]]


def walk_log(models: Models, settings: Settings, seed: int) -> None:
    """Compare a log beside the run of this seed."""
    LogWalk(models.divergence("log walk", CONTROLLER), settings, Draws(seed, 10)).take(STEPS)
