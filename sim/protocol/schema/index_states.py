"""Schema updates that give an index a state: created in one, or set to another."""

from collections.abc import Callable

from msgspec.structs import replace

from ddlsim.model.ddl import IndexCreated, IndexDropped, IndexStateSet, ObjectChange
from ddlsim.model.schema import Index, Table
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.ddl_answers import changed, evolve

Definition = Callable[[int, int], object]
"""The object with an id at a version; what is no table where it is none."""


def created_in(change: ObjectChange, state: str) -> ObjectChange:
    """A change that creates an index, with the index in a state."""
    table = change.definition
    assert isinstance(table, Table), change
    created = next(one.index for one in change.changes if isinstance(one, IndexCreated))
    index = replace(created, state=state)
    indexes = tuple(index if one.id == index.id else one for one in table.indexes)
    return replace(
        change, definition=evolve(table, indexes=indexes), changes=(IndexCreated(index),)
    )


def set_to(table: Table, index: Index, state: str) -> ObjectChange:
    """The change that gives an index of a table another state."""
    assert index.state != state, f"{index.name} is {state} already"
    new = replace(index, state=state)
    indexes = tuple(new if one.id == index.id else one for one in table.indexes)
    after = evolve(table, version=table.version + 1, indexes=indexes)
    return changed(after, (IndexStateSet(index.id, state),))


def removed(table: Table, index: Index) -> ObjectChange:
    """The change that removes an index from its table."""
    left = tuple(one for one in table.indexes if one.id != index.id)
    after = evolve(table, version=table.version + 1, indexes=left)
    return changed(after, (IndexDropped(index),))


def index_of(snapshot: Snapshot, table_id: int, index_id: int) -> tuple[Table, Index] | None:
    """A table and one of its indexes, by ids; None where either is gone."""
    table = snapshot.by_id(table_id)
    if not isinstance(table, Table):
        return None
    found = next((one for one in table.indexes if one.id == index_id), None)
    return None if found is None else (table, found)


def had_state(definition: Definition, table: Table, index_id: int, state: str) -> bool:
    """Whether an index has, or had, a state in some version of its table up to this one."""
    for version in range(table.version, 0, -1):
        known = definition(table.id, version)
        if not isinstance(known, Table):
            continue
        index = next((one for one in known.indexes if one.id == index_id), None)
        if index is None:
            return False
        if index.state == state:
            return True
    return False
