"""Worlds in which two processes make and drop one index: whose they are, and what they hold."""

from ddlsim.plan import swarm
from ddlsim.plan.aims import lives as swarm_lives
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_knobs import OFF
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.drawn_worlds import data_of, drawn_of, under

MANY = range(40)
IN_STEPS = ("c16_states", "c6_f1", "crdb", "record_layer", "tidb_lease", "tidb_mdl")
KNOB = "lives of an index"


def test_worlds_of_designs_that_make_an_index_at_once_have_none() -> None:
    with_some = [
        name for name, one in LAYER_DESIGNS.items() if one.plan.__name__ in swarm_lives.PLANS
    ]
    assert sorted(with_some) == sorted(IN_STEPS)
    assert KNOB in drawn_of(0, "c6_f1").knobs
    assert KNOB not in drawn_of(0, "c1_schema").knobs
    assert KNOB not in drawn_of(0, "c9_future_cv").knobs


def test_a_share_of_the_worlds_is_about_the_lives_of_an_index_and_about_nothing_else() -> None:
    worlds = [drawn_of(seed, "c6_f1").knobs for seed in MANY]
    free = [knobs for knobs in worlds if knobs["lives by a lease"] == OFF]
    lives = [knobs for knobs in worlds if knobs[KNOB] != OFF]
    assert 0.4 * swarm_lives.SHARE < len(lives) / len(free) < 1.6 * swarm_lives.SHARE
    assert all(knobs["lives by a lease"] == OFF for knobs in lives)
    assert len({knobs["lives of an index, disturbed"] for knobs in lives}) > 1
    assert {knobs["end of a life"] for knobs in lives} <= {*swarm_lives.ENDS}


def test_their_transactions_outlast_leases_and_both_processes_name_one_index() -> None:
    drawn = {seed: drawn_of(seed, "c6_f1").knobs for seed in MANY}
    seeds = [seed for seed, one in drawn.items() if one.get(f"{KNOB}, more") == OFF]
    for seed in seeds:
        world = data_of(seed, "c6_f1")
        lease_ms = world["strategy"]["lease_ms"]
        *_, long = world["workload"]
        assert long["rest_ms"][1] > lease_ms >= 2 * world["strategy"]["poll_ms"]
        assert "drift_percent" not in world["strategy"]
        nodes = {one["node"]: one["sql"] for one in world["migration"]}
        assert len(nodes) == 2
        assert all("CREATE INDEX ai ON a (v)" in sql for sql in nodes.values())
    for name in ("c6_f1", "record_layer"):
        assert plan(swarm.scenario(under(name), seeds[0]), seeds[0]).store is not None


def test_some_stop_or_lose_amid_a_backfill_of_rows_that_nothing_else_writes_meanwhile() -> None:
    at_work = [
        seed
        for seed in MANY
        if drawn_of(seed, "c6_f1").knobs.get("lives of an index, at work", OFF) != OFF
    ]
    assert at_work
    made = [(seed, data_of(seed, "c6_f1")) for seed in at_work]
    assert {one["keys"] for _, world in made for one in world["workload"]} == {swarm_lives.ROWS}
    whens = [fault["when"] for _, world in made for fault in world["faults"]]
    assert {when["moment"] for when in whens} == {"index-written", "update-logged"}
    assert all(when["where"]["op"].startswith("migration-1.d") for when in whens)
    assert {one["node"] for _, world in made for one in world["migration"][:1]} == {"n1"}


def test_some_have_a_second_table_that_stays_as_it_is() -> None:
    two = [seed for seed in MANY if "TABLE b" in data_of(seed, "tidb_lease")["schema"]["sql"]]
    found = [
        seed
        for seed in two
        if drawn_of(seed, "tidb_lease").knobs.get("second table of lives", OFF) != OFF
    ]
    assert found
    statements = [one["sql"] for seed in found for one in data_of(seed, "tidb_lease")["migration"]]
    assert not any(" b " in sql for sql in statements)


def test_some_are_about_a_unique_index_or_about_queries_while_it_is_dropped() -> None:
    worlds = {seed: drawn_of(seed, "c6_f1").knobs for seed in range(150)}
    lives = [knobs for knobs in worlds.values() if knobs[KNOB] != OFF]
    more = [seed for seed, knobs in worlds.items() if knobs.get(f"{KNOB}, more", OFF) != OFF]
    assert 0.5 * swarm_lives.MORE_SHARE < len(more) / len(lives) < 1.6 * swarm_lives.MORE_SHARE
    assert {worlds[seed][f"{KNOB}, what more"] for seed in more} == {*swarm_lives.MORE}
    for seed in more:
        world = data_of(seed, "c6_f1")
        unique = worlds[seed][f"{KNOB}, what more"] == swarm_lives.UNIQUE
        assert any("UNIQUE" in one["sql"] for one in world["migration"]) == unique
        assert any(one.get("find") for one in world["workload"]) != unique


def test_a_chunk_comes_behind_the_drop_in_some_worlds_of_designs_that_drop_at_once() -> None:
    worlds = {seed: drawn_of(seed, "record_layer").knobs for seed in range(150)}
    lives = [knobs for knobs in worlds.values() if knobs[KNOB] != OFF]
    late = [seed for seed, knobs in worlds.items() if knobs[f"{KNOB}, a chunk late"] != OFF]
    assert 0.05 < len(late) / len(lives) < swarm_lives.CHUNKS_SHARE
    for seed in late:
        world = data_of(seed, "record_layer")
        assert {one["name"] for one in world["faults"]} == {"late_message"}
        assert {one["node"] for one in world["migration"]} == {"n1", "n2"}
        assert plan(swarm.scenario(under("record_layer"), seed), seed).store is not None
    assert f"{KNOB}, a chunk late" not in drawn_of(late[0], "c6_f1").knobs
