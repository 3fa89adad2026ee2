"""DDL statements of every kind, each made for the schema that is assumed so far.

A *maker* returns the SQL of its kind and changes the assumed schema as the statement will; it
returns "" where the schema has nothing for it. `ACTIONS` are the actions of an ALTER TABLE.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from ddlsim.workload.assumed import TYPES, Column, Schema, Table, definition, first
from ddlsim.workload.base import Die, quoted

STRICT: Final = 0.7
"""How often a change of type, nullability and default is of a column that is NOT NULL, if any."""

Action = Callable[[Table, Schema, Die], str]
Maker = Callable[[Schema, Die], str]


# --- actions of an ALTER TABLE -------------------------------------------------------------------


def _add(table: Table, schema: Schema, die: Die) -> str:
    column = Column(schema.free_column(table), die.pick(TYPES))
    text = f"ADD COLUMN {column.name} {column.type}"
    if die.chance(0.4):
        column.defaulted, column.nullable = True, die.chance(0.5)
        text += f"{'' if column.nullable else ' NOT NULL'} DEFAULT {column.default(die)}"
    table.columns.append(column)
    return text


def _mandatory(table: Table, schema: Schema, die: Die) -> str:
    """A mandatory column: refused, or pending until the table was seen empty [110.later.2]."""
    del die
    return f"ADD COLUMN {schema.free_column(table)} INT NOT NULL"


def _drop(table: Table, schema: Schema, die: Die) -> str:
    del schema
    if len(table.columns) < 2:
        return ""
    return f"DROP COLUMN {table.columns.pop(die.below(len(table.columns))).name}"


def _again(table: Table, schema: Schema, die: Die) -> str:
    """Drop a column and add one of the same name: another column [110.compat.id]."""
    del schema
    if not table.columns:
        return ""
    old = table.columns.pop(die.below(len(table.columns)))
    new = Column(old.name, old.type if die.chance(0.5) else die.pick(TYPES))
    table.columns.append(new)
    return f"DROP COLUMN {old.name}, ADD COLUMN {new.name} {new.type}"


def _rename(table: Table, schema: Schema, die: Die) -> str:
    if not table.columns:
        return ""
    column = die.pick(table.columns)
    old, column.name = column.name, schema.free_column(table)
    return f"RENAME COLUMN {old} TO {column.name}"


def _retype(table: Table, die: Die, step: int) -> str:
    able = [
        column
        for column in table.columns
        if column.neighbours(step) and (not column.defaulted or die.chance(0.3))
    ]
    if not able:
        return ""
    column = die.pick(able)
    column.type = die.pick(column.neighbours(step))
    return f"ALTER COLUMN {column.name} SET DATA TYPE {column.type}"


def _widen(table: Table, schema: Schema, die: Die) -> str:
    del schema
    return _retype(table, die, 1)


def _narrow(table: Table, schema: Schema, die: Die) -> str:
    del schema
    return _retype(table, die, -1)


def _relax(table: Table, schema: Schema, die: Die) -> str:
    del schema
    return _nullability(table, die, nullable=True)


def _require(table: Table, schema: Schema, die: Die) -> str:
    del schema
    return _nullability(table, die, nullable=False)


def _nullability(table: Table, die: Die, *, nullable: bool) -> str:
    able = [one for one in table.columns if one.nullable != nullable]
    if not able:
        return ""
    column = die.pick(able)
    column.nullable = nullable
    return f"ALTER COLUMN {column.name} {'DROP' if nullable else 'SET'} NOT NULL"


def _default(table: Table, schema: Schema, die: Die) -> str:
    del schema
    if not table.columns:
        return ""
    column = die.pick(table.columns)
    column.defaulted = not (column.defaulted and die.chance(0.5))
    change = f"SET DEFAULT {column.default(die)}" if column.defaulted else "DROP DEFAULT"
    return f"ALTER COLUMN {column.name} {change}"


def _computed(table: Table, schema: Schema, die: Die) -> str:
    """A computed default, which is refused but in a key."""
    del schema
    column = die.pick(table.columns) if table.columns else None
    return "" if column is None else f"ALTER COLUMN {column.name} SET DEFAULT rand_uuid"


def _mixed(table: Table, schema: Schema, die: Die) -> str:
    """Type, nullability and default at once [110.mixed], mostly of a column that is NOT NULL."""
    del schema
    able = [one for one in table.columns if one.neighbours(1)]
    strict = [one for one in able if not one.nullable]
    if not able:
        return ""
    column = die.pick(strict if strict and die.chance(STRICT) else able)
    column.type = die.pick(column.neighbours(1))
    text = f"ALTER COLUMN {column.name} SET DATA TYPE {column.type}"
    column.nullable, column.defaulted = die.chance(0.7), True
    null = "DROP NOT NULL" if column.nullable else "SET NOT NULL"
    return f"{text} {null} SET DEFAULT {column.default(die)}"


def _constraint(table: Table, schema: Schema, die: Die) -> str:
    able = [column for column in table.columns if _conditions(column)]
    if not able:
        return ""
    column, name = die.pick(able), schema.free_of_tables("k")
    table.constraints.append(name)
    if die.chance(0.4):
        return f"ADD CONSTRAINT {name} UNIQUE ({column.name})"
    return f"ADD CONSTRAINT {name} CHECK ({die.pick(_conditions(column)).format(column.name)})"


def _conditions(column: Column) -> tuple[str, ...]:
    """The conditions of a CHECK on a column; none where its type is compared with nothing here."""
    if column.type.startswith("VARCHAR"):
        return TEXT_CONDITIONS
    return {"INT": CONDITIONS, "BIGINT": CONDITIONS, "BOOLEAN": TRUTH_CONDITIONS}.get(
        column.type, ()
    )


CONDITIONS: Final = (
    "{0} > 0",
    "{0} <> 1",
    "1 <= {0}",
    "{0} IS NULL OR {0} >= 1",
    "{0} IS NOT NULL AND {0} < 2000000000",
    "({0} = 1 OR {0} > 2) AND {0} <= 4000000000",
)
"""Conditions of a CHECK on a column of numbers."""
TEXT_CONDITIONS: Final = (
    "{0} <> 'k1'",
    "{0} > 'k1'",
    "'k2' <= {0}",
    "{0} < 'k2' OR {0} > 'k2'",
    "{0} IS NULL OR {0} <= 'k4'",
)
"""Conditions of a CHECK on a column of texts."""
TRUTH_CONDITIONS: Final = ("{0} <= TRUE", "{0} <> TRUE OR {0} = TRUE", "{0} >= FALSE")
"""Conditions of a CHECK on a column of truth values."""


def _drop_constraint(table: Table, schema: Schema, die: Die) -> str:
    del schema
    if not table.constraints:
        return ""
    return f"DROP CONSTRAINT {table.constraints.pop(die.below(len(table.constraints)))}"


ACTIONS: Final[dict[str, Action]] = {
    "add": _add,
    "drop": _drop,
    "rename": _rename,
    "widen": _widen,
    "narrow": _narrow,
    "relax": _relax,
    "require": _require,
    "default": _default,
    "computed": _computed,
    "mixed": _mixed,
    "constraint": _constraint,
    "drop_constraint": _drop_constraint,
    "mandatory": _mandatory,
    "again": _again,
}
"""The actions of an ALTER TABLE by the names of their weights."""


def altered(action: Action, schema: Schema, die: Die) -> str:
    """An ALTER TABLE with one action."""
    schema.changed = table = schema.target(schema.tables, die)
    text = action(table, schema, die)
    return f"ALTER TABLE {quoted(table.name)} {text}" if text else ""


def _compound(schema: Schema, die: Die) -> str:
    """An ALTER TABLE with two to four actions, in order [110.compat.compound]."""
    table = schema.target(schema.tables, die)
    kinds = die.some(SEVERAL, die.between(2, 4))
    texts = [text for kind in kinds if (text := kind(table, schema, die))]
    return f"ALTER TABLE {quoted(table.name)} {', '.join(texts)}" if texts else ""


SEVERAL: Final = (
    *(_add, _add, _drop, _rename, _widen, _narrow, _relax, _default),
    *(_constraint, _constraint, _drop_constraint),
)
"""What a compound ALTER TABLE is made of, each at most once."""


# --- tables --------------------------------------------------------------------------------------


def _create(schema: Schema, die: Die) -> str:
    """A new table, or one of the clients that was dropped, as it was at the start."""
    zone = die.pick(schema.zones) if schema.zones and die.chance(0.5) else ""
    if schema.gone:
        spec = schema.gone.pop()
        schema.tables.append(replace(first(spec), constraints=[]))
        return f"CREATE TABLE {quoted(spec.name)} {definition(spec)}{zone and f' ZONE {zone}'}"
    name = schema.free_table()
    schema.changed = Table(name, ("id",), [Column("v", "INT")])
    schema.tables.append(schema.changed)
    return f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT){zone and f' ZONE {zone}'}"


def _drop_table(schema: Schema, die: Die) -> str:
    """Drop a table that no view reads; the next CREATE TABLE brings one of the clients back."""
    able = [table for table in schema.tables if table.name not in schema.views.values()]
    if len(schema.tables) < 2 or not able:
        return ""
    table = schema.target(able, die)
    schema.tables.remove(table)
    if table.spec is not None:
        schema.gone.append(table.spec)
    return f"DROP TABLE {quoted(table.name)}"


def restored(schema: Schema, die: Die) -> str:
    """Give the clients a table back that was dropped, or its name; "" where they have them all."""
    if schema.gone:
        return _create(schema, die)
    away = schema.away()
    return _renamed(schema, away[0], away[0].home) if away else ""


def _rename_table(schema: Schema, die: Die) -> str:
    """Rename a table, a table of the clients back to its first name where it has another."""
    table = schema.target(schema.tables, die)
    names = [one.name for one in schema.tables]
    back = table.home and table.home not in names
    return _renamed(schema, table, table.home if back else schema.free_table())


def _renamed(schema: Schema, table: Table, name: str) -> str:
    old, table.name = table.name, name
    for view, base in list(schema.views.items()):
        schema.views[view] = table.name if base == old else base
    return f"ALTER TABLE {quoted(old)} RENAME TO {quoted(table.name)}"


# --- indexes, views, zones -----------------------------------------------------------------------


def _indexed(schema: Schema, die: Die, *, unique: bool) -> str:
    able = [table for table in schema.tables if table.columns]
    if not able:
        return ""
    table, name = schema.target(able, die), schema.free_of_tables("i")
    columns = die.some([column.name for column in table.columns], die.between(1, 2))
    table.indexes.append(name)
    kind = "UNIQUE INDEX" if unique else "INDEX"
    return f"CREATE {kind} {name} ON {quoted(table.name)} ({', '.join(columns)})"


def _index(schema: Schema, die: Die) -> str:
    return _indexed(schema, die, unique=False)


def _unique(schema: Schema, die: Die) -> str:
    return _indexed(schema, die, unique=True)


def _drop_index(schema: Schema, die: Die) -> str:
    able = [table for table in schema.tables if table.indexes]
    if not able:
        return ""
    table = die.pick(able)
    return f"DROP INDEX {table.indexes.pop(die.below(len(table.indexes)))}"


def _view(schema: Schema, die: Die) -> str:
    name = schema.free_view(die)
    first_ones = [one for one in schema.tables if one.name == schema.first_views.get(name)]
    table = die.pick(first_ones or schema.tables)
    schema.views[name] = table.name
    return f"CREATE VIEW {name} AS SELECT * FROM {quoted(table.name)}"


def _rename_view(schema: Schema, die: Die) -> str:
    if not schema.views:
        return ""
    old, new = die.pick(list(schema.views)), schema.free_view(die)
    schema.views[new] = schema.views.pop(old)
    return f"ALTER VIEW {old} RENAME TO {new}"


def _drop_view(schema: Schema, die: Die) -> str:
    if not schema.views:
        return ""
    name = die.pick(list(schema.views))
    del schema.views[name]
    return f"DROP VIEW {name}"


def _zone(schema: Schema, die: Die) -> str:
    name = schema.free_zone()
    schema.zones.append(name)
    return f"CREATE ZONE {name} WITH (PARTITIONS = {die.between(1, 2)}, REPLICAS = 1)"


def _alter_zone(schema: Schema, die: Die) -> str:
    if not schema.zones:
        return ""
    zone = die.pick(schema.zones)
    if die.chance(0.4):
        schema.default_zone = zone
        return f"ALTER ZONE {zone} SET DEFAULT"
    changed = die.pick(("REPLICAS = 2", "REPLICAS = 1", "PARTITIONS = 3"))
    return f"ALTER ZONE {zone} SET ({changed})"


def _rename_zone(schema: Schema, die: Die) -> str:
    if not schema.zones:
        return ""
    old, new = die.pick(schema.zones), schema.free_zone()
    schema.zones[schema.zones.index(old)] = new
    schema.default_zone = new if schema.default_zone == old else schema.default_zone
    return f"ALTER ZONE {old} RENAME TO {new}"


def _drop_zone(schema: Schema, die: Die) -> str:
    if not schema.zones:
        return ""
    zone = die.pick(schema.zones)
    if zone != schema.default_zone:  # else it is refused
        schema.zones.remove(zone)
    return f"DROP ZONE {zone}"


# --- statements without effect --------------------------------------------------------------------


def _noop(schema: Schema, die: Die) -> str:
    return _of_table(NOOPS, schema, die)


def _refused(schema: Schema, die: Die) -> str:
    return _of_table(REFUSED, schema, die)


def _of_table(texts: Sequence[str], schema: Schema, die: Die) -> str:
    """One of the statements, about a table `{t}`, its key's first column `{k}` and a zone `{z}`.

    `{o}` and `{y}` are the names of another table and zone, or the same where there is one only.
    """
    number, zones = die.below(len(schema.tables)), [DEFAULT_ZONE, *map(quoted, schema.zones)]
    table, other = schema.tables[number], schema.tables[number - 1]
    return die.pick(texts).format(
        t=quoted(table.name),
        k=quoted(table.key[0]),
        o=quoted(other.name),
        z=zones[-1],
        y=zones[-2] if len(zones) > 1 else zones[0],
    )


DEFAULT_ZONE: Final = '"default"'
"""The zone that nothing creates [110.zone]."""


NOOPS: Final = (
    "CREATE TABLE IF NOT EXISTS {t} (id INT PRIMARY KEY)",
    "ALTER TABLE {t} ADD COLUMN IF NOT EXISTS {k} INT",
    "ALTER TABLE {t} DROP COLUMN IF EXISTS never",
    "ALTER TABLE {t} DROP CONSTRAINT IF EXISTS never",
    "ALTER TABLE IF EXISTS never ADD COLUMN v INT",
    "DROP TABLE IF EXISTS never",
    "DROP INDEX IF EXISTS never",
    "DROP VIEW IF EXISTS never",
    "DROP ZONE IF EXISTS never",
)
"""Statements that change nothing."""
REFUSED: Final = (
    "CREATE TABLE {t} (id INT PRIMARY KEY)",
    "CREATE TABLE never (id INT PRIMARY KEY, id INT)",
    "CREATE TABLE never (id INT, PRIMARY KEY (other))",
    "CREATE TABLE never (id INT PRIMARY KEY, v DATE DEFAULT 'no day')",
    "CREATE TABLE never (id INT PRIMARY KEY) ZONE never",
    "ALTER TABLE {t} ADD COLUMN {k} INT",
    "ALTER TABLE {t} DROP COLUMN {k}",
    "ALTER TABLE {t} DROP COLUMN never",
    "ALTER TABLE {t} RENAME COLUMN never TO other",
    "ALTER TABLE {t} ALTER COLUMN never DROP NOT NULL",
    "ALTER TABLE {t} DROP CONSTRAINT never",
    "ALTER TABLE {t} ADD CONSTRAINT never UNIQUE (other)",
    "ALTER TABLE never ADD COLUMN v INT",
    "ALTER TABLE never RENAME TO other",
    "DROP TABLE never",
    "CREATE INDEX never ON {t} (other)",
    "CREATE INDEX never ON other ({k})",
    "DROP INDEX never",
    "CREATE VIEW never AS SELECT * FROM other",
    "ALTER VIEW never RENAME TO other",
    "DROP VIEW never",
    "ALTER ZONE never SET (REPLICAS = 2)",
    "ALTER ZONE never RENAME TO other",
    "ALTER ZONE never SET DEFAULT",
    "DROP ZONE never",
    "CREATE TABLE never (id INT, PRIMARY KEY (id, id))",
    "CREATE VIEW {t} AS SELECT * FROM {t}",
    "CREATE INDEX never ON {t} ({k}, {k})",
    "CREATE ZONE {z}",
    "ALTER TABLE {t} ADD CONSTRAINT never UNIQUE ({k}, {k})",
    "ALTER TABLE {t} ADD COLUMN never INT DEFAULT 'x'",
    "ALTER TABLE {t} ADD COLUMN never INT, ADD COLUMN never INT",
    "ALTER TABLE {t} ADD COLUMN never INT, DROP COLUMN other",
    "ALTER TABLE {t} ALTER COLUMN {k} DROP NOT NULL",
    "ALTER TABLE {t} RENAME TO {o}",
    "ALTER ZONE {z} RENAME TO {y}",
    "ALTER VIEW {t} RENAME TO other",
    "DROP VIEW {t}",
)
"""Statements that the catalog refuses."""


MAKERS: Final[dict[str, Maker]] = {
    "compound": _compound,
    "create": _create,
    "drop_table": _drop_table,
    "rename_table": _rename_table,
    "index": _index,
    "unique": _unique,
    "drop_index": _drop_index,
    "view": _view,
    "rename_view": _rename_view,
    "drop_view": _drop_view,
    "zone": _zone,
    "alter_zone": _alter_zone,
    "rename_zone": _rename_zone,
    "drop_zone": _drop_zone,
    "noop": _noop,
    "refused": _refused,
}
"""Every other statement by the name of its weight."""
