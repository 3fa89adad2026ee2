"""Strict two-phase locks with wait-die, in a primary's memory.

A row is locked shared (S) for reading and exclusive (X) for writing. So that a scan sees no row
come or go, it locks the whole partition shared, and writers lock the partition with the intention
to write (IX), which is compatible with other writers but not with a scan. So that no two rows get
the same values in a unique index, a writer locks these values exclusively in its partition, those
of the row before as well, and shared in every other partition [110.ours.unique].

*Wait-die*: a transaction that requests a lock which conflicting transactions hold, or wait for
ahead of it, waits only if it is older than all of those; otherwise it is refused at once. So a
transaction only ever waits for younger ones, and there is never a cycle of waits. Locks are granted
in the order of arrival and kept until the transaction ends.
"""

from collections.abc import Callable
from typing import Final

from ddlsim.model.ops import Key
from ddlsim.model.ports import Future
from ddlsim.protocol.ids import IndexKey, TxId

S: Final = 1
X: Final = 2
IX: Final = 4
CONFLICTS: Final = {S: X | IX, X: S | X | IX, IX: S | X}
"""What one transaction must not hold while another gets this mode: only S and IX share."""

Resource = tuple[int, int, Key | IndexKey | None]
"""(table id, partition, key or values in a unique index); None for the whole partition."""

Request = tuple[TxId, int, Future[bool]]
"""A waiting transaction, the mode it requests, and the future that is set to granted or not."""


class LockTable:
    """The locks of the partitions that a node is primary of."""

    def __init__(self, future: Callable[[], Future[bool]]) -> None:
        self._future = future
        self._holders: dict[Resource, dict[TxId, int]] = {}  # their modes, or-ed together
        self._queues: dict[Resource, list[Request]] = {}  # of resources that are waited for
        self._held: dict[TxId, list[Resource]] = {}
        self._waiting: dict[TxId, list[Resource]] = {}

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        """True: granted. False: refused (die). Else a future of one of the two."""
        assert mode in CONFLICTS, f"{mode} is no single mode"
        holders = self._holders.get(resource)
        if holders is None:
            holders = self._holders[resource] = {}
        else:
            if holders.get(tx, 0) & (mode | X):
                return True
            blockers = self._blockers(tx, resource, mode, holders)
            if blockers:
                return tx < min(blockers) and self._wait(tx, resource, mode, holders)
        self._grant(tx, resource, mode, holders)
        return True

    @property
    def any_held(self) -> bool:
        """Whether any transaction holds or awaits a lock."""
        return bool(self._held) or bool(self._waiting)

    def involved(self) -> tuple[TxId, ...]:
        """The transactions that hold or await a lock."""
        return tuple(dict.fromkeys([*self._held, *self._waiting]))

    def holds(self, tx: TxId, resource: Resource) -> int:
        """The modes in which a transaction holds a resource, or-ed; 0 for none."""
        holders = self._holders.get(resource)
        return 0 if holders is None else holders.get(tx, 0)

    def release_all(self, tx: TxId) -> None:
        """The transaction has ended: release what it holds, refuse what it waits for."""
        if tx in self._waiting:
            self._refuse_all(tx)
        for resource in self._held.pop(tx, ()):
            holders = self._holders[resource]
            del holders[tx]
            if self._queues and resource in self._queues:
                self._advance(resource)
            elif not holders:
                del self._holders[resource]
        assert tx not in self._waiting, f"{tx.label} has ended and waits"

    def holds_any(self, tx: TxId) -> bool:
        """Whether a transaction holds any lock here."""
        return tx in self._held

    def holds_at(self, tx: TxId, place: tuple[int, int]) -> bool:
        """Whether a transaction holds a lock of this partition."""
        return any(resource[:2] == place for resource in self._held.get(tx, ()))

    def release_place(self, table_id: int, partition: int) -> None:
        """Drop every lock of a partition: the lease is over. Waiting requests are refused."""
        gone = [place for place in self._holders if place[0] == table_id and place[1] == partition]
        for resource in gone:
            for tx, _, granted in self._queues.pop(resource, ()):
                self._leave(self._waiting, tx, resource)
                granted.set(False)
            for tx in self._holders.pop(resource):
                self._leave(self._held, tx, resource)

    @staticmethod
    def _leave(places: dict[TxId, list[Resource]], tx: TxId, resource: Resource) -> None:
        assert resource in places[tx], f"{tx.label} has nothing of {resource}"
        places[tx].remove(resource)
        if not places[tx]:
            del places[tx]

    def blockers(self, tx: TxId, resource: Resource, mode: int) -> list[TxId]:
        """The transactions for which `tx` would wait."""
        return self._blockers(tx, resource, mode, self._holders.get(resource, {}))

    def _refuse_all(self, tx: TxId) -> None:
        for resource in dict.fromkeys(self._waiting.pop(tx)):  # it may wait there twice
            assert resource in self._queues, f"{tx.label} waits for {resource} in no queue"
            queue = self._queues[resource]
            for entry in [entry for entry in queue if entry[0] == tx]:
                queue.remove(entry)
                entry[2].set(False)
            self._advance(resource)

    def _blockers(
        self, tx: TxId, resource: Resource, mode: int, holders: dict[TxId, int]
    ) -> list[TxId]:
        """The others that hold the lock, or wait for it ahead of `tx`, in a conflicting mode."""
        conflicting = CONFLICTS[mode]
        blockers: list[TxId] = []
        for other, held in holders.items():
            if held & conflicting and other != tx:
                blockers.append(other)
        if (
            self._queues and resource in self._queues and tx not in holders
        ):  # an upgrade waits for holders only
            for other, want, _ in self._queues[resource]:
                if want & conflicting and other != tx:
                    blockers.append(other)
        return blockers

    def _wait(
        self, tx: TxId, resource: Resource, mode: int, holders: dict[TxId, int]
    ) -> Future[bool]:
        assert resource in self._holders, f"{resource} is free, and {tx.label} is to wait for it"
        granted = self._future()
        queue = self._queues.setdefault(resource, [])
        queue.insert(0 if tx in holders else len(queue), (tx, mode, granted))
        self._waiting.setdefault(tx, []).append(resource)
        return granted

    def _grant(self, tx: TxId, resource: Resource, mode: int, holders: dict[TxId, int]) -> None:
        assert self._holders[resource] is holders, f"{resource} has other holders by now"
        held = holders.get(tx)
        if held is not None:
            holders[tx] = held | mode
            return
        holders[tx] = mode
        if tx in self._held:
            self._held[tx].append(resource)
        else:
            self._held[tx] = [resource]

    def _advance(self, resource: Resource) -> None:
        """Grant from the head of the queue up to the first request that conflicts with a holder."""
        queue, holders = self._queues[resource], self._holders[resource]
        while queue:
            tx, mode, granted = queue[0]
            if any(held & CONFLICTS[mode] and other != tx for other, held in holders.items()):
                return
            del queue[0]
            assert not granted.done, f"{tx.label} was answered before for {resource}"
            waiting = self._waiting[tx]
            waiting.remove(resource)
            if not waiting:
                del self._waiting[tx]
            self._grant(tx, resource, mode, holders)
            granted.set(True)
        del self._queues[resource]
        if not holders:
            del self._holders[resource]
