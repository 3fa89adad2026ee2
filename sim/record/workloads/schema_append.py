"""`schema-append`: lists in rows, and the columns of a table as one more list.

Readers fix their snapshot on one table and read another one later; writers append; one client adds
columns, with appends before, beside and after each statement.
"""

from collections.abc import Iterator
from itertools import count
from random import Random

from ddlsim.record.programs import ANCHORS, PLAIN, AddColumn, Append, Pause, Program, Read, Step
from ddlsim.record.shape import MOST_COLUMNS
from ddlsim.record.workloads.base import FRESH, PAUSE_MS, WORKLOADS, Ground, Workload, many, value


def rows(dice: Random, ground: Ground, client: int) -> Iterator[Program]:
    """Readers, writers and single statements of one client."""
    numbers = count()
    for turn in count():
        low, high = ground.shape.window(turn)
        if dice.random() < 0.15:
            step = _read(dice, ground, low, high)
            if dice.random() < 0.5:
                step = _append(dice, ground, low, high, client, next(numbers))
            yield Program((step,), alone=True)
            continue
        reads_only = dice.random() < 0.5
        steps: list[Step] = [_read(dice, ground, low, high)]
        for _ in range(many(dice, (1, 2))):
            if dice.random() < 0.5:
                steps.append(Pause(dice.uniform(*PAUSE_MS)))
            if reads_only or dice.random() < 0.4:
                steps.append(_read(dice, ground, low, high))
            else:
                steps.append(_append(dice, ground, low, high, client, next(numbers)))
        yield Program(tuple(steps), fresh=dice.random() < FRESH)


def _read(dice: Random, ground: Ground, low: int, high: int) -> Step:
    return Read(dice.randrange(ground.shape.tables), low, high)


def _append(dice: Random, ground: Ground, low: int, high: int, client: int, number: int) -> Step:
    table = dice.randrange(ground.shape.tables)
    return Append(table, dice.randint(low, high), value(client, number, ground.shape))


def tables(dice: Random, ground: Ground, client: int, *, way: str = PLAIN) -> Iterator[Program]:
    """Columns added to tables that have room, with appends before, beside and after."""
    numbers, room = count(), [MOST_COLUMNS] * ground.shape.tables
    while ground.ddl_per_s and any(room):
        table = dice.choice([at for at, left in enumerate(room) if left])
        other = dice.randrange(ground.shape.tables)
        room[table] -= 1
        change = AddColumn(table, MOST_COLUMNS - room[table], way)
        before, beside, after = (
            Append(at, dice.choice(ANCHORS), value(client, next(numbers), ground.shape))
            for at in (table, table, other)
        )
        gap = dice.expovariate(ground.ddl_per_s) * 1000
        yield Program((before,), alone=True, after_ms=gap)
        if ground.transactional_ddl:
            yield Program((change, beside, after))
        else:
            yield Program((change,), alone=True)
            yield Program((beside, after))


WORKLOADS.add(
    "schema-append",
    Workload(
        "schema-append",
        "columns are added while transactions over several tables read columns and rows",
        rows,
        tables,
    ),
)
