"""What a recording shows of a schema and its rows that no state of the database ever was.

Each is a case of what the judge of all histories finds as cycles; here it has a name and its few
transactions, those that changed a table and one that read it:

* `future-column`: a column was read, and a row without what the column's own transaction, or its
  client before it, had appended to it.
* `stale-columns`: a row was read with what a transaction had appended to it, and not the column
  that this transaction, or its client before it, had added.
* `vanished-rows`: a row was not found, or as an empty list, though it was inserted with its table,
  before any client used that, and never deleted: fewer elements than any version of it had.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from ddlsim.foreign.inference.lists import Lists
from ddlsim.foreign.readers.operations import APPEND
from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.graph.fractured import NOWHERE
from ddlsim.graph.history import COMMITTED, Array
from ddlsim.history.recording import SPAN

FUTURE: Final = "future-column"
STALE: Final = "stale-columns"
VANISHED: Final = "vanished-rows"
MEANING: Final = {
    FUTURE: "a column was read, and a row as it was before the column's own transaction",
    STALE: "a row was read as a transaction left it, without the column of that transaction",
    VANISHED: "rows were not found that were never deleted",
}


@dataclass(frozen=True, slots=True)
class Crossing:
    """A reader that saw what `seen_of` made, and missed what `missed_of` made.

    The two writers are one transaction, or the first of them has completed after the other one in
    the same process; without `seen`, before the reader was invoked. `seen` and `missed` are the
    reader's operations, `wrote_seen` and `wrote_missed` the writers'.
    """

    type: str
    reader: int
    missed: int
    missed_of: int
    wrote_missed: int
    seen: int = -1
    seen_of: int = -1
    wrote_seen: int = -1

    @property
    def shape(self) -> str:
        """The general type of the cycle, by which models forbid it."""
        if self.seen < 0:
            return "G-single-realtime"
        return "fractured-read" if self.seen_of == self.missed_of else "G-single-process"

    @property
    def parties(self) -> tuple[int, ...]:
        """The transactions on the cycle, in order from the one that was missed."""
        writers = (self.missed_of,) if self.seen < 0 else (self.missed_of, self.seen_of)
        return (*dict.fromkeys(writers), self.reader)


def crossings(history: Transactions, keys: Array, made_by: int) -> list[Crossing]:
    """Every one, at most one for each type, reader and writer; `keys` are those of the recording,
    by the history's own numbers. Process `made_by` has made the tables; after an end that is not
    known it is called `made_by + 1` more.
    """
    look = _Look(history, keys, made_by)
    return [*look.columns(), *look.vanished()]


class _Look:
    def __init__(self, history: Transactions, keys: Array, made_by: int) -> None:
        lists = Lists(history)
        self._made_by = made_by
        self._history, self._keys = history, keys
        done = history.status[history.tx] == COMMITTED
        good = ~lists.broken[history.key[lists.read]] & done[lists.read]
        order = np.argsort(history.key[lists.read[good]], kind="stable")
        self._reads = lists.read[good][order]
        self._length = lists.length[good][order]
        self._key = history.key[self._reads]
        self._shown = np.zeros(len(history.tx), np.int64)
        self._shown[self._reads] = self._length
        place = np.full(len(history.tx), NOWHERE)
        shown = np.flatnonzero(lists.slot_write >= 0)[::-1]
        place[lists.slot_write[shown]] = shown - lists.base[lists.slot_key[shown]]
        self._place = place
        self._appends = np.flatnonzero((history.kind == APPEND) & done)
        self._before, self._after = self._in_turn()

    def _in_turn(self) -> tuple[dict[int, int], dict[int, int]]:
        """Of each committed transaction that wrote, the one before and after it in its process."""
        history = self._history
        wrote = np.unique(history.tx[self._appends])
        order = wrote[np.lexsort((history.begin[wrote], history.process[wrote]))]
        same = history.process[order[1:]] == history.process[order[:-1]]
        one, other = order[:-1][same].tolist(), order[1:][same].tolist()
        return dict(zip(other, one, strict=True)), dict(zip(one, other, strict=True))

    def columns(self) -> list[Crossing]:
        """Columns and rows of one transaction, or of one client in turn, that were seen in part.

        A row of the column's table comes first: both are then answers of one statement.
        """
        history, found = self._history, dict[tuple[str, int, int], Crossing]()
        changes = self._appends[self._is_column(self._appends)]
        for change in changes[self._place[changes] != 0].tolist():
            writer = int(history.tx[change])
            beside, before, after = (
                sorted(self._rows_of(tx), key=lambda op: not self._is_beside(change, op))
                for tx in (writer, self._before.get(writer, -1), self._after.get(writer, -1))
            )
            for type_, pairs in (
                (FUTURE, [(change, op) for op in (*beside, *before)]),
                (STALE, [(op, change) for op in (*beside, *after)]),
            ):
                for one in (one for pair in pairs for one in self._parts(type_, *pair)):
                    found.setdefault((type_, one.reader, writer), one)
        return list(found.values())

    def _is_column(self, ops: Array) -> Array:
        is_column: Array = self._keys[self._history.key[ops]] % SPAN == 0
        return is_column

    def _rows_of(self, tx: int) -> list[int]:
        """The appends to rows of a transaction."""
        low, high = np.searchsorted(self._appends, self._history.ops_of(tx))
        some = self._appends[low:high]
        found: list[int] = some[~self._is_column(some)].tolist()
        return found

    def _is_beside(self, one: int, other: int) -> bool:
        """Whether two operations are on the same table."""
        keys = self._keys[self._history.key[[one, other]]] // SPAN
        return bool(keys[0] == keys[1])

    def _parts(self, type_: str, seen: int, missed: int) -> list[Crossing]:
        if self._place[seen] == NOWHERE:
            return []
        history = self._history
        saw, length = self._of(seen)
        saw = saw[length > self._place[seen]]
        lacked, length = self._of(missed)
        lacked = lacked[(length <= self._place[missed]) & (length > 0)]
        readers, one, other = np.intersect1d(
            history.tx[saw], history.tx[lacked], return_indices=True
        )
        writers = int(history.tx[missed]), int(history.tx[seen])
        return [
            Crossing(type_, reader, int(lacked[b]), writers[0], missed, int(saw[a]), writers[1],
                     seen)
            for reader, a, b in zip(readers.tolist(), one, other, strict=True)
            if reader not in writers
        ]  # fmt: skip

    def _of(self, op: int) -> tuple[Array, Array]:
        """The committed reads of an operation's key, and their lengths."""
        low, high = np.searchsorted(self._key, [self._history.key[op], self._history.key[op] + 1])
        return self._reads[low:high], self._length[low:high]

    def vanished(self) -> list[Crossing]:
        """Readers to which a row was gone: the first such row of each."""
        history = self._history
        empty = self._reads[(self._length == 0) & (self._keys[self._key] % SPAN != 0)]
        _, first = np.unique(history.tx[empty], return_index=True)
        made: dict[int, int] = {}
        inserts = self._appends[self._place[self._appends] == 0]
        by = history.process[history.tx[inserts]] % (self._made_by + 1)
        inserts = inserts[by == self._made_by]
        for op in inserts.tolist():
            made.setdefault(int(history.key[op]), op)
        found = []
        for op in empty[first].tolist():
            insert = made.get(int(history.key[op]))
            if insert is not None:
                found.append(self._gone(op, insert))
        return found

    def _gone(self, op: int, insert: int) -> Crossing:
        """A read that found nothing; with a row of the same insert that was found, if one was."""
        history = self._history
        writer, reader = int(history.tx[insert]), int(history.tx[op])
        wrote = {int(history.key[at]): at for at in range(*history.ops_of(writer))}
        for at in range(*history.ops_of(reader)):
            key = int(history.key[at])
            if self._shown[at] and key in wrote and self._keys[key] % SPAN:
                return Crossing(VANISHED, reader, op, writer, insert, at, writer, wrote[key])
        return Crossing(VANISHED, reader, op, writer, insert)
