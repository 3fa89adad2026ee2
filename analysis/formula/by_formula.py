"""The closed forms of a sweep's cells; their parameters come from the cells' scenarios.

The scenarios come from the texts in the sweep's provenance. Where these cannot be read, or contain
what the formulas do not model (links with their own delays, loss, nodes with other settings), there
is no closed form, and a figure shows the runs alone.
"""

from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.formula import closed_forms as forms
from ddlsim.analysis.formula import protocol_forms
from ddlsim.analysis.formula.comparison import (
    FAR,
    PARTS,
    cluster_wait,
    ddl_delay_ms,
    heartbeat_ms,
    slack_ms,
)
from ddlsim.analysis.formula.wait_model import COARSE, Commands, Wait
from ddlsim.analysis.sweep import grid
from ddlsim.analysis.sweep.cells import Cell, Cells
from ddlsim.analysis.sweep.sweep_file import read_sweep
from ddlsim.cluster.designs import declared, design, rules_of
from ddlsim.kernel.rng import quantiles
from ddlsim.model.design import DesignHeader
from ddlsim.plan.plan import plan_without_load
from ddlsim.plan.records import Plan
from ddlsim.protocol.strategy import Strategy
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.samples import latency
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.units import US_PER_MS, physical_ms

Array = NDArray[np.float64]
DRAWN: Final = 20_000


class Forms:
    """The parameters of the closed forms for a scenario; times in ms."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.dd, self.cs_max, self.h = (
            scenario.numbers[f"{name}_ms"]
            for name in ("delay_duration", "max_clock_skew", "safe_time_interval")
        )

    @cached_property
    def plan(self) -> Plan:
        """Its nodes and settings, without its load."""
        return plan_without_load(self.scenario)

    @cached_property
    def strategy(self) -> Strategy:
        """The design, of the Ignite plane."""
        return design(self.plan)[0]

    @cached_property
    def design(self) -> DesignHeader:
        """What is declared of the design, with the names of its rules."""
        return declared(self.plan)

    @property
    def simple(self) -> bool:
        """Whether the formulas model everything in the scenario."""
        network = self.scenario.table.network
        return not (network.links or network.loss or self.scenario.node_protocols)

    @property
    def ddl_delay(self) -> int:
        """The least wait of a statement after its stamp: DD + CSmax of A7."""
        return ddl_delay_ms(self.strategy, self.dd, self.cs_max)

    @property
    def slack(self) -> int | None:
        """How far a reader may lag behind Top; None if no operation waits for safe time."""
        return slack_ms(self.strategy, self.dd, self.cs_max)

    @property
    def border(self) -> int | None:
        """The sum of delay and skew from which a design that never waits errs; else None."""
        if not protocol_forms.never_waits(rules_of(self.strategy)):
            return None
        return physical_ms(self.strategy.activation_ts(FAR, self.dd)) - physical_ms(FAR)

    @property
    def waits_for_users(self) -> bool:
        """Whether a statement waits for those that use what it changes, before it is installed."""
        return protocol_forms.waits_for_users(rules_of(self.strategy))

    @cached_property
    def delays(self) -> Array:
        """The delays of a message between nodes, evenly spread over their distribution."""
        return self._spread(self.scenario.table.network.latency_ms)

    @cached_property
    def client_delays(self) -> Array:
        """The delays of a message between a client and a node."""
        return self._spread(self.scenario.table.network.client_latency_ms)

    def _spread(self, number: Any) -> Array:
        found = latency(number, self.scenario.samples, ())
        return np.asarray(quantiles(found), dtype=np.float64) / US_PER_MS

    def _clock(self, node: str) -> Array | None:
        """A few equally likely offsets of a node's clock; None where they are unknown."""
        own = self.scenario.node_clocks.get(node)
        if own is not None and own.offset_ms is not None:
            return np.array([own.offset_ms], dtype=np.float64)
        clocks = self.scenario.table.clocks
        bound = clocks.max_skew_ms
        if isinstance(bound, int | float):
            return np.asarray(bound * (np.array(PARTS) - 0.5))
        if bound is None and isinstance(clocks.offset_ms, int | float | None):
            return np.array([clocks.offset_ms or 0.0], dtype=np.float64)
        return None

    def wait(self, mu: float) -> Wait | None:
        """The wait of a first look-up on any node with `mu` writes per ms, or None."""
        scenario = self.scenario
        known = {node: self._clock(node) for node in scenario.nodes}
        clocks = {node: own.tolist() for node, own in known.items() if own is not None}
        if not self.simple or len(clocks) < len(known):
            return None
        commands = Commands(self.h, mu, heartbeat_ms(self.h, scenario.numbers))
        way = COARSE.cdf(self.delays)
        return cluster_wait(
            COARSE,
            commands,
            scenario.leader,
            scenario.voters,
            scenario.nodes,
            lambda sender, to: way,
            clocks.__getitem__,
        )

    def ddl_latency(self) -> Array | None:
        """Section 6.2: a sample of the latencies of statements sent to a random node.

        Without what a statement waits for before it is installed; None where it is not one update.
        All nodes but the leader are equally far from it; its log's round ends when a majority,
        itself included, has the entry.
        """
        if not self.simple or not protocol_forms.is_one_update(rules_of(self.strategy)):
            return None
        dice = np.random.default_rng(1)
        nodes = len(self.scenario.nodes)
        away = dice.random(DRAWN) < (nodes - 1) / nodes
        to_leader = np.where(away, dice.choice(self.delays, DRAWN), 0.0)
        back = np.where(away, dice.choice(self.delays, DRAWN), 0.0)
        client = dice.choice(self.client_delays, (2, DRAWN)).sum(axis=0)
        others = max(len(self.scenario.voters) - 1, 1)
        trips = np.sort(dice.choice(self.delays, (2, others, DRAWN)).sum(axis=0), axis=0)
        answered = trips[(others + 1) // 2 - 1] if len(self.scenario.voters) > 1 else 0.0
        own = forms.ddl_latency(self.ddl_delay, 0, to_leader=to_leader, replication=answered + back)
        return np.asarray(client + own)


def worlds(cells: Cells) -> dict[int, Forms]:
    """The `Forms` of every cell by its number; empty where the sweep cannot be read again."""
    origin = cells.provenance
    name, text = origin.get("sweep"), origin.get("text")
    if not name or not text:
        return {}
    try:
        scenarios = tuple(
            read(one["text"], one["name"], overrides=one["overrides"])
            for one in origin.get("scenarios", ())
        )
        sweep = read_sweep(text, name, directory=Path(name).parent, scenarios=scenarios or None)
        found = {each.number: each for each in grid.cells(sweep, try_plans=False)}
    except ScenarioError:
        return {}
    known: dict[int, Forms] = {}
    for cell in cells.cells:
        own = found.get(cell.number)
        if own is None or own.parameters != cell.swept:
            return {}
        known[cell.number] = Forms(read(own.text, own.name, overrides=own.overrides))
    return known


def remark(cells: Cells, known: dict[int, Forms]) -> str:
    """The note of a figure; it adds that there are no closed forms where scenarios are unknown."""
    if known or not cells.cells:
        return cells.note
    sweep = cells.provenance.get("sweep", "the sweep")
    return f"{cells.note}\nwithout closed forms: the scenarios of {sweep} cannot be read from here"


def mu(cell: Cell) -> float:
    """The measured rate of metadata writes, per ms."""
    writes = sum(row["meta_writes"] for row in cell.rows)
    simulated_ms = sum(row["simulated_us"] for row in cell.rows) / US_PER_MS
    return float(writes / simulated_ms) if simulated_ms else 0.0


def wait_of(cell: Cell, world: Forms | None) -> tuple[Wait, int] | None:
    """The wait of a first look-up of a cell with its measured mu, and the slack to subtract."""
    if world is None or world.slack is None:
        return None
    model = world.wait(mu(cell))
    return None if model is None else (model, world.slack)
