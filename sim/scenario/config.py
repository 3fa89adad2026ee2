"""Frozen records of the tables of a scenario: each number with its unit and bounds.

A record here is a table of the scenario file, key by key. Times are milliseconds, as the file has
them; `ddlsim.plan.plan` turns them into microseconds. What only a scripted scenario has stands in
`ddlsim.scenario.script`.
"""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta, field

from ddlsim.fdb.settings import STORE_SETTINGS
from ddlsim.kernel.rng import Constant, Spread, Uniform
from ddlsim.model.settings import SETTINGS, Setting
from ddlsim.units import FOREVER_MS, Ms, SignedMs

WholeMs = Annotated[int, Meta(ge=0, le=FOREVER_MS)]
Positive = Annotated[int, Meta(ge=1)]
Few = Annotated[int, Meta(ge=1, le=100)]
Probability = Annotated[float, Meta(ge=0, le=1)]
Text = Annotated[str, Meta(min_length=1)]


class TableRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file; an unknown key is an error."""


class Empirical(TableRecord, frozen=True, tag_field="distribution", tag="empirical"):
    """Measured values from a file (`ddlsim.scenario.measured`).

    A file that names links or nodes gives each its own values; `pooled` gives all to each of them.
    """

    file: Text
    pooled: bool = False


# --- [strategy], [protocol], [cluster] -----------------------------------------------------------


def _key(setting: Setting) -> tuple[str, Any, None]:
    """The key of a setting: its bounds and what it means, for checks and schemas."""
    if setting.is_switch:
        return setting.name, Annotated[bool, Meta(description=setting.doc)] | None, None
    bounds = Meta(ge=setting.least, le=setting.most, description=setting.doc)
    return setting.name, Annotated[int, bounds] | None, None


if TYPE_CHECKING:
    NodeProtocol = TableRecord  # its keys are read by name: `given`
else:
    NodeProtocol = msgspec.defstruct(
        "NodeProtocol",
        [_key(each) for each in SETTINGS.values() if each.per_node],
        bases=(TableRecord,),
        frozen=True,
        kw_only=True,
        module=__name__,
    )
    NodeProtocol.__doc__ = "`[protocol.nodes.n3]`: settings of one node; None: the cluster's."


class Protocol(NodeProtocol, frozen=True):
    """`[protocol]`: the settings of all nodes, from a preset, key by key, or both."""

    preset: str | None = None
    commit_wait_ms: WholeMs | None = None
    nodes: dict[str, dict[str, Any]] = field(default_factory=dict)


def given(table: NodeProtocol) -> dict[str, int]:
    """The settings that a table of the file gives, by name."""
    values = {name: getattr(table, name, None) for name in SETTINGS}
    return {name: value for name, value in values.items() if value is not None}


class Cluster(TableRecord, frozen=True):
    """`[cluster]`: number of nodes, or their names, and how many of them vote.

    `partitions` and `replicas` are those of tables outside any zone. Without `plane` it is the
    plane of the design.
    """

    plane: Literal["ignite", "fdb"] | None = None
    nodes: Positive | list[Text] = 3
    voters: Positive | None = None
    partitions: Positive = 1
    replicas: Positive = 1
    leader: str | None = None


class StoreProcesses(TableRecord, frozen=True):
    """How many processes of each role the key-value store has."""

    grvs: Few = 1
    proxies: Few = 1
    resolvers: Few = 1
    logs: Few = 1
    storages: Annotated[int, Meta(ge=1, le=5)] = 3
    replicas: Few = 1


if TYPE_CHECKING:
    Fdb = StoreProcesses
else:
    Fdb = msgspec.defstruct(
        "Fdb",
        [_key(each) for each in STORE_SETTINGS.values()],
        bases=(StoreProcesses,),
        frozen=True,
        kw_only=True,
        module=__name__,
    )
    Fdb.__doc__ = "`[fdb]`: the processes of the key-value store, and its settings."


def store_settings(table: Fdb) -> dict[str, Any]:
    """The settings of the store that a file gives, by name."""
    values = {name: getattr(table, name, None) for name in STORE_SETTINGS}
    return {name: value for name, value in values.items() if value is not None}


# --- [clocks], [network] -------------------------------------------------------------------------


class NodeClock(TableRecord, frozen=True):
    """`[clocks.nodes.n3]`: one node's clock, exactly."""

    offset_ms: SignedMs | None = None
    drift_ppm: Annotated[int, Meta(gt=-1_000_000, le=1_000_000)] | None = None


class Clocks(TableRecord, frozen=True):
    """`[clocks]`: each node's offset from true time; `max_skew_ms` bounds their differences."""

    offset_ms: SignedMs | Constant | Uniform | Empirical | None = None
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


class Pct(TableRecord, frozen=True, tag_field="name", tag="pct"):
    """`schedule = { name = "pct", depth = 3 }`: each link and kind of message has one quantile of
    its latency; `depth` - 1 times a node is demoted to the largest."""

    depth: Annotated[int, Meta(ge=1, le=100)] = 3


class Boundary(TableRecord, frozen=True, tag_field="name", tag="boundary"):
    """`schedule = { name = "boundary", share = 0.3 }`: that share of the messages to nodes arrives
    next to a schema's activation, this plus or minus CSmax, or a lease's end, where the latency
    allows it."""

    share: Probability = 0.3


class Network(TableRecord, frozen=True):
    """`[network]`: latency, loss, duplication and reordering of messages, and their schedule."""

    latency_ms: Ms | Spread | Empirical = 0
    client_latency_ms: Ms | Spread | Empirical = 0
    loss: Probability = 0
    duplication: Probability = 0
    reordering: Probability = 0
    schedule: Pct | Boundary | None = None
    links: list[Link] = field(default_factory=list)


# --- [schema], [[migration]], [run] --------------------------------------------------------------


class Schema(TableRecord, frozen=True):
    """`[schema]`: the DDL that has run before the run begins."""

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


Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Seeds(TableRecord, frozen=True):
    """`[seeds]`: seeds of single parts of a run, in place of the seed of the run.

    `clients`: their programs; `faults`: roles and instants; `clocks`: offsets and drifts;
    `network`: the delays and fates of messages, the spread of timers, and demotions.
    """

    clients: Seed | None = None
    faults: Seed | None = None
    clocks: Seed | None = None
    network: Seed | None = None


class Run(TableRecord, frozen=True):
    """`[run]`: how long new work may begin, and how long it may then take to end."""

    load_ms: Annotated[float, Meta(gt=0, le=FOREVER_MS)] | None = None
    drain_ms: Ms | None = None
