"""Requests that wait for an answer, and timeouts of one fixed duration for all of them.

They expire in the order of asking, so that one timer serves all: a dictionary of what is still
waited for and the moment of the oldest, instead of a timer per request.
"""

from ddlsim.kernel.engine import DONE, Future, Incarnation


class Asked(Future[object], eq=False):
    """A request under way, and the future of its answer."""

    due_us: int = 0
    _others: "dict[Asked, None]" = {}  # noqa: RUF012 - msgspec makes each a dict of its own

    def answer(self, value: object) -> None:
        """The first answer counts, if it comes in time."""
        if self in self._others:
            del self._others[self]
            waiters = self._waiters  # `set` written out: nearly always one waiter
            if waiters is None or type(waiters) is list:
                self.set(value)
                return
            self._waiters = DONE
            self.value = value
            self._ready.append(waiters)


class Deadlines:
    """Waits for answers, each for the same span; what is late is given `verdict`."""

    __slots__ = ("_armed", "_duration_us", "_incarnation", "_loop", "_ready", "_verdict", "waiting")

    def __init__(self, incarnation: Incarnation, duration_us: int, verdict: object) -> None:
        assert duration_us >= 0, f"negative timeout: {duration_us} us"
        self._incarnation = incarnation
        self._loop = incarnation.loop
        self._ready = incarnation.loop.ready
        self._duration_us = duration_us
        self._verdict = verdict
        self._armed = False
        self.waiting: dict[Asked, None] = {}  # oldest first

    def ask(self) -> Asked:
        """One more that waits for an answer."""
        due_us = self._loop.now_us + self._duration_us
        asked = Asked(self._ready, None, None, due_us, self.waiting)
        self.waiting[asked] = None
        if not self._armed:
            self._arm(due_us)
        return asked

    def _arm(self, due_us: int) -> None:
        self._armed = True
        self._incarnation.call_at(max(due_us, self._loop.now_us), self._expire, due_us)

    def _expire(self, moment_us: int) -> None:
        """Judge what was due at `moment_us`, then sleep until the next one still waited for.

        The moment, not now: after a pause, an answer that came before a deadline still counts.
        """
        self._armed = False
        while self.waiting:
            asked = next(iter(self.waiting))
            if asked.due_us > moment_us:
                self._arm(asked.due_us)
                return
            asked.answer(self._verdict)
