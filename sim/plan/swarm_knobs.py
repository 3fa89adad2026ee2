"""The knobs of a swarm: each is on or off in a scenario, drawn from a random stream of its own.

The value of one knob does not change that of any other, so that a new knob leaves all scenarios as
they were but for itself. `drawn` is what reports show, knob by knob.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from ddlsim.kernel.rng import Streams
from ddlsim.workload.base import Die

T = TypeVar("T")
Table = dict[str, Any]

OFF: Final = "off"


class Knobs:
    """The random streams of one seed, and the values drawn.

    `fixed` are the settings of the command line, by key, around which a world is drawn.
    """

    def __init__(self, seed: int, fixed: Mapping[str, Any] | None = None) -> None:
        self._streams = Streams(seed)
        self._fixed = fixed or {}
        self.drawn: dict[str, Any] = {}
        self._shares: dict[str, float] = {}

    def die(self, knob: str) -> Die:
        """The random stream of a knob."""
        return Die(self._streams.stream("swarm", knob))

    def pick(self, knob: str, choices: Sequence[T]) -> T:
        """One of several values, each with equal chance; repeat one to make it likelier."""
        chosen = self.die(knob).pick(choices)
        self.drawn[knob] = chosen
        return chosen

    def perhaps(self, knob: str, share: float, choices: Sequence[T]) -> T | None:
        """One of several values with probability `share`, else None."""
        die = self.die(knob)
        chosen = die.pick(choices) if die.chance(share) else None
        self.drawn[knob] = OFF if chosen is None else chosen
        return chosen

    def on(self, knob: str, share: float, *, unless: bool = False) -> bool:
        """Whether a knob is on, with probability `share`; drawn once. It is off if `unless`."""
        known = self._shares.setdefault(knob, share)
        assert known == share, f"two knobs are called {knob!r}"
        if knob not in self.drawn:
            self.tell(knob, "on" if self.die(knob).chance(share) and not unless else OFF)
        return bool(self.drawn[knob] != OFF)

    def fixed(self, key: str, drawn: int, least: int = 1) -> int:
        """A whole number of the world: what the command line sets it to, else what was drawn.

        What is less than `least`, or no whole number, counts as not set: reading refuses it.
        """
        given = self._fixed.get(key)
        return given if type(given) is int and given >= least else drawn

    def drop(self, table: Table, *keys: str) -> None:
        """Take back what was drawn for keys of a table, where it says nothing else of them."""
        for key in keys:
            if table.pop(key, None) is not None:
                self.tell(key, OFF)

    def tell(self, knob: str, value: Any) -> None:
        """Record the value of a knob that was drawn elsewhere."""
        self.drawn[knob] = value


def kept_to(names: Sequence[str], workloads: Sequence[Table]) -> list[Table]:
    """The workloads of a world on these tables alone, but those that name their own."""
    return [{"tables": list(names), **one} for one in workloads]


def migrate(data: Table, sql: str, every_ms: int, node: str = "n1") -> None:
    """Let a node run more statements: from a tenth of the load on, one each `every_ms`."""
    changes = {"at_ms": data["run"]["load_ms"] // 10, "node": node, "sql": sql}
    changes["every_ms"] = max(every_ms, 1)
    data["migration"] = [*data.get("migration", []), changes]


# --- the cluster ---------------------------------------------------------------------------------


def cluster(knobs: Knobs) -> Table:
    """The table `[cluster]`: numbers of nodes, voters, partitions and replicas."""
    nodes = knobs.fixed("cluster.nodes", knobs.pick("nodes", (3, 3, 4, 5, 5, 6, 7)))
    table: Table = {
        "voters": min(knobs.pick("voters", (3, 5) if nodes >= 5 else (3,)), nodes),
        "partitions": knobs.pick("partitions", (1, 1, 2, 3)),
        "replicas": knobs.pick("replicas", (1, 1, 1, 3)),
    }
    fixed = {key: knobs.fixed(f"cluster.{key}", drawn) for key, drawn in table.items()}
    for key, value in {"nodes": nodes, **fixed}.items():
        knobs.tell(key, value)
    return {"nodes": nodes, **fixed}


# --- the protocol --------------------------------------------------------------------------------

DELAYS_MS: Final[dict[str, tuple[int, ...]]] = {
    "quick": (5, 10, 20, 20, 40),
    "real": (50, 100, 200, 500),
}
"""DD by the scale of time; other durations are multiples of DD, latencies go by the scale."""
SCALES: Final = ("quick", "quick", "quick", "quick", "quick", "real")


def scale_of(delay_ms: float) -> str:
    """The scale of time of a DD."""
    return "quick" if delay_ms < min(DELAYS_MS["real"]) else "real"


def _times(knobs: Knobs, knob: str, of_ms: int, factors: Sequence[float], least: int = 1) -> int:
    """A whole number of milliseconds: one of the factors times `of_ms`, at least `least`."""
    die = knobs.die(knob)
    value = max(round(of_ms * die.pick(factors)), least)
    knobs.tell(knob, value)
    return value


LEAST_COMMIT_WAIT_MS: Final = 20
SHORT_LEASES: Final = 0.08
"""The share of worlds whose leases pass on within a few messages."""
LEAST_LEASE_MS: Final = 10


def protocol(knobs: Knobs, nodes: Sequence[str]) -> Table:
    """The table `[protocol]`: DD, CSmax, H, time limits, leases; now and then one node's own DD."""
    delay_ms = knobs.die("delay_duration_ms").pick(DELAYS_MS[knobs.pick("scale", SCALES)])
    delay_ms = knobs.fixed("protocol.delay_duration_ms", delay_ms)
    knobs.tell("delay_duration_ms", delay_ms)
    skew_ms = _times(knobs, "max_clock_skew_ms", delay_ms, (0.1, 0.1, 0.2, 0.3, 0.5, 1, 2))
    skew_ms = knobs.fixed("protocol.max_clock_skew_ms", skew_ms, 0)
    knobs.tell("max_clock_skew_ms", skew_ms)
    timeout_ms = _times(knobs, "operation_timeout_ms", delay_ms, (3, 4, 5, 8), least=30)
    timeout_ms = max(timeout_ms, delay_ms + skew_ms + 2 * delay_ms)
    knobs.tell("operation_timeout_ms", timeout_ms)
    table: Table = {
        "delay_duration_ms": delay_ms,
        "max_clock_skew_ms": skew_ms,
        "operation_timeout_ms": timeout_ms,
        "commit_wait_ms": max(delay_ms, LEAST_COMMIT_WAIT_MS),
    }
    for key, (factors, least) in MULTIPLES.items():
        table[key] = _times(knobs, key, delay_ms, factors, least)
    for key, choices in COUNTS.items():
        table[key] = knobs.pick(key, choices)
    for key, share, factors in SOMETIMES:
        if knobs.die(f"{key} at all").chance(share):
            table[key] = _times(knobs, key, delay_ms, factors)
        else:
            knobs.tell(key, OFF)
    factor = knobs.perhaps("short leases", SHORT_LEASES, (1, 1.5, 2))
    if factor is not None:
        table["lease_duration_ms"] = max(round(factor * delay_ms), LEAST_LEASE_MS)
    own = knobs.perhaps("a node's own DD", 0.2, (delay_ms // 2, delay_ms // 4))
    if own:
        node = knobs.die("whose own DD").pick(nodes)
        knobs.tell("a node's own DD", f"{own} on {node}")
        table["nodes"] = {node: {"delay_duration_ms": own}}
    return table


MULTIPLES: Final[dict[str, tuple[tuple[float, ...], int]]] = {
    "safe_time_interval_ms": ((0.3, 0.5, 0.5, 0.8, 0.8, 1.5), 2),
    "resend_ms": ((0.3, 0.6, 1.2), 3),
    "election_timeout_ms": ((1, 2, 5), 15),
    "lease_duration_ms": ((3, 6, 12), 30),
    "lease_check_ms": ((0.4, 0.7, 1), 5),
    "partition_idle_ms": ((0.5, 1, 4, 20), 3),
    "orphan_check_ms": ((1, 2, 10), 10),
    "tx_timeout_ms": ((5, 10, 20, 40), 50),
    "lock_retry_ms": ((0, 0.2, 0.5), 0),
}
"""Durations as multiples of DD, and the least of them in ms: short enough that elections, lost
leases and recoveries happen within a load."""
COUNTS: Final[dict[str, tuple[int, ...]]] = {
    "snapshot_entries": (5, 20, 200),
    "lock_retries": (0, 3, 3, 3, 3, 10, 10, 10),
    "ddl_attempts": (1, 3, 10, 10),
}
SOMETIMES: Final[tuple[tuple[str, float, tuple[float, ...]], ...]] = (
    ("lease_renewal_ms", 0.15, (0.5, 1, 2)),
    ("lease_grant_ms", 0.15, (0.5, 1, 4)),
    ("metadata_wait_ms", 0.2, (0.25, 0.5, 1, 2)),
    ("metadata_hope_ms", 0.2, (0.1, 0.5, 1)),
    ("read_resend_ms", 0.2, (0.5, 1, 4)),
    ("laggard_ms", 0.3, (0.5, 1, 2)),
    ("barrier_wait_ms", 0.5, (0.5, 1, 4)),
    ("retry_ms", 0.2, (0.05, 0.2, 0.5)),
    ("orphan_answer_ms", 0.2, (0.5, 2)),
    ("orphan_sweep_ms", 0.2, (1, 5)),
    ("heartbeat_ms", 0.1, (0.1, 0.2)),
    ("heartbeat_idle_ms", 0.15, (0.2, 0.5, 2)),
    ("election_spread_ms", 0.2, (0.2, 1, 4)),
)
"""Settings that follow from others unless they are drawn: share of worlds, multiples of DD."""


PATIENT: Final = 0.7
"""The share of worlds without faults whose time limits are long enough for every latency."""
PATIENT_MS: Final[dict[str, dict[str, int]]] = {
    "quick": {
        "operation_timeout_ms": 20_000,
        "election_timeout_ms": 200,
        "lease_duration_ms": 2_000,
        "lease_grant_ms": 500,
    },
    "real": {
        "operation_timeout_ms": 60_000,
        "election_timeout_ms": 2_000,
        "lease_duration_ms": 10_000,
        "lease_grant_ms": 4_000,
    },
}
"""The least time limits there, by the scale: there every answer that is due comes (I9)."""


def patient(knobs: Knobs, protocol: Table, network: Table) -> None:
    """Raise the time limits of a world without faults, and let it lose no message, now and then."""
    on = knobs.die("patient").chance(PATIENT)
    knobs.tell("patient", "on" if on else OFF)
    if on:
        network.pop("loss", None)
        for key, least_ms in PATIENT_MS[scale_of(protocol["delay_duration_ms"])].items():
            protocol[key] = max(protocol.get(key, 0), least_ms)


LEAST_QUIET_SKEW: Final = 0.5
"""The least CSmax of a quiet world, as a part of DD: as long as a few messages take and longer."""


def quiet(knobs: Knobs, protocol: Table) -> None:
    """Raise CSmax of a quiet world, and its time limit; its partitions are stamped often."""
    delay_ms = protocol["delay_duration_ms"]
    skew_ms = max(protocol["max_clock_skew_ms"], round(LEAST_QUIET_SKEW * delay_ms), 1)
    skew_ms = knobs.fixed("protocol.max_clock_skew_ms", skew_ms, 0)
    protocol["max_clock_skew_ms"] = skew_ms
    protocol["partition_idle_ms"] = min(protocol["partition_idle_ms"], max(delay_ms, 3))
    timeout_ms = max(protocol["operation_timeout_ms"], skew_ms + 3 * delay_ms)
    protocol["operation_timeout_ms"] = timeout_ms
    for key in ("max_clock_skew_ms", "operation_timeout_ms", "partition_idle_ms"):
        knobs.tell(key, protocol[key])


# --- clocks and links ----------------------------------------------------------------------------


MILLION: Final = 1_000_000
DRIFTS: Final = 0.2
"""The share of the spare skew that the drift of all clocks may use up."""


APART: Final = 0.25
"""The share of worlds in which each clock is at one end or the other of what CSmax allows."""


ALONE: Final = 0.6
"""The share of quiet worlds in which one clock is ahead of all others, of a node that may lead."""


def clocks(
    knobs: Knobs,
    nodes: Sequence[str],
    max_clock_skew_ms: int,
    lasts_ms: int,
    *,
    apart_anyhow: bool = False,
) -> Table:
    """The table `[clocks]`: within CSmax for a whole run, now and then beyond; some drift.

    Every clock stays in one band around true time, so that no clock is more than CSmax behind what
    any other has shown before. In some worlds, or `apart_anyhow`, each clock is at an end of it.
    """
    die = knobs.die("skew")
    beyond = die.chance(0.08) and not apart_anyhow
    permille = die.between(1_000, 3_000) if beyond else die.between(0, 900)
    ends = knobs.die("clocks at the ends")
    apart = (ends.chance(APART) or apart_anyhow) and not beyond
    if apart:
        permille = ends.pick((600, 900, 1_000, 1_000))
    knobs.tell("clocks at the ends", "on" if apart else OFF)
    skew_ms = max_clock_skew_ms * permille / 1_000
    knobs.tell("skew_ms", skew_ms)
    knobs.tell("skew beyond CSmax", "on" if beyond else OFF)
    table: Table = {"max_skew_ms": skew_ms}
    if apart:
        signs = ends.some((-1, 1), 2) + [ends.pick((-1, 1)) for _ in nodes[2:]]
        if apart_anyhow and ends.chance(ALONE):
            ahead = ends.below(min(len(nodes), 3))
            signs = [1 if place == ahead else -1 for place in range(len(nodes))]
        table["nodes"] = {
            node: {"offset_ms": sign * skew_ms / 2}
            for node, sign in zip(nodes, signs, strict=False)
        }
    ppm = knobs.perhaps("drift_ppm", 0.3, (20, 100, 200))
    if ppm is not None and not beyond:
        spare_ms = DRIFTS * (max_clock_skew_ms - skew_ms)
        ppm = min(ppm, round(spare_ms * MILLION / lasts_ms / 2 - 0.5))
        knobs.tell("drift_ppm", ppm or OFF)
    if ppm:
        table["drift_ppm"] = {"distribution": "uniform", "low": -ppm, "high": ppm}
    return table


def spare_skew_ms(clocks: Table, max_clock_skew_ms: int) -> float:
    """By how much (ms) all faults together may move clocks: what skew and drift leave of CSmax."""
    return max((1 - DRIFTS) * (max_clock_skew_ms - float(clocks["max_skew_ms"])), 0.0)


def _lognormal(median: float, p99: float) -> Table:
    return {"distribution": "lognormal", "median": median, "p99": p99}


def _exponential(least: float, mean: float) -> Table:
    return {"distribution": "exponential", "min": least, "mean": mean}


LATENCIES: Final[dict[str, dict[str, float | Table]]] = {
    "quick": {
        "0.05": 0.05,
        "0.2": 0.2,
        "lognormal 0.1, 1": _lognormal(0.1, 1),
        "lognormal 0.3, 4": _lognormal(0.3, 4),
        "exponential 0.05, 0.3": _exponential(0.05, 0.3),
        "exponential 0.1, 1": _exponential(0.1, 1),
        "uniform 0 to 0.5": {"distribution": "uniform", "low": 0, "high": 0.5},
    },
    "real": {
        "0.2": 0.2,
        "1": 1,
        "lognormal 1, 8": _lognormal(1, 8),
        "lognormal 3, 40": _lognormal(3, 40),
        "exponential 0.2, 4": _exponential(0.2, 4),
        "exponential 1, 15": _exponential(1, 15),
        "uniform 0 to 5": {"distribution": "uniform", "low": 0, "high": 5},
    },
}
"""By scale and by the name that reports show. Few: each is tabulated once per process."""
FAR: Final = (0.03, 0.06, 0.12)
"""Latencies between nodes that are far from each other, as parts of DD; clients are near theirs."""
OF_NEAR_MS: Final = 0.05
OF_CLIENTS: Final = {
    "quick": ("0.05", "0.2", "exponential 0.05, 0.3"),
    "real": ("0.2", "1", "exponential 0.2, 4"),
}
OF_SLOW_LINKS: Final = {
    "quick": ("exponential 0.1, 1", "lognormal 0.3, 4"),
    "real": ("exponential 1, 15", "lognormal 3, 40"),
}


def network(knobs: Knobs, nodes: Sequence[str], delay_ms: float) -> Table:
    """The table `[network]`: latency by the scale of DD, loss, duplication, reordering."""
    scale = scale_of(delay_ms)
    latencies = LATENCIES[scale]
    table: Table = {
        "latency_ms": latencies[knobs.pick("latency_ms", list(latencies))],
        "client_latency_ms": latencies[knobs.pick("client_latency_ms", OF_CLIENTS[scale])],
    }
    far = knobs.perhaps("latency of DD", 0.2, FAR)
    if far is not None:
        table["latency_ms"] = far * delay_ms
        table["client_latency_ms"] = min(OF_NEAR_MS, far * delay_ms)
    for key, share in (("loss", 0.2), ("duplication", 0.25), ("reordering", 0.3)):
        probability = knobs.perhaps(key, share, (0.001, 0.003, 0.01))
        if probability is not None:
            table[key] = probability
    slow = knobs.perhaps("slow link", 0.2, OF_SLOW_LINKS[scale])
    if slow is not None and len(nodes) > 1:
        ends = knobs.die("slow link ends").some(nodes, 2)
        knobs.tell("slow link", f"{ends[0]} to {ends[1]}, {slow}")
        table["links"] = [{"from": ends[0], "to": ends[1], "latency_ms": latencies[slow]}]
    return table
