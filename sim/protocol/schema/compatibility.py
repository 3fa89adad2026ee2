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
about are always those of one object, nothing here has to know that.

Backward there is no rule to read: every change is incompatible [110.back].

Two rule sets are kept. `iep` is the text, with readings of ours (clauses `110.ours.*`) where a
migration asks what the text leaves to other documents: adding a constraint, and indexes. `ignite3`
is the shipped code: a statement is the difference of the table before it and after it, column by
column of equal names (`by_name`), so that a renamed column is a dropped and an added one; date-time
types and anything but VARCHAR itself cannot become wider or text.

A rule is a function that gives a verdict on the changes it knows and None on all others. A change
that no rule judges is a programming error, never "compatible".
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
    """What one rule says of one simple change; `column` names the column it is about."""

    clause: str
    compatible: bool
    reason: str
    column: str | None = None


Rule = Callable[[SimpleChange, str], RuleVerdict | None]
"""Takes a simple change and the kind of its object: `table`, `view` or `zone`."""


# --- tables, views and zones ---------------------------------------------------------------------


def _of_object(change: SimpleChange, kind: str) -> RuleVerdict | None:
    """Tables [110.table.create] [110.table.drop] [110.table.rename], and views alike [110.view]."""
    if kind == "zone":
        return None
    match change:
        case ObjectCreated():
            clause, compatible, reason = (
                "create",
                True,
                f"no transaction has used the {kind} before",
            )
        case ObjectDropped():
            clause, compatible = "drop", False
            reason = f"the {kind} does not exist in the commit schema"
        case ObjectRenamed(old_name=name):
            clause, compatible = "rename", False
            reason = f"no {kind} {name!r} exists in the commit schema"
        case ObjectAliased(old_name=name):
            clause, compatible, reason = "alias", True, f"{name!r} still means the {kind}"
            kind = "alias"
        case _:
            return None
    return RuleVerdict(_CLAUSES.get(kind, f"110.table.{clause}"), compatible, reason)


_CLAUSES: Final = {"view": "110.view", "alias": "110.later.3"}
"""An old name that stays aborts nothing; its end concerns what has used it [110.later.3]."""


def _of_zone(change: SimpleChange, kind: str) -> RuleVerdict | None:
    """A zone precedes its tables, and changes no tuple [110.zone]."""
    if kind == "zone" or isinstance(change, ZoneAltered):
        return RuleVerdict("110.zone", compatible=True, reason="no tuple depends on it")
    return None


# --- columns -------------------------------------------------------------------------------------


def _column_added(change: SimpleChange, _: str) -> RuleVerdict | None:
    """ADD COLUMN of a column with a known default value [110.column.add], or in two steps."""
    if isinstance(change, ColumnConfirmed):
        reason, name = (
            "a transaction that wrote while it was pending gave a value",
            change.column.name,
        )
        return RuleVerdict("110.later.2", compatible=True, reason=reason, column=name)
    if not isinstance(change, ColumnAdded | ColumnPending):
        return None
    column = change.column
    known = column.nullable or column.default is not None
    if column.default is not None:
        reason = "an old tuple shows the default there"
    elif known:
        reason = "an old tuple shows NULL there"
    else:
        reason = "an old tuple has no value for a column that needs one"
    return RuleVerdict("110.column.add", known, reason, column.name)


def _column_dropped(change: SimpleChange, _: str) -> RuleVerdict | None:
    """DROP COLUMN [110.column.drop]."""
    if not isinstance(change, ColumnDropped):
        return None
    reason, name = "an upgraded tuple would have less information", change.column.name
    return RuleVerdict("110.column.drop", compatible=False, reason=reason, column=name)


def _column_renamed(change: SimpleChange, _: str) -> RuleVerdict | None:
    """RENAME COLUMN: a column is its id [110.column.rename]."""
    if not isinstance(change, ColumnRenamed):
        return None
    reason = "columns are identified by their ids"
    return RuleVerdict("110.column.rename", compatible=True, reason=reason, column=change.old_name)


def _column_renamed_by_name(change: SimpleChange, _: str) -> RuleVerdict | None:
    """RENAME COLUMN where columns are compared by name, as the shipped code does."""
    if not isinstance(change, ColumnRenamed):
        return None
    reason = "compared by name, one column is gone and another is there"
    return RuleVerdict("110.column.rename", compatible=False, reason=reason, column=change.old_name)


def _nullability(change: SimpleChange, _: str) -> RuleVerdict | None:
    """NOT NULL to NULL; the reverse is a reading of ours [110.column.nullable]."""
    if not isinstance(change, ColumnAltered) or change.before.nullable == change.after.nullable:
        return None
    nullable = change.after.nullable
    reason = "every value may stay" if nullable else "the transaction may have written NULL"
    return RuleVerdict("110.column.nullable", nullable, reason, change.before.name)


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
    return RuleVerdict("110.column.default", compatible=False, reason=reason, column=before.name)


def _column_type(change: SimpleChange, _: str) -> RuleVerdict | None:
    """A change of type with an exact conversion [110.column.type]."""
    if not isinstance(change, ColumnAltered) or change.before.type == change.after.type:
        return None
    before, after = change.before.type, change.after.type
    exact = True
    if widens(before, after):
        reason = f"every {before} is {a(after)}"
    elif fits_as_text(before, after):
        reason = f"every {before} fits {after} as text"
    else:
        exact, reason = False, _why_inexact(before, after)
    return RuleVerdict("110.column.type", exact, reason, change.before.name)


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
    """Like `_column_type`, without text for everything and without longer fractions of a second."""
    verdict = _column_type(change, kind)
    if verdict is None or not isinstance(change, ColumnAltered):
        return verdict
    before, after = change.before.type, change.after.type
    if widens(before, after) and before.name not in TEMPORAL_TYPES:
        return verdict
    reason = f"the shipped code refuses {before} to {after}"
    return verdict._replace(compatible=False, reason=reason)


# --- constraints and indexes ---------------------------------------------------------------------


def _constraint(change: SimpleChange, _: str) -> RuleVerdict | None:
    """Dropping a constraint [110.constraint.drop]; adding one is ours [110.ours.constraint.add]."""
    match change:
        case ConstraintDropped():
            reason = "whatever obeyed the constraint may stay"
            return RuleVerdict("110.constraint.drop", compatible=True, reason=reason)
        case ConstraintAdded():
            reason = "the transaction may have written what the constraint forbids"
            return RuleVerdict("110.ours.constraint.add", compatible=False, reason=reason)
        case _:
            return None


def _index(change: SimpleChange, _: str) -> RuleVerdict | None:
    """Indexes, which the text leaves out.

    [110.ours.index.create] [110.ours.index.unique] [110.ours.index.drop]
    """
    match change:
        case IndexCreated(index=index) if index.unique:
            reason = "the transaction may have written what the index forbids"
            return RuleVerdict("110.ours.index.unique", compatible=False, reason=reason)
        case IndexCreated():
            reason = "the index is registered and not being built yet"
            return RuleVerdict("110.ours.index.create", compatible=True, reason=reason)
        case IndexDropped():
            reason = "no tuple depends on an index"
            return RuleVerdict("110.ours.index.drop", compatible=True, reason=reason)
        case _:
            return None


# --- the rule sets -------------------------------------------------------------------------------


class RuleSet(NamedTuple):
    """The rules of one baseline, and how it takes a step apart before they are asked."""

    rules: tuple[Rule, ...]
    changes_of: Callable[[ObjectChange], tuple[SimpleChange, ...]]


def _as_written(step: ObjectChange) -> tuple[SimpleChange, ...]:
    """The simple changes of a statement, in its order [110.compat.compound]."""
    return step.changes


_IEP: Final[tuple[Rule, ...]] = (
    _of_object,
    _column_added,
    _column_dropped,
    _column_renamed,
    _nullability,
    _default,
    _column_type,
    _constraint,
    _index,
    _of_zone,
)
_IGNITE3: Final[tuple[Rule, ...]] = (
    _of_object,
    _column_added,
    _column_dropped,
    _column_renamed_by_name,
    _nullability,
    _default,
    _column_type_as_shipped,
    _constraint,
    _index,
    _of_zone,
)
IEP: Final = RuleSet(_IEP, _as_written)
IGNITE3: Final = RuleSet(_IGNITE3, difference)
RULES: Final = {"iep": IEP, "ignite3": IGNITE3}
"""The rules by the name of their baseline."""


def judge(
    change: SimpleChange, kind: str = "table", rules: RuleSet = IEP
) -> tuple[RuleVerdict, ...]:
    """What every matching rule says of a simple change, in the rules' order."""
    verdicts = tuple(verdict for rule in rules.rules if (verdict := rule(change, kind)))
    assert verdicts, f"no rule judges {change}"
    return verdicts


def judge_step(change: ObjectChange, rules: RuleSet = IEP) -> tuple[RuleVerdict, ...]:
    """What the rules say of every simple change of a step, in order [110.compat.compound]."""
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
