"""What the data planes can carry: a design runs on its own plane, a fault or a step on some."""

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.fdb import config
from ddlsim.fdb.settings import FdbSettings
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.rules import reading
from ddlsim.layer.switches import switches_of
from ddlsim.model.ddl import CreateView, RenameView
from ddlsim.model.ops import DataOperation, Find
from ddlsim.model.programs import Step
from ddlsim.nemesis.base import FAULTS
from ddlsim.scenario.config import Fdb, store_settings
from ddlsim.scenario.moments import moments
from ddlsim.scenario.problems import Origin
from ddlsim.scenario.rules import FDB, IGNITE, value_of
from ddlsim.scenario.sqltext import SqlLine, names_made
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.strategies.base import DESIGNS, LAYER_DESIGNS, STRATEGIES
from ddlsim.workload.base import WORKLOADS
from ddlsim.workload.mixed import Mixed

VIEWS: Final = (CreateView, RenameView)
"""Statements that give a name to a view."""
OF_THE_PROTOCOL: Final = ("tick", "apply", "leader", "pause")
"""Tables of the timeline that act on parts which the other plane lacks."""


def processes_of(table: ScenarioTable) -> tuple[tuple[str, str], ...]:
    """Role and name of every process of the key-value store; none on the Ignite plane."""
    if table.cluster.plane != FDB:
        return ()
    store = table.fdb
    return config.processes_of(
        grvs=store.grvs,
        proxies=store.proxies,
        resolvers=store.resolvers,
        logs=store.logs,
        storages=store.storages,
    )


def machines_of(table: ScenarioTable, nodes: tuple[str, ...], origin: Origin) -> tuple[str, ...]:
    """Every machine of a run: the nodes, and the processes of the key-value store."""
    if table.fdb.replicas > table.fdb.storages:
        what = f"{table.fdb.replicas} replicas, but only {table.fdb.storages} storage servers"
        raise origin.error(("fdb", "replicas"), f"{what}; raise fdb.storages")
    names = tuple(name for _, name in processes_of(table))
    for name in nodes:
        if name in names:
            what = f"{name!r} is a process of the key-value store; call the node otherwise"
            raise origin.error(("cluster", "nodes"), what)
    return (*nodes, *names)


def _keeps_entries(strategy: str) -> bool:
    """Whether a design on the Ignite plane has the contents of indexes."""
    return strategy in STRATEGIES and STRATEGIES.get(strategy).index_entries is not None


def on_a_plane(table: ScenarioTable) -> ScenarioTable:
    """The tables of a scenario; where they name no plane, with that of the design."""
    if table.cluster.plane is not None:
        return table
    name = table.strategy.get("name")
    plane = IGNITE
    if isinstance(name, str) and name in DESIGNS:
        plane = DESIGNS.get(name).header.plane
    return replace(table, cluster=replace(table.cluster, plane=plane))


def check_design(table: ScenarioTable, origin: Origin) -> None:
    """Check that the plane of a scenario has its design."""
    plane, strategy = table.cluster.plane, table.strategy.get("name")
    if not isinstance(strategy, str) or strategy not in DESIGNS:
        return
    own = DESIGNS.get(strategy).header.plane
    if own != plane:
        known = ", ".join(name for name, one in DESIGNS.items() if one.header.plane == plane)
        what = f"{strategy} runs on plane {own}; designs of plane {plane}: {known or 'none'}"
        raise origin.error(("cluster", "plane"), what)


def check_switches(
    table: ScenarioTable, strategy: str, fields: dict[str, Any], origin: Origin
) -> None:
    """Check that the store has what the rules of a design need."""
    if table.cluster.plane != FDB or strategy not in LAYER_DESIGNS:
        return
    rules = {name: value_of(name, value, FDB) for name, value in fields.items()}
    design = LAYER_DESIGNS.get(strategy).with_rules(rules)
    for switch in switches_of(design):
        if not getattr(table.fdb, switch):
            what = f"{strategy} needs what FoundationDB lacked in 2018; set fdb.{switch} = true"
            raise origin.error(("fdb", switch), what)
    _check_distance(table, design, origin)


def _check_distance(table: ScenarioTable, design: LayerDesign, origin: Origin) -> None:
    """Check that what counts from a read version comes into force behind the commit (C11).

    An update commits up to a window behind its read version.
    """
    distance_ms = design.distance_ms
    window_ms = FdbSettings(**store_settings(table.fdb)).window_ms
    if design.read_schema is reading.in_force_less_the_window and distance_ms <= window_ms:
        what = (
            f"{distance_ms} ms count from the read version of an update, which may commit up to "
            f"fdb.window_ms = {window_ms} ms later; set more than that"
        )
        raise origin.error(("strategy", "distance_ms"), what)


def check_plane(
    table: ScenarioTable,
    strategy: str,
    steps: Sequence[Step],
    statements: Sequence[SqlLine],
    origin: Origin,
) -> None:
    """Check that the plane of a scenario has what its faults and steps act on."""
    plane = table.cluster.plane or IGNITE
    _check_workloads(table, plane, origin)
    _check_steps(plane, steps, statements, origin)
    _check_moments(table, plane, origin)
    _check_faults(table, plane, origin)
    if plane == IGNITE:
        _check_store(table, origin)
        if not _keeps_entries(strategy):
            _check_finds(table, steps, origin)
        return
    for index, fault in enumerate(table.faults):
        if fault.get("name") == "crash" and fault.get("node") == config.CONTROLLER:
            what = "the controller of the store does not fail; name another process"
            raise origin.error(("faults", index, "node"), what)
    for key in OF_THE_PROTOCOL:
        if getattr(table, key):
            what = f"plane {plane} has no such part of the Ignite protocol; leave it out"
            raise origin.error((key, 0), what)


def _check_faults(table: ScenarioTable, plane: str, origin: Origin) -> None:
    """Check that a plane has what its faults act on."""
    for index, fault in enumerate(table.faults):
        name = fault.get("name")
        if isinstance(name, str) and name in FAULTS and plane not in FAULTS.get(name).planes:
            what = f"plane {plane} has no replication groups, leases or meta storage to act on"
            if plane == IGNITE:
                what = f"it acts on plane {' and '.join(FAULTS.get(name).planes)}, not on {plane}"
            raise origin.error(("faults", index, "name"), what)


def _check_store(table: ScenarioTable, origin: Origin) -> None:
    """Check that nothing is said about the key-value store on the plane that has none."""
    for key in Fdb.__struct_fields__:
        if getattr(table.fdb, key) != getattr(Fdb(), key):
            what = f"plane {IGNITE} has no key-value store; leave it out, or run a design of {FDB}"
            raise origin.error(("fdb", key), what)


def _check_workloads(table: ScenarioTable, plane: str, origin: Origin) -> None:
    """Check that no workload asks for what means nothing on the plane."""
    for index, given in enumerate(table.workload):
        name = given.get("name")
        known = isinstance(name, str) and name in WORKLOADS
        cannot = WORKLOADS.get(str(name)).cannot.get(plane, {}) if known else {}
        for key, why in cannot.items():
            if given.get(key):
                raise origin.error(("workload", index, key), f"not on plane {plane}: {why}")


def _check_steps(
    plane: str, steps: Sequence[Step], statements: Sequence[SqlLine], origin: Origin
) -> None:
    """Check that no step asks for what clients of generated load cannot do on the plane, either."""
    cannot = Mixed.cannot.get(plane)
    if cannot is None:
        return
    made = [line.statement for line in statements]
    views = {name for one in made if isinstance(one, VIEWS) for name in names_made(one)}
    views -= {name for one in made if not isinstance(one, VIEWS) for name in names_made(one)}
    for index, step in enumerate(steps):
        if step.as_of_ms is not None:
            what = f"not on plane {plane}: {cannot['as_of']}"
            raise origin.error(("step", index, "as_of_ms"), what)
        if isinstance(step.do, DataOperation) and step.do.table in views:
            what = f"{step.do.table} is a view; not on plane {plane}: {cannot['views']}"
            raise origin.error(("step", index, "do"), what)


def _check_moments(table: ScenarioTable, plane: str, origin: Origin) -> None:
    """Check that what faults begin and heal at can happen on the plane."""
    known = moments()
    for index, fault in enumerate(table.faults):
        for key in ("when", "until"):
            found = fault.get(key)
            name = found.get("moment") if isinstance(found, dict) else found
            moment = known.get(name) if isinstance(name, str) else None
            if moment is None:
                continue
            if moment.of_store and plane != FDB:
                what = f"{moment.name} comes on plane {FDB} alone; see ddlsim list moments"
                raise origin.error(("faults", index, key), what)
            if moment.source == "point" and plane != IGNITE:
                what = f"{moment.name} is a point of plane {IGNITE} alone; see ddlsim list moments"
                raise origin.error(("faults", index, key), what)


def _check_finds(table: ScenarioTable, steps: Sequence[Step], origin: Origin) -> None:
    """Check that nothing looks for rows by an index where indexes have no contents."""
    able = ", ".join(filter(_keeps_entries, DESIGNS))
    what = f'a find needs the contents of indexes; set cluster.plane = "{FDB}", or run {able}'
    for index, step in enumerate(steps):
        if isinstance(step.do, Find):
            raise origin.error(("step", index, "do"), what)
    for index, entry in enumerate(table.workload):
        if entry.get("find"):
            raise origin.error(("workload", index, "find"), what)
