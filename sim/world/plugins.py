"""The plug-ins of a scenario: its workloads and faults, each table as the plug-in's own record."""

from typing import Any

from sim.model.records import Record
from sim.nemesis.base import ANY, ANY_FOLLOWER, FAULTS, LEADER, PRIMARY, Fault
from sim.registry import Registry, UnknownPluginError
from sim.workload.base import WORKLOADS, Workload
from sim.world.checks import check_latency
from sim.world.config import Ms, Spread, TableRecord
from sim.world.positions import Path
from sim.world.problems import Origin, convert, fields_of, near, unknown_key
from sim.world.vocabulary import check_kind


class WorkloadEntry(Record, frozen=True):
    """A `[[workload]]`; `label` begins its clients' names."""

    label: str
    workload: Workload


class FaultTimes(TableRecord, frozen=True):
    """When a fault happens; without `for_ms` it lasts until the load ends."""

    from_ms: Ms | Spread = 0
    for_ms: Ms | Spread | None = None


class FaultEntry(Record, frozen=True):
    """A `[[faults]]`."""

    times: FaultTimes
    fault: Fault


def read_workloads(tables: list[dict[str, Any]], origin: Origin) -> tuple[WorkloadEntry, ...]:
    """Every workload, its clients named after it: `mixed-1`, of a second one `mixed2-1`."""
    entries: list[WorkloadEntry] = []
    for index, table in enumerate(tables):
        path: Path = ("workload", index)
        kind = _plugin(WORKLOADS, table, origin, path)
        fields = {key: value for key, value in table.items() if key != "name"}
        made = convert(fields, kind, origin, path)
        same = sum(entry.workload.name == made.name for entry in entries)
        label = made.name if not same else f"{made.name}{same + 1}"
        entries.append(WorkloadEntry(label, made))
    return tuple(entries)


def read_faults(
    tables: list[dict[str, Any]], nodes: tuple[str, ...], names: list[str], origin: Origin
) -> tuple[FaultEntry, ...]:
    """Every fault; what it names must exist: a node, or a role on a table of the schema."""
    entries = []
    for index, table in enumerate(tables):
        path: Path = ("faults", index)
        kind = _plugin(FAULTS, table, origin, path)
        when = {key: table[key] for key in ("from_ms", "for_ms") if key in table}
        fields = {k: v for k, v in table.items() if k != "name" and k not in when}
        times = convert(when, FaultTimes, origin, path)
        for key in ("from_ms", "for_ms"):
            check_latency(getattr(times, key), origin, (*path, key))
        made = _fault(fields, kind, origin, path)
        for target in kind.targets:
            check_role(getattr(made, target), nodes, names, origin, (*path, target))
        check_kind(getattr(made, "kind", None), origin, (*path, "kind"))
        entries.append(FaultEntry(times, made))
    return tuple(entries)


def _plugin(registry: Registry[Any], table: dict[str, Any], origin: Origin, path: Path) -> Any:
    name = table.get("name")
    if name is None:
        raise origin.error(path, f"name is missing; known: {', '.join(registry)}")
    if not isinstance(name, str):
        raise origin.error((*path, "name"), f"expected a string, not {name}")
    try:
        return registry.get(name)
    except UnknownPluginError:
        what = f"no {registry.kind} is called {name!r}; {near(name, registry)}"
        raise origin.error((*path, "name"), what) from None


def _fault(fields: dict[str, Any], kind: type[Fault], origin: Origin, path: Path) -> Fault:
    known = [*fields_of(kind), "from_ms", "for_ms"]
    for key in fields:
        if key not in known:
            raise origin.error((*path, key), unknown_key(key, known))
    made: Fault = convert(fields, kind, origin, path)
    return made


def check_role(
    role: Any, nodes: tuple[str, ...], names: list[str], origin: Origin, path: Path
) -> None:
    """A node's name, or a role; lists of them too; None is nothing to check."""
    if isinstance(role, tuple | list):
        for index, each in enumerate(role):
            check_role(each, nodes, names, origin, (*path, index))
        return
    if role is None or role in nodes or role in (LEADER, ANY, ANY_FOLLOWER):
        return
    match = PRIMARY.match(role)
    if match is None:
        roles = [LEADER, "primary of TABLE", ANY, ANY_FOLLOWER]
        hint = near(role, nodes) if len(role) <= 4 else f"known: {', '.join([*nodes, *roles])}"
        raise origin.error(path, f"no node or role is called {role!r}; {hint}")
    if match.group(1) not in names:
        what = f"no table is called {match.group(1)!r}; {near(match.group(1), names)}"
        raise origin.error(path, what)
