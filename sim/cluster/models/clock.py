"""The model of what messages do to clocks: what a node has taken is in its clock's past.

`sent_ts` of a message is its sender's timestamp; the receiver's clock merges it, so that whatever
follows has a larger one. So the clock shows at least `sent_ts` once a request's handler has run to
its first wait, and once the task that awaited a reply has gone on, within the same instant. Not so
for `Operated`, of which a coordinator takes several together (the judge compares their timestamps
with those of the transaction), nor for a `TxState` of a node that has no such transaction.

A wait for a timestamp ends in the instant in which the clock shows it, or its next millisecond:
none is left at the messages of later instants. Its timer is set anew when the clock is set.

A clock that keeps a limit on its node's disk issues nothing above it [98.x.7]: no request holds a
larger `sent_ts`.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from ddlsim.cluster.models.design.rule_forms import whole
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import when
from ddlsim.kernel.clock import Piece
from ddlsim.kernel.engine import Loop
from ddlsim.model.hlc import CLOCK_LIMIT, HybridClock
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.replica_messages import Fate, TxState
from ddlsim.units import MIN_TIMESTAMP, US_PER_MS, Timestamp, show, timestamp


class Waiters(Protocol):
    """The waits of a node for its clock."""

    @property
    def first_ts(self) -> Timestamp | None:
        """What the first of them is for."""

    @property
    def due_us(self) -> int:
        """When the timer for it fires."""


class Merges:
    """The messages that one start of a node takes."""

    def __init__(
        self,
        clock: HybridClock,
        disk: dict[str, Any],
        loop: Loop,
        divergence: Divergence,
        waiters: Waiters,
        pieces: Sequence[Piece],
    ) -> None:
        self._clock = clock
        self._disk = disk
        self._loop = loop
        self._divergence = divergence
        self._is_stamped: dict[type, bool] = {Operated: False}
        self._replies: list[Any] = []
        self._replied_us = 0
        self._waiters = waiters
        self._pieces = pieces
        self._shown_ts = MIN_TIMESTAMP
        self._shown_us = 0

    def send(self, payload: Any) -> None:
        """A request, or a message without a reply, that the node sends."""
        if self._has_stamp(payload):
            limit = self._disk.get(CLOCK_LIMIT)
            if limit is not None and payload.sent_ts > limit:
                self._divergence.found(
                    f"it issued {show(payload.sent_ts)}, and its disk has the limit {show(limit)}"
                )

    def arrive(self) -> None:
        """A message arrives: the timer of the first wait ends with the clock as it goes now."""
        awaited_ts = self._waiters.first_ts
        if awaited_ts is None:
            return
        due_us, piece = self._waiters.due_us, self._pieces[-1]
        before_us = due_us - 1
        if before_us < max(self._loop.now_us, piece.from_us):
            return
        if whole(awaited_ts) <= timestamp(piece.shows_us(before_us) // US_PER_MS):
            self._divergence.found(
                f"a wait for {show(awaited_ts)} ends at {due_us} us, which is late"
            )

    def take(self, payload: Any) -> None:
        """A message that a handler has taken."""
        if self._replies:
            self._compare_replies()
        self._compare_waits()
        is_stamped = self._is_stamped.get(type(payload))
        if is_stamped or (is_stamped is None and self._has_stamp(payload)):
            self._compare(payload)

    def take_reply(self, payload: Any) -> None:
        """A reply, to be compared behind this instant."""
        if self._replies:
            self._compare_replies()
        if self._has_stamp(payload):
            self._replied_us = self._loop.now_us
            self._replies.append(payload)

    def _compare_waits(self) -> None:
        """No wait is left that was over at a message of an earlier instant.

        Ticks within a millisecond end none. A clock that has been set back since then may wait for
        what it has shown.
        """
        now, awaited_ts = self._loop.now_us, self._waiters.first_ts
        if now > self._shown_us:
            is_late = awaited_ts is not None and whole(awaited_ts) <= self._shown_ts
            is_late = is_late and self._clock.current() >= self._shown_ts
            if is_late and not self._divergence.is_resumed():
                shown = f"has shown {show(self._shown_ts)} at {self._shown_us} us"
                self._divergence.found(f"a wait for {when(awaited_ts)} is left; the clock {shown}")
            self._shown_us, self._shown_ts = now, MIN_TIMESTAMP
        if awaited_ts is not None:
            self._shown_ts = max(self._shown_ts, self._clock.current())

    def _has_stamp(self, payload: Any) -> bool:
        kind = type(payload)
        found = self._is_stamped.get(kind)
        if found is None:
            found = self._is_stamped[kind] = "sent_ts" in getattr(kind, "__struct_fields__", ())
        return found

    def _compare_replies(self) -> None:
        if self._loop.now_us > self._replied_us:
            replies, self._replies = self._replies, []
            for reply in replies:
                self._compare(reply)

    def _compare(self, payload: Any) -> None:
        if type(payload) is TxState and payload.state is Fate.UNKNOWN:
            return
        shown = self._clock.current()
        if shown < payload.sent_ts:
            self._divergence.found(
                f"it shows {show(shown)} behind a {type(payload).__name__} sent at "
                f"{show(payload.sent_ts)}"
            )
