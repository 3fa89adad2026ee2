"""Watches at a storage server beside a run, over values that come, come back and are taken back.

A client watches from a version that has committed, and the heads of schemas only grow: so hardly
any watch waits where a recovery takes values back. Yet a key whose last value was taken back has
another one than the watch has seen. So beside each run a storage server takes a few steps with two
keys, and each watch fires at the end of the first step behind which its key differs, if not before.
"""

from collections import deque
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.store_models.draws import Draws
from ddlsim.cluster.store_models.storage import Values
from ddlsim.fdb.config import CONTROLLER
from ddlsim.fdb.messages import SET, Entry, Fired, Mutation, Peeked, WatchKey, Written
from ddlsim.fdb.settings import FdbSettings
from ddlsim.fdb.storage import Storage
from ddlsim.fdb.store import Base, Store
from ddlsim.kernel.engine import Future
from ddlsim.units import Micros

STEPS: Final = 40
"""How many steps a server takes beside a run."""
KEYS: Final = (b"a", b"b")


class Watching:
    """A watch that waits: from which value on; its answer, once it has one."""

    def __init__(self, request: WatchKey, task: Coroutine[Any, Any, Any]) -> None:
        self.request = request
        self.answer: object = None
        self._task = task
        self._told: Any = None
        self._go_on()

    def _go_on(self) -> None:
        try:
            self._told = self._task.send(None)
        except StopIteration as ended:
            self.answer = ended.value

    def look(self) -> None:
        """Go on once what it waits for is there."""
        if self.answer is None and self._told.done:
            self._go_on()


class Server(Storage):
    """A storage server without a machine."""

    def __init__(self, values: dict[bytes, object]) -> None:
        self._store = Store(Base(values=values))
        self.settings = FdbSettings(window_ms=1000, versions_per_second=1000)
        self._watches = {}
        self._waiting = []
        self._watch_us = Micros(1)
        timer = SimpleNamespace(cancel=lambda: None)
        node: Any = SimpleNamespace(
            future=lambda: Future[bool](deque()),
            call_later=lambda *_: timer,
            probe=lambda _: None,
        )
        self.node = node

    def take(self, first: int, mutations: tuple[Mutation, ...]) -> None:
        """Apply what a log has of one shard."""
        written: dict[int, Written] = {
            0: tuple((first + place, (one,)) for place, one in enumerate(mutations))
        }
        last = first + len(mutations) - 1
        self._apply(Peeked((Entry(first - 1, last, written, ()),), last, last))

    def take_back(self, end: int) -> None:
        """Drop what lies above a version."""
        self._roll_back(end)


class WatchWalk:
    """A storage server's watches, and which of them must have fired."""

    def __init__(self, divergence: Divergence, draws: Draws) -> None:
        self._divergence = divergence
        self._draws = draws
        first: dict[bytes, object] = dict.fromkeys(KEYS, 0)
        self._held = Values(first)
        self._server = Server(dict(first))
        self._ends = [0]
        self._waits: list[Watching] = []

    def take(self, steps: int) -> None:
        """Take some steps, and look at all watches behind each."""
        for _ in range(steps):
            what = self._draws.below(9)
            if what < 3:
                self._write()
            elif what < 5:
                self._take_back()
            else:
                self._watch()
            self._compare()

    def _write(self) -> None:
        draws, held = self._draws, self._held
        first = held.version + 1
        mutations = tuple(
            (SET, draws.pick(KEYS), draws.below(2)) for _ in range(1 + draws.below(3))
        )
        for place, mutation in enumerate(mutations):
            held.take(first + place, mutation)
        held.version = first + len(mutations) - 1
        self._ends.append(held.version)
        self._server.take(first, mutations)

    def _take_back(self) -> None:
        end = self._draws.pick(self._ends[-3:])
        self._ends = [one for one in self._ends if one <= end]
        self._held.drop(end)
        self._server.take_back(end)

    def _watch(self) -> None:
        """A watch for another value than the last one would fire at once."""
        key = self._draws.pick(KEYS)
        seen = self._held.latest(key) if self._draws.below(4) else 9
        request = WatchKey(key, seen, 0)
        self._waits.append(Watching(request, self._server.watch("client", request)))

    def _compare(self) -> None:
        """What waits has seen the last value; what has another one has fired."""
        waiting: list[Watching] = []
        for one in self._waits:
            one.look()
            differs = self._held.latest(one.request.key) != one.request.value
            if differs:
                due: object = Fired(self._held.version)
                self._divergence.compare(f"the answer to {one.request}", one.answer, due)
            elif one.answer is not None:
                self._divergence.found(f"{one.request} fires, and its key has no other value")
            else:
                waiting.append(one)
        self._waits = waiting


def walk_watches(models: Models, seed: int) -> None:
    """Compare the watches of a storage server beside the run of this seed."""
    WatchWalk(models.divergence("watches", CONTROLLER), Draws(seed, 12)).take(STEPS)
