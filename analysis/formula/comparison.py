"""Compares figures by formula with those by simulation, for figures, `tune` and experiments.

`cluster_wait` is the closed form of a cluster's waits (6.1), of a scenario (`by_formula`), of
measurements (`tune.world`) or of an experiment (`tests/agreement`). `slack_ms` and `ddl_delay_ms`
are what a design derives from DD. `brackets` are three figures of a wait with their margins, a
`Line` is one figure by formula and by runs.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ddlsim.analysis.formula import protocol_forms
from ddlsim.analysis.formula.wait_model import Commands, Ends, Grid, Link, Wait, commit_of, wait
from ddlsim.cluster.designs import rules_of
from ddlsim.model.settings import DEFAULTS, complete
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import physical_ms, timestamp

Array = NDArray[np.float64]
CLOCK_MS: Final = 1.0
"""Timestamps have whole milliseconds: a wait in a run may differ by so much from the formula."""
TAIL: Final = 0.99
PARTS: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The quantiles by which a clock's offsets are represented, each a fifth of the time."""
FAR: Final = timestamp(10**9)


@dataclass(frozen=True)
class Line:
    """One figure of one cell: by runs with its interval over seeds, by formula with its bracket."""

    cell: Mapping[str, Any]
    figure: str
    simulated: float
    low: float
    high: float
    formula: Ends

    @property
    def agrees(self) -> bool:
        """Whether the interval meets the bracket."""
        return self.formula.holds(self.low, self.high)


def heartbeat_ms(h: float, numbers: Mapping[str, int] = DEFAULTS) -> float | None:
    """The interval of the log's heartbeats; None where idle commands, every `h` ms, replace them.

    `numbers` are a scenario's settings; those that it does not set follow from the others.
    """
    idle_ms = complete(numbers)["heartbeat_idle_ms"]
    return None if h < idle_ms else float(idle_ms)


# --- the wait of a cluster -----------------------------------------------------------------------


def cluster_wait(
    grid: Grid,
    commands: Commands,
    leader: str,
    voters: Iterable[str],
    nodes: Iterable[str],
    delay: Callable[[str, str], Array],
    clock: Callable[[str], Sequence[float]],
) -> Wait:
    """The wait of a first look-up on any node of a cluster.

    `delay(sender, to)` is P(a message takes so long) on the grid, `clock(node)` a few offsets of a
    node's clock in ms, each as likely as the others. `voters` may leave the leader out.
    """
    ways = [(delay(leader, voter), delay(voter, leader)) for voter in voters if voter != leader]
    commit = commit_of(grid, ways, commands)
    links = [Link(commit.ordered, commit, leader=True)]
    for node in nodes:
        if node != leader:
            skews = tuple(float(own - leads) for own in clock(node) for leads in clock(leader))
            links.append(Link(delay(leader, node), commit, skews))
    return wait(grid, links, commands)


class Brackets(NamedTuple):
    """The figures of first look-ups by formula."""

    share: Ends
    mean: Ends
    tail: Ends


def brackets(model: Wait, slack: float, margin: float = CLOCK_MS) -> Brackets:
    """The share that waits, the mean wait and its 99th percentile for a reader's slack, in ms.

    The lower end is that of unordered links with `margin` more slack, the upper one that of ordered
    links with so much less.
    """
    early, late = slack + margin, slack - margin
    return Brackets(
        Ends(model.probability(early).unordered, model.probability(late).ordered),
        Ends(model.mean(early).unordered, model.mean(late).ordered),
        Ends(model.quantile(TAIL, early).unordered, model.quantile(TAIL, late).ordered),
    )


# --- what a design derives from DD----------------------------------------------------------------


def slack_ms(design: Strategy, dd: int, cs_max: int) -> int | None:
    """How far a reader may lag behind Top: DD of A7, 0 of A5, -CSmax of A6.

    None: it never waits, or for something else than safe time.
    """
    if not protocol_forms.waits_for_safe_time(rules_of(design)):
        return None
    return physical_ms(FAR) - physical_ms(design.completeness_ts(FAR, dd, cs_max))


def acknowledge_ms(design: Strategy, cs_max: int) -> int | None:
    """How long after Tu a statement is acknowledged, by the coordinator's clock: CSmax of A5 to A7.

    None where it waits for something else than its clock.
    """
    if not protocol_forms.is_one_update(rules_of(design)):
        return None
    return physical_ms(design.acknowledge_ts(FAR, cs_max)) - physical_ms(FAR)


def ddl_delay_ms(design: Strategy, dd: int, cs_max: int) -> int:
    """The least wait of a DDL statement after its stamp: DD + CSmax of A7."""
    active = design.activation_ts(FAR, dd)
    told = design.acknowledge_ts(active, cs_max)
    return max(physical_ms(told) - physical_ms(FAR), 0)
