"""The changes of a statement where columns are compared by name, before and after (Ignite 3).

IEP-110 judges a compound statement as its simple changes in order, and identifies columns by ids.
The shipped code sets the table before the statement beside the table after it and compares columns
of equal names: what is changed and changed back is no change, and a column that is dropped and
added again is the column that was there, though no row shows its old values any more.
"""

from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ObjectChange,
    SimpleChange,
)
from ddlsim.model.schema import Column, Table

OF_COLUMNS = (ColumnAdded, ColumnAltered, ColumnDropped, ColumnRenamed)
Names = dict[str, Column | None]


def difference(step: ObjectChange) -> tuple[SimpleChange, ...]:
    """The differences of columns by name, and whatever else the step consists of, as it is."""
    before, after = _touched(step)
    gone = {name: column for name, column in before.items() if after[name] is None}
    found: list[SimpleChange] = []
    for name, old in before.items():
        new = after[name]
        if old is None and new is not None:
            former = _same_column(new, gone)
            if former is not None:
                del gone[former.name]
                found.append(ColumnRenamed(new.id, former.name, name))
            else:
                found.append(ColumnAdded(new))
        elif old is not None and new is not None and shape(old) != shape(new):
            found.append(ColumnAltered(old, new))
    found += [ColumnDropped(column) for column in gone.values() if column is not None]
    return (*found, *(one for one in step.changes if not isinstance(one, OF_COLUMNS)))


def _touched(step: ObjectChange) -> tuple[Names, Names]:
    """What each name that the step touches meant before it and means after it."""
    before: Names = {}
    after: Names = {}

    def now_means(name: str, old: Column | None, new: Column | None) -> None:
        before.setdefault(name, old)
        after[name] = new

    known = _columns(step)
    for change in step.changes:
        match change:
            case ColumnAdded(column=column):
                now_means(column.name, None, column)
            case ColumnDropped(column=column):
                now_means(column.name, column, None)
            case ColumnAltered(before=old, after=new):
                now_means(old.name, old, new)
            case ColumnRenamed(column_id=column_id, old_name=old_name, new_name=new_name):
                column = after.get(old_name) or _renamed(known[column_id], old_name)
                now_means(old_name, column, None)
                now_means(new_name, None, _renamed(column, new_name))
    return before, after


def _columns(step: ObjectChange) -> dict[int, Column]:
    """Each column as the step first mentions it, or else as it is after the step."""
    found: dict[int, Column] = {}
    for change in step.changes:
        if isinstance(change, ColumnAdded | ColumnDropped):
            found.setdefault(change.column.id, change.column)
        elif isinstance(change, ColumnAltered):
            found.setdefault(change.before.id, change.before)
    if isinstance(step.definition, Table):
        for column in step.definition.columns:
            found.setdefault(column.id, column)
    return found


def _renamed(column: Column, name: str) -> Column:
    return Column(
        column.id, name, column.type, column.nullable, column.default, column.initial_default
    )


def shape(column: Column) -> tuple[object, ...]:
    """What the shipped code compares; 1 and TRUE are different defaults."""
    return (column.type, column.nullable, type(column.default), column.default)


def _same_column(new: Column, gone: Names) -> Column | None:
    """The column that was renamed to this one and is otherwise as it was."""
    for old in gone.values():
        if old is not None and old.id == new.id and shape(old) == shape(new):
            return old
    return None
