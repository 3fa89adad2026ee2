"""The work of a plan: programs of clients, faults with their instants, load and drain."""

from collections.abc import Iterator
from dataclasses import fields
from operator import itemgetter
from typing import Final

from ddlsim.fdb.settings import FdbSettings
from ddlsim.kernel.rng import Streams
from ddlsim.model.ops import Ddl
from ddlsim.model.programs import DdlItem, Program, Step, TransactionItem
from ddlsim.nemesis.base import FaultWorld, decided_role
from ddlsim.plan.nodes import drawn_us
from ddlsim.plan.plugged import programs_of, refused_at, steps_of
from ddlsim.plan.records import FaultPlan, MomentPlan
from ddlsim.scenario.config import store_settings
from ddlsim.scenario.migrations import paced
from ddlsim.scenario.moments import MOST_TIMES, MomentTable
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import Scenario
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.units import Micros, ms
from ddlsim.workload.base import Die

AFTER_THE_LAST_MS: Final = 2_000
"""How long the load goes on after the last planned instant, where `[run]` does not say."""
SLOWNESS: Final = 2
"""How many times their own pauses programs may take, where `[run]` does not say."""
DRAIN_EXTRA_MS: Final = 5_000
"""How much longer the drain is than both time limits of the protocol, by default."""
STEPS: Final = 4
"""The most schema updates of a statement of the layer: the states of an index."""


def work(scenario: Scenario, streams: Streams) -> tuple[tuple[Program, ...], tuple[Step, ...]]:
    """The programs of all clients: migrations, and those that workloads draw."""
    programs = _migrations(scenario)
    steps = list(scenario.steps)
    for index, entry in enumerate(scenario.workloads):
        world = scenario.workload_world(entry.label)
        key, workload = f"workload[{index}]", entry.workload
        with refused_at(scenario, key):
            made = workload.programs(world, streams)
            programs += programs_of(scenario, workload, key, made)
            steps += steps_of(scenario, workload, key, workload.steps(world, streams))
    _refuse_namesakes(scenario, programs, steps)
    return tuple(programs), tuple(steps)


def _migrations(scenario: Scenario) -> list[Program]:
    """A program for each client with migrations; statements in the order of their instants."""
    by_client: dict[str, list[tuple[Micros, DdlItem]]] = {}
    last_us = Micros(0)
    for entry, at_us, line in paced(scenario.migrations):
        last_us = last_us if at_us is None else at_us
        item = DdlItem(entry.node, line.sql, Micros(0), at_us)
        by_client.setdefault(entry.client, []).append((last_us, item))
    return [
        Program(client, tuple(item for _, item in sorted(items, key=itemgetter(0))))
        for client, items in by_client.items()
    ]


def _refuse_namesakes(scenario: Scenario, programs: list[Program], steps: list[Step]) -> None:
    """Raise `ScenarioError` where a client has two programs, steps too, or a node's name."""
    seen: list[str] = []
    for program in programs:
        if program.client in seen or any(step.client == program.client for step in steps):
            what = f"two clients are called {program.client!r}"
            raise ScenarioError(f"{scenario.name}: {what}; rename one")
        seen.append(program.client)
    for client in (*seen, *(step.client for step in steps)):
        if client in scenario.nodes:
            raise ScenarioError(f"{scenario.name}: {client!r} is a node and a client; rename one")


# --- faults --------------------------------------------------------------------------------------


def faults(scenario: Scenario, streams: Streams) -> tuple[FaultPlan, ...]:
    """Every fault with its random choices made; each has streams of its own, by kind and number."""
    world = FaultWorld(scenario.nodes, scenario.voters, scenario.leader)
    made = []
    for index, entry in enumerate(scenario.faults):
        same = sum(other.fault.name == entry.fault.name for other in scenario.faults[:index])
        component = f"fault {entry.fault.name} {same}"
        with refused_at(scenario, f"faults[{index}]"):
            decided = entry.fault.decide(world, Die(streams.stream(component, "choices")))
        if not isinstance(decided, type(entry.fault)):
            what = f"decide() of {entry.fault.name} gave {decided!r:.60}, not the fault; return it"
            raise ScenarioError(f"{scenario.name}: faults[{index}]: {what}")
        times = entry.times
        from_us = drawn_us(times.from_ms, streams, component, "from")
        for_us = None
        if times.for_ms is not None:
            for_us = Micros(drawn_us(times.for_ms, streams, component, "for"))
        by_time = times.when is None and for_us is not None
        chosen = {field.name: getattr(decided, field.name) for field in fields(decided)}
        when, until = (
            None if table is None else _moment(table, world, Die(streams.stream(component, key)))
            for key, table in (("when", times.begins), ("until", times.heals))
        )
        made.append(
            FaultPlan(
                decided.name,
                chosen,
                Micros(from_us),
                Micros(from_us + for_us) if by_time and for_us is not None else None,
                None if by_time else for_us,
                when,
                until,
            )
        )
    return tuple(made)


def _moment(table: MomentTable, world: FaultWorld, die: Die) -> MomentPlan:
    """A moment with all random choices made: its node, and which time it is that counts."""
    nth = 0
    for _ in range(table.nth):
        nth += 1
        while not die.chance(table.chance) and nth < MOST_TIMES:
            nth += 1
    return MomentPlan(
        name=table.moment,
        nth=nth,
        node=decided_role(table.node, world, die),
        tx=table.tx,
        table=table.table,
        where=table.where,
        at=table.at,
        plus_us=ms(table.plus_ms),
    )


# --- how long ------------------------------------------------------------------------------------


def lengths(
    scenario: Scenario,
    programs: tuple[Program, ...],
    steps: tuple[Step, ...],
    planned_faults: tuple[FaultPlan, ...],
) -> tuple[Micros, Micros]:
    """Load and drain in µs: what `[run]` says, else enough for all that is planned."""
    run = scenario.table.run
    load_us = Micros(0)
    if run.load_ms is not None:
        load_us = ms(run.load_ms)
    else:
        instants = list(_instants(scenario, programs, steps, planned_faults))
        load_us = Micros(max(instants, default=Micros(0)) + ms(AFTER_THE_LAST_MS))
    drain_ms = run.drain_ms
    if drain_ms is None:
        drain_ms = patience_ms(scenario) + _of_statements_ms(scenario, programs, steps)
    return load_us, ms(drain_ms)


def patience_ms(scenario: Scenario) -> int:
    """Longer than a client waits for any answer: by then it has given an operation up."""
    numbers = scenario.numbers
    return numbers["operation_timeout_ms"] + numbers["commit_wait_ms"] + DRAIN_EXTRA_MS


def _of_statements_ms(
    scenario: Scenario, programs: tuple[Program, ...], steps: tuple[Step, ...]
) -> int:
    """The most that a design of the layer lets all statements wait, one behind the other.

    A step waits for leases, a switch of modes, a version in the future and the window behind it.
    """
    if scenario.strategy not in LAYER_DESIGNS:
        return 0
    fields = scenario.strategy_fields.items()
    design = LAYER_DESIGNS.get(scenario.strategy).with_rules(
        {name: number for name, number in fields if isinstance(number, int)}
    )
    items = [item for program in programs for item in program.items]
    count = sum(isinstance(item, DdlItem) for item in items)
    count += sum(isinstance(step.do, Ddl) for step in steps)
    store, drift = FdbSettings(**store_settings(scenario.table.fdb)), design.drift_percent
    lease_ms = design.lease_ms * (100 + drift) // (100 - drift) + 1
    version_ms = design.distance_ms + store.window_ms * (100 + design.cutoff_percent) // 100
    rests_ms = design.push_ms + design.poll_ms + 2 * store.idle_commit_ms
    return count * STEPS * (lease_ms + version_ms + rests_ms)


def _instants(
    scenario: Scenario,
    programs: tuple[Program, ...],
    steps: tuple[Step, ...],
    planned_faults: tuple[FaultPlan, ...],
) -> Iterator[Micros]:
    """Every instant at which something is planned, and the latest end of each program."""
    for program in programs:
        yield from _program_instants(program)
    for step in steps:
        if step.at_us is not None:
            yield step.at_us
    for fault in planned_faults:
        yield fault.from_us if fault.until_us is None else fault.until_us
    table = scenario.table
    starts = [each.at_ms for tables in (table.tick, table.clock, table.leader) for each in tables]
    ends = [each.until_ms or 0 for tables in (table.hold, table.pause) for each in tables]
    yield from map(ms, starts + ends)


def _program_instants(program: Program) -> Iterator[Micros]:
    pauses_us = 0
    for item in program.items:
        pauses_us += item.pause_us
        if isinstance(item, TransactionItem):
            pauses_us += item.gap_us * (len(item.operations) - 1) + item.rest_us
        elif item.at_us is not None:
            yield item.at_us
    yield Micros(SLOWNESS * pauses_us)
