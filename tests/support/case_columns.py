"""One of our histories of events as columns, for the columnar judge (sim/graph).

It reads what `graph` reads: committed versions of rows in the order of commit_ts, what reads and
scans found, schema versions in the order of the log with the relaxed rule's holds, real time by
positions, and the sessions of read-only transactions with a token. A DDL is a transaction that
writes `schema:<object>`, and `name:<name>` for what statements named; one that left no update is a
transaction that has read that. Writes of transactions that did not commit come after all others of
their key, so that nobody is taken to have overwritten them.
"""

from typing import Any, Final, NamedTuple

from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.statements import Name, built, meanings_of
from ddlsim.checkers.case.writes import Item, Writes, writes_of
from ddlsim.checkers.graph.backward import Backward
from ddlsim.checkers.graph.edges import Node, as_use
from ddlsim.checkers.graph.graph import ddl_nodes, last_deletion, statement_nodes, wrote_before
from ddlsim.checkers.graph.sessions import client_of
from ddlsim.graph.history import (
    ABORTED,
    COMMITTED,
    NONE,
    PRECEDES,
    PREDICATE,
    READ,
    SCHEMA,
    WRITE,
    ColumnHistory,
    Names,
    make,
)
from ddlsim.history.events import ReadExecuted, RowRead, WriteExecuted

TRANSACTIONS: Final = ("process", "begin", "end", "read_ts", "commit_ts", "status", "ddl")


class Row(NamedTuple):
    """An operation as columns have it."""

    tx: int
    key: int
    kind: int
    version: int
    strict_only: bool = False


def as_columns(case: Case) -> ColumnHistory:
    """A case's transactions and DDLs as columns, in the order of their first mention."""
    return _Columns(case, writes_of(case)).history()


class _Columns:
    """The columns while they are gathered."""

    def __init__(self, case: Case, writes: Writes) -> None:
        self._case = case
        self._writes = writes
        self._backward = Backward(case, writes)
        self._keys: dict[Item | tuple[str, int] | Name, int] = {}
        self._numbers: dict[int, int] = {}
        """The version that each write installs, by its position."""
        self._count: dict[Item, int] = {}
        self._rows: list[Row] = []
        self._of: dict[str, list[Any]] = {name: [] for name in TRANSACTIONS}
        self._names: list[str] = []
        self._number_writes()

    def history(self) -> ColumnHistory:
        """All of it."""
        for tx in self._case.transactions.values():
            self._transaction(tx)
        self._ddls()
        self._statements()
        self._rows.sort(key=lambda row: row.tx)
        rows = list(zip(*self._rows, strict=True)) or [()] * 5
        operations = dict(zip(Row._fields, rows, strict=True))
        keys = [self._name(key) for key in self._keys]
        self._sessions()
        return make(transactions=self._of, operations=operations, names=Names(self._names, keys))

    def _number_writes(self) -> None:
        """Committed writes by commit_ts, then the others as the history has them."""
        of = self._writes.of
        order = [
            (version.write.tx, item) for item, v in self._writes.versions.items() for version in v
        ]
        known = dict.fromkeys(order)
        for tx, item in (*order, *(one for one in of if one not in known)):
            for write in of[tx, item]:
                self._count[item] = self._count.get(item, 0) + 1
                self._numbers[write.position] = self._count[item]

    def _key(self, item: Item | tuple[str, int] | Name) -> int:
        return self._keys.setdefault(item, len(self._keys))

    def _name(self, item: Item | tuple[str, int] | Name) -> str:
        if isinstance(item, Name):
            return f"name:{item}"
        object_id, key = (item[1], None) if item[0] == "schema" else item
        assert isinstance(object_id, int), item
        newest = self._case.schemas.newest(object_id)
        name = f"object {object_id}" if newest is None else newest.name
        return f"schema:{name}" if item[0] == "schema" else f"{name}[{key!r}]"

    # --- transactions ----------------------------------------------------------------------------

    def _add(self, name: str, **values: Any) -> int:
        self._names.append(name)
        for column in TRANSACTIONS:
            value = values.get(column)
            self._of[column].append(NONE if value is None else value)
        return len(self._names) - 1

    def _add_node(self, node: Node) -> int:
        """A DDL, or a statement that changed nothing, as a transaction that has committed.

        The initial schema is older than all timestamps: columns do not say when it was made.
        """
        ts = node.ts if node.ts >= 0 else None
        ends = {"begin": node.begins_at, "end": node.ends_at, "commit_ts": ts}
        return self._add(node.label, **ends, status=COMMITTED, ddl=True)

    def _transaction(self, tx: Transaction) -> None:
        committed = tx.committed
        past = tx.read_ts is not None
        number = self._add(
            tx.name,
            begin=None if past else tx.begins_at,
            end=tx.ends_at,
            read_ts=tx.read_ts,
            commit_ts=None if committed is None or past else committed.commit_ts,
            status=ABORTED if committed is None else COMMITTED,
            ddl=False,
        )
        if committed is not None:
            self._schema_uses(number, tx)
        doings: list[tuple[int, ReadExecuted | WriteExecuted]] = [*tx.reads, *tx.writes]
        for position, event in sorted(doings, key=lambda one: one[0]):
            if isinstance(event, WriteExecuted):
                item = (event.object_id, event.key)
                self._rows.append(Row(number, self._key(item), WRITE, self._numbers[position]))
            else:
                self._read(number, tx, position, event)

    def _read(self, number: int, tx: Transaction, position: int, read: ReadExecuted) -> None:
        for row in read.rows:
            item = (read.object_id, row.key)
            self._rows.append(
                Row(number, self._key(item), READ, self._version(item, position, row))
            )
        if not read.predicate:
            return
        found = {row.key for row in read.rows}
        for key in self._writes.partitions.get((read.object_id, read.partition), {}):
            item = (read.object_id, key)
            if key not in found and not wrote_before(self._writes, tx, item, position):
                versions = self._writes.versions[item]
                place = last_deletion(versions, position, tx.read_ts)
                version = 0 if place < 0 else self._numbers[versions[place].write.position]
                self._rows.append(Row(number, self._key(item), PREDICATE, version))

    def _version(self, item: Item, position: int, row: RowRead) -> int:
        """The version that a row shows; one beyond all where its writer had not written it."""
        if row.writer is None:
            return 0
        earlier = [w for w in self._writes.of.get((row.writer, item), ()) if w.position < position]
        return self._numbers[earlier[-1].position] if earlier else self._count.get(item, 0) + 1

    # --- schemas ---------------------------------------------------------------------------------

    def _schema_uses(self, number: int, tx: Transaction) -> None:
        """Each version that a transaction ran under, and what it must precede."""
        schemas = self._case.schemas
        uses = dict.fromkeys((used.object_id, used.version) for used in map(as_use, tx.uses()))
        for _, enlisted in tx.enlisted if uses else ():
            if schemas.is_way(enlisted.object_id):
                uses.setdefault((enlisted.object_id, enlisted.version))
        for object_id, version in uses:
            logged = schemas.version(object_id, version) is not None
            step = schemas.after(object_id, version)
            hold = None if step is None else self._backward.hold(tx, version, step)
            key, at = self._key(("schema", object_id)), self._place(object_id, version)
            strict_only = step is not None and hold is None
            self._rows.append(Row(number, key, SCHEMA if logged else PRECEDES, at, strict_only))
            while step is not None and hold is None:
                step = schemas.after(object_id, step.version)
                hold = None if step is None else self._backward.hold(tx, version, step)
                if step is not None and hold is not None:
                    before = self._place(object_id, step.version) - 1
                    self._rows.append(Row(number, key, PRECEDES, before))

    def _place(self, object_id: int, version: int) -> int:
        """The place of a version in the order of an object's, from 1."""
        return len(self._case.schemas.steps(object_id, -1, version))

    def _ddls(self) -> None:
        seen: set[tuple[int, int]] = set()
        for node in ddl_nodes(self._case):
            number = self._add_node(node)
            assert node.update is not None, node.label
            for change in node.update.objects:
                if (change.object_id, change.version) not in seen:
                    seen.add((change.object_id, change.version))
                    key = self._key(("schema", change.object_id))
                    place = self._place(change.object_id, change.version)
                    self._rows.append(Row(number, key, WRITE, place))

    def _statements(self) -> None:
        """What each name that a statement named stood for, as one more item that DDLs write."""
        first = len(self._case.transactions)
        found: list[tuple[int, Name, int]] = []
        writers: dict[int, int] = {}
        for number, node in enumerate(ddl_nodes(self._case), first):
            if (update := node.update) is not None:
                writers[update.catalog_version] = number
                names = built(self._case, update)
                found += [(number, name, update.built_on or 0) for name in names]
        for node in statement_nodes(self._case):
            assert node.statement is not None, node.label
            number = self._add_node(node)
            rests_on = node.statement.decided.catalog_version
            found += [(number, name, rests_on) for name in node.statement.names]
        meanings = meanings_of(self._case)
        for number, name, rests_on in found:
            place = meanings.place(name, rests_on)
            self._rows.append(Row(number, self._key(name), SCHEMA, place))
        for name in dict.fromkeys(name for _, name, _ in found):
            for place, meaning in enumerate(meanings.all(name), 1):
                writer = writers[meaning.catalog_version]
                self._rows.append(Row(writer, self._key(name), WRITE, place))

    # --- sessions --------------------------------------------------------------------------------

    def _sessions(self) -> None:
        """The process of those whose client had ended one thing before it began the next.

        Only read-only transactions with a token need it: others come later in real time anyhow.
        """
        clients: dict[str, list[tuple[int, int, int]]] = {}
        readers: dict[str, None] = {}
        transactions = list(self._case.transactions.values())
        for number, tx in enumerate(transactions):
            reads_the_past = tx.read_ts is not None and tx.committed is not None
            if tx.client is None or tx.begins_at is None or tx.ends_at is None:
                continue
            if tx.read_ts is None or tx.session:
                clients.setdefault(tx.client, []).append((tx.begins_at, tx.ends_at, number))
            if reads_the_past and tx.session:
                readers[tx.client] = None
        for at, node in enumerate([*ddl_nodes(self._case), *statement_nodes(self._case)]):
            client = client_of(self._case, node)
            if client is not None and node.begins_at is not None and node.ends_at is not None:
                placed = (node.begins_at, node.ends_at, len(transactions) + at)
                clients.setdefault(client, []).append(placed)
        for process, client in enumerate(readers):
            last = -1
            for begins_at, ends_at, number in sorted(clients[client]):
                if begins_at > last:
                    self._of["process"][number] = process
                    last = ends_at
