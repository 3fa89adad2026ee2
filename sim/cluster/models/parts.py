"""The parts of a node together with their models."""

from typing import Final

from ddlsim.cluster.models.design.agreements import CLOSING, ModelledBarriers, walk_barriers
from ddlsim.cluster.models.design.commit_questions import compare_commits
from ddlsim.cluster.models.design.marks import compare_marks
from ddlsim.cluster.models.design.two_steps import compare_steps
from ddlsim.cluster.models.divergence import Models
from ddlsim.cluster.models.exchange import Exchange
from ddlsim.cluster.models.index_build.index_builds import ModelledBackfill, ModelledIndexStates
from ddlsim.cluster.models.index_build.index_forms import compare_forms
from ddlsim.cluster.models.index_build.index_statements import compare_statements
from ddlsim.cluster.models.metastorage.driver import ModelledDriver
from ddlsim.cluster.models.metastorage.lease_edges import compare_leases
from ddlsim.cluster.models.metastorage.leases import ModelledLeases, ModelledPlacement
from ddlsim.cluster.models.metastorage.meta import ModelledApplication
from ddlsim.cluster.models.metastorage.meta_walks import walk_meta
from ddlsim.cluster.models.metastorage.safe_time import DatedSync, ModelledTicker
from ddlsim.cluster.models.metastorage.stored_news import compare_news
from ddlsim.cluster.models.metastorage.submission_walks import walk_submissions
from ddlsim.cluster.models.metastorage.submissions import ModelledMetaStorage, joins
from ddlsim.cluster.models.partition.entry_walks import walk_entries
from ddlsim.cluster.models.partition.partition import ModelledPartition
from ddlsim.cluster.models.partition.reader_forms import compare_seen
from ddlsim.cluster.models.partition.readers import ModelledReaders, PastReads
from ddlsim.cluster.models.partition.replicas import ModelledReplicas
from ddlsim.cluster.models.partition.submitter_walks import walk_submitter
from ddlsim.cluster.models.replication.group import ModelledGroup
from ddlsim.cluster.models.replication.majorities import compare_majorities
from ddlsim.cluster.models.replication.member import ModelledMember
from ddlsim.cluster.models.replication.walks import walk
from ddlsim.cluster.models.schema.catalog import ModelledCatalog
from ddlsim.cluster.models.transaction.answers import AnswersModel
from ddlsim.cluster.models.transaction.constraints import Lookups, ModelledConstraints
from ddlsim.cluster.models.transaction.lock_waits import ModelledLockWaits
from ddlsim.cluster.models.transaction.lock_walks import walk_locks
from ddlsim.cluster.models.transaction.locks import ModelledLocks
from ddlsim.cluster.models.transaction.looks import compare_looks
from ddlsim.cluster.models.transaction.operations import ModelledExecutor, ModelledReplica
from ddlsim.cluster.models.transaction.participant import ModelledParticipant
from ddlsim.cluster.models.transaction.route_walks import walk_routes
from ddlsim.cluster.models.transaction.states import compare_states
from ddlsim.protocol.server import Parts, Server
from ddlsim.protocol.strategy import Strategy

SELDOM: Final = 4
"""Beside each so manieth run of a design without builds of indexes a partition is driven."""


def modelled(models: Models) -> Parts:
    """Parts that compare themselves with the models of a cluster."""
    of_cluster = {"models": models}
    participant = type("Participant", (ModelledParticipant,), of_cluster)
    parts = {"participant_class": participant, "executor_class": ModelledExecutor}
    return Parts(
        lock_waits=type("LockWaits", (ModelledLockWaits,), of_cluster),
        backfill=type("Backfill", (ModelledBackfill,), of_cluster),
        barriers=type("Barriers", (ModelledBarriers,), of_cluster),
        catalog=type("Catalog", (ModelledCatalog,), of_cluster),
        locks=type("Locks", (ModelledLocks,), of_cluster),
        application=type("Application", (ModelledApplication,), of_cluster),
        driver=type("Driver", (ModelledDriver,), of_cluster),
        group=type("Group", (ModelledGroup,), of_cluster),
        index_states=type("IndexStates", (ModelledIndexStates,), of_cluster),
        leases=type("Leases", (ModelledLeases,), of_cluster),
        placement=type("Placement", (ModelledPlacement,), of_cluster),
        member=type("Member", (ModelledMember,), of_cluster),
        readers=type("Readers", (ModelledReaders,), of_cluster),
        replicas=type("ReplicaManager", (ModelledReplicas,), of_cluster),
        sync=type("SchemaSync", (DatedSync,), of_cluster),
        ticker=type("SafeTimeTicker", (ModelledTicker,), of_cluster),
        metastorage=type("MetaStorage", (ModelledMetaStorage,), of_cluster),
        partition=type("Partition", (ModelledPartition,), of_cluster),
        replica=type("Replica", (ModelledReplica,), {**of_cluster, **parts}),
        row_constraints=type("RowConstraints", (ModelledConstraints,), of_cluster),
    )


def beside(models: Models, strategy: Strategy, node: str, seed: int) -> None:
    """Compare what a run seldom does beside it: groups, partitions, and builds of indexes."""
    walk(models, seed)
    walk_submissions(models, strategy, seed)
    walk_submitter(models, strategy, seed)
    walk_meta(models, strategy, seed)
    walk_locks(models, seed)
    walk_routes(models, seed)
    compare_commits(models.divergence("commit questions", node), strategy, seed)
    compare_news(models.divergence("news", node), strategy)
    compare_looks(models.divergence("looks", node))
    compare_seen(models.divergence("readers", node))
    compare_states(models.divergence("states", node))
    compare_leases(models.divergence("lease ends", node), strategy)
    compare_majorities(models.divergence("majorities", node))
    if strategy.on_activated.__name__ == "mark_at_activation":
        compare_marks(models.divergence("marks", node))
    install = strategy.install.__name__
    if install in CLOSING:
        walk_barriers(models, seed)
    if install == "install_pending_first":
        compare_steps(models.divergence("steps", node), strategy)
    if strategy.fills_index is not None or not seed % SELDOM:
        walk_entries(models, strategy, seed)
    if strategy.fills_index is not None:
        compare_forms(models.divergence("index questions", node), strategy)
        compare_statements(models.divergence("index statements", node), strategy)


def converse(exchange: Exchange, models: Models, server: Server, *, restarted: bool) -> None:
    """Compare the messages of a server with the models of its conversations."""
    PastReads(exchange, models.divergence("readers"), server.placement, server.node.settings)
    Lookups(exchange, models.divergence("constraints"), server.placement)
    if restarted:
        joins(exchange, models.divergence("submissions"))
    replica, participant = server.replica, server.replica.participant
    assert isinstance(replica, ModelledReplica), replica
    replica.begin()
    assert isinstance(participant, ModelledParticipant), participant
    participant.listen(exchange, lambda: server.metastorage.group.leader)
    AnswersModel(
        server.coordinator.transactions,
        exchange,
        models.divergence("coordinator"),
        server.coordinator.strategy,
        server.leases,
        server.node.settings,
        models.loop,
        server.node.clock,
        server.catalog,
        server.placement,
        participant.begun_cleaning,
        participant.is_stored,
        server.sync,
    )
