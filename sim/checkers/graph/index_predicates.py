"""What queries by an index did not find, as edges of the serialization graph need it.

A query by values reads a predicate: the keys that it found are reads of their rows, and of every
other key it has read that its row has other values, or is not there. It comes after the write that
took a row out of its answer, and before the next one that puts a row in. A version known to the
query that has its values and was not found is no matter of order: I7 and I10 tell of it.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from ddlsim.checkers.case.case import Case, Transaction
from ddlsim.checkers.case.entries import Meaning, entry_of_write, key_of, meaning
from ddlsim.checkers.case.writes import Item, Version, writes_of
from ddlsim.checkers.rows.index_reads import Query, query_of
from ddlsim.history.events import ReadExecuted
from ddlsim.history.index_events import IndexPartRead, IndexRead

NOWHERE: Final = -1


class Unfound(NamedTuple):
    """A row that a query did not find, by the places of its versions; `NOWHERE` for none.

    `taken_out` is the one with which it had left the answer, `put_in` the next one that is of it.
    """

    read: ReadExecuted
    item: Item
    taken_out: int
    put_in: int


class Queries:
    """The queries by indexes of each transaction, and the rows that have ever had their values."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._writes = writes_of(case)
        self.of: dict[str, list[tuple[int, IndexRead]]] = {}
        for kind in (IndexRead, IndexPartRead):
            for position, event in case.of(kind):
                self.of.setdefault(event.tx, []).append((position, event))
        self._matching: dict[tuple[int, int, int], dict[Meaning, dict[Item, list[int]]]] = {}

    def unfound(self, tx: Transaction) -> Iterator[Unfound]:
        """What each query of a transaction left out though it is in its answer at some time."""
        for position, event in self.of.get(tx.name, ()):
            query = query_of(self._case, self._writes, tx, position, event)
            read = _executed(tx, event)
            if query is not None and read is not None:
                yield from self._left_out(tx, query, read)

    def _left_out(self, tx: Transaction, query: Query, read: ReadExecuted) -> Iterator[Unfound]:
        event = query.event
        values = meaning(query.access, query.table, event.values)
        found = {key_of(key): None for key in event.keys}
        for item, places in self._places(query).get(values, {}).items():
            versions = self._writes.versions[item]
            partition = versions[0].write.event.partition
            elsewhere = isinstance(event, IndexPartRead) and partition != event.partition
            own = self._writes.of.get((tx.name, item))
            wrote_before = own is not None and own[0].position < query.position
            unknown = item in self._case.undecided_rows
            if not (item[1] in found or elsewhere or wrote_before or unknown):
                yield from self._one(tx, query, read, item, places)

    def _one(
        self, tx: Transaction, query: Query, read: ReadExecuted, item: Item, places: list[int]
    ) -> Iterator[Unfound]:
        ts = read.op_ts if self._case.is_layered else tx.read_ts
        versions = self._writes.versions[item]
        known = [at for at, one in enumerate(versions) if _is_known(one, query.position, ts)]
        newest = known[-1] if known else NOWHERE
        if newest in places:
            return
        before = max((place for place in places if place < newest), default=NOWHERE)
        after = min((place for place in places if place > newest), default=NOWHERE)
        yield Unfound(read, item, NOWHERE if before == NOWHERE else before + 1, after)

    def _places(self, query: Query) -> dict[Meaning, dict[Item, list[int]]]:
        """The places of the versions of each row that have some values in the query's index."""
        which = (query.event.object_id, query.access.id, query.version)
        if which not in self._matching:
            found: dict[Meaning, dict[Item, list[int]]] = {}
            for item, versions in self._writes.versions.items():
                for place, version in enumerate(versions if item[0] == which[0] else ()):
                    event = version.write.event
                    values = entry_of_write(self._writes, query.access, query.table, event)
                    if values is not None:
                        found.setdefault(values, {}).setdefault(item, []).append(place)
            self._matching[which] = found
        return self._matching[which]


def _is_known(version: Version, position: int, ts: int | None) -> bool:
    return version.committed_at < position if ts is None else version.commit_ts <= ts


def _executed(tx: Transaction, event: IndexRead) -> ReadExecuted | None:
    """The read of the rows that a query found."""
    partition = event.partition if isinstance(event, IndexPartRead) else 0
    asked = (event.op, event.object_id, partition)
    for _, read in tx.reads:
        if (read.op, read.object_id, read.partition) == asked and not read.predicate:
            return read
    return None


def queries_of(case: Case) -> Queries:
    """The queries by indexes of a case."""
    return case.once(Queries)
