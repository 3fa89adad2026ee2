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

from math import ceil
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
LOAD: Final = 40
"""How long the load is, in spans: an index of four states is made and dropped several times."""
PACES: Final = (1, 4)
"""At least so many spans lie between statements of a process: with some, there is no index for a
while, and writes of rows read nothing."""
WINDOWED: Final = 0.3
"""The share of these worlds in which transactions may be too old; the others can keep a read
version for as long as they last."""
LIVES: Final = 12
"""How many times each of two processes makes the index, and drops it."""
NODES: Final = 3
BUILDER, OTHER, HELD = "n1", "n2", "n3"
HOW: Final = (
    OFF, "answers lost", "answers lost", "crashes", "crashes", "cut off", "cut off", "stands still",
)  # fmt: skip
"""What happens to a process: the builder, or one with open transactions."""
ENDS: Final = ("index", "index", "table")
"""What is dropped at the end of a life: the index, or its table with it."""
ENDS_OF_COMMITS: Final = (
    {"kind": "committed", "to": BUILDER},
    {"kind": "commit", "sender": BUILDER},
)
"""The message that is lost: the answer of a commit, or what asks for it."""
INSTANTS: Final = {"answers lost": 6, "crashes": 6}
"""How often something happens: a process that works is to be met in the midst of it."""
FEW: Final = 3
"""The most rows of one transaction of a backfill: it takes several."""
ENDED: Final = (1.2, 1.25, 1.3)
"""When a statement goes on behind an update, in spans: a lease ends, by the slowest clock."""
TABLE: Final = "CREATE TABLE a (id INT PRIMARY KEY, v INT)"
BESIDE: Final = "CREATE TABLE b (id INT PRIMARY KEY, v INT)"
TWO: Final = 0.3
"""The share with a second table, which stays as it is: transactions use both, in any order."""
AT_WORK: Final = 0.6
"""The share, of those in which something happens to the builder, in which it happens amid the work
on entries: a chunk of a backfill, or what erases, is the one that is lost or the last one."""
ROWS: Final = 40
"""How many rows there are then: most of them are not written between write-only and the backfill,
so that it alone gives them entries."""
ENTRIES: Final = (2, 9)
"""Amid a backfill: at one of these entries."""
LOST_COMMITS: Final = (1, 8)
"""How many are lost: clients of the builder commit, too."""
RESTED: Final = 0.8
"""The share of such transactions that rest before they commit."""
FINDS, UNIQUE, CHUNK = "finds without the schema", "a unique index", "a chunk late"
MORE: Final = (FINDS, UNIQUE)
"""What such a world is about instead of what happens to a process: one finds rows by an index that
is being dropped, without the schema; or the index is unique, over values that are repeated, seldom
or always."""
MORE_SHARE: Final = 0.6
"""The share of worlds with one of these."""
AT_ONCE: Final = ("three_states",)
"""The rules of `plan` under which an index can be dropped while it is filled."""
CHUNKS_SHARE: Final = 0.7
"""The share of the other worlds of such designs in which a chunk comes behind the drop."""
PERIOD: Final = 6
"""The time from one life of the index to the next one there, in spans."""
LATE_SPANS: Final = (2, 3)
"""How late a chunk is: the index is dropped one span behind the statement that makes it."""
LASTING: Final = 4
"""How long a lease is where an index is dropped, in spans: there is time for many queries."""
VALUES: Final = (3, 40, 200)
"""How many values there are below a unique index: with some, it can be filled."""
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
    pace_ms = knobs.pick("pace of lives", PACES) * span_ms
    store, load_ms = data["fdb"], LOAD * span_ms
    store["storages"], store["replicas"] = max(store["storages"], 2), 1
    store["commit_timeout_ms"] = COMMIT_MS
    if not knobs.on("short window of lives", WINDOWED):
        store["recovery_jump"] *= ceil(load_ms / store["window_ms"])
        store["window_ms"] = max(store["window_ms"], load_ms)
    numbers = data["strategy"]
    numbers |= {"lease_ms": span_ms, "poll_ms": span_ms // POLLS}
    numbers["chunk_rows"] = min(numbers["chunk_rows"], FEW)
    knobs.drop(numbers, "drift_percent", "renew_percent", "schema_replicas")
    data["cluster"]["nodes"] = NODES
    data["network"] = {"latency_ms": 0.5, "client_latency_ms": 0.2}
    data["protocol"] |= {"tx_timeout_ms": load_ms, "operation_timeout_ms": load_ms}
    data["run"]["load_ms"] = load_ms
    two = knobs.on("second table of lives", TWO)
    data["schema"] = {"sql": f"{TABLE};\n{BESIDE}" if two else TABLE}
    data["migration"] = [
        _lives(BUILDER, pace_ms, pace_ms, ends),
        _lives(OTHER, pace_ms, pace_ms * 3 // 2, "index"),
    ]
    data["workload"] = [_writers(span_ms), _long_writers(span_ms)]
    schema = f"storage{store['storages']}"
    data["faults"] = _faults(how, knobs.die("lives of an index, when"), span_ms, schema)
    if knobs.on("lives of an index, at work", AT_WORK, unless=how not in INSTANTS):
        data["faults"] = _at_work(how, knobs.die("lives of an index, where"), span_ms)
        data["workload"] = [{**one, "keys": ROWS} for one in data["workload"]]
    if knobs.on("lives of an index, more", MORE_SHARE):
        _more(knobs, data, span_ms, schema)
    for key, value in (("load", load_ms), ("lease_ms", span_ms), ("faults of machines", OFF)):
        knobs.tell(key, value)


def _more(knobs: Knobs, data: Table, span_ms: int, schema: str) -> None:
    """Let the world be about one of the things that seldom meet in the others."""
    what = knobs.pick("lives of an index, what more", MORE)
    knobs.tell("lives of an index, disturbed", what)
    knobs.tell("lives of an index, at work", OFF)
    if what == FINDS:
        _dropped(data, span_ms, schema)
        return
    values = knobs.die("values of lives").pick(VALUES)
    data["workload"] = [{**one, "values": values} for one in data["workload"]]
    for one in data["migration"]:
        one["sql"] = one["sql"].replace("CREATE INDEX", "CREATE UNIQUE INDEX")


def _dropped(data: Table, span_ms: int, schema: str) -> None:
    """An index that is there from the start is dropped; one process does not reach the schema."""
    lease_ms = LASTING * span_ms
    data["strategy"] |= {"lease_ms": lease_ms, "poll_ms": lease_ms // POLLS}
    data["schema"] = {"sql": f"{TABLE};\nCREATE INDEX ai ON a (v)"}
    data["migration"] = [{"node": BUILDER, "at_ms": lease_ms, "sql": "DROP INDEX ai"}]
    cut: Table = {"name": "partition", "shape": "link", "node": HELD, "side": [schema]}
    data["faults"] = [cut | {"from_ms": lease_ms, "for_ms": 3 * lease_ms}]
    data["workload"] = [_finders(span_ms)]


def _finders(span_ms: int) -> Table:
    """Clients that find rows by their values and write one, too: what only reads is judged less."""
    finders: Table = {"name": "mixed", "clients": 20, "operations": 60, "keys": 60, "values": 12}
    finders |= {"implicit": 0.3, "retries": 0, "transaction_operations": [2, 3], "fresh": 0.0}
    finders |= {"pause_ms": [0, span_ms // 6], "rollback": 0.0}
    return finders | {**swarm_work.NEITHER, "find": 6, "put": 6}


def add_late_chunks(knobs: Knobs, data: Table) -> None:
    """Let a commit in the midst of a backfill come behind the drop of the index, again and again.

    It is waited for: none is in doubt. Few rows are written meanwhile, which it has read.
    """
    other = ("lives of an index, more", "lives of an index, at work")
    unless = knobs.drawn.get("lives of an index", OFF) == OFF or any(
        knobs.drawn.get(one, OFF) != OFF for one in other
    )
    if not knobs.on("lives of an index, a chunk late", CHUNKS_SHARE, unless=unless):
        return
    span_ms = knobs.drawn["span of lives"]
    die = knobs.die("lives of an index, which chunk")
    knobs.tell("lives of an index, disturbed", CHUNK)
    data["fdb"]["commit_timeout_ms"] = data["run"]["load_ms"]
    data["workload"] = [{**_writers(span_ms), "keys": ROWS, "clients": 2}]
    late: Table = {"name": "late_message", "kind": "commit", "sender": BUILDER, "from_ms": 1}
    data["migration"], data["faults"] = [], []
    for life in range(LOAD // PERIOD - 1):
        at_ms = (life + 1) * PERIOD * span_ms
        make = {"node": BUILDER, "at_ms": at_ms, "sql": "CREATE INDEX ai ON a (v)"}
        drop = {"node": OTHER, "at_ms": at_ms + span_ms, "sql": "DROP INDEX ai"}
        data["migration"] += [make, drop]
        when: Table = {"moment": "index-written", "nth": die.between(*ENTRIES)}
        when["where"] = {"op": f"migration-{2 * life + 1}.d0"}
        data["faults"].append(late | {"when": when, "delay_ms": die.pick(LATE_SPANS) * span_ms})


def _lives(node: str, pace_ms: int, at_ms: int, ends: str) -> Table:
    """Statements of one process, so long after each other or behind the end of the one before."""
    drop = "DROP INDEX ai" if ends == "index" else f"DROP TABLE a;\n{TABLE}"
    sql = ";\n".join(["CREATE INDEX ai ON a (v)", drop] * LIVES)
    return {"node": node, "at_ms": at_ms, "every_ms": pace_ms, "sql": sql}


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
    if how == OFF:
        return []
    count = INSTANTS.get(how, 3)
    apart = LOAD * 3 // 4 // count
    return [
        {
            **_fault(how, die, span_ms, schema),
            "from_ms": span_ms * (2 + place * apart + die.below(3)),
        }
        for place in range(count)
    ]


def _aim(die: Die, span_ms: int) -> Table:
    """Mostly near the work that follows an update: at once, or once a lease has ended."""
    if die.chance(0.25):
        return {}
    when: Table = {"moment": "update-logged", "node": BUILDER}
    spans = die.pick((0, *ENDED))
    return {"when": when | {"plus_ms": round(spans * span_ms)} if spans else when}


def _at_work(how: str, die: Die, span_ms: int) -> list[Table]:
    """What happens to the builder while it fills or erases, in one life after the other."""
    made: list[Table] = []
    for life in range(LIVES // 2):
        fault: Table = {"name": "crash", "node": BUILDER, "for_ms": span_ms * die.between(1, 3)}
        if how == "answers lost":
            lost = die.pick(ENDS_OF_COMMITS)
            fault = {"name": "lost_message", **lost, "count": die.between(*LOST_COMMITS)}
        if die.chance(0.5):
            when: Table = {"moment": "index-written", "nth": die.between(*ENTRIES)}
            when["where"] = {"op": f"migration-1.d{2 * life}"}
        else:
            when = {"moment": "update-logged", "where": {"op": f"migration-1.d{2 * life + 1}"}}
            when["nth"] = die.pick((1, 3, 3))
            spans = die.pick((0, *ENDED))
            when |= {"plus_ms": round(spans * span_ms)} if spans else {}
        made.append({**fault, "when": when, "from_ms": 1})
    return made


def _fault(how: str, die: Die, span_ms: int, schema: str) -> Table:
    for_ms = span_ms * die.between(3, 12) // 2
    match how:
        case "answers lost":
            end = die.pick(ENDS_OF_COMMITS)
            return {"name": "lost_message", **end, "count": die.between(1, 4), **_aim(die, span_ms)}
        case "crashes":
            return {"name": "crash", "node": BUILDER, "for_ms": for_ms // 2, **_aim(die, span_ms)}
        case "stands still":
            return {"name": "pause", "node": HELD, "for_ms": for_ms}
    cut: Table = {"name": "partition", "shape": "link", "node": HELD, "side": [schema]}
    return {**cut, "for_ms": for_ms}
