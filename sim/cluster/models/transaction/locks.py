"""The model of a lock table: strict two-phase locks with wait-die, as `locks` describes them.

Modes S, X and IX; only S with S and IX with IX are compatible between transactions. A request that
nothing blocks is granted. Blocked by conflicting holders, or by conflicting requests that wait
ahead of it (those do not block a holder's own upgrade), it waits if its transaction is older than
all of those, and is refused otherwise. What waits is granted in the order of arrival, upgrades
first; the end of a transaction or of a lease refuses what waits for it.
"""

from collections import Counter
from collections.abc import Callable
from typing import ClassVar, Final

from ddlsim.cluster.models.divergence import Models
from ddlsim.kernel.engine import Future as KernelFuture
from ddlsim.model.ports import Future
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.transaction.locks import IX, LockTable, Resource, S, X

COMPATIBLE: Final = {S: (S,), X: (), IX: (IX,)}
"""What other transactions may hold beside each mode."""
WAITS: Final = "waits"


class Waiting:
    """A request that waits; `granted` is the part's own future."""

    def __init__(self, tx: TxId, mode: int) -> None:
        self.tx = tx
        self.mode = mode
        self.granted: KernelFuture[bool] | None = None


class LockModel:
    """The locks held and awaited; `answered` are the waits that a call has ended."""

    def __init__(self) -> None:
        self.held: dict[Resource, dict[TxId, list[int]]] = {}
        self.waiting: dict[Resource, list[Waiting]] = {}
        self.of: dict[TxId, dict[Resource, None]] = {}
        self.answered: list[tuple[Waiting, bool]] = []

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Waiting:
        """Granted, refused, or what waits from now on."""
        holders = self.held.get(resource)
        mine = [] if holders is None else holders.get(tx, [])
        if mode in mine or X in mine:
            return True
        blockers = [] if holders is None else self.blockers(tx, resource, mode)
        if not blockers:
            self._grant(tx, resource, mode)
            return True
        if any(other < tx for other in blockers):
            return False
        waiting = Waiting(tx, mode)
        queue = self.waiting.setdefault(resource, [])
        queue.insert(0 if mine else len(queue), waiting)
        self.of.setdefault(tx, {})[resource] = None
        return waiting

    def blockers(self, tx: TxId, resource: Resource, mode: int) -> list[TxId]:
        """The other transactions that hold the resource, or wait for it ahead, in conflict."""
        beside, found = COMPATIBLE[mode], []
        holders = self.held.get(resource, {})
        for other, modes in holders.items():
            for one in modes:
                if one not in beside and other != tx:
                    found.append(other)
                    break
        if tx not in holders:
            ahead = self.waiting.get(resource, ())
            found += [one.tx for one in ahead if one.mode not in beside and one.tx != tx]
        return found

    def _grant(self, tx: TxId, resource: Resource, mode: int) -> None:
        self.held.setdefault(resource, {}).setdefault(tx, []).append(mode)
        self.of.setdefault(tx, {})[resource] = None

    def release_all(self, tx: TxId) -> None:
        """The transaction is over."""
        for resource in self.of.pop(tx, ()):
            queue = self.waiting.pop(resource, [])
            self.answered += [(one, False) for one in queue if one.tx == tx]
            left = [one for one in queue if one.tx != tx]
            holders = self.held.get(resource, {})
            holders.pop(tx, None)
            while left and self._is_free(left[0], holders):
                self._grant(left[0].tx, resource, left[0].mode)
                holders = self.held[resource]
                self.answered.append((left.pop(0), True))
            if left:
                self.waiting[resource] = left
            if not holders:
                self.held.pop(resource, None)

    @staticmethod
    def _is_free(one: Waiting, holders: dict[TxId, list[int]]) -> bool:
        beside = COMPATIBLE[one.mode]
        return all(
            other == one.tx or all(mode in beside for mode in modes)
            for other, modes in holders.items()
        )

    def release_place(self, table_id: int, partition: int) -> None:
        """The lease of a partition is over."""
        for resource in [one for one in self.held if one[:2] == (table_id, partition)]:
            queue = self.waiting.pop(resource, [])
            self.answered += [(one, False) for one in queue]
            for tx in [*self.held.pop(resource), *(one.tx for one in queue)]:
                self.of.get(tx, {}).pop(resource, None)

    def modes(self, tx: TxId, resource: Resource) -> int:
        """The modes in which a transaction holds a resource, or-ed."""
        return sum(dict.fromkeys(self.held.get(resource, {}).get(tx, ())))

    def holds_any(self, tx: TxId) -> bool:
        """Whether a transaction holds a lock."""
        return any(tx in self.held.get(resource, ()) for resource in self.of.get(tx, ()))


class ModelledLocks(LockTable):
    """A lock table that compares its answers, and those to the waits that it ends.

    `answers` are (when, answer) to each request that an operation waits for (`lock_waits`);
    `on_asked` is called with each of them; `releases` is how often all locks of a transaction,
    or of a partition, were released.
    """

    models: ClassVar[Models]

    def __init__(self, future: Callable[[], Future[bool]]) -> None:
        super().__init__(future)
        self._model = LockModel()
        self._divergence = self.models.divergence("locks")
        self.answers: dict[tuple[TxId, Resource, int], list[tuple[int, object]]] = {}
        self.on_asked: Callable[[tuple[TxId, Resource, int]], None] | None = None
        self.releases: Counter[TxId | PartitionId] = Counter()

    def acquire(self, tx: TxId, resource: Resource, mode: int) -> bool | Future[bool]:
        expected = self._model.acquire(tx, resource, mode)
        answer = super().acquire(tx, resource, mode)
        if isinstance(expected, Waiting) and isinstance(answer, KernelFuture):
            expected.granted = answer
        elif answer is not expected and not self._divergence.is_known:
            should = "wait" if isinstance(expected, Waiting) else f"be {expected}"
            self._divergence.found(
                f"the answer to {tx.label}, which asked for mode {mode} of {resource!r}, "
                f"should {should}"
            )
        if self.answers:
            answers = self.answers.get((tx, resource, mode))
            if answers is not None:
                answers.append((self.models.loop.now_us, answer))
                if self.on_asked is not None:
                    self.on_asked((tx, resource, mode))
        return answer

    def release_all(self, tx: TxId) -> None:
        self.releases[tx] += 1
        self._model.release_all(tx)
        super().release_all(tx)
        if self._model.answered:
            self._compare_answers()

    def release_place(self, table_id: int, partition: int) -> None:
        self.releases[table_id, partition] += 1
        self._model.release_place(table_id, partition)
        super().release_place(table_id, partition)
        left = {one for one, resources in self._model.of.items() if resources}
        if set(self.involved()) != left:
            self._divergence.found(f"{table_id}/{partition} was released, or more than that")
        if self._model.answered:
            self._compare_answers()

    @property
    def any_held(self) -> bool:
        found: bool = super().any_held
        if found is not any(self._model.of.values()):
            self._divergence.found(f"whether any lock is held or awaited is {found}")
        return found

    def holds(self, tx: TxId, resource: Resource) -> int:
        found: int = super().holds(tx, resource)
        expected = self._model.modes(tx, resource)
        if found != expected:
            self._divergence.compare(f"what {tx.label} holds of {resource!r}", found, expected)
        return found

    def held_by(self, tx: TxId) -> tuple[Resource, ...]:
        """What a transaction holds or awaits."""
        return tuple(self._model.of.get(tx, ()))

    def holds_any(self, tx: TxId) -> bool:
        found: bool = super().holds_any(tx)
        if found is not self._model.holds_any(tx):
            self._divergence.found(f"whether {tx.label} holds a lock is {found}")
        return found

    def blockers(self, tx: TxId, resource: Resource, mode: int) -> list[TxId]:
        found: list[TxId] = super().blockers(tx, resource, mode)
        expected = self._model.blockers(tx, resource, mode)
        if found != expected:
            self._divergence.compare(f"what blocks {tx.label} at {resource!r}", found, expected)
        return found

    def _compare_answers(self) -> None:
        answered, self._model.answered = self._model.answered, []
        for one, granted in answered:
            future = one.granted
            if future is not None and not (future.done and future.value is granted):
                now = f"is {future.value}" if future.done else "waits"
                self._divergence.found(
                    f"the request of {one.tx.label} for mode {one.mode} {now} and should be "
                    f"{granted}"
                )
