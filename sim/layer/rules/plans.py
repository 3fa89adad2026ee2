"""The steps of a statement, and what writes a backfill's entries.  [plan, writes_entries]

Adding an index is the change that takes steps: rows that exist need entries, and rows that are
written meanwhile too. `direct` does all of it in the transaction of the statement. The others go
through the states of an index, a schema update for each.
"""

from typing import Final

from ddlsim.layer.backfill import work_of
from ddlsim.layer.design import Building, LayerPart, OwnIndex, Step
from ddlsim.layer.store import StoreTransaction
from ddlsim.model.ddl import (
    AlterTable,
    ConstraintAdded,
    CreateIndex,
    DropIndex,
    DropTable,
    ObjectChange,
    Statement,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import PUBLIC
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl import Built, NoOp, Refused, build
from ddlsim.protocol.schema.ddl_answers import refuse
from ddlsim.protocol.schema.index_states import created_in, index_of, removed, set_to

DELETE_ONLY, WRITE_ONLY, REORGANIZATION = "delete_only", "write_only", "reorganization"
GONE: Final = Refused(Reason.DDL_CONFLICT, "the index was dropped before it was built")
DROPPED: Final = NoOp("the index is dropped already")
Steps = tuple[Step, ...] | Refused


def of_statement(statement: Statement) -> Building:
    """Builds the statement itself."""
    return lambda snapshot, _own: build(statement, snapshot, snapshot.next_object_id)


def in_state(statement: CreateIndex, state: str) -> Building:
    """Builds the statement, with its index in a state."""

    def building(snapshot: Snapshot, _own: OwnIndex | None) -> Built | NoOp | Refused:
        built = build(statement, snapshot, snapshot.next_object_id)
        if not isinstance(built, Built):
            return built
        return Built(tuple(created_in(one, state) for one in built.objects))

    return building


def setting(state: str, gone: NoOp | Refused = GONE) -> Building:
    """Builds the next state of the statement's own index; `gone` where it is dropped by now."""

    def building(snapshot: Snapshot, own: OwnIndex | None) -> Built | NoOp | Refused:
        found = None if own is None else index_of(snapshot, *own)
        if found is None:
            return gone
        if found[1].state == state:
            return NoOp(f"index {found[1].name!r} is so already")
        return Built((set_to(*found, state),))

    return building


def lowered(statement: DropIndex) -> Building:
    """The first step of a drop, refused as the statement is, or while another one is under way."""

    def building(snapshot: Snapshot, own: OwnIndex | None) -> Built | NoOp | Refused:
        if own is not None:
            return setting(WRITE_ONLY, DROPPED)(snapshot, own)
        table = snapshot.index_owner(statement.name)
        if table is None:
            return build(statement, snapshot, snapshot.next_object_id)
        index = next(one for one in table.indexes if one.name == statement.name)
        if index.state != PUBLIC:
            what = f"another statement is changing index {statement.name!r}; try again"
            return Refused(Reason.DDL_CONFLICT, what)
        return Built((set_to(table, index, WRITE_ONLY),))

    return building


def taken_away(statement: DropIndex) -> Building:
    """Builds a drop, or the last step of one: that of the statement's own index."""

    def building(snapshot: Snapshot, own: OwnIndex | None) -> Built | NoOp | Refused:
        if own is None:
            return build(statement, snapshot, snapshot.next_object_id)
        found = index_of(snapshot, *own)
        return DROPPED if found is None else Built((removed(*found),))

    return building


# --- plans ----------------------------------------------------------------------------------------


def direct(statement: Statement) -> Steps:
    """One update; entries are written, or erased, in its transaction."""
    return (Step(of_statement(statement), inside=True),)


def three_states(statement: Statement) -> Steps:
    """A new index is write-only, then filled, then public; all else is direct.

    Enough where no transaction commits under an older version than is in force (C6-C1). Dropped
    indexes are erased behind the wait.
    """
    return _write_only_first(statement) or direct(statement)


def three_states_alone(statement: Statement) -> Steps:
    """As three_states; what is written before an update is in force follows the last one (C8-C11).

    So an update cannot change entries or judge rows in its own transaction.
    """
    return _write_only_first(statement) or _without_rows(statement, checks=True)


def _write_only_first(statement: Statement) -> tuple[Step, ...]:
    if isinstance(statement, CreateIndex):
        return (
            Step(in_state(statement, WRITE_ONLY), after=True),
            Step(setting(PUBLIC)),
        )
    if isinstance(statement, DropIndex):
        return (Step(taken_away(statement), after=True),)
    if isinstance(statement, DropTable):
        return (Step(of_statement(statement), after=True),)
    return ()


def _without_rows(statement: Statement, *, checks: bool) -> tuple[Step, ...]:
    """One update, refused where it needs rows; what it drops is erased behind the wait.

    A new CHECK is refused too, where rows may be written under the version before: not `checks`.
    """

    def building(snapshot: Snapshot, _own: OwnIndex | None) -> Built | NoOp | Refused:
        built = build(statement, snapshot, snapshot.next_object_id)
        if not isinstance(built, Built):
            return built
        if any(work.needs_rows for work in work_of(built.objects, snapshot)):
            return refuse("this design cannot change rows or entries with the schema")
        if not checks and any(_adds_check(one) for one in built.objects):
            return refuse("this design cannot add a CHECK, which has no states, to a table")
        return built

    alters = isinstance(statement, AlterTable | DropTable)
    return (Step(building, after=alters),)


def all_states(statement: Statement) -> Steps:
    """Delete-only, write-only, reorganization with the backfill, public; drops backwards (C6)."""
    return _states(statement, (DELETE_ONLY, WRITE_ONLY, REORGANIZATION, PUBLIC))


def all_states_up(statement: Statement) -> Steps:
    """As all_states for a new index; a drop is one update, its entries are erased behind the wait.

    The thread's example of two cutoffs: queries end at the first one, writes of entries at the
    second, and "delete the index data after the write-cutoff-version" (C10).
    """
    if isinstance(statement, DropIndex):
        return (Step(taken_away(statement), after=True),)
    return all_states(statement)


def straight_to_public(statement: Statement) -> Steps:
    """Public at once, filled in the same transaction (C6-T1)."""
    if isinstance(statement, DropIndex):
        return all_states(statement)
    return direct(statement)


def without_delete_only(statement: Statement) -> Steps:
    """Begins with write-only (C6-T2)."""
    return _states(statement, (WRITE_ONLY, REORGANIZATION, PUBLIC))


def without_write_only(statement: Statement) -> Steps:
    """Filled while it is delete-only, then public (C6-T3)."""
    return _states(statement, (DELETE_ONLY, PUBLIC))


def without_reorganization(statement: Statement) -> Steps:
    """Filled in write-only: what was sent under delete-only may still commit (C6)."""
    return _states(statement, (DELETE_ONLY, WRITE_ONLY, PUBLIC))


def backfill_too_early(statement: Statement) -> Steps:
    """Filled as soon as write-only is committed, while delete-only is in use (C6-T5)."""
    steps = _states(statement, (DELETE_ONLY, WRITE_ONLY, PUBLIC))
    if isinstance(steps, Refused) or not isinstance(statement, CreateIndex):
        return steps
    return tuple(one._replace(early=one.after) for one in steps)


def _states(statement: Statement, states: tuple[str, ...]) -> Steps:
    """Through these states to a new index; the one before public is filled."""
    if isinstance(statement, CreateIndex):
        first = (Step(in_state(statement, states[0]), after=len(states) == 2),)
        return first + tuple(
            Step(setting(state), after=place == len(states) - 2)
            for place, state in enumerate(states[1:], 1)
        )
    if isinstance(statement, DropIndex):
        down = (Step(lowered(statement)), Step(setting(DELETE_ONLY, DROPPED)))
        return (*down, Step(taken_away(statement), after=True))
    return _without_rows(statement, checks=False)


def _adds_check(change: ObjectChange) -> bool:
    return change.version > 1 and any(
        isinstance(one, ConstraintAdded) and one.constraint.kind == "check"
        for one in change.changes
    )


# --- a backfill's transactions  [writes_entries] --------------------------------------------------


def the_same(_layer: LayerPart, reading: StoreTransaction) -> StoreTransaction:
    """The transaction that read the rows: a row that has changed since makes it fail."""
    return reading


def another(layer: LayerPart, _reading: StoreTransaction) -> StoreTransaction:
    """One of its own: entries are written of rows that may be gone (C6-T6)."""
    return layer.store.transaction()
