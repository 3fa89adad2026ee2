"""Worlds of the FoundationDB plane: few, fast processes, hot keys, recoveries, machines cut off.

Durations of the store follow the latencies of the world: where a commit takes longer than its
client waits, or longer than the window, no transaction ever commits, and nothing is tested.
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import Final

import msgspec

from ddlsim.fdb.config import processes_of
from ddlsim.kernel.rng import Spread, quantiles
from ddlsim.plan import swarm_delays, swarm_knobs, swarm_store_moments, swarm_work
from ddlsim.plan.aims import columns, cutovers, doubts
from ddlsim.plan.swarm_faults import CALM
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.scenario.rules import FDB
from ddlsim.scenario.scenario import Scenario
from ddlsim.units import US_PER_MS
from ddlsim.workload import ddl_mix
from ddlsim.workload.base import Die
from ddlsim.workload.mixed import Mixed

SCALES_MS: Final = (10, 20, 40)
"""What durations of a world are multiples of."""
LOADS: Final = (20, 30, 40)
"""How long the load is, as a multiple of the scale of time."""
LEAST_LOAD_MS: Final = 100
"""A load that the command line sets is at least as long, or the world is drawn without it."""
COUNTS: Final[dict[str, tuple[int, ...]]] = {
    "grvs": (1, 1, 2),
    "proxies": (1, 1, 2, 3),
    "resolvers": (1, 1, 2, 3),
    "logs": (1, 2, 2, 2, 3),
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
    "version_rest_ms": (1, 10),
    "ping_ms": (5, 20, 100),
    "ping_timeout_ms": (20, 50),
    "pings_missed": (1, 2, 3),
    "confirm_ms": (80, 80, 0, 5, 20),
    "future_version_ms": (1_000, 1_000, 20, 100),
    "peek_ms": (1_000, 1_000, 50, 200),
    "pop_ms": (1_000, 1_000, 5, 50),
    "retry_ms": (10, 10, 1, 30),
    "avoid_ms": (1_000, 1_000, 0, 50),
    "watch_timeout_ms": (30_000, 30_000, 50, 200),
    "watches_most": (10_000, 10_000, 1),
}
"""Settings of the store: short enough that all of it happens within a load."""
SWITCHES: Final = ("local_keys", "past_read_conflicts", "future_write_conflicts")
"""What FoundationDB lacked in 2018, for the designs in need of it."""
OF_DESIGNS: Final[dict[str, tuple[int, ...]]] = {
    "lease_ms": (20, 50, 200),
    "poll_ms": (5, 20, 100),
    "copies": (1, 3, 10),
    "chunk_rows": (1, 3, 20),
}
"""Numbers of the designs, which a scenario may set."""
LOCK_TIMEOUT: Final = "lock_timeout_ms"
SOMETIMES: Final[dict[str, tuple[float, tuple[int, ...]]]] = {
    "renew_percent": (0.3, (25, 75, 90)),
    "drift_percent": (0.3, (20, 40)),
    LOCK_TIMEOUT: (0.9, (10, 20, 20, 40, 100, 1_000)),
    "push_ms": (0.3, (20, 200)),
    "cutoff_percent": (0.3, (150, 200)),
    "copy_servers": (0.3, (2, 3)),
    "schema_replicas": (0.15, (2, 3)),
}
"""Numbers that are the design's own unless they are drawn: the share of worlds, and the values.

None with which a design could not be right: leases allow for the drift that clocks have at most
(`DRIFTS_PPM`), and writes end a whole window behind a switch, or later. Worlds that are about
leases or switches have none of them but the wait for a lock: larger margins would hide what is
wrong. Most waits for a lock are short: behind a statement that waits, all of a table waits.
"""
DISTANCES: Final = (1.2, 2)
"""From a schema update to its activation, in windows: C11 needs more than one."""
SKEWS_MS: Final = (0, 0, 10, 1_000)
"""How far clocks are apart: no design of this plane rests on that."""
DRIFTS_PPM: Final = (0, 0, 1_000, 100_000)
"""The largest drift of clocks: leases allow for a tenth."""
READERS: Final = 0.1
"""The share of worlds with clients whose long transactions only read."""
WRITERS: Final = 0.12
"""The share of worlds with clients whose long transactions only write, and with index changes."""
BEYOND: Final = 0.1
SLOW, SLOW_PPM = "n1", -800_000
"""The share of worlds in which the clock of one process is slower than that, and by how much; that
process is cut off from the schema, too, so that it lives by its lease."""
LOSSY_IDLE_MS: Final = 20
"""The least rest of an idle proxy there: each batch is a dozen messages that may be lost."""
LEASED: Final = 4
"""How long a lease is in these worlds, as a multiple of the scale of time."""
JUMPS: Final = (2, 20)
"""By how many windows a recovery raises the version."""
NOT_HERE: Final = dict.fromkeys(Mixed.cannot[FDB], 0.0)
"""Shares of a mixed workload that mean nothing on this plane."""
INDEXED: Final = 0.4
INDEXES: Final = {"a": "v", "b": "v", "c": "v", "d": "e"}
"""The share of worlds whose tables have an index each at the start, and on which column."""
FINDS: Final = (0, 10, 40)
"""Weights of queries for values among the operations of mixed clients."""
MOST_FAULTS: Final = 3
CUT_OFF: Final = 0.1
"""The share of worlds in which a process of the layer is cut off from the last storage server,
which has the schema: rows come from others, where there are any."""
LOAD_MS: Final = 300
"""Where the faults lie around a scenario that does not say how long its load is."""


def whole(knobs: Knobs) -> Table:
    """A whole world of this plane."""
    scale_ms = knobs.pick("scale of time", SCALES_MS)
    load_ms = (max(LOADS) if _is_slow(knobs) else knobs.pick("load", LOADS)) * scale_ms
    load_ms = knobs.fixed("run.load_ms", load_ms, LEAST_LOAD_MS)
    count = knobs.fixed("cluster.nodes", knobs.pick("nodes", (2, 3, 3, 4)))
    knobs.tell("nodes", count)
    nodes = tuple(f"n{number}" for number in range(1, count + 1))
    store = _store(knobs)
    processes = processes_of(**{key: store[key] for key in COUNTS})
    network = swarm_knobs.network(knobs, nodes, scale_ms) | swarm_delays.schedule(knobs)
    names, sql = swarm_work.schema(knobs, len(nodes))
    if knobs.on("indexes at the start", INDEXED):
        sql += "".join(f"CREATE INDEX {name}i ON {name} ({INDEXES[name]});\n" for name in names)
    migrations = swarm_work.migrations(knobs, names, nodes, load_ms, scale_ms)
    workloads = swarm_work.workloads(knobs, names, load_ms, scale_ms, planned=bool(migrations))
    clocks = _clocks(knobs)
    if _is_slow(knobs):
        workloads = [one for one in workloads if not one["name"].startswith("ddl")]
        workloads.append(_indexes(scale_ms))
    if knobs.on("long writers", WRITERS):
        workloads += [_long_writers(scale_ms), _indexes(scale_ms)]
    if knobs.on("long readers", READERS):
        workloads.append(_long_readers(scale_ms))
    _lengthen(knobs, store, network, workloads)
    timeout_ms = knobs.pick("tx_timeout_ms", (100, 400, 2_000))
    data: Table = {
        "title": "A random world under a random nemesis",
        "source": "drawn from the seed",
        "strategy": _numbers(knobs, store["window_ms"], scale_ms),
        "protocol": {"tx_timeout_ms": timeout_ms, "operation_timeout_ms": max(timeout_ms, 200)},
        "cluster": {"plane": "fdb", "nodes": len(nodes)},
        "clocks": clocks,
        "fdb": store,
        "network": network,
        "run": {"load_ms": load_ms, "drain_ms": 60_000},
        "schema": {"sql": sql},
        "migration": migrations,
        "workload": [_here(knobs, one) for one in workloads],
        "faults": [
            *_faults(knobs, (*nodes, *_failing(processes)), load_ms, scale_ms),
            *_cut_off(knobs, nodes, processes[-1][1], load_ms, scale_ms),
        ],
    }
    columns.add(knobs, data, names)
    doubts.add(knobs, data)
    return {key: value for key, value in data.items() if value != []}


def _numbers(knobs: Knobs, window_ms: int, scale_ms: int) -> Table:
    """The numbers of designs: leases are renewed in time, changes come into force in the load."""
    numbers: Table = {key: knobs.pick(key, choices) for key, choices in OF_DESIGNS.items()}
    for key, (share, choices) in SOMETIMES.items():
        number = knobs.perhaps(key, share, choices)
        numbers |= {} if number is None else {key: number}
    if _is_slow(knobs):
        numbers["poll_ms"], numbers["lease_ms"] = min(OF_DESIGNS["poll_ms"]), LEASED * scale_ms
        knobs.drop(numbers, *(key for key in SOMETIMES if key != LOCK_TIMEOUT))
    numbers["lease_ms"] = max(numbers["lease_ms"], 2 * numbers["poll_ms"])
    knobs.tell("lease_ms", numbers["lease_ms"])
    return {**numbers, "distance_ms": round(knobs.pick("distance", DISTANCES) * window_ms)}


def _here(knobs: Knobs, workload: Table) -> Table:
    """A workload as the layer can carry it: its mixed clients look for values by indexes, too."""
    if workload["name"] != "mixed":
        return workload
    return {**workload, **NOT_HERE, "find": knobs.pick("finds", FINDS)}


def _long_readers(scale_ms: int) -> Table:
    """Clients that only read, in transactions that a schema change or two may overtake."""
    readers: Table = {"name": "mixed", "clients": 4, "operations": 24, "keys": 20, "retries": 0}
    readers |= {"implicit": 0.0, "long": 1.0, "long_operations": [3, 5], "read_only": 1.0}
    readers |= {"long_gap_ms": [scale_ms / 4, 2 * scale_ms], "pause_ms": [0, scale_ms]}
    return readers | {**swarm_work.NEITHER, "get": 6, "scan": 2, "select": 2}


def _long_writers(scale_ms: int) -> Table:
    """Clients that write without reading, in transactions that last over several schema changes."""
    writers: Table = {"name": "mixed", "clients": 6, "operations": 18, "keys": 12, "retries": 0}
    writers |= {"implicit": 0.0, "long": 1.0, "long_operations": [2, 3], "values": 3}
    writers |= {"long_gap_ms": [scale_ms, 4 * scale_ms], "pause_ms": [0, scale_ms]}
    return writers | {**swarm_work.NEITHER, "put": 8, "delete": 4}


def _indexes(scale_ms: int) -> Table:
    """Clients that create and drop indexes, one after the other: no row shows that to a reader."""
    indexes: Table = {**dict.fromkeys(ddl_mix.KINDS, 0), "index": 6, "drop_index": 4}
    statements: Table = {"name": "ddl_mix", "clients": 2, "operations": 12, **indexes}
    return {**statements, "pause_ms": [0, scale_ms]}


def _clocks(knobs: Knobs) -> Table:
    """Clocks of the layer's processes: apart by any time, their rates within a margin or not."""
    ppm = knobs.pick("drift_ppm", DRIFTS_PPM)
    clocks: Table = {
        "max_skew_ms": knobs.pick("skew_ms", SKEWS_MS),
        "drift_ppm": {"distribution": "uniform", "low": -ppm, "high": ppm},
    }
    if _is_slow(knobs):
        clocks["nodes"] = {SLOW: {"offset_ms": 0, "drift_ppm": SLOW_PPM}}
    return clocks


def _is_slow(knobs: Knobs) -> bool:
    """Whether the clock of a process is slower than leases allow for; drawn once."""
    return knobs.on("clock beyond the margin", BEYOND)


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
    table: Table = {
        key: knobs.fixed(f"fdb.{key}", knobs.pick(key, choices)) for key, choices in COUNTS.items()
    }
    for key, number in table.items():
        knobs.tell(key, number)
    table["replicas"] = min(knobs.pick("replicas of keys", (1, 1, 2, 3)), table["storages"])
    if _is_slow(knobs):
        table["storages"], table["replicas"] = max(table["storages"], 2), 1
        knobs.tell("storages", table["storages"])
    table |= {key: knobs.pick(key, choices) for key, choices in SETTINGS.items()}
    table["recovery_jump"] = knobs.pick("recovery jump", JUMPS)
    table["resolver_keeps_future"] = knobs.pick("resolver_keeps_future", (False, False, True))
    return table | dict.fromkeys(SWITCHES, True)


OF_COMMITS: Final = ("window_ms", "commit_timeout_ms")
OF_REQUESTS: Final = (
    "request_ms", "ping_timeout_ms", "peek_ms", "future_version_ms", "watch_timeout_ms",
)  # fmt: skip
LENGTHENED: Final = (*OF_COMMITS, *OF_REQUESTS)
"""Durations of the store that are no shorter than a commit, or than the answer to a request."""
VERSIONS_OF_CLIENT: Final = 2
"""Versions of the window for each client; more clients may come for a rule of their own."""
COMMIT_MESSAGES: Final = 16
"""More messages in a row than a read version, reads and the commit behind them take."""


def add_cutovers(knobs: Knobs, data: Table) -> None:
    """Put transactions across the switches of indexes into a world."""
    store, network = data["fdb"], data["network"]
    cutovers.add(knobs, data, _commit_ms(store, network), _request_ms(store, network))


def _lengthen(knobs: Knobs, store: Table, network: Table, workloads: list[Table]) -> None:
    """Raise the durations of the table `[fdb]` to what latencies and clients of the world ask for.

    The window is longer than an idle proxy's rest, too, else every read version would be too old.
    Where messages are lost, it is longer than it takes to ask again, several times over, and idle
    proxies rest longer: all batches wait for one whose message is lost. A transaction takes a
    version of its own: the window has some for each client, else all are too old once many try
    again.
    """
    _fit(store, network, workloads)
    for key in LENGTHENED:
        knobs.tell(key, store[key])
    knobs.tell("idle_commit_ms", store["idle_commit_ms"])
    store["recovery_jump"] *= _window(store)


def fitted(data: Table) -> Table:
    """A world whose store and design have the time that its latencies and settings ask for.

    For worlds that are varied. Recoveries leave behind whatever was begun before, changes come into
    force a window behind their updates, and leases are renewed in time.
    """
    store, numbers = dict(data["fdb"]), dict(data.get("strategy", {}))
    _fit(store, data["network"], data["workload"])
    store["recovery_jump"] = max(store["recovery_jump"], min(JUMPS) * _window(store))
    if "distance_ms" in numbers:
        least_ms = ceil(min(DISTANCES) * store["window_ms"])
        numbers["distance_ms"] = max(numbers["distance_ms"], least_ms)
    if {"lease_ms", "poll_ms"} <= numbers.keys():
        numbers["lease_ms"] = max(numbers["lease_ms"], 2 * numbers["poll_ms"])
    return {**data, "fdb": store, "strategy": numbers}


def _window(store: Table) -> int:
    """The window in versions."""
    return max(int(store["window_ms"] * store["versions_per_second"] // 1_000), 1)


def _fit(store: Table, network: Table, workloads: list[Table]) -> None:
    commit_ms, enough_ms = _commit_ms(store, network), _request_ms(store, network)
    clients = sum(one.get("clients", 1) for one in workloads)
    least_ms = ceil(1_000 * VERSIONS_OF_CLIENT * clients / store["versions_per_second"])
    store["window_ms"] = max(store["window_ms"], least_ms)
    for key in OF_COMMITS:
        store[key] = max(store[key], commit_ms)
    for key in OF_REQUESTS:
        store[key] = max(store[key], enough_ms)
    if network.get("loss"):
        resent = cutovers.RESENT
        store["request_ms"] = min(store["request_ms"], max(store["window_ms"] // resent, enough_ms))
        store["window_ms"] = max(store["window_ms"], resent * store["request_ms"])
        store["idle_commit_ms"] = max(store["idle_commit_ms"], LOSSY_IDLE_MS)
    store["idle_commit_ms"] = max(min(store["idle_commit_ms"], store["window_ms"] // 4), 1)


def _own_ms(store: Table) -> float:
    """For how long requests are gathered, and a log's disk takes."""
    own_us: int = store["grv_batch_us"] + store["commit_batch_us"] + store["log_sync_us"]
    return own_us / US_PER_MS


def _commit_ms(store: Table, network: Table) -> int:
    """What a transaction takes at most, in whole ms."""
    least, most = _latencies_ms(network)
    return ceil(COMMIT_MESSAGES * least + 2 * most + 2 * _own_ms(store))


def _request_ms(store: Table, network: Table) -> int:
    """What the answer to a request takes at most, in whole ms."""
    least, most = _latencies_ms(network)
    return ceil(4 * least + 2 * most + _own_ms(store))


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
        others = [one for one in machines if one != machine]
        made.append({**_fault(die, machine, others, scale_ms), **times})
    span = swarm_store_moments.Span(load_ms, scale_ms, machines)
    return made + swarm_store_moments.faults(knobs, span, calm=not count)


def _cut_off(
    knobs: Knobs, nodes: tuple[str, ...], schema: str, load_ms: int, scale_ms: int
) -> list[Table]:
    """In some worlds, a process of the layer that cannot read the schema for a while."""
    slow = _is_slow(knobs)
    if not knobs.on("schema cut off", CUT_OFF) and not slow:
        return []
    die = knobs.die("when it is cut off")
    from_ms = die.between(1, max(load_ms // (4 if slow else 2), 2))
    for_ms = min(die.pick((6 * LEASED,) if slow else (2, 4, 8)) * scale_ms, load_ms - from_ms)
    node = SLOW if slow else die.pick(nodes)
    cut: Table = {"name": "partition", "shape": "link", "node": node, "side": [schema]}
    return [{**cut, "from_ms": from_ms, "for_ms": for_ms}]


def _fault(die: Die, machine: str, others: Sequence[str], scale_ms: int) -> Table:
    """A fault of a machine; `others` are those from which alone it may be cut off."""
    name = die.pick(("crash", "crash", "pause", "partition", "partition", "clog", "slow_disk"))
    if name == "partition":
        shape = die.pick(("one_node", "one_way", "link", "link"))
        cut: Table = {"name": name, "shape": shape, "node": machine}
        return {**cut, "side": [die.pick(others)]} if shape == "link" else cut
    if name == "clog" or (name == "slow_disk" and machine.startswith("log")):
        return {"name": name, "node": machine, "delay_ms": die.between(1, scale_ms)}
    if name == "slow_disk":  # only logs wait for a disk
        return {"name": "pause", "node": machine}
    return {"name": name, "node": machine}
