"""The clients of a rehearsal: those of a recording, with other statements.

Without a load of the user's own, each table is read and updated by its primary key. An update
writes a value that no other one writes, so that a history of registers comes of it, a register for
each row; so do the updates that give each row its first value.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from random import Random
from typing import Any, Final

from ddlsim.history.recording import key_of
from ddlsim.record.client import Client, StatementError
from ddlsim.record.dialects.base import Connection, Problem
from ddlsim.record.errors import NO_ROW
from ddlsim.record.programs import Operation, Pause, Program, Step, edn_of
from ddlsim.record.rehearsal.deeds import deletes
from ddlsim.record.rehearsal.load_file import Drawn, Form, Load, form_of
from ddlsim.record.rehearsal.migration import Mark
from ddlsim.record.rehearsal.stages.base import Stage, run
from ddlsim.record.rehearsal.tables import BIG, INTEGER, TEXT, Table

FIRST: Final = 1_000_000
STRIDE: Final = 1_009
"""Values that are unique are this one and every so many after it: a value that the migration makes
of one of them, or of any other, is seldom one, and never one of the same row.
"""
MOST_KEYS: Final = 2_000
"""Rows of a table that the load works on."""
HOT: Final = 10
"""Every other row that is drawn is one of the first so many."""
PAUSE_MS: Final = (1.0, 8.0)
READ, WRITE = "r", "w"


@dataclass(frozen=True, slots=True)
class Target:
    """A table that the load reads and updates: the keys of its rows, and the column of its values.

    `column` is None where no column could be given a value of its own; then rows are only read.
    `sent` are the values that were sent for each row, the first of them before the load; `crossed`:
    updates of other rows change values of this table, so that it has no column.
    """

    number: int
    table: Table
    keys: tuple[tuple[Any, ...], ...]
    column: str | None
    is_text: bool
    read_sql: str
    write_sql: str
    sent: tuple[set[int], ...]
    crossed: bool = False

    @property
    def name(self) -> str:
        return self.table.name

    def value_of(self, row: int, found: Any) -> int | None:
        """What was read, as a value of the history; None for one that was not sent for the row."""
        number = whole(found)
        return number if number in self.sent[row] else None

    def shown(self, value: int) -> Any:
        """A value as the column takes it."""
        return str(value) if self.is_text else value


def whole(value: Any) -> int | None:
    """A value as a whole number, whatever type its column has by now."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if str(number) == str(value).strip() or number == value else None


@dataclass(frozen=True, slots=True)
class Query:
    """A statement of the load; `row` is the target's row that it reads or writes, `value` what."""

    sql: str
    values: tuple[Any, ...]
    target: Target | None = None
    row: int = 0
    value: int | None = None

    @property
    def operations(self) -> tuple[Operation, ...]:
        if self.target is None or self.target.column is None:
            return ()
        key = key_of(self.target.number, self.row + 1)
        return ((READ if self.value is None else WRITE, key, self.value),)


@dataclass(frozen=True, slots=True)
class Transaction(Program):
    """A program of queries; `changes` says whether it may write."""

    changes: bool = True

    @property
    def writes(self) -> bool:
        return self.changes

    @property
    def has_ddl(self) -> bool:
        return False


class Loader(Client):
    """A client that sends queries.

    `marks` are those of the migration. An UPDATE that finds no row once a statement which deletes
    rows of the table was sent has nothing to do: its transaction goes on without the write.
    """

    marks: Sequence[Mark] = ()

    def _may_be_deleted(self, target: Target) -> bool:
        return deletes([one.order.sql for one in self.marks if one.at], target.table)

    def _step(self, step: Any, stop: threading.Event) -> str:
        if not isinstance(step, Query):
            return super()._step(step, stop)
        writes = step.value is not None
        columns, rows, changed = self._send(step.sql, step.values, changes=writes)
        target = step.target
        if target is None or target.column is None:
            return ""
        if writes:
            if not changed and self._may_be_deleted(target):
                return ""
            if not changed:
                text = f"row {target.keys[step.row]} of {target.name} was not found"
                raise StatementError(Problem("", NO_ROW, text))
            return edn_of(step.operations)
        if not rows or target.column not in columns:
            return ""
        value = target.value_of(step.row, rows[0][columns.index(target.column)])
        [(_, key, _)] = step.operations
        return "" if value is None else edn_of([(READ, key, value)])


# --- the tables ----------------------------------------------------------------------------------


def targets_of(stage: Stage, connection: Connection, tables: Sequence[Table]) -> list[Target]:
    """The tables that have a primary key and rows, with what the load does to them."""
    made: list[Target] = []
    for table in tables:
        if not table.key:
            continue
        found = _target(stage, connection, table, len(made))
        if found is not None:
            made.append(found)
    return _apart(stage, connection, made)


def _apart(stage: Stage, connection: Connection, targets: Sequence[Target]) -> list[Target]:
    """The same, without the column of a table in which updates of other rows change values, as
    triggers do: no client wrote those. First values are written again in the reverse order, so
    that each table is looked at after updates of each other one.
    """
    kept = [one for one in targets if one.column is None or _is_as_sent(stage, connection, one)]
    for one in reversed(kept):
        if one.column is not None:
            _started(stage, connection, one)
    kept = [one for one in kept if one.column is None or _is_as_sent(stage, connection, one)]
    return [one if one in kept else replace(one, column=None, crossed=True) for one in targets]


def _is_as_sent(stage: Stage, connection: Connection, target: Target) -> bool:
    """Whether each row has the first value that was sent for it."""
    assert target.column is not None, "such a table has no values"
    where = " AND ".join(f"{stage.named(one)} = {stage.mark}" for one in target.table.key)
    sql = f"SELECT {stage.named(target.column)} FROM {stage.named(target.name)} WHERE {where}"
    return all(
        [target.value_of(row, value) for (value,) in run(connection, sql, *key)] == [_first(row)]
        for row, key in enumerate(target.keys)
    )


def _target(stage: Stage, connection: Connection, table: Table, number: int) -> Target | None:
    name, key = stage.named(table.name), ", ".join(map(stage.named, table.key))
    first = f"SELECT {key} FROM {name} ORDER BY {key} LIMIT {MOST_KEYS}"
    keys = tuple(tuple(row) for row in run(connection, first))
    if not keys:
        return None
    where = " AND ".join(f"{stage.named(one)} = {stage.mark}" for one in table.key)
    column, is_text = _column(stage, connection, table, where, keys[0])
    write = ""
    if column is not None:
        write = f"UPDATE {name} SET {stage.named(column)} = {stage.mark} WHERE {where}"
    read = f"SELECT * FROM {name} WHERE {where}"
    sent: tuple[set[int], ...] = tuple(set() for _ in keys)
    made = Target(number, table, keys, column, is_text, read, write, sent)
    return (
        made if column is None or _started(stage, connection, made) else replace(made, column=None)
    )


def _first(row: int) -> int:
    """The first value of a row."""
    return FIRST + STRIDE * row


def _started(stage: Stage, connection: Connection, target: Target) -> bool:
    """Whether each row could be given its first value."""
    run(connection, stage.begin(writes=True))
    try:
        for row, key in enumerate(target.keys):
            value = _first(row)
            target.sent[row].add(value)
            run(connection, target.write_sql, target.shown(value), *key)
        run(connection, "COMMIT")
    except Exception as error:
        if stage.problem(error) is None:
            raise
        run(connection, "ROLLBACK")
        return False
    return True


def _column(
    stage: Stage, connection: Connection, table: Table, where: str, key: tuple[Any, ...]
) -> tuple[str | None, bool]:
    """The first column that takes a value of the load and gives it back; it is tried out."""
    for one in table.columns:
        if one.name in table.key or one.family not in (INTEGER, BIG, TEXT):
            continue
        is_text = one.family == TEXT
        value: Any = str(FIRST) if is_text else FIRST
        shown = stage.named(one.name)
        update = f"UPDATE {stage.named(table.name)} SET {shown} = {stage.mark} WHERE {where}"
        select = f"SELECT {shown} FROM {stage.named(table.name)} WHERE {where}"
        if _is_kept(stage, connection, update, select, value, key):
            return one.name, is_text
    return None, False


def _is_kept(
    stage: Stage, connection: Connection, update: str, select: str, value: Any, key: tuple[Any, ...]
) -> bool:
    """Whether a value can be written and read again; nothing of it stays."""
    run(connection, stage.begin(writes=True))
    try:
        run(connection, update, value, *key)
        return bool(run(connection, select, *key)[0][0] == value)
    except Exception as error:
        if stage.problem(error) is None:
            raise
        return False
    finally:
        run(connection, "ROLLBACK")


# --- the programs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plans:
    """The programs of all clients: of a file's transactions, or of the tables themselves."""

    stage: Stage
    load: Load
    targets: Sequence[Target]
    clients: int
    _forms: dict[str, Form] = field(default_factory=dict)

    def programs(self, dice: Random, client: int) -> Iterator[Program]:
        """One after the other, without end."""
        table = self.load.table
        mean = table.think_ms / 1000
        if table.rate_per_s is not None:
            mean = self.clients / table.rate_per_s
        unique = count(FIRST + STRIDE * (MOST_KEYS + client), STRIDE * self.clients)
        make = self._own(dice, unique) if table.transaction else self._generated(dice, unique)
        for steps, changes in make:
            after = dice.expovariate(1 / mean) * 1000 if mean else 0.0
            yield Transaction(steps, len(steps) == 1, after_ms=after, changes=changes)

    def _own(self, dice: Random, unique: Iterator[int]) -> Iterator[tuple[tuple[Any, ...], bool]]:
        listed = self.load.table.transaction
        keys = {one.name: [key[0] for key in one.keys] for one in self.targets}
        drawn = Drawn(dice, keys, unique)
        weights = [one.weight for one in listed]
        while True:
            [one] = dice.choices(listed, weights)
            given = {name: drawn.draw(how) for name, how in one.values.items()}
            steps: list[Query | Step] = []
            for sql in one.statements:
                steps += [Pause(one.pause_ms)] if steps and one.pause_ms else []
                steps.append(self._query(sql, given))
            yield tuple(steps), any(_changes(sql) for sql in one.statements)

    def _query(self, sql: str, given: Mapping[str, Any]) -> Query:
        form = self._forms.get(sql)
        if form is None:
            form = self._forms[sql] = form_of(sql, self.stage.mark)
        return Query(form.sql, tuple(given[name] for name in form.names))

    def _generated(
        self, dice: Random, unique: Iterator[int]
    ) -> Iterator[tuple[tuple[Any, ...], bool]]:
        while True:
            first, second = (dice.choice(self.targets) for _ in range(2))
            kind = dice.random()
            if kind < 0.4 or first.column is None:
                yield (_read(dice, first),), False
            elif kind < 0.7:
                yield (_write(dice, first, unique),), True
            else:
                rest = _read(dice, second)
                if kind < 0.9 and second.column is not None:
                    rest = _write(dice, second, unique)
                pause = Pause(dice.uniform(*PAUSE_MS))
                yield (_read(dice, first), pause, rest), rest.value is not None


def _row(dice: Random, target: Target) -> int:
    return dice.randrange(min(HOT, len(target.keys)) if dice.random() < 0.5 else len(target.keys))


def _read(dice: Random, target: Target) -> Query:
    row = _row(dice, target)
    return Query(target.read_sql, target.keys[row], target, row)


def _write(dice: Random, target: Target, unique: Iterator[int]) -> Query:
    row, value = _row(dice, target), next(unique)
    target.sent[row].add(value)
    return Query(target.write_sql, (target.shown(value), *target.keys[row]), target, row, value)


def _changes(sql: str) -> bool:
    return not sql.lstrip().upper().startswith(("SELECT", "WITH", "VALUES", "SHOW"))
