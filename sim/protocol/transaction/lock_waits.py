"""Acquires an operation's locks: waits if wait-die allows it, else retries after a pause.

A refused lock is retried `lock_retries` times before the operation fails. A transaction that has
blocked others for `orphan_check_ms` may have lost its coordinator, which is then probed.
"""

from collections.abc import Callable

from ddlsim.history.events import LockWaited
from ddlsim.model.ops import WHOLE
from ddlsim.model.ports import Future, Node, Timer
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import IndexKey, TxId
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.transaction.locks import IX, LockTable, Resource, S, X
from ddlsim.units import US_PER_MS, Micros


def locks_of(request: Operate) -> tuple[tuple[Resource, int], ...]:
    """What an operation locks, in order: the row, and the partition where that says more."""
    row: Resource = (request.table_id, request.partition, request.key)
    if request.action == "get":
        return ((row, S),)
    if request.action == "lookup":
        return tuple(((request.table_id, request.partition, key), S) for key in request.lookups)
    partition: Resource = (request.table_id, request.partition, None)
    if request.action in WHOLE:
        return ((partition, S),)
    return ((partition, IX), (row, X))


class LockWaits:
    """Acquires the locks of one node's primaries."""

    def __init__(
        self,
        node: Node,
        locks: LockTable,
        has_ended: Callable[[Operate], bool],
        probe_coordinator: Callable[[TxId], None],
    ) -> None:
        self.node = node
        self.locks = locks
        self._has_ended = has_ended
        self._probe_coordinator = probe_coordinator

    async def locked(
        self, request: Operate, wanted: tuple[tuple[Resource, int], ...]
    ) -> Reason | None:
        """Acquire locks for an operation in order: None once it has all of them, else why not."""
        waited = False
        for resource, mode in wanted:
            if waited and self._has_ended(request):
                return Reason.TX_FINISHED
            answer = self.locks.acquire(request.tx, resource, mode)
            if answer is not True:
                waited = True
                reason = await self._wait_for(request, resource, mode, answer=answer)
                if reason is not None:
                    return reason
        return None

    async def _wait_for(
        self, request: Operate, resource: Resource, mode: int, *, answer: bool | Future[bool]
    ) -> Reason | None:
        """Wait for a lock that was not free, or retry one that was refused."""
        tx, node = request.tx, self.node
        retries = node.settings.lock_retries
        began = node.watch.now_us
        timers: list[Timer] = []
        self._arm_probe(timers, tx, resource, mode)
        while True:
            if not isinstance(answer, bool):
                node.probe("lock-wait")
                answer = await answer
                if not answer:
                    timers[-1].cancel()
                    return Reason.TX_FINISHED
            granted = bool(answer)
            if granted or not retries:
                break
            retries -= 1
            node.probe("lock-retry")
            await node.sleep(Micros(node.settings.lock_retry_ms * US_PER_MS))
            if self._has_ended(request):
                timers[-1].cancel()
                return Reason.TX_FINISHED
            answer = self.locks.acquire(tx, resource, mode)
        timers[-1].cancel()
        self._record(request, resource, began, granted=granted)
        if granted:
            return None
        node.probe("wait-die-abort")
        for other in self.locks.blockers(tx, resource, mode):
            self._probe_coordinator(other)
        return Reason.LOCK_CONFLICT

    def _arm_probe(self, timers: list[Timer], tx: TxId, resource: Resource, mode: int) -> None:
        delay_us = Micros(self.node.settings.orphan_check_ms * US_PER_MS)
        timers[:] = [
            self.node.call_later(delay_us, self._probe_blockers, timers, tx, resource, mode)
        ]

    def _probe_blockers(self, timers: list[Timer], tx: TxId, resource: Resource, mode: int) -> None:
        """Probe the coordinators of the blocking transactions, and arm the next probe."""
        for other in self.locks.blockers(tx, resource, mode):
            self._probe_coordinator(other)
        self._arm_probe(timers, tx, resource, mode)

    def refused(self, request: Operate, began: Micros, *, by_value: bool) -> None:
        """Record that an intent without a lock blocks the operation and its outcome is unknown.

        `by_value`: it is not on the operation's key but has its values in a unique index.
        """
        key = None if by_value else request.key
        resource: Resource = (request.table_id, request.partition, key)
        self._record(request, resource, began, granted=False)

    def _record(
        self, request: Operate, resource: Resource, began: Micros, *, granted: bool
    ) -> None:
        node = self.node
        waited = node.watch.now_us - began
        key = resource[2]
        if (waited or not granted) and node.recording:
            node.record(
                LockWaited(
                    began + waited,
                    node.name,
                    request.tx.label,
                    request.op,
                    resource[0],
                    None if isinstance(key, IndexKey) else key,
                    waited,
                    granted,
                )
            )
