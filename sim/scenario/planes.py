"""What the data planes can carry: a design runs on its own plane, a fault or a step on some."""

from collections.abc import Sequence
from typing import Final

from ddlsim.model.ops import Find
from ddlsim.model.programs import Step
from ddlsim.scenario.problems import Origin
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.strategies.base import STRATEGIES

IGNITE: Final = "ignite"
"""The plane of the IEPs: replicas of partitions under leases, and a meta storage."""
FDB: Final = "fdb"
"""The plane of the thread: an ordered, optimistic key-value store with tables as a layer."""
OF_GROUPS: Final = ("leader_transfer", "re_election", "lease_loss", "slow_listener", "slow_disk")
"""Faults of replication groups, leases and the meta storage, which the other plane lacks."""
OF_THE_PROTOCOL: Final = ("tick", "apply", "leader", "pause")
"""Tables of the timeline that act on parts which the other plane lacks."""


def check_plane(table: ScenarioTable, strategy: str, steps: Sequence[Step], origin: Origin) -> None:
    """Check that the plane of a scenario has its design, and what its faults and steps act on."""
    plane = table.cluster.plane
    own = STRATEGIES.get(strategy).header.plane if strategy in STRATEGIES else plane
    if own != plane:
        known = ", ".join(name for name, one in STRATEGIES.items() if one.header.plane == plane)
        what = f"{strategy} runs on plane {own}; designs of plane {plane}: {known or 'none'}"
        raise origin.error(("cluster", "plane"), what)
    if plane == IGNITE:
        for index, step in enumerate(steps):
            if isinstance(step.do, Find):
                what = f'a find needs the contents of indexes; set cluster.plane = "{FDB}"'
                raise origin.error(("step", index, "do"), what)
        return
    for index, fault in enumerate(table.faults):
        if fault.get("name") in OF_GROUPS:
            what = f"plane {plane} has no replication groups, leases or meta storage to act on"
            raise origin.error(("faults", index, "name"), what)
    for key in OF_THE_PROTOCOL:
        if getattr(table, key):
            what = f"plane {plane} has no such part of the Ignite protocol; leave it out"
            raise origin.error((key, 0), what)
