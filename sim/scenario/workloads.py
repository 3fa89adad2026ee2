"""The workloads of a scenario, each table as the plug-in's own record."""

from typing import Any

from ddlsim.model.ddl import ColumnSpec
from ddlsim.model.records import Record
from ddlsim.protocol.schema.column_types import holds
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, convert
from ddlsim.scenario.registries import plugin
from ddlsim.workload.base import WORKLOADS, Workload, WorkloadWorld
from ddlsim.workload.keys import value_of


class WorkloadEntry(Record, frozen=True):
    """A `[[workload]]`; `label` begins its clients' names."""

    label: str
    workload: Workload


def read_workloads(tables: list[dict[str, Any]], origin: Origin) -> tuple[WorkloadEntry, ...]:
    """Every workload, its clients named after it: `mixed-1`, of a second one `mixed2-1`."""
    entries: list[WorkloadEntry] = []
    for index, table in enumerate(tables):
        path: Path = ("workload", index)
        kind = plugin(WORKLOADS, table, origin, path)
        fields = {key: value for key, value in table.items() if key != "name"}
        made = convert(fields, kind, origin, path)
        same = sum(entry.workload.name == made.name for entry in entries)
        label = made.name if not same else f"{made.name}{same + 1}"
        entries.append(WorkloadEntry(label, made))
    return tuple(entries)


def check_keys(workload: Workload, world: WorkloadWorld) -> None:
    """Raise `ValueError` where a column of a key cannot hold all `keys` that a workload writes."""
    keys = getattr(workload, "keys", None)
    if not isinstance(keys, int):
        return
    for table in world.chosen(workload.tables):
        for column in table.columns:
            if column.name in table.key and not _has_room(column, keys):
                what = f"{column.name} {column.type} of {table.name} cannot hold {keys:,} of them"
                raise ValueError(f"keys: {what}; take fewer, or widen it")


def _has_room(column: ColumnSpec, keys: int) -> bool:
    """Whether a column can hold the value of the last key: it is the largest, or longest."""
    try:
        return holds(column.type, value_of(column, keys - 1))
    except OverflowError:  # a day behind the year 9999
        return False
