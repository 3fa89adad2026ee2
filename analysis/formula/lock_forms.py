"""Closed forms of a statement's wait for the transactions that use its table (6.2; B16 and locks).

A client uses a table for H, over the share p of the time. At an instant that does not depend on it,
it uses the table with probability p, and then for the residual R of its use, P(R <= x) =
E[min(H, x)] / E[H]. N clients that do not depend on each other have all ended by
P(W <= x) = (1 - p P(R > x))^N: the wait for those that are there.

Without a queue others come meanwhile. With uses and pauses that are exponential, the number of
users of a node is a birth-death process; its time to 0, begun as it is at any instant (binomial),
has P(T > x) = sum_k b_k (e^(S x) 1)_k, where S are its rates between 1 to N users. A statement
waits for every node.
"""

from math import comb
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
POINTS: Final = 2_000
LONG: Final = 20
"""So many mean uses are longer than a wait without a queue."""


class Users(NamedTuple):
    """Clients that use a table: how long each time (a sample, ms), and each for which share of the
    time."""

    holds: Array
    used: float
    clients: int


def left_within(holds: Array, at: Array) -> Array:
    """The distribution function of what is left of a use at an instant: E[min(H, x)] / E[H]."""
    ordered = np.sort(holds)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, at, side="right")
    return np.asarray((sums[below] + (len(ordered) - below) * at) / sums[-1])


def unused_within(used: float, left: Array, clients: int) -> Array:
    """The probability that all uses of a table have ended by then."""
    return np.asarray((1 - used * (1 - left)) ** clients)


def waits(of: Users, dice: np.random.Generator, size: int, limit: float = np.inf) -> Array:
    """A sample of the wait for those that use a table, of the waits that end within the limit."""
    at = np.linspace(0.0, min(float(of.holds.max()), limit), POINTS)
    below = unused_within(of.used, left_within(of.holds, at), of.clients)
    return _drawn(at, below, dice, size)


def waits_without_a_queue(of: Users, nodes: int, dice: np.random.Generator, size: int) -> Array:
    """A sample of the time until each node has once been without a user.

    Not before those that are there have ended, whose uses may be longer than exponential ones.
    """
    mean, share = float(of.holds.mean()), min(of.used / nodes, 0.999)
    users = np.arange(1, of.clients + 1)
    begin, end = (of.clients - users) * share / (1 - share) / mean, users / mean
    rates = np.diag(-(begin + end)) + np.diag(begin[:-1], 1) + np.diag(end[1:], -1)
    many = np.array([comb(of.clients, int(k)) for k in users], dtype=np.float64)
    many *= share**users * (1 - share) ** (of.clients - users)
    speeds, modes = np.linalg.eig(rates)
    parts = (many @ modes) * np.linalg.solve(modes, np.ones(of.clients))
    at = np.linspace(0.0, max(LONG * mean, float(of.holds.max())), POINTS)
    still = np.real(np.exp(np.outer(at, speeds)) @ parts)
    there = unused_within(of.used, left_within(of.holds, at), of.clients)
    return _drawn(at, np.minimum((1 - still) ** nodes, there), dice, size)


def _drawn(at: Array, below: Array, dice: np.random.Generator, size: int) -> Array:
    """A sample by a distribution function; what it has at the first point is there."""
    return np.asarray(np.interp(dice.random(size) * below[-1], below, at))
