"""Changes to worlds: each applies to some, changes no input, and most can be planned."""

import tomllib
from collections import Counter
from copy import deepcopy
from functools import cache

import pytest

from ddlsim.kernel.rng import Streams
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.search.vary import (
    CHANGES_OF_WORLDS,
    SETTINGS,
    Change,
    World,
    scenario_of,
    varied,
)
from ddlsim.workload.base import Die
from tests.support.drawn_worlds import data_of

SEEDS = range(24)
INSTANTS_MS = (100.0, 250.5, 900.0)


@cache
def world(seed: int) -> World:
    return World(tomllib.loads(swarm.draw(swarm.Source(), seed).text), seed, INSTANTS_MS)


def die(seed: int) -> Die:
    return Die(Streams(seed).stream("test", "vary"))


def donor(seed: int) -> World:
    return world((seed + 7) % len(SEEDS))


@pytest.mark.parametrize("change", CHANGES_OF_WORLDS, ids=lambda change: change.name)
def test_each_change_differs_from_its_input_and_leaves_it_alone(change: Change) -> None:
    applied = 0
    for seed in SEEDS:
        before, given = deepcopy(world(seed)), deepcopy(donor(seed))
        changed = change.apply(before, given, die(seed))
        assert (before, given) == (world(seed), donor(seed))
        applied += changed is not None and changed != before
    assert applied >= len(SEEDS) / 6


def test_settings_of_a_store_and_of_a_design_are_varied_too() -> None:
    """Of a world on the Ignite plane it is one of the protocol, as there is no other table."""
    [knob] = [one for one in CHANGES_OF_WORLDS if one.name == "setting"]
    found = Counter[str]()
    for seed in range(2 * len(SEEDS)):  # few settings of the protocol differ: one change in 18
        own, other = (World(data_of(one, "c6_f1"), one) for one in (seed, seed + 7))
        changed = knob.apply(own, other, die(seed))
        assert changed is not None
        found.update(name for name in SETTINGS if changed.data[name] != own.data[name])
        ignite = knob.apply(world(seed), donor(seed), die(seed))
        assert ignite is None or "fdb" not in ignite.data
    assert min(found[name] for name in SETTINGS) >= 1, found


def test_varied_is_a_function_of_its_input() -> None:
    for seed in range(6):
        assert varied(world(seed), donor(seed), die(seed), {}) == varied(
            world(seed), donor(seed), die(seed), {}
        )


@pytest.mark.slow
def test_varied_gives_different_worlds_that_can_be_planned() -> None:
    found = Counter[bool]()
    for seed in SEEDS:
        changed = varied(world(seed), donor(seed), die(seed), {})
        found[changed is not None] += 1
        if changed is not None:
            assert changed != world(seed)
            scenario_of(changed, {})
    assert found[True] >= len(SEEDS) - 2


def test_varied_gives_none_where_no_change_can_be_planned() -> None:
    """The overrides set a voter count that no cluster has."""
    assert varied(world(0), donor(0), die(0), {"cluster.voters": 99}) is None


def test_faults_stay_within_the_load() -> None:
    for seed in SEEDS:
        changed = varied(world(seed), donor(seed), die(seed), {})
        if changed is None:
            continue
        load_ms = changed.data["run"]["load_ms"]
        for fault in changed.data.get("faults", []):
            assert 0 <= fault.get("from_ms", 0) <= load_ms


def test_a_part_of_a_run_is_reseeded_alone() -> None:
    """Another seed for the network leaves the programs of the clients as they were."""
    own = world(2)
    reseeded = own._replace(data={**own.data, "seeds": {"network": 99}})
    first, second = (plan(scenario_of(one, {}), one.seed) for one in (own, reseeded))
    assert first.programs == second.programs
    assert first.faults == second.faults
    assert first.nodes == second.nodes
    assert (first.network_seed, second.network_seed) == (2, 99)
    for part, attribute in (("clients", "programs"), ("faults", "faults"), ("clocks", "nodes")):
        other = own._replace(data={**own.data, "seeds": {part: 99}})
        planned = plan(scenario_of(other, {}), other.seed)
        changed = [n for n in ("programs", "nodes") if getattr(planned, n) != getattr(first, n)]
        assert changed == [attribute] or (part == "faults" and changed == [])
        assert planned.network_seed == 2
