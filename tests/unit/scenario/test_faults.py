"""Faults in a scenario: which may overlap, whom they may name, and what a run makes of them."""

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.history.world_events import FaultBegan, FaultHealed, LeaderElected, TrafficDelayed
from ddlsim.model.ddl import CreateTable, CreateZone, RenameTable
from ddlsim.plan.plan import plan
from ddlsim.scenario.faults import Placed, placed
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import Scenario
from ddlsim.scenario.sqltext import SqlLine
from tests.support.small_scenario import SCHEMA, scenario, step

LOAD = "[run]\nload_ms = 1_000\n"


def fault(name: str, **keys: str) -> str:
    return f'[[faults]]\nname = "{name}"\n' + "".join(f"{k} = {v}\n" for k, v in keys.items())


def made(*faults: str, more: str = "") -> Scenario:
    return scenario(f"{more}{SCHEMA}{LOAD}{''.join(faults)}")


def ran(*faults: str, more: str = "") -> History:
    return run(plan(made(*faults, more=more)))


# --- what may overlap -----------------------------------------------------------------------------

N2, N3 = '"n2"', '"n3"'
FINE = [
    (fault("crash", node=N2, for_ms="300"), fault("crash", node=N2, from_ms="300", for_ms="9")),
    (fault("crash", node=N2), fault("crash", node=N3)),
    (fault("crash", node=N2), fault("slow_disk", node=N2, delay_ms="9")),
    (fault("pause", node=N2), fault("pause", node=N2, from_ms="5")),
    (fault("crash", node='"any node"'), fault("crash", node='"any node"')),
    (fault("crash", node='"meta storage leader"'), fault("crash", node='"meta storage leader"')),
    (
        fault("crash", node=N2),
        fault("crash", node=N2, from_ms='{ distribution = "uniform", low = 1, high = 9 }'),
    ),
    (
        fault("setting_change", node=N2, key='"delay_duration_ms"', to="50"),
        fault("setting_change", node=N2, key='"safe_time_interval_ms"', to="50"),
    ),
    (fault("leader_transfer", to=N2, from_ms="5"), fault("crash", node=N2, from_ms="6")),
    (fault("partition", shape='"one_node"', node=N2), fault("partition", side='["n2"]')),
]


@pytest.mark.parametrize("pair", FINE)
def test_check_times_accepts_faults_without_conflict(pair: tuple[str, str]) -> None:
    assert len(made(*pair).faults) == 2
    assert len(made(*reversed(pair)).faults) == 2


CLASHES = [
    (fault("crash", node=N2), fault("crash", node=N2, from_ms="999")),
    (fault("crash", node=N2), fault("pause", node=N2, from_ms="10", for_ms="10")),
    (fault("crash_majority", nodes='["n1", "n2"]'), fault("crash", node=N2, from_ms="10")),
    (fault("leader_transfer", to=N2, from_ms="6"), fault("crash", node=N2, from_ms="6")),
]


@pytest.mark.parametrize("pair", CLASHES)
@pytest.mark.parametrize("turned", [False, True])
def test_check_times_refuses_conflicting_faults_in_either_order(
    pair: tuple[str, str], turned: bool
) -> None:
    faults = reversed(pair) if turned else pair
    with pytest.raises(ScenarioError, match=r"faults\[1\]: overlaps faults\[0\] .*concern n2"):
        made(*faults)


# --- whom they may name ---------------------------------------------------------------------------


def test_partitions_are_those_of_the_zone() -> None:
    lines = [
        CreateZone("z", 4, 1),
        CreateZone("y"),
        CreateTable("a", (), ("id",)),
        CreateTable("b", (), ("id",), zone="z"),
        CreateTable("c", (), ("id",), zone="y"),
        RenameTable("b", "b2"),
    ]
    found = placed([SqlLine(line, "") for line in lines], Placed(2, 3))
    counts = {name: one.partitions for name, one in found.items()}
    assert counts == {"a": 2, "b": 4, "c": 25, "b2": 4}
    assert {name: one.replicas for name, one in found.items()} == {"a": 3, "b": 1, "c": 1, "b2": 1}


def test_coordinator_of_accepts_every_kind_of_client() -> None:
    load = '[[workload]]\nname = "mixed"\noperations = 1\n'
    migration = '[[migration]]\nsql = "ALTER TABLE t ADD COLUMN w INT"\n'
    get = step(id='"a"', client='"me"', node='"n2"', do='["get", "t", 1]')
    for client in ("mixed-1", "migration-1", "me"):
        crash = fault("pause", node=f'"coordinator of {client}"')
        assert made(crash, more=load + migration + get).faults


# --- what a run makes of them ---------------------------------------------------------------------

LATER = '[[migration]]\nat_ms = 300\nsql = "CREATE TABLE u (id INT PRIMARY KEY)"\n'


def test_a_fault_on_a_missing_table_has_no_effect() -> None:
    early = ran(fault("pause", node='"primary of u"', from_ms="100", for_ms="100"), more=LATER)
    assert early.probes["fault-on-nobody"] == 1
    assert [event.at_us for event in early.of(FaultBegan, FaultHealed)] == [100_000, 100_000]
    late = ran(fault("pause", node='"primary of u"', from_ms="900", for_ms="50"), more=LATER)
    assert late.probes["fault-on-nobody"] == 0
    assert [event.at_us for event in late.of(FaultBegan, FaultHealed)] == [900_000, 950_000]


def test_a_fault_that_delays_messages_records_by_how_much() -> None:
    times = {"from_ms": "100", "for_ms": "100"}
    history = ran(fault("clog", node=N3, delay_ms="7.5", **times))
    [delayed] = history.of(TrafficDelayed)
    assert (delayed.at_us, delayed.nodes, delayed.by_us) == (100_000, ("n3",), 7_500)
    assert ran(fault("pause", node=N3, **times)).of(TrafficDelayed) == []


@pytest.mark.parametrize("group", ["u", "u/0"])
def test_a_fault_on_a_group_of_a_missing_table_has_no_effect(group: str) -> None:
    history = ran(fault("leader_transfer", group=f'"{group}"', from_ms="100"), more=LATER)
    assert history.probes["fault-on-nobody"] == 1


def test_leadership_is_handed_over_by_a_fault_and_by_the_script() -> None:
    by_fault = ran(fault("leader_transfer", to=N3, from_ms="210"))
    by_script = ran(more='[[leader]]\ngroup = "meta"\nnode = "n3"\nat_ms = 210\n')
    for history in (by_fault, by_script):
        assert [event.node for event in history.of(LeaderElected)][-1:] == ["n3"]


def test_a_role_is_looked_up_when_the_fault_begins() -> None:
    """The leader is another by then."""
    swap = fault("leader_transfer", to=N3, from_ms="210")
    drift = fault("clock_step", node='"meta storage leader"', by_ms="3", from_ms="600", for_ms="9")
    history = ran(swap, drift)
    stepped = [e.node for e in history.events if type(e).__name__ == "ClockSet" and e.at_us]
    assert stepped == ["n3", "n3"]


def test_a_coordinator_is_struck_where_its_client_is() -> None:
    get = step(id='"a"', client='"me"', node='"n3"', at_ms="50", do='["get", "t", 1]')
    history = ran(
        fault("clock_step", node='"coordinator of me"', by_ms="3", from_ms="90"), more=get
    )
    assert {e.node for e in history.events if type(e).__name__ == "ClockSet" and e.at_us} == {"n3"}


def test_a_crashed_node_is_back_when_the_fault_heals() -> None:
    history = ran(fault("crash", node=N2, from_ms="200", for_ms="100"))
    kinds = [type(event).__name__ for event in history.events]
    assert kinds.index("NodeCrashed") < kinds.index("NodeRestarted")
    assert history.probes["crash"] == 1


def test_a_crash_without_an_end_is_over_with_the_load() -> None:
    history = ran(fault("crash", node=N2, from_ms="200"))
    back = [e.at_us for e in history.events if type(e).__name__ == "NodeRestarted"]
    assert back == [1_000_000]
