"""The schema at the start of a run: checked statement by statement against a catalog."""

from collections.abc import Sequence

import msgspec

from ddlsim.model.ddl import (
    CreateTable,
    CreateView,
    DropTable,
    DropView,
    RenameTable,
    RenameView,
)
from ddlsim.protocol.schema.alter_table import with_key
from ddlsim.protocol.schema.catalog import Catalog
from ddlsim.protocol.schema.ddl import Built, Refused
from ddlsim.protocol.schema.script import SchemaScript
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin
from ddlsim.scenario.sqltext import SqlLine
from ddlsim.units import MIN_TIMESTAMP, Timestamp


def check_schema(lines: Sequence[SqlLine], origin: Origin, path: Path) -> None:
    """Check that a catalog accepts every statement and that each changes something."""
    catalog, script = Catalog(), SchemaScript(line.statement for line in lines)
    for number, line in enumerate(lines, 1):
        snapshot = catalog.latest()
        built = script.build(line.statement, snapshot, snapshot.next_object_id)
        if not isinstance(built, Built):
            why = built.message if isinstance(built, Refused) else "it does nothing"
            raise origin.error(path, f"{line.sql!r} is not allowed here: {why}")
        activation_ts = Timestamp(MIN_TIMESTAMP + number)
        catalog.apply(number, activation_ts, activation_ts, built.objects)


def tables_at_start(lines: Sequence[SqlLine]) -> dict[str, CreateTable]:
    """The tables at the start of the run, by name, as they were created, each with its key."""
    tables: dict[str, CreateTable] = {}
    for line in lines:
        match line.statement:
            case CreateTable(name=name) as created:
                tables[name] = with_key(created)
            case DropTable(name=name):
                tables.pop(name, None)
            case RenameTable(name=name, new_name=new_name) if name in tables:
                tables[new_name] = msgspec.structs.replace(tables.pop(name), name=new_name)
            case _:
                pass
    return tables


def views_at_start(lines: Sequence[SqlLine]) -> tuple[CreateView, ...]:
    """The views at the start of the run, each with the names that its tables have then."""
    views: dict[str, CreateView] = {}
    for line in lines:
        match line.statement:
            case CreateView(name=name) as created:
                views[name] = created
            case DropView(name=name):
                views.pop(name, None)
            case RenameView(name=name, new_name=new_name) if name in views:
                views[new_name] = msgspec.structs.replace(views.pop(name), name=new_name)
            case RenameTable(name=name, new_name=new_name):
                for view, made in views.items():
                    tables = tuple(new_name if one == name else one for one in made.tables)
                    views[view] = msgspec.structs.replace(made, tables=tables)
            case _:
                pass
    return tuple(views.values())
