"""Worlds in which transactions that only read run on nodes that learn of changes late.

Two tables of their own, whose rows few keys name: transactions read both, and read the second one
again later. The first one loses a column meanwhile. Other clients write the second one: what they
write after the change is read by a transaction that has read the first table before it. That must
not commit; its node applies the change late, and has it then only if the commit waits for it.
"""

from typing import Final

from ddlsim.plan.swarm_free import is_taken
from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_work import NEITHER, only_compatible

NAMES: Final = ("left", "right")
"""The tables, which clients of their own use."""
SHARE: Final = 0.07
"""The share of the worlds with faults, and with changes that break what runs, where it is free.

The slow nodes take the place of all other faults: those end more of these transactions first.
"""
BEHIND: Final = (1.3, 1.6)
"""By how many DDs the nodes are late."""
STATEMENTS: Final = 10
KEYS: Final = 12


def is_behind(knobs: Knobs) -> bool:
    """Whether the world is one of these; drawn once."""
    unless = only_compatible(knobs) or is_taken(knobs)
    return knobs.on("readers on nodes behind", SHARE, unless=unless)


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the tables, their clients, the changes and the slow nodes into a world.

    `names` are the tables of the other clients.
    """
    if not is_behind(knobs):
        return
    late_ms = max(round(delay_ms * knobs.pick("nodes behind, by DDs", BEHIND)), 2)
    load_ms = data["run"]["load_ms"]
    for name in NAMES:
        data["schema"]["sql"] += f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT);\n"
    pair = f"ALTER TABLE {NAMES[0]} ADD COLUMN w INT;\nALTER TABLE {NAMES[0]} DROP COLUMN w;\n"
    migrate(data, pair * (STATEMENTS // 2), delay_ms)
    others = kept_to(names, data["workload"])
    data["workload"] = [*others, _readers(delay_ms), _writers(delay_ms)]
    late: Table = {"name": "learner_lag", "delay_ms": late_ms, "from_ms": 1, "for_ms": load_ms - 1}
    first = data["cluster"]["nodes"] // 2 + 2
    nodes = [f"n{number}" for number in range(first, data["cluster"]["nodes"] + 1)]
    data["faults"] = [{**late, "node": node} for node in nodes]
    for key, least_ms in (
        ("election_timeout_ms", 4 * late_ms),
        ("lease_duration_ms", 20 * late_ms),
        ("tx_timeout_ms", 12 * late_ms),
        ("operation_timeout_ms", 4 * late_ms),
    ):
        data["protocol"][key] = max(data["protocol"][key], least_ms)


def _readers(delay_ms: int) -> Table:
    """Clients whose transactions read rows of both tables."""
    table: Table = {"name": "mixed", "clients": 8, "tables": list(NAMES), "operations": 40}
    table |= {**NEITHER, "get": 1, "keys": KEYS, "implicit": 0.1, "retries": 0}
    table |= {"transaction_operations": [1, 2], "rested": 1.0, "rest_ms": [0, delay_ms / 2]}
    return table | {"pause_ms": [0, delay_ms / 2]}


def _writers(delay_ms: int) -> Table:
    """Clients that write the second table."""
    table: Table = {"name": "mixed", "clients": 3, "tables": [NAMES[1]], "operations": 30}
    table |= {**NEITHER, "put": 1, "keys": KEYS, "implicit": 1.0, "retries": 0}
    return table | {"pause_ms": [0, delay_ms]}
