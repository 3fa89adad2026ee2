"""What to do instead of an incompatible statement, as steps in order.

A change that aborts transactions in flight is made in steps that abort none, or when none is in
flight: clients stop depending on the old schema first, what began before is let end (drained), and
only then the statement runs. Steps are plain data: what to `do`, and the `sql` for it if there is
any.
"""

from collections.abc import Sequence
from typing import Any, Final

from msgspec import structs

from ddlsim.lint.written import literal, type_of_renamed, written
from ddlsim.model.ddl import (
    AddColumn,
    AlterColumn,
    AlterTable,
    ColumnAltered,
    ColumnRenamed,
    ColumnSpec,
    ConstraintAdded,
    IndexCreated,
    ObjectChange,
    ObjectRenamed,
    SimpleChange,
)
from ddlsim.model.schema import Table
from ddlsim.protocol.schema.compatibility import IEP, RuleSet, RuleVerdict, judge

Step = dict[str, str | None]
DROPS: Final = {
    "110.table.drop": "the table",
    "110.view": "the view",
    "110.column.drop": "the column",
}
MOVED: Final = frozenset({"110.column.type", "110.column.rename"})
"""What another column takes the place of: the statement itself is not run."""


def step(do: str, sql: str | None = None) -> Step:
    """One step."""
    return {"do": do, "sql": sql}


def remedy(
    objects: Sequence[ObjectChange],
    verdicts: Sequence[Sequence[RuleVerdict]],
    sql: str,
    rules: RuleSet = IEP,
) -> list[Step]:
    """The steps for each rule that forbids a statement, in the rules' order."""
    steps: list[Step] = []
    for change, rulings in zip(objects, verdicts, strict=True):
        if _fits_whole(change, rulings, rules):
            steps += [one for one in _against(change, rulings, sql) if one not in steps]
        else:
            steps += [step("write each of its changes as a statement of its own")]
            steps += _apart(change, rules)
    return steps


def _fits_whole(change: ObjectChange, rulings: Sequence[RuleVerdict], rules: RuleSet) -> bool:
    """Whether the steps may end with the very statement, or it makes one change only.

    They may not where columns are compared by name and a name passes to another column.
    """
    if len(change.changes) == 1:
        return True
    forbidding = [ruling.clause for ruling in rulings if not ruling.compatible]
    passed_on = any(
        isinstance(one, ColumnAltered) and one.before.id != one.after.id
        for one in rules.changes_of(change)
    )
    return len(forbidding) < 2 and not passed_on and not {*forbidding} & MOVED


def _apart(change: ObjectChange, rules: RuleSet) -> list[Step]:
    """Each change of a statement by itself, as it is written."""
    steps: list[Step] = []
    for place, one in enumerate(change.changes):
        alone = structs.replace(change, changes=(one,))
        sql = f"ALTER TABLE {change.name} {written(one)}"
        rulings = judge(one, change.kind, rules)
        if isinstance(one, ColumnRenamed):
            kind = type_of_renamed(change, place)
            moved = _moved(change.name, one.old_name, one.new_name, kind, rename=False)
            steps += [step("this one aborts nothing", sql)] if _allows(rulings) else moved
        elif _allows(rulings):
            steps.append(step("this one aborts nothing", sql))
        else:
            steps += _against(alone, rulings, sql)
    return steps


def _allows(rulings: Sequence[RuleVerdict]) -> bool:
    return all(ruling.compatible for ruling in rulings)


def _against(change: ObjectChange, rulings: Sequence[RuleVerdict], sql: str) -> list[Step]:
    """The steps for what forbids a statement that need not be taken apart, each once."""
    forbidding = [ruling for ruling in rulings if not ruling.compatible]
    retyped = {one.column for one in forbidding if one.clause == "110.column.type"}
    steps: list[Step] = []
    for ruling in forbidding:
        if ruling.column in retyped and ruling.clause != "110.column.type":
            continue  # the new column is made as it shall be
        steps += [one for one in _steps(change, ruling, sql) if one not in steps]
    return steps


def _drain(name: str) -> Step:
    return step(f"let every transaction end that used {name} before (drain)")


def _steps(change: ObjectChange, ruling: RuleVerdict, sql: str) -> list[Step]:
    name, column = change.name, ruling.column or ""
    if ruling.clause in DROPS and not _renamed(change.changes):
        what = f"column {column} of {name}" if column else name
        return [step(f"deploy clients that no longer use {what}"), _drain(name), step("then", sql)]
    if ruling.clause == "110.column.nullable":
        return _tightened(name, column, sql)
    if ruling.clause == "110.column.default":
        what = f"deploy clients that give {column} a value in every INSERT into {name}"
        return [step(what), _drain(name), step("then", sql)]
    if ruling.clause == "110.column.type":
        return _retyped(name, column, change.changes)
    if ruling.clause == "110.column.rename":
        return _column_renamed(change)
    if _renamed(change.changes):
        return _object_renamed(change, sql)
    checked = _checked(change)
    if checked is not None:
        return [checked, step(f"deploy clients that obey it in {name}"), _drain(name),
                step("then", sql)]  # fmt: skip
    return [_drain(name), step("then", sql)]


def _renamed(changes: Sequence[SimpleChange]) -> bool:
    return any(isinstance(one, ObjectRenamed) for one in changes)


def _tightened(name: str, column: str, sql: str) -> list[Step]:
    return [
        step(f"deploy clients that give {column} a value in every row of {name}"),
        step("give the old rows one (backfill)",
             f"UPDATE {name} SET {column} = ... WHERE {column} IS NULL"),
        _drain(name),
        step("then tighten", sql),
    ]  # fmt: skip


def _retyped(name: str, column: str, changes: Sequence[SimpleChange]) -> list[Step]:
    found = next(one for one in changes if isinstance(one, ColumnAltered))
    steps = _moved(name, column, f"{column}_new", str(found.after.type), rename=True)
    after = found.after
    alter = f"ALTER TABLE {name} ALTER COLUMN {column}"
    if not after.nullable:
        steps.append(step("tighten it", f"{alter} SET NOT NULL"))
    if after.default is not None:  # given earlier, old rows would show it and not their values
        steps.append(step("give it its default", f"{alter} SET DEFAULT {literal(after.default)}"))
    return steps


def _column_renamed(change: ObjectChange) -> list[Step]:
    """Where columns are compared by name, as Ignite 3 as shipped does."""
    found = next(one for one in change.changes if isinstance(one, ColumnRenamed))
    kind = type_of_renamed(change, 0)
    return _moved(change.name, found.old_name, found.new_name, kind, rename=False)


def _moved(name: str, old: str, new: str, kind: str, *, rename: bool) -> list[Step]:
    """A column moved to another one: expand, backfill, switch, drain, contract."""
    steps = [
        step("add a nullable column", f"ALTER TABLE {name} ADD COLUMN {new} {kind}"),
        step(f"deploy clients that write both {old} and {new}"),
        step("copy the old rows (backfill)",
             f"UPDATE {name} SET {new} = CAST({old} AS {kind}) WHERE {new} IS NULL"),
        step(f"deploy clients that use {new} only"),
        _drain(name),
        step("drop the old column", f"ALTER TABLE {name} DROP COLUMN {old}"),
    ]  # fmt: skip
    if rename:
        steps += [
            step(f"deploy clients that accept the name {old} for {new}"),
            _drain(name),
            step("rename it", f"ALTER TABLE {name} RENAME COLUMN {new} TO {old}"),
        ]
    return steps


def _object_renamed(change: ObjectChange, sql: str) -> list[Step]:
    found = next(one for one in change.changes if isinstance(one, ObjectRenamed))
    old, new = found.old_name, found.new_name
    return [
        step(f"give {old} its new name as an alias to read by",
             f"CREATE VIEW {new} AS SELECT * FROM {old}"),
        step(f"deploy clients that read {new}, and are ready to write {new}"),
        _drain(old),
        step("take the alias away", f"DROP VIEW {new}"),
        step("then, with clients that try again", sql),
    ]  # fmt: skip


def _checked(change: ObjectChange) -> Step | None:
    """The query that finds rows which a new constraint or unique index does not allow."""
    for one in change.changes:
        if isinstance(one, IndexCreated) and isinstance(change.definition, Table):
            names = {column.id: column.name for column in change.definition.columns}
            columns = ", ".join(names[each] for each in one.index.columns)
            query = f"SELECT {columns} FROM {change.name} GROUP BY {columns} HAVING COUNT(*) > 1"
            return step("find and mend rows that are there twice", query)
        if isinstance(one, ConstraintAdded):
            return step(f"find and mend rows that do not obey {one.constraint.text}")
    return None


def remedy_of_refused(statement: Any, *, widens_only: bool = False) -> list[Step]:
    """What to do instead of a statement that the catalog does not take.

    A NOT NULL column without default is in no catalog [110.column.add]. Where columns may only
    become wider (`widens_only`, as in Ignite 3), neither is another change of a type, nor a NOT
    NULL that is added; what the column shall be then is another column.
    """
    if not isinstance(statement, AlterTable):
        return []
    steps: list[Step] = []
    for action in statement.actions:
        if isinstance(action, AddColumn):
            steps += _mandatory(statement.name, action.column, widens_only=widens_only)
        elif isinstance(action, AlterColumn) and widens_only:
            steps += _replaced(statement.name, action)
    return steps


def _mandatory(name: str, spec: ColumnSpec, *, widens_only: bool) -> list[Step]:
    if spec.nullable or spec.default is not None or spec.computed:
        return []
    add = f"ALTER TABLE {name} ADD COLUMN {spec.name} {spec.type}"
    if widens_only:
        what = "add it with a default, which old rows show"
        return [step(what, f"{add} NOT NULL DEFAULT ...")]
    tighten = f"ALTER TABLE {name} ALTER COLUMN {spec.name} SET NOT NULL"
    return [step("add it nullable", add), *_tightened(name, spec.name, tighten)]


def _replaced(name: str, action: AlterColumn) -> list[Step]:
    """Another column in the place of one that cannot be changed as it should."""
    if action.type is not None:
        new = f"{action.name}_new"
        return _moved(name, action.name, new, str(action.type), rename=False)
    if action.nullable is not False:
        return []
    what = f"deploy clients that give {action.name} a value in every row of {name}"
    filled = f"UPDATE {name} SET {action.name} = ... WHERE {action.name} IS NULL"
    return [
        step(what),
        step("give the old rows one (backfill)", filled),
        step("leave the column nullable, or move it to one that is added NOT NULL with a default"),
    ]
