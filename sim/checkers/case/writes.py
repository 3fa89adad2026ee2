"""What was written to each key: every write, and the committed versions in commit_ts order."""

from bisect import bisect_right
from typing import NamedTuple

from ddlsim.checkers.case import rows
from ddlsim.checkers.case.case import Case
from ddlsim.history.event import Cells
from ddlsim.history.events import WriteExecuted
from ddlsim.model.schema import Table, Value

Key = Value | tuple[Value, ...]
Item = tuple[int, Key]
"""A row by (object id, key)."""


class Write(NamedTuple):
    """One write: where it stands in the history, and what its client meant.

    `meant` was encoded under `meant_version`; without an event of that it is what the
    primary wrote.
    """

    tx: str
    position: int
    event: WriteExecuted
    meant_version: int
    meant: Cells | None


class Version(NamedTuple):
    """A committed version of a row: the last write of its transaction."""

    commit_ts: int
    committed_at: int
    write: Write


class Writes:
    """Every write of a history, by key and by transaction."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.is_layered = case.is_layered
        self.of: dict[tuple[str, Item], list[Write]] = {}
        """A transaction's writes of a key, in order."""
        self.at: dict[int, Write] = {}
        """Each write by its position in the history."""
        self.versions: dict[Item, list[Version]] = {}
        """The committed versions of a row by commit_ts."""
        self.order: dict[tuple[str, Item], int] = {}
        """The place of a transaction's version among those of a row."""
        self.partitions: dict[tuple[int, int], dict[Key, None]] = {}
        """The keys of a table's partition for which anything was ever committed."""
        self._due: dict[tuple[int, int], tuple[Cells | None, Table, Table]] = {}
        for tx in case.transactions.values():
            for position, event in tx.writes:
                self._add(tx.name, position, event)
        for tx in case.committed:
            assert tx.committed is not None, tx.name
            items = {(event.object_id, event.key): None for _, event in tx.writes}
            for item in items:
                write = self.of[tx.name, item][-1]
                version = Version(tx.stamp, tx.committed_at, write)
                versions = self.versions.setdefault(item, [])
                self.order[tx.name, item] = len(versions)
                versions.append(version)
                place = (item[0], write.event.partition)
                self.partitions.setdefault(place, {})[item[1]] = None

    def _add(self, tx: str, position: int, event: WriteExecuted) -> None:
        version, row = event.version, event.row
        encoded = None if row is None else self._case.meant(event, position)
        if encoded is not None:
            version, row = encoded.version, encoded.row
        write = Write(tx, position, event, version, row)
        self.at[position] = write
        self.of.setdefault((tx, (event.object_id, event.key)), []).append(write)

    def newest_at(self, item: Item, ts: int) -> Version | None:
        """The committed version of a row with the largest commit_ts <= ts."""
        versions = self.versions.get(item)
        if versions is None or versions[-1].commit_ts <= ts:
            return versions[-1] if versions else None
        at = bisect_right(versions, ts, key=lambda version: version.commit_ts)
        return versions[at - 1] if at else None

    def due(self, write: Write, version: int) -> tuple[Cells | None, Table, Table] | None:
        """What its client meant by a write, as a version of the table shows it, and both tables.

        None where the history lacks one of the two.
        """
        place = (write.position, version)
        found = self._due.get(place)
        if found is None:
            source = self.table(write.event.object_id, write.meant_version)
            target = self.table(write.event.object_id, version)
            if source is None or target is None:
                return None
            shown = None if write.meant is None else rows.upgraded(write.meant, source, target)
            found = self._due[place] = (shown, source, target)
        return found

    def table(self, object_id: int, version: int) -> Table | None:
        """A table at one of its versions."""
        found = self._case.schemas.definition(object_id, version)
        return found if isinstance(found, Table) else None


def writes_of(case: Case) -> Writes:
    """Every write of a case."""
    return case.once(Writes)


def differing(writes: Writes, write: Write, version: int, row: Cells | None) -> list[str]:
    """Where a row under a version is not what its client meant."""
    found = writes.due(write, version)
    if found is None:
        return []
    due, source, target = found
    if due is not None and row is not None and rows.is_identical(due, row):
        return rows.no_texts(row, target)
    return rows.differences(write.meant, source, row, target)


def version_of(writer: str | None) -> str:
    """What a read found, by its writer, for people."""
    return "nothing" if writer is None else f"the version of {writer}"


def the_row(case: Case, object_id: int, key: object, version: int) -> str:
    """A row of a table at a version, for people: `row 1 of t (version 2)`."""
    return f"row {key!r} of {case.schemas.name(object_id, version)} (version {version})"
