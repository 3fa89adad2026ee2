"""The model of rollback-only marks: the bound that a transaction has where its commit begins.

A mark is set when an update becomes known and where the old version is enlisted after that, so that
a transaction has at its commit the least Tu of all updates known here by which something that it
has enlisted can no longer commit, and no other bound [110.valid.3]. The commit check would refuse
it too, later: no judge of outcomes can tell.

Seldom are several updates of one table known and not in force yet when a transaction enlists it. So
beside each run one enlists each version of a table, before and behind the news of each update.
"""

from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from ddlsim.cluster.models.design.commit_questions import ended
from ddlsim.cluster.models.design.rule_forms import judgement
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.models.words import when
from ddlsim.model.reasons import Reason
from ddlsim.protocol.strategy import CoordinatorPart
from ddlsim.protocol.transaction.marking import Marks
from ddlsim.protocol.transaction_record import Transaction
from ddlsim.units import Timestamp, show

ENDS: Final = {2: Timestamp(20), 3: Timestamp(40), 4: Timestamp(60)}
"""The activations of the versions of a table behind its first one."""
TABLE: Final = 7
OTHER: Final = 8


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


# --- beside a run ---------------------------------------------------------------------------------


class Enlisting:
    """A coordinator's marks; of the updates of a table, `fatal` ones let nothing commit."""

    def __init__(self, fatal: tuple[bool, ...]) -> None:
        self.transactions: dict[str, Any] = {}
        self.strategy = self.sync = self.catalog = self
        self.node = SimpleNamespace(probe=lambda _: None, spawn=ended)
        self._fatal = dict(zip(ENDS, fatal, strict=True))
        self._known: list[int] = []
        part: Any = self
        self.marks = Marks(part)

    def steps(self, object_id: int, version: int, ts: Timestamp) -> list[int]:
        """The versions behind one that are known and in force."""
        known = self._known if object_id == TABLE else []
        return [one for one in known if one > version and ENDS[one] <= ts]

    def check_commit(self, steps: list[int]) -> Reason | None:
        """Refuse what crosses a fatal update."""
        return Reason.SCHEMA_INCOMPATIBLE if any(self._fatal[one] for one in steps) else None

    async def on_activated(self, _part: object, applied: Any) -> None:
        """Mark, as when an update is known; its activation is left out."""
        self.marks.mark_incompatible(applied)

    def knows(self, version: int) -> None:
        """An update is known from here on."""
        self._known.append(version)
        change = SimpleNamespace(object_id=TABLE, version=version)
        update = SimpleNamespace(objects=(change,))
        applied: Any = SimpleNamespace(activation_ts=ENDS[version], update=update)
        self.marks.watch(applied)

    def enlists(self, object_id: int, version: int, read_ts: Timestamp | None = None) -> Any:
        """A transaction that enlists one version."""
        one: Any = SimpleNamespace(object_id=object_id, version=version)
        tx: Any = SimpleNamespace(read_ts=read_ts, bound_ts=None, by_id={object_id: one})
        self.transactions[str(len(self.transactions))] = tx
        self.marks.enlisted(tx, one)
        return tx

    def due(self, version: int) -> Timestamp | None:
        """The first known end of what has enlisted a version."""
        ends = [ENDS[one] for one in self._known if one > version and self._fatal[one]]
        return min(ends, default=None)


def compare_marks(divergence: Divergence) -> None:
    """Enlist each version of a table, once so many of its updates are known."""
    for fatal in product((False, True), repeat=len(ENDS)):
        for version, behind in product((1, 2, 3), range(1, 5)):
            if version > behind:  # it is not known yet
                continue
            bench = Enlisting(fatal)
            for known in range(2, behind + 1):
                bench.knows(known)
            tx, others = bench.enlists(TABLE, version), [bench.enlists(OTHER, 1)]
            others.append(bench.enlists(TABLE, version, Timestamp(10)))
            for known in range(behind, len(ENDS) + 2):
                if known > behind:
                    bench.knows(known)
                what = f"version {version}, enlisted at {behind}, at {known} of {fatal}"
                due = when(bench.due(version))
                divergence.compare(f"the bound of {what}", when(tx.bound_ts), due)
            bounds = [one.bound_ts for one in others]
            divergence.compare("the bounds of a reader and of another table", bounds, [None, None])
