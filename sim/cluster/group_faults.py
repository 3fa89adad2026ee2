"""Faults of replication groups, their logs and leases, as they are done to the Ignite plane.

A lease that several faults let expire is renewed again when the last of them ends.
"""

from collections import Counter
from collections.abc import Callable

from ddlsim.cluster.cluster import Cluster
from ddlsim.history.world_events import AppliedLost
from ddlsim.protocol.ids import PartitionId
from ddlsim.protocol.raft import RaftLog
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.replication.state_machine import disk_name

Undo = Callable[[], None]
"""Takes one action back; called once."""


class GroupFaults:
    """Carries out faults on the groups of one cluster; counts those in progress."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._expiries: Counter[PartitionId] = Counter()

    def tick(self) -> None:
        """Send an idle safe-time command from the present leader of the meta storage."""
        self._cluster.servers[self._cluster.leader].metastorage.tick()

    def slow_apply(self, node: str, stage: str, by_us: int) -> None:
        """Make a node apply the meta storage `by_us` later at a stage, or earlier if negative."""
        self._cluster.slow_apply(node, stage, by_us)

    def lose_unsynced(self, node: str, torn: int) -> None:
        """Take from the disk of a crashed node what it has not synced, but for `torn` entries."""
        cluster = self._cluster
        for group, log in self._logs(node).items():
            applied = log.applied
            log.lose_unsynced(torn)
            if log.applied < applied:
                lost = AppliedLost(cluster.loop.now_us, node, group, log.applied)
                cluster.recorder.record(lost)

    def sync_logs(self, node: str) -> None:
        """Sync the logs on the disk of a crashed node."""
        for log in self._logs(node).values():
            log.sync_now()

    def _logs(self, node: str) -> dict[str, RaftLog]:
        """The logs on a node's disk by group."""
        disk, folder = self._cluster.hosts[node].disk, disk_name("")
        return {key.removeprefix(folder): disk[key] for key in disk if key.startswith(folder)}

    def transfer(self, group: str | PartitionId, to: str | None) -> None:
        """Make the leader of `meta` or `t/0` hand over to the voter `to`, or to the next voter.

        Nothing happens where the leader is down or `to` is no other voter.
        """
        found = self._led(group)
        if found is None:
            return
        others = [voter for voter in found.voters if voter != found.node.name]
        if to is None and others:
            to = others[0]
        if to is not None and to in others:
            found.transfer_to(to)
            self._cluster.recorder.probe("transfer")

    def re_elect(self, group: str | PartitionId, rival: int = 0) -> None:
        """Make the leader step down and stand for election at once, unless it is down.

        So does the other voter with the number `rival`, counted from 1 on and around, if it is up.
        """
        found = self._led(group)
        if found is None:
            return
        found.re_elect()
        others = [voter for voter in found.voters if voter != found.node.name]
        if rival and others:
            name = others[(rival - 1) % len(others)]
            other = self._cluster.member_of(group, name)
            if other is not None and self._cluster.hosts[name].alive:
                other.re_elect()

    def _led(self, group: str | PartitionId) -> Group | None:
        """The group's member on the node that leads it; None if that is down or does not lead."""
        cluster = self._cluster
        leader = cluster.leader_of(group)
        found = cluster.member_of(group, leader) if cluster.hosts[leader].alive else None
        return found if found is not None and found.is_leader else None

    def expire_lease(self, partition: str | PartitionId) -> Undo:
        """Stop renewing the present lease of a partition; when it has ended another begins."""
        place = self._cluster.place_of(partition)
        self._expiries[place] += 1
        if self._expiries[place] == 1:
            for server in self._cluster.servers.values():
                lease = server.metastorage.leases.of(place)
                if lease is not None:
                    server.driver.not_renewed[place] = lease.start_ts
        return lambda: self._end_expiry(place)

    def _end_expiry(self, place: PartitionId) -> None:
        self._expiries[place] -= 1
        if not self._expiries[place]:
            for server in self._cluster.servers.values():
                server.driver.not_renewed.pop(place, None)
