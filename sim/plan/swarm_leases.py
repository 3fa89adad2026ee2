"""Processes that live by their lease, for designs whose updates wait for leases to end.

A lease matters only if a process is without the schema for longer than it lasts while two updates
go by, and its clients go on to write. In most drawn worlds nothing of the kind happens. Here the
schema does not reach one process, or reaches it late, from the first lease on; statements follow
each other at another one; and clients write all the time.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan import swarm_work
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table

PAUSE_BEFORE: Final = "once_leases_have_ended"
"""The rule of `pause_before` of such designs."""
SHARE: Final = 0.4
"""The share of their worlds in which a process lives by its lease."""
LEASES_MS: Final = (60, 120)
POLLS: Final = 12
"""How often the schema is read in the time of a lease."""
LOAD: Final = 9
"""How long the load is, in leases."""
STATEMENTS: Final = 5
NODE: Final = "n1"
HOW: Final = ("cut off", "late")
"""What becomes of the schema on its way to the process."""
LATE: Final = 1.25
"""How late it comes, in leases: a lease that began with the answer would last over two updates."""
SCHEMA: Final = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"


def add(knobs: Knobs, data: Table) -> None:
    """Let a process live by its lease."""
    if not knobs.on("lives by a lease", SHARE):
        return
    store, strategy = data["fdb"], data["strategy"]
    lease_ms = knobs.pick("lease of it", LEASES_MS)
    how = knobs.pick("schema on its way", HOW)
    strategy["lease_ms"], strategy["poll_ms"] = lease_ms, lease_ms // POLLS
    store["storages"], store["replicas"] = max(store["storages"], 2), 1
    for key in ("window_ms", "commit_timeout_ms", "request_ms"):
        store[key] = max(store[key], LOAD * lease_ms)
    data["run"]["load_ms"] = LOAD * lease_ms
    data["clocks"] = {"max_skew_ms": 0, "drift_ppm": 0}
    data["network"] = {"latency_ms": 0.5, "client_latency_ms": 0.2}
    data["schema"] = {"sql": SCHEMA}
    data["migration"] = [_statements(lease_ms)]
    data["workload"] = [_writers()]
    data["faults"] = [_fault(how, store["storages"], lease_ms)]
    knobs.tell("faults of machines", OFF)
    knobs.tell("load", LOAD * lease_ms)


def _statements(lease_ms: int) -> Table:
    """Statements on one table, one as soon as the one before has ended."""
    made = ";\n".join(f"ALTER TABLE a ALTER COLUMN v SET DEFAULT {n}" for n in range(STATEMENTS))
    return {"node": "n2", "at_ms": lease_ms * 1.1, "every_ms": 1, "sql": made}


def _writers() -> Table:
    """Clients that write rows of that table, each write a transaction of its own."""
    writers: Table = {"name": "mixed", "clients": 6, "operations": 300, "keys": 1_000}
    writers |= {"implicit": 1.0, "retries": 0, "tables": ["a"], "transaction_operations": 1}
    writers |= {"pause_ms": [0, 4], "rollback": 0.0, "fresh": 0.0}
    return writers | {**swarm_work.NEITHER, "put": 1}


def _fault(how: str, storages: int, lease_ms: int) -> Table:
    """From the first lease on: the last storage server, which has the schema, is not reached; or
    what it answers comes late."""
    schema = f"storage{storages}"
    if how == "late":
        fault: Table = {"name": "late_message", "kind": "got", "count": 1_000}
        fault |= {"sender": schema, "to": NODE, "from_ms": lease_ms}
        return {**fault, "delay_ms": round(LATE * lease_ms)}
    cut: Table = {"name": "partition", "shape": "link", "node": NODE, "side": [schema]}
    return {**cut, "from_ms": lease_ms, "for_ms": (LOAD - 2) * lease_ms}
