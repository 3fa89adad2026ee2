"""Which schema holds at a timestamp: how a node decides that its metadata is complete.

A node must not handle anything at a reference timestamp Top before it has every schema update that
is effective at Top. Instead of asking every node it uses *safe time*: the message_ts of the last
meta storage command whose effects are visible here. Messages arrive in the order of their
timestamps, so once safe time has reached T, nothing with Tm <= T can still arrive [98.safe.1].

Waiting for safeTime >= Top would cost the propagation delay on every operation. Hence the delay
duration DD: an update activates DD *after* its message (Tu = Tm + DD, [98.past.2]), so a
reader need only wait for safeTime >= Top - DD [98.past.3]; most of the time that is already so. The
subtraction affects only the wait: the version that is then looked up is the one effective at Top.
How large DD should be is a matter of waits, not of safety: propagation, H and skew together
[98.past.1].

Why no clock assumption is needed: an update that this node has not seen has Tm > safeTime, so
Tu = Tm + DD > safeTime + DD >= Top. It is not effective at Top, whatever any clock shows. The
argument needs DD(reader) <= DD(message) [98.x.4] and strictly increasing stamps [98.x.1, 98.x.2].

Were the wait dropped, a lagging node would run an old version while others run the new one, and
one transaction could commit on both [98.one].
"""

from heapq import heappop, heappush
from typing import Final

from ddlsim.history.events import SafeTimeAdvanced, SchemaResolved
from ddlsim.model.ports import Future, Node
from ddlsim.model.schema import SchemaObject
from ddlsim.protocol.barriers import Barriers
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import MIN_TIMESTAMP, Micros, Timestamp, show

NO_BOUND: Final = 10**10
"""In milliseconds: more than any run takes."""


class MetadataLateError(Exception):
    """Raised where metadata did not become complete within the time limit of a design."""


class SchemaSync:
    """One node's schema safe time, its waiters, and look-ups in its catalog."""

    def __init__(
        self, node: Node, strategy: Strategy, catalog: Catalog, cluster_delay_ms: int = NO_BOUND
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.catalog = catalog
        self.delay_bound_ms = strategy.reader_delay_bound(cluster_delay_ms)
        self.safe_time: Timestamp = MIN_TIMESTAMP
        self.is_restoring = False
        self.barriers: Barriers | None = None
        self._resolve = strategy.resolve_schema
        self._waiters: list[tuple[Timestamp, int, Future[bool]]] = []
        self._order = 0

    def advance_safe_time(self, ts: Timestamp) -> None:
        """Everything stamped up to `ts` is visible on this node; smaller values change nothing."""
        if ts <= self.safe_time or self.is_restoring:
            return
        self.safe_time = ts
        node = self.node
        if node.recording:
            node.record(SafeTimeAdvanced(node.watch.now_us, node.name, ts))
        waiters = self._waiters
        while waiters and waiters[0][0] <= ts:
            reached = heappop(waiters)[2]
            if not reached.done:  # else its wait has timed out
                reached.set(True)
        assert not waiters or waiters[0][0] > ts, f"{node.name}: a wait for {show(ts)} is left over"

    async def safe_time_reaches(self, ts: Timestamp) -> None:
        """Wait until the schema safe time is at least `ts`."""
        if self.safe_time >= ts:
            return
        await self._reached(ts)
        assert self.safe_time >= ts, f"{self.node.name} is not at {show(ts)}"

    def _reached(self, ts: Timestamp) -> Future[bool]:
        """Set to true once the schema safe time is at least `ts`."""
        assert self.safe_time < ts, f"{self.node.name} is at {show(ts)} already"
        self.node.probe("completeness-wait")
        reached: Future[bool] = self.node.future()
        self._order += 1
        heappush(self._waiters, (ts, self._order, reached))
        return reached

    async def safe_time_reaches_in_time(self, ts: Timestamp, wait_us: Micros) -> None:
        """The same for `wait_us` at most; then raises `MetadataLateError`."""
        if self.safe_time >= ts:
            return
        node = self.node
        reached = self._reached(ts)
        timer = node.call_later(wait_us, _give_up, reached)
        in_time = await reached
        timer.cancel()
        if not in_time:
            raise MetadataLateError
        assert self.safe_time >= ts, f"{node.name} is not at {show(ts)}"

    def needed_for(self, op_ts: Timestamp) -> tuple[Timestamp, Timestamp]:
        """For Top: the safe time that a look-up waits for, and the timestamp that it looks up at.

        No reader subtracts a larger DD than the messages carry [98.x.4].
        """
        settings, strategy = self.node.settings, self.strategy
        delay_ms = min(settings.delay_duration_ms, self.delay_bound_ms)
        complete_ts = strategy.completeness_ts(op_ts, delay_ms, settings.max_clock_skew_ms)
        return complete_ts, strategy.lookup_ts(op_ts, delay_ms)

    async def object_at(
        self, ts: Timestamp, tx: str, op: str | None, purpose: str, object_id: int
    ) -> SchemaObject | None:
        """The object of this id at `ts`, once this node's metadata is complete for it.

        Raises `MetadataLateError` where the strategy waits for a limited time only.
        """
        node = self.node
        began = node.watch.now_us
        snapshot = await self._resolve(self, ts)
        found = snapshot.by_id(object_id)
        if node.recording:  # as `record_resolved` does; this is the look-up of every operation
            now, version = node.watch.now_us, 0 if found is None else found.version
            waited = now - began
            node.record(
                SchemaResolved(
                    now, node.name, tx, op, purpose, None, object_id, ts, version, waited
                )
            )
        return found

    async def named_at(
        self, ts: Timestamp, tx: str, op: str | None, name: str
    ) -> SchemaObject | None:
        """The table or view of this name at `ts`; raises as `object_at` does."""
        began = self.node.watch.now_us
        snapshot = await self._resolve(self, ts)
        found = snapshot.by_name(name)
        known = (0, 0) if found is None else (found.id, found.version)
        self.record_resolved(tx, op, "enlist", name, known[0], ts, known[1], began)
        return found

    def record_resolved(
        self,
        tx: str,
        op: str | None,
        purpose: str,
        name: str | None,
        object_id: int,
        ts: Timestamp,
        version: int,
        began_us: Micros,
    ) -> None:
        """Record a look-up that began at `began_us` and ends now."""
        node = self.node
        if node.recording:
            now = node.watch.now_us
            node.record(
                SchemaResolved(
                    now, node.name, tx, op, purpose, name, object_id, ts, version, now - began_us
                )
            )


def _give_up(reached: Future[bool]) -> None:
    if not reached.done:
        reached.set(False)
