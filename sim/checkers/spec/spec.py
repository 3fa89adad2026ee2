"""The judges' own reading of IEP-110: which simple changes are forward-compatible, and by what.

There is no table of verdicts. A simple change is turned into the state of its object before and
after it, and the oracle (`oracle`) tries out on actual tuples whether the three requirements
hold [110.fwd.1-3]. Only the *kind* of a change counts, never what a transaction wrote or what else
the table has: so each change is tried on the least table that can undergo it, and a change of a
column's nullability, default and type is three changes, each tried on a column that has nothing
else about it [110.mixed]. What is read from the clauses here is only their names.

Indexes are registered by the change that creates them, and not built [110.ours.index.create].

Backward compatibility is what the design's `backward` rule lets a reader on an older schema meet:
`forbid_all` lets it meet nothing, and so does `off`, for a design that has switched its check off
has no rule that could excuse it. `by_change_type` admits rows of newer schemas where each step
between only added or renamed columns or had to do with indexes that are not unique: such a row,
downgraded by column ids, is one that the older schema could have had. `by_tuple` looks at the row
itself as well (`rows.fits`).
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec.structs import replace

from ddlsim.checkers.spec.oracle import breach
from ddlsim.checkers.spec.tuples import NOTHING, Access, State
from ddlsim.checkers.spec.types import read
from ddlsim.model.aliased import ObjectAliased
from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    SimpleChange,
    ZoneAltered,
)
from ddlsim.model.pending import ColumnConfirmed, ColumnPending, PendingChange
from ddlsim.model.schema import Column, ColumnType, Index


class Ruling(NamedTuple):
    """Whether a change is forward-compatible, the clause that speaks of it, and why.

    `requirement` is the one of the three that an incompatible change breaks.
    """

    compatible: bool
    clause: str
    reason: str
    requirement: str | None = None


class NoRuleError(AssertionError):
    """A change that no rule judges: a programming error, never "compatible"."""


class Aspect(NamedTuple):
    """One thing that a change does: the clause it comes under, and its object before and after."""

    clause: str
    before: State
    after: State


KEY: Final = Column(-1, "key", ColumnType("BIGINT"), nullable=False)
"""The key of the least table; its id is no column's."""
NAME: Final = "t"


def rulings(change: SimpleChange, kind: str = "table") -> list[Ruling]:
    """What the oracle says of each aspect of a simple change, in the document's order."""
    found: list[Ruling] = []
    for aspect in aspects(change, kind):
        broken = breach(aspect.before, aspect.after)
        if broken is None:
            reason = "no tuple is refused, loses anything or shows where it is from"
            found.append(Ruling(compatible=True, clause=aspect.clause, reason=reason))
        else:
            reason = f"{broken.reason} [{broken.requirement}]"
            ruling = Ruling(compatible=False, clause=aspect.clause, reason=reason)
            found.append(ruling._replace(requirement=broken.requirement))
    return found


_remembered = lru_cache(maxsize=65536)(rulings)
"""The same; the same change is asked about for every transaction that crosses it."""


def judged(change: SimpleChange, kind: str = "table") -> Ruling:
    """The ruling that decides a simple change: the first "no", else the last "yes"."""
    return judged_step([change], kind)


def forward_compatible(change: SimpleChange, kind: str = "table") -> bool:
    """Whether a simple change is forward-compatible."""
    return judged(change, kind).compatible


def judged_step(changes: Iterable[SimpleChange], kind: str = "table") -> Ruling:
    """The ruling that decides a compound change: its simple changes in order, one "no" decides."""
    found = [ruling for change in changes for ruling in _remembered(change, kind)]
    if not found:
        raise NoRuleError("a step without changes")
    return next((ruling for ruling in found if not ruling.compatible), found[-1])


# --- what a change does to the least object that can undergo it ----------------------------------


def aspects(change: SimpleChange, kind: str = "table") -> list[Aspect]:
    """What a simple change does, one thing at a time, in the document's order [110.mixed]."""
    if isinstance(change, ZoneAltered) or kind == "zone":
        zone = State(NAME, has_tuples=False)
        return [Aspect("110.zone", zone, zone)]
    if kind == "alias" or isinstance(change, ObjectAliased):
        return [_of_alias(change)]
    if isinstance(change, ObjectCreated | ObjectDropped | ObjectRenamed):
        return [_of_object(change, kind)]
    if isinstance(change, ColumnAltered):
        return _altered(change.before, change.after)
    if isinstance(change, ColumnAdded | ColumnPending):
        return [Aspect("110.column.add", _table(), _table(change.column))]
    if isinstance(change, ColumnConfirmed):
        return [Aspect("110.later.2", _table(change.column), _table(change.column))]
    if isinstance(change, ColumnDropped):
        return [Aspect("110.column.drop", _table(change.column), _table())]
    if isinstance(change, ColumnRenamed):
        return [_renamed(change.column_id, change.old_name, change.new_name)]
    return [_of_rules(change)]


def _table(*columns: Column, name: str = NAME) -> State:
    return State(name, (KEY, *columns), (KEY.id,))


def _of_object(change: ObjectCreated | ObjectDropped | ObjectRenamed, kind: str) -> Aspect:
    """A table or view that comes, goes, or is called otherwise."""
    if isinstance(change, ObjectCreated):
        clause, before, after = "create", NOTHING, _table()
    elif isinstance(change, ObjectDropped):
        clause, before, after = "drop", _table(), NOTHING
    else:
        clause, before = "rename", _table(name=change.old_name)
        after = _table(name=change.new_name)
    return Aspect("110.view" if kind == "view" else f"110.table.{clause}", before, after)


def _of_alias(change: SimpleChange) -> Aspect:
    """An object as seen through its old name: the name stays, and ends later [110.later.3]."""
    clause, named, renamed = "110.later.3", _table(), _table(name="another name")
    if isinstance(change, ObjectAliased):
        named, renamed = _table(name=change.old_name), _table(name=change.new_name)
        return Aspect(clause, named, renamed._replace(aliases=(change.old_name,)))
    if isinstance(change, ObjectCreated):
        return Aspect(clause, NOTHING, named)
    if isinstance(change, ObjectDropped):
        return Aspect(clause, named, renamed)
    raise NoRuleError(f"no rule judges {change!r} of an alias")


def _renamed(column_id: int, old: str, new: str) -> Aspect:
    before, after = (Column(column_id, name, KEY.type) for name in (old, new))
    return Aspect("110.column.rename", _table(before), _table(after))


def _of_rules(change: SimpleChange) -> Aspect:
    """What comes or goes: constraints [110.ours.constraint.add], indexes [110.ours.index.drop].

    A unique index [110.ours.index.unique] is on trial from its registration on.
    """
    if isinstance(change, ConstraintAdded | ConstraintDropped):
        bare = _table()
        bound = bare._replace(constraints=(change.constraint.id,))
        if isinstance(change, ConstraintAdded):
            return Aspect("110.ours.constraint.add", bare, bound)
        return Aspect("110.constraint.drop", bound, bare)
    if isinstance(change, IndexCreated):
        clause = "110.ours.index.unique" if change.index.unique else "110.ours.index.create"
        bare, registered = _indexed(change.index, built=False)
        return Aspect(clause, bare, registered)
    if isinstance(change, IndexDropped):
        bare, built = _indexed(change.index, built=True)
        return Aspect("110.ours.index.drop", built, bare)
    if isinstance(change, IndexStateSet):
        return Aspect("110.ours.index.create", _table(), _table())
    raise NoRuleError(f"no rule judges {change!r}")


def _indexed(index: Index, *, built: bool) -> tuple[State, State]:
    """The least table without and with an index over columns that are no key."""
    bare = _table(*(Column(id_, f"column {id_}", KEY.type) for id_ in index.columns))
    access = Access(index.id, index.columns, index.unique, built)
    return bare, bare._replace(accesses=(access,))


def _altered(before: Column, after: Column) -> list[Aspect]:
    """Name, nullability, default and type of a column, each on a column with nothing else."""
    found: list[Aspect] = []
    bare = Column(before.id, before.name, before.type)
    if before.name != after.name:
        found.append(_renamed(before.id, before.name, after.name))
    if before.nullable != after.nullable:
        states = (_table(replace(bare, nullable=one.nullable)) for one in (before, after))
        found.append(Aspect("110.column.nullable", *states))
    if not _same_default(before, after):
        states = (
            _table(replace(bare, type=after.type, default=one.default)) for one in (before, after)
        )
        found.append(Aspect("110.column.default", *states))
    if before.type != after.type:
        retyped = replace(bare, type=after.type)
        found.append(Aspect("110.column.type", _table(bare), _table(retyped)))
    if not found:
        raise NoRuleError(f"nothing changes from {before!r} to {after!r}")
    return found


def _same_default(before: Column, after: Column) -> bool:
    """Whether the default is the one written, or the same one in the form of another type."""
    old, new = before.default, after.default
    if old is new or (type(old) is type(new) and old == new):
        return True
    return before.type != after.type and read(old, after.type) == read(new, after.type)


# --- backward compatibility ----------------------------------------------------------------------


def harmless_to_older(changes: Iterable[SimpleChange]) -> bool:
    """Whether any row written after these changes, downgraded, is one of the schema before."""
    harmless = (
        ColumnAdded | ColumnRenamed | PendingChange | IndexDropped | IndexStateSet | ObjectCreated
    )
    return all(
        isinstance(change, harmless)
        or (isinstance(change, IndexCreated) and not change.index.unique)
        for change in changes
    )


def leaves_rows_alone(changes: Iterable[SimpleChange]) -> bool:
    """Whether a row written after these changes is encoded as one before: indexes, and names."""
    return all(
        isinstance(change, IndexCreated | IndexDropped | IndexStateSet | ObjectRenamed)
        for change in changes
    )


def judgeable_by_row(changes: Iterable[SimpleChange]) -> bool:
    """Whether the contents of a row show if the schema before these changes could have had it.

    A dropped column's values are gone, and what a dropped constraint asked is not known here.
    """
    return all(
        isinstance(change, ColumnAltered) or harmless_to_older([change]) for change in changes
    )
