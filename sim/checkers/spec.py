"""The judges' own reading of IEP-110: which simple changes are forward-compatible, and by what.

Written from the document alone, as a second reading beside the protocol's. Initial schema I is
forward-compatible with commit schema C if a tuple of I may exist under C, if upgrading it loses
nothing, and if nobody who reads it under C can tell that it was written under I [110.fwd.1-3]. Only
the kind of a change is considered, never what a transaction wrote. The text is silent on new
constraints and indexes: [110.ours.constraint.add] and [110.ours.index.unique] are "no",
[110.ours.index.create], while it is only registered, and [110.ours.index.drop] are "yes".

Backward compatibility is what the design's `backward` rule lets a reader on an older schema meet:
`forbid_all` lets it meet nothing, and so does `off`, for a design that has switched its check off
has no rule that could excuse it. `by_change_type` admits rows of newer schemas where each step
between only added or renamed columns or had to do with indexes that are not unique: such a row,
downgraded by column ids, is one that the older schema could have had. `by_tuple` looks at the row
itself as well (`rows.fits`).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from sim.checkers.rows import is_same_value
from sim.checkers.types import is_exact_widening
from sim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    IndexCreated,
    IndexDropped,
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    SimpleChange,
    ZoneAltered,
)
from sim.model.schema import Column


class Ruling(NamedTuple):
    """Whether a change is forward-compatible, the clause that decided, and why."""

    compatible: bool
    clause: str
    reason: str


class NoRuleError(AssertionError):
    """A change that no rule judges: a programming error, never "compatible"."""


def _yes(clause: str, reason: str) -> Ruling:
    return Ruling(compatible=True, clause=clause, reason=reason)


def _no(clause: str, reason: str) -> Ruling:
    return Ruling(compatible=False, clause=clause, reason=reason)


_BY_KIND: Final[dict[type, Ruling]] = {
    ObjectCreated: _yes("110.table.create", "nobody used it before it was created"),
    ObjectDropped: _no("110.table.drop", "it does not exist in the commit schema"),
    ObjectRenamed: _no("110.table.rename", "its name does not exist in the commit schema"),
    ColumnDropped: _no("110.column.drop", "an upgraded tuple holds less than the one written"),
    ColumnRenamed: _yes("110.column.rename", "columns are known by their ids"),
    ConstraintAdded: _no("110.ours.constraint.add", "an old tuple may break the new constraint"),
    ConstraintDropped: _yes("110.constraint.drop", "what obeyed it may exist without it"),
    IndexDropped: _yes("110.ours.index.drop", "an index holds nothing that the table does not"),
    ZoneAltered: _yes("110.zone", "it affects no tuple"),
}
"""The rules that ask for nothing but the kind of the change."""


def rulings(change: SimpleChange) -> list[Ruling]:
    """Every rule that a simple change matches, in the document's order [110.mixed]."""
    found = _BY_KIND.get(type(change))
    if found is not None:
        return [found]
    if isinstance(change, ColumnAdded):
        return [_added(change.column)]
    if isinstance(change, IndexCreated):
        return [_indexed(change)]
    if isinstance(change, ColumnAltered):
        altered = _altered(change.before, change.after)
        if altered:
            return altered
    raise NoRuleError(f"no rule judges {change!r}")


def judged(change: SimpleChange) -> Ruling:
    """The rule that decides a simple change: the first "no", else the last "yes"."""
    return _decisive(rulings(change))


def forward_compatible(change: SimpleChange) -> bool:
    """Whether a simple change is forward-compatible."""
    return judged(change).compatible


def judged_step(changes: Iterable[SimpleChange]) -> Ruling:
    """The rule that decides a compound change: its simple changes in order, one "no" decides."""
    found = [ruling for change in changes for ruling in rulings(change)]
    if not found:
        raise NoRuleError("a step without changes")
    return _decisive(found)


def _decisive(found: list[Ruling]) -> Ruling:
    return next((ruling for ruling in found if not ruling.compatible), found[-1])


def _added(column: Column) -> Ruling:
    if column.nullable or column.default is not None:
        return _yes("110.column.add", "the absence of a value is nullable or has a default")
    return _no("110.column.add", f"{column.name} is NOT NULL and has no default")


def _indexed(change: IndexCreated) -> Ruling:
    if change.index.unique:
        return _no("110.ours.index.unique", "old tuples may break the uniqueness")
    return _yes("110.ours.index.create", "it is only registered, and no reader uses it yet")


def _altered(before: Column, after: Column) -> list[Ruling]:
    """The rules on type, nullability and default, each where it matches [110.mixed]."""
    found: list[Ruling] = []
    if before.name != after.name:
        found.append(_BY_KIND[ColumnRenamed])
    if before.nullable and not after.nullable:
        found.append(_no("110.column.nullable", "an old tuple may hold a NULL"))
    if after.nullable and not before.nullable:
        found.append(_yes("110.column.nullable", "a value that is there may be nullable"))
    if not _same_default(before, after):
        found.append(_no("110.column.default", "a reader could tell which default was meant"))
    if before.type != after.type:
        sentence = f"{before.type} to {after.type}"
        if is_exact_widening(before.type, after.type):
            found.append(_yes("110.column.type", f"{sentence} keeps each value exactly"))
        else:
            found.append(_no("110.column.type", f"{sentence} is no exact widening"))
    return found


def _same_default(before: Column, after: Column) -> bool:
    """Whether the default is the value that it was, if told under another type."""
    return is_same_value(before.default, before.type, after.default)


# --- backward compatibility ----------------------------------------------------------------------


def harmless_to_older(changes: Iterable[SimpleChange]) -> bool:
    """Whether any row written after these changes, downgraded, is one of the schema before."""
    return all(
        isinstance(change, ColumnAdded | ColumnRenamed | IndexDropped | ObjectCreated)
        or (isinstance(change, IndexCreated) and not change.index.unique)
        for change in changes
    )


def judgeable_by_row(changes: Iterable[SimpleChange]) -> bool:
    """Whether the contents of a row can tell if it is one of the schema before these changes.

    A dropped column's values are gone, and what a dropped constraint asked is not known here.
    """
    return all(
        isinstance(change, ColumnAltered) or harmless_to_older([change]) for change in changes
    )
