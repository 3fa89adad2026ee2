"""Each pass on a planted scenario: what it leaves out, and what it must leave."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from ddlsim.shrink.data import Data, nodes_of, steps_of, without_steps
from ddlsim.shrink.passes import FIRST, LAST, PASSES, Pass
from ddlsim.shrink.script import settled
from ddlsim.shrink.shrink import Shrinking
from ddlsim.shrink.size import size_of
from ddlsim.shrink.tables import split_at_commas
from ddlsim.shrink.trial import Failure, Shown
from ddlsim.shrink.world import settings, without, without_node
from tests.support.shrinking import FINDING, noisy, state_of

NEEDED = ["s1", "d", "w2", "c2", "r1", "c1"]
"""The steps of the finding."""
NAMED = {one.name: one for one in (*FIRST, *PASSES, *LAST)}


def after(name: str, data: Data, **more: Any) -> Data:
    """What one pass makes of some data."""
    state: Shrinking = state_of(data)
    state.carry_out(NAMED[name], lambda state, name: None, **more)
    return state.best.data


def ids(data: Data) -> list[str]:
    return [step["id"] for step in steps_of(data)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "gone"),
    [
        ("parties only", ["x1", "x2", "y1", "z1", "d9"]),
        ("nothing after", ["z1", "d9"]),
        ("clients", ["x1", "x2", "y1", "z1", "d9"]),
        ("transactions", ["x1", "x2", "y1", "z1"]),
        ("statements", ["d9"]),
        ("operations", ["x1", "x2", "y1", "z1", "d9"]),
        ("some clients", ["x1", "x2", "y1", "z1", "d9"]),
        ("some transactions", ["x1", "x2", "y1", "z1"]),
        ("some operations", ["x1", "y1", "z1", "d9"]),
    ],
)
def test_steps_that_are_not_needed_go(name: str, gone: list[str]) -> None:
    left = ids(after(name, noisy()))
    assert set(gone).isdisjoint(left)
    assert [one for one in left if one in NEEDED] == NEEDED


def test_faults_that_are_not_needed_go() -> None:
    assert "faults" not in after("around", noisy())


def test_nodes_that_are_not_needed_go_and_the_rest_is_renumbered() -> None:
    data = after("nodes", noisy())
    assert nodes_of(data) == ["n1"]
    assert {step.get("node") for step in steps_of(data)} == {"n1"}


def test_settings_of_all_tables_go_together() -> None:
    data = noisy()
    assert "clocks" not in after("by default", data)
    assert after("by default", data)["strategy"] == data["strategy"]


def test_a_moment_with_a_number_becomes_an_instant_on_the_node_that_was_struck() -> None:
    when = {"moment": "update-applied", "nth": 2}
    fault = {"name": "slow_disk", "node": "its node", "delay_ms": 1, "when": when}
    [left] = after("instants", noisy(faults=[fault]))["faults"]
    assert after("all instants", noisy(faults=[fault]))["faults"] == [left]
    assert "when" not in left
    assert left["from_ms"] > 0
    assert left["node"] in ("n1", "n2", "n3")
    plain = {**fault, "when": "update-applied"}
    assert after("instants", noisy(faults=[plain]))["faults"] == [plain]


CHAINED = """
title = "a statement is not known where a partition keeps it away"
source = "here"
step = [
  { id = "d1", client = "c1", node = "n2", at_ms = 0, ddl = "ALTER TABLE a RENAME TO t1" },
  { id = "d2", client = "c1", node = "n1", ddl = "ALTER TABLE t1 RENAME TO a", after = "d1.done" },
  { id = "w", client = "c2", node = "n1", do = ["put", "b", 1], after = "d2.done" },
  { id = "d3", client = "c1", at_ms = 1, after = "d2.done", ddl = "ALTER TABLE b RENAME TO t1" },
]
[strategy]
mutant = "no_completeness_wait"
[cluster]
nodes = 2
[protocol]
preset = "ignite3_tests"
delay_duration_ms = 20
operation_timeout_ms = 70
[schema]
sql = '''
CREATE ZONE z WITH (PARTITIONS = 4, REPLICAS = 3);
CREATE TABLE a (id INT PRIMARY KEY, v INT);
CREATE TABLE b (id INT PRIMARY KEY, v INT) ZONE z;
'''
[[faults]]
name = "partition"
shape = "one_node"
node = "primary of b"
from_ms = 29
"""


def test_a_step_goes_while_all_others_stay_at_their_instants() -> None:
    """Without d1 all that waits for it comes before the partition, unless it stays."""
    data = settled(read(CHAINED, "chained"))
    assert ids(after("operations", data)) == ["d1", "d2", "w", "d3"]
    assert ids(after("at their instants", data)) == ["d2", "w", "d3"]


def test_a_fault_begins_behind_its_moment_where_it_must() -> None:
    """At the instant of its moment, or before, it would keep away what the moment waits for."""
    data = settled(read(CHAINED, "chained"))
    of_moment = {**data["faults"][0], "from_ms": 1, "when": {"moment": "update-logged"}}
    [left] = after("instants", {**data, "faults": [of_moment]})["faults"]
    assert "when" not in left
    assert left["from_ms"] == 29


def test_a_moment_becomes_an_instant_where_a_fault_names_several_nodes() -> None:
    when = {"moment": "update-applied", "nth": 2}
    fault = {"name": "partition", "shape": "halves", "side": ["n1", "n2"], "when": when}
    [left] = after("instants", noisy(faults=[{**fault, "for_ms": 1}]))["faults"]
    assert "when" not in left
    assert left["side"] == ["n1", "n2"]


def test_the_drain_of_a_stuck_run_is_tried_at_shares_of_its_length() -> None:
    def lengths(end_us: int) -> list[int]:
        data: Data = {"run": {"load_ms": 100, "drain_ms": 8_000}}
        best = SimpleNamespace(data=data, history=SimpleNamespace(end_us=end_us))
        offered = NAMED["shorter drain"].candidates(cast(Shown, best), cast(Failure, None))
        return [one["run"]["drain_ms"] for one in offered]

    assert lengths(8_100_000) == [1_000, 4_000, 6_000]
    assert lengths(8_000_000) == []


def test_a_candidate_takes_not_many_more_events_than_the_best_one() -> None:
    state = state_of(noisy())
    most = 3 * state.best.history.executed_events + 20_000
    assert state.bounded().events_max == most


def test_counts_become_one() -> None:
    data = noisy(cluster={"nodes": 3, "voters": 3, "partitions": 2, "replicas": 2})
    cluster = after("counts", data)["cluster"]
    assert (cluster["voters"], cluster["partitions"], cluster["replicas"]) == (1, 1, 1)


def test_a_preset_takes_the_place_of_single_settings() -> None:
    numbers = {"preset": "ignite3_tests", "delay_duration_ms": 50, "operation_timeout_ms": 2_000}
    assert after("preset", noisy(protocol=numbers))["protocol"] == {"preset": "ignite3_tests"}


def test_settings_and_skew_go() -> None:
    data = after("settings", noisy(idle_ticks=True))
    assert {"clocks", "idle_ticks"}.isdisjoint(data)
    assert all(set(fault) == {"name", "node", "delay_ms"} for fault in data["faults"])


def test_many_settings_are_left_out_at_once_before_each_alone() -> None:
    """Where a run takes seconds, as one that gets stuck, few candidates can be run."""
    keys = [f"key_{number}" for number in range(16)]
    best = SimpleNamespace(data={"strategy": {"name": "x"}, "fdb": dict.fromkeys(keys, 1)})
    candidates = settings(cast(Shown, best), cast(Failure, None))
    made = [next(candidates)]
    while made[-1].get("fdb") != {"key_5": 1}:  # all others may go
        made.append(candidates.send("key_5" in made[-1].get("fdb", {})))
    assert "fdb" not in made[0]
    assert len(made[1]["fdb"]) == len(keys) / 2
    assert len(made) < len(keys)


def test_load_and_drain_become_what_is_planned() -> None:
    assert "run" not in after("load and drain", noisy(run={"drain_ms": 9_000}))


def test_a_drain_ends_soon_behind_the_violation_until_the_last_passes() -> None:
    never = {"id": "n1", "client": "cn", "node": "n1", "after": "y1.failed", "do": ["get", "b", 1]}
    data = noisy(run={"load_ms": 2_000, "drain_ms": 9_000})
    shorter = after("load and drain", {**data, "step": [*data["step"], never]})
    assert shorter["run"] == {"load_ms": 2_000, "drain_ms": 1}
    assert after("settings", shorter)["run"] == shorter["run"]
    assert "run" not in after("default lengths", shorter)


SPREAD = {"distribution": "lognormal", "median": 1, "p99": 8}


def test_latencies_become_none() -> None:
    assert "network" not in after("no latency", noisy(network={"latency_ms": SPREAD, "loss": 0.01}))


def test_a_distribution_becomes_a_constant() -> None:
    network = {"latency_ms": SPREAD, "client_latency_ms": 0.5}
    data = after("constant latencies", noisy(network=network))
    assert data["network"] == {"latency_ms": 0, "client_latency_ms": 0.5}


def test_a_probability_becomes_certain() -> None:
    fault = {"name": "message_duplication", "probability": 0.5, "from_ms": 10, "for_ms": 50}
    assert after("probabilities", noisy(faults=[fault]))["faults"][0]["probability"] == 1


def test_a_drawn_delay_that_matters_becomes_a_hold() -> None:
    """A statement on its way for so long that an idle command is stamped before it."""
    drawn = {
        "strategy": {"mutant": "appends_after_a_wait"},
        "network": {"latency_ms": {"distribution": "lognormal", "median": 3, "p99": 120}},
        "protocol": {"preset": "ignite3_tests", "safe_time_interval_ms": 10},
        "schema": {"sql": "CREATE TABLE a (id INT PRIMARY KEY, v INT)"},
        "step": [
            {"id": "ddl_storm-2.d0", "client": "ddl_storm-2", "node": "n3", "at_ms": 263.068,
             "ddl": "ALTER TABLE a ADD COLUMN w INT"},
        ],
    }  # fmt: skip
    state = state_of(drawn, seed=6)
    state.carry_out(NAMED["single messages"], lambda state, name: None)
    data = state.best.data
    assert state.best.size.drawn == 0
    assert [hold["kind"] for hold in data["hold"]] == ["submit"]
    assert data["hold"][0]["messages"] == 1
    assert data["network"]["latency_ms"] < data["hold"][0]["until_ms"]


def test_tables_that_are_not_used_go() -> None:
    sql = settled(load(FINDING))["schema"]["sql"] + "; CREATE TABLE idle (id INT PRIMARY KEY)"
    assert "idle" not in after("schema", noisy(schema={"sql": sql}))["schema"]["sql"]


def test_split_at_commas_keeps_what_is_in_parentheses() -> None:
    text = "ADD COLUMN e DECIMAL(5, 2), DROP COLUMN v"
    assert split_at_commas(text) == ("ADD COLUMN e DECIMAL(5, 2)", "DROP COLUMN v")


STRICT = "(k UUID PRIMARY KEY, v INT, e DECIMAL(5, 2) NOT NULL, y VARBINARY(8))"
RICH = STRICT.replace(" NOT NULL", "")


def with_rich_tables(ddl: str) -> Data:
    """The finding with tables of many columns, and another statement."""
    key = "00000000-0000-0000-0000-00000000000a"
    data = deepcopy(noisy(schema={"sql": f"CREATE TABLE a {STRICT}; CREATE TABLE b {RICH}"}))
    for step in data["step"]:
        if isinstance(step.get("do"), list):
            step["do"][2] = key
        if step["id"] == "d":
            step["ddl"] = ddl
    return data


def test_tables_become_plain_and_their_keys_numbers() -> None:
    data = after("plain tables", with_rich_tables("ALTER TABLE a ADD COLUMN w INT"))
    plain = "CREATE TABLE {t} (id INT PRIMARY KEY, v INT);\n"
    assert data["schema"]["sql"] == plain.format(t="a") + plain.format(t="b")
    assert {step["do"][2] for step in data["step"] if isinstance(step.get("do"), list)} == {1}


def test_a_column_that_a_statement_needs_stays() -> None:
    data = after("plain tables", with_rich_tables("ALTER TABLE a ALTER COLUMN e DROP NOT NULL"))
    first, second = str(data["schema"]["sql"]).splitlines()
    assert first == "CREATE TABLE a (k UUID PRIMARY KEY, e DECIMAL(5, 2) NOT NULL);"
    assert second == "CREATE TABLE b (id INT PRIMARY KEY, v INT);"


def test_a_compound_statement_keeps_the_action_that_matters() -> None:
    data = noisy()
    (ddl,) = [step for step in data["step"] if step["id"] == "d"]
    ddl["ddl"] = "ALTER TABLE a ADD COLUMN w INT, ADD COLUMN w2 INT"
    (left,) = [step["ddl"] for step in steps_of(after("actions", data)) if step["id"] == "d"]
    assert left == "ALTER TABLE a ADD COLUMN w INT"


def test_steps_follow_each_other_in_place_of_instants() -> None:
    data = settled(load(FINDING))
    for at_ms, step in zip((100, 110, 300, 310, 320, 330), data["step"], strict=True):
        step["at_ms"] = at_ms
        step.pop("after", None)
    assert after("all in order", data)["step"] == after("order", data)["step"]
    chained = after("order", data)
    assert [step.get("at_ms") for step in chained["step"]] == [100, None, None, None, None, None]


def test_instants_come_forward() -> None:
    data = after("earlier", without_steps(noisy(), range(5)))
    assert data["step"][0]["at_ms"] == 0


def test_instants_become_round() -> None:
    data = without_steps(noisy(), range(5))
    data["step"][0]["at_ms"] = 103.217
    data["faults"][1]["for_ms"] = 33.3
    data = after("round numbers", data)
    assert data["step"][0]["at_ms"] == 100
    assert data["faults"][1]["for_ms"] in (30, 50)


def test_the_last_passes_name_what_there_is() -> None:
    data = after("plain names", noisy(), smaller=False)
    assert {step["client"] for step in steps_of(data)} == {"c1", "c2", "c3", "c4", "c5", "c6"}
    assert {step["tx"] for step in steps_of(data) if "tx" in step} == {"T1", "T2", "T3"}
    assert len(set(ids(data))) == len(ids(data))


def test_keys_become_small() -> None:
    data = noisy()
    for step in data["step"]:
        if isinstance(step.get("do"), list):
            step["do"][2] = {1: 801, 7: 55}[step["do"][2]]
    keys = {s["do"][2] for s in steps_of(after("small keys", data, smaller=False)) if "do" in s}
    assert keys & {1, 2} == {1, 2}


def test_steps_stand_in_the_order_of_time() -> None:
    steps = noisy()["step"]
    left = ids(after("order of steps", noisy(step=[*steps[5:], *steps[:5]]), smaller=False))
    assert left[:4] == ["x1", "x2", "y1", "s1"]


def test_a_node_that_follows_from_the_transaction_is_left_out() -> None:
    steps = steps_of(after("nodes once", noisy(), smaller=False))
    assert ["node" in step for step in steps if step["id"] in ("s1", "r1", "c1")] == [
        True, False, False,
    ]  # fmt: skip


def test_links_without_latency_get_some() -> None:
    network = after("visible times", noisy(), smaller=False)["network"]
    assert network == {"latency_ms": 1, "client_latency_ms": 1}


def test_a_hold_is_narrowed_to_one_message() -> None:
    hold = {"from_ms": 0, "until_ms": 120}
    found = after("single holds", {**noisy(), "hold": [hold]}, smaller=False)["hold"][0]
    assert {"from", "to", "kind", "messages"} <= set(found)


def test_every_pass_has_a_test_here() -> None:
    text = Path(__file__).read_text("utf-8")
    assert [name for name in NAMED if name != "generated clients" and f'"{name}"' not in text] == []


@pytest.mark.slow
def test_generated_clients_shrink_where_nothing_is_scripted() -> None:
    scenario = load("negative/no_completeness_wait", {"workload[0].operations": 60})
    state = state_of(settled(scenario))
    state.carry_out(NAMED["generated clients"], lambda state, name: None)
    (workload,) = state.best.data["workload"]
    assert workload["clients"] * workload["operations"] < 6 * 60


# --- no pass makes anything larger ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("one", PASSES, ids=lambda one: one.name)
def test_whatever_a_pass_keeps_is_smaller(one: Pass) -> None:
    state = state_of(noisy())
    sizes = [state.best.size]
    consider: Callable[..., bool] = state.consider

    def watched(data: Data, *, smaller: bool = True) -> bool:
        kept = consider(data, smaller=smaller)
        if kept:
            sizes.append(size_of(data))
        return kept

    state.consider = watched  # type: ignore[method-assign]  # to see what is kept
    state.carry_out(one, lambda state, name: None)
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)


# --- the helpers ---------------------------------------------------------------------------------


def test_what_waited_for_a_step_that_is_gone_waits_for_what_that_waited_for() -> None:
    steps = [
        {"id": "a", "client": "c", "node": "n1", "at_ms": 5, "do": ["get", "t", 1]},
        {
            "id": "b",
            "client": "d",
            "node": "n1",
            "after": "a.ok",
            "plus_ms": 2,
            "do": ["get", "t", 1],
        },
        {
            "id": "c",
            "client": "e",
            "node": "n1",
            "after": "b.ok",
            "plus_ms": 1,
            "do": ["get", "t", 1],
        },
    ]
    holds = [{"until": "b.ok"}, {"until": "c.ok"}, {"label": "b", "until_ms": 9}]
    data = without_steps({"step": steps, "hold": holds}, [1])
    assert data["step"][1] == {**steps[2], "after": "a.ok", "plus_ms": 3}
    assert data["hold"] == [{"until": "c.ok"}]
    (last,) = without_steps({"step": steps}, [0, 1])["step"]
    assert (last.get("at_ms"), last.get("after")) == (8, None)


def test_a_key_that_is_left_out_takes_its_empty_tables_with_it() -> None:
    data = {"clocks": {"nodes": {"n2": {"offset_ms": 1}}}, "step": []}
    assert without(data, ("clocks", "nodes", "n2", "offset_ms")) == {"step": []}
    assert without(data, ("clocks", "nodes", "n3", "offset_ms")) is None


def test_without_a_node_its_faults_go_or_another_one_has_them() -> None:
    data: Data = {
        "cluster": {"nodes": 3, "voters": 3},
        "faults": [{"name": "crash", "node": "n2"}, {"name": "partition", "side": ["n2", "n3"]}],
        "clocks": {"nodes": {"n2": {"offset_ms": 1}, "n3": {"offset_ms": 2}}},
        "step": [{"id": "s", "client": "c", "node": "n3"}],
    }
    alone = without_node(data, "n2", None)
    assert alone is not None
    assert "faults" not in alone
    assert alone["clocks"] == {"nodes": {"n2": {"offset_ms": 2}}}
    assert alone["cluster"] == {"nodes": 2, "voters": 2}
    assert alone["step"][0]["node"] == "n2"
    taken = without_node(data, "n2", "n1")
    assert taken is not None
    assert [one.get("node", one.get("side")) for one in taken["faults"]] == ["n1", ["n1", "n2"]]
    assert without_node(data, "n3", None) is None
