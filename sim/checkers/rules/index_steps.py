"""The updates of a statement whose index goes through states, one after the other."""

from ddlsim.checkers.case.case import Case
from ddlsim.history.events import UpdateLogged
from ddlsim.model.ddl import IndexCreated, IndexStateSet
from ddlsim.model.schema import PUBLIC


def sets_states(update: UpdateLogged) -> bool:
    """Whether an update does nothing but give an index another state."""
    changes = [change for one in update.objects for change in one.changes]
    return bool(changes) and all(isinstance(change, IndexStateSet) for change in changes)


def decisive(case: Case, op: str) -> UpdateLogged | None:
    """The update that does what a statement says: the last one.

    Where its index goes through states, the one that creates or drops it; what drops it again
    because it cannot be built is none.
    """
    updates = [update for _, update in case.schemas.updates if update.op == op]
    own = [update for update in updates if not sets_states(update)]
    in_states = any(
        isinstance(change, IndexCreated) and change.index.state != PUBLIC
        for update in own
        for one in update.objects
        for change in one.changes
    )
    return own[0 if in_states else -1] if own else None
