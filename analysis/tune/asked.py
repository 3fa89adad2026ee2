"""What `tune` is asked, and what it must know of a design before it can answer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from ddlsim.analysis.formula.comparison import ddl_delay_ms, slack_ms
from ddlsim.analysis.formula.wait_model import Wait
from ddlsim.analysis.tune.cells import CLIENT_MS, Load, Setting
from ddlsim.analysis.tune.goals import RATE, Goal, TuneError, read_goal
from ddlsim.analysis.tune.skew import ClockBound, clock_bound
from ddlsim.analysis.tune.world import World
from ddlsim.protocol.strategy import Strategy
from ddlsim.strategies.base import STRATEGIES

LADDER_MS: Final = (500, 250, 100, 50, 25, 10)
"""Idle intervals to choose from, those above the present one left out."""
LEASES_PER_MS: Final = 1 / 3_000
"""Leases are prolonged by one command for all places every three seconds."""
DEFAULT_WAIT: Final = read_goal("dml_wait_p99<=1ms")
LOOK_UPS: Final = 3
"""Look-ups of one operation that may wait by themselves: at enlistment, arrival and commit."""


Wish = tuple[tuple[str, int], ...]
"""Fields of a setting that is to be priced; the others are as recommended."""


@dataclass(frozen=True)
class Chosen:
    """How the voters and the leader were chosen, in words."""

    voters: str = "the first by name"
    leader: str = "the first by name"


@dataclass(frozen=True)
class Asked:
    """Everything that decides the answer."""

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
        """The design's record."""
        return STRATEGIES.get(self.strategy)

    @cached_property
    def clocks(self) -> ClockBound | None:
        """What CSmax should be; None where no clock was measured."""
        return clock_bound(self.world, self.margin)

    @property
    def cs_max(self) -> int:
        """CSmax of everything that is run but the present setting."""
        return self.present.cs_max if self.clocks is None else self.clocks.cs_max_ms

    @property
    def waits(self) -> tuple[Goal, ...]:
        """Goals that a larger DD serves; one of them is always there."""
        own = tuple(goal for goal in self.goals if goal.of not in {RATE, "ddl_latency"})
        return own or (DEFAULT_WAIT,)

    @property
    def latencies(self) -> tuple[Goal, ...]:
        """Goals that a smaller DD serves."""
        return tuple(goal for goal in self.goals if goal.of == "ddl_latency")

    @property
    def aborts(self) -> Goal | None:
        """The goal that DD does not touch."""
        return next((goal for goal in self.goals if goal.metric == RATE), None)

    @property
    def mu(self) -> float:
        """Metadata writes per ms to reckon with before any were measured."""
        return LEASES_PER_MS + self.ddl_rate / 1_000

    @cached_property
    def uses_dd(self) -> bool:
        """Whether the design's readers wait less under a larger DD."""
        slack = [slack_ms(self.design, dd, self.cs_max) for dd in (0, 1_000)]
        if slack[0] is None:
            what = "never waits, so no wait tells how large DD must be: only a bound on every delay"
            raise TuneError(f"--strategy {self.strategy} {what}; take a design that waits")
        return slack[0] != slack[1]

    def slack(self, dd: int, cs_max: int | None = None) -> int:
        """How much a reader may lag behind Top."""
        found = slack_ms(self.design, dd, self.cs_max if cs_max is None else cs_max)
        return found or 0

    def ddl_delay(self, dd: int, cs_max: int | None = None) -> int:
        """What a statement waits at least after its stamp."""
        return ddl_delay_ms(self.design, dd, self.cs_max if cs_max is None else cs_max)

    @cached_property
    def overhead_ms(self) -> float:
        """What a statement takes beside that wait: to the leader, and the client's way."""
        world = self.world
        ways = [world.sample(node, world.leader) for node in world.nodes if node != world.leader]
        return float(np.quantile(np.concatenate(ways), 0.99)) + 2 * CLIENT_MS if ways else 1.0

    def needed(self, wait: Wait) -> tuple[float, float]:
        """Between which DDs the goals of waits are first met, by formula."""
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
        """Idle intervals to consider, the longest first."""
        shorter = [h for h in LADDER_MS if h < self.present.h]
        return (self.present.h, *shorter)


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
