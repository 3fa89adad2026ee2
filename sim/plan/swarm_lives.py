"""Lives of one index, for designs on the FoundationDB plane that make an index in several steps.

What a statement knows of its index matters where another one makes or drops an index of that name
meanwhile, where its process does not learn how a commit ended, or starts again within the work; and
the state of an index that a process uses matters where transactions that only write last longer
than that may be used. In most drawn worlds names are each client's own, leases outlast
transactions, and a load ends within the first life of an index. Here two processes make and drop
one index, again and again; leases are short; transactions that only write last for several of them;
and a process is cut off from the schema, stands still, crashes, or misses answers to its commits.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from typing import Final

from ddlsim.plan import swarm_work
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.workload.base import Die

PLANS: Final = ("three_states", "all_states", "without_reorganization")
"""The rules of `plan` of such designs."""
SHARE: Final = 0.35
"""The share of their worlds that are about this, among those that are about nothing else."""
ELSE: Final = ("lives by a lease", "keeps an old lease", "clock beyond the margin")
"""Knobs of worlds that are about something else."""
SPANS_MS: Final = (30, 60)
"""How long a lease is; all durations of such a world are multiples of it."""
POLLS: Final = 6
"""How often the schema is read in the time of a lease."""
LOAD: Final = 30
"""How long the load is, in spans: an index of four states is made and dropped several times."""
LIVES: Final = 12
"""How many times each of two processes makes the index, and drops it."""
NODES: Final = 3
BUILDER, OTHER, HELD = "n1", "n2", "n3"
HOW: Final = (OFF, "answers lost", "answers lost", "crashes", "cut off", "cut off", "stands still")
"""What happens to a process: the builder, or one with open transactions."""
ENDS: Final = ("index", "index", "table")
"""What is dropped at the end of a life: the index, or its table with it."""
TABLE: Final = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"
RESTED: Final = 0.8
"""The share of such transactions that rest before they commit."""
COMMIT_MS: Final = 50
"""How long a client waits for a commit: no commit takes as long."""


def add(knobs: Knobs, data: Table) -> None:
    """Let two processes make and drop one index."""
    unless = any(knobs.drawn.get(one, OFF) != OFF for one in ELSE)
    if not knobs.on("lives of an index", SHARE, unless=unless):
        return
    span_ms = knobs.pick("span of lives", SPANS_MS)
    how = knobs.pick("lives of an index, disturbed", HOW)
    ends = knobs.pick("end of a life", ENDS)
    store, load_ms = data["fdb"], LOAD * span_ms
    store["storages"], store["replicas"] = max(store["storages"], 2), 1
    store["commit_timeout_ms"] = COMMIT_MS
    data["strategy"] |= {"lease_ms": span_ms, "poll_ms": span_ms // POLLS}
    knobs.drop(data["strategy"], "drift_percent", "renew_percent", "schema_replicas")
    data["cluster"]["nodes"] = NODES
    data["network"] = {"latency_ms": 0.5, "client_latency_ms": 0.2}
    data["protocol"] |= {"tx_timeout_ms": load_ms, "operation_timeout_ms": load_ms}
    data["run"]["load_ms"] = load_ms
    data["schema"] = {"sql": TABLE}
    data["migration"] = [
        _lives(BUILDER, span_ms, span_ms, ends),
        _lives(OTHER, span_ms, span_ms * 3 // 2, "index"),
    ]
    data["workload"] = [_writers(span_ms), _long_writers(span_ms)]
    schema = f"storage{store['storages']}"
    data["faults"] = _faults(how, knobs.die("lives of an index, when"), span_ms, schema)
    for key, value in (("load", load_ms), ("lease_ms", span_ms), ("faults of machines", OFF)):
        knobs.tell(key, value)


def _lives(node: str, span_ms: int, at_ms: int, ends: str) -> Table:
    """Statements of one process, a span after each other or as soon as the one before has ended."""
    drop = "DROP INDEX ai" if ends == "index" else f"DROP TABLE a;\n{TABLE}"
    sql = ";\n".join(["CREATE INDEX ai ON a (v)", drop] * LIVES)
    return {"node": node, "at_ms": at_ms, "every_ms": span_ms, "sql": sql}


def _writers(span_ms: int) -> Table:
    """Clients that write few rows with few values, each write a transaction of its own."""
    writers: Table = {"name": "mixed", "clients": 4, "operations": 120, "keys": 12, "values": 3}
    writers |= {"implicit": 1.0, "retries": 0, "transaction_operations": 1, "fresh": 0.0}
    writers |= {"pause_ms": [0, span_ms // 3], "rollback": 0.0}
    return writers | {**swarm_work.NEITHER, "put": 8, "delete": 3}


def _long_writers(span_ms: int) -> Table:
    """Clients whose transactions only write, and end several leases after their first operation.

    An operation is refused behind the end of a lease: most of the time goes by before the commit.
    """
    writers: Table = {"name": "mixed", "clients": 8, "operations": 24, "keys": 12, "values": 3}
    writers |= {"implicit": 0.0, "retries": 0, "long": 1.0, "long_operations": [1, 3]}
    writers |= {"long_gap_ms": [0, span_ms // 2], "pause_ms": [0, span_ms]}
    writers |= {"rested": RESTED, "rest_ms": [span_ms // 4, 4 * span_ms]}
    writers |= {"fresh": 0.0, "rollback": 0.0}
    return writers | {**swarm_work.NEITHER, "put": 8, "delete": 4}


def _faults(how: str, die: Die, span_ms: int, schema: str) -> list[Table]:
    """What happens to a process, some times; `schema` is the storage server that has the schema."""
    return [
        {**_fault(how, die, span_ms, schema), "from_ms": round(part * span_ms)}
        for part in (die.between(2, 5), die.between(11, 14), die.between(20, 23))
        if how != OFF
    ]


def _fault(how: str, die: Die, span_ms: int, schema: str) -> Table:
    for_ms = span_ms * die.between(3, 12) // 2
    match how:
        case "answers lost":
            lost = {"name": "lost_message", "kind": "committed", "to": BUILDER}
            return {**lost, "count": die.between(1, 3)}
        case "crashes":
            when = {"moment": die.pick(("index-written", "update-logged")), "node": BUILDER}
            return {"name": "crash", "node": "its node", "when": when, "for_ms": for_ms // 2}
        case "stands still":
            return {"name": "pause", "node": HELD, "for_ms": for_ms}
    cut: Table = {"name": "partition", "shape": "link", "node": HELD, "side": [schema]}
    return {**cut, "for_ms": for_ms}
