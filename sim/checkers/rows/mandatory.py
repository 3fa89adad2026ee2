"""Rows without a value of a column that every row must have one of, part of I7.

A NOT NULL column without default that is added, and one that becomes NOT NULL, promises from its
activation on that no row lacks a value; one that is pending promises nothing of the rows before it
until it is confirmed. Whether a
row that broke the promise is still there when all has come to rest does not matter.
"""

from collections.abc import Iterator

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.schemas import SchemaVersion
from ddlsim.checkers.case.writes import Version, Writes, the_row
from ddlsim.model.ddl import ColumnAdded, ColumnAltered, SimpleChange
from ddlsim.model.pending import ColumnConfirmed
from ddlsim.model.schema import Column
from ddlsim.units import show


def rows_without_values(case: Case, writes: Writes) -> Iterator[Anomaly]:
    """Each row that was there without a value when the promise began to hold."""
    for step in case.schemas.all_steps():
        promised = {one: column for one in step.changes if (column := _promised(one)) is not None}
        for change, column in promised.items():
            clause = "110.column.nullable" if isinstance(change, ColumnAltered) else "110.later.2"
            for item in writes.versions:
                if item[0] != step.object_id:
                    continue
                there = writes.newest_at(item, step.activation_ts - 1)
                if there is not None and _lacks(writes, there, step.version, column):
                    yield _without(case, step, there, column, clause)


def _promised(change: SimpleChange) -> Column | None:
    """The column of which every row has a value from this change on, if there is one.

    With a default older rows show that: nothing is to be judged.
    """
    if isinstance(change, ColumnConfirmed):
        return None if change.column.nullable else change.column
    if isinstance(change, ColumnAltered):
        return change.after if change.before.nullable and not change.after.nullable else None
    if not isinstance(change, ColumnAdded):
        return None
    column = change.column
    return column if not column.nullable and column.initial_default is None else None


def _lacks(writes: Writes, there: Version, version: int, column: Column) -> bool:
    due = writes.due(there.write, version)
    if due is None or due[0] is None:  # not in the history, or a deletion
        return False
    return dict(due[0]).get(column.id) is None


def _without(
    case: Case, step: SchemaVersion, there: Version, column: Column, clause: str
) -> Anomaly:
    event = there.write.event
    row = the_row(case, step.object_id, event.key, event.version)
    return Anomaly(
        "missing-value",
        f"{row}, as {there.write.tx} had left it at {show(there.commit_ts)}, had no "
        f"value of {column.name}, which is NOT NULL in version {step.version}, active since "
        f"{show(step.activation_ts)}",
        (event, case.history.events[there.committed_at], *case.schemas.logged(step)),
        clauses=(clause,),
    )
