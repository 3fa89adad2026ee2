"""Whether an update gives out an id that was used before; part of I12.

Objects, their indexes and their constraints have ids of one kind, the columns of a table have those
of another. Neither is used again, not even within one statement [110.compat.id]: what is dropped
leaves rows and entries behind that name it by its id.
"""

from collections.abc import Iterator

from ddlsim.history.events import UpdateLogged
from ddlsim.model.ddl import ColumnAdded, ConstraintAdded, IndexCreated, ObjectChange
from ddlsim.model.schema import Table


def reused(update: UpdateLogged, used: dict[int, dict[int, None]]) -> str | None:
    """The reason if an id of an object, its parts or a column is given out again; notes them."""
    why = None
    for change in update.objects:
        for given in _given_out(change):
            if given in used:
                why = f"id {given} was used before"
            used.setdefault(given, {})
        known = used.setdefault(change.object_id, {})
        if isinstance(change.definition, Table):
            ids = {column.id for column in change.definition.columns}
            added = [one.column.id for one in change.changes if isinstance(one, ColumnAdded)]
            if change.version > 1 and any(one in known for one in added if one in ids):
                why = f"column id {added[0]} of table {change.name!r} was used before"
            known.update(dict.fromkeys(sorted(ids)))
    return why


def _given_out(change: ObjectChange) -> Iterator[int]:
    """The ids of objects that a change gives out: indexes and constraints have some, too."""
    definition = change.definition
    if change.version == 1:
        yield change.object_id
        if isinstance(definition, Table):
            yield from (one.id for one in definition.constraints)
    for one in change.changes:
        if isinstance(one, IndexCreated):
            yield one.index.id
        elif isinstance(one, ConstraintAdded):
            yield one.constraint.id
