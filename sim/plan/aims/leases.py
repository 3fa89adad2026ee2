"""Processes that live by their lease, for designs whose updates wait for leases to end.

A lease matters only if a process is without the schema for longer than it lasts while two updates
go by, and its clients go on to write. In most drawn worlds nothing of the kind happens. Here the
schema does not reach one process, or reaches it late, from the first lease on; statements follow
each other at another one; and clients write all the time.

Where leases lie in the store, a statement waits for them twice: in its own update, and behind it.
Only the first wait holds back a statement of another process, so two processes run statements on
one table. A process keeps an old lease because the schema does not reach it, or because a
transaction that began under it is still open.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan import swarm_work
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table

PAUSE_BEFORE: Final = "once_leases_have_ended"
"""The rule of `pause_before` of such designs."""
IN_THE_STORE: Final = "older_leases_gone"
"""That of designs whose leases lie in the store."""
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
KEPT: Final = ("cut off", "open")
"""Why a process keeps an old lease that lies in the store."""
OPEN: Final = (0.1, 0.3)
"""The time between the operations of open transactions, in leases."""
OLD_LEASES_MS: Final = (160, 320)
"""Leases in the store, so long that others take and give back theirs while one lasts."""
OLD_LOAD: Final = 5
POLL_MS: Final = 10
NODES: Final = 3
SCHEMA: Final = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"


def add(knobs: Knobs, data: Table) -> None:
    """Let a process live by its lease."""
    if not knobs.on("lives by a lease", SHARE):
        return
    lease_ms = knobs.pick("lease of it", LEASES_MS)
    how = knobs.pick("schema on its way", HOW)
    _leased(knobs, data, lease_ms, LOAD * lease_ms)
    data["strategy"]["poll_ms"] = lease_ms // POLLS
    data["migration"] = [_statements("n2", lease_ms, 0)]
    data["workload"] = [_writers()]
    data["faults"] = [_fault(how, data["fdb"]["storages"], lease_ms, (LOAD - 2) * lease_ms)]


def add_in_the_store(knobs: Knobs, data: Table) -> None:
    """Let a process keep an old lease while two others run statements."""
    if not knobs.on("keeps an old lease", SHARE):
        return
    lease_ms = knobs.pick("old lease", OLD_LEASES_MS)
    why = knobs.pick("why it keeps it", KEPT)
    load_ms = OLD_LOAD * lease_ms
    _leased(knobs, data, lease_ms, load_ms)
    data["strategy"]["poll_ms"] = POLL_MS
    data["cluster"]["nodes"] = NODES
    both = (("n2", 0), ("n3", STATEMENTS))
    data["migration"] = [_statements(node, lease_ms, first) for node, first in both]
    data["workload"] = [_writers()]
    data["faults"] = []
    if why == "cut off":
        data["faults"] = [_fault(why, data["fdb"]["storages"], lease_ms, 2 * lease_ms)]
    else:
        data["workload"].append(_open(lease_ms))
        data["protocol"]["tx_timeout_ms"] = load_ms


def _leased(knobs: Knobs, data: Table, lease_ms: int, load_ms: int) -> None:
    """One table, quick messages, a calm store, and a lease of that length."""
    store = data["fdb"]
    data["strategy"]["lease_ms"] = lease_ms
    knobs.drop(data["strategy"], "drift_percent", "renew_percent", "schema_replicas")
    store["storages"], store["replicas"] = max(store["storages"], 2), 1
    for key in ("window_ms", "commit_timeout_ms", "request_ms"):
        store[key] = max(store[key], load_ms)
    data["run"]["load_ms"] = load_ms
    data["clocks"] = {"max_skew_ms": 0, "drift_ppm": 0}
    data["network"] = {"latency_ms": 0.5, "client_latency_ms": 0.2}
    data["schema"] = {"sql": SCHEMA}
    knobs.tell("faults of machines", OFF)
    knobs.tell("load", load_ms)


def _statements(node: str, lease_ms: int, first: int) -> Table:
    """Statements on one table, one as soon as the one before has ended; `first`: its default."""
    values = range(first, first + STATEMENTS)
    made = ";\n".join(f"ALTER TABLE a ALTER COLUMN v SET DEFAULT {n}" for n in values)
    return {"node": node, "at_ms": lease_ms * 1.1, "every_ms": 1, "sql": made}


def _writers() -> Table:
    """Clients that write rows of that table, each write a transaction of its own."""
    writers: Table = {"name": "mixed", "clients": 6, "operations": 300, "keys": 1_000}
    writers |= {"implicit": 1.0, "retries": 0, "tables": ["a"], "transaction_operations": 1}
    writers |= {"pause_ms": [0, 4], "rollback": 0.0, "fresh": 0.0}
    return writers | {**swarm_work.NEITHER, "put": 1}


def _open(lease_ms: int) -> Table:
    """A client whose transactions write, rest and write again, one after the other."""
    holder: Table = {"name": "mixed", "clients": 1, "operations": 60, "keys": 1_000}
    holder |= {"implicit": 0.0, "retries": 0, "tables": ["a"], "long": 1.0, "rollback": 0.0}
    holder |= {"long_operations": [2, 3], "long_gap_ms": [part * lease_ms for part in OPEN]}
    holder |= {"pause_ms": [0, 4], "fresh": 0.0}
    return holder | {**swarm_work.NEITHER, "put": 1}


def _fault(how: str, storages: int, lease_ms: int, for_ms: int) -> Table:
    """From the first lease on: the last storage server, which has the schema, is not reached; or
    what it answers comes late."""
    schema = f"storage{storages}"
    if how == "late":
        fault: Table = {"name": "late_message", "kind": "got", "count": 1_000}
        fault |= {"sender": schema, "to": NODE, "from_ms": lease_ms}
        return {**fault, "delay_ms": round(LATE * lease_ms)}
    cut: Table = {"name": "partition", "shape": "link", "node": NODE, "side": [schema]}
    return {**cut, "from_ms": lease_ms, "for_ms": for_ms}
