"""`schema-append`: lists in rows, and the columns of a table as one more list.

Readers fix their snapshot on one table and read another one later; writers append; one client adds
columns, with appends before, beside and after each statement.
"""

from collections.abc import Iterator
from itertools import count
from random import Random

from ddlsim.record.programs import ANCHORS, PLAIN, AddColumn, Append, Pause, Program, Read, Step
from ddlsim.record.shape import MOST_COLUMNS, TABLES
from ddlsim.record.workloads.base import FRESH, PAUSE_MS, WORKLOADS, Ground, Workload, many, value


def rows(dice: Random, ground: Ground, client: int) -> Iterator[Program]:
    """Readers, writers and single statements of one client."""
    numbers = count()
    while True:
        turn = ground.in_use.turn()
        if dice.random() < 0.15:
            step = _read(dice, turn)
            if dice.random() < 0.5:
                step = _append(dice, turn, value(client, next(numbers), ground))
            yield Program((step,), alone=True)
            continue
        reads_only = dice.random() < 0.5
        steps: list[Step] = [_read(dice, turn)]
        for _ in range(many(dice, (1, 2))):
            if dice.random() < 0.5:
                steps.append(Pause(dice.uniform(*PAUSE_MS)))
            if reads_only or dice.random() < 0.4:
                steps.append(_read(dice, turn))
            else:
                steps.append(_append(dice, turn, value(client, next(numbers), ground)))
        yield Program(tuple(steps), fresh=dice.random() < FRESH)


def _read(dice: Random, turn: tuple[int, int, int]) -> Step:
    first, low, high = turn
    return Read(first + dice.randrange(TABLES), low, high)


def _append(dice: Random, turn: tuple[int, int, int], number: int) -> Step:
    first, low, high = turn
    return Append(first + dice.randrange(TABLES), dice.randint(low, high), number)


def tables(dice: Random, ground: Ground, client: int, *, way: str = PLAIN) -> Iterator[Program]:
    """Columns added to tables that have room, with appends before, beside and after."""
    numbers, first, added = count(), -1, [0] * TABLES
    while ground.ddl_per_s:
        if first != ground.in_use.first:
            first, added = ground.in_use.first, [0] * TABLES
        place, other = dice.randrange(TABLES), dice.randrange(TABLES)
        before, beside, after = (
            Append(first + at, dice.choice(ANCHORS), value(client, next(numbers), ground))
            for at in (place, place, other)
        )
        gap = dice.expovariate(ground.ddl_per_s) * 1000
        yield Program((before,), alone=True, after_ms=gap)
        if added[place] == MOST_COLUMNS:
            ground.in_use.full(first)
            continue
        added[place] += 1
        change = AddColumn(first + place, added[place], way)
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
