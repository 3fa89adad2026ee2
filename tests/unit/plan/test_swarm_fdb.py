"""Worlds of the FoundationDB plane, drawn from a seed."""

from typing import Any

import pytest

from ddlsim.fdb.settings import MISTAKES, FdbSettings
from ddlsim.layer.design import NUMBERS
from ddlsim.plan import swarm, swarm_faults, swarm_fdb, swarm_knobs, swarm_store_moments
from ddlsim.plan.aims import doubts as aims
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_knobs import Knobs
from tests.support.drawn_worlds import data_of, drawn_of, under

MANY = range(300)

DESIGN = "c1_schema"
SIZES = ("transaction_bytes", "key_bytes", "value_bytes")
"""Settings that stay as they are: what clients write reaches none of these sizes."""
BEYOND = "clock beyond the margin"


def layered(seed: int) -> dict[str, Any]:
    return data_of(seed, DESIGN)


@pytest.mark.parametrize("seed", range(20))
def test_every_world_of_the_layer_can_be_planned(seed: int) -> None:
    planned = plan(swarm.scenario(under(DESIGN), seed), seed)
    assert planned.store is not None
    assert planned.load_until_us == round(1_000 * layered(seed)["run"]["load_ms"])


@pytest.mark.slow
def test_worlds_of_the_layer_draw_every_setting_process_and_fault() -> None:
    worlds = [layered(seed) for seed in MANY]
    drawn = {name: {world["fdb"][name] for world in worlds} for name in swarm_fdb.SETTINGS}
    assert all(set(choices) <= drawn[name] for name, choices in swarm_fdb.SETTINGS.items())
    for name, choices in swarm_fdb.COUNTS.items():
        assert {world["fdb"][name] for world in worlds} == set(choices)
    assert {world["fdb"]["resolver_keeps_future"] for world in worlds} == {False, True}
    other = {*swarm_fdb.SWITCHES, *MISTAKES, *SIZES, "recovery_jump", "resolver_keeps_future"}
    assert {*FdbSettings.__struct_fields__} - {*swarm_fdb.SETTINGS} == other
    faults = [one for world in worlds for one in world.get("faults", []) if "for_ms" in one]
    faults = [one for one in faults if "when" not in one]
    kinds = {"crash", "pause", "partition", "clog", "slow_disk"}
    assert {fault["name"] for fault in faults} == kinds
    assert {fault["node"][:3] for fault in faults if fault["name"] == "slow_disk"} == {"log"}
    struck = {fault["node"].rstrip("0123456789") for fault in faults}
    assert struck == {"n", "sequencer", "grv", "proxy", "resolver", "log", "storage"}
    assert all(
        fault["from_ms"] + fault["for_ms"] <= world["run"]["load_ms"]
        for world in worlds
        for fault in world.get("faults", [])
        if "for_ms" in fault and "when" not in fault
    )
    calm = sum(not world.get("faults") for world in worlds)
    assert len(worlds) * swarm_faults.CALM < calm < len(worlds) / 2


def test_numbers_of_designs_are_drawn_where_no_world_is_about_them() -> None:
    worlds = [layered(seed)["strategy"] for seed in MANY]
    for name, (share, choices) in swarm_fdb.SOMETIMES.items():
        numbers = [world[name] for world in worlds if name in world]
        assert set(numbers) == set(choices), name
        assert 0.6 * share < len(numbers) / len(worlds) < 1.4 * share, name
    drawn = {*swarm_fdb.OF_DESIGNS, *swarm_fdb.SOMETIMES, "distance_ms"}
    assert drawn == {*NUMBERS}
    slow = [seed for seed in MANY if drawn_of(seed, DESIGN).knobs[BEYOND] != swarm_knobs.OFF]
    assert slow
    assert all("drift_percent" not in layered(seed)["strategy"] for seed in slow)


def test_a_store_that_is_fitted_has_the_time_that_latencies_ask_for() -> None:
    world = layered(0)
    slow = {"latency_ms": 10, "client_latency_ms": 10}
    short = dict.fromkeys((*swarm_fdb.LENGTHENED, "recovery_jump"), 1)
    numbers = world["strategy"] | {"poll_ms": 30, "lease_ms": 30, "distance_ms": 1}
    given = world | {"network": slow, "fdb": world["fdb"] | short, "strategy": numbers}
    fitted = swarm_fdb.fitted(given)
    store, numbers = fitted["fdb"], fitted["strategy"]
    assert min(store[key] for key in swarm_fdb.OF_COMMITS) > 16 * 10
    assert min(store[key] for key in swarm_fdb.OF_REQUESTS) > 4 * 10
    window = store["window_ms"] * store["versions_per_second"] // 1_000
    assert store["recovery_jump"] >= 2 * window
    assert numbers["distance_ms"] > store["window_ms"]
    assert numbers["lease_ms"] == 60
    assert given["fdb"]["window_ms"] == 1
    assert swarm_fdb.fitted(fitted) == fitted


def test_worlds_of_the_layer_aim_at_each_moment_of_the_store() -> None:
    """Each kind of aimed fault is drawn, in about its share of the worlds that are not calm."""
    drawn = [drawn_of(seed, DESIGN).knobs for seed in MANY]
    wild = [knobs for knobs in drawn if knobs["faults of machines"] != swarm_knobs.OFF]
    for name, (share, _) in swarm_store_moments.AIMED.items():
        count = sum(knobs[name] == "on" for knobs in wild)
        assert 0.5 * share < count / len(wild) < 1.7 * share, name
    assert all(
        knobs[name] == swarm_knobs.OFF
        for knobs in drawn
        if knobs not in wild
        for name in swarm_store_moments.AIMED
    )
    whens = [
        one["when"] for seed in MANY for one in layered(seed).get("faults", []) if "when" in one
    ]
    assert {"push sent", "fired sent", "peeked sent", "update-logged", "committed sent"} < {
        when["moment"] for when in whens
    }


def test_worlds_of_the_layer_give_commits_the_time_that_their_messages_take() -> None:
    """No read version is too old, and no commit given up, for the latencies alone."""
    for world in map(layered, MANY):
        network, store = world["network"], world["fdb"]
        if isinstance(network["latency_ms"], dict):
            continue
        slowest_ms = max(network["latency_ms"], 0)
        assert store["window_ms"] > 16 * slowest_ms
        assert store["commit_timeout_ms"] > 16 * slowest_ms
        assert min(store["request_ms"], store["ping_timeout_ms"]) > 4 * slowest_ms
        assert store["idle_commit_ms"] <= max(store["window_ms"] // 4, 2)
        assert world["strategy"]["distance_ms"] > store["window_ms"]


def test_worlds_of_the_layer_that_lose_messages_have_time_to_send_them_again() -> None:
    """One lost message holds up all batches: a window without time for that commits nothing."""
    lossy = [world["fdb"] for world in map(layered, MANY) if "loss" in world["network"]]
    assert len(lossy) > 20
    for store in lossy:
        assert store["window_ms"] >= 4 * store["request_ms"]
        assert store["idle_commit_ms"] >= min(20, store["window_ms"] // 4)


def test_a_clock_slower_than_leases_allow_is_that_of_a_process_without_the_schema() -> None:
    worlds = [layered(seed) for seed in MANY]
    slow = [world for world in worlds if "nodes" in world["clocks"]]
    assert 6 <= len(slow) <= 45
    for world in slow:
        assert world["clocks"]["nodes"]["n1"]["drift_ppm"] < -100_000
        schema = f"storage{world['fdb']['storages']}"
        cuts = [fault for fault in world["faults"] if fault.get("side") == [schema]]
        assert "n1" in {fault["node"] for fault in cuts}
    others = [world["clocks"]["drift_ppm"]["high"] for world in worlds]
    assert set(others) == {0, 1_000, 100_000}


def test_some_worlds_of_the_layer_look_for_values_by_indexes_that_are_there() -> None:
    worlds = [layered(seed) for seed in range(100)]
    finds = [world for world in worlds if any(one.get("find") for one in world["workload"])]
    indexed = [world for world in finds if "CREATE INDEX" in world["schema"]["sql"]]
    assert len(finds) > 40
    assert len(indexed) > 10


@pytest.mark.parametrize("seed", range(20))
def test_one_log_is_back_as_the_others_go(seed: int) -> None:
    span = swarm_store_moments.Span(400, 20, ("n1", "log1", "log2", "log3"))
    made = swarm_store_moments.AIMED["logs take turns"][1](Knobs(seed).die("a"), span)
    away, *others = made
    assert {one["node"] for one in made} == {"log1", "log2", "log3"}
    for one in others:
        assert 0 <= away["from_ms"] + away["for_ms"] - one["from_ms"] <= span.scale_ms // 2
        assert one["from_ms"] + one["for_ms"] == span.load_ms
    alone = swarm_store_moments.Span(400, 20, ("n1", "log1"))
    assert not swarm_store_moments.AIMED["logs take turns"][1](Knobs(seed).die("a"), alone)


@pytest.mark.parametrize("seed", range(20))
def test_a_storage_server_misses_two_recoveries(seed: int) -> None:
    machines = ("n1", "proxy1", "log1", "log2", "storage1", "storage2")
    span = swarm_store_moments.Span(1_000, 20, machines)
    made = swarm_store_moments.AIMED["recoveries missed"][1](Knobs(seed).die("a"), span)
    lost, _, cut, again = made
    assert (cut["name"], cut["side"], cut["node"][:7]) == ("partition", ["controller"], "storage")
    assert lost["from_ms"] == cut["from_ms"]
    assert cut["from_ms"] < again["from_ms"] < cut["from_ms"] + cut["for_ms"]
    assert (again["name"], again["node"]) == ("crash", "proxy1")


def test_the_window_has_a_version_for_each_client() -> None:
    """Else no transaction succeeds any more once as many try again (`postgresql`, 9200000)."""
    scarce = 0
    for seed in MANY:
        world = layered(seed)
        versions = world["fdb"]["window_ms"] * world["fdb"]["versions_per_second"] / 1_000
        clients = sum(one.get("clients", 1) for one in world["workload"])
        assert versions >= clients
        scarce += versions < 3 * clients
    assert scarce


def test_in_some_worlds_answers_to_statements_are_lost_and_few_attempts_are_made() -> None:
    worlds = [layered(seed) for seed in MANY]
    doubts = [world for world in worlds if "ddl_attempts" in world["protocol"]]
    assert 0.6 * aims.SHARE < len(doubts) / len(worlds) < 1.5 * aims.SHARE
    assert {world["protocol"]["ddl_attempts"] for world in doubts} == {*aims.ATTEMPTS}
    for world in doubts:
        assert any("doubt0" in one["sql"] for one in world["migration"])
        assert any(one.get("kind") == "committed" for one in world["faults"])
    beside = [[one for one in world["migration"] if "beside" in one["sql"]] for world in doubts]
    assert 0.4 < sum(map(bool, beside)) / len(doubts) < 1
    for world, others in zip(doubts, beside, strict=True):
        [first] = [one for one in world["migration"] if "doubt0" in one["sql"]]
        at = {(one["at_ms"], one["every_ms"]) for one in others}
        assert at <= {(first["at_ms"], first["every_ms"])}
        assert len(others) in (0, world["cluster"]["nodes"] - 1)
