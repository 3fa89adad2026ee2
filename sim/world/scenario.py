"""TOML to `Scenario`: unknown keys, wrong units and impossible combinations are errors with a line."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any, Final

from sim.model.programs import Step
from sim.model.records import Record
from sim.world import checks, config
from sim.world.files import Files, reason
from sim.world.overrides import (
    EMBEDDED,
    MIGRATION,
    apply_overrides,
    paths_of,
    repeat_options,
)
from sim.world.plugins import FaultEntry, WorkloadEntry, read_faults, read_workloads
from sim.world.positions import Path
from sim.world.problems import Origin, ScenarioError, convert
from sim.world.scripted import check_script
from sim.world.sqltext import SqlLine, read_ddl, read_file
from sim.world.steps import StepReader, names_of
from sim.world.tables import ScenarioTable

_SYNTAX: Final = re.compile(r"^(.*) \(at (?:line (\d+), column \d+|end of document)\)$")


class MigrationEntry(Record, frozen=True):
    """A `[[migration]]` with its statements read."""

    table: config.Migration
    statements: tuple[SqlLine, ...]


class Scenario(Record, frozen=True):
    """A scenario file, read and found possible; `text` and `overrides` are all that it came from.

    `strategy_fields` are fields of the design's record by name; whether the design has them is for
    the run to say.
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
    node_protocols: dict[str, config.NodeProtocol]
    node_clocks: dict[str, config.NodeClock]
    schema: tuple[SqlLine, ...]
    migrations: tuple[MigrationEntry, ...]
    workloads: tuple[WorkloadEntry, ...]
    faults: tuple[FaultEntry, ...]
    steps: tuple[Step, ...]
    text: str
    overrides: dict[str, Any]
    directory: str | None = None

    @property
    def title(self) -> str:
        """What it is, for people."""
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
    def scripted(self) -> bool:
        """Whether nothing in it is left to dice: it needs no seed."""
        return bool(self.steps) and not self.workloads

    def arguments(self) -> list[str]:
        """The command line arguments of `ddlsim run` that name this scenario with its overrides."""
        return [self.name, *repeat_options(self.overrides)]


def read(
    text: str,
    name: str,
    *,
    directory: str | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Scenario:
    """A scenario from its text; `directory` is where the files that it names are."""
    given = dict(overrides or {})
    overridden = [*paths_of(given), *([("migration",)] if MIGRATION in given else [])]
    label = name if name.endswith(".toml") else f"{name}.toml"
    data = apply_overrides(_parse(text, label), given)
    origin = Origin(label, text, overridden)
    table: ScenarioTable = convert(data, ScenarioTable, origin)
    files = Files(FilePath(directory) if directory is not None else None, given)
    return _checked(table, origin, files, name, text, given, directory)


def override(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario:
    """The same scenario with other values: `{"protocol.delay_duration_ms": 80}`."""
    overrides = {**scenario.overrides, **changes}
    return read(
        scenario.text, scenario.name, directory=scenario.directory, overrides=overrides
    )


def with_migration(scenario: Scenario, file: str) -> Scenario:
    """The same scenario, its DDL replaced by the statements of a file."""
    try:
        text = FilePath(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"--migration {file}: {reason(error)}") from None
    if any(step.line and type(step.do).__name__ == "Ddl" for step in scenario.steps):
        raise ScenarioError(f"--migration {file}: the DDL of {scenario.name} is scripted in steps")
    return override(scenario, {MIGRATION: file, f"{EMBEDDED}{file}": text})


def _parse(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _SYNTAX.match(str(error))
        what = match.group(1) if match else str(error)
        line = match.group(2) if match else None
        last = text.rstrip().count("\n") + 1
        raise ScenarioError(f"{name}:{line or last}: not TOML: {what}") from None


def _checked(
    table: ScenarioTable,
    origin: Origin,
    files: Files,
    name: str,
    text: str,
    overrides: dict[str, Any],
    directory: str | None,
) -> Scenario:
    """Every check that looks at more than one key, in the order of the file."""
    expect = checks.read_expect(table.expect, origin)
    checks.check_finding(table, expect, origin)
    checks.check_reaches(table.reaches, origin)
    strategy, fields, mutant = _strategy(table.strategy, origin)
    numbers = checks.protocol_numbers(table.protocol, origin)
    nodes = checks.nodes_of(table.cluster, origin)
    voters = checks.voters_of(table.cluster, nodes, origin)
    protocols = checks.node_tables(
        table.protocol.nodes, config.NodeProtocol, "protocol", nodes, origin
    )
    checks.check_clocks(table.clocks, origin)
    clocks = checks.node_tables(table.clocks.nodes, config.NodeClock, "clocks", nodes, origin)
    checks.check_network(table.network, nodes, origin)
    schema = _schema(table.schema, origin, files)
    migrations = tuple(
        _migration(entry, nodes, origin, files, ("migration", index))
        for index, entry in enumerate(table.migration)
    )
    reader = StepReader(nodes, origin)
    steps = reader.read(table.step)
    later = [line for entry in migrations for line in entry.statements]
    names = names_of([*schema, *later, *reader.ddl])
    reader.check_names(names)
    check_script(table, nodes, voters, names, [step.id for step in steps], origin)
    leader = checks.leader_of(table, voters, origin)
    return Scenario(
        name=name,
        table=table,
        expect=expect,
        strategy=strategy,
        strategy_fields=fields,
        mutant=mutant,
        nodes=nodes,
        voters=voters,
        leader=leader,
        numbers=numbers,
        node_protocols=protocols,
        node_clocks=clocks,
        schema=schema,
        migrations=migrations,
        workloads=read_workloads(table.workload, origin),
        faults=read_faults(table.faults, nodes, names, origin),
        steps=steps,
        text=text,
        overrides={**overrides, **files.overrides()},
        directory=directory,
    )


def _strategy(
    table: dict[str, Any], origin: Origin
) -> tuple[str, dict[str, Any], str | None]:
    """The design's name, the fields set by name, and the mutant of it, if any."""
    for key in ("name", "mutant"):
        if not isinstance(table.get(key, ""), str):
            raise origin.error(("strategy", key), f"expected a string, not {table[key]}")
    fields = {key: value for key, value in table.items() if key not in ("name", "mutant")}
    return table.get("name", "iep"), fields, table.get("mutant")


def _schema(table: config.Schema, origin: Origin, files: Files) -> tuple[SqlLine, ...]:
    if table.sql is not None and table.file is not None:
        raise origin.error(("schema", "file"), "sql and file both; keep one of them")
    if table.sql is None and table.file is None:
        return ()
    return _statements(table, origin, files, ("schema",))


def _migration(
    table: config.Migration, nodes: tuple[str, ...], origin: Origin, files: Files, path: Path
) -> MigrationEntry:
    checks.must_exist(table.node, nodes, origin, (*path, "node"))
    if (table.sql is None) == (table.file is None):
        raise origin.error(path, 'a migration has either sql = "…" or file = "…"')
    return MigrationEntry(table, _statements(table, origin, files, path))


def _statements(
    table: config.Schema | config.Migration, origin: Origin, files: Files, path: Path
) -> tuple[SqlLine, ...]:
    if table.sql is not None:
        return read_ddl(table.sql, origin, (*path, "sql"))
    assert table.file is not None
    file_path = (*path, "file")
    return read_file(files.read(table.file, origin, file_path), table.file, origin, file_path)
