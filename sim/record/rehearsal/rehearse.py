"""A rehearsal from its beginning to its end: the copy, rows, load, migration, and what is left."""

import threading
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

from ddlsim import __version__, files
from ddlsim.history.recording import (
    FORMAT,
    HISTORY,
    REHEARSAL,
    Closed,
    Recording,
    asking_for_found,
    key_of,
)
from ddlsim.record.client import Tally, left_out
from ddlsim.record.dialects.base import Connection, Facts, RefusedError
from ddlsim.record.journal import CLOCK, Journal, now
from ddlsim.record.programs import Operation, edn_of
from ddlsim.record.recorder import looked_at
from ddlsim.record.rehearsal.load_file import Load
from ddlsim.record.rehearsal.loading import Loader, Plans, Target, targets_of
from ddlsim.record.rehearsal.migration import Mark, Migration, Order, check_orders, look_on
from ddlsim.record.rehearsal.rows import key_text
from ddlsim.record.rehearsal.stages.base import Limits, Stage, run
from ddlsim.record.rehearsal.tables import Table, made_columns, values
from ddlsim.record.threads import Threads
from ddlsim.record.workloads.base import dice

BATCH: Final = 200
"""Rows of one INSERT."""
LEFT_OPEN: Final = "the migration ended within a transaction, which was rolled back"
GRACE_S: Final = 20.0
TICK_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Script:
    """A file of SQL: its name, and its statements."""

    file: str
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to rehearse, and for how long the load runs before, between and after.

    `sent` are the statements of the load, as a script.
    """

    migration: Script
    sent: Script
    schema: Script | None
    load: Load
    isolation: str
    seed: int
    rows: int
    limits: Limits
    before_s: float
    pause_s: float
    after_s: float


@dataclass(slots=True)
class Rehearsed:
    """What a rehearsal came to; what its file has is measured from there.

    `last` are the values that judged rows have in the end, None for a table that cannot be read any
    more, with the reason in `notes`; `ends` the keys of all rows, under a load of the user's own.
    """

    facts: Facts
    says: str
    promise: str
    tables: list[Table]
    targets: list[Target]
    marks: list[Mark]
    tally: Tally
    last: list[tuple[Any, ...] | None] = field(default_factory=list)
    ends: list[frozenset[tuple[str, ...]] | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    silent: int = 0


def rehearse(stage: Stage, wanted: Wanted, folder: Path) -> Rehearsed:
    """Rehearse, with the recording in a folder; raises `RefusedError`, in one line.

    Whatever ends it, clients end first, and then what was made is taken away.
    """
    stage.check_clients(wanted.load.table.clients)
    level = stage.levels[wanted.isolation]
    with stage.ground():
        facts, says = looked_at(stage, wanted.isolation)
        with closing(stage.connect(wanted.isolation)) as connection:
            for script in (wanted.migration, wanted.sent):
                check_orders(stage, connection, script.file, script.orders)
            if wanted.schema is not None:
                _make(stage, connection, wanted.schema)
            tables = stage.described(connection)
            notes = _fill(stage, connection, tables, wanted.rows)
            targets = targets_of(stage, connection, tables)
        _check_load(wanted.load, targets)
        made = Rehearsed(facts, says, level.promise, tables, targets, [], Tally(), notes=notes)
        load = wanted.load.table
        head = Recording(
            format=FORMAT, writer=f"ddlsim {__version__}", database=stage.name,
            server=facts.server, driver=facts.driver, settings=facts.settings,
            isolation=wanted.isolation, says=says, promise=level.promise, clock=CLOCK,
            workload=REHEARSAL, seed=wanted.seed, clients=load.clients, ddl_per_s=0.0,
            prepared=stage.prepared, copies=False, tables=tuple(one.name for one in targets),
        )  # fmt: skip
        journal = Journal(folder, head)
        try:
            _begin_registers(journal, load.clients + 1, made)
            _Cast(stage, wanted, journal, made).play()
            _read_last(stage, wanted, journal, made)
        except BaseException:
            journal.close()
            raise
        journal.close(Closed(now()))
    _matched(folder / HISTORY)
    return made


# --- what is there before ------------------------------------------------------------------------


def _make(stage: Stage, connection: Connection, schema: Script) -> None:
    """Run the statements of the schema; the first that is refused is bad input."""
    check_orders(stage, connection, schema.file, schema.orders)
    for order in schema.orders:
        try:
            run(connection, order.sql)
        except Exception as error:
            problem = stage.problem(error)
            if problem is None:
                raise
            text = f"{schema.file}:{order.line}: {stage.name} refuses it ({problem.text})"
            raise RefusedError(text) from None


def _fill(stage: Stage, connection: Connection, tables: Sequence[Table], rows: int) -> list[str]:
    """Put rows into empty tables; those whose rows refer to others wait for them.

    Returns a note for each table that stays empty.
    """
    waiting = [one for one in tables if rows and not stage.in_place and _is_empty(stage, connection,
                                                                                one)]  # fmt: skip
    why: dict[str, str] = {}
    while waiting:
        left = [one for one in waiting if not _filled(stage, connection, one, rows, why)]
        if len(left) == len(waiting):
            break
        waiting = left
    return [f"{one.name}: no rows could be made ({why[one.name]})" for one in waiting]


def _is_empty(stage: Stage, connection: Connection, table: Table) -> bool:
    return not run(connection, f"SELECT 1 FROM {stage.named(table.name)} LIMIT 1")


def _filled(
    stage: Stage, connection: Connection, table: Table, rows: int, why: dict[str, str]
) -> bool:
    """Whether the rows could be inserted: with all columns, else with those that are needed."""
    for all_ in (True, False):
        columns = made_columns(table, all_=all_)
        if not columns:
            why[table.name] = "it needs a value of a type that none are made for"
            return False
        names = [one.name for one in columns]
        run(connection, stage.begin(writes=True))
        try:
            for first in range(1, rows + 1, BATCH):
                listed = [*values(columns, range(first, min(first + BATCH, rows + 1)))]
                run(connection, stage.inserted(table.name, names, listed))
            run(connection, "COMMIT")
        except Exception as error:
            problem = stage.problem(error)
            if problem is None:
                raise
            why[table.name] = problem.text[:200]
            run(connection, "ROLLBACK")
        else:
            return True
    return False


def _check_load(load: Load, targets: Sequence[Target]) -> None:
    load.check_tables([one.name for one in targets if len(one.table.key) == 1])
    if not load.table.transaction and not targets:
        raise RefusedError("no table has a primary key and rows, so there is no load; name --load")


# --- while it goes on ----------------------------------------------------------------------------


def _begin_registers(journal: Journal, process: int, made: Rehearsed) -> None:
    """A first transaction, that of the first values of all rows."""
    written: list[Operation] = [
        ("w", key_of(one.number, row + 1), min(one.sent[row]))
        for one in made.targets
        if one.column is not None
        for row in range(len(one.keys))
    ]
    tx = journal.begin(process, edn_of(written))
    journal.end(tx, process, "ok", edn_of(written))


class _Cast:
    """The threads of a rehearsal: clients, the migration, and one that looks at sessions."""

    def __init__(self, stage: Stage, wanted: Wanted, journal: Journal, made: Rehearsed) -> None:
        self._stage, self._wanted, self._made = stage, wanted, made
        self._journal = journal
        self._threads, self._over = Threads(), threading.Event()
        self._stop = self._threads.stop

    def play(self) -> None:
        """The load, then the migration in it, then the load alone; raises what a thread raised."""
        stage, wanted, clients = self._stage, self._wanted, self._wanted.load.table.clients
        plans = Plans(stage, wanted.load, self._made.targets, clients)
        with ExitStack() as stack:
            session = stack.enter_context(closing(stage.connect(wanted.isolation)))
            stage.session(session, wanted.limits)
            migration = Migration(
                stage, session, wanted.migration.orders, self._journal, clients, wanted.limits,
                wanted.pause_s,
            )  # fmt: skip
            self._made.marks = migration.marks
            self._look_on(stack, session, migration)
            loaders: list[Loader] = []
            for number in range(clients):
                one = Loader(stage, wanted.isolation, self._journal, self._made.tally,
                             number, clients + 2)  # fmt: skip
                one.marks = migration.marks
                plan = plans.programs(dice(wanted.seed, number), number)
                loaders.append(one)
                self._threads.add(partial(one.work, plan, self._stop))
            try:
                self._threads.start()
                self._wait(wanted.before_s)
                worker = self._threads.add(partial(migration.work, self._stop))
                worker.start()
                while worker.is_alive() and not self._stop.is_set():
                    self._wait(TICK_S)  # an interrupted join() takes its thread for ended
                self._wait(wanted.after_s)
            finally:
                self._over.set()
                seconds = GRACE_S + stage.limits.lock_ms / 1000
                self._made.silent = self._threads.end(seconds)
        self._threads.check()
        self._made.notes += left_out(loaders)
        if migration.left_open:
            self._made.notes.append(LEFT_OPEN)

    def _look_on(self, stack: ExitStack, session: Connection, migration: Migration) -> None:
        """Add a thread that looks at the migration's session, where the database shows sessions."""
        number = self._stage.number(session)
        if number is None:
            return
        for mark in migration.marks:
            mark.waited_ms = 0.0
        side = stack.enter_context(closing(self._stage.connect(self._wanted.isolation)))
        self._threads.add(partial(look_on, self._stage, side, number, migration, self._over))

    def _wait(self, seconds: float) -> None:
        self._stop.wait(seconds)


# --- what is left --------------------------------------------------------------------------------


def _read_last(stage: Stage, wanted: Wanted, journal: Journal, made: Rehearsed) -> None:
    """Read what judged rows have in the end, in a transaction of the history."""
    process = wanted.load.table.clients + 1
    with closing(stage.connect(wanted.isolation)) as connection:
        if wanted.load.table.transaction:
            made.ends = [keys_of(stage, connection, one, made.notes) for one in made.targets]
            return
        for target in made.targets:
            found = None
            if target.column is not None:
                found = last_of(stage, connection, target, made.notes)
            made.last.append(found)
            if found is None:
                continue
            operations: list[Operation] = []
            for row, value in enumerate(found):
                number = target.value_of(row, value) if value is not None else None
                if number is not None:
                    operations.append(("r", key_of(target.number, row + 1), number))
            tx = journal.begin(process, edn_of([(name, key, None) for name, key, _ in operations]))
            journal.end(tx, process, "ok", edn_of(operations))


def last_of(
    stage: Stage, connection: Connection, target: Target, notes: list[str]
) -> tuple[Any, ...] | None:
    """The values by the rows of a target, None for one that is gone."""
    held = _held(stage, connection, target, (*target.table.key, target.column or ""), notes)
    return None if held is None else tuple(held.get(key_text(one)) for one in target.keys)


def keys_of(
    stage: Stage, connection: Connection, target: Target, notes: list[str]
) -> frozenset[tuple[str, ...]] | None:
    """The keys of all rows of a target's table."""
    key = target.table.key
    held = _held(stage, connection, target, (*key, key[0]), notes)
    return None if held is None else frozenset(held)


def _held(
    stage: Stage, connection: Connection, target: Target, names: Sequence[str], notes: list[str]
) -> dict[tuple[str, ...], Any] | None:
    """The last of some columns by the others, which are the key; None where they cannot be read, or
    the key is of another type and rows are missed.
    """
    columns = ", ".join(map(stage.named, names))
    try:
        rows = run(connection, f"SELECT {columns} FROM {stage.named(target.name)}")
    except Exception as error:
        problem = stage.problem(error)
        if problem is None:
            raise
        notes.append(f"{target.name}: its rows are not judged in the end ({problem.text[:200]})")
        return None
    held = {key_text(row[:-1]): row[-1] for row in rows}
    kinds = {_kinds(key) for key in (*target.keys[:1], *(row[:-1] for row in rows[:1]))}
    if len(kinds) > 1 and not all(key_text(one) in held for one in target.keys):
        notes.append(
            f"{target.name}: its rows are not judged in the end (its key has another type)"
        )
        return None
    return held


def _kinds(key: Sequence[Any]) -> tuple[Any, ...]:
    """What the types of a key are like; with a time zone, a time is shown as another one."""
    return tuple(
        (Decimal if isinstance(one, int | float) else type(one), getattr(one, "tzinfo", None))
        for one in key
    )


def _matched(history: Path) -> None:
    """Have invocations ask for what was found: it takes the end of a recording to tell.

    Reads that found nothing are judged by `rows.py`.
    """
    if (why := files.unfit(history, files.HISTORY_MOST)) is not None:
        raise RefusedError(f"{history}: {why}")
    lines = asking_for_found(history.read_text("utf-8").splitlines())
    files.write_text(history, "".join(f"{line}\n" for line in lines))
