"""Worlds in which the last operations of a transaction and its commit are sent together.

A commit waits for what is under way: for the answers of operations, which are late here, and for
the replication of their writes, for which messages of a primary are lost for a while. Then it
stops, and what it had alone is gone. Schemas change between two operations of a transaction.
"""

from typing import Final

from ddlsim.plan.swarm_free import is_taken
from ddlsim.plan.swarm_knobs import Knobs, Table, kept_to, migrate
from ddlsim.plan.swarm_work import NEITHER
from ddlsim.workload.base import Die

NAMES: Final = ("together", "along")
"""The tables, which clients of its own use."""
SHARE: Final = 0.06
"""The share of the worlds with faults, where it is free; there are no other faults."""
STOPS: Final = 5
"""How often a primary stops."""
MOMENTS: Final = ("finish sent", "finish delivered", "finish delivered", "before-commit-ts")
"""When it does."""
LOST: Final = (20, 60, 200)
"""So many messages to other replicas are lost before."""
STATEMENTS: Final = 12
LATE_NODE: Final = 0.4
"""The share of these worlds in which every answer of one node's operations is late."""


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put the tables, their clients, the changes and the faults into a world.

    `names` are the tables of the other clients.
    """
    if not knobs.on("operations and commit together", SHARE, unless=is_taken(knobs)):
        return
    die, load_ms = knobs.die("operations and commit together, details"), data["run"]["load_ms"]
    data["cluster"] |= {"replicas": 3, "partitions": max(data["cluster"]["partitions"], 2)}
    for name in NAMES:
        data["schema"]["sql"] += f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT);\n"
    sql = "".join(f"ALTER TABLE {NAMES[n % 2]} ADD COLUMN t{n} INT;\n" for n in range(STATEMENTS))
    migrate(data, sql, load_ms * 8 // 10 // STATEMENTS)
    data["workload"] = [*kept_to(names, data["workload"]), _clients(die, delay_ms)]
    if knobs.on("a node's answers late", LATE_NODE):
        late_link: Table = {"from": f"n{die.between(1, data['cluster']['nodes'])}"}
        late_link["kind"] = "operated"
        late_link["latency_ms"] = max(round(delay_ms * die.pick((0.5, 1, 2))), 1)
        data["network"]["links"] = [*data["network"].get("links", []), late_link]
    data["faults"] = []
    for stop in range(STOPS):
        from_ms = load_ms // 10 + stop * load_ms * 8 // 10 // STOPS
        data["faults"] += _alone(die, from_ms, data["cluster"]["partitions"], delay_ms)
        late: Table = {"name": "late_message", "kind": "operated", "count": die.between(1, 6)}
        late["delay_ms"] = max(round(delay_ms * die.pick((0.2, 1, 2))), 1)
        data["faults"].append({**late, "from_ms": from_ms})


def _alone(die: Die, from_ms: int, partitions: int, delay_ms: int) -> list[Table]:
    """A primary has writes that no other replica has, and stops without them."""
    node = f"primary of {die.pick(NAMES)}/{die.below(partitions)}"
    lost: Table = {"name": "lost_message", "kind": "partition-raft", "sender": node}
    lost |= {"count": die.pick(LOST), "from_ms": from_ms}
    stop: Table = {"name": "crash", "node": node, "lose_unsynced": True, "from_ms": from_ms}
    stop["when"] = {"moment": die.pick(MOMENTS), "nth": die.between(1, 4)}
    stop["for_ms"] = max(round(delay_ms * die.pick((1, 4, 8))), 1)
    return [lost, stop]


def _clients(die: Die, delay_ms: int) -> Table:
    """Clients whose transactions read and write a few rows of both tables and end at once."""
    table: Table = {"name": "mixed", "clients": 10, "tables": list(NAMES), "operations": 40}
    table |= {**NEITHER, "put": 3, "get": 2, "keys": 30, "implicit": 0.0, "retries": 0}
    table |= {"transaction_operations": [3, 4], "transaction_tables": [1, 2], "pipelined": 0.9}
    table |= {"gap_ms": [0, delay_ms * die.pick((0, 0.1, 0.5))], "rollback": 0.0, "read_only": 0.0}
    return table | {"pause_ms": [0, delay_ms]}
