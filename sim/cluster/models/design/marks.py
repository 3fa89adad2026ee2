"""The model of rollback-only marks: the bound that a transaction has where its commit begins.

A mark is set when an update becomes known and where the old version is enlisted after that, so that
a transaction has at its commit the least Tu of all updates known here by which something that it
has enlisted can no longer commit, and no other bound [110.valid.3]. The commit check would refuse
it too, later: no judge of outcomes can tell.
"""

from ddlsim.cluster.models.design.rule_forms import judgement
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp, show


class KnownUpdates:
    """The activations of the updates that each node's coordinator has been given to mark for."""

    def __init__(self, divergence: Divergence) -> None:
        self._divergence = divergence
        self._activations: dict[str, dict[Timestamp, None]] = {}

    def given(self, node: str, activation_ts: Timestamp) -> None:
        """An update is known at a node from here on: marks are set within the step."""
        self._activations.setdefault(node, {})[activation_ts] = None

    def compare(self, coordinator: CoordinatorPart, tx: Transaction) -> None:
        """Compare the bound of a transaction whose commit begins."""
        known = self._activations.get(coordinator.node.name)
        if not known:
            return
        due = min((ts for ts in known if _is_doomed(coordinator, tx, ts)), default=None)
        if tx.bound_ts != due:
            has, should = ("none" if one is None else show(one) for one in (tx.bound_ts, due))
            self._divergence.found(f"{tx.id.label} is bound by {has}, and should be by {should}")


def _is_doomed(coordinator: CoordinatorPart, tx: Transaction, ts: Timestamp) -> bool:
    judge, catalog = judgement(coordinator.strategy), coordinator.sync.catalog
    return any(
        judge(catalog.steps(one.object_id, one.version, ts)) is not None
        for one in tx.by_id.values()
    )
