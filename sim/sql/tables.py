"""CREATE TABLE and ALTER TABLE, word by word."""

from typing import NamedTuple

from sim.model.ddl import (
    Action,
    AddColumn,
    AddConstraint,
    AlterColumn,
    AlterTable,
    ColumnSpec,
    ConstraintSpec,
    CreateTable,
    DropColumn,
    DropConstraint,
    RenameColumn,
    RenameTable,
)
from sim.model.schema import ColumnType, Value
from sim.sql.cursor import Cursor
from sim.sql.table_parts import Defined, column, constraint, key_columns, zone_of
from sim.sql.values import column_type, constant


def create_table(cursor: Cursor) -> CreateTable:
    """CREATE TABLE, after these two words."""
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")
    name = cursor.object_name("a table name")
    columns: list[ColumnSpec] = []
    constraints: list[ConstraintSpec] = []
    keys: list[tuple[str, ...]] = []
    nulls: list[str] = []

    def element() -> None:
        mark = cursor.mark()
        key = key_columns(cursor)
        found = constraint(cursor) if key is None else None
        if found is not None:
            constraints.append(found)
        elif key is None:
            defined = column(cursor)
            columns.append(defined.spec)
            constraints.extend(defined.constraints)
            key = (defined.spec.name,) if defined.is_key else None
            nulls.extend([defined.spec.name] if defined.says_null else [])
        if key is not None:
            keys.append(key)
        if len(keys) > 1:
            raise cursor.wrong("one primary key", "a second primary key", mark)

    cursor.listed(element)
    for nullable in nulls:
        if keys and nullable in keys[0]:
            raise cursor.wrong("NOT NULL", f"key column {nullable!r} cannot be NULL")
    zone = zone_of(cursor)
    cursor.end("ZONE, or the end of the statement")
    key = keys[0] if keys else ()
    return CreateTable(name, tuple(columns), key, tuple(constraints), zone, if_not_exists)


def alter_table(cursor: Cursor) -> AlterTable | RenameTable:
    """ALTER TABLE, after these two words."""
    if_exists = cursor.take("IF", "EXISTS")
    name = cursor.object_name("a table name")
    if cursor.take("RENAME", "TO"):
        new_name = cursor.object_name("the table's new name")
        cursor.end("the end of the statement (RENAME TO stands alone)")
        return RenameTable(name, new_name, if_exists)
    actions = list(_actions(cursor))
    while cursor.take(","):
        actions += _actions(cursor)
    cursor.end("',' or the end of the statement")
    return AlterTable(name, tuple(actions), if_exists)


def _actions(cursor: Cursor) -> tuple[Action, ...]:
    """One action as written, which is several where it lists columns [110.compat.compound]."""
    if cursor.take("ADD"):
        return _add(cursor)
    if cursor.take("DROP"):
        return _drop(cursor)
    if cursor.take("ALTER"):
        cursor.take("COLUMN")
        return (_alter_column(cursor),)
    if cursor.take("RENAME"):
        cursor.expect("COLUMN")
        name = cursor.name("a column name")
        cursor.expect("TO")
        return (RenameColumn(name, cursor.name("the column's new name")),)
    raise cursor.wrong("ADD, DROP, ALTER or RENAME")


def _add(cursor: Cursor) -> tuple[Action, ...]:
    mark = cursor.mark()
    if key_columns(cursor) is not None:
        raise cursor.wrong("a column or a constraint", "a primary key cannot be added", mark)
    found = constraint(cursor)
    if found is not None:
        return (AddConstraint(found),)
    cursor.take_one_of("COLUMN", "COLUMNS")
    if_not_exists = cursor.take("IF", "NOT", "EXISTS")

    def new_column() -> Defined:
        mark = cursor.mark()
        defined = column(cursor)
        if defined.is_key:
            raise cursor.wrong("a column of no key", "a primary key cannot be added", mark)
        return defined

    listed = cursor.listed(new_column) if cursor.sees("(") else (new_column(),)
    actions: list[Action] = []
    for defined in listed:
        actions.append(AddColumn(defined.spec, if_not_exists))
        actions += (AddConstraint(inline) for inline in defined.constraints)
    return tuple(actions)


def _drop(cursor: Cursor) -> tuple[Action, ...]:
    if cursor.take("CONSTRAINT"):
        if_exists = cursor.take("IF", "EXISTS")
        return (DropConstraint(cursor.name("a constraint name"), if_exists),)
    if cursor.sees("PRIMARY", "KEY"):
        raise cursor.wrong("a column or a constraint", "the primary key cannot be dropped")
    cursor.take_one_of("COLUMN", "COLUMNS")
    if_exists = cursor.take("IF", "EXISTS")
    if cursor.sees("("):
        names = cursor.listed(lambda: cursor.name("a column name"))
    else:
        names = (cursor.name("a column name"),)
    return tuple(DropColumn(name, if_exists) for name in names)


class _Altered(NamedTuple):
    """What an ALTER COLUMN has said so far; `default` holds the constant in a tuple."""

    type: ColumnType | None = None
    nullable: bool | None = None
    default: tuple[Value] | None = None


def _alter_column(cursor: Cursor) -> AlterColumn:
    """Type, nullability and default in any order and mix [110.mixed]."""
    name = cursor.name("a column name")
    altered = _Altered()
    while not cursor.sees(",") and not cursor.is_at_end():
        mark = cursor.mark()
        said = _change(cursor, has_type=altered.type is not None)
        news = {name: new for name, new in said._asdict().items() if new is not None}
        if any(getattr(altered, name) is not None for name in news):
            raise cursor.wrong("type, nullability and default once each", "said twice", mark)
        altered = altered._replace(**news)
    if altered == _Altered():
        raise cursor.wrong("SET or DROP")
    default = altered.default
    return AlterColumn(
        name,
        altered.type,
        altered.nullable,
        sets_default=default is not None,
        default=default[0] if default else None,
    )


def _change(cursor: Cursor, *, has_type: bool) -> _Altered:
    """One word of an ALTER COLUMN; after SET DATA TYPE the others need no SET of their own."""
    if cursor.take("DROP"):
        if cursor.take("NOT", "NULL"):
            return _Altered(nullable=True)
        cursor.expect("DEFAULT")
        return _Altered(default=(None,))
    expected = "SET or DROP"
    if cursor.take("SET"):
        if cursor.take("DATA"):
            cursor.expect("TYPE")
            return _Altered(type=column_type(cursor))
        expected = "DATA TYPE, NOT NULL or DEFAULT"
    elif has_type:
        expected = "NOT NULL, NULL, DEFAULT, SET, DROP, ',' or the end of the statement"
    else:
        raise cursor.wrong(expected)
    if cursor.take("NOT", "NULL"):
        return _Altered(nullable=False)
    if cursor.take_one_of("NULL", "NULLABLE"):
        return _Altered(nullable=True)
    if cursor.take("DEFAULT"):
        return _Altered(default=(constant(cursor),))
    raise cursor.wrong(expected)
