"""Part of I9: an operation never waits for a faulty node that is not one of its participants.

Participants of an operation are the node that its client talks to, the nodes where it looked up
schemas or executed, the nodes known to hold a replica or a lease of a table that its transaction
touches, and for a DDL the leader of the meta storage. Every operation needs the metadata of
its nodes; so nothing is judged while the leader of the meta storage was faulty or there was none,
as between a leader without a majority and the next election, or while half of its voters may have
been faulty. Nor is a run judged in which healthy nodes wait for other reasons (not `calm`), nor a
wait during which no node was faulty.

An operation is compared with those of its kind during which no node was faulty; a statement without
any such is judged by the settings.

A wait for a lock may last as long as its holder lives: it is no anomaly, and counted where a holder
had a faulty participant.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Operation, Transaction
from ddlsim.checkers.progress.bounds import Bounds
from ddlsim.checkers.progress.calm import Calm
from ddlsim.checkers.progress.faulty_nodes import FaultSpan, Leaders
from ddlsim.checkers.progress.obligations import statement_us
from ddlsim.history.events import (
    AnyEvent,
    Failed,
    Invoked,
    LockWaited,
    Ok,
    ReadExecuted,
    SchemaResolved,
    Unknown,
    WriteExecuted,
)
from ddlsim.history.world_events import LeaseBegan, PartitionSafeTime
from ddlsim.model.ddl import IndexStateSet
from ddlsim.units import as_ms

JUDGED = ("get", "put", "delete", "insert", "replace", "update", "commit", "ddl")
"""Not scans, whose partitions may have no event; begin and rollback wait for no node."""
WAIT_FOR_WORK: Final = (
    "install_if_seen_empty",
    "install_pending_first",
    "install_once_unused",
    "install_in_states",
)
"""The rules by which a statement waits for transactions, or for rows and their primaries."""


class Waits:
    """The waits of one run with faulty nodes."""

    def __init__(self, case: Case, bounds: Bounds) -> None:
        self._case = case
        self._bounds = bounds
        self._faulty = bounds.faulty
        self._leaders = Leaders(case)
        voters = case.of_cluster.get("voters", 1)
        self._voters = [node for node in case.header.settings if node][:voters]
        """The first nodes vote; the rest of them learn."""
        self._half = voters - voters // 2

    def check(self) -> Iterator[Anomaly]:
        """Waits for schemas, then operations as a whole."""
        yield from self._schemas()
        yield from self._operations()

    def _unrelated(
        self, nodes: dict[str, None], from_us: int, until_us: int
    ) -> dict[str, FaultSpan]:
        """The faulty nodes of a span, if its participants and the meta storage were healthy."""
        faulty = self._faulty.nodes(from_us, until_us)
        leaders = self._leaders.between(from_us, until_us)
        if not faulty or not leaders or sum(one in faulty for one in self._voters) >= self._half:
            return {}
        if self._leaders.were_missing(from_us, until_us):
            return {}
        if any(self._faulty.during(node, from_us, until_us) for node in [*nodes, *leaders]):
            return {}
        return faulty

    # --- schemas ---------------------------------------------------------------------------------

    def _schemas(self) -> Iterator[Anomaly]:
        least_us = self._bounds.least_us
        for _, resolved in self._case.of(SchemaResolved):
            if resolved.waited_us <= least_us:
                continue
            bound_us = self._bounds.completeness_us
            if resolved.waited_us <= bound_us:
                continue
            from_us = resolved.at_us - resolved.waited_us
            unrelated = self._unrelated({resolved.node: None}, from_us, resolved.at_us)
            if unrelated:
                yield _anomaly(
                    "schema-wait",
                    f"node {resolved.node} waited {as_ms(resolved.waited_us)} ms for its metadata "
                    f"to be complete for {resolved.tx} ({resolved.purpose}), where "
                    f"{as_ms(bound_us)} ms are enough",
                    unrelated,
                    (resolved,),
                )

    # --- whole operations ------------------------------------------------------------------------

    def _operations(self) -> Iterator[Anomaly]:
        """Each against the operations of its kind during which no node was faulty."""
        spans: dict[bool, list[tuple[Operation, int]]] = {False: [], True: []}
        healthy: dict[bool, list[int]] = {False: [], True: []}
        members = list(self._judged())
        slow_us = self._bounds.quick_us((0,))
        if not any(ended.at_us - asked.at_us > slow_us for _, asked, ended in members):
            return
        for operation, asked, ended in members:
            is_ddl = asked.kind == "ddl"
            busy_us = ended.at_us - asked.at_us - self._excused.get(operation.name, 0)
            if self._faulty.nodes(asked.at_us, ended.at_us):
                spans[is_ddl].append((operation, busy_us))
            else:
                healthy[is_ddl].append(busy_us)
        for is_ddl, suspects in spans.items():
            quick_us = self._bounds.quick_us(healthy[is_ddl]) if healthy[is_ddl] else None
            for operation, busy_us in suspects:
                if quick_us is not None and busy_us > quick_us:
                    yield from self._one(operation, busy_us, healthy[is_ddl], is_ddl=is_ddl)
                elif quick_us is None and is_ddl:
                    yield from self._statement(operation, busy_us)

    def _judged(self) -> Iterator[tuple[Operation, Invoked, Ok | Failed | Unknown]]:
        for operation in self._case.operations.values():
            asked, ended = operation.invoked, operation.ended
            if asked is not None and ended is not None and asked.kind in JUDGED:
                yield operation, asked, ended

    def _one(
        self, operation: Operation, busy_us: int, healthy: list[int], *, is_ddl: bool
    ) -> Iterator[Anomaly]:
        asked, ended = operation.invoked, operation.ended
        assert asked is not None, operation.name
        assert ended is not None, operation.name
        if busy_us <= self._bounds.operation_us(healthy):
            return
        nodes = self._participants(operation)
        unrelated = self._unrelated(nodes, asked.at_us, ended.at_us) if nodes else {}
        if not unrelated:
            return
        bound_us = self._bounds.operation_us(healthy)
        if is_ddl:
            bound_us = self._bounds.ddl_us(healthy, asked.at_us, ended.at_us)
        elif self._reads_the_past(operation):
            bound_us = self._bounds.read_only_us(healthy)
        if busy_us > bound_us:
            yield _slow(operation, busy_us, bound_us, nodes, unrelated)

    def _statement(self, operation: Operation, busy_us: int) -> Iterator[Anomaly]:
        """A statement where no other shows how long one takes: by the settings, as in a calm run.

        Not where a design's statements wait for transactions or rows: the history does not name
        those, nor their nodes. Nor across an election: the leader before may not know of it yet.
        """
        rules = self._case.header.design.rules
        if "slowest_us" not in self._case.of_cluster or rules.get("install") in WAIT_FOR_WORK:
            return
        asked, ended = operation.invoked, operation.ended
        assert asked is not None, operation.name
        assert ended is not None, operation.name
        bound_us = statement_us(self._case, self._case.once(Calm), operation)
        if busy_us <= bound_us or len(self._leaders.between(asked.at_us, ended.at_us)) > 1:
            return
        nodes = self._participants(operation)
        unrelated = self._unrelated(nodes, asked.at_us, ended.at_us)
        if unrelated:
            yield _slow(operation, busy_us, bound_us, nodes, unrelated)

    def _reads_the_past(self, operation: Operation) -> bool:
        return any(tx.read_ts is not None for tx in self._transactions(operation))

    def _transactions(self, operation: Operation) -> Iterator[Transaction]:
        """Those that an operation was tried under, or the one that it belongs to."""
        asked = operation.invoked
        own = {} if asked is None or asked.tx is None else {asked.tx: None}
        for name in operation.txs or own:
            tx = self._case.transactions.get(name)
            if tx is not None:
                yield tx

    def _participants(self, operation: Operation) -> dict[str, None]:
        """The nodes; none where the history does not show where a data operation ran."""
        asked = operation.invoked
        assert asked is not None, operation.name
        nodes = {asked.node: None}
        if asked.kind == "ddl":
            ddl = self._case.ddls.get(operation.name)
            if ddl is not None and ddl.decided is not None:
                nodes[ddl.decided.node] = None
            return nodes | self._builders(operation)
        executed = False
        for tx in self._transactions(operation):
            for event in tx.accesses:
                executed = executed or event.op == operation.name or asked.kind == "commit"
                nodes |= {event.node: None} | self._of_table.get(event.object_id, {})
            nodes |= {event.node: None for _, event in tx.resolved}
            nodes |= {} if tx.committed is None else {tx.committed.node: None}
        return nodes if executed else {}

    def _builders(self, operation: Operation) -> dict[str, None]:
        """The nodes of a table whose index a statement takes through states: each may fill it."""
        nodes: dict[str, None] = {}
        for _, update in self._case.schemas.updates:
            for step in update.objects if update.op == operation.name else ():
                if any(isinstance(one, IndexStateSet) for one in step.changes):
                    nodes |= self._of_table.get(step.object_id, {})
        return nodes

    @cached_property
    def _of_table(self) -> dict[int, dict[str, None]]:
        """Every node that is known to have served a table."""
        found: dict[int, dict[str, None]] = {}
        for kind in (ReadExecuted, WriteExecuted):
            for _, event in self._case.of(kind):
                assert isinstance(event, ReadExecuted | WriteExecuted), event
                found.setdefault(event.object_id, {})[event.node] = None
        members = [(e.group, e.node) for _, e in self._case.of(PartitionSafeTime)]
        members += [(e.group, e.holder) for _, e in self._case.of(LeaseBegan)]
        for group, node in members:
            found.setdefault(int(group.partition("/")[0]), {})[node] = None
        return found

    @cached_property
    def _excused(self) -> dict[str, int]:
        """How long each operation waited for locks and schemas."""
        found: dict[str, int] = {}
        for _, waited in self._case.of(LockWaited):
            found[waited.op] = found.get(waited.op, 0) + waited.waited_us
        for _, resolved in self._case.of(SchemaResolved):
            op = resolved.op or f"{resolved.tx}.c"
            found[op] = found.get(op, 0) + resolved.waited_us
        return found

    # --- locks -----------------------------------------------------------------------------------

    def blocked_behind(self) -> int:
        """Number of long waits for a lock of a transaction with a faulty participant."""
        count, least_us = 0, self._bounds.least_us
        users: dict[int, dict[str, None]] | None = None
        for _, waited in self._case.of(LockWaited):
            if waited.waited_us <= least_us or waited.waited_us <= self._bounds.completeness_us:
                continue
            users = self._users() if users is None else users
            from_us = waited.at_us - waited.waited_us
            names = users.get(waited.object_id, {})
            if any(name != waited.tx and self._was_faulty(name, waited, from_us) for name in names):
                count += 1
        return count

    def _users(self) -> dict[int, dict[str, None]]:
        found: dict[int, dict[str, None]] = {}
        for tx in self._case.transactions.values():
            for event in tx.accesses:
                found.setdefault(event.object_id, {})[tx.name] = None
        return found

    def _was_faulty(self, name: str, waited: LockWaited, from_us: int) -> bool:
        """Whether a transaction that may have held the lock had a faulty participant."""
        tx = self._case.transactions[name]
        before = [e for e in tx.accesses if e.at_us <= waited.at_us]
        keys = (waited.key, None)
        held = any(
            e.object_id == waited.object_id
            and (isinstance(e, ReadExecuted) or waited.key is None or e.key in keys)
            for e in before
        )
        if not held or min(tx.ended_us, default=from_us) < from_us:
            return False
        nodes = {e.node: None for e in before} | {e.node: None for _, e in tx.resolved}
        return self._faulty.any_of(nodes, from_us, waited.at_us)


def _slow(
    operation: Operation,
    busy_us: int,
    bound_us: int,
    nodes: dict[str, None],
    unrelated: dict[str, FaultSpan],
) -> Anomaly:
    asked, ended = operation.invoked, operation.ended
    assert asked is not None, operation.name
    assert ended is not None, operation.name
    return _anomaly(
        "slow-operation",
        f"{operation.name} ({asked.kind} on node {asked.node}) took {as_ms(busy_us)} ms, its "
        f"waits for locks and schemas apart, where {as_ms(bound_us)} ms are enough; its "
        "participants were "
        f"{', '.join(nodes)}",
        unrelated,
        (asked, ended),
    )


def _anomaly(
    kind: str, what: str, unrelated: dict[str, FaultSpan], witness: tuple[AnyEvent, ...]
) -> Anomaly:
    others = ", ".join(f"{node or 'a node'} ({span.why})" for node, span in unrelated.items())
    return Anomaly(
        kind,
        f"{what}; none of its participants was faulty then, but other nodes were: {others}",
        witness,
        clauses=("98.risk.2",),
    )
