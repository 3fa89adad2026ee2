"""What queries by an index found, against the rows at their timestamp; part of I7 and of I10.

A query by an index finds the keys of the rows that have its values at its timestamp, beside what
its own transaction had written before: no other key, and each of these. Where it used the version
of the table that was in force, or its transaction wrote and committed, what is wrong is I7; a
read-only transaction that used another version is judged by I10, and so is one of a store that
wrote nothing: a store checks no transaction that only reads (C13). A read-only transaction is
judged whether it ever commits or not, any other one if it does.
"""

from collections.abc import Iterator
from typing import NamedTuple

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Placed, Transaction
from ddlsim.checkers.case.entries import (
    Access,
    Meaning,
    accesses,
    entry_of_write,
    key_of,
    meaning,
    version_used,
)
from ddlsim.checkers.case.words import values_words
from ddlsim.checkers.case.writes import Item, Key, Writes, writes_of
from ddlsim.history.events import AnyEvent, WriteExecuted
from ddlsim.history.index_events import IndexPartRead, IndexRead
from ddlsim.model.schema import Table
from ddlsim.units import MAX_TIMESTAMP, show


class Query(NamedTuple):
    """A query by an index, where it stands, and the version of the table that it used.

    `version` is the last one up to that which has the index, as `access` and `table` are.
    """

    position: int
    event: IndexRead
    used: int
    version: int
    access: Access
    table: Table


class Life(NamedTuple):
    """A committed row while it is the newest one of its key: [start, end)."""

    start: int
    end: int
    key: Key
    event: WriteExecuted


class Lives:
    """The committed rows of tables by their values in an index, under one version."""

    def __init__(self, case: Case) -> None:
        self._writes = writes_of(case)
        self._items: dict[int, list[Item]] = {}
        for item in self._writes.versions:
            self._items.setdefault(item[0], []).append(item)
        self._known: dict[tuple[int, int, int], dict[Meaning, list[Life]]] = {}

    def at(self, query: Query, values: Meaning) -> dict[Key, WriteExecuted]:
        """The rows with these values at the timestamp of a query."""
        place = (query.event.object_id, query.access.id, query.version)
        if place not in self._known:
            self._known[place] = self._all(query)
        ts = query.event.op_ts
        lives = self._known[place].get(values, ())
        return {life.key: life.event for life in lives if life.start <= ts < life.end}

    def _all(self, query: Query) -> dict[Meaning, list[Life]]:
        found: dict[Meaning, list[Life]] = {}
        for item in self._items.get(query.event.object_id, ()):
            versions = self._writes.versions[item]
            ends = [*(one.commit_ts for one in versions[1:]), MAX_TIMESTAMP]
            for version, end in zip(versions, ends, strict=True):
                event = version.write.event
                values = entry_of_write(self._writes, query.access, query.table, event)
                if values is not None:
                    life = Life(version.commit_ts, end, item[1], event)
                    found.setdefault(values, []).append(life)
        return found


def index_reads(case: Case, *, of_the_past: bool) -> Iterator[Anomaly]:
    """Every query by an index that one of the two invariants judges."""
    reads: list[Placed[IndexRead]] = [*case.of(IndexRead), *case.of(IndexPartRead)]
    if not reads:
        return
    writes, lives = writes_of(case), case.once(Lives)
    for position, event in reads:
        tx = case.transactions.get(event.tx)
        if tx is None or (tx.committed is None and tx.read_ts is None):
            continue
        query = query_of(case, writes, tx, position, event)
        if query is not None and _is_of_the_past(case, tx, query) == of_the_past:
            yield from _judged(case, writes, lives, tx, query)


def query_of(
    case: Case, writes: Writes, tx: Transaction, position: int, event: IndexRead
) -> Query | None:
    """A query with its index; None where no version up to the one that it used has it."""
    used = version_used(case, tx, event.object_id, event.op_ts)
    for version in range(used, 0, -1):
        table = writes.table(event.object_id, version)
        access = None if table is None else accesses(table).get(event.index_id)
        if table is not None and access is not None:
            return Query(position, event, used, version, access, table)
    return None


def _is_of_the_past(case: Case, tx: Transaction, query: Query) -> bool:
    """Whether the reader itself is wrong, and wrote nothing: it used a version not in force."""
    only_reads = tx.read_ts is not None or (case.is_layered and not tx.writes)
    due = case.schemas.effective(query.event.object_id, query.event.op_ts)
    return only_reads and (due is None or due.version != query.used)


def _judged(
    case: Case, writes: Writes, lives: Lives, tx: Transaction, query: Query
) -> Iterator[Anomaly]:
    event = query.event
    values = meaning(query.access, query.table, event.values)
    due = dict(lives.at(query, values))
    if isinstance(event, IndexPartRead):
        here = writes.partitions.get((event.object_id, event.partition), ())
        due = {key: row for key, row in due.items() if key in here}
    for _, own in tx.writes:
        if own.object_id == event.object_id and _is_asked(event, own):
            _overlay(writes, due, query, values, own)
    found = {key_of(key): None for key in event.keys}
    for key in {**found, **due}:
        if (key in found) != (key in due) and (event.object_id, key) not in case.undecided_rows:
            yield _anomaly(case, query, key, due.get(key))


def _is_asked(event: IndexRead, own: WriteExecuted) -> bool:
    """Whether a query is about the partition of a row."""
    return not isinstance(event, IndexPartRead) or event.partition == own.partition


def _overlay(
    writes: Writes,
    due: dict[Key, WriteExecuted],
    query: Query,
    values: Meaning,
    own: WriteExecuted,
) -> None:
    """What the transaction itself had written to a key before the query counts for it."""
    places = [one.position for one in writes.of[own.tx, (own.object_id, key_of(own.key))]]
    if min(places) > query.position:
        return
    last = writes.at[max(one for one in places if one < query.position)].event
    due.pop(key_of(own.key), None)
    if entry_of_write(writes, query.access, query.table, last) == values:
        due[key_of(own.key)] = last


def _anomaly(case: Case, query: Query, key: Key, write: WriteExecuted | None) -> Anomaly:
    event, name = query.event, query.access.name
    asked = (
        f"{event.tx} asked for {values_words(event.values)} by the index {name} of "
        f"{case.schemas.describe(event.object_id, query.used)} at {show(event.op_ts)} on node "
        f"{event.node}"
    )
    witness: tuple[AnyEvent, ...] = (event,)
    if write is None:
        return Anomaly(
            "orphan-found",
            f"{asked} and found row {key!r}, which is not there or has other values",
            witness,
        )
    return Anomaly(
        "row-not-found",
        f"{asked} and did not find row {key!r}, which {write.tx} had written under version "
        f"{write.version}",
        (write, *witness),
    )
