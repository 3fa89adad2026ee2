"""Worlds of the FoundationDB plane with a table whose columns come and go while it is in use.

Its few rows are read and written by transactions of several processes. Of these some use the
version before the last one for a while: they meet rows that others have written under a newer one.

In other worlds, or beside it, an indexed column of another table turns from integers into floats.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_work import NEITHER

NAME: Final = "restless"
"""The table, which clients of its own use."""
SHARE: Final = 0.25
"""The share of the worlds; those that are about something else have tables of their own."""
CHANGES: Final = 6
"""How many times the column comes, and how many times it goes."""
TURNED: Final = "turned"
FLOATS: Final = 0.1
"""The share of the worlds with a table whose indexed integers become floats: 1 and 1.0 are equal,
and two keys of the store."""
VALUES: Final = 3


def add(knobs: Knobs, data: Table, names: list[str]) -> None:
    """Put the tables, their clients and their changes into a world.

    `names` are the tables of the other clients.
    """
    if knobs.on("columns come and go", SHARE):
        _restless(data, names)
    if knobs.on("indexed integers become floats", FLOATS):
        _turned(data, names)


def _restless(data: Table, names: list[str]) -> None:
    """A table whose second column comes and goes."""
    load_ms = data["run"]["load_ms"]
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    pair = f"ALTER TABLE {NAME} ADD COLUMN w INT;\nALTER TABLE {NAME} DROP COLUMN w;\n"
    migrate(data, pair * CHANGES, load_ms // 20)
    others = kept_to(names, data["workload"])
    data["workload"] = [*others, _clients(load_ms)]


def _turned(data: Table, names: list[str]) -> None:
    """A table with few values in its indexed column, whose clients look for rows by them."""
    load_ms = data["run"]["load_ms"]
    data["schema"]["sql"] += f"CREATE TABLE {TURNED} (id INT PRIMARY KEY, v INT);\n"
    data["schema"]["sql"] += f"CREATE INDEX {TURNED}_v ON {TURNED} (v);\n"
    sql = f"ALTER TABLE {TURNED} ALTER COLUMN v SET DATA TYPE DOUBLE;\n"
    node = "n2" if data["cluster"]["nodes"] > 1 else "n1"
    data["migration"] = [*data["migration"], {"at_ms": load_ms // 4, "node": node, "sql": sql}]
    clients: Table = {"name": "mixed", "clients": 4, "tables": [TURNED], "operations": 30}
    clients |= {**NEITHER, "put": 4, "find": 4, "keys": 8, "values": VALUES, "retries": 1}
    clients |= {"pause_ms": [0, load_ms / 20]}
    data["workload"] = [*kept_to(names, data["workload"]), clients]


def _clients(load_ms: int) -> Table:
    """Clients that read and write its rows, some in transactions that a change may overtake."""
    table: Table = {"name": "mixed", "clients": 14, "tables": [NAME]}
    table |= {**NEITHER, "get": 4, "put": 4, "scan": 1, "implicit": 0.3, "retries": 1, "keys": 4}
    return table | {"operations": 40, "gap_ms": [0, load_ms / 20], "pause_ms": [0, load_ms / 50]}
