"""Worlds with a table of whose rows an update finds no value where the schema now needs one."""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table
from ddlsim.plan.swarm_work import NEITHER, is_quiet, only_compatible

NAME: Final = "gaps"
"""The table, which clients of its own use."""
LACKING: Final = 0.06
"""The share of the worlds that are neither quiet nor all of whose changes are compatible."""


def lacks_values(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    unless = only_compatible(knobs) or is_quiet(knobs)
    return knobs.on("rows without a value", LACKING, unless=unless)


def schema(knobs: Knobs) -> str:
    """The SQL of the table; empty in other worlds."""
    return f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT, w INT);\n" * lacks_values(knobs)


def migrations(knobs: Knobs, nodes: tuple[str, ...], load_ms: int) -> list[Table]:
    """Planned statements that add a column, and make it NOT NULL."""
    if not lacks_values(knobs):
        return []
    die = knobs.die("statements over rows without a value")
    at_ms = die.between(load_ms // 5, load_ms * 2 // 5)
    actions = ("ADD COLUMN u INT", "ALTER COLUMN u SET NOT NULL")
    sql = "".join(f"ALTER TABLE {NAME} {action};\n" for action in actions)
    return [{"at_ms": at_ms, "node": die.pick(nodes), "sql": sql}]


def workloads(knobs: Knobs, names: list[str], others: list[Table], load_ms: int) -> list[Table]:
    """Clients that write rows of the table, and that update them; `others` use the other tables."""
    if not lacks_values(knobs):
        return others
    keys = knobs.die("keys of rows without a value").pick((12, 24))
    table: Table = {"name": "mixed", "clients": 4, "tables": [NAME], "keys": keys, "retries": 0}
    table |= {"implicit": 0.9, **NEITHER}
    writers = table | {"operations": 10, "put": 1, "pause_ms": [0, load_ms // 20]}
    updaters = table | {"operations": 16, "update": 1, "pause_ms": [0, load_ms // 8]}
    return [*({**other, "tables": names} for other in others), writers, updaters]
