"""The difference of two versions of an object by ids, whatever happened between them.

IEP-110 judges every step on the way from I to C [110.compat.steps]. The other choice is to compare
only the ends: what was added and dropped again is no difference, and neither is a default that was
set and set back, or a name. A column, a constraint and an index are their ids [110.compat.id], so
that a column of the same name is another one.
"""

from collections.abc import Iterable
from typing import Final

from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    IndexCreated,
    IndexDropped,
    ObjectChange,
    ObjectRenamed,
    SimpleChange,
)
from ddlsim.model.pending import ColumnPending
from ddlsim.protocol.schema.by_name import shape

OF_COLUMNS: Final = (ColumnAdded, ColumnAltered, ColumnDropped, ColumnPending, ColumnRenamed)


def difference(steps: Iterable[ObjectChange]) -> tuple[SimpleChange, ...]:
    """The simple changes that lead from the version before the steps to the one after them."""
    changes = [change for step in steps for change in step.changes]
    columns = [change for change in changes if isinstance(change, OF_COLUMNS)]
    others = [change for change in changes if not isinstance(change, OF_COLUMNS)]
    return (*_of_columns(columns), *_of_others(others))


def _of_columns(changes: Iterable[SimpleChange]) -> list[SimpleChange]:
    """Columns that are new, each as it is in the end, that are gone, and that are otherwise."""
    added: dict[int, ColumnAdded] = {}
    dropped: list[SimpleChange] = []
    altered: dict[int, ColumnAltered] = {}
    for change in changes:
        match change:
            case ColumnAdded(column=column) | ColumnPending(column=column):
                added[column.id] = ColumnAdded(column)
            case ColumnDropped(column=column):
                altered.pop(column.id, None)
                if added.pop(column.id, None) is None:
                    dropped.append(change)
            case ColumnAltered(before=before, after=after) if after.id in added:
                added[after.id] = ColumnAdded(after)
            case ColumnAltered(before=before, after=after):
                first = altered.get(after.id)
                altered[after.id] = ColumnAltered(first.before if first else before, after)
            case _:
                pass  # renamed: still the same column
    otherwise = [one for one in altered.values() if shape(one.before) != shape(one.after)]
    return [*added.values(), *dropped, *otherwise]


def _of_others(changes: Iterable[SimpleChange]) -> list[SimpleChange]:
    """Constraints and indexes that are new or gone, the name, and all that cannot be undone."""
    made: dict[int, SimpleChange] = {}
    renamed: ObjectRenamed | None = None
    rest: list[SimpleChange] = []
    for change in changes:
        match change:
            case ConstraintAdded(constraint=part) | IndexCreated(index=part):
                made[part.id] = change
            case ConstraintDropped(constraint=part) | IndexDropped(index=part):
                if made.pop(part.id, None) is None:
                    rest.append(change)
            case ObjectRenamed(old_name=old, new_name=new):
                renamed = ObjectRenamed(renamed.old_name if renamed else old, new)
            case _:
                rest.append(change)
    if renamed is not None and renamed.old_name != renamed.new_name:
        rest.append(renamed)
    return [*made.values(), *rest]
