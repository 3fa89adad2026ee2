"""TOML to `Scenario`: whatever is unknown, misspelt or impossible is an error with its line."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, Final

from ddlsim.model.programs import Step
from ddlsim.model.records import Record
from ddlsim.scenario import bounds, checks, config
from ddlsim.scenario.declared import Declared
from ddlsim.scenario.expect import check_finding, check_mutant, check_strategy, expect_of, label_of
from ddlsim.scenario.faults import (
    FaultEntry,
    FaultTargets,
    Placed,
    check_times,
    placed,
    read_faults,
)
from ddlsim.scenario.files import Files, text_at
from ddlsim.scenario.first_schema import tables_at_start, views_at_start
from ddlsim.scenario.migrations import (
    MigrationEntry,
    check_names,
    paced,
    read_migrations,
    read_schema,
)
from ddlsim.scenario.overrides import (
    EMBEDDED,
    MIGRATION,
    apply_overrides,
    flags_of,
    paths_of,
    repeat_options,
)
from ddlsim.scenario.planes import (
    check_design,
    check_plane,
    check_switches,
    machines_of,
    on_a_plane,
    processes_of,
)
from ddlsim.scenario.problems import Origin, ScenarioError, convert
from ddlsim.scenario.rules import FIRST, IGNITE, BadRuleError, value_of
from ddlsim.scenario.samples import SamplesByFile, read_samples
from ddlsim.scenario.script_checks import check_script
from ddlsim.scenario.sqltext import SqlLine
from ddlsim.scenario.steps import StepReader
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.scenario.vocabulary import check_clauses
from ddlsim.scenario.workloads import WorkloadEntry, check_keys, read_workloads
from ddlsim.units import decimal, ms
from ddlsim.workload.base import PlannedDdl, WorkloadWorld
from ddlsim.workload.mixed import Mixed

NO_MUTANT: Final = "none"
"""The value of `strategy.mutant` that takes the scenario's mutant away."""
_SYNTAX: Final = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$")


IDLE = ("safe_time_interval", "partition_idle")
"""The intervals at which an idle group records something."""


class ScenarioSource(Record, frozen=True):
    """What a scenario is made from; the files that it names are in `directory`, all `within` one
    folder (None: that directory)."""

    name: str
    text: str
    overrides: dict[str, Any]
    directory: str | None
    within: str | None


class Scenario(Record, frozen=True):
    """A scenario file, read and found possible; `text` and `overrides` are all that it came from.

    `strategy_fields` maps fields of the design's record to the name of a rule, or to a number.
    """

    name: str
    table: ScenarioTable
    expect: str | dict[str, Any]
    strategy: str
    strategy_fields: dict[str, Any]
    mutant: str | None
    nodes: tuple[str, ...]
    voters: tuple[str, ...]
    leader: str
    numbers: dict[str, int]
    node_protocols: dict[str, dict[str, int]]
    node_clocks: dict[str, config.NodeClock]
    samples: SamplesByFile
    schema: tuple[SqlLine, ...]
    migrations: tuple[MigrationEntry, ...]
    workloads: tuple[WorkloadEntry, ...]
    faults: tuple[FaultEntry, ...]
    steps: tuple[Step, ...]
    tables: tuple[Placed, ...]
    text: str
    overrides: dict[str, Any]
    directory: str | None = None
    within: str | None = None

    @property
    def processes(self) -> tuple[tuple[str, str], ...]:
        """Role and name of every process of the key-value store; none on the Ignite plane."""
        return processes_of(self.table)

    @property
    def estimate(self) -> bounds.Estimate:
        """The estimated size of a run."""
        size = bounds.Size(
            nodes=len(self.nodes),
            seconds=(self.table.run.load_ms or 0) / 1_000,
            idle_s=min(self.numbers[f"{name}_ms"] for name in IDLE) / 1_000,
            tables=[(one.partitions, one.replicas) for one in self.tables],
        )
        return bounds.estimate(size, self.workloads)

    @property
    def outside(self) -> bool:
        """Whether it may name files outside of its folder."""
        return self.within is not None and FilePath(self.within) == FilePath(self.within).parent

    @property
    def title(self) -> str:
        """Its title."""
        return self.table.title

    @property
    def source(self) -> str:
        """Which document and section it comes from."""
        return self.table.source

    @property
    def clauses(self) -> tuple[str, ...]:
        """The clauses that it shows."""
        return tuple(self.table.clauses)

    @property
    def reaches(self) -> tuple[str, ...]:
        """The probes that some run of it must reach."""
        return tuple(self.table.reaches)

    @property
    def never_reaches(self) -> tuple[str, ...]:
        """The probes that no run of it may reach."""
        return tuple(self.table.never_reaches)

    @property
    def scripted(self) -> bool:
        """Whether no client draws what it does: seeds give the same run, unless delays, faults or
        elections are drawn.
        """
        return bool(self.steps) and not self.workloads

    @property
    def largest_delay_ms(self) -> int:
        """The largest DD of any node."""
        everywhere = self.numbers["delay_duration_ms"]
        own = [self.node_protocols.get(node, {}) for node in self.nodes]
        return max(each.get("delay_duration_ms", everywhere) for each in own)

    def workload_world(self, label: str) -> WorkloadWorld:
        """The inputs of a workload: nodes, tables at the start, DDL at known instants."""
        planned = [
            PlannedDdl(at_us, line.statement, line.sql)
            for _, at_us, line in paced(self.migrations)
            if at_us is not None
        ]
        return WorkloadWorld(
            label=label,
            nodes=self.nodes,
            tables=tuple(tables_at_start(self.schema).values()),
            planned_ddl=tuple(sorted(planned, key=lambda ddl: ddl.at_us)),
            delay_duration_ms=self.largest_delay_ms,
            views=views_at_start(self.schema),
            load_us=None if self.table.run.load_ms is None else ms(self.table.run.load_ms),
        )

    def arguments(self) -> list[str]:
        """The command line arguments of `ddlsim run` that name this scenario with its overrides."""
        return [self.name, *repeat_options(self.overrides)]


def read(
    text: str,
    name: str,
    *,
    directory: str | None = None,
    within: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    label: str | None = None,
) -> Scenario:
    """A scenario from its text, which errors call `label`; `directory` is where the files that it
    names are, all of them at or below the folder `within` (default: `directory`)."""
    changes = dict(overrides or {})
    if label is None:
        label = name if name.endswith(".toml") else f"{name}.toml"
    data = apply_overrides(parse_toml(text, label), changes)
    origin = Origin(label, text, paths_of(changes), flags_of(changes))
    table: ScenarioTable = on_a_plane(convert(data, ScenarioTable, origin))
    bounds.check_cluster(table.cluster, origin)
    folders = [None if folder is None else FilePath(folder) for folder in (directory, within)]
    files = Files(folders[0], folders[1], changes)
    scenario = _checked(
        table, origin, files, ScenarioSource(name, text, changes, directory, within)
    )
    _check_work(scenario, origin)
    return scenario


def override(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """The same scenario with other values: `{"protocol.delay_duration_ms": 80}`."""
    overrides = {**scenario.overrides, **changes}
    return read(
        scenario.text,
        scenario.name,
        directory=scenario.directory,
        within=scenario.within,
        overrides=overrides,
    )


def with_migration(scenario: Scenario, file: str) -> Scenario:
    """The same scenario, its DDL replaced by the statements of a file."""
    text = text_at(file, f"--migration {file}")
    if any(step.line and type(step.do).__name__ == "Ddl" for step in scenario.steps):
        raise ScenarioError(f"--migration {file}: the DDL of {scenario.name} is scripted in steps")
    return override(scenario, {MIGRATION: file, f"{EMBEDDED}{file}": text})


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The data of a TOML text; raises `ScenarioError` with the line of what is not TOML."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _SYNTAX.match(str(error))
        what = match.group(1) if match else str(error)
        line = match.group(2) if match else None
        last = text.rstrip().count("\n") + 1
        if text.startswith("{"):
            what = "it is JSON; a stored history is for ddlsim check and ddlsim explain"
        raise ScenarioError(f"{name}:{line or last}: not TOML: {what}") from None
    except RecursionError:
        raise ScenarioError(f"{name}: not TOML: nested too deeply to be read") from None
    except ValueError as error:  # a number of thousands of digits
        raise ScenarioError(f"{name}: not TOML: {error}") from None


def _checked(
    table: ScenarioTable, origin: Origin, files: Files, source: ScenarioSource
) -> Scenario:
    """Every check that looks at more than one key, in the order of the file."""
    strategy, fields, mutant = _strategy(table, origin)
    design = label_of(strategy, mutant)
    expect = _head(table, design, origin)
    numbers = checks.protocol_numbers(table, origin)
    nodes = checks.nodes_of(table.cluster, origin)
    voters = checks.voters_of(table.cluster, nodes, origin)
    protocols = checks.node_tables(
        table.protocol.nodes, config.NodeProtocol, "protocol", nodes, origin
    )
    checks.check_clocks(table.clocks, origin)
    clocks = checks.node_tables(table.clocks.nodes, config.NodeClock, "clocks", nodes, origin)
    machines = machines_of(table, nodes, origin)
    checks.check_network(table.network, machines, origin)
    schema = read_schema(table.schema, origin, files)
    migrations = read_migrations(table.migration, nodes, origin, files)
    reader = StepReader(nodes, design, origin)
    reader.read(table.step)
    made = [*schema, *(line for one in migrations for line in one.statements), *reader.ddl]
    _check_names(table, migrations, reader, made, origin)
    steps = tuple(reader.made)
    workloads = bounds.checked(read_workloads(table.workload, origin), origin)
    tables = placed(made, Placed(table.cluster.partitions, table.cluster.replicas))
    known = [*(step.client for step in steps), *(entry.client for entry in migrations)]
    partitions = {name: one.partitions for name, one in tables.items()}
    targets = FaultTargets(
        machines,
        partitions,
        lambda name: name in known or any(name.startswith(f"{e.label}-") for e in workloads),
    )
    check_plane(table, strategy, steps, made, origin)
    at_start = {name: partitions[name] for name in tables_at_start(schema)}
    check_script(table, origin, targets, voters=voters, tables=at_start, steps=steps)
    return Scenario(
        name=source.name,
        table=table,
        expect=expect,
        strategy=strategy,
        strategy_fields=fields,
        mutant=mutant,
        nodes=nodes,
        voters=voters,
        leader=checks.leader_of(table, voters, origin),
        numbers=numbers,
        node_protocols={node: config.given(each) for node, each in protocols.items()},
        node_clocks=clocks,
        samples=read_samples(table.clocks, table.network, machines, origin, files),
        schema=schema,
        migrations=migrations,
        workloads=workloads,
        faults=read_faults(table.faults, targets, origin),
        steps=steps,
        tables=tuple(tables.values()),
        text=source.text,
        overrides={**source.overrides, **files.overrides()},
        directory=source.directory,
        within=source.within,
    )


def _check_names(
    table: ScenarioTable,
    migrations: tuple[MigrationEntry, ...],
    reader: StepReader,
    made: list[SqlLine],
    origin: Origin,
) -> None:
    """Check the tables and columns that migrations and steps name against all DDL of a file."""
    scripted = all(one.get("name") == Mixed.name for one in table.workload)  # others have DDL, too
    declared = Declared([line.statement for line in made], scripted=scripted)
    check_names(migrations, declared, origin)
    reader.check_tables(declared)


def _head(table: ScenarioTable, design: str, origin: Origin) -> str | dict[str, Any]:
    """Check the keys at the top of a file; return the expected outcome under this design."""
    expect = expect_of(table, design, origin)
    check_finding(table, expect, origin)
    checks.check_probes(table.reaches, origin, "reaches")
    checks.check_probes(table.never_reaches, origin, "never_reaches")
    for index, probe in enumerate(table.never_reaches):
        if probe in table.reaches:
            what = f"{probe!r} stands in reaches too; keep one of them"
            raise origin.error(("never_reaches", index), what)
    check_clauses(table.clauses, origin)
    return expect


def _check_work(scenario: Scenario, origin: Origin) -> None:
    """Check workloads against the schema, clients against each other, instants against the load."""
    for index, entry in enumerate(scenario.workloads):
        try:
            world = scenario.workload_world(entry.label)
            entry.workload.fits(world)
            check_keys(entry.workload, world)
        except ValueError as error:
            raise origin.field_error(("workload", index), str(error)) from None
    for index, migration in enumerate(scenario.migrations):
        if any(step.client == migration.client for step in scenario.steps):
            what = f"client {migration.client} has steps already; take another one"
            raise origin.error(("migration", index, "client"), what)
    load_ms = scenario.table.run.load_ms
    for index, table in enumerate(scenario.table.migration):
        if load_ms is not None and table.at_ms >= load_ms:
            what = f"{decimal(table.at_ms)} is not before the end of the load"
            what = f"{what}; run.load_ms is {decimal(load_ms)}"
            raise origin.error(("migration", index, "at_ms"), what)
    check_times(scenario.faults, scenario.nodes, load_ms, origin)


def _strategy(tables: ScenarioTable, origin: Origin) -> tuple[str, dict[str, Any], str | None]:
    """The design's name, the fields set by name, and the mutant of it, if any.

    Without a name it is the first design of the plane.
    """
    table, plane = tables.strategy, tables.cluster.plane or IGNITE
    check_design(tables, origin)
    for key in ("name", "mutant"):
        if not isinstance(table.get(key, ""), str):
            raise origin.error(("strategy", key), f"expected a string, not {table[key]}")
    fields = {key: value for key, value in table.items() if key not in ("name", "mutant")}
    for key, value in fields.items():
        try:
            value_of(key, value, plane)
        except BadRuleError as error:
            raise origin.error(("strategy", key), str(error)) from None
    name, mutant = table.get("name", FIRST[plane]), table.get("mutant", NO_MUTANT)
    if not origin.is_overridden(("strategy", "name")):  # a flag has no line
        check_strategy(name, origin, ("strategy", "name"))
    if mutant != NO_MUTANT and not origin.is_overridden(("strategy", "mutant")):
        check_mutant(mutant, origin, ("strategy", "mutant"))
    check_switches(tables, name, fields, origin)
    return name, fields, None if mutant == NO_MUTANT else mutant
