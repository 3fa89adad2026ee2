"""I7, entries of indexes: each row has its entry in an index that is public, and no other entry is.

An index has a state, by which a transaction under that version writes to it (strategies.md, C6):

    state                       INSERT      DELETE     UPDATE                     answers queries
    absent                      -           -          -                          no
    delete_only                 -           removes    removes the old one        no
    write_only, reorganization  adds        removes    removes old, adds new      no
    public                      adds        removes    removes old, adds new      yes

Judged is what came of it, from the writes of committed transactions in the order of their commits,
whatever versions they used:

* While an index is there, in whatever state, it has no entry without a row of these values
  (`orphan-entry`). On the Ignite plane that is so once it has been public: before, an older
  transaction may leave a stray entry, which no query sees and the backfill removes.
* While it is public, each row has its entry (`missing-entry`).
* What storage holds in the end is what was committed (`entry-lost`, `entry-not-written`), and
  nothing is left of an index that was dropped from a table that lives (`orphan-entry`): to erase
  that is part of the statement. Where a statement or a process was cut short, the rest may be
  there; and of dropped tables nothing is judged, neither rows nor entries. On the Ignite plane the
  entries count that the primary of the row's partition holds.
* A query by an index found the rows of its timestamp (`index_reads`).
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from ddlsim.checkers.base import CHECKERS, WITNESS, Anomaly, Severity
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.entries import (
    Access,
    Meaning,
    Put,
    accesses,
    entries_of,
    entry_of,
    entry_of_write,
    key_of,
    meaning,
)
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.words import values_words
from ddlsim.checkers.case.writes import Key, Version, Writes, writes_of
from ddlsim.checkers.rows.index_reads import index_reads
from ddlsim.checkers.rows.index_storage import Row, is_everywhere, stored
from ddlsim.history.events import AnyEvent, RowFinal
from ddlsim.history.index_events import IndexFilled, IndexFinal, IndexWritten
from ddlsim.history.world_events import LeftOpen, NeverCompleted
from ddlsim.model.schema import PUBLIC, Table
from ddlsim.units import MAX_TIMESTAMP, show

Event = IndexWritten | IndexFilled
"""What put an entry there, or took it out."""


class IndexContents:
    """The entries of every index agree with the rows of its table, at each commit and in the end.

    Judged where transactions write entries beside rows; elsewhere indexes are kept by the storage
    and leave no events. No other checker sees an entry that nothing has read.
    """

    name = "index_contents"
    invariant = "I7"
    severity: Severity = "safety"
    summary = "each row has its entry in every public index, and no entry is without its row"
    voices = WITNESS

    def check(self, case: Case) -> Iterator[Anomaly]:
        """Entries after each commit, what queries found, what storage holds in the end."""
        if not case.keeps_entries:
            return
        replays = [
            Replay(case, object_id, index_id)
            for object_id in dict.fromkeys(one.object_id for one in case.schemas.all_steps())
            for index_id in indexes(case, object_id)
        ]
        for replay in replays:
            yield from replay.run()
        yield from index_reads(case, of_the_past=False)
        if not case.of(NeverCompleted) and _is_read_back(case):
            yield from _in_the_end(case, replays)


def _is_read_back(case: Case) -> bool:
    return bool(case.of(RowFinal)) or bool(case.of(IndexFinal))


def indexes(case: Case, object_id: int) -> list[int]:
    """Every index that a table ever had."""
    steps = case.schemas.steps(object_id, 0, MAX_TIMESTAMP)
    tables = [one.definition for one in steps if isinstance(one.definition, Table)]
    found = (accesses(table, constraints=case.is_layered) for table in tables)
    return list(dict.fromkeys(id_ for one in found for id_ in one))


class Now(NamedTuple):
    """An index as the version in force has it."""

    access: Access
    table: Table
    step: SchemaVersion

    @property
    def is_public(self) -> bool:
        """Whether it answers queries."""
        return self.access.state == PUBLIC


class Replay:
    """The rows of a table and the entries of one of its indexes, from commit to commit."""

    def __init__(self, case: Case, object_id: int, index_id: int) -> None:
        self.case = case
        self.object_id = object_id
        self.index_id = index_id
        self.now: Now | None = None
        self.rows: dict[Key, Version] = {}
        self.entries: dict[Key, dict[tuple[object, ...], Event]] = {}
        self.left: dict[Key, Event] = {}
        """By key, the last entry that was taken out."""
        self.was_public = case.is_layered
        """Whether stray entries count: elsewhere those from before are the backfill's to remove."""
        self.reported: dict[tuple[str, Key, Meaning], None] = {}
        self._writes = writes_of(case)

    def run(self) -> Iterator[Anomaly]:
        """What is wrong after each commit and each activation, once."""
        for ts, (steps, versions, puts) in self._instants():
            touched = self._apply(versions, puts)
            for step in steps:
                touched = self._take(step)
            if self.now is not None:
                for key in touched:
                    yield from self._check(self.now, key, ts)

    def _instants(
        self,
    ) -> list[tuple[int, tuple[list[SchemaVersion], list[Version], list[Put]]]]:
        """All that happens to the table and its index, by its timestamp."""
        found: dict[int, tuple[list[SchemaVersion], list[Version], list[Put]]]
        found = defaultdict(lambda: ([], [], []))
        for step in self.case.schemas.steps(self.object_id, 0, MAX_TIMESTAMP):
            found[step.activation_ts][0].append(step)
        for (object_id, _), versions in self._writes.versions.items():
            if object_id == self.object_id:
                for version in versions:
                    found[version.commit_ts][1].append(version)
        for put in entries_of(self.case).of.get((self.object_id, self.index_id), ()):
            found[put.commit_ts][2].append(put)
        return sorted(found.items(), key=lambda one: one[0])

    def _apply(self, versions: list[Version], puts: list[Put]) -> dict[Key, None]:
        """Carry out what was committed at one timestamp; gives the keys that it touched."""
        for version in versions:
            self.rows[key_of(version.write.event.key)] = version
        for put in puts:
            key = key_of(put.event.key)
            entries = self.entries.setdefault(key, {})
            if put.event.added:
                entries[put.event.values] = put.event
            else:
                entries.pop(put.event.values, None)
                self.left[key] = put.event
        keys = [one.write.event.key for one in versions] + [one.event.key for one in puts]
        return dict.fromkeys(key_of(key) for key in keys)

    def _take(self, step: SchemaVersion) -> dict[Key, None]:
        """Go over to another version of the table; gives every key, to be looked at again."""
        table = step.definition
        access = accesses(table).get(self.index_id) if isinstance(table, Table) else None
        self.now = None
        if access is not None and isinstance(table, Table):
            self.now = Now(access, table, step)
            self.was_public = self.was_public or self.now.is_public
        return dict.fromkeys([*self.rows, *self.entries])

    def due(self, now: Now, key: Key) -> Meaning | None:
        """The entry that a key's row has; None where there is no row."""
        version = self.rows.get(key)
        if version is None:
            return None
        return entry_of_write(self._writes, now.access, now.table, version.write.event)

    def held(self, now: Now, key: Key) -> dict[Meaning, Event]:
        """The entries of a key by what they mean."""
        entries = self.entries.get(key, {}).values()
        return {meaning(now.access, now.table, one.values): one for one in entries}

    def _check(self, now: Now, key: Key, ts: int) -> Iterator[Anomaly]:
        if not self.is_known(key):
            return
        due, held = self.due(now, key), self.held(now, key)
        for values, event in held.items() if self.was_public else ():
            if values != due and self.is_new("orphan-entry", key, values):
                yield self._orphan(now, key, ts, event)
        lacks = due is not None and now.is_public and due not in held
        if due is not None and lacks and self.is_new("missing-entry", key, due):
            yield self._missing(now, key, ts, due)

    def is_known(self, key: Key) -> bool:
        """Whether the history tells how every transaction ended that wrote a row."""
        return (self.object_id, key) not in self.case.undecided_rows

    def is_new(self, kind: str, key: Key, values: Meaning) -> bool:
        """Whether an anomaly of an entry has not been reported; notes it."""
        known = (kind, key, values)
        is_new = known not in self.reported
        self.reported[known] = None
        return is_new

    def _orphan(self, now: Now, key: Key, ts: int, event: Event) -> Anomaly:
        version = self.rows.get(key)
        row: tuple[AnyEvent, ...] = () if version is None else (version.write.event,)
        state = "it has no row" if version is None else _left_by(self.case, version)
        return Anomaly(
            "orphan-entry",
            f"at {show(ts)} the index {self.describe(now)} has an entry "
            f"{values_words(event.values)} of row {key!r}, put there by {event.tx}; {state}",
            (event, *row, *self.case.schemas.logged(now.step)),
        )

    def _missing(self, now: Now, key: Key, ts: int, due: Meaning) -> Anomaly:
        version, removed = self.rows[key], self.left.get(key)
        taken: tuple[AnyEvent, ...] = () if removed is None else (removed,)
        return Anomaly(
            "missing-entry",
            f"at {show(ts)} the index {self.describe(now)} has no entry {values_words(due)} of row "
            f"{key!r}; {_left_by(self.case, version)}",
            (version.write.event, *taken, *self.case.schemas.logged(now.step)),
        )

    def describe(self, now: Now) -> str:
        """The index for people: its name, its table and its state."""
        table = self.case.schemas.describe(self.object_id, now.step.version)
        return f"{now.access.name} of {table} ({now.access.state})"


def _left_by(case: Case, version: Version) -> str:
    event = version.write.event
    left = "deleted the row" if event.row is None else "wrote the row"
    table = case.schemas.describe(event.object_id, event.version)
    return f"{event.tx} {left} under {table} and committed at {show(version.commit_ts)}"


# --- in the end -----------------------------------------------------------------------------------


def _in_the_end(case: Case, replays: list[Replay]) -> Iterator[Anomaly]:
    """What storage holds against what was committed, and against the rows that it holds."""
    writes = writes_of(case)
    rows, held, unknown = stored(case)
    for replay in replays:
        finals = held.pop((replay.object_id, replay.index_id), [])
        if replay.now is None:
            yield from _erased(case, finals)
            continue
        yield from _as_committed(replay, replay.now, finals, unknown)
        yield from _as_the_rows(writes, replay, replay.now, finals, rows)
    for finals in held.values():
        yield from _erased(case, finals)


def _erased(case: Case, finals: list[IndexFinal]) -> Iterator[Anomaly]:
    """Nothing is left of what was dropped from living tables, where nothing was cut short."""
    if case.dead or case.of(LeftOpen):
        return
    for event in finals:
        newest = case.schemas.newest(event.object_id)
        gone = newest is None or newest.definition is None
        if gone or not is_everywhere(case, event):
            continue
        put = entries_of(case).of.get((event.object_id, event.index_id), [])
        last = [one.event for one in put if key_of(one.event.key) == key_of(event.key)][-1:]
        by = f", put there by {last[0].tx}" if last else ""
        yield Anomaly(
            "orphan-entry",
            f"in the end storage held an entry {values_words(event.values)} of row {event.key!r} "
            f"in index {event.index_id} of {case.schemas.name(event.object_id)}, which was "
            f"dropped{by}",
            (*last, event),
        )


def _as_committed(
    replay: Replay, now: Now, finals: list[IndexFinal], unknown: dict[Row, None]
) -> Iterator[Anomaly]:
    """Storage holds each entry that was committed, and no other."""
    present: dict[Key, dict[Meaning, IndexFinal]] = {}
    for event in finals:
        values = meaning(now.access, now.table, event.values)
        present.setdefault(key_of(event.key), {})[values] = event
    for key in filter(replay.is_known, dict.fromkeys([*replay.entries, *present])):
        if (replay.object_id, key) in unknown:
            continue
        committed, here = replay.held(now, key), present.get(key, {})
        for values, put in committed.items():
            if values not in here:
                yield Anomaly(
                    "entry-lost",
                    f"{put.tx} put an entry {put.values!r} of row {key!r} into the index "
                    f"{replay.describe(now)} and committed, but in the end storage did not hold it",
                    (put,),
                )
        for values, event in here.items():
            if values not in committed and is_everywhere(replay.case, event):
                yield Anomaly(
                    "entry-not-written",
                    f"in the end storage held an entry {values_words(event.values)} of row {key!r} "
                    f"in the index {replay.describe(now)}, which no committed transaction had left "
                    "there",
                    (event,),
                )


def _as_the_rows(
    writes: Writes,
    replay: Replay,
    now: Now,
    finals: list[IndexFinal],
    rows: dict[Row, RowFinal],
) -> Iterator[Anomaly]:
    """The entries that storage holds are those of the rows that it holds."""
    due: dict[Key, tuple[Meaning, RowFinal]] = {}
    for (object_id, key), row in rows.items():
        source = writes.table(row.object_id, row.version)
        if object_id == replay.object_id and row.row is not None and source is not None:
            due[key] = (entry_of(now.access, now.table, row.row, source), row)
    found: dict[Key, dict[Meaning, None]] = {}
    for event in finals:
        key, values = key_of(event.key), meaning(now.access, now.table, event.values)
        found.setdefault(key, {})[values] = None
        known = due.get(key)
        if (known is not None and known[0] == values) or not is_everywhere(replay.case, event):
            continue
        if replay.was_public and replay.is_new("orphan-entry", key, values):
            yield Anomaly(
                "orphan-entry",
                f"in the end storage held an entry {values_words(event.values)} of row {key!r} in "
                f"the index {replay.describe(now)}, and "
                f"{'no row' if known is None else 'another row'} there",
                (event, *(() if known is None else (known[1],))),
            )
    for key, (values, row) in due.items():
        lacks = now.is_public and values not in found.get(key, {})
        if lacks and replay.is_new("missing-entry", key, values):
            yield Anomaly(
                "missing-entry",
                f"in the end storage held row {key!r} as {row.writer} had left it, and no entry "
                f"{values_words(values)} of it in the index {replay.describe(now)}",
                (row,),
            )


CHECKERS.add("index_contents", IndexContents())
