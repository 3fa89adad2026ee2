"""A crossing of schema and rows as an argument, with the SQL as it was sent."""

from collections.abc import Sequence

import numpy as np

from ddlsim.foreign.readers.transactions import Transactions
from ddlsim.foreign.recording.crossings import VANISHED, Crossing
from ddlsim.foreign.recording.sent import shown
from ddlsim.foreign.recording.uniqueness import DUPLICATE, Duplicate
from ddlsim.graph.verdict import Anomaly, Step
from ddlsim.history.recording import SPAN, Statement


class Words:
    """Makes the sentences for one recording."""

    def __init__(
        self, history: Transactions, tables: tuple[str, ...], sent: dict[int, list[Statement]]
    ) -> None:
        self._history, self._tables, self._sent = history, tables, sent

    def anomaly(self, one: Crossing, documented: str) -> Anomaly:
        """A crossing as an anomaly: what was read, what was sent, and why no order explains it."""
        steps = self._steps(one)
        lines = [f"{self._said(one)}."]
        for number in one.parties:
            lines += ["", f"{self._call(number)} (process {self._history.process[number]}) sent:"]
            lines += [f"  {text}" for text in self._texts(number, one)]
        lines += ["", *(f"{step.because[0].upper()}{step.because[1:]}." for step in steps)]
        lines.append("No serial order has all of it.")
        lines += ["", f"{documented}."] if documented else []
        did = tuple(
            "; ".join(each.sql for each in self._about(number, one)) for number in one.parties
        )
        return Anomaly(one.type, one.parties, steps, "\n".join(lines), did)

    def duplicate(self, one: Duplicate) -> Anomaly:
        """Rows that break a unique index: what was read, and what was sent."""
        maker, reader = (number_of(self._history, tx) for tx in (one.created_by, one.reader))
        names = self._call(maker), self._call(reader)
        rows = " and ".join(map(str, one.rows))
        said = f"rows {rows} of {one.table} with one value of x, {one.value}"
        text = [f"{names[1]} was shown {said}, under the unique index {one.index}."]
        for number, tx in ((maker, one.created_by), (reader, one.reader)):
            text += ["", f"{self._call(number)} (process {self._history.process[number]}) sent:"]
            text += [f"  {shown(each)}".replace("\n", "\n  ") for each in self._sent.get(tx, ())]
        text += [
            "",
            f"{names[0]}, which created {one.index}, was acknowledged before {names[1]} began.",
            "No DROP of it began before the answer.",
            f"No version of {one.table} in between has rows {rows} with x = {one.value}.",
        ]  # fmt: skip
        did = tuple("; ".join(self._sql(number)) for number in (maker, reader))
        return Anomaly(DUPLICATE, (maker, reader), (), "\n".join(text), did)

    def _steps(self, one: Crossing) -> tuple[Step, ...]:
        """The cycle, from the transaction that was missed."""
        missed, saw, reader = map(self._call, (one.missed_of, one.seen_of, one.reader))
        steps = []
        if one.seen < 0:
            because = f"{missed} had completed before {reader} was invoked"
            steps.append(Step(one.missed_of, one.reader, "realtime", because))
        else:
            if one.seen_of != one.missed_of:
                because = f"process {self._history.process[one.seen_of]} did {missed} before {saw}"
                steps.append(Step(one.missed_of, one.seen_of, "process", because))
            because = f"{saw} comes before {reader}, which read {self._made(one.wrote_seen)}"
            steps.append(Step(one.seen_of, one.reader, "wr", because))
        because = (
            f"{reader} comes before {missed}, as it read {self._place(one.missed)} before "
            f"{missed} {self._did(one.wrote_missed)}"
        )
        return (*steps, Step(one.reader, one.missed_of, "rw", because))

    def _said(self, one: Crossing) -> str:
        missed, reader = self._call(one.missed_of), self._call(one.reader)
        place = self._place(one.missed)
        if one.type != VANISHED:
            return (
                f"{reader} was shown {self._made(one.wrote_seen)} of {self._call(one.seen_of)}, "
                f"and {place} as before {missed} {self._did(one.wrote_missed)}"
            )
        found = f", though it found {self._place(one.seen)}" if one.seen >= 0 else ""
        return (
            f"{reader} did not find {place}, which was inserted with its table and never "
            f"deleted{found}"
        )

    def _did(self, op: int) -> str:
        """What an append did, in words."""
        value = self._history.value(op)
        return f"appended {value}" if self._where(op)[1] else f"added c{value}"

    def _made(self, op: int) -> str:
        """What an append of the writer made, in words."""
        value = self._history.value(op)
        table, row = self._where(op)
        return f"{value} in row {row} of {table}" if row else f"column c{value} of {table}"

    def _place(self, op: int) -> str:
        table, row = self._where(op)
        return f"row {row} of {table}" if row else f"the columns of {table}"

    def _where(self, op: int) -> tuple[str, int]:
        return place_of(int(self._history.keys[int(self._history.key[op])]), self._tables)

    def _call(self, number: int) -> str:
        return self._history.name(number)

    def _texts(self, number: int, one: Crossing) -> list[str]:
        """The statements of a party; of the reader's, the rows that the argument is about."""
        ops = [one.missed, one.seen] if number == one.reader else []
        rows: dict[str, list[int]] = {}
        for table, row in (self._where(op) for op in ops if op >= 0):
            rows.setdefault(table, []).extend([row] if row else [])
        sent = self._about(number, one)
        return [shown(each, _rows_of(each, rows)).replace("\n", "\n  ") for each in sent]

    def _about(self, number: int, one: Crossing) -> Sequence[Statement]:
        """What a party has sent; of the one that made the tables, the INSERT of the row."""
        sent = self._sent.get(tx_of(self._history, number), ())
        if number != one.missed_of or one.type != VANISHED:
            return sent
        table, row = self._where(one.missed)
        return [each for each in sent if f"INTO {table} " in each.sql and f"({row}," in each.sql]

    def _sql(self, number: int) -> list[str]:
        sent = self._sent.get(tx_of(self._history, number), ())
        return [statement.sql for statement in sent]


def tx_of(history: Transactions, number: int) -> int:
    """What a recording calls a transaction: the index of its invocation."""
    return int(history.indices[int(history.begin[number])])


def place_of(key: int, tables: Sequence[str]) -> tuple[str, int]:
    """The name of a key's table, and the row; of a table without a name its number."""
    table, row = divmod(key, SPAN)
    return tables[table] if table < len(tables) else str(table), row


def number_of(history: Transactions, tx: int) -> int:
    """The place of a transaction that a recording calls so."""
    begun = history.indices[history.begin]
    return int(np.searchsorted(begun, tx))


def _rows_of(statement: Statement, rows: dict[str, list[int]]) -> list[int]:
    words = statement.sql.split()
    return next((some for table, some in rows.items() if table in words), [])
