"""Scenario and seed to `Plan`: every operation, fault and skew, decided.

The only place where dice are thrown. Every client, node and fault has streams of its own, so that
leaving one out, or adding one, does not shift what the others do.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from sim.kernel.rng import Constant, Streams, pick, quantiles
from sim.model.ddl import CreateTable
from sim.model.programs import DdlItem, Program, Step
from sim.nemesis.base import FaultWorld
from sim.units import US_PER_MS, Micros, ms
from sim.workload.base import Die, PlannedDdl, WorkloadWorld
from sim.world.config import NodeProtocol, Spread, distribution
from sim.world.plan_records import (
    ApplyPlan,
    ClockStep,
    FaultPlan,
    HoldPlan,
    LeaderPlan,
    LinkPlan,
    NodePlan,
    PausePlan,
    Plan,
    TickPlan,
)
from sim.world.problems import ScenarioError
from sim.world.scenario import Scenario

LOAD_AT_LEAST_MS: Final = 60_000
AFTER_THE_LAST_MS: Final = 30_000
DRAIN_EXTRA_MS: Final = 5_000


def plan(scenario: Scenario, seed: int = 0, *, trace: bool = False) -> Plan:
    """Everything that is going to happen in the run of this seed."""
    streams = Streams(seed)
    programs, steps = _work(scenario, streams)
    faults = _faults(scenario, streams)
    load_ms, drain_ms = _lengths(scenario, faults, steps)
    table = scenario.table
    return Plan(
        scenario=scenario.name,
        scenario_text=scenario.text,
        overrides=scenario.overrides,
        seed=seed,
        strategy=scenario.strategy,
        strategy_fields=scenario.strategy_fields,
        mutant=scenario.mutant,
        expect=scenario.expect,
        reaches=scenario.reaches,
        nodes=_nodes(scenario, streams),
        meta_leader=scenario.leader,
        partitions=table.cluster.partitions,
        schema_sql=";\n".join(line.sql for line in scenario.schema),
        idle_ticks=table.idle_ticks,
        programs=programs,
        steps=steps,
        links=_links(scenario),
        clock_steps=tuple(
            ClockStep(
                each.node,
                ms(each.at_ms),
                None if each.offset_ms is None else ms(each.offset_ms),
                each.drift_ppm,
            )
            for each in table.clock
        ),
        holds=tuple(
            HoldPlan(
                sender=each.sender,
                to=each.to,
                kind=each.kind,
                from_us=ms(each.from_ms),
                until_us=None if each.until_ms is None else ms(each.until_ms),
                until=each.until,
                label=each.label,
            )
            for each in table.hold
        ),
        applies=tuple(ApplyPlan(e.node, e.stage, ms(e.delay_ms)) for e in table.apply),
        ticks=tuple(TickPlan(ms(each.at_ms)) for each in table.tick),
        leaders=tuple(LeaderPlan(e.group, e.node, ms(e.at_ms)) for e in table.leader),
        pauses=tuple(
            PausePlan(
                node=each.node,
                point=each.point,
                until=each.until,
                until_us=None if each.until_ms is None else ms(each.until_ms),
                tx=each.tx,
            )
            for each in table.pause
        ),
        faults=faults,
        load_until_us=ms(load_ms),
        drain_us=ms(drain_ms),
        commit_wait_us=ms(scenario.numbers["commit_wait_ms"]),
        trace=trace,
        client_latency=distribution(table.network.client_latency_ms),
    )


# --- nodes, clocks, links ------------------------------------------------------------------------------


def settings_of(scenario: Scenario, node: str) -> dict[str, int]:
    """One node's numbers, under the names of `sim.model.ports.Settings`."""
    own = scenario.node_protocols.get(node, NodeProtocol())

    def number(key: str) -> float:
        value = getattr(own, key)
        return scenario.numbers[key] if value is None else value

    return {
        "delay_duration_ms": int(number("delay_duration_ms")),
        "max_clock_skew_ms": int(number("max_clock_skew_ms")),
        "safe_time_interval_ms": int(number("safe_time_interval_ms")),
        "operation_timeout_us": ms(number("operation_timeout_ms")),
        "resend_us": ms(number("resend_ms")),
        "ddl_attempts": int(number("ddl_attempts")),
        "lock_retries": int(number("lock_retries")),
    }


def _nodes(scenario: Scenario, streams: Streams) -> tuple[NodePlan, ...]:
    clocks = scenario.table.clocks
    skew_us = None
    if clocks.max_skew_ms is not None:
        skew_us = _drawn_us(clocks.max_skew_ms, streams, "clocks", "skew bound")
    made = []
    for node in scenario.nodes:
        own = scenario.node_clocks.get(node)
        offset_us = _offset_us(scenario, node, skew_us, streams)
        drift_ppm = _drawn_us(clocks.drift_ppm, streams, f"node {node}", "drift") // US_PER_MS
        if own is not None and own.offset_ms is not None:
            offset_us = ms(own.offset_ms)
        if own is not None and own.drift_ppm is not None:
            drift_ppm = own.drift_ppm
        settings = settings_of(scenario, node)
        made.append(NodePlan(node, node in scenario.voters, settings, offset_us, drift_ppm))
    return tuple(made)


def _offset_us(scenario: Scenario, node: str, skew_us: int | None, streams: Streams) -> int:
    """Under a bound S each clock is anywhere in [-S/2, S/2] from true time."""
    if skew_us is None:
        offset = scenario.table.clocks.offset_ms
        return _drawn_us(0 if offset is None else offset, streams, f"node {node}", "offset")
    stream = streams.stream(f"node {node}", "offset")
    return int(stream.integers(0, skew_us, endpoint=True)) - skew_us // 2


def _drawn_us(number: float | Spread, streams: Streams, component: str, purpose: str) -> int:
    """A number of milliseconds, or one drawn from a distribution, in whole microseconds."""
    if not isinstance(number, Spread):
        return ms(number)
    draw = int(streams.stream(component, purpose).integers(0, 1 << 63)) << 1
    return pick(quantiles(distribution(number)), draw)


def _links(scenario: Scenario) -> tuple[LinkPlan, ...]:
    """What holds for all links first, then what differs."""
    network = scenario.table.network
    everywhere = LinkPlan(
        sender=None,
        to=None,
        kind=None,
        latency=distribution(network.latency_ms),
        loss=network.loss,
        duplication=network.duplication,
        reordering=network.reordering,
    )
    return (
        everywhere,
        *(
            LinkPlan(
                sender=link.sender,
                to=link.to,
                kind=link.kind,
                latency=None if link.latency_ms is None else distribution(link.latency_ms),
                loss=link.loss,
                duplication=link.duplication,
                reordering=link.reordering,
            )
            for link in network.links
        ),
    )


# --- work ------------------------------------------------------------------------------------------------


def _work(scenario: Scenario, streams: Streams) -> tuple[tuple[Program, ...], tuple[Step, ...]]:
    """The scripted steps, the migrations, and what the workloads make of their dice."""
    programs = list(_migrations(scenario))
    steps = list(scenario.steps)
    planned = [
        PlannedDdl(at_us, line.statement, line.sql)
        for entry, at_us, line in _paced(scenario)
        if at_us is not None
    ]
    tables = [line.statement for line in scenario.schema]
    for index, entry in enumerate(scenario.workloads):
        world = WorkloadWorld(
            label=entry.label,
            nodes=scenario.nodes,
            tables=tuple(each for each in tables if isinstance(each, CreateTable)),
            planned_ddl=tuple(planned),
            delay_duration_ms=max(
                settings_of(scenario, node)["delay_duration_ms"] for node in scenario.nodes
            ),
        )
        try:
            programs += entry.workload.programs(world, streams)
            steps += entry.workload.steps(world, streams)
        except ValueError as error:
            place = f"{scenario.name}: workload[{index}]"
            raise ScenarioError(f"{place}: {error}") from None
    _refuse_doubles(scenario, programs, steps)
    return tuple(programs), tuple(steps)
