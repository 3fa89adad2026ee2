"""A plan: everything that one run does, with all random choices made.

`ddlsim.plan.plan` makes it from a scenario and a seed; `ddlsim.cluster.run` carries it out. All
times are simulated microseconds from the start of the run; settings are milliseconds and counts.
"""

from typing import Any

from msgspec import field

from ddlsim.kernel.rng import Distribution
from ddlsim.model.programs import Program, Step
from ddlsim.model.records import Record
from ddlsim.units import Micros


class NodePlan(Record, frozen=True):
    """A node: whether it votes in the meta storage group, its settings and its clock."""

    name: str
    voter: bool
    settings: dict[str, int]
    clock_offset_us: int
    clock_drift_ppm: int


class StorePlan(Record, frozen=True):
    """The key-value store under a layer: its processes by role and name, and its settings."""

    processes: tuple[tuple[str, str], ...]
    replicas: int
    settings: dict[str, Any]


class ClockStep(Record, frozen=True):
    """At `at_us` a node's physical clock gets an absolute offset, a new drift, or both."""

    node: str
    at_us: Micros
    offset_us: int | None
    drift_ppm: int | None


class LinkPlan(Record, frozen=True):
    """Latency and misbehaviour of matching links; None matches all; later entries win.

    None keeps the number of earlier entries; 0 means that nothing of the kind happens.
    """

    sender: str | None
    to: str | None
    kind: str | None
    latency: Distribution | None
    loss: float | None = None
    duplication: float | None = None
    reordering: float | None = None


class Demotion(Record, frozen=True):
    """For a while the messages that a node sends take the largest latency of their links."""

    node: str
    from_us: Micros
    until_us: Micros


class PctPlan(Record, frozen=True, tag="pct"):
    """One quantile of the latency for each link and kind of message, and demotions of nodes."""

    demotions: tuple[Demotion, ...]


class BoundaryPlan(Record, frozen=True, tag="boundary"):
    """A share of the messages to nodes arrives next to an instant that matters to the protocol."""

    share: float


class HoldPlan(Record, frozen=True):
    """Hold messages of a link and kind from `from_us` until `until_us`, or until an event.

    At most so many `messages` of them, from the `nth` on; those that are `lost` are not delivered
    at all.
    """

    sender: str | None
    to: str | None
    kind: str | None
    from_us: Micros
    until_us: Micros | None
    until: str | None
    label: str | None
    messages: int | None = None
    nth: int = 1
    lost: bool = False


class ApplyPlan(Record, frozen=True):
    """Slow application of the meta storage on one node: at stage `log`, `catalog` or `listener`."""

    node: str
    stage: str
    delay_us: Micros


class TickPlan(Record, frozen=True):
    """An idle safe-time command at this instant."""

    at_us: Micros


class Redraw(Record, frozen=True):
    """Later than `after_us` the run draws by another network seed, as another run would: delays and
    fates of the messages that are sent, and the spans that hosts draw.
    """

    after_us: Micros
    network_seed: int


class LeaderPlan(Record, frozen=True):
    """The leader of `meta`, or primary of a partition (`t/0`); `at_us` 0: from the start."""

    group: str
    node: str
    at_us: Micros


class PausePlan(Record, frozen=True):
    """A task of the node waits at a named point of the protocol until an event or an instant."""

    node: str
    point: str
    until: str | None
    until_us: Micros | None
    tx: str | None = None


class MomentPlan(Record, frozen=True):
    """The `nth` time that something happens which fits: on `node`, in `tx`, in a partition of
    `table`, with the values of `where` in its fields.

    `name` is one of `ddlsim.scenario.moments`; None is the moment at which the fault began. `at` is
    a timestamp of it: what waits for the moment also waits until true time is there. `plus_us`
    later still (earlier, if negative) it goes on.
    """

    name: str | None
    nth: int = 1
    node: str | None = None
    tx: str | None = None
    table: str | None = None
    where: dict[str, Any] = field(default_factory=dict)
    at: str | None = None
    plus_us: int = 0


class FaultPlan(Record, frozen=True):
    """A planned fault: the plug-in's name, its fields, and when it begins and heals.

    It begins at `from_us`, or at the moment `when`, of which only what happens since `from_us`
    counts. It heals at `until_us`, `for_us` after a moment at which it began, or at the moment
    `until`; without any of them when the load ends.
    """

    name: str
    fields: dict[str, Any]
    from_us: Micros
    until_us: Micros | None
    for_us: Micros | None = None
    when: MomentPlan | None = None
    until: MomentPlan | None = None


class Plan(Record, frozen=True):
    """Everything that one run does.

    At `load_until_us` no new work is begun any more and faults are healed; what has not completed
    `drain_us` later counts as stuck. With `models` the parts of nodes are compared with models.
    `store` is there on the plane of a key-value store alone.
    """

    scenario: str
    scenario_text: str
    overrides: dict[str, Any]
    seed: int
    network_seed: int
    strategy: str
    strategy_fields: dict[str, Any]
    mutant: str | None
    expect: Any
    reaches: tuple[str, ...]
    nodes: tuple[NodePlan, ...]
    cluster_settings: dict[str, int]
    meta_leader: str
    partitions: int
    replicas: int
    schema_sql: str
    idle_ticks: bool
    programs: tuple[Program, ...]
    steps: tuple[Step, ...]
    links: tuple[LinkPlan, ...]
    clock_steps: tuple[ClockStep, ...]
    holds: tuple[HoldPlan, ...]
    applies: tuple[ApplyPlan, ...]
    ticks: tuple[TickPlan, ...]
    leaders: tuple[LeaderPlan, ...]
    pauses: tuple[PausePlan, ...]
    faults: tuple[FaultPlan, ...]
    load_until_us: Micros
    drain_us: Micros
    commit_wait_us: Micros
    trace: bool = False
    recording: bool = True
    models: bool = False
    strict: bool = False
    all_claims: bool = False
    never_reaches: tuple[str, ...] = ()
    schedule: PctPlan | BoundaryPlan | None = None
    redraw: Redraw | None = None
    store: StorePlan | None = None
