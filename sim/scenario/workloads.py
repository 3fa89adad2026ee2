"""The workloads of a scenario, each table as the plug-in's own record."""

from typing import Any

from ddlsim.model.records import Record
from ddlsim.scenario.positions import Path
from ddlsim.scenario.problems import Origin, convert
from ddlsim.scenario.registries import plugin
from ddlsim.workload.base import WORKLOADS, Workload


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
