"""What a participant has under way, as its model knows it: clean-ups, and looks for outcomes."""

from ddlsim.protocol.commands import Outcome
from ddlsim.protocol.ids import PartitionId
from ddlsim.units import Timestamp


class Cleaning:
    """A clean-up under way: the partitions that have not confirmed, and the last wait for each."""

    def __init__(self, places: list[PartitionId], commit_ts: Timestamp | None) -> None:
        self.left = dict.fromkeys(places)
        self.size = len(places)
        self.is_alone = True
        self.commit_ts = commit_ts
        self.waited_us: dict[PartitionId, int] = {}
        self.sent_us: dict[PartitionId, int] = {}


class Look:
    """A look for the outcome of a transaction: what has decided it, and when."""

    def __init__(self, read_ts: Timestamp | None) -> None:
        self.read_ts = read_ts
        self.is_alone = True
        self.has_begun = False
        self.asked = 0
        self.may_recover = False
        self.outcome: Outcome | None = None
        self.decided_us: int | None = None
        self.waited_us = 0
        self.sent_us = -1
