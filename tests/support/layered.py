"""Hand-made histories of the plane on which SQL is a layer over a key-value store.

Times are versions, and real time in milliseconds at once. A transaction is given by the version at
which it reads, that of its commit, the version of the table that it uses, and what it does. What
its reads find, and which entries it writes, follows as a faithful process under that version would
have it: `layered.transactions` plays them in the order of their commits. Nothing aborts by itself:
whether a store would have let a transaction commit is the schedule's word.
"""

from typing import Any, NamedTuple

from msgspec.structs import replace

from ddlsim.history.events import (
    Enlisted,
    Invoked,
    Named,
    Ok,
    ReadExecuted,
    ReadTimeChosen,
    RowFinal,
    RowRead,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    Unknown,
    WriteExecuted,
)
from ddlsim.history.history import History
from ddlsim.history.index_events import IndexFinal, IndexRead, IndexWritten
from ddlsim.model import ddl
from ddlsim.model.schema import PUBLIC, Index, Table
from tests.support.history import Story, shown, ts

INDEX = 9
GONE = None
UPKEEP = ("fill", "erase")
"""What statements do, in transactions of no client."""
WRITES = ("write_only", "reorganization", PUBLIC)
Row = tuple[tuple[int, Any], ...]


class Stored(NamedTuple):
    """What storage has of a key: who left it, when, under which version; no row: deleted."""

    writer: str
    commit: int
    version: int
    row: Row | None


class Planned(NamedTuple):
    """A transaction: reads at `rv`, commits at `cv`; None: read-only; `aborts`: it does not."""

    tx: str
    rv: int
    cv: int | None
    version: int
    does: tuple[tuple[Any, ...], ...]
    more: dict[str, Any]


class Layered(Story):
    """A history in the making, of one table `t` with the columns `id` and `v`."""

    def __init__(self, claims: Any = None, **more: Any) -> None:
        if claims is None:
            super().__init__(**more)
        else:
            super().__init__(claims, **more)
        self.design = replace(self.design, plane="fdb", ddl_edges_assume=())
        self.settings = {"": {}}
        self.t = self.table()
        self._planned: list[Planned] = []
        self._stored: dict[Any, list[Stored]] = {}
        self._entries: dict[tuple[int, int | None, Any], list[tuple[int, bool]]] = {}
        self._read_back: int | None = None
        self._played = False

    # --- the schema -------------------------------------------------------------------------------

    def index(
        self, op: str, tu: int, *, state: str = PUBLIC, unique: bool = False, **more: Any
    ) -> int:
        """CREATE INDEX i ON t (v) in force from `tu` on; gives the table's new version."""
        index = Index(INDEX, "i", (1,), unique=unique, state=state)
        return self.ddl(op, self.t, ddl.IndexCreated(index), tu=tu, **more)

    def set_state(self, op: str, state: str, tu: int, **more: Any) -> int:
        """Another state of the index."""
        return self.ddl(op, self.t, ddl.IndexStateSet(INDEX, state), tu=tu, **more)

    def drop_index(self, op: str, tu: int, **more: Any) -> int:
        """DROP INDEX i."""
        return self.ddl(op, self.t, ddl.IndexDropped(Index(INDEX, "i", (1,))), tu=tu, **more)

    # --- transactions -----------------------------------------------------------------------------

    def run(
        self, tx: str, rv: int, cv: int | None, *does: tuple[Any, ...], v: int = 1, **more: Any
    ) -> None:
        """A transaction: `does` are ("put", key, value), ("delete", key), ("get", key), ("scan",),
        ("find", value), ("fill",), ("erase",) and ("entry", key, value, added).

        `begins` and `ends` are when its client began it and learned of its end, `at` when it was
        executed; `chosen`: its client chose the read version; `unknown`: it commits, and its
        process dies before it knows.
        """
        assert not self._played, f"{tx} comes too late"
        self._planned.append(Planned(tx, rv, cv, v, does, more))

    def read_back(self, at: int) -> None:
        """Record in the end what storage holds."""
        self._read_back = at

    def history(self) -> History:
        if not self._played:
            self._played = True
            for one in sorted(self._planned, key=lambda p: (p.cv or p.rv, p.cv is None)):
                _Player(self, one).play()
            if self._read_back is not None:
                self._record_storage(self._read_back)
        return super().history()

    def newest(self, key: Any, at: int) -> Stored | None:
        """What storage has of a key at a version."""
        found = [one for one in self._stored.get(key, ()) if one.commit <= at]
        return found[-1] if found else None

    def known_keys(self) -> list[Any]:
        return list(self._stored)

    def has_entry(self, entry: tuple[int, int | None, Any], at: int) -> bool:
        """Whether an index has an entry at a version."""
        found = [added for commit, added in self._entries.get(entry, ()) if commit <= at]
        return bool(found) and found[-1]

    def entries(self) -> list[tuple[int, int | None, Any]]:
        return list(self._entries)

    def store(self, key: Any, stored: Stored) -> None:
        self._stored.setdefault(key, []).append(stored)

    def enter(self, entry: tuple[int, int | None, Any], cv: int, *, added: bool) -> None:
        self._entries.setdefault(entry, []).append((cv, added))

    def _record_storage(self, at: int) -> None:
        for key in self._stored:
            kept = self.newest(key, at)
            assert kept is not None, key
            self.add(at, RowFinal, "s1", self.t, 0, key, kept.writer, ts(kept.commit), *kept[2:])
        for entry in self._entries:
            if self.has_entry(entry, at):
                index, value, key = entry
                self.add(at, IndexFinal, "s1", self.t, index, (value,), key)


class _Player:
    """One transaction as a faithful process under its version carries it out."""

    def __init__(self, story: Layered, planned: Planned) -> None:
        self.story = story
        self.tx, self.rv, self.cv, self.version, self.does, self.more = planned
        self.node = self.more.get("node", "p1")
        self.client = self.more.get("client", f"client of {self.tx}")
        self.table: Table = story.definition(story.t, self.version)
        self.rows: dict[Any, Row | None] = {}
        self.own: dict[tuple[int, int | None, Any], bool] = {}
        self.wrote = False
        self.is_upkeep = all(one[0] in UPKEEP for one in self.does)

    def play(self) -> None:
        story, tx, begins = self.story, self.tx, self.more.get("begins", self.rv)
        read_ts = None if self.cv is not None else ts(self.rv)
        if not self.is_upkeep:
            op = story.op(f"{tx}.begin")
            story.add(begins, Invoked, self.client, op, tx, self.node, "begin")
            if self.more.get("chosen"):
                story.add(begins, ReadTimeChosen, self.client, op, ts(self.rv))
            story.add(begins, Ok, self.client, op)
        story.add(begins, TxBegan, tx, self.node, ts(self.rv), implicit=False, read_ts=read_ts)
        name = (story.t, self.table.name, ts(self.rv), self.version)
        story.add(begins, Enlisted, tx, self.node, *name)
        self._resolve("enlist", begins, self.rv)
        for one in self.does:
            self._do(*one)
        self._end(self.more.get("ends", max(begins, self.cv or self.rv)))

    def _resolve(self, purpose: str, at: float, top: int) -> None:
        self.story.add(
            at, SchemaResolved, self.node, self.tx, None, purpose, None, self.story.t, ts(top),
            self.version, 0,
        )  # fmt: skip

    def _end(self, ends: float) -> None:
        story, cv = self.story, self.cv
        if self.more.get("aborts"):
            story.add(ends, TxAborted, self.node, self.tx, self.more["aborts"])
            return
        if not self.is_upkeep:
            self._ask_to_commit(ends)
        if cv is not None:
            self._store(cv)
        if self.more.get("unknown"):
            return
        if self.wrote and cv is not None:
            self._resolve("commit", ends, cv)
        commit = self.rv if cv is None else cv
        tables = ((story.t, self.version, self.version),)
        story.add(ends, TxCommitted, self.node, self.tx, ts(commit), tables)

    def _store(self, cv: int) -> None:
        for key, row in self.rows.items():
            self.story.store(key, Stored(self.tx, cv, self.version, row))
        for entry, added in self.own.items():
            self.story.enter(entry, cv, added=added)

    def _ask_to_commit(self, ends: float) -> None:
        op, asked = self.story.op(f"{self.tx}.commit"), self.more.get("asked", ends)
        self.story.add(asked, Invoked, self.client, op, self.tx, self.node, "commit")
        if self.more.get("unknown"):
            told = ends + 100
            self.story.add(told, Unknown, self.client, op, "NODE_UNREACHABLE")
        else:
            self.story.add(ends, Ok, self.client, op)

    # --- operations -------------------------------------------------------------------------------

    def _do(self, kind: str, *what: Any) -> None:
        at = self.more.get("at", self.more.get("begins", self.rv))
        op = self.story.op(None)
        table, key = "t", what[0] if kind in ("put", "delete", "get") else None
        fields = (self.client, op, self.tx, self.node, kind)
        if not self.is_upkeep:
            self.story.add(at, Invoked, *fields, table=table, key=key)
        value = getattr(self, f"_{kind}")(at, op, *what)
        if not self.is_upkeep:
            self.story.add(self.more.get("answered", at), Ok, self.client, op, value)

    def _row(self, key: Any) -> Row | None:
        if key in self.rows:
            return self.rows[key]
        found = self.story.newest(key, self.rv)
        return None if found is None else found.row

    def _put(self, at: float, op: str, key: Any, value: Any) -> None:
        columns = self.table.columns
        given = {0: key, 1: value}
        if self.story.settings[""].get("tells_names"):
            self.story.add(at, Named, self.client, op, (), {"v": value})
        self._write(at, op, key, tuple((one.id, given.get(one.id)) for one in columns))

    def _delete(self, at: float, op: str, key: Any) -> None:
        self._write(at, op, key, None)

    def _write(self, at: float, op: str, key: Any, row: Row | None) -> None:
        before, self.wrote = self._row(key), True
        fields = (self.node, self.tx, op, self.story.t, 0, key, ts(self.rv), self.version, row)
        self.story.add(at, WriteExecuted, *fields)
        self.rows[key] = row
        for index in self.table.indexes:
            old = None if before is None else dict(before)[1]
            new = None if row is None else dict(row)[1]
            if before is not None and (row is None or old != new):
                self._enter(at, op, index.id, key, old, added=False)
            if row is not None and index.state in WRITES:
                self._enter(at, op, index.id, key, new, added=True)

    def _enter(self, at: float, op: str, index: int, key: Any, value: Any, *, added: bool) -> None:
        fields = (self.node, self.tx, op, self.story.t, index, (value,), key, added)
        self.story.add(at, IndexWritten, *fields)
        self.own[index, value, key] = added
        self.wrote = True

    def _found(self, key: Any) -> RowRead:
        if key in self.rows:
            return RowRead(key, self.tx, self.version, self.version, self.rows[key])
        found = self.story.newest(key, self.rv)
        if found is None:
            return RowRead(key, None, 0, 0, None)
        row = found.row
        if row is not None:
            cells = dict(row)
            columns = self.table.columns
            row = tuple((one.id, cells.get(one.id, one.initial_default)) for one in columns)
        return RowRead(key, found.writer, found.version, found.version, row)

    def _read(self, at: float, op: str, rows: list[RowRead], *, predicate: bool) -> list[Any]:
        fields = (self.node, self.tx, op, self.story.t, 0, ts(self.rv), self.version, predicate)
        self.story.add(at, ReadExecuted, *fields, tuple(rows))
        return shown(self.table, rows)

    def _get(self, at: float, op: str, key: Any) -> Any:
        rows = self._read(at, op, [self._found(key)], predicate=False)
        return rows[0] if rows else None

    def _scan(self, at: float, op: str) -> list[Any]:
        keys = dict.fromkeys([*self.story.known_keys(), *self.rows])
        found = [one for one in map(self._found, keys) if one.writer is not None]
        return self._read(at, op, found, predicate=True)

    def _find(self, at: float, op: str, value: Any) -> list[Any]:
        entries = dict.fromkeys([*self.story.entries(), *self.own])
        keys = [
            key
            for index, held, key in entries
            if (index, held) == (INDEX, value) and self._is_there((index, held, key))
        ]
        fields = (self.node, self.tx, op, self.story.t, INDEX, ts(self.rv), (value,), tuple(keys))
        self.story.add(at, IndexRead, *fields)
        return self._read(at, op, [self._found(key) for key in keys], predicate=False)

    def _is_there(self, entry: tuple[int, int | None, Any]) -> bool:
        if entry in self.own:
            return self.own[entry]
        return self.story.has_entry(entry, self.rv)

    # --- maintenance ------------------------------------------------------------------------------

    def _fill(self, at: float, op: str) -> None:
        """Entries for all rows of the read version."""
        for key in self.story.known_keys():
            row = self._row(key)
            if row is not None:
                self._enter(at, op, INDEX, key, dict(row)[1], added=True)

    def _erase(self, at: float, op: str) -> None:
        """No entries any more of the read version."""
        for entry in self.story.entries():
            if self.story.has_entry(entry, self.rv):
                self._enter(at, op, entry[0], entry[2], entry[1], added=False)

    def _entry(self, at: float, op: str, key: Any, value: Any, added: Any) -> None:
        self._enter(at, op, INDEX, key, value, added=bool(added))
