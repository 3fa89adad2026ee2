"""What transactions did with each key: one group of operations for each of both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ddlsim.foreign.readers.by_key import ByKey
from ddlsim.foreign.readers.operations import READ
from ddlsim.graph.fractured import NOWHERE
from ddlsim.graph.history import Array

if TYPE_CHECKING:
    from ddlsim.foreign.inference.lists import Lists


class Groups(ByKey):
    """The same of a list history, with what was read and appended."""

    def __init__(self, lists: Lists) -> None:
        history = lists.history
        of = history.by_key
        self.ops, self.new, self.number = of.ops, of.new, of.number
        self.read: Array = history.kind[self.ops] == READ
        length = np.zeros(len(self.ops), np.int64)
        length[lists.read] = lists.length
        self.length: Array = length[self.ops]
        place = np.full(len(self.ops), NOWHERE)
        shown = np.flatnonzero(lists.slot_write >= 0)[::-1]
        place[lists.slot_write[shown]] = shown - lists.base[lists.slot_key[shown]]
        self.place: Array = place[self.ops]
        """Of appends, where their element stands in the list."""

    def doubtful(self, strange: Array) -> Array:
        """Numbers of the groups in which a read may contradict what was done before it.

        In a group that agrees every operation follows from the one before it: a read shows as much
        as the read before it, or ends in what was appended; an append comes right behind what was
        read or appended. `strange` operations agree with nothing.
        """
        strange = strange[self.ops]
        shown = np.where(self.read, self.length, self.place + 1)
        begins = np.where(self.read, self.length, self.place)
        follows = ~self.new[1:] & (self.spread(self.sums(self.read)) > self.before(self.read))[1:]
        wrong = (begins[1:] != shown[:-1]) | strange[1:] | strange[:-1]
        found: Array = np.unique(self.number[1:][follows & wrong])
        return found
