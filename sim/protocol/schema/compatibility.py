"""Forward compatibility, rule by rule in IEP-110's order.

A transaction enlists a table under schema I and commits when schema C is in force. It may commit if
I is *forward-compatible* with C:

    1. a tuple written with I may exist under C: it violates nothing there        [110.fwd.1]
    2. upgraded to C, the tuple holds no less information                         [110.fwd.2]
    3. no transaction that reads it under C can tell that it was written under I  [110.fwd.3]

The document does not leave it at the definition but judges each kind of change. Only the *kind* of
the change counts, never the rows that the transaction wrote. The path from I to C is a sequence of
steps [110.compat.steps], each step a sequence of simple changes [110.compat.compound], and each
simple change is judged by every rule that matches it, in order [110.mixed]. One "no" decides:
DROP DEFAULT and SET DEFAULT back to what it was are two incompatible steps, even though I and C are
equal. Changes of other top-level objects are compatible [110.compat.scope]; since the steps asked
about are always those of one object, no rule has to check that.

Backward there is no rule to read: every change is incompatible [110.back].

Two rule sets are kept. `iep` is the text, with readings of ours (clauses `110.ours.*`) where a
migration asks what the text leaves to other documents: adding a constraint, and indexes. `ignite3`
is the shipped code: a statement is the difference of the table before it and after it, column by
column of equal names (`by_name`), so that a renamed column is a dropped and an added one; date-time
types and anything but VARCHAR itself cannot become wider or text.

A rule is a function that gives a verdict on the changes it is about and None on all others. A
change that no rule judges is a programming error, never "compatible".
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

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
    ObjectChange,
    ObjectCreated,
    ObjectDropped,
    ObjectRenamed,
    SimpleChange,
    ZoneAltered,
)
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.model.schema import TEMPORAL_TYPES, ColumnType
from ddlsim.protocol.schema.by_name import difference
from ddlsim.protocol.schema.column_types import (
    convertible,
    fits_as_text,
    longest_text,
    same_default,
    widens,
)
from ddlsim.protocol.schema.type_examples import longest_value, outside


class RuleVerdict(NamedTuple):
    """The verdict of one rule on one simple change; `column` names the column it is about."""

    clause: str
    compatible: bool
    reason: str
    column: str | None = None


Rule = Callable[[SimpleChange, str], RuleVerdict | None]
"""Takes a simple change and the kind of its object: `table`, `view` or `zone`."""


def _yes(clause: str, reason: str, column: str | None = None) -> RuleVerdict:
    return RuleVerdict(clause, compatible=True, reason=reason, column=column)


def _no(clause: str, reason: str, column: str | None = None) -> RuleVerdict:
    return RuleVerdict(clause, compatible=False, reason=reason, column=column)


# --- tables, views and zones ---------------------------------------------------------------------


def _of_object(change: SimpleChange, kind: str) -> RuleVerdict | None:
    """Tables [110.table.create] [110.table.drop] [110.table.rename], and views alike [110.view]."""
    if kind == "zone":
        return None
    clause = _CLAUSES.get(kind)
    match change:
        case ObjectCreated():
            reason = f"no transaction has used the {kind} before"
            return _yes(clause or "110.table.create", reason)
        case ObjectDropped():
            reason = f"the {kind} does not exist in the commit schema"
            return _no(clause or "110.table.drop", reason)
        case ObjectRenamed(old_name=name):
            reason = f"no {kind} {name!r} exists in the commit schema"
            return _no(clause or "110.table.rename", reason)
        case ObjectAliased(old_name=name):
            return _yes(_CLAUSES["alias"], f"{name!r} still means the {kind}")
        case _:
            return None


_CLAUSES: Final = {"view": "110.view", "alias": "110.later.3"}
"""An old name that stays aborts nothing; its end concerns what has used it [110.later.3]."""


def _of_zone(change: SimpleChange, kind: str) -> RuleVerdict | None:
    """A zone precedes its tables, and changes no tuple [110.zone]."""
    if kind == "zone" or isinstance(change, ZoneAltered):
        return _yes("110.zone", "no tuple depends on it")
    return None


# --- columns -------------------------------------------------------------------------------------


def _of_column(change: SimpleChange, _: str) -> RuleVerdict | None:
    """Columns added, dropped and renamed.

    ADD COLUMN of a column with a known default [110.column.add], or in two steps [110.later.2];
    DROP COLUMN [110.column.drop]; RENAME COLUMN, a column is its id [110.column.rename].
    """
    match change:
        case ColumnAdded(column=column) | ColumnPending(column=column):
            if column.default is not None:
                return _yes("110.column.add", "an old tuple shows the default there", column.name)
            if column.nullable:
                return _yes("110.column.add", "an old tuple shows NULL there", column.name)
            reason = "an old tuple has no value for a column that needs one"
            return _no("110.column.add", reason, column.name)
        case ColumnConfirmed(column=column):
            reason = "a transaction that wrote while it was pending gave a value"
            return _yes("110.later.2", reason, column.name)
        case ColumnDropped(column=column):
            reason = "an upgraded tuple would have less information"
            return _no("110.column.drop", reason, column.name)
        case ColumnRenamed(old_name=name):
            return _yes("110.column.rename", "columns are identified by their ids", name)
        case _:
            return None


def _of_column_as_shipped(change: SimpleChange, kind: str) -> RuleVerdict | None:
    """The same, but RENAME COLUMN compares columns by name, as the shipped code does."""
    if isinstance(change, ColumnRenamed):
        reason = "compared by name, one column is gone and another is there"
        return _no("110.column.rename", reason, change.old_name)
    return _of_column(change, kind)


def _nullability(change: SimpleChange, _: str) -> RuleVerdict | None:
    """NOT NULL to NULL; the reverse is a reading of ours [110.column.nullable]."""
    if not isinstance(change, ColumnAltered) or change.before.nullable == change.after.nullable:
        return None
    clause, name = "110.column.nullable", change.before.name
    if change.after.nullable:
        return _yes(clause, "every value may stay", name)
    return _no(clause, "the transaction may have written NULL", name)


def _default(change: SimpleChange, _: str) -> RuleVerdict | None:
    """Any manipulation of a default [110.column.default]."""
    if not isinstance(change, ColumnAltered):
        return None
    before, after = change.before, change.after
    if before.type != after.type and same_default(before, after):
        return None
    if before.default == after.default and type(before.default) is type(after.default):
        return None
    reason = "a reader could tell which default a tuple was written with"
    return _no("110.column.default", reason, before.name)


def _column_type(change: SimpleChange, _: str) -> RuleVerdict | None:
    """A change of type with an exact conversion [110.column.type]."""
    if not isinstance(change, ColumnAltered) or change.before.type == change.after.type:
        return None
    before, after, name = change.before.type, change.after.type, change.before.name
    if widens(before, after):
        return _yes("110.column.type", f"every {before} is {a(after)}", name)
    if fits_as_text(before, after):
        return _yes("110.column.type", f"every {before} fits {after} as text", name)
    return _no("110.column.type", _why_inexact(before, after), name)


def _why_inexact(before: ColumnType, after: ColumnType) -> str:
    """A value that does not fit, or that the document's list lacks the change."""
    if not convertible(before, after):
        return f"no {before} is {a(after)}"
    if after.name == "VARCHAR" and before.name != "VARCHAR":
        size = longest_text(before)
        return f"{longest_value(before)} is {a(before)} whose text takes {size} characters"
    value = outside(before, after)
    if value is None:
        return f"no rule of IEP-110 makes {before} to {after} compatible"
    return f"{value} is {a(before)} and no {after}"


def a(column_type: ColumnType) -> str:
    """A type with its article."""
    return f"{'an' if column_type.name == 'INTEGER' else 'a'} {column_type}"


def _column_type_as_shipped(change: SimpleChange, kind: str) -> RuleVerdict | None:
    """The same, without text for everything and without longer fractions of a second."""
    verdict = _column_type(change, kind)
    if verdict is None or not isinstance(change, ColumnAltered):
        return verdict
    before, after = change.before.type, change.after.type
    if widens(before, after) and before.name not in TEMPORAL_TYPES:
        return verdict
    return _no(verdict.clause, f"the shipped code refuses {before} to {after}", verdict.column)


# --- constraints and indexes ---------------------------------------------------------------------


def _constraint_or_index(change: SimpleChange, _: str) -> RuleVerdict | None:
    """Constraints, and indexes, which the text leaves out.

    [110.constraint.drop] [110.ours.constraint.add]
    [110.ours.index.create] [110.ours.index.unique] [110.ours.index.drop]
    """
    match change:
        case ConstraintDropped():
            return _yes("110.constraint.drop", "whatever obeyed the constraint may stay")
        case ConstraintAdded():
            reason = "the transaction may have written what the constraint forbids"
            return _no("110.ours.constraint.add", reason)
        case IndexCreated(index=index) if index.unique:
            reason = "the transaction may have written what the index forbids"
            return _no("110.ours.index.unique", reason)
        case IndexCreated():
            reason = "the index is registered and not being built yet"
            return _yes("110.ours.index.create", reason)
        case IndexDropped():
            return _yes("110.ours.index.drop", "no tuple depends on an index")
        case IndexStateSet():
            return _yes("110.ours.index.create", "no tuple depends on the state of an index")
        case _:
            return None


# --- the rule sets -------------------------------------------------------------------------------


class RuleSet(NamedTuple):
    """The rules of one baseline, and how it splits a step into simple changes."""

    rules: tuple[Rule, ...]
    changes_of: Callable[[ObjectChange], tuple[SimpleChange, ...]]


def _as_written(step: ObjectChange) -> tuple[SimpleChange, ...]:
    """The simple changes of a statement, in its order [110.compat.compound]."""
    return step.changes


IEP: Final = RuleSet(
    (
        _of_object,
        _of_column,
        _nullability,
        _default,
        _column_type,
        _constraint_or_index,
        _of_zone,
    ),
    _as_written,
)
IGNITE3: Final = RuleSet(
    (
        _of_object,
        _of_column_as_shipped,
        _nullability,
        _default,
        _column_type_as_shipped,
        _constraint_or_index,
        _of_zone,
    ),
    difference,
)
RULES: Final = {"iep": IEP, "ignite3": IGNITE3}
"""The rules by the name of their baseline."""


def judge(
    change: SimpleChange, kind: str = "table", rules: RuleSet = IEP
) -> tuple[RuleVerdict, ...]:
    """The verdicts of every matching rule on a simple change, in the rules' order."""
    verdicts = tuple(verdict for rule in rules.rules if (verdict := rule(change, kind)))
    assert verdicts, f"no rule judges {change}"
    return verdicts


def judge_step(change: ObjectChange, rules: RuleSet = IEP) -> tuple[RuleVerdict, ...]:
    """The verdicts on every simple change of a step, in order [110.compat.compound]."""
    assert change.changes, f"no rule judges a step without changes: {change.name}"
    changes = rules.changes_of(change)
    if not changes:
        reason = "compared by name, the columns are what they were"
        return (RuleVerdict("110.compat.compound", compatible=True, reason=reason),)
    return tuple(verdict for simple in changes for verdict in judge(simple, change.kind, rules))


def is_forward_compatible(change: ObjectChange, rules: RuleSet = IEP) -> bool:
    """Whether a transaction may commit across this step of an object that it has enlisted."""
    return all(verdict.compatible for verdict in judge_step(change, rules))


def first_incompatible(steps: Iterable[ObjectChange], rules: RuleSet = IEP) -> RuleVerdict | None:
    """The first "no" on the way from I to C [110.compat.steps]; None: forward-compatible."""
    for step in steps:
        for verdict in judge_step(step, rules):
            if not verdict.compatible:
                return verdict
    return None


def forward_compatible(steps: Iterable[ObjectChange], rules: RuleSet = IEP) -> bool:
    """Whether I is forward-compatible with C, given all steps between them."""
    return first_incompatible(steps, rules) is None
