"""A plan of the FoundationDB plane runs: store, layer, clients, faults, and what is left."""

from collections import Counter
from dataclasses import replace

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.cluster.designs import BadDesignError, check_design, layer_design
from ddlsim.cluster.fdb_cluster import schema_servers, store_config
from ddlsim.cluster.run import run
from ddlsim.history.events import Ok, RowFinal, TxCommitted
from ddlsim.history.history import History
from ddlsim.history.index_events import IndexFinal
from ddlsim.history.world_events import NodeCrashed, NodeRestarted
from ddlsim.layer.classes import LAYER_CLASSES
from ddlsim.layer.keyspace import (
    CUTOVER,
    HEAD,
    copy_key,
    log_key,
    object_key,
    step_key,
    version_key,
)
from ddlsim.layer.rules import fences
from ddlsim.mutants.store_conflicts import ProxyWithoutComparison
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan, StorePlan
from ddlsim.scenario.load import load
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import override, read
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.strategies.c1_schema import C1_SCHEMA, C1C_REPLICAS
from ddlsim.strategies.c3_copies import C3B_VERSIONS

KNOWN_BUG = """
[strategy]
name = "c15_known_bug"

[cluster]
plane = "fdb"
nodes = ["a", "b"]

[fdb]
versions_per_second = 1000

[network]
latency_ms = 1

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[step]]
id = "load"
client = "c1"
node = "a"
at_ms = 100
do = ["put", "t", 1, { v = 1 }]

[[step]]
id = "d"
client = "c2"
node = "b"
after = "load.ok"
ddl = "CREATE INDEX i ON t (v)"

[[step]]
id = "w"
client = "c1"
node = "a"
after = "d.ok"
do = ["put", "t", 2, { v = 5 }]

[[step]]
id = "q"
client = "c2"
node = "b"
after = "w.ok"
do = ["find", "t", "i", { v = 5 }]
"""


def ran(more: str = "", **strategy: str) -> History:
    overrides = {f"strategy.{key}": value for key, value in strategy.items()}
    return run(plan(read(KNOWN_BUG + more, "text", overrides=overrides)))


def kinds(history: History, *invariants: str) -> set[str]:
    found = judge(history, strict=True, all_claims=True).violations
    return {one.kind for one in found if one.invariant in invariants}


def test_the_gap_of_a_cached_schema_is_seen_and_its_control_has_none() -> None:
    """[C15-T1, C16-C0]"""
    assert kinds(ran(), "I1", "I7") == {"wrong-version", "missing-entry", "row-not-found"}
    control = ran(name="c16_safe")
    assert kinds(control, "I1", "I7") == set()
    assert [one.value for one in control.of(Ok)][-1] == [{"id": 2, "v": 5}]


def test_the_end_is_read_back() -> None:
    history = ran(name="c16_safe")
    assert [(one.node, one.key, one.row) for one in history.of(RowFinal)] == [
        ("storage1", 1, ((1, 1), (2, 1))),
        ("storage1", 2, ((1, 2), (2, 5))),
    ]
    assert [(one.values, one.key) for one in history.of(IndexFinal)] == [((1,), 1), ((5,), 2)]
    committed = {one.tx: one.commit_ts for one in history.of(TxCommitted)}
    assert all(committed[one.writer] == one.commit_ts for one in history.of(RowFinal))


@pytest.mark.parametrize(("machine", "for_ms"), [("b", 30), ("proxy1", 200), ("storage1", 200)])
def test_work_goes_on_after_a_crash(machine: str, for_ms: int) -> None:
    crash = f'[[faults]]\nname = "crash"\nnode = "{machine}"\nfrom_ms = 60\nfor_ms = {for_ms}\n'
    history = ran(crash, name="c1_schema")
    assert [one.node for one in history.of(NodeCrashed)] == [machine]
    assert [one.node for one in history.of(NodeRestarted)] == [machine]
    assert [one.op for one in history.of(Ok)] == ["load", "d", "w", "q"]


def test_a_run_repeats() -> None:
    assert ran().fingerprint() == ran().fingerprint()


PLAIN = '[protocol]\npreset = "ignite3_defaults"\n'


def mutated(mutant: str, text: str = KNOWN_BUG) -> Plan:
    return plan(read(text, "text", overrides={"strategy.mutant": mutant}))


def test_a_mutant_replaces_a_rule_of_a_layer_or_a_class_of_the_plane() -> None:
    chosen, classes = layer_design(mutated("commits_across_a_schema_change"))
    assert chosen.fence is fences.unfenced
    assert classes is LAYER_CLASSES
    bare, classes = layer_design(mutated("proxy_compares_nothing"))
    assert bare == LAYER_DESIGNS.get("c15_known_bug")
    assert classes == replace(LAYER_CLASSES, proxy=ProxyWithoutComparison)


@pytest.mark.parametrize(
    ("mutant", "text", "words"),
    [
        (
            "no_commit_check",
            KNOWN_BUG,
            "of plane 'ignite', not of 'fdb'; run it under a design of ",
        ),
        (
            "forgets_a_version_key",
            PLAIN,
            "of plane 'fdb', not of 'ignite'; run it under c3b_versions",
        ),
    ],
)
def test_a_mutant_of_the_other_plane_is_refused(mutant: str, text: str, words: str) -> None:
    planned = mutated(mutant, text)
    with pytest.raises(BadDesignError, match=words) as refused:
        check_design(planned)
    assert "\n" not in str(refused.value)


def test_the_schema_lies_apart_from_rows_where_there_are_several_storage_servers() -> None:
    names = tuple(("storage", f"storage{one}") for one in (1, 2, 3))
    config = store_config(StorePlan(names, 2, {}), C1_SCHEMA)
    assert config.team_of(("s", "head")) == ("storage3", "storage1")
    assert config.team_of(("d", 1, 1)) == ("storage1", "storage2")
    assert config.team_of(("i", 1, 1)) == ("storage2", "storage1")
    for count in range(1, 6):
        each = tuple(("storage", f"storage{number}") for number in range(1, count + 1))
        assert len(store_config(StorePlan(each, 1, {}), C1_SCHEMA).storages) == count
    wide = store_config(StorePlan(names, 1, {}), C1C_REPLICAS)
    assert wide.team_of(("s", "head")) == ("storage3", "storage1", "storage2")
    assert wide.team_of(("d", 1, 1)) == ("storage1",)
    alone = store_config(StorePlan(names[:1], 1, {}), C1_SCHEMA)
    assert {alone.team_of((space, 1)) for space in "dijsx"} == {("storage1",)}


COPIES = [
    # storage servers, replicas, copies, where the copies lie, where rows do
    (5, 1, 100, [2, 3, 4, 5], {1}),
    (4, 2, 100, [3, 4], {1, 2}),
    (3, 1, 10, [2, 3], {1}),
    (5, 1, 3, [3, 4, 5], {1, 2}),
    (5, 1, 1, [5], {1, 2, 3, 4}),
    (4, 1, 1, [4], {1, 2, 3}),
    (2, 1, 100, [2], {1}),
    (1, 1, 100, [1], {1}),
]


@pytest.mark.parametrize(("servers", "replicas", "copies", "of_copies", "of_rows"), COPIES)
def test_copies_of_the_schema_lie_on_different_servers_that_hold_no_rows(
    servers: int, replicas: int, copies: int, of_copies: list[int], of_rows: set[int]
) -> None:
    names = tuple(("storage", f"storage{one}") for one in range(1, servers + 1))
    config = store_config(StorePlan(names, replicas, {}), replace(C3B_VERSIONS, copies=copies))
    for key_of in (version_key, copy_key):
        found = Counter(config.team_of(key_of(place))[0] for place in range(copies))
        assert [*found] == [f"storage{one}" for one in of_copies]
        assert max(found.values()) - min(found.values()) <= 1
    assert set(config.storages) == {name for _, name in names}
    teams = [config.team_of((space, 1)) for space in "dijx"]
    assert {int(name[-1]) for team in teams for name in team} == of_rows
    for key in (HEAD, CUTOVER, log_key(3), object_key(2), step_key(1)):
        assert config.team_of(key)[0] == f"storage{servers}"


def test_servers_of_copies_hold_nothing_but_the_schema() -> None:
    five = {"fdb.storages": 5, "strategy.name": "c3b_versions"}
    found = schema_servers(plan(override(load("comparison/fdb"), five), 0))
    assert found == ("storage2", "storage3", "storage4", "storage5")


# --- faults at moments of the store ---------------------------------------------------------------


def at(when: str, more: str) -> str:
    return f'[[faults]]\nwhen = "{when}"\nfrom_ms = 60\n{more}\n'


CRASH = 'name = "crash"\nfor_ms = 200\nnode = '


@pytest.mark.parametrize(
    ("when", "role", "machine"),
    [
        ("push sent", "its sender", "proxy1"),
        ("push delivered", "its node", "log1"),
        ("versions-granted delivered", "its receiver", "proxy1"),
        ("committed sent", "its receiver", "a"),
        ("store-watch-fired", "its node", "a"),
    ],
)
def test_a_fault_begins_at_a_moment_of_the_store(when: str, role: str, machine: str) -> None:
    design = "c2_watch" if "watch" in when else "c1_schema"
    history = ran(at(when, f'{CRASH}"{role}"'), name=design)
    assert [one.node for one in history.of(NodeCrashed)] == [machine]


def test_the_controller_does_not_fail_at_a_moment() -> None:
    """Its messages are those of recoveries, so that one must begin first."""
    crash = '[[faults]]\nname = "crash"\nnode = "log1"\nfrom_ms = 60\nfor_ms = 50\n'
    history = ran(crash + at("locked sent", f'{CRASH}"its receiver"'), name="c1_schema")
    assert [one.node for one in history.of(NodeCrashed)] == ["log1"]
    assert history.probes["fault-on-nobody"] == 1


def test_an_answer_that_is_lost_leaves_the_outcome_to_be_looked_up() -> None:
    lost = at("committed sent", 'name = "lost_message"')
    history = ran(lost, name="c1_schema")
    assert history.probes["store-commit-unknown"] >= 1
    assert history.probes["outcome-looked-up"] >= 1
    assert [one.op for one in history.of(Ok)] == ["load", "d", "w", "q"]


@pytest.mark.parametrize(
    ("when", "text", "words"),
    [
        ("push sent", PLAIN, "push sent comes on plane fdb alone"),
        ("store-recovery", PLAIN, "store-recovery comes on plane fdb alone"),
        ("before-commit-ts", KNOWN_BUG, "before-commit-ts is a point of plane ignite alone"),
    ],
)
def test_a_moment_of_the_other_plane_is_refused(when: str, text: str, words: str) -> None:
    with pytest.raises(ScenarioError, match=words):
        read(text + at(when, f'{CRASH}"any node"'), "text")


def test_a_design_with_more_replicas_of_its_schema_has_no_server_of_the_schema_alone() -> None:
    alone = plan(read(KNOWN_BUG, "text", overrides={"fdb.storages": 3}))
    assert schema_servers(alone) == ("storage3",)
    wide = {"fdb.storages": 3, "strategy.schema_replicas": 3}
    assert schema_servers(plan(read(KNOWN_BUG, "text", overrides=wide))) == ()


def test_a_crash_of_the_controller_is_refused() -> None:
    crash = '[[faults]]\nname = "crash"\nnode = "controller"\nfrom_ms = 60\nfor_ms = 50\n'
    with pytest.raises(ScenarioError, match="the controller of the store does not fail"):
        read(KNOWN_BUG + crash, "text")


HELD = """
[strategy]
name = "c1_schema"

[cluster]
plane = "fdb"
nodes = ["a"]

[run]
load_ms = 400
drain_ms = 200

[fdb]
storages = 3
replicas = {replicas}

[network]
latency_ms = 1

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE INDEX i ON t (v)"

[[step]]
id = "first"
client = "c"
node = "a"
at_ms = 50
do = ["put", "t", 1, {{ v = 5 }}]
expect = "ok"

[[hold]]
from = "log1"
to = "storage1"
from_ms = 140
until_ms = 60_000

[[step]]
id = "d"
client = "c"
node = "a"
at_ms = 150
ddl = "DROP INDEX i"
expect = "ok"

[[step]]
id = "blind"
client = "c"
node = "a"
after = "d.ok"
do = ["put", "t", 2, {{ v = 6 }}]
expect = "ok"
"""


def test_a_run_that_ends_before_rows_have_come_to_their_server_is_stuck_and_loses_nothing() -> None:
    """The storage server of the rows is cut off from the log beyond the end of the drain."""
    history = run(plan(read(HELD.format(replicas=1), "held")))
    verdict = judge(history)
    assert not verdict.violations or {one.status for one in verdict.violations} == {"stuck"}
    assert verdict.outcome.word == "stuck"
    (stuck,) = verdict.stuck
    assert (stuck.client, stuck.waits_for) == ("storage1", "what the logs have")


def test_a_server_behind_another_one_of_its_team_is_not_read_back() -> None:
    """It still holds an entry of an index that is gone, where the other one holds nothing."""
    history = run(plan(read(HELD.format(replicas=2), "held")))
    verdict = judge(history)
    assert [one.kind for one in verdict.violations] == []
    assert verdict.outcome.word == "ok"
    assert {one.node for one in history.of(RowFinal)} == {"storage2"}
    assert history.of(IndexFinal) == []
