"""Whether a step is compatible if columns are compared by name, as in Ignite 3.

IEP-110 compares columns by id and judges each simple change. With this comparison a checker
separates breaches that follow from Ignite's reading from all others.
"""

from msgspec.structs import replace

from ddlsim.checkers.case.schemas import SchemaLog, SchemaVersion
from ddlsim.checkers.spec.spec import judged
from ddlsim.model.ddl import ColumnAdded, ColumnAltered
from ddlsim.model.schema import Column, Table


def is_compatible_by_name(schemas: SchemaLog, step: SchemaVersion) -> bool:
    """Whether each earlier column still has its name, and its type or a wider one.

    A new column counts as added with the default that it has after the statement; constraints that
    are gone are none that a row could break.
    """
    before = schemas.definition(step.object_id, step.version - 1)
    after = step.definition
    if not isinstance(before, Table) or not isinstance(after, Table):
        return False
    if before.name != after.name or not set(after.constraints) <= set(before.constraints):
        return False
    old = {column.name: column for column in before.columns}
    new = {column.name: column for column in after.columns}
    kept = all(name in new and _fits(column, new[name]) for name, column in old.items())
    added = (
        ColumnAdded(replace(column, initial_default=column.default))
        for name, column in new.items()
        if name not in old
    )
    return kept and all(judged(change).compatible for change in added)


def _fits(old: Column, new: Column) -> bool:
    same = (old.type, old.nullable, old.default) == (new.type, new.nullable, new.default)
    if same and type(old.default) is type(new.default):
        return True
    return judged(ColumnAltered(old, new)).compatible
