"""The parts of a node together with their models."""

from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.driver import ModelledDriver
from ddlsim.cluster.models.leases import ModelledLeases, ModelledPlacement
from ddlsim.cluster.models.locks import ModelledLocks
from ddlsim.cluster.models.member import ModelledMember
from ddlsim.cluster.models.partition import ModelledPartition
from ddlsim.protocol.server import Parts


def modelled(models: Models) -> Parts:
    """Parts that compare themselves with the models of a cluster."""
    of_cluster = {"models": models}
    return Parts(
        locks=type("Locks", (ModelledLocks,), of_cluster),
        driver=type("Driver", (ModelledDriver,), of_cluster),
        leases=type("Leases", (ModelledLeases,), of_cluster),
        placement=type("Placement", (ModelledPlacement,), of_cluster),
        member=type("Member", (ModelledMember,), of_cluster),
        partition=type("Partition", (ModelledPartition,), of_cluster),
    )
