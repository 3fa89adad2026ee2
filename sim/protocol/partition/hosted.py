"""A replica on a node: its group's member, its machine, and what only a primary has."""

from ddlsim.model.ops import Key
from ddlsim.model.ports import Future
from ddlsim.protocol.ids import Place
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.partition_state import Intent
from ddlsim.protocol.replication.group import Group
from ddlsim.units import Timestamp


class Hosted:
    """A replica on this node: its group's member, its machine, and what only a primary has.

    `lease` is this node's own, by which it is primary, while it may be; `pending` are the primary's
    own intents that its group has not applied yet, by key. `stamped_us` is when this node, leading
    the group, last stamped a command.
    """

    __slots__ = (
        "group",
        "is_alone",
        "lease",
        "machine",
        "pending",
        "place",
        "stamped_us",
        "waiting",
    )

    def __init__(self, place: Place, group: Group, machine: Partition) -> None:
        self.place = place
        self.group = group
        self.machine = machine
        self.is_alone = group.is_alone
        self.lease: Lease | None = None
        self.stamped_us = 0
        self.pending: dict[Key, Intent] = {}
        self.waiting: list[tuple[Timestamp, int, Future[None]]] = []
