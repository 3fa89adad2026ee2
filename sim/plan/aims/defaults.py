"""Worlds in which rows keep what columns were added with, NULL is written beside, and defaults go.

A row from before a column shows the default that the column was added with, whatever its default is
by now; one that was written with NULL shows NULL. A table of its own gets columns with defaults,
which change or go; clients name the columns that they write, and leave some out.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_work import NEITHER, is_quiet, only_compatible

NAME: Final = "defaulted"
"""The table, which clients of its own use."""
SHARE: Final = 0.06
"""The share of the worlds that are not quiet and have other than compatible changes."""
COLUMNS: Final = 5
THEN: Final = ("SET DEFAULT 9", "DROP DEFAULT", "SET DATA TYPE BIGINT")
"""What is done to a column after it was added; the next one comes after that."""


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the table, its clients and its changes into a world.

    `names` are the tables of the other clients.
    """
    unless = only_compatible(knobs) or is_quiet(knobs)
    if not knobs.on("defaults of older rows", SHARE, unless=unless):
        return
    die, load_ms = knobs.die("defaults of older rows, details"), data["run"]["load_ms"]
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    actions = []
    for number in range(1, COLUMNS + 1):
        kind = "VARCHAR(10) DEFAULT 'old'" if number % 2 == 0 else f"INT DEFAULT {number}"
        actions.append(f"ADD COLUMN d{number} {kind}")
        then = die.pick(THEN if number % 2 else ("DROP DEFAULT", "SET DEFAULT 'new'"))
        actions.append(f"ALTER COLUMN d{number} {then}")
    sql = "".join(f"ALTER TABLE {NAME} {action};\n" for action in actions)
    migrate(data, sql, load_ms * 8 // 10 // len(actions))
    data["workload"] = [*kept_to(names, data["workload"]), _clients(delay_ms)]


def _clients(delay_ms: int) -> Table:
    """Clients that write few rows by the names of columns, and read them."""
    table: Table = {"name": "mixed", "clients": 6, "tables": [NAME], "operations": 40, "keys": 12}
    table |= {**NEITHER, "get": 3, "put": 3, "update": 1, "scan": 1, "by_name": 1.0}
    table |= {"implicit": 0.7, "transaction_operations": [1, 2], "retries": 0}
    return table | {"pause_ms": [0, delay_ms]}
