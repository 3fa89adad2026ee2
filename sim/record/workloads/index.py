"""`index`: as schema-append without added columns; a unique index is created and dropped meanwhile.

It is on column x. Clients set x of rows, and insert rows, with few values, so that many would break
the index. Before it is created, values are taken away in its own transaction, so that nothing is in
its way, or in one before, or not at all; where the database has it, half of the indexes are created
and dropped without a lock on writers, and it is asked whether they are valid.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from random import Random

from ddlsim.record.programs import (
    ANCHORS,
    ASK,
    CLEAR,
    CREATE,
    DROP,
    Append,
    Pause,
    Program,
    Read,
    Step,
    UniqueIndex,
)
from ddlsim.record.shape import ROWS, TABLES
from ddlsim.record.workloads.base import FRESH, PAUSE_MS, WORKLOADS, Ground, Workload, many, value

SPARE = 3
"""Rows of a window that clients insert."""
VALUES = 9
"""Values of x in a window: with six rows, the next one is taken often."""


def rows(dice: Random, ground: Ground, client: int) -> Iterator[Program]:
    """Readers, writers and single statements of one client."""
    numbers = count()
    while True:
        first, low, high = ground.in_use.turn()
        steps: list[Step] = []
        reads_only = dice.random() < 0.5
        for _ in range(many(dice, (1, 1, 2, 3))):
            if steps and dice.random() < 0.5:
                steps.append(Pause(dice.uniform(*PAUSE_MS)))
            table = first + dice.randrange(TABLES)
            if reads_only or dice.random() < 0.3:
                steps.append(Read(table, low, high))
            else:
                number = value(client, next(numbers), ground)
                steps.append(_write(dice, table, low, number))
        alone = len(steps) == 1 and dice.random() < 0.5
        yield Program(tuple(steps), alone=alone, fresh=dice.random() < FRESH)


def _write(dice: Random, table: int, low: int, number: int) -> Step:
    """A row that gets a value of x: one that is there, or one that is inserted."""
    new = dice.random() < 0.3
    row = low + (ROWS + dice.randrange(SPARE) if new else dice.randrange(ROWS))
    return Append(table, row, number, low * VALUES + dice.randrange(VALUES), new)


@dataclass(slots=True)
class _Index:
    """The index of a table: how many there were, whether one is there, and made without a lock."""

    table: int
    number: int = 0
    lives: bool = False
    online: bool = False


def tables(dice: Random, ground: Ground, client: int) -> Iterator[Program]:
    """Unique indexes, the first on each table at once, then at random, with appends beside them."""
    numbers, indexes = count(), list[_Index]()
    while ground.ddl_per_s:
        first = ground.in_use.first
        indexes = [one for one in indexes if one.table >= first]
        is_new = len(indexes) < TABLES
        if is_new:
            indexes.append(_Index(first + len(indexes)))
        index = indexes[-1] if is_new else dice.choice(indexes)
        table = index.table
        if not index.lives:
            if index.number:  # where the last DROP has failed
                yield _alone(UniqueIndex(table, index.number, DROP, index.online))
            index.number += 1
            index.online = ground.online_indexes and dice.random() < 0.5
        index.lives = not index.lives
        act = CREATE if index.lives else DROP
        step = UniqueIndex(table, index.number, act, index.online)
        number = value(client, next(numbers), ground)
        append = Append(table, dice.choice(ANCHORS), number)
        clears = dice.choice((CREATE, CLEAR, "")) if act == CREATE and not is_new else ""
        gap = 0.0 if is_new else dice.expovariate(ground.ddl_per_s) * 1000
        yield from _changed(ground, step, append, clears, gap)


def _changed(
    ground: Ground, step: UniqueIndex, append: Append, clears: str, after_ms: float
) -> Iterator[Program]:
    """An index created or dropped; `clears`: what takes values away before it."""
    together = ground.transactional_ddl and not step.online
    clear = UniqueIndex(step.table, step.number, CLEAR)
    first: tuple[Step, ...] = (clear,) if clears else ()
    if first and not (clears == CREATE and together):
        yield Program(first, alone=True, after_ms=after_ms)
        first, after_ms = (), 0.0
    if together:
        yield Program((*first, step, append), after_ms=after_ms)
    else:
        yield Program((step,), alone=True, after_ms=after_ms)
        yield Program((append,), alone=True)
    if step.online:
        yield _alone(UniqueIndex(step.table, step.number, ASK))


def _alone(step: UniqueIndex) -> Program:
    return Program((step,), alone=True)


WORKLOADS.add(
    "index",
    Workload(
        "index",
        "unique indexes are created and dropped under inserts and updates that violate them",
        rows,
        tables,
        spare=SPARE,
    ),
)
