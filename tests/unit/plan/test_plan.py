"""What a plan holds, and that a scripted one leaves nothing to dice."""

from typing import Any

from msgspec.structs import replace

from ddlsim.kernel.rng import Constant, Lognormal
from ddlsim.model.programs import DdlItem
from ddlsim.plan.plan import plan, plan_without_load
from ddlsim.plan.records import FaultPlan, LinkPlan, Plan
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import read
from tests.support.small_scenario import SCHEMA, scenario, step

SCRIPT = SCHEMA + "".join(
    [
        step(id='"a"', client='"c"', node='"n1"', at_ms="10", do='["get", "t", 1]'),
        '[[hold]]\nfrom = "n1"\nto = "n2"\nkind = "append-entries"\nfrom_ms = 3\nuntil = "a.ok"\n',
        '[[apply]]\nnode = "n2"\nstage = "catalog"\ndelay_ms = 40\n',
        "[[tick]]\nat_ms = 250\n",
        '[[clock]]\nnode = "n3"\nat_ms = 4\noffset_ms = 80\n',
        '[[leader]]\ngroup = "t/0"\nnode = "n3"\n',
        '[[pause]]\nnode = "n1"\npoint = "before-commit-ts"\nuntil_ms = 7\ntx = "T"\n',
    ]
)


def planned(text: str, seed: int = 1, **overrides: Any) -> Plan:
    return plan(scenario(text, overrides), seed)


def test_a_plan_without_load_is_the_plan_but_for_what_workloads_make() -> None:
    for name in ("realistic", "strategies/C7-T3-control"):
        whole, rest = plan(load(name)), plan_without_load(load(name))
        clients = {entry.client for entry in load(name).migrations}
        assert {program.client for program in rest.programs} == clients
        made = ("programs", "steps", "load_until_us", "drain_us")
        assert replace(rest, **{field: getattr(whole, field) for field in made}) == whole


def test_a_timeline_is_planned_in_microseconds() -> None:
    made = planned(SCRIPT)

    [hold], [apply], [tick] = made.holds, made.applies, made.ticks
    assert (hold.sender, hold.to, hold.kind) == ("n1", "n2", "append-entries")
    assert (hold.from_us, hold.until_us, hold.until) == (3_000, None, "a.ok")
    assert (apply.node, apply.stage, apply.delay_us) == ("n2", "catalog", 40_000)
    assert tick.at_us == 250_000
    [clock], [leader], [pause] = made.clock_steps, made.leaders, made.pauses
    assert (clock.node, clock.at_us, clock.offset_us, clock.drift_ppm) == (
        "n3",
        4_000,
        80_000,
        None,
    )
    assert (leader.group, leader.node, leader.at_us) == ("t/0", "n3", 0)
    assert (pause.point, pause.until_us, pause.tx) == ("before-commit-ts", 7_000, "T")


def test_a_scripted_plan_is_the_same_for_every_seed() -> None:
    one, other = planned(SCRIPT, 1), planned(SCRIPT, 2)
    assert one.steps == other.steps
    assert one.nodes == other.nodes
    assert (one.load_until_us, one.drain_us) == (other.load_until_us, other.drain_us)


def test_settings_are_the_clusters_and_over_them_a_nodes_own() -> None:
    made = planned("[protocol.nodes.n2]\ndelay_duration_ms = 30\n")
    delays = [node.settings["delay_duration_ms"] for node in made.nodes]

    assert delays == [100, 30, 100]
    assert made.cluster_settings["delay_duration_ms"] == 100
    assert made.commit_wait_us == 10_000_000


def test_clocks_are_exact_where_a_node_is_named() -> None:
    text = (
        '[clocks]\noffset_ms = { distribution = "uniform", low = -3, high = 3 }\ndrift_ppm = 20\n'
        "[clocks.nodes.n2]\noffset_ms = 80\ndrift_ppm = -5\n"
    )
    for seed in range(50):
        one, two, three = planned(text, seed).nodes
        assert (two.clock_offset_us, two.clock_drift_ppm) == (80_000, -5)
        assert one.clock_drift_ppm == three.clock_drift_ppm == 20
        assert max(abs(one.clock_offset_us), abs(three.clock_offset_us)) <= 3_000


def test_a_bound_on_the_skew_holds_and_is_nearly_reached() -> None:
    text = "[cluster]\nnodes = 5\n[clocks]\nmax_skew_ms = 7\n"
    skews = []
    for seed in range(200):
        offsets = [node.clock_offset_us for node in planned(text, seed).nodes]
        skews.append(max(offsets) - min(offsets))
        assert max(map(abs, offsets)) <= 3_500
    assert 6_500 < max(skews) <= 7_000


def test_max_skew_may_be_drawn() -> None:
    text = '[clocks]\nmax_skew_ms = { distribution = "uniform", low = 0, high = 8 }\n'
    spans = []
    for seed in range(100):
        offsets = [node.clock_offset_us for node in planned(text, seed).nodes]
        spans.append(max(offsets) - min(offsets))
    assert min(spans) < 1_000
    assert 4_000 < max(spans) <= 8_000


def test_offsets_and_drifts_are_drawn_apart() -> None:
    drifts = '[clocks]\ndrift_ppm = { distribution = "uniform", low = -50, high = 50 }\n'

    apart = planned(drifts + "offset_ms = 1\n").nodes
    drawn = planned(drifts + "max_skew_ms = 5\n").nodes

    assert [n.clock_drift_ppm for n in apart] == [n.clock_drift_ppm for n in drawn]
    assert len({n.clock_drift_ppm for n in drawn}) == 3


def test_links_between_nodes_differ_from_those_of_clients() -> None:
    text = (
        '[network]\nlatency_ms = { distribution = "lognormal", median = 1, p99 = 8 }\n'
        "client_latency_ms = 2\nloss = 0.1\n"
        '[[network.links]]\nto = "n3"\nloss = 0\n'
        '[[network.links]]\nfrom = "n1"\nto = "n2"\nkind = "operate"\nlatency_ms = 40\n'
    )
    clients, *between = planned(text).links

    assert clients == LinkPlan(None, None, None, Constant(2), 0.0, 0.0, 0.0)
    assert [(link.sender, link.to) for link in between[:6]] == [
        ("n1", "n2"), ("n1", "n3"), ("n2", "n1"), ("n2", "n3"), ("n3", "n1"), ("n3", "n2")
    ]  # fmt: skip
    assert {link.latency for link in between[:6]} == {Lognormal(1, 8)}
    assert {link.loss for link in between[:6]} == {0.1}
    assert [(link.sender, link.to, link.latency, link.loss) for link in between[6:8]] == [
        ("n1", "n3", None, 0),
        ("n2", "n3", None, 0),
    ]
    assert between[8] == LinkPlan("n1", "n2", "operate", Constant(40))


MIGRATIONS = (
    SCHEMA + '[[migration]]\nat_ms = 500\nnode = "n2"\nclient = "m"\nevery_ms = 100\n'
    'sql = "ALTER TABLE t ADD COLUMN a INT; ALTER TABLE t ADD COLUMN b INT"\n'
    '[[migration]]\nat_ms = 550\nclient = "m"\nsql = "ALTER TABLE t ADD COLUMN c INT"\n'
    '[[migration]]\nat_ms = 9\nsql = "ALTER TABLE t DROP COLUMN v; DROP TABLE t"\n'
)


def test_migrations_are_programs_paced_as_the_file_says() -> None:
    m, third = planned(MIGRATIONS).programs

    assert (m.client, third.client) == ("m", "migration-3")
    shown = [(item.at_us, item.node, item.sql) for item in m.items if isinstance(item, DdlItem)]
    assert shown == [
        (500_000, "n2", "ALTER TABLE t ADD COLUMN a INT"),
        (550_000, "n1", "ALTER TABLE t ADD COLUMN c INT"),
        (600_000, "n2", "ALTER TABLE t ADD COLUMN b INT"),
    ]
    assert [item.at_us for item in third.items if isinstance(item, DdlItem)] == [9_000, None]


def test_the_load_lasts_until_all_that_is_planned_can_have_begun() -> None:
    assert planned(MIGRATIONS).load_until_us == 2_600_000
    fault = '[[faults]]\nname = "pause"\nnode = "n1"\nfrom_ms = 500\nfor_ms = 700\n'
    assert planned(fault).load_until_us == 3_200_000
    assert planned(SCRIPT).load_until_us == 2_250_000
    assert planned(MIGRATIONS, run={"load_ms": 700, "drain_ms": 5}).load_until_us == 700_000
    assert planned(MIGRATIONS, run={"drain_ms": 5}).drain_us == 5_000
    assert planned(MIGRATIONS).drain_us == 45_000_000


def test_the_drain_has_time_for_the_waits_of_a_design_of_the_layer() -> None:
    def drain_ms(design: str, statements: int) -> float:
        sql = "; ".join(f"CREATE TABLE u{one} (id INT PRIMARY KEY)" for one in range(statements))
        text = f"[strategy]\n{design}\n"
        text += f'[cluster]\nplane = "fdb"\n[[migration]]\nsql = "{sql}"\n'
        return planned(text).drain_us / 1000

    short, long = 'name = "c16_safe"', 'name = "tidb_lease"'
    assert drain_ms(short, 2) - drain_ms(short, 1) == drain_ms(short, 1) - 45_000 < 90_000
    assert drain_ms(long, 1) - 45_000 > 4 * 45_000
    assert drain_ms(long, 1) > drain_ms(f"{long}\nlease_ms = 10", 1) + 4 * 44_000


FAULTS = (
    "[cluster]\nnodes = 5\n"
    '[[faults]]\nname = "pause"\nnode = "any follower"\nfrom_ms = 5\nfor_ms = 9\n'
    '[[faults]]\nname = "learner_lag"\nnode = "meta storage leader"\n'
    'from_ms = { distribution = "uniform", low = 100, high = 200 }\n'
    '[[faults]]\nname = "partition"\n'
)


def test_faults_are_decided_except_roles_of_the_run() -> None:
    for seed in range(20):
        pause, lag, cut = planned(FAULTS, seed).faults

        assert pause.fields["node"] in ("n2", "n3", "n4", "n5")
        assert (pause.from_us, pause.until_us) == (5_000, 14_000)
        assert lag.fields == {"node": "meta storage leader", "delay_ms": None}
        assert 100_000 <= lag.from_us <= 200_000
        assert lag.until_us is None
        assert len(cut.fields["side"]) == 2


def test_another_fault_leaves_the_others_as_they_were() -> None:
    def of(text: str) -> list[FaultPlan]:
        return list(planned(text, 3).faults)

    more = FAULTS + '[[faults]]\nname = "pause"\nnode = "any node"\n'
    assert of(more)[:3] == of(FAULTS)
    first = '[cluster]\nnodes = 5\n[[faults]]\nname = "clock_drift"\nnode = "any node"\nppm = 9\n'
    assert of(first + FAULTS.partition("nodes = 5\n")[2])[1:] == of(FAULTS)


def test_a_plan_can_be_made_again_from_what_it_carries() -> None:
    first = planned(MIGRATIONS, run={"load_ms": 700})

    again = plan(read(first.scenario_text, first.scenario, overrides=first.overrides), first.seed)
    assert again == first
