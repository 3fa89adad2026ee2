"""What a cluster can suffer: crashes and restarts, slow disks, leaders and leases that change.

One of the two halves of `Cluster`; the other builds the machines.
"""

from typing import TYPE_CHECKING

from sim.kernel.host import Host
from sim.model.schema import Table
from sim.nemesis.roles import META, NobodyError, place_of

if TYPE_CHECKING:
    from sim.protocol.placement import Placement
    from sim.protocol.server import Server
    from sim.world.adapters import NodePort
    from sim.world.plan_records import Plan


class Failing:
    """The levers of a cluster, each for one node, group or partition."""

    plan: "Plan"
    hosts: dict[str, Host]
    ports: dict[str, "NodePort"]
    servers: dict[str, "Server"]
    placement: "Placement"
    _table_ids: dict[str, int]

    # --- who plays which role -----------------------------------------------------------------

    @property
    def leader(self) -> str:
        """The meta storage leader."""
        return self.plan.meta_leader

    def primary_of(self, table_name: str, partition: int = 0) -> str:
        """The primary of a partition; `NobodyError` where there is no such table by now."""
        return self.placement.primary(self.table_id(table_name), partition)

    def leader_of(self, group: str) -> str:
        """Who leads a group: `meta`, or a partition, `t/0`."""
        if group == META:
            return self.leader
        place = place_of(group)
        assert place is not None, group
        return self.primary_of(*place)

    def table_id(self, name: str) -> int:
        """The table that had this name when the run began, else the one that has it now."""
        if name in self._table_ids:
            return self._table_ids[name]
        found = self.servers[self.leader].catalog.latest().by_name(name)
        if not isinstance(found, Table):
            raise NobodyError(name)
        return found.id

    # --- crashes, disks, settings -------------------------------------------------------------

    def crash(self, node: str) -> None:
        """A node's incarnation ends; its disk and its clock stay."""
        raise NotImplementedError(f"{node} cannot crash yet")

    def restart(self, node: str) -> None:
        """A crashed node begins its next incarnation with its disk."""
        raise NotImplementedError(f"{node} cannot start again yet")

    def lose_unsynced(self, node: str, torn: int) -> None:
        """Between crash and restart: what was not synced is gone but for so many entries."""
        raise NotImplementedError(f"the disk of {node} cannot lose {torn} yet")

    def set_disk_delay(self, node: str, us: int) -> None:
        """A sync of the node's disk takes so long from now on."""
        raise NotImplementedError(f"the disk of {node} cannot take {us} us yet")

    def set_setting(self, node: str, key: str, value: int) -> None:
        """A setting of the node from now on."""
        setattr(self.ports[node].settings, key, value)

    # --- leaders and leases -------------------------------------------------------------------

    def transfer(self, group: str, to: str | None) -> None:
        """The group's leader hands over, to the next voter where `to` does not say."""
        raise NotImplementedError(f"{group} cannot be handed over to {to} yet")

    def re_elect(self, group: str) -> None:
        """The group's leader steps down and is elected again, in a new term."""
        raise NotImplementedError(f"{group} cannot elect yet")

    def expire_lease(self, place_name: str) -> None:
        """The placement driver leaves the lease of a partition alone until `renew_lease`."""
        raise NotImplementedError(f"{place_name} has no lease yet")

    def renew_lease(self, place_name: str) -> None:
        """The placement driver looks after the lease of a partition again."""
        raise NotImplementedError(f"{place_name} has no lease yet")
