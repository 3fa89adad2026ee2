"""Scenario and seed to `Plan`: every operation, fault and skew, decided.

Random numbers are drawn here and in its two parts only: `nodes` (clocks, settings, links) and
`work` (operations, faults, load and drain). Every client, node and fault has random streams of its
own, so that leaving one out, or adding one, changes nothing for the others.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from msgspec import structs

from ddlsim.kernel.rng import Streams
from ddlsim.model.records import Record
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
from ddlsim.scenario.config import TableRecord
from ddlsim.scenario.scenario import Scenario
from ddlsim.units import ms


def plan(scenario: Scenario, seed: int = 0, *, trace: bool = False, models: bool = False) -> Plan:
    """The plan of the run with this seed; raises `ScenarioError` where it cannot be made.

    With `models` the parts of nodes are compared with them: twice the price, the same events where
    nothing differs.
    """
    seeds = scenario.table.seeds
    clients, fates, clocks, network = (
        Streams(seed if own is None else own)
        for own in (seeds.clients, seeds.faults, seeds.clocks, seeds.network)
    )
    programs, steps = plan_work.work(scenario, clients)
    faults = plan_work.faults(scenario, fates)
    load_us, drain_us = plan_work.lengths(scenario, programs, steps, faults)
    table = scenario.table
    return Plan(
        scenario=scenario.name,
        scenario_text=scenario.text,
        overrides=scenario.overrides,
        seed=seed,
        network_seed=network.seed,
        strategy=scenario.strategy,
        strategy_fields=scenario.strategy_fields,
        mutant=scenario.mutant,
        expect=scenario.expect,
        reaches=scenario.reaches,
        nodes=plan_nodes.nodes(scenario, clocks),
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
        clock_steps=_planned(ClockStep, table.clock),
        holds=_planned(HoldPlan, table.hold),
        applies=_planned(ApplyPlan, table.apply),
        ticks=_planned(TickPlan, table.tick),
        leaders=_planned(LeaderPlan, table.leader),
        pauses=_planned(PausePlan, table.pause),
        faults=faults,
        load_until_us=load_us,
        drain_us=drain_us,
        commit_wait_us=ms(scenario.numbers["commit_wait_ms"]),
        trace=trace,
        models=models,
        schedule=plan_nodes.schedule(scenario, network, load_us),
        store=plan_nodes.store(scenario),
    )


def plan_without_load(scenario: Scenario) -> Plan:
    """The plan of seed 0 without the programs of workloads, which take longest to draw.

    For questions about nodes, settings or the design.
    """
    return plan(structs.replace(scenario, workloads=()))


R = TypeVar("R", bound=Record)


def _planned(kind: type[R], tables: Iterable[TableRecord]) -> tuple[R, ...]:
    """Tables of the timeline as records of the plan: the same keys, `…_ms` as `…_us`."""
    return tuple(
        kind(**{name: _value(table, name) for name in kind.__struct_fields__}) for table in tables
    )


def _value(table: TableRecord, name: str) -> Any:
    if not name.endswith("_us"):
        return getattr(table, name)
    milliseconds = getattr(table, f"{name.removesuffix('_us')}_ms")
    return None if milliseconds is None else ms(milliseconds)
