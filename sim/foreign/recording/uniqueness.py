"""What a recording shows of unique indexes: how many were made, and rows that break them.

`duplicate-under-unique`: a statement returned two rows with one value of the indexed column. Its
transaction began after the CREATE of the index was acknowledged, and the statement had its answer
before the first DROP of it began. So no version of the table in between has both rows, and a
statement reads one version at every level but READ UNCOMMITTED. Which models of isolation a
history keeps to makes no difference: a constraint holds at each of them.

An index is to be unique by its name, as `Database.unique_index` makes it, whatever its CREATE says.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from ddlsim.history.recording import UNIQUE, AnyLine, Begun, Ended, Statement

DUPLICATE: Final = "duplicate-under-unique"
DIRTY: Final = "read-uncommitted"
_INDEX: Final = re.compile(r"(CREATE|DROP|SELECT)\b.*?\b((\w+)_unique_\d+)\b")
_READ: Final = re.compile(r"SELECT \* FROM (\w+) ")
_NEVER: Final = -1


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Rows of one answer with one value, under an index; the transactions by their numbers in the
    recording: that of the read, and the one that created the index.
    """

    reader: int
    created_by: int
    table: str
    index: str
    value: object
    rows: tuple[int, ...]


@dataclass(slots=True)
class _Index:
    """The transaction of its CREATE, when that was acknowledged, and when a DROP began."""

    created_by: int
    acknowledged: int = _NEVER
    dropped: int = _NEVER


@dataclass(slots=True)
class Found:
    """Indexes that were made, refused or left invalid, and the rows that break one."""

    duplicates: list[Duplicate] = field(default_factory=list)
    created: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    """Indexes that were not created, by the class of the error."""
    invalid: dict[str, None] = field(default_factory=dict)
    """Indexes that were there, and not valid, after their CREATE or DROP had failed."""
    violations: int = 0
    """Transactions that failed since a row would have broken an index."""

    @property
    def notes(self) -> list[str]:
        """The same in words, without the duplicates."""
        notes = []
        if self.created or self.refused:
            refused = "".join(f", {n:,} refused ({why})" for why, n in self.refused.items())
            notes.append(f"unique indexes: {self.created:,} created{refused}")
        if self.invalid:
            notes.append(
                f"invalid indexes that were left behind: {len(self.invalid):,}, "
                f"{next(iter(self.invalid))} first"
            )
        if self.violations:
            notes.append(f"writes refused by a unique index: {self.violations:,}")
        return notes


def look(lines: Iterable[AnyLine]) -> Found:
    """Look through the lines of a recording, in their order."""
    looking = _Looking()
    for line in lines:
        if isinstance(line, Begun):
            looking.begins[line.tx] = line.at
        elif isinstance(line, Statement):
            looking.statement(line)
        elif isinstance(line, Ended):
            looking.end(line)
    return looking.result()


class _Looking:
    def __init__(self) -> None:
        self.begins: dict[int, int] = {}
        """When the transactions began that are under way."""
        self._indexes: dict[str, _Index] = {}
        self._of_table: dict[str, list[str]] = {}
        self._created: dict[int, str] = {}
        """Transactions under way whose CREATE succeeded."""
        self._doubtful: list[tuple[Duplicate, int]] = []
        """Rows that break an index if no DROP of it began before an instant."""
        self._found = Found()

    def statement(self, one: Statement) -> None:
        if found := _INDEX.match(one.sql):
            self._about_index(one, found[1], found[2], found[3])
            return
        if one.problem is not None:
            self._found.violations += one.problem[1] == UNIQUE
        elif one.rows and (read := _READ.match(one.sql)):
            self._rows(one, read[1])

    def _about_index(self, one: Statement, verb: str, name: str, table: str) -> None:
        if verb == "CREATE":
            self._indexes[name] = _Index(one.tx)
            if one.problem is None:
                self._created[one.tx] = name
                self._of_table.setdefault(table, []).append(name)
            else:
                self._found.refused[one.problem[1]] += 1
        elif verb == "DROP" and name in self._indexes:
            index = self._indexes[name]
            if index.dropped == _NEVER:
                index.dropped = self.begins.get(one.tx, one.at)
        elif verb == "SELECT" and one.rows and not one.rows[0][0]:
            self._found.invalid[name] = None

    def _rows(self, one: Statement, table: str) -> None:
        under = self._under(table, self.begins.get(one.tx, _NEVER))
        if under is None:
            return
        for value, rows in _alike(one):
            made = Duplicate(one.tx, self._indexes[under].created_by, table, under, value, rows)
            self._doubtful.append((made, one.until))

    def _under(self, table: str, begun: int) -> str | None:
        """An index of a table whose CREATE was acknowledged before an instant, and that no DROP
        was seen of.
        """
        names = self._of_table.get(table)
        while names and self._indexes[names[0]].dropped != _NEVER:
            names.pop(0)
        for name in names or ():
            if _NEVER < self._indexes[name].acknowledged < begun:
                return name
        return None

    def end(self, one: Ended) -> None:
        self.begins.pop(one.tx, None)
        name = self._created.pop(one.tx, None)
        if name is None:
            return
        if one.outcome == "ok":
            self._indexes[name].acknowledged = one.at
            self._found.created += 1
        else:
            self._found.refused[one.why] += 1

    def result(self) -> Found:
        for made, until in self._doubtful:
            dropped = self._indexes[made.index].dropped
            if dropped == _NEVER or until < dropped:
                self._found.duplicates.append(made)
        return self._found


def _alike(one: Statement) -> Iterator[tuple[object, tuple[int, ...]]]:
    """Values of x that several rows of an answer have, with these rows."""
    columns = one.columns or ()
    if not {"id", "x"} <= set(columns):
        return
    identity, x = columns.index("id"), columns.index("x")
    values = [row[x] for row in one.rows or () if isinstance(row[x], int)]
    if len(values) == len(set(values)):
        return
    for value, count in Counter(values).items():
        if count > 1:
            yield value, tuple(row[identity] for row in one.rows or () if row[x] == value)
