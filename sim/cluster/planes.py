"""The data planes: which machines carry out a plan.  [the field `plane` of a design's header]"""

from typing import NamedTuple

from ddlsim.cluster.adapters import Recorder
from ddlsim.cluster.cluster import Cluster
from ddlsim.cluster.designs import design, layer_design
from ddlsim.cluster.fdb_cluster import FdbCluster
from ddlsim.cluster.group_faults import GroupFaults
from ddlsim.cluster.machines import Machines
from ddlsim.plan.records import Plan


class Built(NamedTuple):
    """The machines of a run, and what does the faults of replication groups, if there are any."""

    machines: Machines
    groups: GroupFaults | None


def built(plan: Plan, recorder: Recorder) -> Built:
    """The machines of a plan, with everything that runs on them started."""
    if plan.store is not None:
        return Built(FdbCluster(plan, *layer_design(plan), recorder), None)
    chosen, parts, _ = design(plan)
    cluster = Cluster(plan, chosen, parts, recorder)
    return Built(cluster, GroupFaults(cluster))
