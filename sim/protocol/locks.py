"""Strict two-phase locks with wait-die, in a primary's memory.

A row is locked shared (S) for reading and exclusive (X) for writing. So that a scan sees no row
come or go, it locks the whole partition shared, and writers lock the partition with the intention
to write (IX), which is compatible with other writers but not with a scan.

*Wait-die*: who wants a lock that a conflicting transaction holds, or waits for ahead of it, waits
only if it is older than all of those; otherwise it is refused at once. Everyone then waits only for
younger ones, so there is never a cycle of waits. Locks are granted in the order of arrival and kept
until the transaction ends.
"""

from collections.abc import Callable
from typing import Any, Final

from sim.model.ports import Future
from sim.protocol.messages import TxId

S: Final = 1
X: Final = 2
IX: Final = 4
CONFLICTS: Final = {S: X | IX, X: S | X | IX, IX: S | X}
"""What one transaction must not hold while another gets this mode: only S and IX share."""

Resource = tuple[int, int, Any]
"""(table id, partition, key), or None for the key: the whole partition."""


class Lock:
    """One resource: who holds it in which modes (or-ed together), and who waits."""

    __slots__ = ("holders", "queue")

    def __init__(self) -> None:
        self.holders: dict[TxId, int] = {}
        self.queue: list[tuple[TxId, int, Future[bool]]] = []


class LockTable:
    """The locks of the partitions that a node is primary of."""

    def __init__(self, future: Callable[[], Future[bool]]) -> None:
        self._future = future
        self._locks: dict[Resource, Lock] = {}
        self._held: dict[TxId, dict[Resource, None]] = {}
        self._waiting: dict[TxId, list[Resource]] = {}

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        """True: granted. False: refused (die). Else a future that tells, once it is known."""
        lock = self._locks.get(resource)
        if lock is None:
            lock = self._locks[resource] = Lock()
        else:
            held = lock.holders.get(tx, 0)
            if held & (mode | X):
                return True
            blockers = self._blockers(lock, tx, mode)
            if blockers:
                older = any(other < tx for other in blockers)
                return False if older else self._wait(lock, tx, resource, mode)
        self._grant(lock, tx, resource, mode)
        return True

    def _blockers(self, lock: Lock, tx: TxId, mode: int) -> list[TxId]:
        """The others that hold the lock, or wait for it ahead of `tx`, in a conflicting mode."""
        conflicting = CONFLICTS[mode]
        holders = lock.holders
        blockers = [other for other, held in holders.items() if held & conflicting and other != tx]
        if lock.queue and tx not in holders:  # an upgrade goes ahead: it waits for holders only
            blockers += [
                other for other, want, _ in lock.queue if want & conflicting and other != tx
            ]
        return blockers

    @property
    def any_held(self) -> bool:
        """Whether any transaction holds or awaits a lock."""
        return bool(self._held) or bool(self._waiting)

    def holds(self, tx: TxId, resource: Resource) -> int:
        """The modes in which a transaction holds a resource, or-ed; 0 for none."""
        lock = self._locks.get(resource)
        return 0 if lock is None else lock.holders.get(tx, 0)

    def release_all(self, tx: TxId) -> None:
        """The transaction has ended: release what it holds, refuse what it waits for."""
        for resource in self._waiting.pop(tx, ()):
            lock = self._locks[resource]
            for entry in [entry for entry in lock.queue if entry[0] == tx]:
                lock.queue.remove(entry)
                entry[2].set(False)
            self._advance(lock, resource)
        for resource in self._held.pop(tx, ()):
            lock = self._locks[resource]
            del lock.holders[tx]
            if lock.queue:
                self._advance(lock, resource)
            elif not lock.holders:
                del self._locks[resource]

    def _wait(self, lock: Lock, tx: TxId, resource: Resource, mode: int) -> Future[bool]:
        granted = self._future()
        entry = (tx, mode, granted)
        if tx in lock.holders:
            lock.queue.insert(0, entry)
        else:
            lock.queue.append(entry)
        self._waiting.setdefault(tx, []).append(resource)
        return granted

    def _grant(self, lock: Lock, tx: TxId, resource: Resource, mode: int) -> None:
        lock.holders[tx] = lock.holders.get(tx, 0) | mode
        held = self._held.get(tx)
        if held is None:
            held = self._held[tx] = {}
        held[resource] = None

    def _advance(self, lock: Lock, resource: Resource) -> None:
        """Grant from the head of the queue for as long as nobody conflicts."""
        while lock.queue:
            tx, mode, granted = lock.queue[0]
            if any(held & CONFLICTS[mode] and other != tx for other, held in lock.holders.items()):
                return
            del lock.queue[0]
            waiting = self._waiting[tx]
            waiting.remove(resource)
            if not waiting:
                del self._waiting[tx]
            self._grant(lock, tx, resource, mode)
            granted.set(True)
        if not lock.holders:
            self._locks.pop(resource, None)
