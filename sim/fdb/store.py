"""A storage server's values: those of the window by version, older ones as one value per key.

    applied --leaves the window--> base (on the disk)
      |
      +--rollback: its generation ended below it--> gone

* `_base`: by key, its value at version `oldest`. It lies on the disk, and is all that a restart
  leaves.
* `_recent`: by key, what was written above `oldest`, in the order of versions.
* `_queue`: the keys of `_recent` by batch, oldest first: what the window leaves behind next.
* `_order`: keys that have been written, sorted, but for the latest (`_fresh`); it may hold keys
  that are gone. `_known` are those in either.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ddlsim.fdb.messages import ADD, CLEAR, Mutation
from ddlsim.fdb.writes import added

SPARE = 1000
"""So many keys that are gone stay in the order, at least, before it is made anew."""


@dataclass(slots=True)
class Base:
    """Values at one version, as the disk has them."""

    version: int = 0
    generation: int = 1
    values: dict[bytes, object] = field(default_factory=dict)


class Store:
    """Values by key and version, from `base.version` to `version`."""

    def __init__(self, base: Base) -> None:
        self.base = base
        self.version = base.version
        self._base = base.values
        self._recent: dict[bytes, list[tuple[int, object]]] = {}
        self._queue: deque[tuple[int, list[bytes]]] = deque()
        self._order: list[bytes] = sorted(base.values)
        self._fresh: list[bytes] = []
        self._known: dict[bytes, None] = dict.fromkeys(self._order)

    @property
    def oldest(self) -> int:
        """The oldest version that can be read."""
        return self.base.version

    # --- reads ------------------------------------------------------------------------------------

    def read(self, key: bytes, version: int) -> object:
        """The value at a version; None: there is none."""
        for written, value in reversed(self._recent.get(key, ())):
            if written <= version:
                return value
        return self._base.get(key)

    def latest(self, key: bytes) -> object:
        """The last value that was applied."""
        recent = self._recent.get(key)
        return recent[-1][1] if recent else self._base.get(key)

    def scan(self, begin: bytes, end: bytes, version: int) -> Iterator[tuple[bytes, object]]:
        """Keys of a range with their values at a version, in order."""
        order = self._sorted()
        for place in range(bisect_left(order, begin), bisect_left(order, end)):
            key = order[place]
            value = self.read(key, version)
            if value is not None:
                yield key, value

    def _sorted(self) -> list[bytes]:
        if self._fresh:
            self._order.extend(self._fresh)
            self._order.sort()
            self._fresh = []
        return self._order

    # --- writes -----------------------------------------------------------------------------------

    def apply(self, last: int, writes: Iterable[tuple[int, tuple[Mutation, ...]]]) -> list[bytes]:
        """Apply a batch that ends with version `last`; the keys that it wrote."""
        keys: list[bytes] = []
        for version, mutations in writes:
            for kind, key, value in mutations:
                if kind == CLEAR:
                    assert isinstance(value, bytes), f"{value!r} does not end a range"
                    self._clear(version, key, value, keys)
                else:
                    new = added(self.latest(key), value) if kind == ADD else value
                    self._put(version, key, new, keys)
        if keys:
            self._queue.append((last, keys))
        return keys

    def _put(self, version: int, key: bytes, value: object, keys: list[bytes]) -> None:
        recent = self._recent.get(key)
        if recent is None:
            self._recent[key] = [(version, value)]
            if key not in self._known:
                self._known[key] = None
                self._fresh.append(key)
        else:
            recent.append((version, value))
        keys.append(key)

    def _clear(self, version: int, begin: bytes, end: bytes, keys: list[bytes]) -> None:
        order = self._sorted()
        for place in range(bisect_left(order, begin), bisect_left(order, end)):
            if self.latest(order[place]) is not None:
                self._put(version, order[place], None, keys)

    def trim(self, oldest: int) -> None:
        """Leave behind what is older than a version."""
        if oldest <= self.base.version:
            return
        queue, recent, base = self._queue, self._recent, self._base
        reached = self.base.version
        while queue and queue[0][0] <= oldest:
            reached, keys = queue.popleft()
            for key in keys:
                versions = recent[key]
                _, value = versions.pop(0)
                if not versions:
                    del recent[key]
                if value is None:
                    base.pop(key, None)
                else:
                    base[key] = value
        self.base.version = oldest if not queue else max(reached, min(oldest, queue[0][0] - 1))
        if len(self._known) > SPARE + 2 * (len(base) + len(recent)):
            self._order = [key for key in self._sorted() if key in base or key in recent]
            self._known = dict.fromkeys(self._order)

    def roll_back(self, version: int) -> list[bytes]:
        """Drop what was applied above a version: it never was committed; the keys concerned."""
        dropped: list[bytes] = []
        while self._queue and self._queue[-1][0] > version:
            _, keys = self._queue.pop()
            for key in reversed(keys):
                versions = self._recent[key]
                versions.pop()
                if not versions:
                    del self._recent[key]
            dropped += keys
        self.version = min(self.version, version)
        return dropped
