"""Worlds in which one transaction writes rows that have equal values in a unique index.

The table has the index from the start and clients of its own. Values are many and rows few: else
the rows of others have every value, and no transaction comes to meet its own.
"""

from typing import Final

from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to
from ddlsim.plan.swarm_work import NEITHER, is_quiet, only_compatible

NAME: Final = "equals"
"""The table."""
SHARE: Final = 0.06
"""The share of the worlds that are not quiet and have other than compatible changes."""


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the table and its clients into a world; `names` are the tables of the other clients."""
    unless = only_compatible(knobs) or is_quiet(knobs)
    if not knobs.on("equal values in one transaction", SHARE, unless=unless):
        return
    sql = f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT, CONSTRAINT one UNIQUE (v));\n"
    data["schema"]["sql"] += sql
    data["workload"] = kept_to(names, data["workload"])
    clients: Table = {"name": "mixed", "clients": 2, "tables": [NAME], "operations": 120}
    clients |= {**NEITHER, "put": 2, "delete": 3, "keys": 12, "values": 20, "implicit": 0.0}
    clients |= {"transaction_operations": [6, 9], "retries": 0, "pause_ms": [0, delay_ms]}
    data["workload"] = [*data["workload"], clients]
