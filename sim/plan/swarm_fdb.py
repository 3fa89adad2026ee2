"""Worlds of the FoundationDB plane: few, fast processes, hot keys, recoveries, machines cut off.

Durations of the store follow the latencies of the world: where a commit takes longer than its
client waits, or longer than the window, no transaction ever commits, and nothing is tested.
"""

from collections.abc import Iterable
from math import ceil
from typing import Final

import msgspec

from ddlsim.fdb.config import processes_of
from ddlsim.kernel.rng import Spread, quantiles
from ddlsim.plan import swarm_delays, swarm_knobs, swarm_store_moments, swarm_work
from ddlsim.plan.swarm_faults import CALM
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.scenario.scenario import Scenario
from ddlsim.units import US_PER_MS
from ddlsim.workload.base import Die

SCALES_MS: Final = (10, 20, 40)
"""What durations of a world are multiples of."""
LOADS: Final = (10, 20, 40)
"""How long the load is, as a multiple of the scale of time."""
COUNTS: Final[dict[str, tuple[int, ...]]] = {
    "grvs": (1, 1, 2),
    "proxies": (1, 1, 2, 3),
    "resolvers": (1, 1, 2, 3),
    "logs": (1, 2, 3),
    "storages": (1, 2, 3, 4),
}
"""How many processes of a role there are."""
SETTINGS: Final[dict[str, tuple[int, ...]]] = {
    "versions_per_second": (1_000, 100_000, 1_000_000),
    "window_ms": (20, 20, 50, 50, 200, 1_000, 5_000),
    "grv_batch_us": (0, 200, 500, 2_000),
    "commit_batch_us": (0, 200, 1_000, 3_000),
    "idle_commit_ms": (2, 5, 20, 100),
    "grv_cache_ms": (5, 20, 100),
    "watch_poll_ms": (5, 20, 100),
    "storage_read_us": (0, 0, 0, 20, 100),
    "log_sync_us": (0, 0, 300, 1_000),
    "request_ms": (20, 50, 200),
    "commit_timeout_ms": (50, 200, 1_000),
    "backoff_ms": (1, 5),
    "backoff_most_ms": (5, 50),
    "ping_ms": (5, 20, 100),
    "ping_timeout_ms": (20, 50),
    "pings_missed": (1, 2, 3),
}
"""Settings of the store: short enough that all of it happens within a load."""
OF_DESIGNS: Final[dict[str, tuple[int, ...]]] = {
    "lease_ms": (20, 50, 200),
    "poll_ms": (5, 20, 100),
    "copies": (1, 3, 10),
    "chunk_rows": (1, 3, 20),
}
"""Numbers of the designs, which a scenario may set."""
DISTANCES: Final = (1.2, 2)
"""From a schema update to its activation, in windows: C11 needs more than one."""
JUMPS: Final = (2, 20)
"""By how many windows a recovery raises the version."""
NOT_HERE: Final = {"views": 0.0, "as_of": 0.0, "partition_aware": 0.0}
"""Shares of a mixed workload that the layer has no answer to: views, times chosen by clients."""
MOST_FAULTS: Final = 3
LOAD_MS: Final = 300
"""Where the faults lie around a scenario that does not say how long its load is."""


def whole(knobs: Knobs) -> Table:
    """A whole world of this plane."""
    scale_ms = knobs.pick("scale of time", SCALES_MS)
    load_ms = knobs.pick("load", LOADS) * scale_ms
    nodes = tuple(f"n{number}" for number in range(1, knobs.pick("nodes", (2, 3, 3, 4)) + 1))
    store = _store(knobs)
    processes = processes_of(**{key: store[key] for key in COUNTS})
    network = swarm_knobs.network(knobs, nodes, scale_ms) | swarm_delays.schedule(knobs)
    _lengthen(knobs, store, network)
    names, sql = swarm_work.schema(knobs, len(nodes))
    migrations = swarm_work.migrations(knobs, names, nodes, load_ms, scale_ms)
    workloads = swarm_work.workloads(knobs, names, load_ms, scale_ms, planned=bool(migrations))
    timeout_ms = knobs.pick("tx_timeout_ms", (100, 400, 2_000))
    data: Table = {
        "title": "A random world under a random nemesis",
        "source": "drawn from the seed",
        "strategy": {
            **{key: knobs.pick(key, choices) for key, choices in OF_DESIGNS.items()},
            "distance_ms": round(knobs.pick("distance", DISTANCES) * store["window_ms"]),
        },
        "protocol": {"tx_timeout_ms": timeout_ms, "operation_timeout_ms": max(timeout_ms, 200)},
        "cluster": {"plane": "fdb", "nodes": len(nodes)},
        "fdb": store,
        "network": network,
        "run": {"load_ms": load_ms, "drain_ms": 60_000},
        "schema": {"sql": sql},
        "migration": migrations,
        "workload": [{**one, **NOT_HERE} if one["name"] == "mixed" else one for one in workloads],
        "faults": _faults(
            knobs,
            (*nodes, *_failing(processes)),
            load_ms,
            scale_ms,
        ),
    }
    return {key: value for key, value in data.items() if value != []}


def around(knobs: Knobs, data: Table, base: Scenario) -> None:
    """Put other latencies and faults around a scenario of this plane; all else stays its own."""
    scale_ms = knobs.pick("scale of time", SCALES_MS)
    if knobs.die("network").chance(0.7):
        data["network"] = swarm_knobs.network(knobs, base.nodes, scale_ms)
    load_ms = base.table.run.load_ms
    within_ms = LOAD_MS if load_ms is None else max(int(load_ms), 10)
    machines = (*base.nodes, *_failing(base.processes))
    data["faults"] = _faults(knobs, machines, within_ms, scale_ms)
    data["run"] = {"drain_ms": 60_000, **data.get("run", {})}


def _store(knobs: Knobs) -> Table:
    """The table `[fdb]`, with every feature that FoundationDB lacked in 2018 for those in need."""
    table: Table = {key: knobs.pick(key, choices) for key, choices in COUNTS.items()}
    table["replicas"] = min(knobs.pick("replicas of keys", (1, 1, 2, 3)), table["storages"])
    table |= {key: knobs.pick(key, choices) for key, choices in SETTINGS.items()}
    table["recovery_jump"] = knobs.pick("recovery jump", JUMPS)
    switches = ("local_keys", "past_read_conflicts", "future_write_conflicts")
    return table | dict.fromkeys(switches, True)


COMMIT_MESSAGES: Final = 16
"""More messages in a row than a read version, reads and the commit behind them take."""


def _lengthen(knobs: Knobs, store: Table, network: Table) -> None:
    """Raise the durations of the table `[fdb]` to what the latencies of the world ask for.

    The window is longer than an idle proxy's rest, too, else every read version would be too old.
    """
    least, most = _latencies_ms(network)
    own_ms = (store["grv_batch_us"] + store["commit_batch_us"] + store["log_sync_us"]) / US_PER_MS
    commit_ms = ceil(COMMIT_MESSAGES * least + 2 * most + 2 * own_ms)
    for key in ("window_ms", "commit_timeout_ms"):
        store[key] = max(store[key], commit_ms)
    for key in ("request_ms", "ping_timeout_ms"):
        store[key] = max(store[key], ceil(4 * least + 2 * most + own_ms))
    store["idle_commit_ms"] = min(store["idle_commit_ms"], store["window_ms"] // 4)
    for key in ("window_ms", "commit_timeout_ms", "request_ms", "ping_timeout_ms"):
        knobs.tell(key, store[key])
    knobs.tell("idle_commit_ms", store["idle_commit_ms"])
    window = store["window_ms"] * store["versions_per_second"] // 1_000
    store["recovery_jump"] *= max(window, 1)


def _latencies_ms(network: Table) -> tuple[float, float]:
    """What nine in ten messages take at most, and what any does, over all links."""
    drawn = [network[key] for key in ("latency_ms", "client_latency_ms")]
    drawn += [link["latency_ms"] for link in network.get("links", [])]
    tables = [quantiles(msgspec.convert(_distribution(one), Spread)) for one in drawn]
    return (
        max(table[len(table) * 9 // 10] for table in tables) / US_PER_MS,
        max(table[-1] for table in tables) / US_PER_MS,
    )


def _distribution(drawn: float | Table) -> Table:
    return drawn if isinstance(drawn, dict) else {"distribution": "constant", "value": drawn}


def _failing(processes: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The processes of the store that may fail."""
    return tuple(name for role, name in processes if role != "controller")


# --- faults --------------------------------------------------------------------------------------


def _faults(knobs: Knobs, machines: tuple[str, ...], load_ms: int, scale_ms: int) -> list[Table]:
    """Up to three faults of machines and links within the load, and aimed ones beside them."""
    die = knobs.die("faults of machines")
    calm = knobs.die("calm").chance(CALM)
    count = 0 if calm else die.between(0, MOST_FAULTS)
    knobs.tell("faults of machines", count or OFF)
    made: list[Table] = []
    struck: list[str] = []
    for _ in range(count):
        machine = die.pick([one for one in machines if one not in struck])
        struck.append(machine)
        from_ms = die.between(1, max(load_ms * 7 // 10, 2))
        for_ms = die.between(1, max(round(scale_ms * die.pick((0.5, 2, 6))), 2))
        times: Table = {"from_ms": from_ms, "for_ms": min(for_ms, load_ms - from_ms)}
        made.append({**_fault(die, machine, scale_ms), **times})
    logs = tuple(one for one in machines if one.startswith("log"))
    span = swarm_store_moments.Span(load_ms, scale_ms, logs)
    return made + swarm_store_moments.faults(knobs, span, calm=not count)


def _fault(die: Die, machine: str, scale_ms: int) -> Table:
    name = die.pick(("crash", "crash", "pause", "partition", "partition", "clog"))
    if name == "partition":
        return {"name": name, "shape": die.pick(("one_node", "one_way")), "node": machine}
    if name == "clog":
        return {"name": name, "node": machine, "delay_ms": die.between(1, scale_ms)}
    return {"name": name, "node": machine}
