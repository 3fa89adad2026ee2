"""Aborts by the states of an index on the Ignite plane, which its drains are there to avoid.

A transaction from before an index was registered may not commit once its build has begun, and a
query by an index that is removed is refused. Neither state comes while such a transaction is open
on a node that answers [110.ours.index.build]. So in a run in which every node answers in time no
transaction is aborted for it.
"""

from collections.abc import Sequence

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.needless.needless import Needless
from ddlsim.checkers.rulings import OF_INDEXES
from ddlsim.history.events import TxAborted
from ddlsim.model.ddl import IndexCreated, IndexStateSet
from ddlsim.units import US_PER_MS

BUILDING = "reorganization"


def begins_build(steps: Sequence[SchemaVersion]) -> bool:
    """Whether an index is registered, and then begins to be built, on the way of these steps."""
    changes = [change for step in steps for change in step.changes]
    new = {one.index.id for one in changes if isinstance(one, IndexCreated)}
    states = [one for one in changes if isinstance(one, IndexStateSet)]
    return any(one.index_id in new and one.state == BUILDING for one in states)


def of_indexes_alone(steps: Sequence[SchemaVersion]) -> bool:
    """Whether nothing but indexes changes on the way."""
    changes = [change for step in steps for change in step.changes]
    return bool(changes) and all(isinstance(change, OF_INDEXES) for change in changes)


def undrained(case: Case, aborted: TxAborted) -> Needless | None:
    """The abort was needless where every node had answered in time."""
    limits = case.settings("election_timeout_ms")
    slowest_us = case.of_cluster.get("slowest_us")
    calm = case.of_cluster.get("calm") and slowest_us is not None and limits
    if not calm or any(event.at_us <= aborted.at_us for event in case.faults):
        return None
    if 2 * (slowest_us or 0) >= min(limits) * US_PER_MS:
        return None
    return Needless(
        "index-not-drained",
        "the next state of an index came while it was open, on a node that answers",
    )
