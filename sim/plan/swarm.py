"""Swarm testing: a complete scenario drawn from a seed, with each knob on or off.

Without a scenario everything is drawn: cluster, protocol, clocks, links, tables, clients, faults.
Of a given scenario the schema, the migrations, the clients and the steps stay; clocks,
links and faults are drawn. The text is an ordinary scenario: stored in a file and run with the same
seed it gives the same run. Settings of the command line override what was drawn.
"""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, NamedTuple

from msgspec import field

from ddlsim.model.records import Record
from ddlsim.nemesis.roles import named
from ddlsim.plan import (
    swarm_delays,
    swarm_faults,
    swarm_fdb,
    swarm_knobs,
    swarm_moments,
    swarm_required,
    swarm_work,
)
from ddlsim.plan.aims import (
    again,
    aliases,
    answers,
    behind,
    between,
    borders,
    copies,
    crossings,
    cutovers,
    defaults,
    emptied,
    equals,
    indexes,
    instants,
    learned,
    leases,
    lives,
    lowered,
    overtaken,
    returns,
    together,
    uniques,
    watches,
)
from ddlsim.plan.swarm_faults import Surroundings
from ddlsim.plan.swarm_knobs import OFF, Knobs, Table
from ddlsim.scenario.loosened import loosen
from ddlsim.scenario.overrides import EMBEDDED
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.rules import FDB, FIRST, IGNITE
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.scenario.tomltext import toml_text
from ddlsim.strategies.base import DESIGNS, STRATEGIES

NAME: Final = "swarm"
FRAME: Final = (
    "cluster.nodes",
    "cluster.voters",
    "cluster.partitions",
    "cluster.replicas",
    "run.load_ms",
    "protocol.delay_duration_ms",
    "protocol.max_clock_skew_ms",
)
"""Settings around which a world is drawn, where the command line has them."""
SUFFIX: Final = f"+{NAME}"
LOADS: Final = (14, 20, 28)
"""How many DDs a load lasts."""
LEAST_LOAD_MS: Final = 100
LOAD_MS: Final = 2_000
"""The load of a scenario around which a swarm is drawn, where it does not say."""
DRAIN_MS: Final = 60_000
PATIENCE_MS: Final = 1_000
"""Time limit for clients of a scenario without one of its own."""
NEVER_WITH_PCT: Final = ("lease_grant_ms", "read_resend_ms")
"""Limits of one request and its answer: with delays that stay as they are none might ever come."""
TITLE: Final = "A random world under a random nemesis"
OF_DESIGNS: Final[tuple[tuple[str, tuple[str, ...], Callable[[Knobs, Table], None]], ...]] = (
    ("rename", aliases.RENAMES, aliases.add),
    ("rename", aliases.RENAMES, learned.add),
    ("install", emptied.INSTALLS, emptied.add),
    ("before_answer", answers.AWAITS, answers.add),
    ("before_answer", answers.AT_ONCE, answers.add_seldom),
    ("activation", (cutovers.ACTIVATION,), swarm_fdb.add_cutovers),
    ("activation", (cutovers.ACTIVATION,), cutovers.add_near),
    ("pause_before", (leases.PAUSE_BEFORE,), leases.add),
    ("pause_before", (leases.IN_THE_STORE,), leases.add_in_the_store),
    ("plan", lives.PLANS, lives.add),
    ("plan", lives.AT_ONCE, lives.add_late_chunks),
    ("background", watches.TASKS, watches.add),
)
"""What is drawn for the worlds of designs with one of these rules in a field, in this order."""


AIMS: Final = (
    between.add,
    copies.add,
    again.add,
    uniques.add,
    crossings.add,
    behind.add,
    equals.add,
    borders.add,
    defaults.add,
    lowered.add,
    together.add,
    instants.add,
)
"""What some worlds have for one rule each: clients, tables, changes and faults of their own."""


class Source(Record, frozen=True):
    """The scenario that a swarm is drawn around; none where `name` is None.

    `overrides` are those of the command line, and the files that the scenario names.
    """

    name: str | None = None
    text: str = ""
    overrides: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The name that reports and histories give it."""
        return NAME if self.name is None else f"{self.name}{SUFFIX}"


class Drawn(NamedTuple):
    """The text of a drawn scenario, and the value of each knob."""

    text: str
    knobs: dict[str, Any]


def source_of(base: Scenario | None, overrides: Mapping[str, Any]) -> Source:
    """The source of a swarm: a scenario, or None."""
    if base is None:
        return Source(None, "", dict(overrides))
    files = {key: value for key, value in base.overrides.items() if key.startswith(EMBEDDED)}
    return Source(base.name, base.text, {**files, **overrides})


def words(title: str) -> list[str]:
    """The arguments of `ddlsim run` that repeat the scenario of this name, drawn or not."""
    if title == NAME:
        return ["--swarm"]
    base = title.removesuffix(SUFFIX)
    return [title] if base == title else [base, "--swarm"]


def scenario(source: Source, seed: int) -> Scenario:
    """The scenario drawn for a seed; a ScenarioError where the command line's settings break it."""
    try:
        return read(draw(source, seed).text, source.title, overrides=source.overrides)
    except ScenarioError as error:
        given = [key for key in source.overrides if not key.startswith((EMBEDDED, "strategy."))]
        if not given or "--set" in str(error):
            raise
        what = f"the world drawn for seed {seed} does not go with --set {', '.join(given)}"
        raise ScenarioError(f"{error} ({what}; leave it out, or take other seeds)") from None


def draw(source: Source, seed: int) -> Drawn:
    """The text drawn for a seed, with its knobs."""
    knobs = Knobs(seed, source.overrides)
    data = WHOLE[_plane(source)](knobs) if source.name is None else _around(source, knobs)
    if source.name is None and _builds_indexes(source):
        _aim(knobs, data, indexes.add)
        _aim(knobs, data, learned.add)
    for field_of, rules, add in OF_DESIGNS:
        if source.name is None and _has(source, field_of, rules):
            _aim(knobs, data, add)
    return Drawn(f"# Drawn from seed {seed}.\n{toml_text(data)}", knobs.drawn)


def _plane(source: Source) -> str:
    """The data plane of the design that the worlds are for."""
    name = source.overrides.get("strategy.name", FIRST[IGNITE])
    return DESIGNS.get(name).header.plane if name in DESIGNS else IGNITE


def _builds_indexes(source: Source) -> bool:
    """Whether the design that the worlds are for builds indexes on the Ignite plane."""
    name = source.overrides.get("strategy.name", FIRST[IGNITE])
    return name in STRATEGIES and STRATEGIES.get(name).index_entries is not None


def _has(source: Source, field_of: str, rules: Sequence[str]) -> bool:
    """Whether the design of the worlds has one of these rules in a field."""
    name = source.overrides.get("strategy.name", FIRST[IGNITE])
    found = getattr(DESIGNS.get(name), field_of, ()) if name in DESIGNS else ()
    several = found if isinstance(found, tuple) else (found,)
    return any(one.__name__ in rules for one in several)


# --- everything drawn --------------------------------------------------------------------------


def _whole(knobs: Knobs) -> Table:
    cluster = swarm_knobs.cluster(knobs)
    nodes = tuple(f"n{number}" for number in range(1, cluster["nodes"] + 1))
    protocol = swarm_knobs.protocol(knobs, nodes)
    delay_ms = protocol["delay_duration_ms"]
    _replicated(knobs, cluster, protocol)
    load_ms = max(delay_ms * knobs.die("load_ms").pick(LOADS), LEAST_LOAD_MS)
    load_ms = knobs.fixed("run.load_ms", load_ms, LEAST_LOAD_MS)
    knobs.tell("load_ms", load_ms)
    clocks = swarm_knobs.clocks(
        knobs,
        nodes,
        protocol["max_clock_skew_ms"],
        load_ms + DRAIN_MS,
        apart_anyhow=swarm_work.is_quiet(knobs),
    )
    network = swarm_knobs.network(knobs, nodes, delay_ms) | swarm_delays.schedule(knobs)
    if network.get("schedule", {}).get("name") == "pct":
        for key in NEVER_WITH_PCT:
            if protocol.pop(key, None):
                knobs.tell(key, OFF)
    if swarm_faults.is_calm(knobs):
        swarm_knobs.patient(knobs, protocol, network)
    names, sql = swarm_work.schema(knobs, len(nodes))
    migrations = swarm_work.migrations(knobs, names, nodes, load_ms, delay_ms)
    workloads = swarm_work.workloads(knobs, names, load_ms, delay_ms, planned=bool(migrations))
    workloads = swarm_required.workloads(knobs, names, workloads, load_ms)
    late = swarm_work.late_table(knobs, nodes, load_ms)
    around = Surroundings(
        tables=(*names, *(swarm_work.LATE for _ in late)),
        client="mixed-1",
        load_ms=load_ms,
        delay_duration_ms=delay_ms,
        max_clock_skew_ms=protocol["max_clock_skew_ms"],
        spare_skew_ms=swarm_knobs.spare_skew_ms(clocks, protocol["max_clock_skew_ms"]),
        voters=nodes[: cluster["voters"]],
    )
    data: Table = {
        "title": TITLE,
        "source": "drawn from the seed",
        "protocol": protocol,
        "cluster": cluster,
        "clocks": clocks,
        "network": network,
        "run": {"load_ms": load_ms, "drain_ms": DRAIN_MS},
        "schema": {"sql": sql + swarm_required.schema(knobs)},
        "migration": migrations + late + swarm_required.migrations(knobs, nodes, load_ms),
        "workload": workloads,
        "faults": _faults(knobs, nodes, around),
    }
    for add in AIMS:
        _aim(knobs, data, add, names, delay_ms)
    _aim(knobs, data, returns.add)
    _aim(knobs, data, overtaken.add)
    return {key: value for key, value in data.items() if value != []}


def _faults(knobs: Knobs, nodes: tuple[str, ...], around: Surroundings) -> list[Table]:
    """All faults of a world but those of its aims."""
    return [
        *swarm_faults.faults(knobs, around),
        *swarm_faults.slow_catalog(knobs, nodes, around),
        *swarm_faults.late_commands(knobs, around),
        *swarm_faults.unreplicated(knobs, nodes, around),
        *swarm_faults.restless_leases(knobs, around),
        *swarm_moments.quiet_leaders(knobs, around),
        *swarm_moments.faults(knobs, around),
    ]


def _aim(knobs: Knobs, data: Table, add: Callable[..., None], *given: Any) -> None:
    """Draw what some worlds have for one rule, where it leaves what the command line sets."""
    if not any(knobs.fixed(key, -1, 0) != -1 for key in FRAME):
        add(knobs, data, *given)
        return
    before, drawn = deepcopy(data), dict(knobs.drawn)
    add(knobs, data, *given)
    if _breaks(knobs, data):
        data.clear()
        data.update(before)
        for knob, value in list(knobs.drawn.items()):
            if drawn.get(knob) != value:
                knobs.tell(knob, drawn.get(knob, OFF))


def _breaks(knobs: Knobs, data: Table) -> bool:
    """Whether a world differs from what the command line sets, or needs more nodes than it has."""
    for key in FRAME:
        table, _, name = key.partition(".")
        number = data[table].get(name, 0)
        if knobs.fixed(key, number, 0) != number:
            return True
    cluster = data["cluster"]
    nodes = (re.fullmatch(r"n(\d+)", one.get("node", "")) for one in data.get("migration", []))
    highest = max((int(one[1]) for one in nodes if one is not None), default=0)
    needed = max(cluster.get("voters", 0), cluster.get("replicas", 0), highest)
    return bool(needed > cluster["nodes"])


def _replicated(knobs: Knobs, cluster: Table, protocol: Table) -> None:
    """Replicas and settings of the worlds that are about replicas or leases."""
    if swarm_work.is_quiet(knobs):
        cluster["replicas"] = 3
        swarm_knobs.quiet(knobs, protocol)
    if swarm_faults.has_slow_catalog(knobs):
        cluster["replicas"] = 3
        protocol["snapshot_entries"] = min(swarm_knobs.COUNTS["snapshot_entries"])
    if swarm_faults.needs_replicas(knobs):
        cluster["replicas"] = 3
    if swarm_faults.has_restless_leases(knobs):
        least_ms = max(3 * protocol["delay_duration_ms"], 30)
        protocol["lease_duration_ms"] = min(protocol["lease_duration_ms"], least_ms)
    cluster["replicas"] = knobs.fixed(
        "cluster.replicas", min(cluster["replicas"], cluster["nodes"])
    )


WHOLE: Final = {IGNITE: _whole, FDB: swarm_fdb.whole}
"""What draws a whole world, by data plane."""


# --- other faults around a scenario -----------------------------------------------------------


def _around(source: Source, knobs: Knobs) -> Table:
    files = {k: v for k, v in source.overrides.items() if k.startswith(EMBEDDED)}
    base = read(source.text, source.name or NAME, overrides=files)
    data: Table = tomllib.loads(source.text)
    _embed(data, base)
    if base.processes:
        swarm_fdb.around(knobs, data, base)
        loosen(data)
        return data
    if knobs.die("network").chance(0.7):
        network = swarm_knobs.network(knobs, base.nodes, base.largest_delay_ms)
        data["network"] = network | swarm_delays.schedule(knobs)
    skew_ms = base.numbers["max_clock_skew_ms"]
    spare_ms = 0.0
    if knobs.die("clocks").chance(0.6):
        load_ms = base.table.run.load_ms or LOAD_MS
        lasts_ms = round(load_ms + data.get("run", {}).get("drain_ms", DRAIN_MS))
        data["clocks"] = swarm_knobs.clocks(knobs, base.nodes, skew_ms, lasts_ms)
        spare_ms = swarm_knobs.spare_skew_ms(data["clocks"], skew_ms)
    if not knobs.die("own faults").chance(0.5):
        data.pop("faults", None)
    knobs.tell("own faults", len(data.get("faults", [])) or OFF)
    if "clock" in data or swarm_faults.moves_clocks(data.get("faults", [])):
        spare_ms = 0.0  # the scenario's own steps have the rest of CSmax
    around = _surroundings(base, spare_ms)
    if around.tables:
        data["faults"] = data.get("faults", []) + swarm_faults.faults(knobs, around)
        data["faults"] += swarm_moments.faults(knobs, around)
    data["protocol"] = {
        "operation_timeout_ms": around.delay_duration_ms + skew_ms + PATIENCE_MS,
        "commit_wait_ms": PATIENCE_MS,
        **data.get("protocol", {}),
    }
    data["run"] = {"drain_ms": DRAIN_MS, **data.get("run", {})}
    loosen(data)
    return data


def _surroundings(base: Scenario, spare_skew_ms: float) -> Surroundings:
    from ddlsim.scenario.first_schema import tables_at_start

    load_ms = base.table.run.load_ms
    clients = [f"{entry.label}-1" for entry in base.workloads if entry.workload.name == "mixed"]
    return Surroundings(
        tables=tuple(map(named, tables_at_start(base.schema))),
        client=next(iter([*clients, *(step.client for step in base.steps)]), None),
        load_ms=LOAD_MS if load_ms is None else max(int(load_ms), 40),
        delay_duration_ms=base.largest_delay_ms,
        max_clock_skew_ms=base.numbers["max_clock_skew_ms"],
        spare_skew_ms=spare_skew_ms,
    )


def _embed(data: Table, base: Scenario) -> None:
    """Put the statements of files into the text, so that it needs no files."""
    if "file" in data.get("schema", {}):
        data["schema"] = {"sql": "".join(f"{line.sql};\n" for line in base.schema)}
    for table, entry in zip(data.get("migration", []), base.migrations, strict=True):
        if table.pop("file", None) is not None:
            table["sql"] = "".join(f"{line.sql};\n" for line in entry.statements)
