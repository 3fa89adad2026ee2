"""The knobs of a swarm: each is on or off in a scenario, drawn from a random stream of its own.

The value of one knob does not change that of any other, so that a new knob leaves all scenarios as
they were but for itself. `drawn` is what reports show, knob by knob.
"""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from ddlsim.kernel.rng import Streams
from ddlsim.workload.base import Die

T = TypeVar("T")
Table = dict[str, Any]

OFF: Final = "off"


class Knobs:
    """The random streams of one seed, and the values drawn."""

    def __init__(self, seed: int) -> None:
        self._streams = Streams(seed)
        self.drawn: dict[str, Any] = {}

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

    def tell(self, knob: str, value: Any) -> None:
        """Record the value of a knob that was drawn elsewhere."""
        self.drawn[knob] = value


# --- the cluster ---------------------------------------------------------------------------------


def cluster(knobs: Knobs) -> Table:
    """The table `[cluster]`: numbers of nodes, voters, partitions and replicas."""
    nodes = knobs.pick("nodes", (3, 3, 4, 5, 5, 6, 7))
    return {
        "nodes": nodes,
        "voters": knobs.pick("voters", (3, 5) if nodes >= 5 else (3,)),
        "partitions": knobs.pick("partitions", (1, 1, 2, 3)),
        "replicas": knobs.pick("replicas", (1, 1, 3)),
    }


# --- the protocol --------------------------------------------------------------------------------

DELAYS_MS: Final = (20, 50, 60, 100, 100, 200, 500)
SKEWS_MS: Final = (7, 7, 7, 20, 50, 100, 500)
INTERVALS_MS: Final = (10, 50, 50, 100, 250)
TIMEOUTS_MS: Final = (500, 800, 1_200, 2_000)
DDL_MARGIN_MS: Final = 400
"""The time limit of DDL is at least this much above DD + CSmax, so that some are acknowledged."""


def protocol(knobs: Knobs, nodes: Sequence[str]) -> Table:
    """The table `[protocol]`: DD, CSmax, H and time limits; now and then one node's own DD."""
    delay_ms = knobs.pick("delay_duration_ms", DELAYS_MS)
    skew_ms = knobs.pick("max_clock_skew_ms", SKEWS_MS)
    least_ms = delay_ms + skew_ms + DDL_MARGIN_MS
    timeout_ms = max(knobs.die("operation_timeout_ms").pick(TIMEOUTS_MS), least_ms)
    knobs.tell("operation_timeout_ms", timeout_ms)
    table: Table = {
        "delay_duration_ms": delay_ms,
        "max_clock_skew_ms": skew_ms,
        "safe_time_interval_ms": knobs.pick("safe_time_interval_ms", INTERVALS_MS),
        "operation_timeout_ms": timeout_ms,
        "commit_wait_ms": 1_000,
        "resend_ms": knobs.pick("resend_ms", (50, 100, 200)),
    }
    for key, choices in QUICK.items():
        table[key] = knobs.pick(key, choices)
    own = knobs.perhaps("a node's own DD", 0.2, (delay_ms // 2, delay_ms // 4))
    if own is not None:
        node = knobs.die("whose own DD").pick(nodes)
        knobs.tell("a node's own DD", f"{own} on {node}")
        table["nodes"] = {node: {"delay_duration_ms": own}}
    return table


QUICK: Final[dict[str, tuple[int, ...]]] = {
    "election_timeout_ms": (150, 300, 600),
    "lease_duration_ms": (500, 1_000, 2_000),
    "lease_check_ms": (50, 100, 250),
    "snapshot_entries": (10, 50, 1_000),
}
"""Short enough that elections, lost leases and snapshots happen in a few simulated seconds."""


# --- clocks and links ----------------------------------------------------------------------------


MILLION: Final = 1_000_000
DRIFTS: Final = 0.2
"""The share of the spare skew that the drift of all clocks may use up."""


def clocks(knobs: Knobs, max_clock_skew_ms: int, lasts_ms: int) -> Table:
    """The table `[clocks]`: within CSmax for a whole run, now and then beyond; some drift.

    Every clock stays in one band around true time, so that no clock is more than CSmax behind what
    any other has shown before.
    """
    die = knobs.die("skew")
    beyond = die.chance(0.08)
    permille = die.between(1_000, 3_000) if beyond else die.between(0, 900)
    skew_ms = max_clock_skew_ms * permille / 1_000
    knobs.tell("skew_ms", skew_ms)
    knobs.tell("skew beyond CSmax", "on" if beyond else OFF)
    table: Table = {"max_skew_ms": skew_ms}
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


LATENCIES: Final[dict[str, float | Table]] = {
    "0.2": 0.2,
    "1": 1,
    "lognormal 1, 8": _lognormal(1, 8),
    "lognormal 3, 120": _lognormal(3, 120),
    "exponential 0.2, 4": _exponential(0.2, 4),
    "exponential 1, 15": _exponential(1, 15),
    "uniform 0 to 5": {"distribution": "uniform", "low": 0, "high": 5},
}
"""By the name that reports show. Only a few, because each is tabulated once per process."""


def network(knobs: Knobs, nodes: Sequence[str]) -> Table:
    """The table `[network]`: latency, loss, duplication, reordering."""
    table: Table = {
        "latency_ms": LATENCIES[knobs.pick("latency_ms", list(LATENCIES))],
        "client_latency_ms": LATENCIES[
            knobs.pick("client_latency_ms", ("0.2", "1", "exponential 0.2, 4"))
        ],
    }
    for key, share in (("loss", 0.25), ("duplication", 0.25), ("reordering", 0.3)):
        probability = knobs.perhaps(key, share, (0.002, 0.01, 0.05))
        if probability is not None:
            table[key] = probability
    slow = knobs.perhaps("slow link", 0.2, ("exponential 1, 15", "lognormal 3, 120"))
    if slow is not None and len(nodes) > 1:
        ends = knobs.die("slow link ends").some(nodes, 2)
        knobs.tell("slow link", f"{ends[0]} to {ends[1]}, {slow}")
        table["links"] = [{"from": ends[0], "to": ends[1], "latency_ms": LATENCIES[slow]}]
    return table
