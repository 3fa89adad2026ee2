"""The forms of pure rules, from the clauses: the same arguments, the result that is asked for.

`side_by_side` gives the arguments at which a comparison turns, which a run seldom meets.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import permutations
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.checkers.spec.spec import judged, judged_step
from ddlsim.model.ddl import (
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
    ObjectRenamed,
)
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import (
    DEFAULT_DECIMAL_PRECISION,
    DEFAULT_LENGTH,
    FLOAT_TYPES,
    INTEGER_TYPES,
    Column,
    ColumnType,
    SchemaObject,
    Table,
)
from ddlsim.protocol.strategy import Strategy
from ddlsim.units import LOGICAL_BITS

Rule = Callable[..., Any]
OF_COLUMNS: Final = (ColumnAdded, ColumnAltered, ColumnDropped, ColumnRenamed)


def later(ts: int, by_ms: int) -> int:
    """A timestamp that is so many milliseconds later."""
    return ts + by_ms * (1 << LOGICAL_BITS)


def whole(ts: int) -> int:
    """The next timestamp of a whole millisecond, or this one if it is one."""
    tick = 1 << LOGICAL_BITS
    return -(-ts // tick) * tick


def judgement(strategy: Strategy) -> Callable[[tuple[ObjectChange, ...]], Reason | None]:
    """The design's judgement of steps by its form, or by itself where it has none."""
    rule = strategy.check_commit
    return FORMS.get(getattr(rule, "__name__", ""), rule)


def crosses_no_build(steps: Iterable[ObjectChange]) -> bool:
    """Whether no index that is created on the way begins to be built there (Apache Ignite 3)."""
    changes = [one for step in steps for one in step.changes]
    new = {one.index.id for one in changes if isinstance(one, IndexCreated)}
    states = [one for one in changes if isinstance(one, IndexStateSet)]
    return all(one.index_id not in new or one.state != "reorganization" for one in states)


def _breaks(steps: Iterable[ObjectChange]) -> Reason | None:
    """The reason if some step is not forward-compatible [110.compat.steps]."""
    if all(judged_step(step.changes, step.kind).compatible for step in steps):
        return None
    return Reason.SCHEMA_INCOMPATIBLE


def _is_table_version(step: ObjectChange) -> bool:
    """Whether the shipped catalog counts up the table's version for a step (Apache Ignite 3)."""
    kinds = {type(change) for change in step.changes}
    return bool(kinds - {IndexCreated, IndexDropped, IndexStateSet, ObjectRenamed})


def widens_as_shipped(before: ColumnType, after: ColumnType) -> bool:
    """Whether the shipped code lets a column's type become another, or stay what it is."""
    names = (before.name, after.name)
    for family in (INTEGER_TYPES, FLOAT_TYPES):
        if before.name in family and after.name in family:
            return family.index(names[0]) <= family.index(names[1])
    if names == ("DECIMAL", "DECIMAL"):
        old, new = (one.precision or DEFAULT_DECIMAL_PRECISION for one in (before, after))
        return old <= new and (before.scale or 0) == (after.scale or 0)
    if names in {("VARCHAR", "VARCHAR"), ("VARBINARY", "VARBINARY")}:
        sizes = [DEFAULT_LENGTH if one.length is None else one.length for one in (before, after)]
        return sizes[0] <= sizes[1]
    return before == after


def may_cross_as_shipped(step: ObjectChange, before: SchemaObject | None) -> bool:
    """Whether the shipped code lets a transaction cross a step (Apache Ignite 3).

    It compares the columns of a table before and after the statement by name: none is gone, each
    has its type or one that it widens to, one that is new counts as added as it is after the
    statement, and the rest as IEP-110 has it.
    """
    after = step.definition
    if not isinstance(before, Table) or not isinstance(after, Table):
        return judged_step(step.changes, step.kind).compatible
    others = [change for change in step.changes if not isinstance(change, OF_COLUMNS)]
    new = {column.name: column for column in after.columns}
    pairs = [(column, new.pop(column.name, None)) for column in before.columns]
    return (
        not (others and not judged_step(others, step.kind).compatible)
        and all(one is not None and _fits_as_shipped(old, one) for old, one in pairs)
        and all(judged(_added_as_it_is(column)).compatible for column in new.values())
    )


def _added_as_it_is(column: Column) -> ColumnAdded:
    return ColumnAdded(replace(column, initial_default=column.default))


def _fits_as_shipped(old: Column, new: Column) -> bool:
    retyped = replace(old, type=new.type)
    same = (old.nullable, old.default) == (new.nullable, new.default)
    if old.type != new.type and not widens_as_shipped(old.type, new.type):
        return False
    same = same and type(old.default) is type(new.default)
    return same or judged(ColumnAltered(retyped, replace(new, name=old.name))).compatible


FORMS: Final[dict[str, Rule]] = {
    "at_message_plus_delay": later,
    "activation_plus_skew_rounded": lambda ts, skew_ms: whole(later(ts, skew_ms)),
    "activation_plus_skew": later,
    "largest_delay": lambda own, cluster: max(cluster, own),
    "agreed_delay": lambda cluster: cluster,
    "tick_of_its_term": lambda tick, log: tick == log,
    "new_stamp": lambda _first, now: now,
    "as_far_as_the_log": lambda ts: ts,
    "after_the_last_activation": lambda ts, last: ts if ts > last else last + 1,
    "expired_everywhere": later,
    "keep_the_laggard": lambda _behind, _laggard: True,
    "same_token": lambda one, other: one == other,
    "while_the_lease_lasts": lambda ts, end: Reason.PRIMARY_EXPIRED if ts >= end else None,
    "same_decision": lambda decided, _now: decided,
    "recovery_aborts": lambda _now: None,
    "single_writes": lambda action, implicit: implicit and action in ("put", "delete"),
    "up_to_ten_times": lambda attempts: attempts <= 9,
    "safely_in_the_past": lambda session, now, lag, skew: max(
        [later(now, -lag - skew), *([] if session is None else [session])]
    ),
    "at_begin": lambda _now, begin, _created: begin,
    "must_equal_enlisted": lambda client, enlisted: client == enlisted,
    "client_retry": lambda _ran: False,
    "coordinator_retry": lambda ran: not ran,
    "must_be_same_schema": lambda one, other, _steps: (
        Reason.SCHEMA_CHANGED if one != other else None
    ),
    "must_exist": lambda version: Reason.TABLE_DROPPED if version == 0 else None,
    "each_step_forward_compatible": _breaks,
    "judge_writes_and_queries": lambda *, wrote, queried: wrote or queried,
    "judge_every_commit": lambda *, wrote, queried: wrote or queried or True,
    "once_the_limit_has_come": lambda limit: limit,
    "at_enlistment": lambda now, _begin, _created: now,
    "not_newer_than_initial": lambda row, initial: (
        Reason.NEWER_ROW_VERSION if row > initial else None
    ),
    "same_table_version": lambda _initial, _current, steps: (
        Reason.SCHEMA_CHANGED if [step for step in steps if _is_table_version(step)] else None
    ),
    "is_of_same_table_version": lambda steps, _row: (
        not [step for step in steps if _is_table_version(step)]
    ),
    "allow_every_conversion": lambda _change: None,
}
"""By the name of a rule: what the clause makes of its arguments."""

EDGED: Final = 3
"""How many calls of a rule are repeated with arguments that lie side by side."""


def side_by_side(given: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The arguments with one number in the place of another, and a step below and above it."""
    places = [place for place, value in enumerate(given) if type(value) is int]
    for place, other in permutations(places, 2):
        for step in (-1, 0, 1):
            yield (*given[:place], given[other] + step, *given[place + 1 :])
