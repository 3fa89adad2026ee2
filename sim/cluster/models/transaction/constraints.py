"""The model of unique indexes, CHECK and NOT NULL on the rows that are written at a primary.

From PROTOCOL.md, "Rows and constraints", with the judges' reading of rows, types and conditions:

* A row is refused for what it breaks, and only for that: an update that leaves no value in a NOT
  NULL column; a row for which a CHECK of the version that it is written under is false; a row with
  the values of another one of its partition in a unique index [110.ours.notnull] [110.ours.check]
  [110.ours.unique].
* It is written while its transaction holds the values of the row before and of the new one, each
  value by one name, and while no other open transaction has left them in an intent.
* An update keeps what it does not set, as the row shows under the version that it runs under.
* What the row enters into unique indexes is looked up in every other partition, before the client
  is answered.

Of rows of a newer version than the one that an operation runs under nothing is said: they end its
transaction [110.back].
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, Final

from msgspec.structs import replace

from ddlsim.checkers.case.constraints import Unique, broken_checks, entry, uniques
from ddlsim.checkers.case.rows import is_same_value, upgraded
from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.exchange import Exchange, Sent
from ddlsim.cluster.models.transaction.locks import ModelledLocks
from ddlsim.cluster.models.transaction.operations import MADE_UP, ModelledExecutor
from ddlsim.cluster.models.words import words
from ddlsim.history.event import Cells
from ddlsim.model.ops import Key
from ddlsim.model.ports import Node
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import Table
from ddlsim.protocol.ids import IndexKey, PartitionId, Tuple, TxId
from ddlsim.protocol.messages import Answer, ClientOperation, Operate, Operated
from ddlsim.protocol.metastorage.placement import Placement
from ddlsim.protocol.partition.partition import Intent, RowVersion
from ddlsim.protocol.partition.replica_manager import LocalReplica
from ddlsim.protocol.transaction.execution import Executor
from ddlsim.protocol.transaction.locks import LockTable, X
from ddlsim.protocol.transaction.row_constraints import RowConstraints
from ddlsim.units import MIN_TIMESTAMP, Timestamp

Entry = tuple[int, tuple[object, ...]]
"""What a row has in a unique index: its id, and what the values mean."""
EDGED: Final = 3
"""Beside how many writes of a node some intents are made up."""
Stored = tuple[int, Tuple | None]
"""The version under which a row was written, and the row."""


@lru_cache(maxsize=1024)
def unique_of(table: Table) -> tuple[Unique, ...]:
    """The unique indexes that can forbid a row, whatever their state: not on the whole key."""
    return tuple(
        one for one in uniques(table, built=False) if not set(table.key) <= set(one.columns)
    )


@lru_cache(maxsize=1024)
def is_bound(table: Table) -> bool:
    """Whether a CHECK or a unique index can forbid a row of the table."""
    return bool(unique_of(table)) or any(one.condition for one in table.constraints)


def cells_of(table: Table, row: Tuple) -> Cells:
    """A row as its own version has it."""
    return tuple((column.id, value) for column, value in zip(table.columns, row, strict=False))


@lru_cache(maxsize=8192)
def entries_of(source: Table, row: Tuple, target: Table) -> tuple[Entry, ...]:
    """What a row that was written under one version enters into the unique indexes of another."""
    cells = upgraded(cells_of(source, row), source, target)
    found = ((one.id, entry(one, cells, target)) for one in unique_of(target))
    return tuple((number, values) for number, values in found if values is not None)


class Visible:
    """The rows of a partition as a transaction sees them, under the table that it runs under."""

    def __init__(
        self, executor: Executor, request: Operate, local: LocalReplica, table: Table
    ) -> None:
        self._catalog = executor.sync.catalog
        self._request = request
        self._local = local
        self.table = table

    def row(self, key: Key) -> Stored | None:
        """The transaction's own row under a key, else the newest committed one."""
        tx, machine = self._request.tx, self._local.machine
        for intent in (self._local.pending.get(key), machine.intents.get(key)):
            if intent is not None and intent.tx == tx:
                return intent.version, intent.row
        versions = machine.rows.get(key)
        return (versions[-1].version, versions[-1].row) if versions else None

    def others(self) -> Iterator[Stored]:
        """The rows under other keys."""
        machine = self._local.machine
        for key in dict.fromkeys((*machine.rows, *machine.intents, *self._local.pending)):
            found = self.row(key)
            if found is not None and key != self._request.key:
                yield found

    def of_version(self, version: int) -> Table | None:
        """The table at a version; None where that is newer, or not known here."""
        if version == self.table.version:
            return self.table
        found = self._catalog.definition(self.table.id, version)
        older = version < self.table.version
        return found if older and isinstance(found, Table) else None

    def entries(self, stored: Stored | None) -> tuple[Entry, ...] | None:
        """What a row enters into unique indexes; None for a row of a newer version."""
        if stored is None or stored[1] is None:
            return ()
        source = self.of_version(stored[0])
        return None if source is None else entries_of(source, stored[1], self.table)

    def left(self) -> Stored | None:
        """The row that the operation leaves; None where it deletes, or updates nothing."""
        request, table = self._request, self.table
        if request.row is None or request.action != "update":
            return table.version, request.row
        before = self.row(request.key)
        if before is None or before[1] is None:
            return None
        source = self.of_version(before[0])
        if source is None:
            return None
        kept = upgraded(cells_of(source, before[1]), source, table)
        row = [value for _, value in kept]
        for place in request.sets:
            row[place] = request.row[place]
        return table.version, tuple(row)


class ModelledConstraints(RowConstraints):
    """Constraints that compare what they refuse, lock, look up and wait for."""

    models: ClassVar[Models]
    locks: ModelledLocks

    def __init__(self, node: Node, executor: Executor, locks: LockTable) -> None:
        super().__init__(node, executor, locks)
        self._divergence = self.models.divergence("constraints", node.name)
        self._made_up = 0

    def _visible(self, request: Operate, local: LocalReplica, table: Table) -> Visible:
        return Visible(self.executor, request, local, table)

    # --- before an operation is executed ----------------------------------------------------------

    def blocking_intent(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[TxId, PartitionId] | None:
        found: tuple[TxId, PartitionId] | None = super().blocking_intent(request, local, table)
        if found is None and unique_of(table) and not self._divergence.is_known:
            seen = self._visible(request, local, table)
            wanted = self._wanted(request, seen)
            for key, intent in self._open_writes(request, local) if wanted else ():
                if self._blocks(seen, local, key, intent, wanted):
                    self._divergence.found(
                        f"{request.op} goes on, and an intent of {intent.tx.label} has its values"
                    )
            if wanted and request.action in ("put", "insert") and self._made_up < EDGED:
                self._made_up += 1
                self._compare_made_up(request, local, seen)
        return found

    def _compare_made_up(self, request: Operate, local: LocalReplica, seen: Visible) -> None:
        """Few intents of a run are there without their locks: some are made up for an instant.

        One that leaves the row of the operation under another key, one that deletes such a row, and
        a write in one phase under the version before.
        """
        table, rows = seen.table, local.machine.rows
        key, tx = MADE_UP.op, MADE_UP.tx
        older = seen.of_version(table.version - 1)
        left = Intent(tx, "o", MIN_TIMESTAMP, table.version, request.row, local.place)
        same = older is not None and older.columns == table.columns
        for places, intent, before in (
            (local.machine.intents, left, None),
            (local.pending, left, None),
            (local.machine.intents, replace(left, row=None), request.row),
            *([(local.at_once, replace(left, version=table.version - 1), None)] if same else []),
        ):
            places[key] = intent
            if before is not None:
                rows[key] = [RowVersion("made up", MIN_TIMESTAMP, table.version, before)]
            if super().blocking_intent(request, local, table) is None:
                self._divergence.found(f"{request.op} goes on beside {words(intent)} of its values")
            del places[key]
            rows.pop(key, None)

    def _open_writes(self, request: Operate, local: LocalReplica) -> Iterator[tuple[Key, Intent]]:
        """Intents of others, and their writes in one phase that are on their way, by key."""
        executor, machine = self.executor, local.machine
        assert isinstance(executor, ModelledExecutor), executor
        on_their_way = executor.on_their_way(local)
        for key, intent in (*machine.intents.items(), *local.pending.items(), *on_their_way):
            if intent.tx != request.tx and intent.tx not in machine.ended:
                yield key, intent

    @staticmethod
    def _blocks(
        seen: Visible, local: LocalReplica, key: Key, intent: Intent, wanted: tuple[Entry, ...]
    ) -> bool:
        """Whether an intent's row, or the one that it replaces, has one of these entries."""
        rows: list[Stored] = [(intent.version, intent.row)]
        versions = local.machine.rows.get(key)
        if versions:
            rows.append((versions[-1].version, versions[-1].row))
        return any(one in wanted for row in rows for one in seen.entries(row) or ())

    @staticmethod
    def _wanted(request: Operate, seen: Visible) -> tuple[Entry, ...]:
        """The entries that no other row may have once the operation is done."""
        if request.action == "lookup":
            return _asked(request, seen.table)
        if request.action in ("get", "scan", "find", "delete"):
            return ()
        return seen.entries(seen.left()) or ()

    # --- while it is executed ---------------------------------------------------------------------

    def refusal(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> Operated | None:
        if self._divergence.is_known or not (is_bound(table) or request.action == "update"):
            return self._unbound(request, super().refusal(request, local, op_ts, table))
        seen = self._visible(request, local, table)
        if unique_of(table):
            self._compare_locks(request, seen)
        if request.action == "update":
            self._compare_kept(request, seen)
        due = dict.fromkeys(self._broken(request, seen))
        refused: Operated | None = super().refusal(request, local, op_ts, table)
        if refused is None and due:
            self._divergence.found(f"{request.op} writes {request.row}, and breaks {list(due)}")
        elif refused is not None and refused.reason not in due and not self._meets_newer(seen):
            self._divergence.found(
                f"{request.op} is refused with {refused.reason} for {request.row}, which breaks "
                f"{list(due)}"
            )
        return refused

    def _unbound(self, request: Operate, refused: Operated | None) -> Operated | None:
        """Nothing can forbid the row."""
        if refused is not None:
            self._divergence.found(f"{request.op} is refused with {refused.reason}")
        return refused

    def _broken(self, request: Operate, seen: Visible) -> Iterator[Reason]:
        """Why the row must not be written."""
        row, table = request.row, seen.table
        if row is None:
            return
        cells = cells_of(table, row)
        if request.action == "update":
            values = dict(cells)
            if any(not one.nullable and values.get(one.id) is None for one in table.columns):
                yield Reason.BAD_ROW
        if broken_checks(table, cells):
            yield Reason.CHECK_VIOLATED
        mine = entries_of(table, row, table) if unique_of(table) else ()
        if mine and any(one in mine for row in seen.others() for one in seen.entries(row) or ()):
            yield Reason.UNIQUE_VIOLATED

    @staticmethod
    def _meets_newer(seen: Visible) -> bool:
        return bool(unique_of(seen.table)) and any(
            seen.entries(row) is None for row in seen.others()
        )

    def _compare_locks(self, request: Operate, seen: Visible) -> None:
        """The values of the row before and of the new one are locked, each by one name."""
        before = seen.entries(seen.row(request.key))
        if before is None:
            return
        new = () if request.row is None else entries_of(seen.table, request.row, seen.table)
        held: dict[Entry, IndexKey] = {}
        for resource in self.locks.held_by(request.tx):
            key = resource[2]
            is_here = resource[:2] == (request.table_id, request.partition)
            if is_here and type(key) is IndexKey and self.locks.holds(request.tx, resource) & X:
                held |= dict.fromkeys(_entries((key,), seen.table), key)
                if None in key.values:
                    self._divergence.found(f"{request.op} locks {key}, which nothing equals")
        for one in dict.fromkeys((*before, *new)):
            if one not in held:
                self._divergence.found(f"{request.op} writes without its lock on {one}")
                continue
            name = self.models.values.setdefault((seen.table.version, *one), held[one])
            if name != held[one]:
                self._divergence.found(f"{one} is locked as {held[one]} and as {name}")

    def _compare_kept(self, request: Operate, seen: Visible) -> None:
        """What an update does not set stays as the row shows it."""
        before, row = seen.row(request.key), request.row
        source = None if before is None else seen.of_version(before[0])
        if before is None or before[1] is None or source is None or row is None:
            return
        kept = dict(upgraded(cells_of(source, before[1]), source, seen.table))
        types = {one.id: one.type for one in (*seen.table.columns, *source.columns)}
        for place, column in enumerate(seen.table.columns):
            due = kept.get(column.id)
            if place not in request.sets and not is_same_value(due, types[column.id], row[place]):
                self._divergence.found(
                    f"{request.op} leaves {row[place]!r} in {column.name}, which had {due!r}"
                )

    # --- other partitions -------------------------------------------------------------------------

    def look_up(
        self, request: Operate, local: LocalReplica, op_ts: Timestamp, table: Table
    ) -> Operated:
        seen = self._visible(request, local, table)
        wanted = _asked(request, table)
        due = any(one in wanted for row in seen.others() for one in seen.entries(row) or ())
        found: Operated = super().look_up(request, local, op_ts, table)
        if due != (found.reason is not None) and not (found.reason and self._meets_newer(seen)):
            self._divergence.found(
                f"{request.op} looks {wanted} up and is answered {found.reason}; there: {due}"
            )
        return found

    def needed_elsewhere(
        self, request: Operate, local: LocalReplica, table: Table
    ) -> tuple[IndexKey, ...]:
        found: tuple[IndexKey, ...] = super().needed_elsewhere(request, local, table)
        partitions = self.executor.replicas.placement.partitions_of(table.id)
        if found or (partitions > 1 and unique_of(table)):
            seen = self._visible(request, local, table)
            due = seen.entries(seen.row(request.key)) if partitions > 1 else ()
            named = set(_entries(found, table))
            if due is not None and (named != set(due) or len(found) != len(named)):
                self._divergence.found(f"{request.op} is to look up {found}, and entered {due}")
        return found


def _asked(request: Operate, table: Table) -> tuple[Entry, ...]:
    return tuple(_entries(request.lookups, table))


def _entries(keys: tuple[IndexKey, ...], table: Table) -> Iterator[Entry]:
    """What keys of indexes mean under a table; nothing for indexes that it does not have."""
    by_id = {one.id: one for one in unique_of(table)}
    for key in keys:
        unique = by_id.get(key.index_id)
        if unique is not None:
            cells = tuple(zip(unique.columns, key.values, strict=True))
            values = entry(unique, cells, table)
            if values is not None:
                yield unique.id, values


class Lookups:
    """What a coordinator has looked up in other partitions before it answers a client's write."""

    def __init__(self, exchange: Exchange, divergence: Divergence, placement: Placement) -> None:
        self._divergence = divergence
        self._placement = placement
        self._due: dict[str, tuple[Operate, tuple[IndexKey, ...], list[int]]] = {}
        exchange.on_request.setdefault(Operate, []).append(self._sent)
        exchange.on_answer.setdefault(Operate, []).append(self._answered)
        exchange.on_reply.setdefault(ClientOperation, []).append(self._replied)

    def _sent(self, _asked: object, sent: Sent) -> None:
        message: Operate = sent.message
        if message.action == "lookup":
            due = self._due.get(message.op)
            if due is None or due[0].tx != message.tx or due[1] != message.lookups:
                self._divergence.found(f"{message.op} looks {message.lookups} up, not {due}")

    def _answered(self, _asked: object, sent: Sent, value: object) -> None:
        message: Operate = sent.message
        if not isinstance(value, Operated) or value.reason is not None:
            return
        due = self._due.get(message.op)
        if message.action != "lookup":
            self._due.pop(message.op, None)
            if value.lookups:
                self._due[message.op] = (message, value.lookups, [message.partition])
        elif due is not None and due[0].tx == message.tx:
            due[2].append(message.partition)

    def _replied(self, request: ClientOperation, value: object) -> None:
        due = self._due.pop(request.op, None)
        if due is not None and isinstance(value, Answer):
            message, keys, partitions = due
            left = set(range(self._placement.partitions_of(message.table_id))) - set(partitions)
            if left:
                self._divergence.found(f"{request.op} was answered; {left} may have {keys}")
