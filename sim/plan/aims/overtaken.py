"""Worlds in which a leader of partitions returns to entries that stand where its own stood.

A leader that is cut off steps down once no majority has answered for its election timeout, and what
waits for its commands is refused. Here one node is more patient than all others, and still leads
when it returns. The first that it gets then is mostly what it lacks, sent again, with the news that
it is committed: so it applies entries of the leader after it before it has stepped down, and what
waits for its own commands at these indexes must not take their results for its own.
"""

from typing import Final

from ddlsim.plan.swarm_free import is_taken
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.plan.swarm_work import NEITHER

NAME: Final = "overtaken"
"""The table, which clients of its own use."""
SHARE: Final = 0.12
"""The share of the worlds with faults, where it is free; there are no other faults."""
ELSE: Final = (
    "leader returns", "DD lowered before a slow catalog", "DD lowered before a snapshot",
)  # fmt: skip
"""Knobs of worlds that are about other faults."""
NODES: Final = range(3, 5)
"""So many nodes: each has a replica of every partition."""
PATIENT: Final = "n3"
"""The node that is patient; it is no voter of the meta storage."""
PATIENCE: Final = 10
"""Its election timeout, as a multiple of that of the others."""
LEAST_MS: Final = 10
"""The least election timeout."""
AWAY: Final = (3, 6)
"""How long it is cut off, in election timeouts of the others: they elect another leader."""
SLOT: Final = 12
"""How long it is from one time to the next, in these."""
TURNS: Final = 4
"""How often it is cut off."""


def add(knobs: Knobs, data: Table) -> None:
    """Put the table, its clients and the faults into a world."""
    is_other = any(knobs.drawn.get(one, OFF) != OFF for one in ELSE)
    unless = is_other or is_taken(knobs) or data["cluster"]["nodes"] not in NODES
    if not knobs.on("leader overtaken", SHARE, unless=unless):
        return
    die, protocol = knobs.die("leader overtaken, details"), data["protocol"]
    wait_ms = max(protocol["delay_duration_ms"] // 2, LEAST_MS)
    data["cluster"] |= {"replicas": data["cluster"]["nodes"], "voters": 1}
    data["cluster"]["partitions"] = partitions = min(data["cluster"]["partitions"], 2)
    protocol |= {"election_timeout_ms": wait_ms, "resend_ms": max(wait_ms // 5, 1)}
    protocol["partition_idle_ms"] = SLOT * wait_ms
    protocol["nodes"] = {PATIENT: {"election_timeout_ms": PATIENCE * wait_ms}}
    knobs.drop(protocol, "election_spread_ms", "heartbeat_ms", "heartbeat_idle_ms")
    for knob in ("election_timeout_ms", "resend_ms", "partition_idle_ms"):
        knobs.tell(knob, protocol[knob])
    knobs.tell("a node's own DD", OFF)
    load_ms = data["run"]["load_ms"] = max(data["run"]["load_ms"], SLOT * TURNS * wait_ms)
    knobs.tell("load_ms", load_ms)
    data["schema"]["sql"] += f"CREATE TABLE {NAME} (id INT PRIMARY KEY, v INT);\n"
    data["workload"] = [*data["workload"], _clients(wait_ms)]
    data["faults"] = []
    for turn in range(TURNS):
        at_ms = wait_ms + turn * load_ms // TURNS
        for number in range(partitions):
            moved: Table = {"name": "leader_transfer", "group": f"{NAME}/{number}", "to": PATIENT}
            data["faults"].append({**moved, "from_ms": at_ms})
        cut: Table = {"name": "partition", "shape": "one_node", "node": PATIENT}
        cut["from_ms"] = at_ms + die.between(wait_ms, 2 * wait_ms)
        data["faults"].append({**cut, "for_ms": die.between(*AWAY) * wait_ms})


def _clients(wait_ms: int) -> Table:
    """Clients on all nodes that write rows of the table, mostly in several operations."""
    table: Table = {"name": "mixed", "clients": 8, "tables": [NAME], "operations": 60}
    table |= {"keys": 40, "retries": 0, "implicit": 0.3, "transaction_operations": [2, 3]}
    return table | {**NEITHER, "put": 6, "get": 1, "pause_ms": [0, wait_ms], "read_only": 0.0}
