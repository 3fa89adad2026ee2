"""Worlds that are drawn for one rare branch of the protocol reach it."""

import tomllib

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.plan import swarm
from ddlsim.plan.aims import columns
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
from ddlsim.scenario.tomltext import toml_text
from tests.support.drawn_worlds import NOTHING, drawn_of

pytestmark = pytest.mark.slow

MANY = range(300)
FIRST = 37


@pytest.mark.parametrize(
    ("knob", "probe"),
    [
        ("leader for an instant", "late-start-of-ticks"),
        ("leases written twice", "lease-cas-lost"),
        ("rows without a value", "abort-bad-row"),
        ("leader without metadata", "abort-metadata-late"),
    ],
)
def test_worlds_reach_the_branch_that_they_are_drawn_for(knob: str, probe: str) -> None:
    """They are some 4 % of the worlds; most of them reach it, and so does one of three at once."""
    seeds = [seed for seed in MANY if drawn_of(seed).knobs.get(knob) == "on"]
    assert len(MANY) / 50 < len(seeds) < len(MANY) / 12
    runs = (run(plan(swarm.scenario(NOTHING, seed), seed)) for seed in seeds[:3])
    assert any(history.probes[probe] for history in runs)


def test_a_world_with_columns_that_come_and_go_meets_rows_of_a_newer_schema() -> None:
    """The first that does so; where draws have changed, it is another one."""
    leases = swarm.source_of(None, {"strategy.name": "c6_f1"})
    text = swarm.draw(leases, FIRST).text
    world = swarm.scenario(leases, FIRST)
    assert f"CREATE TABLE {columns.NAME} " in text
    assert run(plan(world, FIRST)).probes["newer-row-met"]
    alone = tomllib.loads(text)
    alone["workload"] = [w for w in alone["workload"] if w["tables"] != [columns.NAME]]
    without = read(toml_text(alone), "swarm", overrides=leases.overrides)
    assert not run(plan(without, FIRST)).probes["newer-row-met"]


@pytest.mark.parametrize(("seed", "in_one_phase"), [(1001, "off"), (54, "on")])
def test_a_world_with_a_unique_index_over_writes_convicts_what_overlooks_them(
    seed: int, in_one_phase: str
) -> None:
    """The first of either kind that does so; where draws have changed, it is another one."""
    mutant = swarm.source_of(None, {"strategy.name": "iep", "strategy.mutant": "overlooks_intents"})
    knobs = swarm.draw(mutant, seed).knobs
    assert knobs["unique index over intents"] == "on"
    assert knobs["unique index over writes in one phase"] == in_one_phase
    verdict = judge(run(plan(swarm.scenario(mutant, seed), seed)))
    assert {one.invariant for one in verdict.violations if one.status == "violation"} == {"I7"}


def test_where_elections_wait_for_a_part_of_dd_messages_take_less() -> None:
    """Else no leader would stay, and I9 would be broken by the settings alone."""
    builds = swarm.source_of(None, {"strategy.name": "ignite_index"})
    worlds = (tomllib.loads(swarm.draw(builds, seed).text) for seed in MANY)
    asks = "are-older-open"
    aimed = [
        world for world in worlds if any(f.get("kind") == asks for f in world.get("faults", []))
    ]
    assert len(aimed) > len(MANY) / 10
    for world in aimed:
        assert world["network"]["latency_ms"] * 20 <= world["protocol"]["election_timeout_ms"]
        assert "links" not in world["network"]
