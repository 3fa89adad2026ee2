"""Scenario and seed to `Plan`: every operation, fault and skew, decided.

Random numbers are drawn here and in its two parts only: `nodes` (clocks, settings, links) and
`work` (operations, faults, load and drain). Every client, node and fault has random streams of its
own, so that leaving one out, or adding one, changes nothing for the others.
"""

from ddlsim.kernel.rng import Streams
from ddlsim.plan import nodes as plan_nodes
from ddlsim.plan import work as plan_work
from ddlsim.plan.records import (
    ApplyPlan,
    ClockStep,
    HoldPlan,
    LeaderPlan,
    PausePlan,
    Plan,
    TickPlan,
)
from ddlsim.scenario.scenario import Scenario
from ddlsim.scenario.tables import ScenarioTable
from ddlsim.units import Micros, ms


def plan(scenario: Scenario, seed: int = 0, *, trace: bool = False) -> Plan:
    """The plan of the run with this seed; raises `ScenarioError` where it cannot be made."""
    streams = Streams(seed)
    programs, steps = plan_work.work(scenario, streams)
    faults = plan_work.faults(scenario, streams)
    load_us, drain_us = plan_work.lengths(scenario, programs, steps, faults)
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
        nodes=plan_nodes.nodes(scenario, streams),
        cluster_settings=dict(scenario.numbers),
        meta_leader=scenario.leader,
        partitions=table.cluster.partitions,
        replicas=table.cluster.replicas,
        schema_sql=";\n".join(line.sql for line in scenario.schema),
        idle_ticks=table.idle_ticks,
        strict=table.strict,
        all_claims=table.all_claims,
        never_reaches=scenario.never_reaches,
        programs=programs,
        steps=steps,
        links=plan_nodes.links(scenario),
        clock_steps=_clock_steps(table),
        holds=_holds(table),
        applies=tuple(ApplyPlan(e.node, e.stage, ms(e.delay_ms)) for e in table.apply),
        ticks=tuple(TickPlan(ms(entry.at_ms)) for entry in table.tick),
        leaders=tuple(LeaderPlan(e.group, e.node, ms(e.at_ms)) for e in table.leader),
        pauses=_pauses(table),
        faults=faults,
        load_until_us=load_us,
        drain_us=drain_us,
        commit_wait_us=ms(scenario.numbers["commit_wait_ms"]),
        trace=trace,
    )


def _clock_steps(table: ScenarioTable) -> tuple[ClockStep, ...]:
    return tuple(
        ClockStep(
            node=entry.node,
            at_us=ms(entry.at_ms),
            offset_us=_us(entry.offset_ms),
            drift_ppm=entry.drift_ppm,
        )
        for entry in table.clock
    )


def _holds(table: ScenarioTable) -> tuple[HoldPlan, ...]:
    return tuple(
        HoldPlan(
            sender=entry.sender,
            to=entry.to,
            kind=entry.kind,
            from_us=ms(entry.from_ms),
            until_us=_us(entry.until_ms),
            until=entry.until,
            label=entry.label,
        )
        for entry in table.hold
    )


def _pauses(table: ScenarioTable) -> tuple[PausePlan, ...]:
    return tuple(
        PausePlan(
            node=entry.node,
            point=entry.point,
            until=entry.until,
            until_us=_us(entry.until_ms),
            tx=entry.tx,
        )
        for entry in table.pause
    )


def _us(milliseconds: float | None) -> Micros | None:
    return None if milliseconds is None else ms(milliseconds)
