"""What transactions of list histories did with each key, one group for each of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ddlsim.columns.fractured import NOWHERE
from ddlsim.columns.history import Array
from ddlsim.foreign.readers.transactions import READ

if TYPE_CHECKING:
    from ddlsim.foreign.inference.lists import Lists


class Groups:
    """Operations sorted by transaction and key; those of one transaction on one key are a group."""

    def __init__(self, lists: Lists) -> None:
        history = lists.history
        count = len(history.tx)
        self.ops: Array = np.lexsort((np.arange(count), history.key, history.tx))
        tx, key = history.tx[self.ops], history.key[self.ops]
        self.new: Array = np.ones(count, np.bool_)
        self.new[1:] = (tx[1:] != tx[:-1]) | (key[1:] != key[:-1])
        self.number: Array = np.cumsum(self.new) - 1
        self.read: Array = history.kind[self.ops] == READ
        length = np.zeros(count, np.int64)
        length[lists.read] = lists.length
        self.length: Array = length[self.ops]
        place = np.full(count, NOWHERE)
        shown = np.flatnonzero(lists.slot_write >= 0)[::-1]
        place[lists.slot_write[shown]] = shown - lists.base[lists.slot_key[shown]]
        self.place: Array = place[self.ops]
        """Of appends, where their element stands in the list."""

    def before(self, what: Array) -> Array:
        """Of each operation, the sum of a column over those before it in its group."""
        total = np.cumsum(what) - what
        found: Array = total - total[self.new][self.number]
        return found

    def most(self, what: Array) -> Array:
        """Of each operation, the largest of a column so far in its group."""
        apart = self.number * (NOWHERE + 1)
        found: Array = np.maximum.accumulate(what + apart) - apart
        return found
