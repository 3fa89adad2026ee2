"""When idle safe-time commands are due: H after the last command, and only while this node leads.

Whether the node leads is known from two pieces of news, *elected in term n* and *deposed from term
n*, and the first of them is acted on a little later than it came. Both carry their term, so that a
start that arrives after the stop of the same or of a later term starts nothing; and a node that is
elected again goes on under its new term, since commands of an old one are ignored [98.x.6].
"""

from collections.abc import Callable

from ddlsim.model.ports import Node, Timer
from ddlsim.units import US_PER_MS, Micros


class SafeTimeTicker:
    """The idle timer of the meta storage leader."""

    def __init__(self, node: Node, tick: Callable[[int], None], *, enabled: bool) -> None:
        self.term: int | None = None
        self._node = node
        self._tick = tick
        self._enabled = enabled
        self._stopped_term = 0
        self._timer: Timer | None = None

    def start(self, term: int) -> None:
        """Tick from now on under this term, unless it has ended already."""
        if self.is_late(term):
            self._node.probe("late-start-of-ticks")
            return
        self.term = self.term_to_tick(term)
        self.arm()

    def stop(self, term: int) -> None:
        """The term has ended for this node."""
        self._stopped_term = max(self._stopped_term, term)
        self.term = None
        self._cancel()

    def is_late(self, term: int) -> bool:
        """Whether the term has ended before its start was heard of."""
        return term <= self._stopped_term

    def term_to_tick(self, term: int) -> int:
        """Under which term to tick: that of the last election."""
        return term

    def arm(self) -> None:
        """A tick is due H after the last command; every command arms it anew."""
        if self.term is None or not self._enabled:
            return
        self._cancel()
        interval = Micros(self._node.settings.safe_time_interval_ms * US_PER_MS)
        self._timer = self._node.call_later(interval, self._idle)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _idle(self) -> None:
        assert self._timer is not None, "a second timer of idle ticks"
        self._timer = None
        if self.term is not None:
            self._tick(self.term)
