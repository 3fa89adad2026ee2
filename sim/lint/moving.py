"""Remedies that put a new column in the place of an old one: expand, backfill, switch, contract.

The new column gets everything that the old one has or shall have before clients use it alone: its
values, default and NOT NULL, its indexes and constraints. Then INSERT can do without the old one,
which is left alone, dropped, and its name given to the new one.
"""

from msgspec.structs import replace

from ddlsim.lint.draft import Draft
from ddlsim.lint.written import condition, listed, literal, quoted, zero
from ddlsim.model.schema import Column, Condition, Constraint, Index, Junction
from ddlsim.protocol.schema.alter_table import is_mandatory
from ddlsim.protocol.schema.constraints import unique_columns, violated_check
from ddlsim.protocol.schema.ddl_answers import evolve


def moved(draft: Draft, name: str, target: Column) -> None:
    """Steps after which `name` is another column, with `target`'s type, default and nullability."""
    old, new = draft.column(name), draft.free_column(f"{name}_new")
    filled = old.nullable and not target.nullable
    later = _added(draft, new, target)
    always = ", and give both a value in every row" if filled else ""
    draft.say(f"deploy clients that write both {name} and {new}{always}")
    draft.drain()
    draft.say("copy the old rows (backfill)", _copying(draft, old, new, target, filled=filled))
    for what, action in later:
        if not draft.tries(what, draft.altering(action)):
            draft.say(f"write the default of {new} anew: {literal(target.default)} is none of it")
    _cover(draft, old, new)
    draft.say(f"deploy clients that still write both {name} and {new}, and read {new}")
    leave_out(draft, name)
    draft.say(f"deploy clients that use {new} only")
    drop_indexes(draft, old)
    draft.alters("drop the old column", f"DROP COLUMN {quoted(name)}")
    draft.say(f"deploy clients that accept the name {name} for {new}")
    draft.drain()
    draft.alters("rename it", f"RENAME COLUMN {quoted(new)} TO {quoted(name)}")


def _added(draft: Draft, new: str, target: Column) -> list[tuple[str, str]]:
    """Add the new column, and give what it needs once it is filled: why, and the action.

    Where the catalog refuses SET NOT NULL it is NOT NULL from the beginning, with a default.
    """
    add = f"ADD COLUMN {quoted(new)} {target.type}"
    alter = f"ALTER COLUMN {quoted(new)}"
    later = []
    if target.default is not None:
        later.append(("give it its default", f"{alter} SET DEFAULT {literal(target.default)}"))
    if target.nullable or draft.ground.tightens:
        draft.alters("add a nullable column", add)
        if not target.nullable:
            later.append(("tighten it", f"{alter} SET NOT NULL"))
        return later
    add_with_default(draft, f"{add} NOT NULL", zero(target.type.name))
    return later or [("it needs that default no more", f"{alter} DROP DEFAULT")]


def add_with_default(draft: Draft, add: str, default: str) -> None:
    """Add a column with a default that stands for no value."""
    what = f"add it with a default for now, {default}, which old rows show"
    draft.alters(what, f"{add} DEFAULT {default}")


def _copying(draft: Draft, old: Column, new: str, target: Column, *, filled: bool) -> str:
    """The statement that copies the values of all rows: some may be copies of what was there.

    For clients that know the old column only have changed it beside others that write both.
    """
    source = quoted(old.name)
    cast = source if old.type == target.type else f"CAST({source} AS {target.type})"
    value = f"COALESCE({cast}, ...)" if filled else cast
    return f"UPDATE {quoted(draft.name)} SET {quoted(new)} = {value}"


# --- indexes and constraints ---------------------------------------------------------------------


def _covering(draft: Draft, column: Column) -> list[Index]:
    return [one for one in draft.table.indexes if column.id in one.columns]


def drop_indexes(draft: Draft, column: Column) -> None:
    """Drop the indexes of a column: no column is dropped under one [110.column.drop]."""
    for index in _covering(draft, column):
        draft.run(f"drop the index on {column.name}", f"DROP INDEX {quoted(index.name)}")


def _cover(draft: Draft, old: Column, new: str) -> None:
    """Indexes and constraints of the old column, on the new one as well.

    No index or constraint can be renamed, so each has another name from then on.
    """
    for index in _covering(draft, old):
        columns = [new if one == old.name else one for one in draft.names_of(index.columns)]
        name = draft.free_index(f"{index.name}_new")
        kind = "INDEX"
        if index.unique:
            kind = "UNIQUE INDEX"
            mend_twice(draft, columns)
        draft.run(
            f"in place of index {index.name}, and under this name from now on",
            f"CREATE {kind} {quoted(name)} ON {quoted(draft.name)} ({listed(columns)})",
        )
    for constraint in draft.table.constraints:
        if old.id in constraint.columns:
            _constrain(draft, constraint, old, new)


def _constrain(draft: Draft, constraint: Constraint, old: Column, new: str) -> None:
    """A constraint of the old column, on the new one as well; there may be none like it."""
    columns = [new if one == old.name else one for one in draft.names_of(constraint.columns)]
    name = draft.free_constraint(f"{constraint.name}_new")
    if constraint.condition is None:
        text = f"UNIQUE ({listed(columns)})"
    else:
        text = f"CHECK ({condition(constraint.condition, columns)})"
    add = draft.altering(f"ADD CONSTRAINT {quoted(name)} {text}")
    if draft.built(add) is None:
        draft.successors[constraint.name] = None
        draft.say(
            f"find another constraint in place of {constraint.name}, which does not fit {new}"
        )
        return
    if constraint.condition is None:
        mend_twice(draft, columns)
    else:
        mend(draft, text)
    draft.run(f"in place of constraint {constraint.name}, and under this name from now on", add)
    draft.successors[constraint.name] = name


def mend(draft: Draft, text: str) -> None:
    """Add the query that finds rows which a constraint of this text forbids."""
    if not text.upper().startswith("CHECK"):
        draft.say(f"find and mend rows that do not obey {text}")
        return
    false = f"SELECT * FROM {quoted(draft.name)} WHERE NOT {text[len('CHECK') :].lstrip()}"
    draft.say(f"find and mend rows that do not obey {text}", false)


def mend_twice(draft: Draft, names: list[str]) -> None:
    """Add the query for values that a unique index on columns does not allow; NULLs differ."""
    columns = listed(names)
    nullable = [quoted(one) for one in names if draft.column(one).nullable]
    known = " AND ".join(f"{one} IS NOT NULL" for one in nullable)
    where = f" WHERE {known}" if nullable else ""
    table = quoted(draft.name)
    query = f"SELECT {columns} FROM {table}{where} GROUP BY {columns} HAVING COUNT(*) > 1"
    draft.say("find and mend rows that are there twice", query)


# --- a column that INSERT leaves out --------------------------------------------------------------


def leave_out(draft: Draft, name: str) -> None:
    """Steps after which every INSERT may leave a column out.

    A NOT NULL column without default needs a value [110.ours.notnull]. A default is one value for
    all rows, which a unique index or constraint does not allow [110.ours.unique], and like NULL it
    may be what a CHECK forbids [110.ours.check].
    """
    column = draft.column(name)
    what = f"let every INSERT do without {name}"
    if is_mandatory(column):
        draft.alters(what, f"ALTER COLUMN {quoted(name)} DROP NOT NULL")
    demanding = {one.id for one in unique_columns(draft.table) if column.id in one.columns}
    for index in _covering(draft, column):
        if column.default is not None and index.id in demanding:
            draft.run(what, f"DROP INDEX {quoted(index.name)}")
    for constraint in draft.table.constraints:
        repeats = column.default is not None and constraint.id in demanding
        if column.id in constraint.columns and (repeats or _forbids(draft, constraint, column)):
            draft.alters(what, f"DROP CONSTRAINT {quoted(constraint.name)}")


def _forbids(draft: Draft, constraint: Constraint, column: Column) -> bool:
    """Whether a CHECK may be false of a row because it has the column's default, or NULL."""

    def outcome(said: Condition) -> tuple[bool, bool]:
        """Whether a condition may be false of some row, and whether that is due to the column."""
        if isinstance(said, Junction):
            parts = [outcome(one) for one in said.parts]
            due = any(one for _, one in parts)
            if said.operator == "and":
                return any(false for false, _ in parts), due
            false = all(false for false, _ in parts)
            return false, false and due
        if constraint.columns[said.place] != column.id:
            return True, False
        alone = evolve(draft.table, constraints=(replace(constraint, condition=said),))
        violated = violated_check(alone, ((column.id, column.default),)) is not None
        return violated, violated

    return constraint.condition is not None and outcome(constraint.condition)[1]
