"""`table-locked`: another session holds a table for longer than a statement waits for a lock."""

from random import Random

from ddlsim.record.dialects.base import LOCK_MS
from ddlsim.record.faults.base import FAULTS, Fault, Ground
from ddlsim.record.shape import TABLES, name_of


def strike(ground: Ground, dice: Random) -> str:
    """Hold a table for twice the time that a statement waits."""
    table = name_of(ground.in_use.first + dice.randrange(TABLES))
    with ground.database.held(table):
        ground.stop.wait(2 * LOCK_MS / 1000)
    return f"{table} was locked for {2 * LOCK_MS} ms"


FAULTS.add(
    "table-locked",
    Fault("table-locked", "a table is locked for longer than statements wait", strike),
)
