"""Timeouts of one fixed duration: a queue and one timer instead of a timer per request."""

from collections import deque
from typing import Any

from sim.kernel.future import Future
from sim.kernel.life import Life


class Deadlines:
    """They expire in the order of asking, so that one timer serves all.

    `pending` belongs to the caller, who takes a key out when its answer comes; a key still there
    when its time is up is taken out and its future given `verdict`.
    """

    __slots__ = (
        "_armed", "_due", "_duration_us", "_keys", "_life", "_loop", "_pending", "_verdict",
    )  # fmt: skip

    def __init__(
        self, life: Life, duration_us: int, pending: dict[int, Future[Any]], verdict: object
    ) -> None:
        assert duration_us >= 0, f"negative timeout: {duration_us} us"
        self._life = life
        self._loop = life.loop
        self._duration_us = duration_us
        self._pending = pending
        self._verdict = verdict
        self._due: deque[int] = deque()  # and the keys beside it: no tuples for gc to look at
        self._keys: deque[int] = deque()
        self._armed = False

    def add(self, key: int) -> None:
        due_us = self._loop.now_us + self._duration_us
        self._due.append(due_us)
        self._keys.append(key)
        if not self._armed:
            self._arm(due_us)

    def _arm(self, due_us: int) -> None:
        self._armed = True
        self._life.call_at(max(due_us, self._loop.now_us), self._expire, due_us)

    def _expire(self, moment_us: int) -> None:
        """Judge what was due at `moment_us`, then sleep until the next key still waited for.

        The moment, not now: after a pause, an answer that came before a deadline still counts.
        """
        due, keys, pending = self._due, self._keys, self._pending
        self._armed = False
        while due:
            if due[0] > moment_us and keys[0] in pending:
                self._arm(due[0])
                return
            due.popleft()
            future = pending.pop(keys.popleft(), None)
            if future is not None:
                future.set(self._verdict)
