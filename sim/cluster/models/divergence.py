"""Where a part of a node and its model differ: recorded once, for a judge (I12).

A *model* is a second, plainer implementation of what the documents say of a part: no queues, no
short ways, nothing kept that can be computed. It is given every call of the part and gives the
result that the call must have. Behind the first difference the two have different states, so a part
is compared until then. A run without differences has no event of this and is as without models.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ddlsim.cluster.models.replication.disk import Disk
from ddlsim.cluster.models.words import words
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop
from ddlsim.kernel.host import Host
from ddlsim.protocol.ids import PartitionId, TxId
from ddlsim.protocol.raft.log import RaftLog
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.units import Timestamp


class Divergence:
    """The differences of one part of a node from its model; `is_known` once there was one.

    `models` are those of its cluster.
    """

    __slots__ = ("_node", "is_known", "models", "part")

    def __init__(self, models: "Models", node: str, part: str) -> None:
        self.models = models
        self._node = node
        self.part = part
        self.is_known = False

    def found(self, what: str) -> None:
        """Record a difference, unless there was one before."""
        if not self.is_known:
            self.is_known = True
            models = self.models
            models.record(PartDiverged(models.loop.now_us, self._node, self.part, what))

    def resumed_us(self, node: str | None = None) -> int:
        """When the last pause of this part's node, or another, ended; -1 if there was none."""
        host = self.models.hosts.get(node or self._node)
        return -1 if host is None else host.incarnation.resumed_us

    def is_resumed(self, node: str | None = None) -> bool:
        """Whether a pause of this part's node, or another, ends now: what it held back is done."""
        return self.resumed_us(node) == self.models.loop.now_us

    def compare(self, what: str, got: object, expected: object, kind: Any = None) -> None:
        """Record a difference if these are not equal; `kind` is their type, as `words` needs it."""
        if got != expected:
            self.found(f"{what} is {words(got, kind)} and should be {words(expected, kind)}")


class Models:
    """The models of one cluster; `starting` is the node whose parts are being made.

    `at_end` compare whole states, when the run has ended; `disks` are the models of the disks of
    members, by log; `wrote` are the transactions that have left an intent at some replica;
    `values` have the name under which an entry of a unique index is locked, by the version of its
    table; `hosts` are the machines of the nodes; `ended_states` are the states of indexes that a
    leader has found ready to end, by the index's id and the version of its table that began them;
    `submitted` are the commands for partitions, by their senders and the numbers of submissions.
    `leases_known_us` is when the first node knew a lease, by its place and start.
    `catalogs` are those of the nodes' present incarnations; `members` are the nodes that statements
    ask for agreement, `prepared` and `switched` to which objects and versions each has agreed.
    """

    def __init__(self, record: Callable[[PartDiverged], None], loop: Loop) -> None:
        self.record = record
        self.loop = loop
        self.hosts: Mapping[str, Host] = {}
        self.starting = ""
        self.at_end: list[Callable[[], None]] = []
        self.disks: dict[RaftLog, Disk] = {}
        self.wrote: dict[TxId, None] = {}
        self.values: dict[tuple[object, ...], object] = {}
        self.ended_states: dict[tuple[int, int], None] = {}
        self.submitted: dict[tuple[str, int], object] = {}
        self.leases_known_us: dict[tuple[PartitionId, Timestamp], int] = {}
        self.catalogs: dict[str, Catalog] = {}
        self.members: tuple[str, ...] = ()
        self.prepared: dict[tuple[str, str, str], list[int]] = {}
        self.switched: dict[tuple[str, str], int] = {}

    def divergence(self, part: str, node: str | None = None) -> Divergence:
        """The differences of a part of a node, or of the one that is being started."""
        return Divergence(self, node or self.starting, part)
