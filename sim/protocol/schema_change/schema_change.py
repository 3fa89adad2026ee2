"""How a schema change is installed and acknowledged.

The client's statement is built into an update against the newest known catalog version, goes
through the meta storage log as a compare-and-set, activates at Tu = Tm + DD by itself on every
node, and is acknowledged only when Now >= Tu + CSmax [98.flow.4]: physical clocks differ by at most
CSmax, so by then Tu has become non-future everywhere, and the node that the client turns to next
uses the update without any token [98.own].

A statement that is refused, or changes nothing, is answered from the node's own catalog. By the
letter, at once; a node that lags would then answer that what the client has just created is not
there. So the node first waits until it has applied every update that may have been acknowledged
[98.x.8].

A statement waits for no transaction, and no transaction for a statement [110.req.0]: what crosses
an activation and cannot go on aborts.

Statements that arrive at one node are installed one after another: they would only lose the
compare-and-set to each other. Were the acknowledgement sent earlier, a client could issue ALTER
TABLE, get its acknowledgement, and not find its column. That remains true for a client that dies
before the acknowledgement and reconnects to another node [98.risk.1].
"""

from collections import deque

from ddlsim.history.events import DdlDecided
from ddlsim.model.ddl import Statement
from ddlsim.model.ports import Future, Node
from ddlsim.model.reasons import Reason
from ddlsim.protocol.barriers import Barriers
from ddlsim.protocol.messages import Answer, CatalogUpdate, ClientDdl, Refusal
from ddlsim.protocol.metastorage.metastorage import MetaStorage
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused
from ddlsim.protocol.schema.ddl_answers import Decision
from ddlsim.protocol.schema_change.row_counter import RowCounter
from ddlsim.protocol.strategy import Asked, Strategy
from ddlsim.units import MIN_TIMESTAMP, Timestamp


class SchemaChange:
    """One node's side of DDL: installs statements that clients bring to it."""

    def __init__(
        self, node: Node, strategy: Strategy, sync: SchemaSync, metastorage: MetaStorage
    ) -> None:
        self.node = node
        self.strategy = strategy
        self.sync = sync
        self.catalog: Catalog = sync.catalog
        self.metastorage = metastorage
        self.barriers: Barriers | None = None
        self.row_counter: RowCounter | None = None
        self._busy = False
        self._statement: Statement | None = None
        self._asked_ts: Timestamp = MIN_TIMESTAMP
        self._queue: deque[Future[None]] = deque()
        node.on(ClientDdl, self.run)

    async def run(self, _sender: str, request: ClientDdl) -> Answer | Refusal:
        """Install a client's statement, after those that came before it."""
        clock = self.node.clock
        if request.session_ts is not None:
            clock.update(request.session_ts)
        if self._busy:
            turn: Future[None] = self.node.future()
            self._queue.append(turn)
            await turn
            assert self._busy, f"{self.node.name} has given the turn away that it passed on"
        self._busy = True
        self._statement, self._asked_ts = request.statement, clock.current()
        decision: Decision = await self.strategy.install(self, request.op, request.statement)
        if decision.reason is None:
            return Answer(clock.now())
        return Refusal(clock.now(), decision.reason, decision.message)

    async def knows_enough(self) -> None:
        """Wait until the present statement may be answered from this node's catalog [98.x.8]."""
        await self.strategy.before_statement(self, self._asked_ts)

    async def submit(
        self, command_id: str, expected_version: int, built: Built
    ) -> tuple[bool, int]:
        """Send the update through the log: whether it took effect, and the version after it."""
        delay_ms = self.node.settings.delay_duration_ms
        update = CatalogUpdate(command_id, expected_version, delay_ms, built.objects)
        reply = await self.metastorage.submit(update)
        return reply.accepted, reply.catalog_version

    def goes_on(self) -> Asked:
        """Let the next statement begin before this one may be acknowledged."""
        asked = Asked(self._statement, self._asked_ts)
        self._next()
        return asked

    async def acknowledge(
        self,
        op: str,
        outcome: str,
        version: int,
        activation_ts: Timestamp,
        due: Timestamp,
        of: Asked | None = None,
    ) -> None:
        """Let the next statement begin, and wait until this one may be acknowledged.

        `of` is what `goes_on` gave, where the next one has begun already.
        """
        node = self.node
        if node.recording:
            now = node.watch.now_us
            asked, asked_ts = of or Asked(self._statement, self._asked_ts)
            node.record(
                DdlDecided(
                    now, node.name, op, outcome, version, activation_ts, due, asked, asked_ts
                )
            )
        node.probe(f"ddl-{outcome}")
        if of is None:
            self._next()
        await node.clock_passes(due)

    def installed(self) -> Decision:
        """The decision on a statement that is in effect."""
        return Decision(None)

    def known(self, built: NoOp | Refused) -> Decision:
        """The decision on a statement with nothing to do, or a refused one."""
        if isinstance(built, NoOp):
            return Decision(None)
        return Decision(built.reason, built.message)

    def conflict(self) -> Decision:
        """The decision on a statement that lost the compare-and-set at every attempt."""
        self._next()
        return Decision(Reason.DDL_CONFLICT, "the catalog changed at every attempt; try again")

    def _next(self) -> None:
        """Pass the turn on; a request of this instant comes behind those that wait."""
        self._busy = bool(self._queue)
        if self._queue:
            self._queue.popleft().set(None)
