"""The parts of a table as they are written: columns, keys, constraints, and its zone."""

from typing import NamedTuple

from sim.model.ddl import ColumnSpec, ConstraintSpec
from sim.model.schema import Value
from sim.sql.cursor import Cursor
from sim.sql.values import column_type, constant


class Defined(NamedTuple):
    """A column definition and what it says besides the column itself."""

    spec: ColumnSpec
    constraints: tuple[ConstraintSpec, ...]
    is_key: bool
    says_null: bool


def column(cursor: Cursor) -> Defined:
    """A name, a type, and in any order NULL or NOT NULL, DEFAULT, PRIMARY KEY and constraints."""
    name = cursor.name("a column name")
    written_type = column_type(cursor)
    nullable: bool | None = None
    default: tuple[Value] | None = None
    is_key = False
    constraints: list[ConstraintSpec] = []
    while True:
        mark = cursor.mark()
        if cursor.sees("NOT") or cursor.sees("NULL"):
            if nullable is not None:
                raise cursor.wrong("another part of the column", "said twice", mark)
            nullable = not cursor.take("NOT")
            cursor.expect("NULL")
        elif cursor.take("DEFAULT"):
            if default is not None:
                raise cursor.wrong("another part of the column", "said twice", mark)
            default = (constant(cursor),)
        elif key_of_column(cursor):
            if is_key:
                raise cursor.wrong("another part of the column", "said twice", mark)
            is_key = True
        else:
            found = constraint_of_column(cursor, name)
            if found is None:
                break
            constraints.append(found)
    spec = ColumnSpec(
        name,
        written_type,
        nullable is not False,
        has_default=default is not None,
        default=default[0] if default else None,
    )
    return Defined(spec, tuple(constraints), is_key, nullable is True)


def key_of_column(cursor: Cursor) -> bool:
    """PRIMARY KEY behind a column."""
    if not cursor.take("PRIMARY"):
        return False
    cursor.expect("KEY")
    using(cursor)
    return True


def using(cursor: Cursor) -> None:
    """How the real system lays out an index; it has no bearing on anything here."""
    if cursor.take("USING") and not cursor.take_one_of("SORTED", "HASH"):
        raise cursor.wrong("SORTED or HASH")


def column_list(cursor: Cursor) -> tuple[str, ...]:
    """Column names in parentheses."""
    return cursor.listed(lambda: cursor.name("a column name"))


def sorted_columns(cursor: Cursor) -> tuple[str, ...]:
    """Column names in parentheses, with directions, which have no bearing on anything here."""

    def one() -> str:
        name = cursor.name("a column name")
        cursor.take_one_of("ASC", "DESC")
        if cursor.take("NULLS") and not cursor.take_one_of("FIRST", "LAST"):
            raise cursor.wrong("FIRST or LAST")
        return name

    return cursor.listed(one)


def key_columns(cursor: Cursor) -> tuple[str, ...] | None:
    """[CONSTRAINT name] PRIMARY KEY (…), if it comes next; the name of a key is of no use."""
    if cursor.sees("CONSTRAINT"):
        if not cursor.sees_after_name("PRIMARY"):
            return None
        cursor.expect("CONSTRAINT")
        cursor.name("a constraint name")
    if not cursor.take("PRIMARY"):
        return None
    cursor.expect("KEY")
    using(cursor)
    return sorted_columns(cursor)


def constraint(cursor: Cursor) -> ConstraintSpec | None:
    """[CONSTRAINT name] CHECK, UNIQUE or FOREIGN KEY, if it comes next."""
    named = cursor.take("CONSTRAINT")
    name = cursor.name("a constraint name") if named else ""
    mark = cursor.mark()
    if cursor.take("CHECK"):
        cursor.expression()
        return ConstraintSpec(name, "check", cursor.since(mark))
    if cursor.take("UNIQUE"):
        column_list(cursor)
        return ConstraintSpec(name, "unique", cursor.since(mark))
    if cursor.take("FOREIGN"):
        cursor.expect("KEY")
        column_list(cursor)
        cursor.expect("REFERENCES")
        _referenced(cursor)
        return ConstraintSpec(name, "foreign", cursor.since(mark))
    if named:
        raise cursor.wrong("CHECK, UNIQUE, FOREIGN KEY or PRIMARY KEY")
    return None


def constraint_of_column(cursor: Cursor, column_name: str) -> ConstraintSpec | None:
    """[CONSTRAINT name] CHECK, UNIQUE or REFERENCES behind a column, if it comes next."""
    named = cursor.take("CONSTRAINT")
    name = cursor.name("a constraint name") if named else ""
    mark = cursor.mark()
    if cursor.take("CHECK"):
        cursor.expression()
        return ConstraintSpec(name, "check", cursor.since(mark))
    if cursor.take("UNIQUE"):
        return ConstraintSpec(name, "unique", f"UNIQUE ({column_name})")
    if cursor.take("REFERENCES"):
        _referenced(cursor)
        return ConstraintSpec(name, "foreign", f"FOREIGN KEY ({column_name}) {cursor.since(mark)}")
    if named:
        raise cursor.wrong("CHECK, UNIQUE or REFERENCES")
    return None


def _referenced(cursor: Cursor) -> None:
    """The table that a foreign key refers to, and what happens to its rows."""
    cursor.object_name("a table name")
    if cursor.sees("("):
        column_list(cursor)
    while cursor.take("ON"):
        if not cursor.take_one_of("DELETE", "UPDATE"):
            raise cursor.wrong("DELETE or UPDATE")
        deeds = (("NO", "ACTION"), ("CASCADE",), ("RESTRICT",), ("SET", "NULL"), ("SET", "DEFAULT"))
        if not any(cursor.take(*deed) for deed in deeds):
            raise cursor.wrong("NO ACTION, CASCADE, RESTRICT, SET NULL or SET DEFAULT")


def zone_of(cursor: Cursor) -> str | None:
    """What follows the columns of a table: its zone, and what has no bearing on anything here."""
    zone: str | None = None
    while True:
        mark = cursor.mark()
        if cursor.take("COLOCATE"):
            cursor.expect("BY")
            column_list(cursor)
            continue
        if cursor.take("STORAGE"):
            cursor.expect("PROFILE")
            if cursor.string() is None:
                raise cursor.wrong("a string")
            continue
        if cursor.take("ZONE"):
            found = _zone_name(cursor)
        elif cursor.take("WITH"):
            found = (
                cursor.listed(lambda: _zone_option(cursor))[0]
                if cursor.sees("(")
                else (_zone_option(cursor))
            )
        else:
            return zone
        if zone is not None:
            raise cursor.wrong("one zone", "said twice", mark)
        zone = found


def _zone_option(cursor: Cursor) -> str:
    """ZONE = name; the option may be quoted."""
    mark = cursor.mark()
    if cursor.name("ZONE").lower() not in {"zone", "primary_zone"}:
        raise cursor.wrong("ZONE", at=mark)
    cursor.expect("=")
    return _zone_name(cursor)


def _zone_name(cursor: Cursor) -> str:
    """A zone's name, or a string that holds it; the string folds like a name that is not quoted."""
    text = cursor.string()
    return text.lower() if text else cursor.name("a zone name")
