"""Rollback-only marks on what an incompatible change dooms: the bound commit_ts < Tu [110.valid.3].

A mark never undoes a commit_ts that is fixed already; outcomes do not depend on it.
"""

from sim.model.ports import Node
from sim.model.reasons import Reason
from sim.protocol.commit import TransactionEnds
from sim.protocol.meta_commands import AppliedUpdate
from sim.protocol.strategy import Strategy
from sim.protocol.transaction import ACTIVE, Transaction


class Marking:
    """A coordinator's marks on its open transactions."""

    node: Node
    strategy: Strategy
    transactions: dict[str, Transaction]
    ends: TransactionEnds

    def watch(self, applied: AppliedUpdate) -> None:
        """A schema update became known on this node."""
        self.node.spawn(self.strategy.on_activated(self, applied))

    def mark_incompatible(self, applied: AppliedUpdate) -> list[Transaction]:
        """Bound the commit_ts of open transactions for which the update is incompatible."""
        marked: list[Transaction] = []
        for tx in self.transactions.values():
            if tx.read_ts is not None:
                continue  # it has taken effect at read_ts
            for change in applied.update.objects:
                enlisted = tx.by_id.get(change.object_id)
                if enlisted is None or enlisted.version >= change.version:
                    continue
                if self.strategy.check_commit((change,)) is not None:
                    bound = applied.activation_ts
                    tx.bound_ts = bound if tx.bound_ts is None else min(bound, tx.bound_ts)
                    marked.append(tx)
        return marked

    def roll_back_marked(self, marked: list[Transaction]) -> None:
        """Roll back what is still active of the marked transactions: it can only fail."""
        for tx in marked:
            if tx.state is ACTIVE:
                self.node.probe("marked-rollback")
                self.ends.abort(tx, Reason.ROLLBACK_ONLY)

    def abort_users(self, object_ids: tuple[int, ...]) -> None:
        """Roll back the open transactions that have enlisted one of these objects."""
        for tx in list(self.transactions.values()):
            if tx.state is ACTIVE and any(one in tx.by_id for one in object_ids):
                self.ends.abort(tx, Reason.ROLLBACK_ONLY)
