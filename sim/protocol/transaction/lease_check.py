"""The lease check at commit: every lease under which a transaction took locks outlasts commit_ts.

Only then were its locks held until commit_ts: a primary whose lease is over may have lost them. A
lease that ends before may have been prolonged by an update that has not arrived here. Such an
update is stamped before the lease's end; so it has arrived once safe time is at commit_ts.

Without the check two transactions could hold one lock at their commit timestamps. The leases, and
whether a node is primary when an operation arrives: `ddlsim.protocol.leases`.
"""

from ddlsim.model.reasons import Reason
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp


async def leases_outlast_commit(
    coordinator: CoordinatorPart, leases: Leases, tx: Transaction, commit_ts: Timestamp
) -> Reason | None:
    """None if every lease of the transaction lasts beyond commit_ts, else the reason to abort."""
    if lease_over_at(coordinator, leases, tx, commit_ts) is None:
        return None
    sync = coordinator.sync
    if sync.safe_time < commit_ts:
        coordinator.node.probe("commit-awaits-leases")
        await sync.safe_time_reaches(commit_ts)
    reason = lease_over_at(coordinator, leases, tx, commit_ts)
    if reason is not None:
        coordinator.node.probe("lease-over-at-commit")
    return reason


def lease_over_at(
    coordinator: CoordinatorPart, leases: Leases, tx: Transaction, commit_ts: Timestamp
) -> Reason | None:
    """The reason to abort if, by the leases that have arrived, one is over at commit_ts."""
    for place, token in tx.participants.items():
        lease = leases.of(place)
        lasts = lease if lease is not None and lease.start_ts == token.start_ts else token
        reason = coordinator.strategy.commit_lease(commit_ts, lasts.expiration_ts)
        if reason is not None:
            return reason
    return None
