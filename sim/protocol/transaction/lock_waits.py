"""How an operation comes by its locks: waits where it may, rests and asks again where it may not.

A lock that is refused (wait-die) is tried again a few times before the operation gives up. Who is
in the way for long may have lost its coordinator; somebody has to ask.
"""

from collections.abc import Callable

from ddlsim.history.events import LockWaited
from ddlsim.model.ports import Future, Node, Timer
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.transaction.locks import IX, LockTable, Resource, S, X
from ddlsim.units import US_PER_MS, Micros


def locks_of(request: Operate) -> tuple[tuple[Resource, int], ...]:
    """What an operation locks, in order: the row, and the partition where that says more."""
    row: Resource = (request.table_id, request.partition, request.key)
    if request.action == "get":
        return ((row, S),)
    partition: Resource = (request.table_id, request.partition, None)
    if request.action == "scan":
        return ((partition, S),)
    return ((partition, IX), (row, X))


class LockWaits:
    """The locks of one node's primaries, and who waits for them."""

    def __init__(
        self,
        node: Node,
        locks: LockTable,
        has_ended: Callable[[Operate], bool],
        suspect: Callable[[TxId], None],
    ) -> None:
        self.node = node
        self.locks = locks
        self._has_ended = has_ended
        self._suspect = suspect

    async def locked(self, request: Operate) -> Reason | None:
        """Acquire the operation's locks in order: None once it has all of them, else why not."""
        waited = False
        for resource, mode in locks_of(request):
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
        """Wait for a lock that was not free; where it was refused, rest and ask again."""
        tx, node = request.tx, self.node
        retries = node.settings.lock_retries
        began = node.watch.now_us
        timers: list[Timer] = []
        self._be_patient(timers, tx, resource, mode)
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
        for other in self.locks.in_the_way(tx, resource, mode):
            self._suspect(other)
        return Reason.LOCK_CONFLICT

    def _be_patient(self, timers: list[Timer], tx: TxId, resource: Resource, mode: int) -> None:
        patience = Micros(self.node.settings.orphan_check_ms * US_PER_MS)
        timers[:] = [
            self.node.call_later(patience, self._lose_patience, timers, tx, resource, mode)
        ]

    def _lose_patience(self, timers: list[Timer], tx: TxId, resource: Resource, mode: int) -> None:
        """Somebody has been in the way for long; and may be so for longer."""
        for other in self.locks.in_the_way(tx, resource, mode):
            self._suspect(other)
        self._be_patient(timers, tx, resource, mode)

    def refused(self, request: Operate, began: Micros) -> None:
        """Write down that an intent without its lock is in the way, and nobody knows its end."""
        resource: Resource = (request.table_id, request.partition, request.key)
        self._record(request, resource, began, granted=False)

    def _record(
        self, request: Operate, resource: Resource, began: Micros, *, granted: bool
    ) -> None:
        node = self.node
        waited = node.watch.now_us - began
        if (waited or not granted) and node.recording:
            node.record(
                LockWaited(
                    began + waited,
                    node.name,
                    request.tx.label,
                    request.op,
                    resource[0],
                    resource[2],
                    waited,
                    granted,
                )
            )
