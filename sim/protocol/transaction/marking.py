"""Rollback-only marks on what an incompatible change dooms: the bound commit_ts < Tu [110.valid.3].

A mark never undoes a commit_ts that is fixed already; outcomes do not depend on it. A transaction
may enlist the old version until that ends, long after the change is known: so transactions are
checked when a change is applied here, when they enlist a version whose end is known, and at Tu.
"""

from ddlsim.model.reasons import Reason
from ddlsim.protocol.meta_commands import AppliedUpdate
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction_record import ACTIVE, Enlistment, Transaction
from ddlsim.units import Timestamp, show


class Marks:
    """A coordinator's marks on its open transactions, and the updates that may call for one."""

    def __init__(self, coordinator: CoordinatorPart) -> None:
        self.node = coordinator.node
        self.strategy = coordinator.strategy
        self._coordinator = coordinator
        self._updates: dict[int, list[AppliedUpdate]] = {}

    def watch(self, applied: AppliedUpdate) -> None:
        """Handle a schema update that this node's catalog has applied."""
        for change in applied.update.objects:
            self._updates.setdefault(change.object_id, []).append(applied)
        self.node.spawn(self.strategy.on_activated(self._coordinator, applied))

    def enlisted(self, tx: Transaction, enlistment: Enlistment) -> None:
        """Handle the enlistment of a version whose end this node may have applied already."""
        if tx.read_ts is not None:
            return
        for applied in self._updates.get(enlistment.object_id, ()):
            if any(
                change.object_id == enlistment.object_id and change.version > enlistment.version
                for change in applied.update.objects
            ):
                self.node.probe("enlisted-before-activation")
                self.node.spawn(self.strategy.on_activated(self._coordinator, applied))

    def mark_incompatible(self, applied: AppliedUpdate) -> list[Transaction]:
        """Bound the commit_ts of open transactions that would not pass the commit check at Tu."""
        marked: list[Transaction] = []
        bound = applied.activation_ts
        for tx in self._coordinator.transactions.values():
            if tx.read_ts is None and self._is_doomed(tx, bound):  # else it has taken effect
                tx.bound_ts = bound if tx.bound_ts is None else min(bound, tx.bound_ts)
                assert tx.bound_ts <= bound, f"{tx.id.label} may commit at {show(bound)} and later"
                marked.append(tx)
        return marked

    def _is_doomed(self, tx: Transaction, ts: Timestamp) -> bool:
        return any(self._is_broken(enlistment, ts) for enlistment in tx.by_id.values())

    def _is_broken(self, enlistment: Enlistment, ts: Timestamp) -> bool:
        """Whether what was enlisted does not pass the commit check at a timestamp."""
        catalog = self._coordinator.sync.catalog
        steps = catalog.steps(enlistment.object_id, enlistment.version, ts)
        return bool(steps) and self.strategy.check_commit(steps) is not None

    def forgotten(self, tx: Transaction) -> None:
        """The bound of what is enlisted still, where something is so no more [110.quirk]."""
        if tx.bound_ts is not None:
            bounds = [
                applied.activation_ts
                for enlistment in tx.by_id.values()
                for applied in self._updates.get(enlistment.object_id, ())
                if self._is_broken(enlistment, applied.activation_ts)
            ]
            tx.bound_ts = min(bounds, default=None)

    def roll_back_marked(self, marked: list[Transaction]) -> None:
        """Roll back what is still active of the marked transactions: it can only fail.

        Not if it may still enlist anew all that dooms it: the bound stays until it does.
        """
        for tx in marked:
            if tx.state is ACTIVE and not self._may_go_on(tx):
                self.node.probe("marked-rollback")
                self._coordinator.completion.abort(tx, Reason.ROLLBACK_ONLY)

    def _may_go_on(self, tx: Transaction) -> bool:
        """Whether the design may enlist anew all that dooms it: nothing has run on it [110.quirk].

        An operation that is under way may turn out to have run; then only the bound is left.
        """
        may, now = self.strategy.enlists_again, self.node.clock.current()
        return may(0) and all(
            may(int(one.table.id in tx.ran)) or not self._is_broken(one, now)
            for one in tx.by_id.values()
        )

    def uses(self, object_ids: tuple[int, ...]) -> bool:
        """Whether an open transaction has enlisted one of these objects."""
        return any(
            tx.state is ACTIVE and any(one in tx.by_id for one in object_ids)
            for tx in self._coordinator.transactions.values()
        )

    def abort_users(self, object_ids: tuple[int, ...]) -> None:
        """Roll back the open transactions that have enlisted one of these objects."""
        for tx in list(self._coordinator.transactions.values()):
            if tx.state is ACTIVE and any(one in tx.by_id for one in object_ids):
                self._coordinator.completion.abort(tx, Reason.ROLLBACK_ONLY)
