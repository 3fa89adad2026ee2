"""Runs the programs and steps of clients; records their requests and the answers.

A client is a machine of its own on the network; each operation goes to the node that it names.
Programs run one item after the other, steps when they are due.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.cluster.machines import Machines
from ddlsim.history.events import Failed, Invoked, Named, Ok, Unknown
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.engine import Task
from ddlsim.kernel.host import Host
from ddlsim.model.ops import (
    Begin,
    Commit,
    Conditional,
    Ddl,
    Delete,
    Find,
    Get,
    Insert,
    Operation,
    Put,
    Read,
    Replace,
    Rollback,
    Scan,
    Update,
)
from ddlsim.model.ports import NO_REPLY
from ddlsim.model.programs import Program, TransactionItem
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import (
    Answer,
    ClientBegin,
    ClientCommit,
    ClientDdl,
    ClientRollback,
    Refusal,
)
from ddlsim.sql import parse
from ddlsim.units import Micros

Outcome = Answer | Refusal | Any
DATA: Final[dict[type, str]] = {
    kind: str(kind.__struct_config__.tag)
    for kind in (Get, Put, Delete, Insert, Replace, Update, Scan, Find)
}
"""The kinds of data operations: looking one up is cheaper than matching its class."""


class ClientHost:
    """One client's machine: its connection, its schema cache, and its events in the history."""

    def __init__(self, cluster: Machines, name: str, *, session: bool) -> None:
        self.name = name
        self.cluster = cluster
        self.host = Host(cluster.loop, cluster.network, name, PhysicalClock(cluster.loop))
        self.request: Callable[..., Awaitable[Any]] = self.host.request
        self._loop = cluster.loop
        self.recording = cluster.recorder.observed
        self.record = cluster.recorder.record
        self.open: dict[str, tuple[Any, str]] = {}  # each operation's request and its node
        settings = cluster.ports[cluster.leader].settings
        # longer than the coordinator waits for a primary, so that its answer comes first
        self.timeout_us = Micros(settings.operation_timeout_us + cluster.plan.commit_wait_us)
        self.session = session
        self.client = cluster.client(name, self, self.timeout_us, session=session)

    def elapsed_us(self) -> Micros:
        """The present instant."""
        return self._loop.now_us

    # --- one operation, with its invocation and its completion ------------------------------------

    async def perform(
        self,
        op: str,
        tx: str | None,
        node: str,
        do: Any,
        begin: Begin | None = None,
    ) -> Outcome:
        """Send one operation, record it and its outcome; return the reply or `NO_REPLY`.

        `begin` says how the transaction begins that the operation begins, or is.
        """
        self.invoked(op, tx, node, do)
        reply = await self._send(op, tx, node, do, begin)
        self.completed(op, do, reply)
        return reply

    def forget_schemas(self) -> None:
        """Forget the cached schemas, as a new connection does."""
        self.client.forget_schemas()

    def abandon(self, op: str, tx: str, node: str) -> None:
        """Roll a transaction back without waiting for an answer."""
        self.host.send(node, ClientRollback(op, tx))

    def _send(
        self, op: str, tx: str | None, node: str, do: Any, begin: Begin | None
    ) -> Awaitable[Outcome]:
        if type(do) in DATA:
            return self.client.operate(node, op, tx or op, do, begin, implicit=tx is None)
        token = self.client.token_ts if self.session else None
        if type(do) is Commit:
            return self.client.ask(node, ClientCommit(op, tx or op, token))
        match do:
            case Begin(read_only=reads):
                read_ts = self.client.chosen_ts(op, do)
                return self.client.ask(node, ClientBegin(op, tx or op, token, reads, read_ts))
            case Rollback():
                return self.client.ask(node, ClientRollback(op, tx or op, token))
            case Ddl(sql=sql):
                (parsed,) = parse(sql)
                assert not isinstance(parsed.statement, Get | Scan), f"not a DDL: {sql}"
                return self.client.ask(node, ClientDdl(op, parsed.statement, token))
        raise AssertionError(f"no such operation: {do!r}")

    # --- events of the history --------------------------------------------------------------------

    def invoked(self, op: str, tx: str | None, node: str, do: Any) -> None:
        """Record that the client sends an operation."""
        self.open[op] = do, node
        self.cluster.asked[self.name] = node
        if not self.recording:
            return
        table = key = sql = None
        kind = DATA.get(type(do))
        if kind is not None:
            table, key = do.table, do.key
        else:
            kind = do.__struct_config__.tag
            sql = do.sql if type(do) is Ddl else None
        now = self._loop.now_us
        self.record(Invoked(now, self.name, op, tx, node, kind, table, key, sql, self.session))
        columns: tuple[str, ...] = getattr(do, "columns", ())
        values = getattr(do, "values", None)
        if columns or values is not None:
            self.record(Named(now, self.name, op, columns, values))

    def completed(self, op: str, do: Any, reply: Outcome) -> None:
        """Record the outcome of an operation, as the client sees it."""
        del self.open[op]
        if not self.recording:
            return
        now = self._loop.now_us
        if type(reply) is Answer:
            shown = None
            if isinstance(do, Read):
                shown = self._shown(do, reply)
            elif isinstance(do, Conditional):
                shown = reply.done
            self.record(Ok(now, self.name, op, shown))
        elif type(reply) is Refusal:
            self.record(Failed(now, self.name, op, reply.reason.name))
        else:
            self.record(Unknown(now, self.name, op, Reason.NODE_UNREACHABLE.name))

    def _shown(self, do: Read, reply: Answer) -> Any:
        """The result of a read as its user sees it: a row, rows, or nothing."""
        rows = self.client.shown(do, reply)
        if type(do) is Get:
            return rows[0] if rows else None
        return rows


class ProgramRunner:
    """Runs one client's program from its first item to its last."""

    def __init__(self, client: ClientHost, program: Program, load_until_us: int) -> None:
        self.client = client
        self.program = program
        self.finished = False
        self._load_until_us = load_until_us
        self._loop = client.cluster.loop
        self._transactions = 0

    async def run(self) -> None:
        """Run all items, one after the other; none is begun after the load."""
        for number, item in enumerate(self.program.items):
            if not isinstance(item, TransactionItem) and item.at_us is not None:
                await self._loop.sleep(max(item.at_us - self._loop.now_us, 0))
            elif item.pause_us:
                await self._loop.sleep(item.pause_us)
            if self._loop.now_us > self._load_until_us:
                break
            if isinstance(item, TransactionItem):
                await self._transaction(item)
            else:
                op = f"{self.client.name}.d{number}"
                await self.client.perform(op, None, item.node, Ddl(item.sql))
        self.finished = True

    async def _transaction(self, item: TransactionItem) -> None:
        """Run a transaction; retry it as a new one while its failure is retriable [110.flow.8]."""
        if item.fresh:
            self.client.forget_schemas()
        if self.program.partition_aware:
            item = replace(item, node=self._primary(item))
        for attempt in range(item.retries + 1):
            self._transactions += 1
            label = f"{self.client.name}.{self._transactions}"
            reason = await self._attempt(item, label)
            if reason is None or not reason.retriable or attempt == item.retries:
                return
            if self._loop.now_us > self._load_until_us:
                return

    def _primary(self, item: TransactionItem) -> str:
        """The node at which a partition-aware client begins a transaction."""
        first = item.operations[0]
        if isinstance(first, Begin | Commit | Rollback | Ddl | Scan | Find):
            return item.node
        known = self.client.cluster.primary_known_to(item.node, first.table, first.key)
        return known or item.node

    async def _attempt(self, item: TransactionItem, label: str) -> Reason | None:
        """Run the operations and the commit; return why it failed, or None."""
        begin: Begin | None = Begin(item.read_only, item.as_of_ms)
        if item.implicit:
            perform = self.client.perform
            return _reason(await perform(label, None, item.node, item.operations[0], begin))
        if item.begun:
            reply = await self.client.perform(f"{label}.b", label, item.node, begin)
            if type(reply) is not Answer:
                return _reason(reply)
            begin = None
        if item.pipelined:
            return await self._pipelined(item, label, begin)
        for number, do in enumerate(item.operations):
            if number and item.gap_us:
                await self._loop.sleep(item.gap_us)
            reply = await self._operation(item, label, number, do, None if number else begin)
            if type(do) is Ddl:
                continue
            if type(reply) is not Answer:
                return _reason(reply)
            if type(do) is Rollback:
                return None
        return None if item.abandoned else await self._commit(item, label)

    async def _pipelined(
        self, item: TransactionItem, label: str, begin: Begin | None
    ) -> Reason | None:
        """Run the operations after the first, and the end, each without the answer of the last."""
        reply = await self._operation(item, label, 0, item.operations[0], begin)
        if type(reply) is not Answer:
            return _reason(reply)
        sent: list[Task[Outcome]] = []
        for number, do in enumerate(item.operations[1:], 1):
            if item.gap_us:
                await self._loop.sleep(item.gap_us)
            sent.append(self._loop.spawn(self._operation(item, label, number, do)))
        ends = not item.abandoned and type(item.operations[-1]) is not Rollback
        commit = self._loop.spawn(self._commit(item, label)) if ends else None
        for task in sent:
            await task.future
        return None if commit is None else await commit.future

    async def _operation(
        self,
        item: TransactionItem,
        label: str,
        number: int,
        do: Operation,
        begin: Begin | None = None,
    ) -> Outcome:
        """One operation; what gets no answer is rolled back."""
        tx = None if type(do) is Ddl else label
        reply = await self.client.perform(f"{label}.{number}", tx, item.node, do, begin)
        if reply is NO_REPLY and tx is not None:
            self.client.abandon(f"{label}.rb", label, item.node)
        return reply

    async def _commit(self, item: TransactionItem, label: str) -> Reason | None:
        if item.rest_us:
            await self._loop.sleep(item.rest_us)
        return _reason(await self.client.perform(f"{label}.c", label, item.node, Commit()))


def _reason(reply: Outcome) -> Reason | None:
    """Why a request failed; None where its outcome is unknown: it is not repeated."""
    if type(reply) is Refusal:
        return reply.reason
    return None
