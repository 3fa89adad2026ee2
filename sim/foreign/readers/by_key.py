"""Operations grouped by their transaction and their key."""

import numpy as np

from ddlsim.graph.fractured import NOWHERE
from ddlsim.graph.history import Array


class ByKey:
    """Operations sorted by transaction and key; those of one transaction on one key are a group."""

    def __init__(self, tx: Array, key: Array) -> None:
        packed = tx.astype(np.int64) * (int(key.max(initial=0)) + 1) + key
        self.ops: Array = np.argsort(packed, kind="stable")
        packed = packed[self.ops]
        self.new: Array = np.ones(len(tx), np.bool_)
        self.new[1:] = packed[1:] != packed[:-1]
        self.number: Array = np.cumsum(self.new) - 1

    def spread(self, of_group: Array) -> Array:
        """Of each operation in this order, the value of its group."""
        found: Array = of_group[self.number]
        return found

    def sums(self, what: Array) -> Array:
        """The sum of a column in each group."""
        total = np.append(0, np.cumsum(what))
        first = np.flatnonzero(self.new)
        found: Array = total[np.append(first[1:], len(what))] - total[first]
        return found

    def before(self, what: Array) -> Array:
        """Of each operation, the sum of a column over those before it in its group."""
        total = np.cumsum(what) - what
        return np.asarray(total - self.spread(total[self.new]))

    def most(self, what: Array) -> Array:
        """Of each operation, the largest of a column of places so far in its group."""
        apart = self.number * (NOWHERE + 1)
        found: Array = np.maximum.accumulate(what + apart) - apart
        return found
