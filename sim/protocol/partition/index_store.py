"""The entries of indexes that a partition holds beside its rows, as its group's log makes them.

An entry has the values of a row in the columns of an index, and the row's key. Like rows, entries
have versions: each is there, or is not, from the commit_ts of a transaction on, so that a query in
the past finds what was there then. What a transaction does to them waits beside its intents.

A backfill goes through the rows in the order in which they came, some at a time, and goes on from
where it was: how far it is stands here, in the log's state, whichever node is primary. For each
version of a row that can still be read it makes the entries right as of that version: it adds those
that are missing, and removes those that a transaction without the index has left. So it does with
intents, which may be committed later (IGNITE-22990) [110.ours.index.entries].

    (nothing) --FillIndex--> `filled` counts rows --at the last row--> `complete`
    whatever it is --EraseIndex--> `erased`, for good: ids are never used again

All fields are changed by the commands of the log, and by `install`:

* `entries`: by index, values and key, (commit_ts, whether it is there) in order.
* `open`: by transaction and key, what its write does; the last write of a key counts.
"""

from collections.abc import Callable, Iterable, Mapping

from ddlsim.model.ops import Key
from ddlsim.model.records import Record
from ddlsim.model.schema import SchemaObject, Table, Value
from ddlsim.protocol.commands import FillIndex
from ddlsim.protocol.ids import EntryChange, Tuple, TxId
from ddlsim.protocol.schema.indexes import Maintained, maintained, values_of
from ddlsim.protocol.schema.rows import decode, upgrade
from ddlsim.units import MAX_TIMESTAMP, Timestamp

Moves = list[tuple[Timestamp, bool]]
"""When an entry came and went, in order."""
Stored = tuple[Timestamp, int, Tuple | None]
"""A version of a row: its commit_ts, the schema version it was written under, its values."""
Definition = Callable[[int, int], SchemaObject | None]
"""The object with an id at a version, as this node's catalog has it."""


class Filled(Record, frozen=True):
    """An entry that a backfill added or removed, for a version of a row or an intent of `tx`."""

    values: Tuple
    key: Key
    added: bool
    commit_ts: Timestamp
    tx: TxId | None = None
    op: str = ""


class IndexState(Record, frozen=True):
    """A snapshot of the entries, of how far backfills are, and of what is erased."""

    entries: tuple[tuple[int, Tuple, Key, tuple[tuple[Timestamp, bool], ...]], ...]
    open: tuple[tuple[TxId, Key, tuple[EntryChange, ...]], ...]
    filled: tuple[tuple[int, int], ...]
    complete: tuple[int, ...]
    erased: tuple[int, ...]


class IndexStore:
    """The entries of one replica."""

    def __init__(self, table_id: int) -> None:
        self.table_id = table_id
        self.definition: Definition | None = None
        self.entries: dict[int, dict[Tuple, dict[Key, Moves]]] = {}
        self.open: dict[TxId, dict[Key, tuple[EntryChange, ...]]] = {}
        self.filled: dict[int, int] = {}
        self.complete: dict[int, None] = {}
        self.erased: dict[int, None] = {}

    # --- what transactions write ------------------------------------------------------------------

    def intend(self, tx: TxId, key: Key, changes: tuple[EntryChange, ...]) -> None:
        """Keep what a write of a transaction does to the entries of its row."""
        if changes or key in self.open.get(tx, ()):
            self.open.setdefault(tx, {})[key] = changes

    def commit(self, tx: TxId, key: Key, commit_ts: Timestamp) -> None:
        """Carry out what a transaction intended for a row."""
        self.enter(key, self.open.get(tx, {}).get(key, ()), commit_ts)

    def forget(self, tx: TxId) -> None:
        """A transaction has ended."""
        self.open.pop(tx, None)

    def enter(self, key: Key, changes: Iterable[EntryChange], commit_ts: Timestamp) -> None:
        """Change the entries of a row as of a commit_ts; those of erased indexes stay away."""
        for change in changes:
            if change.index_id not in self.erased:
                self._move(change.index_id, change.values, key, commit_ts, added=change.added)

    def _move(self, index_id: int, values: Tuple, key: Key, ts: Timestamp, *, added: bool) -> None:
        moves = self.entries.setdefault(index_id, {}).setdefault(values, {}).setdefault(key, [])
        place = len(moves)
        while place and moves[place - 1][0] > ts:
            place -= 1
        if place and moves[place - 1][0] == ts:
            moves[place - 1] = (ts, added)
        else:
            moves.insert(place, (ts, added))
        assert moves == sorted(moves), f"{key!r}: the moves of an entry are out of order"

    # --- reading ----------------------------------------------------------------------------------

    def holds(self, index_id: int, values: Tuple, key: Key, ts: Timestamp = MAX_TIMESTAMP) -> bool:
        """Whether an entry is there at a timestamp."""
        return _there(self.entries.get(index_id, {}).get(values, {}).get(key, []), ts)

    def find(self, index_id: int, values: Tuple, ts: Timestamp = MAX_TIMESTAMP) -> list[Key]:
        """The keys that have an entry with these values at a timestamp."""
        known = self.entries.get(index_id, {}).get(values, {})
        return [key for key, moves in known.items() if _there(moves, ts)]

    def held(self) -> Iterable[tuple[int, Tuple, Key]]:
        """Every entry that is there now: (index, values, key)."""
        for index_id, by_values in self.entries.items():
            for values, by_key in by_values.items():
                for key, moves in by_key.items():
                    if _there(moves, MAX_TIMESTAMP):
                        yield index_id, values, key

    # --- backfill and erasure ---------------------------------------------------------------------

    def fill(
        self,
        command: FillIndex,
        rows: Mapping[Key, list[Stored]],
        intents: Mapping[Key, tuple[TxId, str, int, Tuple | None]],
    ) -> list[Filled]:
        """Carry out a step of a backfill; gives the entries that it changed.

        The first step deals with the intents, and with the rows that they replace: their entries go
        with the commit. Those that come later are of transactions with the index, or of such as
        cannot commit any more.
        """
        index_id = command.index_id
        done = index_id in self.complete or index_id in self.erased
        if done or self.filled.get(index_id, 0) != command.begin:
            return []
        index = self._index(command)
        found: list[Filled] = []
        if not command.begin:
            for key, (tx, op, version, row) in intents.items():
                found += self._fill_row(command, index, key, rows.get(key, []))
                values = self._values(index, command.version, version, row)
                found += self._fill_intent(index_id, key, tx, op, values)
        keys = list(rows)[command.begin : command.begin + command.limit]
        for key in keys:
            found += self._fill_row(command, index, key, rows[key])
        self.filled[index_id] = command.begin + len(keys)
        assert self.filled[index_id] <= len(rows), f"index {index_id} has more rows than there are"
        if self.filled[index_id] == len(rows):
            self.complete[index_id] = None
        return found

    def erase(self, index_id: int) -> None:
        """Remove all entries of an index, for good."""
        self.entries.pop(index_id, None)
        self.erased[index_id] = None

    def _index(self, command: FillIndex) -> Maintained:
        table = self._table(command.version)
        return next(one for one in maintained(table) if one.id == command.index_id)

    def _table(self, version: int) -> Table:
        assert self.definition is not None, f"table {self.table_id} has no catalog"
        table = self.definition(self.table_id, version)
        assert isinstance(table, Table), f"table {self.table_id} has no version {version} here"
        return table

    def _values(
        self, index: Maintained, target: int, version: int, row: Tuple | None
    ) -> Tuple | None:
        """The values of a stored row in an index; None where there is no row."""
        if row is None:
            return None
        source, table = self._table(version), self._table(target)
        return values_of(index, table, upgrade(decode(source, row), source, table))

    def _fill_row(
        self, command: FillIndex, index: Maintained, key: Key, versions: list[Stored]
    ) -> list[Filled]:
        """Make the entries of a row right from the last version before the build on."""
        found: list[Filled] = []
        first = max((n for n, one in enumerate(versions) if one[0] < command.since_ts), default=0)
        for commit_ts, version, row in versions[first:]:
            due = self._values(index, command.version, version, row)
            for values in self._wrong(index.id, key, due, commit_ts):
                added = values == due
                self._move(index.id, values, key, commit_ts, added=added)
                found.append(Filled(values, key, added, commit_ts))
        return found

    def _fill_intent(
        self, index_id: int, key: Key, tx: TxId, op: str, due: Tuple | None
    ) -> list[Filled]:
        """Let an intent of a transaction without the index change its entries as well."""
        known = self.open.get(tx, {}).get(key, ())
        if any(one.index_id == index_id for one in known):
            return []
        found = [
            Filled(values, key, values == due, MAX_TIMESTAMP, tx, op)
            for values in self._wrong(index_id, key, due, MAX_TIMESTAMP)
        ]
        changes = tuple(EntryChange(index_id, one.values, one.added) for one in found)
        self.intend(tx, key, known + changes)
        return found

    def _wrong(
        self, index_id: int, key: Key, due: Tuple | None, ts: Timestamp
    ) -> list[tuple[Value, ...]]:
        """The entries of a key that are there at a timestamp in vain, and the one missing."""
        known = self.entries.get(index_id, {})
        wrong = [
            values for values in known if values != due and self.holds(index_id, values, key, ts)
        ]
        if due is not None and not self.holds(index_id, due, key, ts):
            wrong.append(due)
        return wrong

    # --- snapshots --------------------------------------------------------------------------------

    def snapshot(self) -> IndexState:
        """A copy of everything."""
        entries = [
            (index_id, values, key, tuple(moves))
            for index_id, by_values in self.entries.items()
            for values, by_key in by_values.items()
            for key, moves in by_key.items()
        ]
        intended = [
            (tx, key, one) for tx, by_key in self.open.items() for key, one in by_key.items()
        ]
        return IndexState(
            tuple(entries),
            tuple(intended),
            tuple(self.filled.items()),
            tuple(self.complete),
            tuple(self.erased),
        )

    def install(self, state: IndexState) -> None:
        """Replace everything by a snapshot."""
        self.entries, self.open = {}, {}
        for index_id, values, key, moves in state.entries:
            self.entries.setdefault(index_id, {}).setdefault(values, {})[key] = list(moves)
        for tx, key, changes in state.open:
            self.open.setdefault(tx, {})[key] = changes
        self.filled = dict(state.filled)
        self.complete = dict.fromkeys(state.complete)
        self.erased = dict.fromkeys(state.erased)


def _there(moves: Moves, ts: Timestamp) -> bool:
    """Whether an entry is there at a timestamp."""
    return next((added for since, added in reversed(moves) if since <= ts), False)
