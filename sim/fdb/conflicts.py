"""The writes of the window, as a resolver remembers them, and what conflicts with them.

A transaction conflicts if something that it read was written in (read version, commit version]. It
is too old if its read version lies before the window and it read anything at all: what it read may
have been written by a transaction that is forgotten. A transaction without reads is never refused.

* `_points`: by key, the last version that wrote it; `_order`: the same keys sorted, but for those
  that came since a range was last looked for (`_fresh`).
* `_spans`: ranges that were written, with their versions, oldest first.
* `_queue`: (version, key), oldest first: what the window leaves behind.
* `_future`: keys with versions above the last batch at which they count as written. They join the
  others once a batch has reached them.
* `began`: before it, everything counts as written: this resolver has not seen the writes.
"""

from bisect import bisect_left
from collections import deque
from heapq import heappop, heappush

from ddlsim.fdb.errors import ErrorCode
from ddlsim.fdb.messages import Range, ToResolve


class ConflictWindow:
    """Decides about transactions, in the order of their commit versions."""

    def __init__(
        self,
        window: int,
        began: int,
        futures: tuple[tuple[bytes, int], ...],
        *,
        forgotten_is_clean: bool = False,
    ) -> None:
        self.window = window
        self.forgotten_is_clean = forgotten_is_clean
        self.began = began
        self._points: dict[bytes, int] = {}
        self._order: list[bytes] = []
        self._fresh: list[bytes] = []
        self._spans: deque[tuple[int, bytes, bytes]] = deque()
        self._queue: deque[tuple[int, bytes]] = deque()
        self._future: list[tuple[int, bytes]] = sorted((at, key) for key, at in futures)

    def decide(self, tx: ToResolve) -> ErrorCode | None:
        """Why a transaction is refused; if it is not, its writes count from its version on."""
        version = tx.version
        if self._future:
            self._let_come(version)
        oldest = version - self.window
        refused = self._judge(tx, oldest)
        if refused is None:
            for written in tx.writes:
                self._write(written, version)
            for key, at in tx.futures:
                heappush(self._future, (at, key))
            self._forget(oldest)
        return refused

    def conflicting(self, tx: ToResolve) -> tuple[Range, ...]:
        """All that a transaction has read and that was written since, as far as it is known."""
        asked = [*((read, tx.read_version) for read in tx.reads), *tx.pasts]
        return tuple(
            read for read, since in asked if since >= self.began and self._conflicts((read,), since)
        )

    def _judge(self, tx: ToResolve, oldest: int) -> ErrorCode | None:
        if tx.reads:
            if tx.read_version < oldest:
                return ErrorCode.TRANSACTION_TOO_OLD
            if self._conflicts(tx.reads, tx.read_version):
                return ErrorCode.NOT_COMMITTED
        for key, since in tx.pasts:
            if since < oldest and not self.forgotten_is_clean:
                return ErrorCode.TRANSACTION_TOO_OLD
            if self._conflicts((key,), since):
                return ErrorCode.NOT_COMMITTED
        return None

    def _conflicts(self, reads: tuple[Range, ...], since: int) -> bool:
        """Whether anything of it was written above a version."""
        if since < self.began:
            return True
        points = self._points
        spans = self._spans and self._spans[-1][0] > since
        for read in reads:
            if isinstance(read, bytes):
                if points.get(read, -1) > since or (spans and self._in_span(read, since)):
                    return True
            elif self._range_conflicts(*read, since):
                return True
        return False

    def _in_span(self, key: bytes, since: int) -> bool:
        for version, begin, end in reversed(self._spans):
            if version <= since:
                return False
            if begin <= key < end:
                return True
        return False

    def _range_conflicts(self, begin: bytes, end: bytes, since: int) -> bool:
        if self._fresh:
            self._order.extend(self._fresh)
            self._order.sort()
            self._fresh = []
        points, order = self._points, self._order
        for place in range(bisect_left(order, begin), bisect_left(order, end)):
            if points.get(order[place], -1) > since:
                return True
        for version, other_begin, other_end in reversed(self._spans):
            if version <= since:
                return False
            if other_begin < end and begin < other_end:
                return True
        return False

    def _write(self, written: Range, version: int) -> None:
        if isinstance(written, bytes):
            if written not in self._points:
                self._fresh.append(written)
            self._points[written] = version
            self._queue.append((version, written))
        else:
            self._spans.append((version, *written))

    def _let_come(self, version: int) -> None:
        """Keys count as written at versions that the present transaction has reached."""
        while self._future and self._future[0][0] <= version:
            at, key = heappop(self._future)
            if at > self._points.get(key, -1):
                self._write(key, at)

    def _forget(self, oldest: int) -> None:
        """Drop what was written before the window; no transaction that it concerns is accepted."""
        queue, points, spans = self._queue, self._points, self._spans
        while queue and queue[0][0] <= oldest:
            version, key = queue.popleft()
            if points.get(key) == version:
                del points[key]
        while spans and spans[0][0] <= oldest:
            spans.popleft()
        if len(self._order) > 1000 + 2 * len(points):
            self._order = sorted(points)
            self._fresh = []
