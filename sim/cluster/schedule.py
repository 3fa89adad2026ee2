"""Gives a network the schedule of its plan: when it demotes a node, and which instants it is near.

The instants are those that the protocol compares timestamps with: the activation Tu of a schema
update, Tu plus or minus CSmax, and the end of a lease. An operation that arrives at Tu looks up its
schema at Top - DD = Tm.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ddlsim.history.events import UpdateLogged
from ddlsim.history.world_events import LeaseBegan
from ddlsim.kernel.host import Host
from ddlsim.kernel.network import Network
from ddlsim.kernel.schedule import FixedPriorities, NearInstants
from ddlsim.plan.records import BoundaryPlan, PctPlan, Plan
from ddlsim.units import Timestamp, physical_ms

Record = Callable[[Any], None]


def scheduled(plan: Plan, network: Network, hosts: Mapping[str, Host], record: Record) -> Record:
    """Set the schedule of a plan; return the function by which the run records its events."""
    if isinstance(plan.schedule, PctPlan):
        priorities = FixedPriorities(network)
        for one in plan.schedule.demotions:
            network.loop.call_at(one.from_us, priorities.demote, one.node, 1)
            network.loop.call_at(one.until_us, priorities.demote, one.node, -1)
    if not isinstance(plan.schedule, BoundaryPlan):
        return record
    clocks = {name: host.clock for name, host in hosts.items()}
    near = NearInstants(network, clocks, plan.schedule.share)
    skew_ms = plan.cluster_settings["max_clock_skew_ms"]

    def recorded(event: Any) -> None:
        """Record an event, and take the instants that it announces."""
        record(event)
        if isinstance(event, UpdateLogged):
            for ts_ms in (-skew_ms, 0, skew_ms):
                near.add(physical_ms(Timestamp(event.activation_ts)) + ts_ms)
        elif isinstance(event, LeaseBegan):
            near.add(physical_ms(Timestamp(event.expiration_ts)))

    return recorded
