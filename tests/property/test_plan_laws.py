"""Laws of plans: a function of scenario and seed, in which nobody shifts anybody else's dice."""

import os
import subprocess
import sys
from functools import cache
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.scenario.scenario import Scenario, read

BUSY = """
[protocol]
preset = "ignite3_tests"
[cluster]
nodes = 5
[clocks]
max_skew_ms = { distribution = "uniform", low = 0, high = 7 }
[network]
latency_ms = { distribution = "lognormal", median = 1, p99 = 8 }
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY, v INT)"
[[migration]]
at_ms = 500
sql = "ALTER TABLE t ADD COLUMN w INT"
[[workload]]
name = "mixed"
clients = 2
operations = 20
[[workload]]
name = "transborder"
clients = 2
[[workload]]
name = "read_own_ddl"
clients = 2
operations = 3
[[workload]]
name = "ddl_storm"
clients = 2
operations = 5
[[workload]]
name = "rename_swap"
clients = 2
operations = 5
[[faults]]
name = "partition"
[[faults]]
name = "pause"
node = "any node"
from_ms = { distribution = "exponential", min = 5, mean = 50 }
"""
SEEDS = st.integers(min_value=0, max_value=1 << 32)


@cache
def unchanged(text: str) -> Scenario:
    return read(text, "busy")


def planned(seed: int, changes: dict[str, Any] | None = None, text: str = BUSY) -> Plan:
    scenario = read(text, "busy", overrides=changes) if changes else unchanged(text)
    return plan(scenario, seed)


@given(seed=SEEDS)
def test_a_plan_is_a_function_of_scenario_and_seed(seed: int) -> None:
    assert planned(seed) == planned(seed)


@given(seed=SEEDS)
def test_another_seed_is_another_plan(seed: int) -> None:
    one, other = planned(seed), planned(seed + 1)
    assert one.programs != other.programs
    assert one.nodes != other.nodes


@given(seed=SEEDS, workload=st.integers(0, 4), more=st.integers(1, 3))
def test_another_client_leaves_the_others_as_they_were(seed: int, workload: int, more: int) -> None:
    few, many = planned(seed), planned(seed, {f"workload[{workload}].clients": 2 + more})

    work = _work(many)
    assert len(work) > len(_work(few))
    assert {client: work[client] for client in _work(few)} == _work(few)
    assert (many.nodes, many.faults, many.links) == (few.nodes, few.faults, few.links)


@given(seed=SEEDS, workload=st.integers(0, 4))
def test_a_workload_less_leaves_the_others_as_they_were(seed: int, workload: int) -> None:
    head, *parts = BUSY.partition("[[faults]]")[0].split("[[workload]]")
    faults = "".join(BUSY.partition("[[faults]]")[1:])
    kept = [part for index, part in enumerate(parts) if index != workload]
    fewer = planned(seed, text="[[workload]]".join([head, *kept]) + faults)

    all_of_them = planned(seed)
    work = _work(all_of_them)
    assert _work(fewer) == {client: work[client] for client in _work(fewer)}
    assert (fewer.faults, fewer.nodes) == (all_of_them.faults, all_of_them.nodes)


@given(seed=SEEDS)
def test_a_fault_less_leaves_the_rest_as_it_was(seed: int) -> None:
    without = planned(seed, text=BUSY.partition('[[faults]]\nname = "pause"')[0])

    both = planned(seed)
    assert both.faults[:1] == without.faults
    assert _work(both) == _work(without)


@given(seed=SEEDS, node=st.sampled_from(["n6", "n7"]))
def test_another_node_leaves_the_clocks_of_the_others_as_they_were(seed: int, node: str) -> None:
    names = ["n1", "n2", "n3", "n4", "n5", node]
    assert planned(seed, {"cluster.nodes": names}).nodes[:5] == planned(seed).nodes


@given(seed=SEEDS)
def test_a_strategy_does_not_change_what_happens(seed: int) -> None:
    one, other = planned(seed), planned(seed, {"strategy.name": "a5_safetime"})
    assert (one.programs, one.steps, one.faults) == (other.programs, other.steps, other.faults)


@given(seed=SEEDS)
def test_names_in_a_plan_are_told_apart(seed: int) -> None:
    made = planned(seed)
    ids = [step.id for step in made.steps]
    assert len(set(ids)) == len(ids)
    clients = [program.client for program in made.programs]
    assert len(set(clients)) == len(clients)
    waits = [step.after.rpartition(".")[0] for step in made.steps if step.after is not None]
    assert set(waits) <= set(ids)


def _work(made: Plan) -> dict[str, Any]:
    """What each client does."""
    work: dict[str, Any] = {program.client: program for program in made.programs}
    for step in made.steps:
        work.setdefault(step.client, []).append(step)
    return work


SHOW = """
import sys, msgspec
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
busy = read(sys.argv[1], "busy")
for seed in sys.argv[2:]:
    print(msgspec.json.encode(plan(busy, int(seed))).decode())
"""


def test_another_process_makes_the_same_plans_under_another_hash_seed() -> None:
    seeds = (0, 7)
    shown = subprocess.run(
        [sys.executable, "-c", SHOW, BUSY, *map(str, seeds)],
        env={**os.environ, "PYTHONHASHSEED": "2"},
        capture_output=True,
        check=True,
    ).stdout
    assert shown.splitlines() == [msgspec.json.encode(planned(seed)) for seed in seeds]
