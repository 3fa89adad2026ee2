"""Internal events on replication, leases, crashes, clocks and faults."""

from ddlsim.history.event import Event


class LeaderElected(Event, frozen=True):
    """A member became leader of its group: `meta`, or `table id/partition`."""

    node: str
    group: str
    term: int


class LeaderSteppedDown(Event, frozen=True):
    """A leader stepped down: a majority did not answer, or there is a newer term."""

    node: str
    group: str
    term: int


class CommandLogged(Event, frozen=True):
    """A command was applied at an index of a group's log, under its leader's stamp.

    Recorded once for each index; again if a node applies something else there.
    """

    node: str
    group: str
    index: int
    term: int
    stamp: int


class EntryLost(Event, frozen=True):
    """A member dropped, for a leader's entry, one that it had committed at an index of the log."""

    node: str
    group: str
    index: int
    term: int
    stamp: int


class AppliedLost(Event, frozen=True):
    """A crash took entries that a node had applied and its disk did not hold yet.

    A leader applies by the disks of others. `index` is the last entry that is left.
    """

    node: str
    group: str
    index: int


class PartDiverged(Event, frozen=True):
    """A part of a node did something else than its model (`cluster/models`); `what` is the first.

    `part` is `locks`, `partition`, `clock`, `member` or `catalog`.
    """

    node: str
    part: str
    what: str


class SnapshotInstalled(Event, frozen=True):
    """A member that lagged behind the compacted log took over the leader's state."""

    node: str
    group: str
    index: int


class LeaseBegan(Event, frozen=True):
    """A node is primary of a partition from `start_ts` on; prolonged, the start is the same."""

    node: str
    group: str
    holder: str
    start_ts: int
    expiration_ts: int


class PartitionSafeTime(Event, frozen=True):
    """A replica has applied everything of its partition up to `ts`."""

    node: str
    group: str
    ts: int


class TxRecovered(Event, frozen=True):
    """A commit partition ended a transaction whose coordinator did not answer, or found its end.

    Or one whose only write, in one phase, was refused though it might be in the log already.
    `outcome` is `aborted`, or `committed` where it was before.
    """

    node: str
    tx: str
    outcome: str


class ClockSet(Event, frozen=True):
    """A node's physical clock is now `offset_us` from true time and drifts by `drift_ppm`."""

    node: str
    offset_us: int
    drift_ppm: int


class NodeCrashed(Event, frozen=True):
    """A node crashed; only its disk and its clock remain."""

    node: str


class NodeRestarted(Event, frozen=True):
    """A node restarted with what its disk held."""

    node: str
    incarnation: int


class FaultBegan(Event, frozen=True):
    """A planned fault began; `nodes` are those that it affects, roles resolved."""

    fault: str
    node: str | None
    nodes: tuple[str, ...] = ()


class FaultHealed(Event, frozen=True):
    """A planned fault was healed, on the nodes where it began."""

    fault: str
    node: str | None
    nodes: tuple[str, ...] = ()


class TrafficDelayed(Event, frozen=True):
    """A fault that has begun delays messages of its nodes by `by_us`; the last ones come late.

    Of one that has struck single messages, when the end of the load heals it: those that are still
    under way come within `by_us`. Messages of a kind keep their order on a link: what is sent after
    the fault has healed waits for what was sent before, up to `by_us`.
    """

    fault: str
    nodes: tuple[str, ...]
    by_us: int


class SettingChanged(Event, frozen=True):
    """A node's setting `key` is now `value` milliseconds, since a fault began or ended."""

    node: str
    key: str
    value: int


class NeverCompleted(Event, frozen=True):
    """A planned operation had no completion when the run ended; `waits_for` names its cause."""

    client: str
    op: str
    waits_for: str


class LeftOpen(Event, frozen=True):
    """When the run ended, a node still held `locks` or `intents` of a transaction.

    On plane `fdb`: the transaction or statement `tx` was still under way there; without a name, it
    was still to go on with statements that it had left when it died.
    """

    node: str
    tx: str
    what: str


class SchemaBehind(Event, frozen=True):
    """When the run ended, a process that renews its schema by a watch still kept update `kept`.

    Another process had read update `newest`. A watch of which nothing comes is armed again after
    `again_ms` at most.
    """

    node: str
    kept: int
    newest: int
    again_ms: int


class StepMissed(Event, frozen=True):
    """A scripted step did not end as its `expect` says; `line` is its place in the scenario."""

    step: str
    line: int
    expected: str
    got: str


class NothingMatched(Event, frozen=True):
    """A hold, a pause or a fault of the scenario met nothing in this run; `what` names it."""

    what: str


class MessageSent(Event, frozen=True):
    """Trace: a message left a node; `label` tells it from others of its kind on the link."""

    sender: str
    to: str
    kind: str
    label: int


class MessageDelivered(Event, frozen=True):
    """Trace: a message arrived."""

    sender: str
    to: str
    kind: str
    label: int
    sent_us: int


WorldEvent = (
    LeaderElected
    | LeaderSteppedDown
    | CommandLogged
    | EntryLost
    | AppliedLost
    | PartDiverged
    | SnapshotInstalled
    | LeaseBegan
    | PartitionSafeTime
    | TxRecovered
    | ClockSet
    | NodeCrashed
    | NodeRestarted
    | FaultBegan
    | FaultHealed
    | TrafficDelayed
    | SettingChanged
    | NeverCompleted
    | LeftOpen
    | SchemaBehind
    | StepMissed
    | NothingMatched
    | MessageSent
    | MessageDelivered
)
"""Every event of this module."""
