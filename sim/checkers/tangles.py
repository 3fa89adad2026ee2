"""Strongly connected parts of a graph given as two columns: where each step begins, and ends.

A few steps are peeled: whatever has no way in, or no way out, is taken off until nothing is, and of
what is left networkx tells the parts. Many go to scipy as they are, where it is installed.
"""

from collections.abc import Sequence
from typing import Any, Final

MANY: Final = 20_000
"""From so many steps on scipy is worth its import."""


def tangles(sources: Sequence[int], targets: Sequence[int]) -> list[list[int]]:
    """The steps within each part of more than one node, by their places; parts by their least node.

    Every cycle lies within one part; without any there is none. A step from a node to itself is no
    cycle here.
    """
    try:
        find = _by_scipy if len(sources) >= MANY else _by_peeling
        parts = [part for part in find(sources, targets) if part]
    except ModuleNotFoundError:  # scipy is an extra
        parts = _by_peeling(sources, targets)
    return sorted(parts, key=lambda part: min(sources[at] for at in part))


def _by_scipy(sources: Sequence[int], targets: Sequence[int]) -> list[list[int]]:
    import numpy as np
    from scipy import sparse  # type: ignore[import-untyped]  # it has no stubs
    from scipy.sparse import csgraph  # type: ignore[import-untyped]  # it has no stubs

    ends = np.array([sources, targets], dtype=np.int64)
    names, (tails, heads) = np.unique(ends, return_inverse=True)
    count = len(names)
    whole = sparse.coo_matrix(
        (np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(count, count)
    )
    _, labels = csgraph.connected_components(whole.tocsr(), directed=True, connection="strong")
    within = np.flatnonzero((labels[tails] == labels[heads]) & (tails != heads))
    parts: dict[int, list[int]] = {}
    for at, label in zip(within.tolist(), labels[tails[within]].tolist(), strict=True):
        parts.setdefault(label, []).append(at)
    return list(parts.values())


def _by_peeling(sources: Sequence[int], targets: Sequence[int]) -> list[list[int]]:
    left = _peeled(sources, targets, list(range(len(sources))))
    left = _peeled(targets, sources, left)
    if not left:
        return []
    import networkx as nx

    whole: Any = nx.DiGraph()
    whole.add_edges_from((sources[at], targets[at]) for at in left)
    label: dict[int, int] = {}
    for number, part in enumerate(nx.strongly_connected_components(whole)):
        label.update(dict.fromkeys(part, number))
    parts: dict[int, list[int]] = {}
    for at in left:
        if label[sources[at]] == label[targets[at]] and sources[at] != targets[at]:
            parts.setdefault(label[sources[at]], []).append(at)
    return list(parts.values())


def _peeled(sources: Sequence[int], targets: Sequence[int], places: list[int]) -> list[int]:
    """The steps left when whatever no step leads to is taken off until nothing is."""
    waiting: dict[int, int] = {}
    after: dict[int, list[int]] = {}
    for at in places:
        source, target = sources[at], targets[at]
        waiting[target] = waiting.get(target, 0) + 1
        waiting.setdefault(source, 0)
        after.setdefault(source, []).append(target)
    free = [number for number, count in waiting.items() if not count]
    gone: set[int] = set()
    while free:
        number = free.pop()
        gone.add(number)
        for target in after.get(number, ()):
            waiting[target] -= 1
            if not waiting[target]:
                free.append(target)
    return [at for at in places if sources[at] not in gone and targets[at] not in gone]
