"""Frozen records of every number a scenario can set, with unit in the name and range checked.

A record here is a table of the scenario file, key by key. Times are milliseconds, as the file has
them; `ddlsim.plan.plan` turns them into microseconds. What only a scripted scenario has stands in
`ddlsim.scenario.script`.
"""

from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, field

from ddlsim.kernel import rng

FOREVER_MS: Final = 10**10
"""No run lasts longer: four months."""

Ms = Annotated[float, Meta(ge=0, le=FOREVER_MS)]
WholeMs = Annotated[int, Meta(ge=0, le=FOREVER_MS)]
Positive = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0, le=1)]
Text = Annotated[str, Meta(min_length=1)]
Number = Annotated[float, Meta(ge=-FOREVER_MS, le=FOREVER_MS)]


class TableRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; a key that it does not know is an error."""


# --- distributions -------------------------------------------------------------------------------


class Constant(TableRecord, frozen=True, tag_field="distribution", tag="constant"):
    """Always the same."""

    value: Number


class Uniform(TableRecord, frozen=True, tag_field="distribution", tag="uniform"):
    """Anything from `low` to `high`."""

    low: Number
    high: Number


class Normal(TableRecord, frozen=True, tag_field="distribution", tag="normal"):
    """The bell curve, its negative part cut off at zero."""

    mean: Number
    sd: Ms


class Lognormal(TableRecord, frozen=True, tag_field="distribution", tag="lognormal"):
    """Most near the median, one in a hundred beyond `p99`."""

    median: Ms
    p99: Ms


class Exponential(TableRecord, frozen=True, tag_field="distribution", tag="exponential"):
    """Never below `min`, `mean` on average."""

    min: Ms
    mean: Ms


class Empirical(TableRecord, frozen=True, tag_field="distribution", tag="empirical"):
    """What was measured, from a file (`ddlsim.scenario.measured`).

    A file that names links or nodes gives each its own values; `pooled` gives all to each of them.
    """

    file: Text
    pooled: bool = False


Spread = Constant | Uniform | Normal | Lognormal | Exponential
"""A table that says `distribution = "…"`."""


def distribution(number: float | Spread) -> rng.Distribution:
    """What the kernel draws from; `ValueError` where the parameters contradict each other."""
    match number:
        case Constant(value=value):
            return rng.Constant(value)
        case Uniform(low=low, high=high):
            return rng.Uniform(low, high)
        case Normal(mean=mean, sd=sd):
            return rng.Normal(mean, sd)
        case Lognormal(median=median, p99=p99):
            return rng.Lognormal(median, p99)
        case Exponential(min=least, mean=mean):
            return rng.Exponential(least, mean)
        case _:
            return rng.Constant(number)


# --- [strategy], [protocol], [cluster] -----------------------------------------------------------


class NodeProtocol(TableRecord, frozen=True):
    """`[protocol.nodes.n3]`: what may differ from node to node; None takes the cluster's."""

    delay_duration_ms: WholeMs | None = None
    max_clock_skew_ms: WholeMs | None = None
    safe_time_interval_ms: Annotated[int, Meta(ge=1, le=FOREVER_MS)] | None = None
    operation_timeout_ms: WholeMs | None = None
    resend_ms: WholeMs | None = None
    ddl_attempts: Positive | None = None
    lock_retries: Count | None = None
    election_timeout_ms: Positive | None = None
    lease_duration_ms: Positive | None = None
    lease_check_ms: Positive | None = None
    snapshot_entries: Positive | None = None
    partition_idle_ms: Positive | None = None
    tx_timeout_ms: Positive | None = None
    orphan_check_ms: Positive | None = None
    lock_retry_ms: WholeMs | None = None
    laggard_ms: Positive | None = None
    barrier_wait_ms: Positive | None = None
    retry_ms: Positive | None = None
    heartbeat_ms: Positive | None = None
    election_spread_ms: Positive | None = None
    lease_renewal_ms: WholeMs | None = None
    lease_grant_ms: Positive | None = None
    read_resend_ms: Positive | None = None
    orphan_answer_ms: Positive | None = None
    orphan_sweep_ms: Positive | None = None
    metadata_wait_ms: WholeMs | None = None
    metadata_hope_ms: WholeMs | None = None


class Protocol(NodeProtocol, frozen=True):
    """`[protocol]`: the numbers of the protocol, from a preset, key by key, or both."""

    preset: str | None = None
    commit_wait_ms: WholeMs | None = None
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)


PRESETS: Final[dict[str, dict[str, int]]] = {
    "ignite3_defaults": {
        "delay_duration_ms": 500,
        "max_clock_skew_ms": 500,
        "safe_time_interval_ms": 250,
    },
    "ignite3_tests": {
        "delay_duration_ms": 100,
        "max_clock_skew_ms": 7,
        "safe_time_interval_ms": 50,
    },
}
"""Apache Ignite 3 as it is delivered, and as its own tests set it."""

ALWAYS: Final[dict[str, int]] = {
    "operation_timeout_ms": 30_000,
    "commit_wait_ms": 10_000,
    "resend_ms": 200,
    "ddl_attempts": 10,
    "lock_retries": 3,
    "election_timeout_ms": 1_200,
    "lease_duration_ms": 5_000,
    "lease_check_ms": 500,
    "snapshot_entries": 1_000,
    "partition_idle_ms": 1_000,
    "tx_timeout_ms": 30_000,
    "orphan_check_ms": 1_000,
    "lock_retry_ms": 5,
    "laggard_ms": 500,
    "barrier_wait_ms": 500,
}
"""What no document argues about; Apache Ignite 3's numbers, where it has them.

What follows from others where it is not given stands in `ddlsim.model.settings`.
"""


class Cluster(TableRecord, frozen=True):
    """`[cluster]`: how many nodes, which of them vote; `nodes` may list names instead.

    `partitions` and `replicas` are those of tables outside any zone.
    """

    plane: Literal["ignite"] = "ignite"
    nodes: Positive | list[Text] = 3
    voters: Positive | None = None
    partitions: Positive = 1
    replicas: Positive = 1
    leader: str | None = None


# --- [clocks], [network] -------------------------------------------------------------------------


class NodeClock(TableRecord, frozen=True):
    """`[clocks.nodes.n3]`: one node's clock, exactly."""

    offset_ms: Number | None = None
    drift_ppm: Annotated[int, Meta(gt=-1_000_000, le=1_000_000)] | None = None


class Clocks(TableRecord, frozen=True):
    """`[clocks]`: each node's offset from true time; `max_skew_ms` bounds their differences."""

    offset_ms: Number | Constant | Uniform | Empirical | None = None
    drift_ppm: Annotated[float, Meta(gt=-1_000_000, le=1_000_000)] | Constant | Uniform = 0
    max_skew_ms: Ms | Spread | None = None
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)


class Link(TableRecord, frozen=True):
    """`[[network.links]]`: what differs on matching links; later entries win."""

    sender: str | None = field(default=None, name="from")
    to: str | None = None
    kind: str | None = None
    latency_ms: Ms | Spread | Empirical | None = None
    loss: Probability | None = None
    duplication: Probability | None = None
    reordering: Probability | None = None


class Network(TableRecord, frozen=True):
    """`[network]`: how long messages take, and what may happen to them."""

    latency_ms: Ms | Spread | Empirical = 0
    client_latency_ms: Ms | Spread | Empirical = 0
    loss: Probability = 0
    duplication: Probability = 0
    reordering: Probability = 0
    links: list[Link] = field(default_factory=list)


# --- [schema], [[migration]], [run] --------------------------------------------------------------


class Schema(TableRecord, frozen=True):
    """`[schema]`: what exists when the run begins."""

    sql: str | None = None
    file: str | None = None


class Migration(TableRecord, frozen=True):
    """`[[migration]]`: DDL statements of one client, paced by `every_ms`."""

    at_ms: Ms = 0
    node: str | None = None
    client: Text | None = None
    sql: str | None = None
    file: str | None = None
    every_ms: Ms | None = None


class Run(TableRecord, frozen=True):
    """`[run]`: how long new work may begin, and how long the rest may then take."""

    load_ms: Annotated[float, Meta(gt=0, le=FOREVER_MS)] | None = None
    drain_ms: Ms | None = None
