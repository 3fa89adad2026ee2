"""The model of what a partition's log makes of the entries of indexes.

From PROTOCOL.md, "Index builds" [110.ours.index.entries]. An entry is there, or is not, from a
commit_ts on; a write's changes of entries take effect with its row, at commit_ts, or never; of
several writes of one transaction to a key the last one counts. A step of a backfill that begins
where the last one ended makes the entries of its rows right as of each version that can still be
read: of those from before the build the last. The first step does so with the rows that have an
intent, too, and with the intents of transactions that have nothing on the index. An erased index
has no entries, for good.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ddlsim.model.ops import Key
from ddlsim.model.schema import SchemaObject, Table
from ddlsim.protocol.commands import FillIndex
from ddlsim.protocol.ids import EntryChange, Tuple, TxId
from ddlsim.protocol.partition.index_store import Filled, IndexState, IndexStore
from ddlsim.protocol.schema.column_types import meant
from ddlsim.protocol.schema.rows import decode, upgrade
from ddlsim.units import MAX_TIMESTAMP, Timestamp

Entry = tuple[int, Tuple, Key]
"""(index, values, key)."""
Versions = list[tuple[Timestamp, int, Tuple | None]]
"""Of a row: commit_ts, the version of the table that it was written under, its values."""
Written = tuple[TxId, str, int, Tuple | None]
"""An intent: its transaction, its operation, the version of the table, the row."""


class Building(NamedTuple):
    """A step of a backfill, the columns of its index, and the versions of the table."""

    step: FillIndex
    columns: tuple[int, ...]
    version: Callable[[int], SchemaObject | None]

    def values(self, version: int, row: Tuple | None) -> Tuple | None:
        """What a row has in the index, under the version of the step."""
        source, table = self.version(version), self.version(self.step.version)
        if row is None or not isinstance(source, Table) or not isinstance(table, Table):
            return None
        types = {column.id: column.type for column in table.columns}
        cells = dict(upgrade(decode(source, row), source, table))
        return tuple(meant(cells.get(one), types[one]) for one in self.columns)


class EntriesModel:
    """The entries of one replica: their moves by commit_ts.

    `known` are the values that a key has, or had, in an index; `touched` are the entries that were
    moved since the last look.
    """

    def __init__(self) -> None:
        self.moves: dict[Entry, dict[Timestamp, bool]] = {}
        self.known: dict[tuple[int, Key], dict[Tuple, None]] = {}
        self.open: dict[TxId, dict[Key, tuple[EntryChange, ...]]] = {}
        self.filled: dict[int, int] = {}
        self.complete: dict[int, None] = {}
        self.erased: dict[int, None] = {}
        self.touched: dict[Entry, None] = {}

    def take(self, state: IndexState) -> None:
        """Begin with a snapshot."""
        self.moves, self.known = {}, {}
        for index_id, values, key, moves in state.entries:
            self.moves[index_id, values, key] = dict(moves)
            self.known.setdefault((index_id, key), {})[values] = None
        self.open = {}
        for tx, key, changes in state.open:
            self.open.setdefault(tx, {})[key] = changes
        self.filled = dict(state.filled)
        self.complete = dict.fromkeys(state.complete)
        self.erased = dict.fromkeys(state.erased)

    # --- what transactions write ------------------------------------------------------------------

    def intend(self, tx: TxId, key: Key, changes: tuple[EntryChange, ...]) -> None:
        """The last write of a key."""
        if changes or tx in self.open:
            self.open.setdefault(tx, {})[key] = changes

    def end(self, tx: TxId, keys: Iterable[Key], commit_ts: Timestamp | None) -> None:
        """A transaction has ended, and committed these keys if there is a commit_ts."""
        changes = self.open.pop(tx, {})
        if commit_ts is not None:
            for key in keys:
                self.enter(key, changes.get(key, ()), commit_ts)

    def enter(self, key: Key, changes: Iterable[EntryChange], commit_ts: Timestamp) -> None:
        """Carry out changes of entries."""
        for one in changes:
            if one.index_id not in self.erased:
                self._move((one.index_id, one.values, key), commit_ts, there=one.added)

    def _move(self, entry: Entry, ts: Timestamp, *, there: bool) -> None:
        self.moves.setdefault(entry, {})[ts] = there
        self.known.setdefault((entry[0], entry[2]), {})[entry[1]] = None
        self.touched[entry] = None

    def is_there(self, entry: Entry, ts: Timestamp) -> bool:
        """Whether an entry is there at a timestamp."""
        moves = self.moves.get(entry, {})
        last = max((one for one in moves if one <= ts), default=None)
        return last is not None and moves[last]

    # --- the build --------------------------------------------------------------------------------

    def fill(
        self,
        step: FillIndex,
        rows: Mapping[Key, Versions],
        intents: Mapping[Key, Written],
        version: Callable[[int], SchemaObject | None],
    ) -> list[Filled]:
        """What a step of a backfill changes; `rows` are in the order in which they came."""
        table, index_id = version(step.version), step.index_id
        is_over = index_id in self.complete or index_id in self.erased
        if is_over or step.begin != self.filled.get(index_id, 0) or not isinstance(table, Table):
            return []
        columns = next(one.columns for one in table.indexes if one.id == index_id)
        building, found = Building(step, columns, version), list[Filled]()
        if step.begin == 0:
            for key, (tx, op, written, row) in intents.items():
                found += self._make_right(building, key, rows.get(key, []))
                changed = self._intend_right(index_id, key, tx, building.values(written, row))
                found += [
                    Filled(one.values, key, one.added, MAX_TIMESTAMP, tx, op) for one in changed
                ]
        places = range(step.begin, step.begin + step.limit)
        here = [key for place, key in enumerate(rows) if place in places]
        for key in here:
            found += self._make_right(building, key, rows[key])
        self.filled[index_id] = step.begin + len(here)
        if self.filled[index_id] >= len(rows):
            self.complete[index_id] = None
        return found

    def _make_right(self, building: Building, key: Key, versions: Versions) -> list[Filled]:
        found: list[Filled] = []
        before = [one for one in versions if one[0] < building.step.since_ts]
        for commit_ts, written, row in [*before[-1:], *versions[len(before) :]]:
            due = building.values(written, row)
            for entry in self._wrong(building.step.index_id, key, due, commit_ts):
                self._move(entry, commit_ts, there=entry[1] == due)
                found.append(Filled(entry[1], key, entry[1] == due, commit_ts))
        return found

    def _intend_right(
        self, index_id: int, key: Key, tx: TxId, due: Tuple | None
    ) -> list[EntryChange]:
        known = self.open.get(tx, {}).get(key, ())
        if index_id in [one.index_id for one in known]:
            return []
        wrong = self._wrong(index_id, key, due, MAX_TIMESTAMP)
        changes = [EntryChange(index_id, one[1], one[1] == due) for one in wrong]
        self.intend(tx, key, (*known, *changes))
        return changes

    def _wrong(self, index_id: int, key: Key, due: Tuple | None, ts: Timestamp) -> list[Entry]:
        """The entries of a key that are there at a timestamp, and should not be, or vice versa."""
        known = {**self.known.get((index_id, key), {}), **({} if due is None else {due: None})}
        entries = [(index_id, values, key) for values in known]
        return [one for one in entries if self.is_there(one, ts) is not (one[1] == due)]

    def erase(self, index_id: int) -> None:
        """An index is gone."""
        self.moves = {entry: moves for entry, moves in self.moves.items() if entry[0] != index_id}
        self.known = {place: one for place, one in self.known.items() if place[0] != index_id}
        self.erased[index_id] = None

    def beside(self, other: "EntriesModel") -> Iterator[tuple[str, object, object]]:
        """What this has, and what another one has, each with its name."""
        yield "entries of", self.moves, other.moves
        mine, theirs = (
            {tx: some for tx, by_key in one.open.items() if (some := _some(by_key))}
            for one in (self, other)
        )
        yield "open entries of", mine, theirs
        yield "how far indexes are in", self.filled, other.filled
        yield "indexes that are complete in", self.complete, other.complete
        yield "indexes that are erased in", self.erased, other.erased

    # --- what a replica has -----------------------------------------------------------------------

    def differences(self, index: IndexStore) -> list[str]:
        """Where a replica's whole state differs; touched entries are looked at again later."""
        self.touched = {}
        found = {
            (index_id, values, key): moves
            for index_id, by_values in index.entries.items()
            for values, by_key in by_values.items()
            for key, moves in by_key.items()
        }
        words = [
            _words(entry, found.get(entry), self.moves.get(entry))
            for entry in {**found, **self.moves}
            if found.get(entry, []) != sorted(self.moves.get(entry, {}).items())
        ]
        opened = {**index.open, **self.open}
        words += [one for tx in opened for one in self.differences_of(index, tx)]
        present = {one for one in self.moves if self.is_there(one, MAX_TIMESTAMP)}
        if not words and set(index.held()) != present:
            words.append("the entries that are there now differ")
        return words + self.differences_of_builds(index)

    def differences_of_builds(self, index: IndexStore) -> list[str]:
        """Where a replica is with the builds and removals of indexes elsewhere."""
        told = (("filled", self.filled), ("complete", self.complete), ("erased", self.erased))
        return [
            f"{name} of the indexes is {getattr(index, name)} and should be {expected}"
            for name, expected in told
            if getattr(index, name) != expected
        ]

    def differences_of(self, index: IndexStore, tx: TxId) -> list[str]:
        """Where what a transaction is yet to do to entries differs."""
        found, expected = _some(index.open.get(tx)), _some(self.open.get(tx))
        if found == expected:
            return []
        return [f"open entries of {tx.label} are {found} and should be {expected}"]

    def differences_of_touched(self, index: IndexStore) -> list[str]:
        """Where entries differ that were changed since the last look."""
        touched, self.touched = self.touched, {}
        words = []
        for entry in touched:
            index_id, values, key = entry
            found = index.entries.get(index_id, {}).get(values, {}).get(key, [])
            if found != sorted(self.moves.get(entry, {}).items()):
                words.append(_words(entry, found, self.moves.get(entry)))
        return words


def _words(entry: Entry, found: object, expected: object) -> str:
    return f"entry {entry[1]!r} of {entry[2]!r} in index {entry[0]} is {found}, not {expected}"


def _some(by_key: Mapping[Key, tuple[EntryChange, ...]] | None) -> dict[Key, set[EntryChange]]:
    """The keys with changes; their order says nothing."""
    return {key: set(changes) for key, changes in (by_key or {}).items() if changes}
