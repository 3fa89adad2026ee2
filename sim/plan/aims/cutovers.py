"""Transactions across the switches of indexes, for designs that count these from a commit version.

Each state of an index waits for its version, so a statement takes several windows and more: in most
drawn worlds the load is over before an index is usable. Here windows are as short as the latencies
let them be, the load lasts for a few statements, and clients that only write begin before a switch
and commit behind it: within a window, or, where nothing makes them too old, many windows later.

Worlds of other designs are drawn without a die of this module, and stay what they are.
"""

from math import ceil
from typing import Final

from ddlsim.plan import swarm_work
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.workload import ddl_mix

ACTIVATION: Final = "after_commit_version"
"""The rule of `activation` of such designs."""
CUTOVERS: Final = 0.6
"""The share of their worlds with such clients."""
LEAST_MS: Final = 20
RESENT: Final = 4
"""How often a message can be sent again within the window, in a world that loses messages."""
DISTANCE: Final = 1.2
"""From an update to its activation, in windows."""
NEAR: Final = 0.5
"""The share of their other worlds in which switches follow soon: only C11 needs more than a window,
and a switch so late does what a wait behind it is for."""
DISTANCES: Final = (0.1, 0.1, 0.3, 1)
"""The distance then, in windows."""
WINDOWS_MS: Final = (80, 120)
"""How long a window is then: some commits follow each other in it."""
NEAR_LOAD: Final = 24
"""How long the load is then, in windows."""
BLIND: Final = (0.3, 0.9)
"""How long transactions are then, in windows: within one, over two switches."""
LOAD: Final = 45
"""How long the load is, in windows: an index of four states is made and dropped."""
LENGTHS: Final = ((0.3, 0.8), (0.3, 0.8), (3, 6), (6, 14))
"""How long transactions are, in windows."""
BESIDE: Final = ("mixed",)
"""The workloads that stay: other DDL would stand in the way of the indexes."""


def add(knobs: Knobs, data: Table, commit_ms: float, request_ms: int) -> None:
    """Put such clients into a world in which a commit takes `commit_ms` at most.

    Where messages are lost, one is sent again behind `request_ms`, several times within the window.
    """
    if not knobs.on("cutovers", CUTOVERS):
        return
    store, protocol = data["fdb"], data["protocol"]
    window_ms = max(LEAST_MS, ceil(commit_ms))
    if data["network"].get("loss"):
        store["request_ms"] = request_ms
        window_ms = max(window_ms, RESENT * request_ms)
        knobs.tell("request_ms", request_ms)
    store["recovery_jump"] *= max(ceil(window_ms / store["window_ms"]), 1)
    store["window_ms"] = window_ms
    store["idle_commit_ms"] = max(min(store["idle_commit_ms"], window_ms // 4), 1)
    data["strategy"]["distance_ms"] = ceil(DISTANCE * window_ms)
    knobs.drop(data["strategy"], "cutoff_percent")
    for key, windows in (("tx_timeout_ms", 2 * LOAD), ("operation_timeout_ms", LOAD)):
        protocol[key] = max(protocol[key], windows * window_ms)
    data["run"]["load_ms"] = max(LOAD * window_ms, data["run"]["load_ms"])
    data.pop("migration", None)
    least, most = knobs.pick("length of writers", LENGTHS)
    beside = [one for one in data["workload"] if one["name"] in BESIDE]
    data["workload"] = [*beside, _writers(window_ms, least, most), _indexes(window_ms)]
    for key, value in (("window_ms", window_ms), ("load", data["run"]["load_ms"])):
        knobs.tell(key, value)


def add_near(knobs: Knobs, data: Table) -> None:
    """Let switches follow each other within a window, and transactions write across two of them."""
    if not knobs.on("switches near", NEAR, unless=knobs.drawn["cutovers"] != OFF):
        return
    distance = knobs.pick("distance of near switches", DISTANCES)
    window_ms = knobs.pick("window of near switches", WINDOWS_MS)
    store, protocol, load_ms = data["fdb"], data["protocol"], NEAR_LOAD * window_ms
    store["recovery_jump"] *= max(ceil(window_ms / store["window_ms"]), 1)
    store |= {"window_ms": window_ms, "idle_commit_ms": 2}
    data["strategy"]["distance_ms"] = max(round(distance * window_ms), 1)
    knobs.drop(data["strategy"], "cutoff_percent")
    for key in ("tx_timeout_ms", "operation_timeout_ms"):
        protocol[key] = max(protocol[key], load_ms)
    store["commit_timeout_ms"] = max(store["commit_timeout_ms"], load_ms)
    data["run"]["load_ms"] = load_ms
    data["network"] = {"latency_ms": 0.5, "client_latency_ms": 0.2}
    data["schema"] = {"sql": "CREATE TABLE a (id INT PRIMARY KEY, v INT)"}
    sql = ";\n".join(["CREATE INDEX ai ON a (v)", "DROP INDEX ai"] * NEAR_LOAD)
    data["migration"] = [{"node": "n1", "at_ms": window_ms, "every_ms": window_ms, "sql": sql}]
    data["faults"] = []
    across = _writers(window_ms, *BLIND) | {"clients": 8, "put": 4, "delete": 6}
    beside = {**across, "clients": 6, "operations": 120, "long": 0.0, "implicit": 1.0}
    beside |= {"transaction_operations": 1, "pause_ms": [0, window_ms // 4]}
    data["workload"] = [across, beside | {"put": 8, "delete": 2}]
    told = {"window_ms": window_ms, "load": load_ms, "distance": distance}
    for key, value in {**told, "faults of machines": OFF}.items():
        knobs.tell(key, value)


def _writers(window_ms: int, least: float, most: float) -> Table:
    """Clients whose transactions write a row, and another one so many windows later."""
    count = round(LOAD / (least + most))
    writers: Table = {"name": "mixed", "clients": 6, "operations": 2 * max(count, 2), "keys": 12}
    writers |= {"implicit": 0.0, "long": 1.0, "long_operations": [2, 2], "retries": 0}
    writers |= {"long_gap_ms": [least * window_ms, most * window_ms]}
    writers |= {"pause_ms": [0, window_ms], "values": 3}
    return writers | {**swarm_work.NEITHER, "put": 8, "delete": 2}


def _indexes(window_ms: int) -> Table:
    """A client that makes and drops indexes, one after the other."""
    indexes: Table = {**dict.fromkeys(ddl_mix.KINDS, 0), "index": 6, "drop_index": 5}
    return {"name": "ddl_mix", "clients": 1, "operations": 6, "pause_ms": [0, window_ms], **indexes}
