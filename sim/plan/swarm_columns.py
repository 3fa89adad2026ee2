"""Worlds of the FoundationDB plane with a table whose columns come and go while it is in use.

Its few rows are read and written by transactions of several processes. Of these some use the
version before the last one for a while: they meet rows that others have written under a newer one.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to
from ddlsim.plan.swarm_work import NEITHER

NAME: Final = "restless"
"""The table, which clients of its own use."""
SHARE: Final = 0.25
"""The share of the worlds; those that are about something else have tables of their own."""
CHANGES: Final = 6
"""How many times the column comes, and how many times it goes."""


def add(knobs: Knobs, data: Table, names: list[str]) -> None:
    """Put the table, its clients and its changes into a world.

    `names` are the tables of the other clients.
    """
    if not knobs.on("columns come and go", SHARE):
        return
    load_ms = data["run"]["load_ms"]
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    pair = f"ALTER TABLE {NAME} ADD COLUMN w INT;\nALTER TABLE {NAME} DROP COLUMN w;\n"
    changes: Table = {"at_ms": load_ms // 10, "node": "n1", "sql": pair * CHANGES}
    changes["every_ms"] = max(load_ms // 20, 1)
    data["migration"] = [*data["migration"], changes]
    others = kept_to(names, data["workload"])
    data["workload"] = [*others, _clients(load_ms)]


def _clients(load_ms: int) -> Table:
    """Clients that read and write its rows, some in transactions that a change may overtake."""
    table: Table = {"name": "mixed", "clients": 14, "tables": [NAME]}
    table |= {**NEITHER, "get": 4, "put": 4, "scan": 1, "implicit": 0.3, "retries": 1, "keys": 4}
    return table | {"operations": 40, "gap_ms": [0, load_ms / 20], "pause_ms": [0, load_ms / 50]}
