"""The state of nodes before and after each step of a picture.

Of each node: its physical clock, its schema safe time, the versions of the picture's tables in
force by that clock and by what it has applied, the locks that it holds, and the partitions whose
primary it is. A lock lasts from the operation to the stored outcome of its transaction: the history
does not record its release.

Where transactions take no locks, and a process of the layer is the only one that knows what it has
read of the schema: its clock, and its open transactions with the versions that they use.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ddlsim.checkers.assumptions import Clocks
from ddlsim.checkers.case.case import Case
from ddlsim.cli.picture.steps import Step, Steps
from ddlsim.history.events import (
    AnyEvent,
    Enlisted,
    ReadExecuted,
    SafeTimeAdvanced,
    TxAborted,
    TxCommitted,
    UpdateApplied,
    WriteExecuted,
)
from ddlsim.history.world_events import LeaseBegan, NodeCrashed, NodeRestarted
from ddlsim.units import US_PER_MS, Timestamp, physical_ms, show

COLUMNS: Final = ("clock", "safe time", "in force", "locks", "primary of")
LAYERED: Final = ("clock", "open transactions")
MOST_NAMED: Final = 4
"""So many tables, locks and leases of a node are named."""
NOTHING: Final = "-"
State = dict[tuple[str, str], str]
"""A text for each node and column."""


def columns_of(case: Case) -> tuple[str, ...]:
    """The columns that a node has."""
    return LAYERED if case.is_layered else COLUMNS


class NodeStates:
    """The state of the cluster, brought forward event by event."""

    def __init__(self, case: Case, nodes: Sequence[str], tables: Sequence[int]) -> None:
        self._case = case
        self._clocks = case.once(Clocks)
        self._nodes = nodes
        self._tables = tables
        self._safe_ts: dict[str, int] = {}  # what a restarted node records again
        self._applied: dict[str, dict[int, None]] = {}
        self._dead: dict[str, None] = {}
        self._locks: dict[str, dict[tuple[str, str], None]] = {}
        self._leases: dict[str, LeaseBegan] = {}

    def after(self, event: AnyEvent) -> None:
        """Take an event into account."""
        match event:
            case SafeTimeAdvanced():
                self._safe_ts[event.node] = event.safe_ts
            case UpdateApplied():
                self._applied.setdefault(event.node, {})[event.catalog_version] = None
            case Enlisted() if self._case.is_layered:
                uses = event.tx, f"{event.name} v{event.version}"
                self._locks.setdefault(event.node, {})[uses] = None
            case ReadExecuted() | WriteExecuted() if not self._case.is_layered:
                self._lock(event)
            case TxCommitted() | TxAborted():
                self._release(event.tx)
            case LeaseBegan():
                self._leases[event.group] = event
            case NodeCrashed():
                self._dead[event.node] = None
                for of_node in (self._locks, self._applied, self._safe_ts):
                    of_node.pop(event.node, None)
            case NodeRestarted():
                self._dead.pop(event.node, None)

    def _release(self, tx: str) -> None:
        for node, held in self._locks.items():
            self._locks[node] = {lock: None for lock in held if lock[0] != tx}

    def _lock(self, event: ReadExecuted | WriteExecuted) -> None:
        tx = self._case.transactions.get(event.tx)
        if tx is None or tx.read_ts is not None:
            return
        name = self._case.schemas.name(event.object_id, event.version)
        keys = [event.key] if isinstance(event, WriteExecuted) else [r.key for r in event.rows]
        if isinstance(event, ReadExecuted) and event.predicate:
            keys = ["*"]
        kind = "X" if isinstance(event, WriteExecuted) else "S"
        for key in keys:
            self._locks.setdefault(event.node, {})[event.tx, f"{kind} {name}[{key}]"] = None

    def at(self, at_us: int) -> State:
        """The state at an instant, after the events so far."""
        offsets = self._clocks.offsets(at_us)
        found: State = {}
        for node in self._nodes:
            clock_us = at_us + offsets.get(node, 0)
            locks = [f"{tx} {lock}" for tx, lock in self._locks.get(node, ())]
            safe = self._safe_ts.get(node)
            clock = f"{clock_us / US_PER_MS:.3f}"
            texts: tuple[str, ...] = (clock, _newest(locks))
            if not self._case.is_layered:
                texts = (
                    clock,
                    NOTHING if safe is None else show(safe),
                    self._in_force(node, clock_us // US_PER_MS),
                    _newest(locks),
                    _named(list(self._led(node))),
                )
            for column, text in zip(columns_of(self._case), texts, strict=True):
                found[node, column] = "dead" if node in self._dead and column != "clock" else text
        return found

    def _in_force(self, node: str, clock_ms: int) -> str:
        """The version of each table in the catalog of the largest Tu that the node has reached."""
        applied, schemas = self._applied.get(node, {}), self._case.schemas
        reached = [
            (one.activation_ts, one.catalog_version)
            for _, one in schemas.updates
            if one.op is None or one.catalog_version in applied
            if physical_ms(Timestamp(one.activation_ts)) <= clock_ms
        ]
        _, in_force = max(reached, default=(0, 0))
        held = (schemas.held(table, in_force) for table in self._tables)
        return _named(
            [
                f"{one.name} {'dropped' if one.definition is None else f'v{one.version}'}"
                for one in held
                if one is not None
            ]
        )

    def _led(self, node: str) -> Iterator[str]:
        for group, lease in self._leases.items():
            table = group.partition("/")[0]
            if lease.holder == node and table.isdigit() and int(table) in self._tables:
                yield f"{self._case.schemas.group(group)} until {show(lease.expiration_ts)}"


def _named(texts: Sequence[str]) -> str:
    more = [f"{len(texts) - MOST_NAMED} more"] if len(texts) > MOST_NAMED else []
    return ", ".join([*texts[:MOST_NAMED], *more]) or NOTHING


def _newest(texts: Sequence[str]) -> str:
    """What came last, so that a step that adds one shows which."""
    left = len(texts) - MOST_NAMED
    return ", ".join([*([f"{left} earlier"] if left > 0 else []), *texts[-MOST_NAMED:]]) or NOTHING


def states(
    case: Case, steps: Steps, shown: Sequence[Step], nodes: Sequence[str], tables: Sequence[int]
) -> Iterator[tuple[State, State]]:
    """For each of these steps, in order, the state before and after it."""
    now, at = NodeStates(case, nodes, tables), 0
    for step in shown:
        for event in steps.events[at : step.first]:
            now.after(event)
        before = now.at(step.at_us)
        for event in steps.events[step.first : step.last + 1]:
            now.after(event)
        yield before, now.at(step.at_us)
        at = step.last + 1
