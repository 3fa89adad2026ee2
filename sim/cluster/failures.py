"""What can be broken in a cluster: crashes, disks, leadership, leases, settings.

Each verb does one thing at this instant; a fault decides when, and undoes it.
"""

from typing import TYPE_CHECKING

from ddlsim.history.world_events import (
    NodeCrashed,
    NodeRestarted,
    SettingChanged,
)
from ddlsim.protocol.ids import Place
from ddlsim.protocol.metastorage.metastorage import GROUP
from ddlsim.protocol.raft import RaftLog
from ddlsim.protocol.replication.state_machine import disk_name

if TYPE_CHECKING:
    from ddlsim.cluster.cluster import Cluster


class Failures:
    """The verbs of the nemesis, on one cluster."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._down: dict[str, None] = {}

    # --- crash and restart ------------------------------------------------------------------------

    def crash(self, node: str) -> None:
        """The node dies; only its disk and its physical clock remain."""
        cluster = self._cluster
        if node in self._down:
            return
        self._down[node] = None
        cluster.recorder.record(NodeCrashed(cluster.loop.now_us, node))
        cluster.recorder.probe("crash")
        cluster.hosts[node].crash()

    def _logs(self, node: str) -> list[RaftLog]:
        disk = self._cluster.hosts[node].disk
        return [disk[key] for key in disk if key.startswith(disk_name(""))]

    def restart(self, node: str) -> None:
        """A new incarnation begins with what the disk holds."""
        cluster = self._cluster
        if node not in self._down:
            return
        del self._down[node]
        for log in self._logs(node):
            log.sync_now()
        host = cluster.hosts[node]
        number = host.incarnation_number + 1
        cluster.recorder.record(NodeRestarted(cluster.loop.now_us, node, number))
        host.restart(lambda: cluster.boot(node, restarted=True))

    def is_down(self, node: str) -> bool:
        """Whether the node is dead at this instant."""
        return node in self._down

    def lose_unsynced(self, node: str, torn: int) -> None:
        """What the disk of a dead node had not synced is lost, but for `torn` entries of each log.

        A torn tail: the first few of the entries that were being written have survived.
        """
        assert node in self._down, f"{node} is alive: it loses nothing"
        for log in self._logs(node):
            log.lose_unsynced(torn)
        self._cluster.recorder.probe("unsynced-lost")

    def set_disk_delay(self, node: str, delay_us: int) -> None:
        """From now on a write to the node's disk takes so long."""
        self._cluster.disk_delays[node] = delay_us
        self._cluster.ports[node].disk_delay_us = delay_us

    # --- leadership and leases --------------------------------------------------------------------

    def leader_of(self, group: str) -> str:
        """The node that leads `meta`, or the partition `t/0`, or did last."""
        cluster = self._cluster
        if group == GROUP:
            return cluster.leader
        return cluster.leader_of_place(self.place_of(group))

    def transfer(self, group: str, to: str | None) -> None:
        """The leader hands its group over; to its next voter if no node is named."""
        cluster = self._cluster
        leader = self.leader_of(group)
        found = None if self.is_down(leader) else self._group(group, leader)
        if found is None or not found.is_leader:
            return
        others = [voter for voter in found.voters if voter != leader]
        if to is None and others:
            to = others[0]
        if to in others:
            assert to is not None, others
            found.transfer_to(to)
            cluster.recorder.probe("transfer")

    def re_elect(self, group: str) -> None:
        """The leader steps down and stands for election at once, in a new term."""
        leader = self.leader_of(group)
        found = None if self.is_down(leader) else self._group(group, leader)
        if found is not None and found.is_leader:
            found.re_elect()

    def _group(self, group: str, node: str):  # type: ignore[no-untyped-def]  # Group | None
        server = self._cluster.servers[node]
        if group == GROUP:
            return server.metastorage.group
        return server.group_of(self.place_of(group))

    def place_of(self, name: str) -> Place:
        """`t/0` as (table id, number); the table is the one that had this name at the start."""
        table, _, number = name.partition("/")
        return self._cluster.table_id(table), int(number or 0)

    def expire_lease(self, name: str) -> None:
        """The present lease of a partition is not prolonged; when it has ended another begins."""
        place = self.place_of(name)
        for server in self._cluster.servers.values():
            lease = server.metastorage.leases.of(place)
            if lease is not None:
                server.driver.not_renewed[place] = lease.start_ts

    def renew_lease(self, name: str) -> None:
        """Leases of the partition are prolonged again."""
        place = self.place_of(name)
        for server in self._cluster.servers.values():
            server.driver.not_renewed.pop(place, None)

    # --- settings ---------------------------------------------------------------------------------

    def set_setting(self, node: str, key: str, value: int) -> int:
        """Change a setting of a node while it runs; the value that it had."""
        settings = self._cluster.settings_of(node)
        before: int = getattr(settings, key)
        setattr(settings, key, value)
        self._cluster.recorder.probe("setting-changed")
        self._cluster.recorder.record(SettingChanged(self._cluster.loop.now_us, node, key, value))
        return before
