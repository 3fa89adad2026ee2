"""The direct serialization graph of committed transactions and DDLs (protocol.md section 8).

A read-only transaction stands at its read_ts. It reads the past by design, so real time leads out
of it and not into it, but from what its own client had ended before, if that carries a token.

A table's schema is one item with many versions: the DDL D_v writes version v, an operation under v
reads it. Hence D_v -> T (wr), T -> D_{v+1} (rw) and D_v -> D_{v+1} (ww), beside
the ordinary edges on rows (in the order of commit_ts, since writers hold strict locks) and on what
scans, and queries by an index, did not find. Every transaction that is stored as committed is a
node, whatever its client knows; so is every logged DDL.

Nodes are numbered by rank, commit_ts or activation_ts; where they tie, a DDL comes first, since at
commit_ts = Tu the new version counts already. In a run without surprises every edge goes up.

Statements read the catalog: a DDL what it was built on, and one that was refused or changed nothing
is a node that has only read. Each name is an item that the updates of the log write (`statements`).

An edge T -> D_{v+1} that the relaxed graph drops is kept for the strict one. What it implied is not
lost: T then precedes the next DDL on that table that it may *not* be taken to have seen.
"""

from functools import cached_property
from itertools import pairwise

import numpy as np

from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.statements import Name, answered, built, meanings_of
from ddlsim.checkers.case.writes import Item, Version, Writes, writes_of
from ddlsim.checkers.graph.backward import Backward, Hold
from ddlsim.checkers.graph.edges import (
    Edge,
    InstalledThenNamed,
    InstalledThenReplaced,
    InstalledThenUsed,
    NamedThenChanged,
    Node,
    Overwritten,
    ReadFrom,
    ReadThenOverwritten,
    SchemaUse,
    UsedThenReplaced,
    as_use,
    kind_of,
)
from ddlsim.checkers.graph.index_predicates import NOWHERE, queries_of
from ddlsim.checkers.graph.late import MISJUDGED, is_misjudged, lateness
from ddlsim.checkers.graph.sessions import client_of, session_edges
from ddlsim.graph.edges import RW, STRICT_ONLY, WR, WW, Edges
from ddlsim.history.events import Enlisted, ReadExecuted, RowRead


class Graph:
    """Nodes by rank, and the edges between them but for real time, which spans give."""

    def __init__(self, case: Case, writes: Writes) -> None:
        self._case = case
        self._writes = writes
        self._backward = Backward(case, writes)
        self.nodes = sorted(
            [*_transactions(case), *ddl_nodes(case), *statement_nodes(case)], key=_rank
        )
        self.edges: list[Edge] = []
        self._of_tx: dict[str, int] = {}
        self._of_version: dict[tuple[int, int], int] = {}
        self._of_catalog: dict[int, int] = {}
        for number, node in enumerate(self.nodes):
            if node.tx is not None:
                self._of_tx[node.tx.name] = number
            elif node.update is not None:
                self._of_catalog.setdefault(node.update.catalog_version, number)
                for change in node.update.objects:
                    self._of_version.setdefault((change.object_id, change.version), number)
        self._ranks: dict[Item, list[int]] = {
            item: [self._of_tx[version.write.tx] for version in versions]
            for item, versions in writes.versions.items()
        }
        self._schema_versions()
        self._row_versions()
        for number, node in enumerate(self.nodes):
            if node.tx is not None:
                self._schema_uses(number, node.tx)
                self._reads(number, node.tx)
        self._statements()
        for edge in session_edges(case, self.nodes):
            self._add(edge)

    def _add(self, edge: Edge) -> None:
        if edge.source != edge.target:
            self.edges.append(edge)

    def of_reader(self, tx: Transaction) -> list[Edge]:
        """The edges of a transaction that is no node, as if it were one more, the last."""
        kept, self.edges = self.edges, []
        self._schema_uses(len(self.nodes), tx)
        self._reads(len(self.nodes), tx)
        found, self.edges = self.edges, kept
        return found

    @cached_property
    def clients(self) -> list[str | None]:
        """Whose doing each node is."""
        return [client_of(self._case, node) for node in self.nodes]

    @cached_property
    def after(self) -> dict[int, list[Edge]]:
        """The edges out of each node, less those that only the strict graph has."""
        found: dict[int, list[Edge]] = {}
        for edge in self.edges:
            if not edge.strict_only:
                found.setdefault(edge.source, []).append(edge)
        return found

    def columns(self, *, strict: bool) -> Edges:
        """The edges as arrays, `why` their places in `edges`; without those of the strict graph."""
        found = self._columns
        return found if strict else found.take((found.kind & STRICT_ONLY) == 0)

    @cached_property
    def _columns(self) -> Edges:
        count = len(self.edges)
        source = np.fromiter((edge.source for edge in self.edges), np.int32, count)
        target = np.fromiter((edge.target for edge in self.edges), np.int32, count)
        kind = np.fromiter((edge.marks for edge in self.edges), np.uint16, count)
        return Edges(source, target, kind, np.arange(count, dtype=np.int32))

    # --- the schema as an item -------------------------------------------------------------------

    def _schema_versions(self) -> None:
        for (object_id, version), target in self._of_version.items():
            after = self._case.schemas.version(object_id, version)
            before = self._before(object_id, version)
            if before is None or after is None:
                continue
            source = self._of_version[object_id, before.version]
            self._add(Edge(source, target, WW, InstalledThenReplaced(before, after)))

    def replaced(self, use: SchemaUse, upto: int) -> tuple[Edge, ...]:
        """The changes from the version that was used to a later one, each joined to the next."""
        steps = self._case.schemas.steps(use.object_id, use.version - 1, upto)
        return tuple(
            Edge(
                self._of_version[use.object_id, before.version],
                self._of_version[use.object_id, after.version],
                WW,
                InstalledThenReplaced(before, after),
            )
            for before, after in pairwise(steps)
        )

    def _before(self, object_id: int, version: int) -> SchemaVersion | None:
        steps = self._case.schemas.steps(object_id, -1, version - 1)
        return steps[-1] if steps else None

    def _schema_uses(self, number: int, tx: Transaction) -> None:
        """One wr and one rw for each version of each object that a transaction used."""
        uses: dict[tuple[int, int], SchemaUse] = {}
        for used in tx.uses():
            uses.setdefault((used.object_id, used.version), as_use(used))
        for enlisted in self._ways(tx) if uses else ():
            key = (enlisted.object_id, enlisted.version)
            uses.setdefault(key, SchemaUse(*key, enlisted))
        for (object_id, version), use in uses.items():
            source = self._of_version.get((object_id, version))
            if source is not None:
                self._add(Edge(source, number, WR, InstalledThenUsed(use)))
            self._replaced(number, tx, use)

    def _ways(self, tx: Transaction) -> list[Enlisted]:
        """The views and aliases that it used: none where what was executed named tables alone.

        A commit may overtake an operation whose name has been looked up and that is not executed.
        """
        is_way = self._case.schemas.is_way
        ways = [enlisted for _, enlisted in tx.enlisted if is_way(enlisted.object_id)]
        if not ways:
            return ways
        tables = {one.name for _, one in tx.enlisted} - {one.name for one in ways}
        asked = [self._case.operations.get(used.event.op) for used in tx.uses()]
        named = {one.invoked.table if one and one.invoked else None for one in asked}
        return [] if named <= tables else ways

    def _replaced(self, number: int, tx: Transaction, use: SchemaUse) -> None:
        """T -> D_{v+1}; where the relaxed graph drops it, the edge that it leaves there."""
        step = self._case.schemas.after(use.object_id, use.version)
        if step is None:
            return
        hold = self._backward.hold(tx, use.version, step)
        self._before_ddl(number, tx, use, step, hold)
        if hold is not None:
            return
        step = self._backward.next_incompatible(step)
        hold = None if step is None else self._backward.hold(tx, use.version, step)
        if step is not None and hold is not None:
            self._before_ddl(number, tx, use, step, hold)

    def _before_ddl(
        self, number: int, tx: Transaction, use: SchemaUse, step: SchemaVersion, hold: Hold | None
    ) -> None:
        target = self._of_version[step.object_id, step.version]
        late = lateness(self._case, self._writes, tx, use, step)
        if not late and hold is not None and not self._backward.ruling(step).compatible:
            late = MISJUDGED if is_misjudged(self._case, tx, use, step) else late
        ruling = self._backward.ruling(step) if hold is None else None
        reason = UsedThenReplaced(use, step, hold, late, ruling)
        self._add(Edge(number, target, RW, reason, strict_only=hold is None))

    # --- the catalog as statements read it -------------------------------------------------------

    def _statements(self) -> None:
        for number, node in enumerate(self.nodes):
            if node.statement is not None:
                rests_on = node.statement.decided.catalog_version
                for name in node.statement.names:
                    self._named(number, name, rests_on)
            elif node.update is not None and node.update.built_on is not None:
                for name in built(self._case, node.update):
                    self._named(number, name, node.update.built_on)

    def _named(self, number: int, name: Name, rests_on: int) -> None:
        """wr from the DDL that gave a name the meaning that was found, rw to the next change."""
        meanings = meanings_of(self._case)
        known, place = meanings.all(name), meanings.place(name, rests_on)
        if place:
            source = self._of_catalog[known[place - 1].catalog_version]
            self._add(Edge(source, number, WR, InstalledThenNamed(name, rests_on)))
        if place < len(known):
            target = self._of_catalog[known[place].catalog_version]
            self._add(Edge(number, target, RW, NamedThenChanged(name, rests_on)))

    # --- rows ------------------------------------------------------------------------------------

    def _row_versions(self) -> None:
        for item, versions in self._writes.versions.items():
            ranks = self._ranks[item]
            for at in range(1, len(versions)):
                reason = Overwritten(versions[at - 1].write, versions[at].write)
                self._add(Edge(ranks[at - 1], ranks[at], WW, reason))

    def _reads(self, number: int, tx: Transaction) -> None:
        for position, read in tx.reads:
            for row in read.rows:
                item = (read.object_id, row.key)
                if row.writer is None:
                    self._next(number, read, item, row, -1)
                    continue
                place = self._writes.order.get((row.writer, item))
                if place is not None and row.writer != tx.name:
                    version = self._writes.versions[item][place]
                    reason = ReadFrom(version.write, read, row)
                    self._add(Edge(self._of_tx[row.writer], number, WR, reason))
                    self._next(number, read, item, row, place)
            if read.predicate:
                self._not_found(number, tx, position, read)
        for one in queries_of(self._case).unfound(tx):
            versions = self._writes.versions[one.item]
            if one.taken_out != NOWHERE:
                reason = ReadFrom(versions[one.taken_out].write, one.read, None)
                self._add(Edge(self._ranks[one.item][one.taken_out], number, WR, reason))
            if one.put_in != NOWHERE:
                self._next(number, one.read, one.item, None, one.put_in - 1)

    def _next(
        self, number: int, read: ReadExecuted, item: Item, row: RowRead | None, place: int
    ) -> None:
        """rw to the writer of the version after the one that was read."""
        versions = self._writes.versions.get(item)
        if versions is not None and place + 1 < len(versions):
            target = self._ranks[item][place + 1]
            if target != number:
                reason = ReadThenOverwritten(read, item, row, versions[place + 1].write)
                self.edges.append(Edge(number, target, RW, reason))

    def _snapshot(self, tx: Transaction, read: ReadExecuted) -> int | None:
        """The timestamp up to which a read finds what is committed; None: all that is stored."""
        return read.op_ts if self._case.is_layered else tx.read_ts

    def _not_found(self, number: int, tx: Transaction, position: int, read: ReadExecuted) -> None:
        """Keys of the partition that a scan did not mention: it read their absence.

        No event says which deletion it saw; it is taken to be the last one stored before the scan.
        """
        keys = self._writes.partitions.get((read.object_id, read.partition), {})
        found = {row.key: None for row in read.rows}
        if len(found) == len(keys) and all(key in found for key in keys):
            return
        for key in keys:
            item = (read.object_id, key)
            if key in found or wrote_before(self._writes, tx, item, position):
                continue
            versions = self._writes.versions[item]
            place = last_deletion(versions, position, self._snapshot(tx, read))
            if place >= 0:
                reason = ReadFrom(versions[place].write, read, None)
                self._add(Edge(self._ranks[item][place], number, WR, reason))
            self._next(number, read, item, None, place)


def _transactions(case: Case) -> list[Node]:
    return [
        Node(tx.name, "T", tx.stamp, _begins_at(tx), tx.ends_at, tx, None) for tx in case.committed
    ]


def _begins_at(tx: Transaction) -> int | None:
    """Where real time puts a transaction: one that reads the past may come before what ended."""
    return tx.begins_at if tx.read_ts is None else None


def ddl_nodes(case: Case) -> list[Node]:
    """Every logged DDL as a node, in the order of the log."""
    found: list[Node] = []
    for _, update in case.schemas.updates:
        operation = None if update.op is None else case.operations.get(update.op)
        begins_at = None if operation is None else operation.invoked_at
        ends_at = None if operation is None else operation.answered_at
        changes = tuple(change for one in update.objects for change in one.changes)
        found.append(
            Node(
                f"D{update.catalog_version}",
                kind_of(changes),
                update.activation_ts,
                begins_at,
                ends_at,
                None,
                update,
            )
        )
    return found


def statement_nodes(case: Case) -> list[Node]:
    """Every statement that was answered and left no update, as a node that only read.

    It stands where its catalog version was the newest: at its node's now, or at Tu if that is
    later, for what it did not know activates later than both.
    """
    found: list[Node] = []
    for one in answered(case):
        operation, decided = one.ddl.operation, one.decided
        ts = max(decided.asked_ts, decided.activation_ts)
        spans = (operation.invoked_at, operation.answered_at)
        found.append(Node(one.label, "T", ts, *spans, None, None, one))
    return found


def _rank(node: Node) -> tuple[int, int, int]:
    if node.update is not None:
        return (node.ts, 0, node.update.catalog_version)
    if node.statement is not None:
        return (node.ts, 1, node.statement.ddl.operation.invoked_at or 0)
    assert node.tx is not None, node.label
    return (node.ts, 1, node.tx.committed_at)


def wrote_before(writes: Writes, tx: Transaction, item: Item, position: int) -> bool:
    """Whether a transaction had written a row itself before a position."""
    own = writes.of.get((tx.name, item))
    return own is not None and own[0].position < position


def last_deletion(versions: list[Version], position: int, read_ts: int | None) -> int:
    """The place of the last deletion stored before a scan, or up to its read_ts; -1 for none."""
    place = -1
    for at, version in enumerate(versions):
        known = version.committed_at < position if read_ts is None else version.commit_ts <= read_ts
        if version.write.event.row is None and known:
            place = at
    return place


def graph_of(case: Case) -> Graph:
    """The graph of a case, built once."""
    return case.once(_graph)


def _graph(case: Case) -> Graph:
    return Graph(case, writes_of(case))
