"""What to do instead of an incompatible statement, as steps in order.

A change that aborts transactions in flight is made in steps that abort none, or when none is in
flight: clients stop depending on the old schema first, what began before is let end (drained), and
only then the statement runs. Steps are plain data: what to `do`, and the `sql` for it if there is
any.

The remedy ends with the very statement where clients can be made ready for it. Otherwise each of
its changes is made by a statement of its own, or by several: a column that changes its type is
replaced by another one (`moving`), and one whose type, default and nullability change is given one
after the other.
"""

from ddlsim.lint.draft import Draft, Ground, Step
from ddlsim.lint.moving import (
    add_with_default,
    drop_indexes,
    leave_out,
    mend,
    mend_twice,
    moved,
)
from ddlsim.lint.written import literal, quoted, written, zero
from ddlsim.model.ddl import (
    AlterTable,
    ColumnAdded,
    ColumnAltered,
    ColumnDropped,
    ColumnRenamed,
    ConstraintAdded,
    ConstraintDropped,
    DropColumn,
    IndexCreated,
    ObjectChange,
    ObjectDropped,
    ObjectRenamed,
    SimpleChange,
    Statement,
)
from ddlsim.model.schema import Column, Table
from ddlsim.protocol.schema.alter_table import is_mandatory
from ddlsim.protocol.schema.catalog import Snapshot
from ddlsim.protocol.schema.column_types import same_default
from ddlsim.protocol.schema.compatibility import judge
from ddlsim.protocol.schema.ddl import Built, build


def remedy(change: ObjectChange, sql: str, ground: Ground) -> list[Step]:
    """The steps in place of an incompatible statement, which makes this change of an object."""
    return _whole(change, sql, ground) or _apart(change, ground)


def remedy_of_refused(statement: Statement, sql: str, ground: Ground) -> list[Step]:
    """What to do instead of a statement that the catalog does not take; empty for most reasons.

    A NOT NULL column without default is in no catalog [110.column.add]. Where columns may only
    become wider, as in Ignite 3, neither is another change of a type, nor a NOT NULL that is added.
    No column is dropped under an index [110.column.drop]. A statement that would be refused all the
    same if these were allowed has another reason.
    """
    snapshot = ground.snapshot
    built = build(statement, snapshot, snapshot.next_object_id, mandatory=True)
    if isinstance(built, Built):
        return _apart(built.objects[0], ground)
    bare = _without_indexes(statement, ground)
    if bare is None:
        return []
    built = build(statement, bare, bare.next_object_id, mandatory=True)
    return remedy(built.objects[0], sql, ground) if isinstance(built, Built) else []


def _without_indexes(statement: Statement, ground: Ground) -> Snapshot | None:
    """The catalog without the indexes that cover a column which a statement drops; None where it
    drops none."""
    found = ground.snapshot.by_name(statement.name) if isinstance(statement, AlterTable) else None
    if not isinstance(statement, AlterTable) or not isinstance(found, Table):
        return None
    draft = Draft(ground, found.id)
    names = {one.name for one in statement.actions if isinstance(one, DropColumn)}
    for column in found.columns:
        if column.name in names:
            drop_indexes(draft, column)
    return draft.snapshot


# --- the statement itself, behind what makes clients ready for it ---------------------------------


def _whole(change: ObjectChange, sql: str, ground: Ground) -> list[Step]:
    """Steps that end with the statement itself; none where it has to be taken apart.

    It has where several of its changes are forbidden, or one by several rules; where the change is
    that of a column which the statement itself makes or changes before; and where columns are
    compared by name and a name passes to another column.
    """
    forbidden = [one for one in change.changes if _clauses(one, change, ground)]
    if len(forbidden) != 1 or _passes_names_on(change, ground):
        return []
    draft = Draft(ground, change.object_id)
    if not _is_ready(draft, change, forbidden[0]):
        return []
    renames = isinstance(forbidden[0], ObjectRenamed)
    # A table is renamed directly after its alias is gone: the drain before that is the rename's.
    taken = draft.tries("then, with clients that try again" if renames else "then", sql,
                        drained=renames)  # fmt: skip
    return draft.steps if taken else []


def _clauses(one: SimpleChange, change: ObjectChange, ground: Ground) -> list[str]:
    """What forbids a simple change."""
    rulings = judge(one, change.kind, ground.rules)
    return [ruling.clause for ruling in rulings if not ruling.compatible]


def _passes_names_on(change: ObjectChange, ground: Ground) -> bool:
    return any(
        isinstance(one, ColumnAltered) and one.before.id != one.after.id
        for one in ground.rules.changes_of(change)
    )


def _is_ready(draft: Draft, change: ObjectChange, one: SimpleChange) -> bool:
    """Add the steps by which clients are ready for the one forbidden change of a statement.

    False where no such steps are known, or not for the columns as they are before it.
    """
    match one:
        case ObjectDropped():
            draft.say(f"deploy clients that no longer use {draft.name}")
        case ObjectRenamed(old_name=old_name, new_name=new_name):
            _aliased(draft, old_name, new_name)
        case ColumnDropped(column=column) if _has(draft, column):
            _unused(draft, column.name)
        case ColumnRenamed(old_name=old_name, new_name=new_name) if len(change.changes) == 1:
            _renamable(draft, old_name, new_name)
        case ColumnAltered(before=before) if _has(draft, before):
            clauses = _clauses(one, change, draft.ground)
            if clauses == ["110.column.default"]:
                _given(draft, before.name)
            elif clauses == ["110.column.nullable"]:
                _filled(draft, before.name)
            else:
                return False
        case ConstraintAdded() | IndexCreated() if len(change.changes) == 1:
            _obeyed(draft, change)
        case _:
            return False
    return True


def _has(draft: Draft, column: Column) -> bool:
    return column in draft.table.columns


def _aliased(draft: Draft, old: str, new: str) -> None:
    """Let clients read a table or view by its new name before it has it."""
    draft.run(f"give {old} its new name as an alias to read by",
              f"CREATE VIEW {quoted(new)} AS SELECT * FROM {quoted(old)}")  # fmt: skip
    draft.say(f"deploy clients that read {new}, and are ready to write {new}")
    draft.run("take the alias away", f"DROP VIEW {quoted(new)}")


def _unused(draft: Draft, column: str) -> None:
    leave_out(draft, column)
    draft.say(f"deploy clients that no longer use column {column} of {draft.name}")
    drop_indexes(draft, draft.column(column))


def _renamable(draft: Draft, old: str, new: str) -> None:
    draft.say(f"deploy clients that accept the name {new} for {old}")


def _given(draft: Draft, column: str) -> None:
    draft.say(f"deploy clients that give {column} a value in every INSERT into {draft.name}")


def _filled(draft: Draft, column: str, unfilled: str = "IS NULL") -> None:
    """Let every row have a value; after the drain no transaction adds one without."""
    name = quoted(column)
    draft.say(f"deploy clients that give {column} a value in every row of {draft.name}")
    draft.drain()
    update = f"UPDATE {quoted(draft.name)} SET {name} = ... WHERE {name} {unfilled}"
    draft.say("give the old rows one (backfill)", update)


def _obeyed(draft: Draft, change: ObjectChange) -> None:
    """Let every row obey a new constraint or unique index, which the change makes."""
    [one], table = change.changes, change.definition
    assert isinstance(table, Table), table
    names = {column.id: column.name for column in table.columns}
    draft.say(f"deploy clients that obey it in {draft.name}")
    draft.drain()
    if isinstance(one, IndexCreated):
        mend_twice(draft, [names[each] for each in one.index.columns])
    elif isinstance(one, ConstraintAdded) and one.constraint.kind == "unique":
        mend_twice(draft, [names[each] for each in one.constraint.columns])
    elif isinstance(one, ConstraintAdded):
        mend(draft, one.constraint.text)


# --- change by change ----------------------------------------------------------------------------


def _apart(change: ObjectChange, ground: Ground) -> list[Step]:
    """Each change of ALTER TABLE by itself, upon the table that the one before it leaves."""
    names = [one.constraint.name for one in change.changes if isinstance(one, ConstraintAdded)]
    draft = Draft(ground, change.object_id, names)
    if len(change.changes) > 1:
        draft.say("write each of its changes as a statement of its own")
    for one in change.changes:
        _made(draft, one)
    return draft.steps


def _made(draft: Draft, one: SimpleChange) -> None:
    """The steps for one change of ALTER TABLE."""
    match one:
        case ColumnAltered(before=before, after=after):
            _altered(draft, before.name, after)
        case ConstraintDropped(constraint=constraint):
            _freed(draft, constraint.name)
        case ColumnAdded(column=column) if is_mandatory(column):
            _mandatory(draft, column)
        case _ if draft.aborts_nothing(draft.altering(written(one))):
            draft.alters("this one aborts nothing", written(one))
        case _:
            _ready(draft, one)
            draft.alters("then", written(one))


def _ready(draft: Draft, one: SimpleChange) -> None:
    """Clients made ready for an incompatible change of a name, a column or a constraint."""
    match one:
        case ColumnDropped(column=column):
            _unused(draft, column.name)
        case ColumnRenamed(old_name=old_name, new_name=new_name):
            _renamable(draft, old_name, new_name)
        case ConstraintAdded(constraint=constraint):
            draft.successors.pop(constraint.name, None)
            changes = draft.built(draft.altering(written(one)))
            assert changes is not None, f"{one} is refused"
            _obeyed(draft, changes[0])


def _freed(draft: Draft, constraint: str) -> None:
    """The steps that drop a constraint, or the one that has taken its place meanwhile."""
    name: str | None = constraint
    while name in draft.successors:
        name = draft.successors.pop(name)
    if name is not None:
        draft.alters("this one aborts nothing", f"DROP CONSTRAINT {quoted(name)}")


def _mandatory(draft: Draft, column: Column) -> None:
    """The steps that add a NOT NULL column without default [110.column.add]."""
    name = quoted(column.name)
    add, alter = f"ADD COLUMN {name} {column.type}", f"ALTER COLUMN {name}"
    if draft.ground.tightens:
        draft.alters("add it nullable", add)
        _filled(draft, column.name)
        draft.alters("then tighten", f"{alter} SET NOT NULL")
        return
    default = zero(column.type.name)
    add_with_default(draft, f"{add} NOT NULL", default)
    _filled(draft, column.name, f"= {default}")
    draft.alters("then", f"{alter} DROP DEFAULT")


def _altered(draft: Draft, name: str, target: Column) -> None:
    """One ALTER COLUMN: type first, then default, NOT NULL last [110.mixed]."""
    column, alter = draft.column(name), f"ALTER COLUMN {quoted(name)}"
    tightens = column.nullable and not target.nullable
    retype = f"{alter} SET DATA TYPE {target.type}"
    retyped = column.type != target.type
    exact = not retyped or draft.aborts_nothing(draft.altering(retype))
    if not exact or (tightens and not draft.ground.tightens):
        moved(draft, name, target)
        return
    if retyped:
        draft.alters("this one aborts nothing", retype)
    if target.nullable and not column.nullable:
        draft.alters("this one aborts nothing", f"{alter} DROP NOT NULL")
    if not same_default(draft.column(name), target):
        default = target.default
        _given(draft, name)
        kept = "DROP DEFAULT" if default is None else f"SET DEFAULT {literal(default)}"
        draft.alters("then", f"{alter} {kept}")
    if tightens:
        _filled(draft, name)
        draft.alters("then tighten", f"{alter} SET NOT NULL")
