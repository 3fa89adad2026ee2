"""Agreement of all nodes before a DDL: a barrier, or a gate.

IEP-98 needs none of it; it names both only to reject them. "To maintain the real-time atomicity, we
would need to coordinate between all nodes of the cluster on each schema update", and "a schema
update could be held in an inactive state for an indeterminate period of time".

A *barrier*: every node closes, that is, resolves no schema and aborts the transactions that have
enlisted what is to change; once all have closed, the update goes through the log; a node opens once
it has applied the update. A *gate* is the first half without closing: the update is sent through
the log only once every node has acknowledged its announcement.

A node that does not answer is asked again, without end or until a limit.

Which barriers are up, and which are over, is on each node's disk. A node that restarts while one is
up would else go on under the schema from before the change [98.ap]; and a request to close that
comes late, or twice, would close what no `Switch` opens any more.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from ddlsim.model.ports import Future, Node, Request
from ddlsim.model.records import Record
from ddlsim.protocol.waiting import resend_delay, spawned, was_refused
from ddlsim.units import Micros, Timestamp

DISK: Final = "barriers"
"""Where a node's disk holds which barriers are up."""


class Prepare(Request["Agreed"], frozen=True):
    """A change of these objects is coming.

    `closes` asks to stop until `Switch`, `once_unused` to answer only when no open transaction of
    this node uses them.
    """

    sent_ts: Timestamp
    op: str
    object_ids: tuple[int, ...]
    closes: bool
    once_unused: bool = False


class Switch(Request["Agreed"], frozen=True):
    """The change is in the log as this version: open once it is known."""

    sent_ts: Timestamp
    op: str
    version: int


class Agreed(Record, frozen=True):
    """The node has carried out the request."""

    sent_ts: Timestamp


class Users(Protocol):
    """The open transactions of a node, by what they have enlisted."""

    def uses(self, object_ids: tuple[int, ...]) -> bool: ...
    def abort_users(self, object_ids: tuple[int, ...]) -> None: ...


class Barriers:
    """One node's side of barriers and gates: requests to all nodes, and answers to theirs."""

    def __init__(
        self,
        node: Node,
        members: tuple[str, ...],
        catalog_reaches: Callable[[int], Awaitable[None]],
        users: Users,
    ) -> None:
        assert node.name in members, f"{node.name} is no member"
        self.node = node
        self._members = members
        self._catalog_reaches = catalog_reaches
        self._users = users
        kept = node.disk.setdefault(DISK, {})
        assert isinstance(kept, dict), f"{kept} are no barriers"
        self._is_up: dict[str, bool] = kept  # by operation; False once it is over
        self._waiting: list[Future[None]] = []
        node.on(Prepare, self._on_prepare)
        node.on(Switch, self._on_switch)

    @property
    def is_open(self) -> bool:
        """Whether schemas are resolved here."""
        return not any(self._is_up.values())

    async def opens(self) -> None:
        """Wait until no barrier is up here."""
        while not self.is_open:
            opened: Future[None] = self.node.future()
            self._waiting.append(opened)
            await opened

    async def all_prepared(
        self,
        op: str,
        object_ids: tuple[int, ...],
        *,
        closes: bool,
        once_unused: bool = False,
        limit_us: Micros | None = None,
    ) -> bool:
        """Ask every node, and wait for all of them, or for no longer than the limit."""

        def ask() -> Prepare:
            return Prepare(self.node.clock.now(), op, object_ids, closes, once_unused)

        return await self._all(ask, limit_us)

    async def all_switched(self, op: str, version: int, *, limit_us: Micros | None = None) -> bool:
        """Let every node open, and wait until all have, or for no longer than the limit."""
        return await self._all(lambda: Switch(self.node.clock.now(), op, version), limit_us)

    async def _all(self, ask: Callable[[], Request[Agreed]], limit_us: Micros | None) -> bool:
        node = self.node
        until_us = None if limit_us is None else node.watch.now_us + limit_us
        asked = [spawned(node, self._agreed(name, ask, until_us)) for name in self._members]
        return all([await each for each in asked])

    async def _agreed(
        self, name: str, ask: Callable[[], Request[Agreed]], until_us: int | None
    ) -> bool:
        """Ask one node again and again."""
        node, tries = self.node, 0
        while True:
            wait_us = resend_delay(node.settings, tries)
            if until_us is not None:
                wait_us = Micros(min(wait_us, max(until_us - node.watch.now_us, 1)))
            sent_us = node.watch.now_us
            reply = await node.request(name, ask(), wait_us)
            if isinstance(reply, Agreed):
                node.clock.update(reply.sent_ts)
                return True
            if until_us is not None and node.watch.now_us >= until_us:
                return False
            tries += 1
            if was_refused(node, sent_us, wait_us):
                await node.sleep(node.settings.retry_us)

    async def _on_prepare(self, _sender: str, request: Prepare) -> Agreed:
        self.node.clock.update(request.sent_ts)
        while request.once_unused and self._users.uses(request.object_ids):
            self.node.probe("users-awaited")
            await self.node.sleep(self.node.settings.retry_us)
        if request.closes and self._is_up.setdefault(request.op, True):
            self._users.abort_users(request.object_ids)
        return Agreed(self.node.clock.now())

    async def _on_switch(self, _sender: str, request: Switch) -> Agreed:
        self.node.clock.update(request.sent_ts)
        await self._catalog_reaches(request.version)
        self._is_up[request.op] = False
        if self.is_open:
            waiting, self._waiting = self._waiting, []
            for each in waiting:
                each.set(None)
        return Agreed(self.node.clock.now())
