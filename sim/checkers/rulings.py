"""Whether a step of an object's schema is forward-compatible, on the plane of the case.

`spec` tries changes out on tuples, for indexes that a cluster builds once every transaction that
began before is over. Where transactions write entries themselves, one under the version before may
still commit behind the step, and its writes are those of the state before (strategies.md, C6):

* up by one state: nothing is lost. From absent to delete-only no entry is added yet; from
  there to write-only the backfill comes later; write-only, reorganization and public write alike.
* up by more: from absent to a state that adds entries, a row may be deleted and its entry left;
  from a state that adds none to public, a row may lack its entry.
* down: whatever it enters or leaves, no query is asked any more, and the erasure is yet to come.
"""

from collections.abc import Iterator
from typing import Final

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.spec.spec import Ruling, judged_step
from ddlsim.model.ddl import IndexCreated, IndexDropped, IndexStateSet, SimpleChange
from ddlsim.model.schema import INDEX_STATES, Table

OF_INDEXES: Final = (IndexCreated, IndexDropped, IndexStateSet)
ABSENT: Final = "absent"
LADDER: Final = (ABSENT, *INDEX_STATES)
"""The states in the order of a build."""
ADDS: Final = INDEX_STATES[1:]
"""The states in which a write adds entries."""


def ruling_of(case: Case, step: SchemaVersion) -> Ruling:
    """The ruling that decides a step: its simple changes in order, one "no" decides."""
    if not case.is_layered:
        return judged_step(step.changes, step.kind)
    others = [change for change in step.changes if not isinstance(change, OF_INDEXES)]
    found = [judged_step(others, step.kind)] if others else []
    found += _of_indexes(case, step)
    return next((ruling for ruling in found if not ruling.compatible), found[-1])


def _of_indexes(case: Case, step: SchemaVersion) -> Iterator[Ruling]:
    before = case.schemas.definition(step.object_id, step.version - 1)
    states = {one.id: one.state for one in before.indexes} if isinstance(before, Table) else {}
    for change in step.changes:
        match change:
            case IndexCreated(index=index):
                yield _moved(change, ABSENT, index.state)
            case IndexStateSet(index_id=index_id, state=state):
                yield _moved(change, states.get(index_id, ABSENT), state)
            case IndexDropped(index=index):
                yield _moved(change, states.get(index.id, ABSENT), ABSENT)


def _moved(change: SimpleChange, before: str, after: str) -> Ruling:
    """The ruling on an index that goes from one state to another."""
    clause = f"110.ours.index.{'drop' if isinstance(change, IndexDropped) else 'create'}"
    up = LADDER.index(after) - LADDER.index(before)
    if up <= 1 or before in ADDS:
        reason = f"from {before} to {after} no row lacks an entry that a query needs"
        return Ruling(compatible=True, clause=clause, reason=reason)
    why = "an entry may be left of a row that is deleted"
    if after == INDEX_STATES[-1]:
        why = "a query by the index does not find a row that is written"
    reason = f"from {before} to {after} {why} under the version before [110.fwd.3]"
    return Ruling(compatible=False, clause=clause, reason=reason, requirement="110.fwd.3")
