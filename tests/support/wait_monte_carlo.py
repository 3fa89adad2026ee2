"""An independent Monte Carlo of the schema wait: from the documents alone, with numpy alone.

It shares no code with the simulator and none with `analysis/formula/wait_model.py`; both are
compared with it. What it does, clause by clause:

* The leader stamps each command of the meta storage with its clock; a safe-time command comes H
  after the last command of any kind [98.safe.3], a lease is prolonged every `lease_ms`.
* An entry goes to every other node at its stamp; it is committed once a majority of the voters,
  the leader among them, has it; the leader then sends each node a notice of the commit. Entries,
  notices and the log's heartbeats share a link that keeps the order of sending [98.def.3].
* A node's safe time is the stamp of the last command that it applied [98.def.2].
* A look-up at Top, the node's clock, waits until safe time >= Top - DD [98.past.3].

Times are ms. A node without a link from the leader in `delays` takes `pooled`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Link = tuple[str, str]


@dataclass(frozen=True)
class Model:
    """A cluster by its measured delays: the leader, the other voters, every node."""

    nodes: tuple[str, ...]
    leader: str
    voters: tuple[str, ...]
    delays: Mapping[Link, Array]
    pooled: Array
    offsets: Mapping[str, Array] = field(default_factory=dict)
    heartbeat_ms: float | None = None
    lease_ms: float | None = 3_000.0

    def draws(self, dice: np.random.Generator, link: Link, count: int) -> Array:
        """So many delays of a link."""
        return dice.choice(self.delays.get(link, self.pooled), count)


def stamps(h_ms: float, lease_ms: float | None, length_ms: float) -> Array:
    """When commands are stamped: leases at their times, ticks one H after the last command."""
    leases = np.arange(lease_ms, length_ms, lease_ms) if lease_ms else np.empty(0)
    found: list[float] = []
    last = 0.0
    for until in (*leases, length_ms):
        ticks = int(np.ceil((until - last) / h_ms)) - 1
        found += [last + h_ms * (1 + tick) for tick in range(max(ticks, 0))]
        found.append(until)
        last = until
    return np.array(found)


def in_order(sent: Array, delays: Array) -> Array:
    """When messages of one link arrive, each behind all that were sent before it."""
    order = np.argsort(sent, kind="stable")
    arrived = np.empty_like(sent)
    arrived[order] = np.maximum.accumulate(sent[order] + delays[order])
    return arrived


def applied(
    model: Model, h_ms: float, length_ms: float, dice: np.random.Generator
) -> tuple[Array, dict[str, Array]]:
    """The true times of all stamps, and when each node has applied the command of each."""
    at = stamps(h_ms, model.lease_ms, length_ms)
    every = model.heartbeat_ms
    beats = np.empty(0) if every is None else np.arange(dice.uniform(0, every), length_ms, every)
    others = [node for node in model.nodes if node != model.leader]
    count, extra = len(at), len(beats)
    there = {n: model.draws(dice, (model.leader, n), 2 * count + extra) for n in others}
    back = {n: model.draws(dice, (n, model.leader), count + extra) for n in others}
    needed = len(model.voters) // 2  # of the others; the leader has its own entry at once
    committed = at.copy()
    arrived: dict[str, Array] = {}
    for _ in range(200):  # what is on a link depends on earlier commits only: this settles
        answers = []
        for node in others:
            sent = np.concatenate([at, beats, committed])  # of equal times the entry goes first
            arrived[node] = in_order(sent, there[node])
            if node in model.voters:
                answers.append(in_order(arrived[node][: count + extra], back[node])[:count])
        new = at if not needed else np.sort(np.stack(answers), axis=0)[needed - 1]
        new = np.maximum.accumulate(new)
        if np.array_equal(new, committed):
            break
        committed = new
    else:
        raise AssertionError("the order of commits did not settle")
    ends = {node: arrived[node][count + extra :] for node in others}
    return at, {model.leader: committed, **ends}


def waits(
    model: Model, dd_ms: float, h_ms: float, *, length_ms: float, looks: int, seed: int = 7
) -> Array:
    """The waits of look-ups at any time on any node."""
    dice = np.random.default_rng(seed)
    at, ends = applied(model, h_ms, length_ms, dice)
    found = []
    for node in model.nodes:
        asked = np.sort(dice.uniform(0.02 * length_ms, 0.95 * length_ms, looks))
        own = dice.choice(model.offsets.get(node, np.zeros(1)), looks)
        leads = dice.choice(model.offsets.get(model.leader, np.zeros(1)), looks)
        ahead = own - leads if node != model.leader else np.zeros(looks)
        first = np.searchsorted(at, asked + ahead - dd_ms)  # stamped at Top - DD or later
        found.append(np.maximum(ends[node][first] - asked, 0.0))
    return np.concatenate(found)


def spread(
    of: Callable[[int], Array], shares: tuple[float, ...], repeats: int
) -> tuple[Array, Array]:
    """Quantiles of several independent repetitions: their mean, and its standard error."""
    each = np.array(
        [np.quantile(of(seed), shares, method="inverted_cdf") for seed in range(repeats)]
    )
    error: Any = each.std(axis=0, ddof=1) / np.sqrt(repeats)
    return each.mean(axis=0), error
