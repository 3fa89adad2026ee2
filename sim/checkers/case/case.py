"""A case: one history with the indexes that the checkers share, each built when first needed.

The events of a transaction, an operation or a statement are gathered here under its name, each
with its position in the history: the order of positions is the order of real time, also
within one simulated instant.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any, Final, TypeVar

from ddlsim.checkers.case.enlistments import leave_out_unused
from ddlsim.checkers.case.measures import Measures
from ddlsim.checkers.case.operations import Ddl, E, Operation, Placed, Transaction, Use
from ddlsim.checkers.case.schemas import SchemaLog
from ddlsim.history.events import (
    DdlDecided,
    Encoded,
    Enlisted,
    Failed,
    Invoked,
    MetadataRead,
    Named,
    Ok,
    ReadExecuted,
    ReadTimeChosen,
    RowFinal,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    Unknown,
    UpdateLogged,
    WriteExecuted,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import (
    FaultBegan,
    FaultHealed,
    LeaseBegan,
    NodeCrashed,
    NodeRestarted,
)
from ddlsim.model.design import LAYERED_PLANES
from ddlsim.units import MIN_TIMESTAMP

T = TypeVar("T")
Starts = dict[tuple[str, str], dict[int, None]]
"""When the leases of a partition began, by its group and their holder."""
NO_RULE: Final = "none"
"""What a header names where a design has no rule in a field."""
__all__ = ["Case", "Ddl", "Operation", "Placed", "Transaction", "Use"]


class Case:
    """A history to be judged; `measures` is what checkers measure on their way."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.header = history.header
        self.measures = Measures()
        self._built: dict[Callable[[Case], Any], Any] = {}

    def once(self, build: "Callable[[Case], T]") -> "T":
        """What a function makes of this case: it is called once, however many judges ask."""
        if build not in self._built:
            self._built[build] = build(self)
        found: T = self._built[build]
        return found

    def close(self) -> None:
        """Drop all that was built; the case is of no use from then on.

        What is built refers to its case again: without this it stays until the collector looks.
        """
        vars(self).clear()

    @property
    def is_layered(self) -> bool:
        """Whether transactions read at one version, without locks, and write entries of indexes."""
        return self.header.design.plane in LAYERED_PLANES

    @property
    def keeps_entries(self) -> bool:
        """Whether the entries of indexes are kept, and can be judged; else they are the rows'."""
        rule = self.header.design.rules.get("index_entries", NO_RULE)
        return self.is_layered or rule != NO_RULE

    @cached_property
    def _grouped(self) -> dict[type, list[tuple[int, Any]]]:
        return self.history.by_kind()

    def of(self, kind: type[E]) -> list[Placed[E]]:
        """The events of one kind with their positions, in order."""
        return self._grouped.get(kind, [])

    def count(self, name: str) -> int:
        """How many events there are of a kind by its name."""
        return sum(len(placed) for kind, placed in self._grouped.items() if kind.__name__ == name)

    @cached_property
    def schemas(self) -> SchemaLog:
        """The complete log of schema updates."""
        return SchemaLog(self.of(UpdateLogged))

    @cached_property
    def operations(self) -> dict[str, Operation]:
        """Every operation by its name, in the order of the invocations."""
        operations: dict[str, Operation] = {}
        for position, invoked in self.of(Invoked):
            operation = operations.setdefault(invoked.op, Operation(invoked.op))
            if operation.invoked is None:
                operation.invoked, operation.invoked_at = invoked, position
        for kind in _ENDINGS:
            for position, ended in self.of(kind):
                found = operations.get(ended.op)
                if found is not None and found.ended is None:
                    found.ended, found.ended_at = ended, position
        return operations

    @cached_property
    def transactions(self) -> dict[str, Transaction]:
        """Every transaction by its name, in the order of their first mention by a node."""
        found: dict[str, Transaction] = {}
        for _, began in self.of(TxBegan):
            tx = _named(found, began.tx)
            tx.implicit, tx.read_ts = began.implicit, began.read_ts
        for kind, events in _EVENTS:
            for placed in self.of(kind):
                event = placed[1]
                tx = found.get(event.tx) or _named(found, event.tx)
                events(tx).append(placed)
                if kind is not Enlisted and event.op is not None:
                    tx.ops[event.op] = None
        self._ends(found)
        if self.is_layered:
            self._learn_outcomes(found)
        else:
            for tx in found.values():
                leave_out_unused(self.schemas, tx)
        self._spans(found)
        return found

    def _ends(self, found: dict[str, Transaction]) -> None:
        for position, committed in self.of(TxCommitted):
            tx = _named(found, committed.tx)
            if tx.committed is None:
                tx.committed, tx.committed_at = committed, position
                _leave_out_copies(tx, self._lease_starts)
        for position, aborted in self.of(TxAborted):
            tx = _named(found, aborted.tx)
            if tx.aborted is None:
                tx.aborted, tx.aborted_at = aborted, position

    @cached_property
    def _lease_starts(self) -> Starts:
        found: Starts = {}
        for _, lease in self.of(LeaseBegan):
            found.setdefault((lease.group, lease.holder), {})[lease.start_ts] = None
        return found

    def _learn_outcomes(self, found: dict[str, Transaction]) -> None:
        """Commits that only storage tells: their process died, or never had an answer."""
        for position, row in self.of(RowFinal):
            tx = found.get(row.writer)
            if tx is None or tx.ended_us or row.commit_ts == MIN_TIMESTAMP:
                continue
            tables = tuple((one.object_id, one.version, one.version) for _, one in tx.enlisted)
            tx.committed_at = position
            tx.committed = TxCommitted(row.at_us, row.node, tx.name, row.commit_ts, tables)

    def is_undecided(self, name: str) -> bool:
        """Whether no event tells how a transaction on a store ended, so that it may have committed.

        Its process died or had no answer, and what it wrote has been overwritten, or was nothing.
        One that was never asked to commit has not.
        """
        tx = self.transactions.get(name)
        if not self.is_layered or tx is None or tx.ended_us:
            return False
        asked = (self.operations[op] for op in tx.ops if op in self.operations)
        by_itself = tx.implicit or tx.begins_at is None
        return by_itself or any(_asks_to_commit(operation) for operation in asked)

    @cached_property
    def undecided_rows(self) -> dict[tuple[int, Any], None]:
        """The rows that transactions wrote of which no event tells how they ended, by id and key.

        What these rows are, and their entries, is not known from then on.
        """
        written = (
            (event.object_id, tuple(event.key) if isinstance(event.key, list) else event.key)
            for tx in self.transactions.values()
            if self.is_undecided(tx.name)
            for _, event in tx.writes
        )
        return dict.fromkeys(written)

    def _spans(self, found: dict[str, Transaction]) -> None:
        """When each transaction began and ended for its client.

        An implicit transaction is known to its client only as its one operation, which may have
        been tried under several names: each of them began with it, and the committed one ended
        with its answer. The commit of a read-only transaction waits for no read that is under way:
        it has ended once these are answered as well, without an end where one is not.
        """
        chosen = {event.op: None for _, event in self.of(ReadTimeChosen)}
        for operation in self.operations.values():
            invoked = operation.invoked
            assert invoked is not None, operation.name
            tx = None if invoked.tx is None else found.get(invoked.tx)
            if tx is None:
                continue
            tx.ops[operation.name] = None
            if invoked.kind == "commit" and isinstance(operation.ended, Ok):
                tx.ends_at = operation.ended_at
        for tx in found.values():
            for op in tx.ops:
                one = self.operations.get(op)
                if one is None or one.invoked_at is None or one.invoked is None:
                    continue
                one.txs[tx.name] = None
                tx.chosen = tx.chosen or op in chosen
                tx.client = tx.client or one.invoked.client
                tx.session = tx.session or one.invoked.session
                if tx.begins_at is None or one.invoked_at < tx.begins_at:
                    tx.begins_at = one.invoked_at
                alone = tx.implicit or one.invoked.tx is None
                if alone and tx.committed is not None and isinstance(one.ended, Ok):
                    tx.ends_at = one.ended_at
            if tx.read_ts is not None and tx.ends_at is not None:
                tx.ends_at = self._last_answer(tx)

    def _last_answer(self, tx: Transaction) -> int | None:
        """Where the last of a transaction's operations was answered; None if one was not."""
        answers = [one.answered_at for op in tx.ops if (one := self.operations.get(op))]
        return None if None in answers else max(at for at in answers if at is not None)

    def is_under_way(self, tx: Transaction | None, op: str) -> bool:
        """Whether the client asked for the commit before the operation was answered [110.x.2]."""
        if tx is None or tx.read_ts is not None:
            return False
        known = self.operations
        ended_at = known[op].ended_at if op in known else None
        asked = (known[one].invoked_at for one in tx.ops if _asks_to_commit(known[one]))
        return any(at is not None and (ended_at is None or ended_at > at) for at in asked)

    def is_upkeep(self, name: str) -> bool:
        """Whether a transaction is a statement's own, such as one that fills an index.

        It has no client's operation. It goes by the schema that the statement makes, which need not
        be in force yet.
        """
        tx = self.transactions.get(name)
        return self.is_layered and tx is not None and tx.begins_at is None

    @cached_property
    def deaths(self) -> dict[str, list[int]]:
        """Where each node died, in order."""
        found: dict[str, list[int]] = {}
        for at, death in self.of(NodeCrashed):
            found.setdefault(death.node, []).append(at)
        return found

    @cached_property
    def of_cluster(self) -> dict[str, int]:
        """The facts about the whole cluster in the header."""
        return self.header.settings.get("", {})

    def settings(self, key: str) -> list[int]:
        """Every value that a setting had when the run began, on any node."""
        return [of[key] for of in self.header.settings.values() if key in of]

    @cached_property
    def faults(self) -> list[FaultBegan | FaultHealed | NodeCrashed | NodeRestarted]:
        """Every beginning and end of a fault or a death."""
        kinds = (FaultBegan, FaultHealed, NodeCrashed, NodeRestarted)
        return [event for kind in kinds for _, event in self._grouped.get(kind, ())]

    @cached_property
    def dead(self) -> dict[str, None]:
        """The nodes that were dead when the run ended."""
        lives = {event.node: at for at, event in self.of(NodeRestarted)}
        return {
            event.node: None for at, event in self.of(NodeCrashed) if lives.get(event.node, -1) < at
        }

    @cached_property
    def began(self) -> dict[str, Placed[TxBegan]]:
        """Where each transaction began."""
        return {placed[1].tx: placed for placed in self.of(TxBegan)}

    @cached_property
    def committed(self) -> list[Transaction]:
        """The committed transactions by where they stand; of equal ones, the first to be stored."""
        found = [tx for tx in self.transactions.values() if tx.committed is not None]
        return sorted(found, key=_commit_order)

    @cached_property
    def ddls(self) -> dict[str, Ddl]:
        """Every DDL operation that a node decided or the log holds, by its name."""
        found: dict[str, Ddl] = {}
        for _, decided in self.of(DdlDecided):
            ddl = self._ddl(found, decided.op)
            ddl.decided = ddl.decided or decided
        for position, logged in self.of(UpdateLogged):
            if logged.op is not None:
                ddl = self._ddl(found, logged.op)
                ddl.logged, ddl.logged_at = logged, position  # of several updates the last
        return found

    def _ddl(self, found: dict[str, Ddl], op: str) -> Ddl:
        if op not in found:
            found[op] = Ddl(self.operations.get(op) or Operation(op))
        return found[op]

    @cached_property
    def named(self) -> dict[str, Named]:
        """What each operation names beside its table and key, of those that name anything."""
        return {event.op: event for _, event in self.of(Named)}

    @cached_property
    def encodings(self) -> dict[str, list[Placed[Encoded]]]:
        """What each operation's client encoded, in order."""
        found: dict[str, list[Placed[Encoded]]] = {}
        for placed in self.of(Encoded):
            found.setdefault(placed[1].op, []).append(placed)
        return found

    @cached_property
    def uses_of(self) -> dict[str, list[Use]]:
        """The uses of schema versions by each operation, in order."""
        found: dict[str, list[Use]] = {}
        for tx in self.transactions.values():
            for use in tx.uses():
                found.setdefault(use.event.op, []).append(use)
        return found

    @cached_property
    def versions_written(self) -> dict[int, list[int]]:
        """The schema versions under which rows of each table were written."""
        found: dict[int, dict[int, None]] = {}
        for _, write in self.of(WriteExecuted):
            found.setdefault(write.object_id, {})[write.version] = None
        return {object_id: sorted(versions) for object_id, versions in found.items()}

    def meant(self, write: WriteExecuted, position: int) -> Encoded | None:
        """What the client meant by a write: what it encoded last for this table before it."""
        for encoded in self._encoded_before(write, position):
            if encoded.object_id == write.object_id:
                return encoded
        return None

    def encoded(self, write: WriteExecuted, position: int) -> Encoded | None:
        """What the client encoded last before a write, for whatever table."""
        return next(self._encoded_before(write, position), None)

    def _encoded_before(self, write: WriteExecuted, position: int) -> Iterator[Encoded]:
        """What an operation's client encoded before a write of it, the last first.

        An implicit transaction that was aborted is the operation's earlier try: what is executed
        for it later was encoded before its abort, and a later encoding is of another try.
        """
        tx = self.transactions.get(write.tx)
        if tx is not None and tx.implicit and tx.aborted is not None:
            position = min(position, tx.aborted_at)
        for at, encoded in reversed(self.encodings.get(write.op, ())):
            if at < position:
                yield encoded

    def statement(self, op: str | None) -> str:
        """The SQL of a DDL operation, as far as it is known."""
        operation = None if op is None else self.operations.get(op)
        invoked = None if operation is None else operation.invoked
        return "" if invoked is None or invoked.sql is None else invoked.sql


_ENDINGS: tuple[type[Any], ...] = (Ok, Failed, Unknown)
_EVENTS: tuple[tuple[type[Any], Callable[[Transaction], list[Any]]], ...] = (
    (ReadExecuted, attrgetter("reads")),
    (WriteExecuted, attrgetter("writes")),
    (MetadataRead, attrgetter("metadata")),
    (Enlisted, attrgetter("enlisted")),
    (SchemaResolved, attrgetter("resolved")),
)


def _asks_to_commit(operation: Operation) -> bool:
    return operation.invoked is not None and operation.invoked.kind == "commit"


def _leave_out_copies(tx: Transaction, starts: Starts) -> None:
    """Keep of an implicit transaction the writes before its commit, and the reads that count.

    It is one operation, which is tried again at another primary, or under another lease of the same
    one, while the first try may still be under way: what is executed after the commit is a copy,
    and is answered with the result of the first. What was read for it under an earlier lease of a
    partition, where it was written under another one later, was for a refusal that came too late:
    that of a constraint shows the row that stood against the write.
    """
    if not tx.implicit:
        return
    tx.writes = [placed for placed in tx.writes if placed[0] < tx.committed_at]
    if tx.reads and tx.writes:
        wrote = {(one.object_id, one.partition): (at, one) for at, one in tx.writes}
        tx.reads = [(at, one) for at, one in tx.reads if not _is_over(at, one, wrote, starts)]


def _is_over(
    at: int,
    event: ReadExecuted,
    wrote: dict[tuple[int, int], Placed[WriteExecuted]],
    starts: Starts,
) -> bool:
    """Whether its place was written later at another node, or under a later lease of this one."""
    written_at, write = wrote.get((event.object_id, event.partition), (-1, None))
    if write is None or at >= written_at:
        return False
    group = f"{event.object_id}/{event.partition}"
    later = (event.op_ts < one <= write.op_ts for one in starts.get((group, event.node), ()))
    return event.node != write.node or any(later)


def _named(found: dict[str, Transaction], name: str) -> Transaction:
    tx = found.get(name)
    if tx is None:
        tx = found[name] = Transaction(name)
    return tx


def _commit_order(tx: Transaction) -> tuple[int, int]:
    return (tx.stamp, tx.committed_at)
