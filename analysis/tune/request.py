"""The input of `tune`: measurements, goals, load, settings, and what follows from the design."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from ddlsim.analysis.formula.comparison import ddl_delay_ms, slack_ms
from ddlsim.analysis.formula.protocol_forms import NEWEST, never_waits
from ddlsim.analysis.formula.wait_model import Wait
from ddlsim.analysis.tune.cells import CLIENT_MS, Load, Setting
from ddlsim.analysis.tune.goals import RATE, Goal, TuneError, read_goal
from ddlsim.analysis.tune.skew import ClockBound, clock_bound
from ddlsim.analysis.tune.world import World
from ddlsim.cluster.designs import rules_of
from ddlsim.protocol.strategy import Strategy
from ddlsim.strategies.base import STRATEGIES

LADDER_MS: Final = (500, 250, 100, 50, 25, 10)
"""Idle intervals to choose from, in ms; those above the present one are left out."""
LEASES_PER_MS: Final = 1 / 3_000
"""One command prolongs the leases of all partitions every three seconds."""
DEFAULT_WAIT: Final = read_goal("dml_wait_p99<=1ms")
LOOK_UPS: Final = 4
"""The look-ups of one operation that may wait: at enlistment and arrival, after its locks, and, of
an implicit transaction, at commit."""


Wish = tuple[tuple[str, int], ...]
"""Fields of a setting to price; the others are as recommended."""


@dataclass(frozen=True)
class Chosen:
    """Phrases for how the voters and the leader were chosen."""

    voters: str = "the first by name"
    leader: str = "the first by name"


@dataclass(frozen=True)
class Request:
    """Everything that the advice depends on."""

    world: World
    texts: dict[str, str]
    goals: tuple[Goal, ...]
    strategy: str
    present: Setting
    ddl_rate: float
    load: Load
    margin: float
    step: int
    seeds: range
    wishes: tuple[Wish, ...] = ()
    chosen: Chosen = Chosen()
    loads: tuple[str, ...] = ()

    @cached_property
    def design(self) -> Strategy:
        """The strategy of this name."""
        return STRATEGIES.get(self.strategy)

    @cached_property
    def clocks(self) -> ClockBound | None:
        """The recommended CSmax; None where no clock was measured."""
        return clock_bound(self.world, self.margin)

    @property
    def cs_max(self) -> int:
        """CSmax of all runs but those of the present setting."""
        return self.present.cs_max if self.clocks is None else self.clocks.cs_max_ms

    @property
    def waits(self) -> tuple[Goal, ...]:
        """The goals that a larger DD serves; at least one."""
        own = tuple(goal for goal in self.goals if goal.of not in {RATE, "ddl_latency"})
        return own or (DEFAULT_WAIT,)

    @property
    def latencies(self) -> tuple[Goal, ...]:
        """The goals that a smaller DD serves."""
        return tuple(goal for goal in self.goals if goal.of == "ddl_latency")

    @property
    def aborts(self) -> Goal | None:
        """The goal of the abort rate, which DD does not change."""
        return next((goal for goal in self.goals if goal.metric == RATE), None)

    @property
    def mu(self) -> float:
        """The assumed rate of metadata writes per ms, before any run."""
        return LEASES_PER_MS + self.ddl_rate / 1_000

    @cached_property
    def uses_dd(self) -> bool:
        """Whether readers wait less with a larger DD; raises `TuneError` if none waits for it."""
        slack = [slack_ms(self.design, dd, self.cs_max) for dd in (0, 1_000)]
        if slack[0] is None:
            what = _untuned(rules_of(self.design))
            remedy = "take a design that waits for safe time"
            raise TuneError(f"--strategy {self.strategy} {what}; {remedy}")
        return slack[0] != slack[1]

    def slack(self, dd: int, cs_max: int | None = None) -> int:
        """How far a reader may lag behind Top, in ms."""
        found = slack_ms(self.design, dd, self.cs_max if cs_max is None else cs_max)
        return found or 0

    def ddl_delay(self, dd: int, cs_max: int | None = None) -> int:
        """The least wait of a statement after its stamp, in ms."""
        return ddl_delay_ms(self.design, dd, self.cs_max if cs_max is None else cs_max)

    @cached_property
    def overhead_ms(self) -> float:
        """The rest of a statement's latency in ms: messages to the leader and of the client."""
        world = self.world
        ways = [world.sample(node, world.leader) for node in world.nodes if node != world.leader]
        return float(np.quantile(np.concatenate(ways), 0.99)) + 2 * CLIENT_MS if ways else 1.0

    def needed(self, wait: Wait) -> tuple[float, float]:
        """The DDs between which the goals of waits are first met, by formula."""
        low = high = 0.0
        for goal in self.waits:
            if goal.of == "dml_latency":
                continue  # no formula; the runs decide
            if goal.share is None:
                ends = _dd_for_mean(wait, goal.limit)
            else:
                ends = (
                    wait.dd_for(goal.share, goal.limit).unordered,
                    wait.dd_for(1 - (1 - goal.share) / LOOK_UPS, goal.limit).ordered,
                )
            low, high = max(low, ends[0]), max(high, ends[1])
        return low, high

    def intervals(self) -> tuple[int, ...]:
        """The idle intervals to consider, the longest first."""
        shorter = [h for h in LADDER_MS if h < self.present.h]
        return (self.present.h, *shorter)


def _untuned(rules: Mapping[str, str]) -> str:
    """Why no wait of a design tells how large DD must be."""
    if not never_waits(rules):
        return "waits for something else than safe time, so no DD shortens its waits"
    if rules["resolve_schema"] == NEWEST:
        return "never waits and uses what has arrived, so its look-ups have no use for DD"
    return "never waits, so no wait tells how large DD must be: only a bound on every delay"


def _dd_for_mean(wait: Wait, limit: float) -> tuple[float, float]:
    """The least DD with which the mean wait is at most the limit."""
    ends = []
    for name in ("unordered", "ordered"):
        low, high = 0.0, float(wait.times[-1])
        while high - low > 0.5:
            middle = (low + high) / 2
            if getattr(wait.mean(middle), name) > limit:
                low = middle
            else:
                high = middle
        ends.append(high)
    return ends[0], ends[1]
