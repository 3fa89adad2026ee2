"""Worlds in which compatible changes come between a transaction's uses of two tables.

A transaction uses a table, rests while that is changed, and uses another one, which others have
written since, or which has changed, too. Every change is compatible, so that by the default it may
commit; it then stands before the first change and behind what came after it (F-1, F-2, F-9, F-10).
"""

from typing import Final

from ddlsim.plan.swarm_free import is_taken
from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_work import NEITHER
from ddlsim.workload.base import Die

NAMES: Final = ("former", "latter")
"""The tables, which clients of their own use."""
SHARE: Final = 0.12
"""The share of the worlds with faults, where it is free; there are no faults then."""
STATEMENTS: Final = 14
KEYS: Final = 16
RESTS: Final = ((0.5, 1.5), (0.5, 2.5), (1, 3))
"""How long a transaction rests between two operations, by DDs."""
LASTS: Final = 20
"""Transactions and leases may last so many DDs, else few of these transactions end well."""


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the tables, their clients and their changes into a world.

    `names` are the tables of the other clients.
    """
    if not knobs.on("changes between two tables", SHARE, unless=is_taken(knobs)):
        return
    die = knobs.die("changes between two tables, details")
    for name in NAMES:
        data["schema"]["sql"] += f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT);\n"
    sql = "".join(f"ALTER TABLE {NAMES[n % 2]} ADD COLUMN b{n} INT;\n" for n in range(STATEMENTS))
    migrate(data, sql, delay_ms // 4)
    others = kept_to(names, data["workload"])
    data["workload"] = [*others, _users(die, delay_ms), _writers(delay_ms)]
    data["faults"] = []
    for key in ("tx_timeout_ms", "lease_duration_ms"):
        data["protocol"][key] = max(data["protocol"][key], LASTS * delay_ms)


def _users(die: Die, delay_ms: int) -> Table:
    """Clients whose transactions use both tables, with rests in between."""
    table: Table = {"name": "mixed", "clients": 12, "tables": list(NAMES), "operations": 30}
    table |= {**NEITHER, "get": 3, "put": 1, "select": 3, "keys": KEYS, "implicit": 0.0}
    table |= {"transaction_operations": [2, 2], "transaction_tables": [2, 2], "retries": 0}
    least, most = die.pick(RESTS)
    table["gap_ms"] = [least * delay_ms, most * delay_ms]
    return table | {"rollback": 0.0, "pause_ms": [0, delay_ms / 2]}


def _writers(delay_ms: int) -> Table:
    """Clients that write both tables, each row by itself."""
    table: Table = {"name": "mixed", "clients": 5, "tables": list(NAMES), "operations": 60}
    table |= {**NEITHER, "put": 1, "keys": KEYS, "implicit": 1.0, "retries": 0}
    return table | {"pause_ms": [0, delay_ms / 2]}
