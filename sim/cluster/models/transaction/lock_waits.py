"""The model of how an operation comes by its locks.

A get locks its row shared, a look-up its values, a scan the partition; whatever writes locks the
partition with the intention to write, and the row exclusively. A refused lock is requested again
after each `lock_retry_ms`, `lock_retries` times, and then the operation fails; an operation whose
transaction has ended fails at once. While it waits, the coordinators of what blocks it are probed
every `orphan_check_ms`, and once more when it fails.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, ClassVar, cast

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.ports import Ports
from ddlsim.cluster.models.transaction.locks import ModelledLocks
from ddlsim.model.ports import Future, Node, Timer
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import IndexKey, TxId
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.transaction.lock_waits import LockWaits
from ddlsim.protocol.transaction.locks import IX, LockTable, Resource, S, X
from ddlsim.units import US_PER_MS

Wanted = tuple[tuple[Resource, int], ...]


def wanted_by(request: Operate) -> Wanted:
    """The locks of an operation, but for those of values that a writer enters into indexes."""
    place = (request.table_id, request.partition)
    if request.action == "lookup":
        return tuple(((*place, key), S) for key in request.lookups)
    if request.action in ("scan", "find"):
        return (((*place, None), S),)
    if request.action == "get":
        return (((*place, request.key), S),)
    return (((*place, None), IX), ((*place, request.key), X))


class ModelledLockWaits(LockWaits):
    """Acquires locks, and compares which, how often, and which coordinators it probes meanwhile."""

    models: ClassVar[Models]

    def __init__(
        self,
        node: Node,
        locks: LockTable,
        has_ended: Callable[[Operate], bool],
        probe_coordinator: Callable[[TxId], None],
    ) -> None:
        self._divergence = self.models.divergence("lock waits", node.name)
        self._ports = Ports(node)
        assert isinstance(locks, ModelledLocks), f"{locks} has no model"
        self._modelled, self._answers = locks, locks.answers
        self._probed: list[TxId] = []
        self._waiting: dict[tuple[TxId, Resource, int], int] = {}
        self._asking: dict[tuple[TxId, Resource, int], Operate] = {}
        locks.on_asked = self._asks_again
        self._crowded: dict[tuple[TxId, Resource, int], None] = {}

        def probed(tx: TxId) -> None:
            self._probed.append(tx)
            probe_coordinator(tx)

        super().__init__(cast("Node", self._ports), locks, has_ended, probed)

    async def locked(self, request: Operate, wanted: Wanted) -> Reason | None:
        expected = wanted_by(request)
        if wanted != expected and not all(isinstance(one[2], IndexKey) for one, _ in wanted):
            self._divergence.compare(f"what {request.op} locks", wanted, expected)
        before = self._releases_of(request)
        reason: Reason | None = await super().locked(request, wanted)
        if reason is None and self._releases_of(request) == before:
            for resource, mode in wanted:
                if not LockTable.holds(self.locks, request.tx, resource) & (mode | X):
                    self._divergence.found(f"{request.op} goes on without {mode} of {resource!r}")
        return reason

    def _releases_of(self, request: Operate) -> tuple[int, int]:
        """How often the locks of its transaction and of its lease have been taken away."""
        releases = self._modelled.releases
        return releases[request.tx], releases[request.table_id, request.partition]

    async def _wait_for(
        self, request: Operate, resource: Resource, mode: int, *, answer: bool | Future[bool]
    ) -> Reason | None:
        asked = (request.tx, resource, mode)
        others = self._waiting.get(asked, 0)
        self._waiting[asked] = others + 1
        self._asking[asked] = request
        if others:
            self._crowded[asked] = None
        began_us, self._ports.armed = self.models.loop.now_us, []
        self._answers.setdefault(asked, [])[:] = [(began_us, answer)]
        self._probed = []
        reason: Reason | None = await super()._wait_for(request, resource, mode, answer=answer)
        self._waiting[asked] -= 1
        if self._waiting[asked]:
            return reason
        del self._waiting[asked], self._asking[asked]
        answers = self._answers.pop(asked)
        if asked in self._crowded:  # whose answers these were is not known
            del self._crowded[asked]
        else:
            self._compare_end(request, answers, reason)
        return reason

    def _asks_again(self, asked: tuple[TxId, Resource, int]) -> None:
        """What was refused a lock asks for it again while its transaction is open."""
        request = self._asking[asked]
        if self._has_ended(request):
            self._divergence.found(f"{request.op} asks for {asked[1]!r} again, and has ended")

    def _compare_end(
        self, request: Operate, answers: list[tuple[int, object]], reason: Reason | None
    ) -> None:
        settings = self._ports.settings
        values = [one if isinstance(one, bool) else cast("Any", one).value for _, one in answers]
        told = [value for (_, one), value in zip(answers, values, strict=True) if one is not value]
        ended = self._has_ended(request) or False in told  # copies may have been answered since
        refused = [at for at, one in answers if one is False]
        between_us = settings.lock_retry_ms * US_PER_MS
        if any(later - at < between_us for at, later in pairwise(refused)):
            self._divergence.found(f"{request.op} was refused at {refused} us, without a rest")
        tries = settings.lock_retries + 1
        match reason:
            case None:
                right = values[-1] is True
            case Reason.TX_FINISHED:
                right = ended
            case _:
                right = answers[-1][1] is False and len(refused) == tries
        if not right or len(refused) > tries:
            self._divergence.found(f"{request.op} got {values} and came to {reason}")

    def _arm_probe(self, timers: list[Timer], tx: TxId, resource: Resource, mode: int) -> None:
        self._ports.armed = []
        super()._arm_probe(timers, tx, resource, mode)
        due_us = [self._ports.settings.orphan_check_ms * US_PER_MS]
        self._divergence.compare("when coordinators are probed", self._ports.armed, due_us)

    def _probe_blockers(self, timers: list[Timer], tx: TxId, resource: Resource, mode: int) -> None:
        if (tx, resource, mode) not in self._waiting:
            self._divergence.found(f"{tx.label} waits no more for {resource!r}, and probes")
        blockers, self._probed, self._ports.armed = self.locks.blockers(tx, resource, mode), [], []
        super()._probe_blockers(timers, tx, resource, mode)
        self._divergence.compare("whose coordinators are probed", self._probed, blockers)
        if not self._ports.armed:
            self._divergence.found(f"{tx.label} waits on, and probes no more")
