"""A plan as a scripted scenario: the same seed gives the same run, event for event."""

from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.events import Invoked
from ddlsim.history.history import History
from ddlsim.history.world_events import FaultBegan
from ddlsim.model.ops import Ddl, Delete, Find, Get, Insert, Operation, Put, Replace, Scan, Update
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import Scenario, read
from ddlsim.scenario.tomltext import toml_text
from ddlsim.shrink.script import Issued, Writer, scripted
from ddlsim.units import Micros
from tests.support.small_scenario import PROTOCOL, SCHEMA, scenario

pytestmark = pytest.mark.slow


def again(original: Scenario, seed: int) -> tuple[History, History]:
    """The run of a scenario, and that of its script."""
    script = read(toml_text(scripted(original, seed)), "script")
    return run(plan(original, seed)), run(plan(script, seed))


@pytest.mark.parametrize(
    "name", ["smoke", "generated/transborder", "generated/read_own_ddl", "findings/F-1"]
)
def test_the_script_of_a_plan_is_the_same_run(name: str) -> None:
    before, after = again(load(name), 3)
    assert before.fingerprint() == after.fingerprint()


# 11 crashes a node twice at a time, 13 names a table that nothing makes, and 24 a value of
# a column that nothing adds
@pytest.mark.parametrize("seed", [1, 3, 4, 11, 13, 24])
def test_the_script_of_a_swarm_world_has_the_same_operations_and_answers(seed: int) -> None:
    original = swarm.scenario(swarm.Source(), seed)
    before, after = again(original, seed)
    ends = len(after.events) - len(after.of(Invoked))
    assert before.of(Invoked) == [one for one in after.of(Invoked) if not one.op.endswith(".rb")]
    assert ends > 0


def test_the_script_of_a_world_with_queries_for_values_is_the_same_run() -> None:
    """A query by any index was written without its values, as a null that TOML lacks."""
    original = swarm.scenario(swarm.source_of(None, {"strategy.name": "c6_f1"}), 17)
    data = scripted(original, 17)
    assert any(step.get("do", "")[0] == "find" for step in data["step"])
    before, after = again(original, 17)
    assert before.fingerprint() == after.fingerprint()


@pytest.mark.parametrize("find", [Find("t", "", {"v": 5}), Find("t", "i", {"v": None})])
def test_a_query_for_values_is_read_back_as_it_was(find: Find) -> None:
    sql = 'plane = "fdb"\n[schema]\nsql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"\n'
    head = f'title = "t"\nsource = "s"\nstrategy = {{ name = "c16_safe" }}\n[cluster]\n{sql}'
    client: Any = SimpleNamespace(name="c", session=False)
    writer = Writer(plan(read(head, "small"), 0))
    steps = [writer.step(Issued(Micros(at), client, f"s{at}", None, "n1", find)) for at in (1, 2)]
    made = {"id": "d", "client": "d", "node": "n1", "at_ms": 0, "ddl": "CREATE INDEX i ON t (v)"}
    _, *found = read(head + toml_text({"step": [made, *steps]}), "small").steps
    assert [one.do for one in found] == [find, find]


def test_only_what_was_issued_becomes_a_step() -> None:
    original = load("smoke")
    steps = scripted(original, 3)["step"]
    history = run(plan(original, 3))
    assert [step["id"] for step in steps] == [one.op for one in history.of(Invoked)]
    assert {"workload", "migration"}.isdisjoint(scripted(original, 3))


def test_a_fault_of_a_client_that_issues_nothing_is_of_the_first_node() -> None:
    """Its script has no such client; the run takes the first node for one that asked no node."""
    workload = '[[workload]]\nname = "mixed"\nclients = 1\noperations = 1\npause_ms = 900\n'
    faults = '[[faults]]\nname = "pause"\nnode = "coordinator of mixed-1"\nfor_ms = 5\n'
    original = scenario(f"{SCHEMA}{workload}{faults}[run]\nload_ms = 50\n")
    script = read(toml_text(scripted(original, 3)), "script")
    assert script.steps == ()
    before, after = (run(plan(one, 3)) for one in (original, script))
    struck = [(one.fault, one.nodes) for one in before.of(FaultBegan)]
    assert struck == [(one.fault, one.nodes) for one in after.of(FaultBegan)]
    assert struck == [("pause", ("n1",))]


def test_what_a_scenario_says_and_expects_is_left_out() -> None:
    data = scripted(load("findings/F-1"), 0)
    assert {"title", "expect", "finding", "reaches"}.isdisjoint(data)
    assert all("expect" not in step for step in data["step"])


def test_overrides_are_in_the_data() -> None:
    changed = read(load("findings/F-1").text, "x", overrides={"protocol.delay_duration_ms": 77})
    assert scripted(changed, 0)["protocol"]["delay_duration_ms"] == 77


KEYED = """[schema]
sql = '''
CREATE TABLE t (id INT PRIMARY KEY, v INT);
CREATE TABLE k (a INT, b VARCHAR, v INT, PRIMARY KEY (a, b));
CREATE VIEW kv AS SELECT * FROM k'''
"""


@pytest.mark.parametrize(
    "do",
    [
        Get("t", 1),
        Get("t", 1, metadata=True),
        Get("t", 1, columns=("v",)),
        Get("k", (1, "it's")),
        Get("k", (1, "x"), metadata=True),
        Scan("t"),
        Scan("t", metadata=True),
        Scan("k", columns=("v", "a")),
        Put("t", 1),
        Put("t", 1, {"v": 5}),
        Put("k", (1, "x")),
        Insert("t", 1, {"v": 5}),
        Insert("t", 1, {"v": 5}, strict=True),
        Insert("k", (2, "y"), {"v": 5}, strict=True),
        Insert("t", 1, strict=True),
        Put("t", 1, {"v": None}),
        Put("t", 1, spread=3),
        Put("none", 1, {"v": 6}),
        Update("none", 1, {"v": 6}),
        Scan("none", metadata=True),
        Put("t", 1, {"v": "no number"}),
        Insert("kv", (1, "x"), {"v": 6}, strict=True),
        Update("kv", (1, "x"), {"v": 6}),
        Replace("t", 1),
        Update("t", 1, {"v": None}),
        Update("t", 1, {"id": None}),
        Update("t", 1, {"id": 2}),
        Update("k", (1, "x"), {"v": 6}),
        Delete("k", (1, "x")),
        Ddl("DROP INDEX that_never_was"),
    ],
)
def test_every_operation_is_read_back_as_it_was(do: Operation) -> None:
    client: Any = SimpleNamespace(name="c", session=False)
    issued = Issued(Micros(1000), client, "s", None, "n1", do)
    data = {"step": [Writer(plan(scenario(KEYED), 0)).step(issued)]}
    (step,) = read(f"{PROTOCOL}{KEYED}{toml_text(data)}", "small").steps
    assert step.do == do


def test_a_put_that_names_its_values_is_read_back_without_a_number_of_values() -> None:
    client: Any = SimpleNamespace(name="c", session=False)
    issued = Issued(Micros(1000), client, "s", None, "n1", Put("t", 1, {"v": 5}, spread=3))
    data = {"step": [Writer(plan(scenario(KEYED), 0)).step(issued)]}
    (step,) = read(f"{PROTOCOL}{KEYED}{toml_text(data)}", "small").steps
    assert step.do == Put("t", 1, {"v": 5})


def test_a_scenario_without_schema_has_a_script_without() -> None:
    assert "schema" not in scripted(scenario("[run]\nload_ms = 10\n"), 0)


def test_a_schema_of_one_statement_is_written_as_it_is() -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY)"
    made = scripted(scenario(f'[run]\nload_ms = 10\n[schema]\nsql = "{table};"\n'), 0)
    assert made["schema"] == {"sql": table}
