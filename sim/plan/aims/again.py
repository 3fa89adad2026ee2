"""Worlds in which transactions write one row several times, and read it in between.

What a transaction has written last is what it reads, and what it commits: whether its earlier
writes of the row are stored by then or not, and in whatever order they come to the log.
"""

from typing import Final

from ddlsim.plan.swarm_faults import has_restless_leases, is_calm, led_elsewhere
from ddlsim.plan.swarm_knobs import Knobs, Table
from ddlsim.plan.swarm_work import NEITHER, is_quiet

SHARE: Final = 0.08
"""The share of the worlds that are not quiet."""
CROWDED: Final = 0.4
"""The share of these in which more clients write few rows, and checks wait on every other node."""
REPLICATED: Final = 0.7
"""The share of these whose partitions have replicas, so that it takes time to store a write."""
LATE: Final = 0.4
"""The share of these, of those with faults, in which some writes come to the log behind later
ones."""


def add(knobs: Knobs, data: Table, names: list[str], delay_ms: int) -> None:
    """Put such clients into a world; they use the tables that are there so far, `names`."""
    if has_restless_leases(knobs):
        data["workload"] = [*data["workload"], _returning(delay_ms)]
    if not knobs.on("own writes read", SHARE, unless=is_quiet(knobs)):
        return
    die = knobs.die("own writes read, details")
    if die.chance(REPLICATED):
        data["cluster"]["replicas"] = 3
    table: Table = {"name": "mixed", "clients": 4, "operations": 60, "keys": 12, "retries": 0}
    table |= {**NEITHER, "get": 5, "put": 5, "delete": 1, "scan": 1, "insert": 1, "update": 1}
    table |= {"one_row": 1.0, "transaction_operations": [3, 5], "implicit": 0.0, "read_only": 0.0}
    table |= {"pipelined": die.pick((0.0, 0.5)), "gap_ms": [0, delay_ms * die.pick((0, 0.1))]}
    if knobs.on("writes at once behind checks that wait", CROWDED):
        table |= {"pipelined": 0.7, "clients": 10, "keys": 3, "update": 5}
        _let_checks_wait(knobs, data, delay_ms)
    if knobs.on("own writes late into the log", LATE, unless=is_calm(knobs)):
        table |= {"pipelined": 0.7, "clients": 8}
        data["cluster"]["replicas"], load_ms = 3, data["run"]["load_ms"]
        data["faults"] = [*data.get("faults", []), *_late(knobs, load_ms, names, delay_ms)]
    data["workload"] = [*data["workload"], table | {"pause_ms": [0, delay_ms]}]


def _late(knobs: Knobs, load_ms: int, names: list[str], delay_ms: int) -> list[Table]:
    """Groups are led by other nodes than their primaries; to them some writes take longer."""
    die = knobs.die("own writes late into the log, when")
    moved = led_elsewhere((f"{name}/0" for name in names), load_ms)
    late: Table = {"name": "late_message", "kind": "partition-submit", "count": die.pick((1, 5))}
    late["delay_ms"] = max(round(delay_ms * die.pick((0.05, 0.2, 1))), 1)
    times = [load_ms // 10 + part * load_ms // 12 for part in range(10)]
    return [*moved, *({**late, "from_ms": from_ms} for from_ms in times)]


def _let_checks_wait(knobs: Knobs, data: Table, delay_ms: int) -> None:
    """Every other node is complete up to less than its clock shows, most of the time."""
    protocol: Table = data["protocol"]
    own_ms = max(delay_ms // 4, 1)
    protocol["safe_time_interval_ms"] = delay_ms
    names = [f"n{number}" for number in range(1, data["cluster"]["nodes"] + 1, 2)]
    protocol["nodes"] = {name: {"delay_duration_ms": own_ms} for name in names}
    knobs.tell("safe_time_interval_ms", delay_ms)
    knobs.tell("a node's own DD", f"{own_ms} on {', '.join(names)}")


def _returning(delay_ms: int) -> Table:
    """Transactions use one row twice: the lease of its partition may have passed on in between."""
    table: Table = {"name": "mixed", "clients": 12, "operations": 60, "keys": 40, "retries": 0}
    table |= {"implicit": 0.0, "transaction_operations": 2, "one_row": 1.0, **NEITHER}
    return table | {"gap_ms": [delay_ms / 2, 3 * delay_ms], "get": 2, "put": 1}
