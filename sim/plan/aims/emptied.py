"""Worlds in which a mandatory column is added while the table is empty now and then.

For designs that add one where the table was seen empty [110.later.2]. In most drawn worlds a table
has rows by the time of such a statement, which is refused then. Here one row comes and goes: some
statements see none, and it comes again before the column is in force, or is confirmed.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, migrate
from ddlsim.plan.swarm_work import NEITHER, is_quiet

INSTALLS: Final = ("install_pending_first", "install_if_seen_empty")
"""The rules of `install` of such designs."""
NAME: Final = "emptied"
"""The table, which clients of its own use."""
SHARE: Final = 0.3
"""The share of their worlds."""
STATEMENTS: Final = 12


def add(knobs: Knobs, data: Table) -> None:
    """Put the table, its clients and the statements into a world."""
    if not knobs.on("mandatory columns of an empty table", SHARE, unless=is_quiet(knobs)):
        return
    load_ms: int = data["run"]["load_ms"]
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    added = "".join(
        f"ALTER TABLE {NAME} ADD COLUMN m{number} INT NOT NULL;\n" for number in range(STATEMENTS)
    )
    migrate(data, added, load_ms * 8 // 10 // STATEMENTS)
    writers: Table = {"name": "mixed", "clients": 2, "tables": [NAME], "operations": 80, "keys": 1}
    writers |= {"implicit": 1.0, "retries": 0, "read_only": 0.0, **NEITHER, "put": 1, "delete": 1}
    data["workload"] = [*data["workload"], writers | {"pause_ms": [0, load_ms // 40]}]
