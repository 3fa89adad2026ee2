"""A database with a queue of locks on tables, played event by event into a recording.

Clients hold one table each time, for a while, and pause; a statement of DDL waits for those that
hold the table when it comes, and keeps off those that come later until it is done.
"""

import heapq
from collections.abc import Callable
from pathlib import Path
from random import Random

from ddlsim.history.recording import (
    FORMAT,
    STATEMENTS,
    AnyLine,
    Begun,
    Ended,
    Recording,
    Statement,
    line_of,
)

LOCK_MS = 1_000.0
TAKES = 0.1
EXECUTES = 2.0
NS = 1_000_000


def play(
    folder: Path,
    *,
    clients: int,
    statements: int,
    every_ms: float,
    seed: int,
    tables: int = 1,
    hold: Callable[[Random], float] = lambda dice: dice.expovariate(1 / 10),
    pause: Callable[[Random], float] = lambda dice: dice.expovariate(1 / 15),
) -> Path:
    """Write the recording of so many statements of DDL, so far apart."""
    dice = Random(seed)
    names = tuple(f"t{n}" for n in range(tables))
    lines: list[tuple[float, AnyLine]] = []
    ends: dict[str, list[float]] = {name: [] for name in names}
    shut: dict[str, float] = dict.fromkeys(names, 0.0)
    todo = [(pause(dice), number, "dml") for number in range(clients)]
    todo += [((n + 1) * every_ms, clients, "ddl") for n in range(statements)]
    heapq.heapify(todo)
    last = (statements + 2) * every_ms
    tx = 0
    while todo:
        now, client, kind = heapq.heappop(todo)
        if now > last:
            continue
        tx += 2
        table = dice.choice(names)
        sql, until = f"SELECT * FROM {table}", max(now, shut[table]) + TAKES
        ended = until + hold(dice)
        if kind == "ddl":
            sql = f"ALTER TABLE {table} ADD COLUMN c{tx} INTEGER"
            until = ended = max([now, *(end for end in ends[table] if end > now)]) + EXECUTES
            shut[table] = ended
        else:
            ends[table] = [end for end in ends[table] if end > now] + [ended]
            heapq.heappush(todo, (ended + pause(dice), client, "dml"))
        lines += [
            (now, Begun(tx, round(now * NS), client)),
            (until, Statement(tx, round(now * NS), round(until * NS), sql)),
            (ended, Ended(tx, round(ended * NS), "ok", "", tx + 1)),
        ]
    folder.mkdir()
    head = Recording(
        FORMAT, "test", "postgresql", "PostgreSQL 0", "none", {"lock_timeout": f"{LOCK_MS:g}ms"},
        "serializable", "serializable", "serializable", "none", "schema-append", seed, clients,
        1_000 / every_ms, False, False, names,
    )  # fmt: skip
    lines.sort(key=lambda one: one[0])
    (folder / STATEMENTS).write_bytes(
        b"".join([line_of(head), *(line_of(one) for _, one in lines)])
    )
    return folder
