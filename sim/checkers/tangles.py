"""Strongly connected parts of a graph given as two columns: where each step begins, and ends."""

from collections.abc import Sequence

import numpy as np

from ddlsim.graph.residue import labels_of, pack


def tangles(sources: Sequence[int], targets: Sequence[int]) -> list[list[int]]:
    """The steps within each part of more than one node, by their places; parts by their least node.

    Every cycle lies within one part; without any there is none. A step from a node to itself is no
    cycle here.
    """
    ends = np.array([sources, targets], np.int64)
    names, numbers = np.unique(ends, return_inverse=True)
    tails, heads = numbers.reshape(ends.shape)
    labels = labels_of(len(names), pack(tails, heads))
    within = np.flatnonzero((labels[tails] == labels[heads]) & (tails != heads))
    parts: dict[int, list[int]] = {}
    for place, label in zip(within.tolist(), labels[tails[within]].tolist(), strict=True):
        parts.setdefault(label, []).append(place)
    return sorted(parts.values(), key=lambda part: min(sources[place] for place in part))
