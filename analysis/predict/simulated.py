"""The same quantities from the simulator, at calibrated values.

One server and clients beside it. Half of the transactions pause between their two or three
operations. Pauses are set so that what is left of a hold at any time is as long on average, and a
table held for the same share of time, as in the calm recording. A run is read like a recording.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ddlsim.analysis.predict.calibrated import Calibrated
from ddlsim.analysis.predict.measured import of_windows, windows
from ddlsim.analysis.predict.recorded import LOCK, Recorded, Sent, Tx
from ddlsim.analysis.stats.intervals import Array, mean_interval
from ddlsim.cluster.run import run
from ddlsim.history.events import Failed, Invoked, Ok, Unknown
from ddlsim.history.history import History
from ddlsim.history.recording import Recording
from ddlsim.layer.design import LayerDesign
from ddlsim.model.reasons import Reason
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
from ddlsim.strategies.base import DESIGNS
from ddlsim.units import US_PER_MS

STATEMENTS: Final = 12
"""Statements of DDL in a run."""
FITS: Final = 3
"""How often the pauses are corrected."""
BEFORE_MS: Final = 200
MOST_MS: Final = 20_000
LATENCIES: Final = ("ddl_latency_mean", "ddl_latency_p50", "ddl_latency_p95")
"""What the simulator's DDL, which executes at once, lacks: the measured execution is added."""
WAITS: Final = (Reason.LOCK_TIMEOUT.name, Reason.LOCK_CONFLICT.name)
PROTOCOL: Final = """\
[protocol]
delay_duration_ms = 2
max_clock_skew_ms = 0
safe_time_interval_ms = 1
retry_ms = 1
"""
"""So that no operation waits for schema safe time, and a statement of DDL for hardly anything."""
Triple = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class World:
    """A load for the simulator: means of pauses in ms."""

    strategy: str
    clients: int
    tables: int
    take: float
    gap: float
    think: float
    lock_ms: float
    every_ms: float

    @property
    def scenario(self) -> str:
        """The scenario's text; transactions go on until the last statement has its answer."""
        load = BEFORE_MS + STATEMENTS * self.every_ms
        operations = max(round(3 * load / (self.gap + self.think + self.take)), 20)
        tables = "; ".join(
            f"CREATE TABLE t{n} (id INT PRIMARY KEY, v INT)" for n in range(self.tables)
        )
        statements = "; ".join(
            f"ALTER TABLE t{n % self.tables} ADD COLUMN c{n} INT" for n in range(STATEMENTS)
        )
        return f"""\
title = "tune --from: {self.strategy}"
source = "a recording"
{self._plane}
[run]
load_ms = {round(load)}
drain_ms = 60_000
[schema]
sql = "{tables}"
[[workload]]
name = "mixed"
clients = {self.clients}
operations = {operations}
transaction_operations = [2, 3]
transaction_tables = [1, {min(self.tables, 3)}]
pause_ms = [0, {2 * self.think:.3f}]
gap_ms = 0
long = 0.5
long_operations = [2, 3]
long_gap_ms = [0, {2 * self.gap:.3f}]
implicit = 0.15
rollback = 0
fresh = 0
session = 0
retries = 0
select = 0
scan = 0
delete = 0
keys = 100_000
[[migration]]
node = "n1"
at_ms = {BEFORE_MS}
every_ms = {self.every_ms:.3f}
sql = "{statements}"
"""

    @property
    def _plane(self) -> str:
        """The design on its plane: one server, and messages of which a statement takes several."""
        delay = self.take / 6
        text = f"""\
[network]
latency_ms = {delay / 2:.3f}
client_latency_ms = {delay:.3f}
[strategy]
name = "{self.strategy}"
"""
        if isinstance(DESIGNS.get(self.strategy), LayerDesign):
            limit = f"lock_timeout_ms = {round(self.lock_ms)}\npoll_ms = 1\n"
            return f'{text}{limit}[cluster]\nplane = "fdb"\nnodes = 1'
        return f"{text}{PROTOCOL}[cluster]\nnodes = 1"


def simulate(
    strategy: str, known: Calibrated, clients: int, lock_ms: float, seeds: range
) -> dict[str, Triple]:
    """Each quantity that the simulator has: its mean over seeds, with Student's interval."""
    take = float(np.median(known.takes))
    left, used = _left(known.holds), known.used
    every = 10 * left + 40.0
    world = _fitted(
        World(strategy, clients, known.tables, take, left, 1.0, lock_ms, every), left, used
    )
    alone = _executes(world)
    found = []
    for seed in seeds:
        played = _played(world, seed)
        found.append(of_windows(windows(played, take), alone))
    more = float(known.executes.mean()) - alone
    return {
        name: _over_seeds([one[name] + more * (name in LATENCIES) for one in found])
        for name in found[0]
    }


def _over_seeds(values: list[float]) -> Triple:
    low, high = mean_interval(values)
    mean = float(np.mean(values))
    return mean, max(float(low), 0.0), float(high)


def _left(holds: Array) -> float:
    """How long holds go on from any time in one, on average."""
    return float((holds**2).mean() / holds.mean() / 2)


def _fitted(world: World, left: float, used: float) -> World:
    """The pauses with which holds go on for so long, and take so large a share of a client's time.

    Calm runs at two clients tell what the pauses come to.
    """
    for _ in range(FITS):
        calm = _played(replace(world, clients=2, every_ms=200.0), 0, ddl=False)
        holds = np.array([until - since for tx in calm.clients for _, since, until in tx.holds])
        low, high = calm.span
        share = float(holds.sum()) / ((high - low) * 2 * world.tables)
        spans = float(np.mean([tx.ended - tx.began for tx in calm.clients]))
        cycle = spans + world.think
        world = replace(
            world,
            gap=max(world.gap * left / _left(holds), 0.05),
            think=max(cycle * share / used - spans, 0.0),
        )
    return world


def _executes(world: World) -> float:
    """What a statement takes where nothing else is done."""
    quiet = _played(replace(world, clients=1, think=10 * MOST_MS), 0)
    return min(tx.ddl.took for tx in quiet.changes if tx.ddl is not None)


def _played(world: World, seed: int, *, ddl: bool = True) -> Recorded:
    text = world.scenario
    if not ddl:
        text = text[: text.index("[[migration]]")]
    history = run(plan(read(text, f"tune-{world.strategy}"), seed))
    return recorded_of(history, world)


def recorded_of(history: History, world: World) -> Recorded:
    """A run as a recording of its clients."""
    clients: list[Tx] = []
    changes: list[Tx] = []
    for tx in sorted(_transactions(history.events), key=lambda tx: tx.ended):
        (changes if tx.ddl is not None else clients).append(tx)
    names = tuple(f"t{n}" for n in range(world.tables))
    head = Recording(
        1, "ddlsim", "simulator", "", "", {}, "", "", "", "", "mixed", 0, world.clients,
        1_000 / world.every_ms, prepared=False, copies=False, tables=names,
    )  # fmt: skip
    return Recorded("", head, clients, changes)


def _transactions(events: Iterable[object]) -> Iterator[Tx]:
    asked: dict[str, Invoked] = {}
    open_: dict[str, Tx] = {}
    numbers: dict[str, int] = {}
    for event in events:
        if isinstance(event, Invoked):
            asked[event.op] = event
            name = event.tx or event.op
            if name not in open_:
                number = numbers.setdefault(event.client, len(numbers))
                open_[name] = Tx(number, event.at_us / US_PER_MS)
        elif isinstance(event, Ok | Failed | Unknown) and event.op in asked:
            request = asked.pop(event.op)
            name = request.tx or request.op
            tx = open_.get(name)
            if tx is None:
                continue
            now = event.at_us / US_PER_MS
            reason = "" if isinstance(event, Ok) else event.reason
            _add(tx, request, now, timed_out=reason in WAITS)
            if reason or request.tx is None or request.kind in {"commit", "rollback"}:
                tx.ended, tx.outcome = now, "fail" if reason else "ok"
                tx.why = LOCK if reason in WAITS else reason
                yield open_.pop(name)


def _add(tx: Tx, request: Invoked, now: float, *, timed_out: bool) -> None:
    ddl = request.kind == "ddl"
    table = request.table
    if ddl and request.sql:
        table = request.sql.split()[2]
    if table is None:
        return
    first = all(one.table != table for one in tx.sent)
    tx.sent.append(Sent(table, request.at_us / US_PER_MS, now, ddl, first, timed_out))
