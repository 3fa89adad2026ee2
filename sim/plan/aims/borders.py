"""Worlds with a table whose changes are incompatible, each by as little as can be.

Each change is of a column of its own and breaks one rule: a default that goes, a text that is short
by a character, a change of several things of which one is too much. Few transactions of a drawn
world commit across such a change and no other; here clients rest before they commit, for no longer
than from one change to the next, and some commit across any change that is judged compatible. Half
of them read: where what has written commits across no change at all (`iep_closed`), these do.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_work import NEITHER, is_quiet, only_compatible

NAME: Final = "bordered"
"""The table, which clients of its own use."""
SHARE: Final = 0.2
"""The share of the worlds that are not quiet and have other than compatible changes."""
CHANGES: Final = (
    ("INT DEFAULT 3", "DROP DEFAULT"),
    ("INT", "SET DEFAULT 4"),
    ("INT DEFAULT 3", "SET NOT NULL"),
    ("INT", "SET NOT NULL"),
    ("INT NOT NULL", "SET DATA TYPE BIGINT DROP NOT NULL SET DEFAULT 7"),
    ("INT NOT NULL", "SET DATA TYPE SMALLINT DROP NOT NULL"),
    ("INT", "SET DATA TYPE DOUBLE"),
    ("BIGINT", "SET DATA TYPE VARCHAR(19)"),
    ("DOUBLE", "SET DATA TYPE VARCHAR(23)"),
    ("BOOLEAN", "SET DATA TYPE VARCHAR(4)"),
    ("VARBINARY(8)", "SET DATA TYPE VARCHAR(15)"),
    ("VARCHAR(20)", "SET DATA TYPE VARCHAR(19)"),
    ("DECIMAL(4, 2)", "SET DATA TYPE VARCHAR(5)"),
    ("DECIMAL(2, 2)", "SET DATA TYPE VARCHAR(4)"),
    ("DECIMAL(5, 1)", "SET DATA TYPE DECIMAL(6, 2)"),
    ("TIMESTAMP(6)", "SET DATA TYPE TIMESTAMP(3)"),
)
"""A column, and what is done to it; in a random order, as many as there is time for."""


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the table, its clients and its changes into a world.

    `names` are the tables of the other clients.
    """
    unless = only_compatible(knobs) or is_quiet(knobs)
    if not knobs.on("barely incompatible changes", SHARE, unless=unless):
        return
    die = knobs.die("barely incompatible changes, which")
    changes = list(enumerate(die.some(CHANGES, len(CHANGES)), 1))
    columns = ", ".join(f"b{number} {column}" for number, (column, _) in changes)
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, {columns});\n"
    sql = "".join(f"ALTER TABLE {NAME} ALTER COLUMN b{n} {change};\n" for n, (_, change) in changes)
    migrate(data, sql, delay_ms)
    data["workload"] = [*kept_to(names, data["workload"]), _clients(delay_ms)]


def _clients(delay_ms: int) -> Table:
    """Clients whose transactions read or write one row and rest before they end."""
    table: Table = {"name": "mixed", "clients": 8, "tables": [NAME], "operations": 40, "keys": 200}
    table |= {**NEITHER, "get": 1, "put": 1, "implicit": 0.0, "read_only": 0.0, "retries": 0}
    table |= {"transaction_operations": 1, "rested": 1.0, "rest_ms": [delay_ms / 4, delay_ms]}
    return table | {"pause_ms": 0}
