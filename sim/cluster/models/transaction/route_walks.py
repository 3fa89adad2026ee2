"""Operations of one transaction that wait for primaries beside a run, while leases come and end.

In a run few transactions have several operations that wait for one primary, and a lease seldom ends
just when one of them has found it. So beside each run a coordinator sends operations of one
transaction to two partitions, in any order of requests and leases. From protocol.md, section 4: the
first operation on a partition fixes its primary and the start of its lease, and every later one
goes there with the same token, also one that has waited. A wait looks for a primary every
`retry_ms`, and ends at the time limit of an operation, or where the transaction has been aborted.
"""

from collections import deque
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.words import words
from ddlsim.kernel.engine import Future
from ddlsim.kernel.rng import mix
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.leases import Lease, Leases
from ddlsim.protocol.messages import Operate
from ddlsim.protocol.transaction.routing import Router
from ddlsim.protocol.transaction_record import ABORTED, Transaction
from ddlsim.units import LOGICAL_BITS, US_PER_MS, Micros, Timestamp

STEPS: Final = 60
"""How many steps a coordinator takes beside a run."""
OPERATIONS: Final = 6
"""The most operations of one transaction."""
RETRY_MS, LIMIT_MS = 3, 12
PLACES: Final[tuple[PartitionId, ...]] = ((1, 0), (1, 1))
ENLISTED: Final[Any] = SimpleNamespace(table=SimpleNamespace(id=1, version=1), version=1, views=())


class Way:
    """An operation that was asked for: its partition and since when; `sent` under which lease."""

    def __init__(self, op: str, place: PartitionId, since_ms: int) -> None:
        self.op = op
        self.place = place
        self.since_ms = since_ms
        self.sent: Lease | None = None
        self.given_up: Reason | None = None
        self.answer: Any = None


class RouteWalk:
    """The router of one coordinator, and where each operation must go."""

    def __init__(self, divergence: Divergence, seed: int) -> None:
        self._divergence = divergence
        self._seed = seed
        self._now_ms, self._skew_ms = 100, seed % 2
        self._tasks: list[tuple[Coroutine[Any, Any, None], Any]] = []
        self._sleeps: list[tuple[int, Future[None]]] = []
        clock = SimpleNamespace(current=self._now_ts, now=self._now_ts)
        watch = SimpleNamespace()
        self._watch = watch
        settings = SimpleNamespace(
            operation_timeout_us=Micros(LIMIT_MS * US_PER_MS),
            retry_us=Micros(RETRY_MS * US_PER_MS),
            max_clock_skew_ms=self._skew_ms,
        )
        node: Any = SimpleNamespace(
            name="beside", clock=clock, watch=watch, settings=settings, recording=False,
            probe=lambda _: None, sleep=self._sleep, spawn=self._spawn, request=self._request,
            future=lambda: Future[Any](deque()),
        )  # fmt: skip
        self._leases = Leases(node, restarted=False)
        placement: Any = None
        self._router = Router(node, self._leases, placement)
        self._tx = Transaction(TxId(Timestamp(1), 0, "T"), 0)
        self._ways: dict[str, Way] = {}
        self._newest: dict[PartitionId, Lease] = {}
        self._fixed: dict[PartitionId, Lease] = {}
        self._set_time()

    # --- the node ---------------------------------------------------------------------------------

    def _now_ts(self) -> Timestamp:
        return Timestamp(self._now_ms << LOGICAL_BITS)

    def _set_time(self) -> None:
        self._watch.now_us = self._now_ms * US_PER_MS

    def _sleep(self, wait_us: int) -> Future[None]:
        ends: Future[None] = Future(deque())
        self._sleeps.append((self._now_ms + wait_us // US_PER_MS, ends))
        return ends

    def _spawn(self, task: Coroutine[Any, Any, None]) -> None:
        self._tasks.append((task, None))

    def _go_on(self) -> None:
        """Let every task go on whose wait is over."""
        tasks, self._tasks = self._tasks, []
        for task, awaited in tasks:
            if awaited is not None and not awaited.done:
                self._tasks.append((task, awaited))
                continue
            try:
                self._tasks.append((task, task.send(None)))
            except StopIteration:
                continue

    def _request(self, to: str, message: Operate, _timeout_us: int, _label: int) -> Future[Any]:
        """Compare where an operation goes; no answer comes."""
        way, due = self._ways[message.op], self._due(self._ways[message.op].place)
        if due is None or way.sent or way.given_up:
            self._divergence.found(f"{way.op} is sent to {to}, at {self._now_ms} ms")
            return Future(deque())
        first = next(iter(self._fixed), way.place)
        got = (to, message.lease_start, message.commit_place)
        self._divergence.compare(f"where {way.op} goes", got, (due.holder, due.start_ts, first))
        way.sent = self._fixed[way.place] = due
        return Future(deque())

    # --- what is due ------------------------------------------------------------------------------

    def _due(self, place: PartitionId) -> Lease | None:
        """The lease of the transaction's first operation there, else the present one."""
        newest = self._newest.get(place)
        until_ms = self._now_ms + self._skew_ms
        if newest is not None and newest.expiration_ts >> LOGICAL_BITS <= until_ms:
            newest = None
        return self._fixed.get(place) or newest

    def take(self, steps: int) -> None:
        """Take some steps; waits look for primaries as time goes by."""
        for step in range(steps):
            number = mix(self._seed, step)
            what, place = number % 16, PLACES[number // 16 % 2]
            if what < 4 and len(self._ways) < OPERATIONS:
                self._ask(place)
            elif what < 7:
                self._grant(place, number // 32)
            elif what == 7 and step > steps // 2:
                self._tx.state, self._tx.reason = ABORTED, Reason.TX_TIMED_OUT
            else:
                self._pass_time()

    def _ask(self, place: PartitionId) -> None:
        if self._tx.state is ABORTED:
            return
        way = Way(f"o{len(self._ways)}", place, self._now_ms)
        self._ways[way.op] = way
        request: Any = SimpleNamespace(
            op=way.op, action="put", key=(1,), row=(1, 1), label=0, sets=(), strict=False
        )
        is_due = self._due(place) is not None
        way.answer = self._router.ask_primary(self._tx, request, ENLISTED, place[1])
        self._go_on()
        if is_due is not bool(way.sent):
            self._divergence.found(f"{way.op} is sent as {words(way.sent)}, at once")

    def _grant(self, place: PartitionId, number: int) -> None:
        """Another lease, once the last one is over on every clock."""
        last = self._newest.get(place)
        if last is not None and last.expiration_ts >> LOGICAL_BITS > self._now_ms - self._skew_ms:
            return
        ends_ts = Timestamp(self._now_ms + 1 + number % 5 << LOGICAL_BITS)
        lease = Lease(place, f"n{number % 3}", self._now_ts(), ends_ts)
        self._newest[place] = lease
        self._leases.begin(lease)

    def _pass_time(self) -> None:
        """A millisecond: waits whose look is due look, in order."""
        self._now_ms += 1
        self._set_time()
        due = [one for one in self._sleeps if one[0] <= self._now_ms]
        self._sleeps = [one for one in self._sleeps if one not in due]
        for _, ends in due:
            ends.set(None)
            self._go_on()
        for way in self._ways.values():
            if not (way.sent or way.given_up):
                self._compare_look(way)

    def _compare_look(self, way: Way) -> None:
        """What looks and finds no primary waits on, up to the time limit."""
        waited_ms = self._now_ms - way.since_ms
        if waited_ms % RETRY_MS:
            return
        if self._tx.state is ABORTED:
            way.given_up = Reason.TX_TIMED_OUT
        elif self._due(way.place) is not None:
            self._divergence.found(f"{way.op} is not sent, at {self._now_ms} ms")
        elif waited_ms >= LIMIT_MS:
            way.given_up = Reason.PRIMARY_MISSING
        if way.given_up:
            answer = way.answer.value if way.answer.done else None
            self._divergence.compare(f"the answer to {way.op}", answer, way.given_up)


def walk_routes(models: Models, seed: int) -> None:
    """Compare where a coordinator sends operations beside the run of this seed."""
    for number in range(4):
        RouteWalk(models.divergence("routes", "beside"), mix(seed, 20 + number)).take(STEPS)
