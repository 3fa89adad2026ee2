"""A world drawn from a seed: repeatable, an ordinary scenario, and each knob of its own."""

import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch
from zlib import crc32

import pytest
from msgspec import structs

from ddlsim.checkers.assumptions import skew_beyond_bound
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.run import run
from ddlsim.model.settings import SETTINGS
from ddlsim.nemesis.base import FAULTS
from ddlsim.plan import (
    swarm,
    swarm_faults,
    swarm_knobs,
    swarm_moments,
    swarm_work,
)
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_knobs import OFF
from ddlsim.scenario import findings
from ddlsim.scenario.load import load
from ddlsim.scenario.loosened import loosen
from ddlsim.scenario.overrides import EMBEDDED
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from ddlsim.scenario.shipped import shipped
from ddlsim.strategies.base import STRATEGIES
from ddlsim.verify.campaign import Job, Runner, scenario_name
from ddlsim.workload.base import WORKLOADS
from tests.support import kept_worlds
from tests.support.drawn_worlds import NOTHING, drawn_of
from tests.support.drawn_worlds import data_of as data

MANY = range(300)
SMALL = (1, 3, 4, 5)
"""Seeds of worlds that take little time."""


def faults_of(seed: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = data(seed).get("faults", [])
    return found


@pytest.mark.slow
def test_a_seed_draws_the_same_world_every_time() -> None:
    assert swarm.draw(NOTHING, 7) == drawn_of(7)
    assert len({drawn.text for drawn in map(drawn_of, MANY)}) == len(MANY)


@pytest.mark.parametrize("seed", range(40))
def test_every_world_can_be_planned(seed: int) -> None:
    planned = plan(swarm.scenario(NOTHING, seed), seed)
    assert all(fault.from_us < planned.load_until_us for fault in planned.faults)
    assert all((fault.until_us or 0) <= planned.load_until_us for fault in planned.faults)


@pytest.mark.slow
def test_a_lease_can_be_granted_where_delays_stay_as_they_are() -> None:
    """A request and its answer that always take longer than a drawn limit would never make it."""
    grants = Counter(
        world["network"].get("schedule", {}).get("name")
        for world in map(data, MANY)
        if "lease_grant_ms" in world["protocol"]
    )
    assert grants[None] > 5
    assert grants["pct"] == sum(_is_patient_pct(seed) for seed in MANY)


def test_a_read_is_not_asked_for_again_before_an_answer_can_come() -> None:
    """Delays stay as they are there: it would be asked for until its time is over."""
    asked = Counter(
        world["network"].get("schedule", {}).get("name")
        for world in map(data, MANY)
        if "read_resend_ms" in world["protocol"]
    )
    assert asked[None] > 5
    assert asked["pct"] == 0


def _is_patient_pct(seed: int) -> bool:
    knobs = drawn_of(seed).knobs
    return str(knobs["schedule"]).startswith("pct") and knobs.get("patient") == "on"


def test_a_knob_less_leaves_all_other_knobs_as_they_were() -> None:
    gone = ("clog", "pause")
    fewer = {k: v for k, v in swarm_faults.KINDS.items() if k not in gone}
    for seed in range(30):
        with patch.object(swarm_moments, "AIMED", {}):
            whole = tomllib.loads(swarm.draw(NOTHING, seed).text)
            with patch.object(swarm_faults, "KINDS", fewer):
                world = tomllib.loads(swarm.draw(NOTHING, seed).text)
        left = [fault for fault in whole.get("faults", []) if fault["name"] not in gone]
        assert world.get("faults", []) == left
        assert world["workload"] == data(seed)["workload"]


def test_a_stored_text_is_an_ordinary_scenario_that_gives_the_same_run() -> None:
    drawn = run(plan(swarm.scenario(NOTHING, 11), 11))
    stored = run(plan(read(drawn_of(11).text, "stored"), 11))
    assert stored.fingerprint() == drawn.fingerprint()
    assert drawn.header.scenario_text == drawn_of(11).text
    assert (drawn.header.scenario, stored.header.scenario) == ("swarm", "stored")


def test_every_knob_is_on_in_some_worlds_and_off_in_others() -> None:
    values: dict[str, Counter[str]] = {}
    for drawn in map(drawn_of, MANY):
        for knob, value in drawn.knobs.items():
            values.setdefault(knob, Counter())[str(value)] += 1
    alike = [knob for knob, seen in values.items() if len(seen) == 1]
    assert alike == []
    assert values["skew beyond CSmax"]["on"] < values["skew beyond CSmax"]["off"] / 5
    assert values["nodes"].keys() == {"3", "4", "5", "6", "7"}
    assert values["voters"].keys() == {"3", "5"}


UNDRAWN = {"backfill_rows": "see below", "backfill_pause_ms": "see below"}
"""Settings that no world draws, and why: these only for designs that build indexes."""


def test_every_setting_is_drawn_unless_it_is_argued_why_not() -> None:
    drawn: dict[str, set[int]] = {}
    for seed in MANY:
        for name, value in data(seed)["protocol"].items():
            if name != "nodes":
                drawn.setdefault(name, set()).add(value)
    assert set(SETTINGS) - drawn.keys() == set(UNDRAWN)
    assert [name for name, values in drawn.items() if len(values) == 1] == []


def test_faults_raise_a_delay_duration_and_lower_it() -> None:
    changes = [
        (fault["to"], data(seed)["protocol"]["delay_duration_ms"])
        for seed in MANY
        for fault in faults_of(seed)
        if fault["name"] == "setting_change" and fault["key"] == "delay_duration_ms"
    ]
    assert {to > before for to, before in changes} == {True, False}


def test_every_kind_of_fault_and_of_client_is_drawn() -> None:
    assert list(swarm_faults.KINDS) == [name for name in swarm_faults.KINDS if name in FAULTS]
    single = ["doubled_message", "late_message", "lost_message"]
    assert sorted([*swarm_faults.KINDS, *single]) == list(FAULTS)
    drawn = {fault["name"] for seed in MANY for fault in faults_of(seed)}
    assert sorted(drawn) == list(FAULTS)
    drawn = {load["name"] for seed in MANY for load in data(seed)["workload"]}
    assert drawn == set(WORKLOADS) - {"index_builds"}  # of designs that build indexes alone
    assert sum(not faults_of(seed) for seed in MANY) > len(MANY) * swarm_faults.CALM / 2


def test_in_some_worlds_the_clients_of_statements_carry_a_token() -> None:
    """Else what a session has installed itself is nowhere owed to it [98.own]."""
    mixes = [load for seed in MANY for load in data(seed)["workload"] if load["name"] == "ddl_mix"]
    with_token = [load for load in mixes if load.get("session")]
    assert len(mixes) / 6 < len(with_token) < len(mixes) / 2
    assert any(load["reads"] and load["inside"] for load in with_token)


def test_a_request_of_a_client_is_late_where_another_message_would_be_doubled() -> None:
    (struck,) = [fault for fault in faults_of(59) if "client-ddl sent" in str(fault)]
    assert struck["name"] == "late_message"
    assert plan(swarm.scenario(NOTHING, 59), 59).faults


def test_aimed_faults_leave_the_rest_of_a_world_as_it_was() -> None:
    for seed in range(30):
        world = dict(data(seed))
        with patch.object(swarm_moments, "AIMED", {}):
            without = tomllib.loads(swarm.draw(NOTHING, seed).text)
        kept = without.pop("faults", [])
        assert world.pop("faults", [])[: len(kept)] == kept
        assert world == without


def test_faults_lie_inside_the_load() -> None:
    for seed in MANY:
        load_ms = data(seed)["run"]["load_ms"]
        for fault in faults_of(seed):
            assert "when" in fault or 0 < fault["from_ms"] < load_ms
            assert "when" in fault or fault["from_ms"] + fault.get("for_ms", 0) <= load_ms


def test_clocks_stay_within_the_bound_unless_the_knob_says_otherwise() -> None:
    for seed in MANY:
        world, knobs = data(seed), drawn_of(seed).knobs
        limit_ms, skew_ms = world["protocol"]["max_clock_skew_ms"], world["clocks"]["max_skew_ms"]
        beyond = knobs["skew beyond CSmax"] != swarm_knobs.OFF
        assert skew_ms >= limit_ms if beyond else skew_ms <= limit_ms
        if not beyond:
            assert band_ms(world) <= limit_ms


def test_in_some_worlds_each_clock_is_at_an_end_of_what_the_bound_allows() -> None:
    apart = [one for one in MANY if drawn_of(one).knobs["clocks at the ends"] == "on"]
    assert len(MANY) / 6 < len(apart) < len(MANY) / 3
    for seed in apart:
        clocks = data(seed)["clocks"]
        offsets = [node["offset_ms"] for node in clocks["nodes"].values()]
        assert max(offsets) - min(offsets) == clocks["max_skew_ms"]
        assert len(set(offsets)) == 2
        assert list(clocks["nodes"]) == list(swarm.scenario(NOTHING, seed).nodes)


def test_late_commands_meet_a_group_of_three_that_another_node_leads() -> None:
    late = [one for one in MANY if drawn_of(one).knobs["late commands"] == "on"]
    assert len(MANY) / 20 < len(late) < len(MANY) / 8
    for seed in late:
        assert data(seed)["cluster"]["replicas"] == 3
        moved = [one["group"] for one in faults_of(seed) if one["name"] == "leader_transfer"]
        assert moved
        assert any(one.get("kind") in ("partition-submit", "cleanup") for one in faults_of(seed))
    apart = [
        seed
        for seed in late
        for one in faults_of(seed)
        if (one["name"], one.get("kind")) == ("message_reordering", "partition-submit")
    ]
    assert len(late) / 4 < len(apart) < len(late) * 3 / 4


def test_in_some_worlds_the_zone_of_a_table_changes() -> None:
    """The table keeps the replicas that it was created with."""
    changes = [one for one in MANY if drawn_of(one).knobs["late table in a zone"] == "on"]
    assert len(MANY) / 40 < len(changes) < len(MANY) / 8
    for seed in changes:
        (sql,) = [one["sql"] for one in data(seed)["migration"] if "ZONE" in one["sql"]]
        before, table, after = sql.rstrip().removesuffix(";").split(";\n")
        assert table.endswith(f"ZONE {before.split()[2]}")
        assert before.rpartition("REPLICAS = ")[2] != after.rpartition("REPLICAS = ")[2]


def band_ms(world: dict[str, Any]) -> float:
    """How wide a band around true time all clocks stay in, to the end of the longest run.

    What leaves no band of CSmax shows at no time less, by more, than it has shown before.
    """
    run_ms = world["run"]["load_ms"] + world["run"]["drain_ms"]
    drift = world["clocks"].get("drift_ppm", {"low": 0, "high": 0})
    found: float = world["clocks"]["max_skew_ms"]
    found += (drift["high"] - drift["low"]) * run_ms / 1_000_000
    for fault in world.get("faults", []):
        if fault["name"] == "clock_step":
            found += abs(fault["by_ms"])
        elif fault["name"] == "clock_drift":
            found += abs(fault["ppm"]) * fault["for_ms"] / 1_000_000
    return found


def test_clocks_still_move_within_the_bound() -> None:
    """Not that nothing was left of it."""
    moved = {f["name"] for seed in MANY for f in faults_of(seed) if band_ms(data(seed)) > 1}
    assert {"clock_step", "clock_drift"} <= moved
    drifts = [data(seed)["clocks"].get("drift_ppm", {"high": 0})["high"] for seed in MANY]
    assert max(drifts) >= 100


@cache
def meant_to_keep_the_bound() -> list[int]:
    """Seeds in which clocks move within it."""
    return [
        one
        for one in MANY
        if drawn_of(one).knobs["skew beyond CSmax"] == swarm_knobs.OFF
        and not any(fault["name"] == "clock_skew_beyond" for fault in faults_of(one))
        and any(fault["name"] in swarm_faults.CLOCKS_MOVE for fault in faults_of(one))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_no_clock_of_a_run_leaves_the_bound(number: int) -> None:
    """Judged as the assumption is, in the seeds that are meant to keep it."""
    seed = meant_to_keep_the_bound()[number]
    history = run(plan(swarm.scenario(NOTHING, seed), seed))
    assert skew_beyond_bound(Case(history)) is None


# --- around a scenario ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", list(shipped()))
def test_every_shipped_scenario_can_be_drawn_around(name: str) -> None:
    base = load(name)
    scenario = swarm.scenario(swarm.source_of(base, {}), crc32(name.encode()))
    assert scenario.nodes == base.nodes
    assert [line.sql for line in scenario.schema] == [line.sql for line in base.schema]
    assert [step.do for step in scenario.steps] == [step.do for step in base.steps]
    assert not any(step.expect for step in scenario.steps)
    assert (scenario.expect, scenario.reaches) == ("ok", ())


def test_draw_embeds_the_files_of_a_scenario() -> None:
    base = load("realistic")
    assert any(key.startswith(EMBEDDED) for key in base.overrides)
    text = swarm.draw(swarm.source_of(base, {}), 3).text
    again = read(text, "stored")
    assert again.directory is None
    for one, other in zip(again.migrations, base.migrations, strict=True):
        assert [line.sql for line in one.statements] == [line.sql for line in other.statements]


def test_drawn_steps_wait_for_ends_not_for_successes() -> None:
    table: dict[str, Any] = {
        "step": [
            {"id": "a", "expect": {"fails": "DDL_REFUSED"}},
            {"id": "b", "after": "a.ok", "expect": "ok", "expect_under": {"iep": "unknown"}},
        ],
        "hold": [{"until": "b.failed"}, {"until_ms": 5}],
        "pause": [{"until": "a.invoked"}],
    }
    loosen(table)
    assert table["step"] == [{"id": "a", "misfit": True}, {"id": "b", "after": "a.done"}]
    assert table["hold"] == [{"until": "b.done"}, {"until_ms": 5}]
    assert table["pause"] == [{"until": "a.invoked"}]


def test_overrides_win_over_drawn_values() -> None:
    source = swarm.source_of(None, {"protocol.delay_duration_ms": 77, "strategy.name": "iep"})
    for seed in range(5):
        assert swarm.scenario(source, seed).numbers["delay_duration_ms"] == 77


FRAMES: list[dict[str, Any]] = [
    {"cluster.nodes": 1},
    {"cluster.nodes": 1, "strategy.name": "c5_lease"},
    {"cluster.nodes": 1, "strategy.name": "c16_tables"},
    {"cluster.nodes": 2},
    {"cluster.nodes": 2, "strategy.name": "c5_lease"},
    {"cluster.nodes": 9, "cluster.voters": 5},
    {"cluster.partitions": 1},
    {"cluster.voters": 1, "strategy.name": "b13_alias"},
    {"cluster.replicas": 1, "strategy.name": "iep_closed"},
    {"run.load_ms": 300},
    {"protocol.delay_duration_ms": 250, "protocol.max_clock_skew_ms": 7},
    {"protocol.delay_duration_ms": 1, "protocol.max_clock_skew_ms": 0},
    {"cluster.nodes": 2, "run.load_ms": 200, "strategy.name": "c10_two_cutoffs"},
]


@pytest.mark.slow
@pytest.mark.parametrize("given", FRAMES, ids=str)
def test_worlds_are_drawn_around_what_the_command_line_sets(given: dict[str, Any]) -> None:
    """None names a node, a partition or an instant that is not there."""
    source = swarm.source_of(None, {"strategy.name": "iep", **given})
    for seed in range(50):
        text = swarm.draw(source, seed).text
        drawn = tomllib.loads(text)
        for key, value in given.items():
            table, _, name = key.partition(".")
            assert table == "strategy" or drawn[table][name] == value
        read(text, source.title, overrides=source.overrides)


def test_durations_are_multiples_of_the_dd_that_the_command_line_sets() -> None:
    source = swarm.source_of(None, {"protocol.delay_duration_ms": 250})
    for seed in range(20):
        protocol = tomllib.loads(swarm.draw(source, seed).text)["protocol"]
        assert protocol["operation_timeout_ms"] >= 3 * 250
        assert protocol["safe_time_interval_ms"] >= 0.3 * 250


def test_a_world_has_no_aim_that_contradicts_what_the_command_line_sets() -> None:
    knob = "operations and commit together"
    seed = next(seed for seed in MANY if drawn_of(seed).knobs[knob] != OFF)
    around = swarm.draw(swarm.source_of(None, {"cluster.partitions": 1}), seed)
    assert around.knobs[knob] == OFF
    assert "together" not in around.text
    small = swarm.draw(swarm.source_of(None, {"cluster.partitions": 4}), seed)
    assert small.knobs[knob] == "on"


def test_knobs_show_what_the_command_line_sets() -> None:
    own = {"cluster.nodes": 6, "cluster.partitions": 5}
    store = {"strategy.name": "c16_states", "cluster.nodes": 6, "fdb.logs": 5}
    knobs = swarm.draw(swarm.source_of(None, own), 3).knobs
    assert (knobs["nodes"], knobs["partitions"]) == (6, 5)
    knobs = swarm.draw(swarm.source_of(None, store), 3).knobs
    assert (knobs["nodes"], knobs["logs"]) == (6, 5)


def test_settings_that_a_drawn_world_cannot_take_are_an_error_with_the_seed() -> None:
    source = swarm.source_of(None, {"run.load_ms": 1})
    with pytest.raises(ScenarioError, match=r"the world drawn for seed 0 does not go with --set r"):
        swarm.scenario(source, 0)
    wrong = swarm.source_of(None, {"cluster.nodes": "many"})
    with pytest.raises(ScenarioError, match=r"--set cluster\.nodes: (?!.*seed)"):
        swarm.scenario(wrong, 0)


@pytest.mark.parametrize("title", ["swarm", "smoke+swarm", "smoke"])
def test_words_repeat_the_drawn_scenario(title: str) -> None:
    words = {"swarm": ["--swarm"], "smoke+swarm": ["smoke", "--swarm"], "smoke": ["smoke"]}
    assert swarm.words(title) == words[title]


# --- campaigns ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_seed_of_a_campaign_runs_its_own_world(tmp_path: Path) -> None:
    job = Job("", "", {}, keep=str(tmp_path), first=4, swarm=True, models=False)
    rows = [Runner(job).row(seed) for seed in (4, 5)]
    assert [row.fingerprint for row in rows] == [
        run(plan(swarm.scenario(NOTHING, seed), seed, models=False)).fingerprint()
        for seed in (4, 5)
    ]
    assert [row.scenario for row in rows] == ["swarm", "swarm"]
    text = (tmp_path / scenario_name(4)).read_text("utf-8")
    assert text.startswith("# Drawn from seed 4.\n")
    seeds = dict.fromkeys(("clients", "faults", "clocks", "network"), 4)
    assert tomllib.loads(text) == {**tomllib.loads(drawn_of(4).text), "seeds": seeds}
    assert not (tmp_path / scenario_name(5)).exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["iep", "iep_literal"])
def test_a_swarm_finds_no_broken_claim(name: str) -> None:
    """And whatever is planned ends: some 100 transactions in each of the worlds.

    The parts of nodes are compared with their models in some small worlds of them.
    """
    assert name in STRATEGIES
    whole = Job("", "", {"strategy.name": name}, swarm=True)
    plain = Runner(structs.replace(whole, models=False))
    rows = [(Runner(whole) if seed in SMALL else plain).row(seed) for seed in range(8)]
    bad = {row.seed: (row.outcome, row.crash, row.stuck[:1]) for row in rows if row.failed}
    assert name == "iep_literal" or bad == {}
    assert all(row.outcome is not Outcome.CRASHED for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant", ["no_completeness_wait", "acknowledges_at_once", "no_commit_check"]
)
def test_a_swarm_convicts_a_broken_design(mutant: str) -> None:
    """Planted: a rule that is missing is found out in a few seeds."""
    runner = Runner(Job("", "", {"strategy.name": "iep", "strategy.mutant": mutant}, swarm=True))
    seeds = (*SMALL, *range(40))
    assert any(runner.row(seed).outcome is Outcome.VIOLATED for seed in seeds)


# --- quiet worlds, and columns that become NOT NULL ----------------------------------------------

QUIET = (51, 99)
"""Kept quiet worlds: a leader that trusts its own clock stamps below what is in the log."""
REQUIRING = 123
"""A kept world in which an update could keep a NULL in a column that has become NOT NULL."""


def test_in_quiet_worlds_clocks_are_apart_and_rivals_stand() -> None:
    seeds = [seed for seed in MANY if drawn_of(seed).knobs["quiet"] == "on"]
    assert len(seeds) > len(MANY) * swarm_work.QUIET / 2
    for world in map(data, seeds):
        offsets = {one["offset_ms"] for one in world["clocks"]["nodes"].values()}
        assert max(offsets) - min(offsets) > 0
        rivals = [one for one in world["faults"] if one["name"] == "re_election" and "when" in one]
        assert {one["group"] for one in rivals} >= {"meta", "its group"}
        assert world["cluster"]["replicas"] == 3


@pytest.mark.parametrize(
    ("seed", "mutant", "kind"),
    [
        (QUIET[0], "trusts_own_clock", "stamps-unordered"),
        (QUIET[1], "stamps_by_own_clock", "stamps-unordered"),
        (REQUIRING, "updates_keep_nulls", "illegal-row"),
    ],
)
def test_worlds_show_what_they_are_drawn_for(seed: int, mutant: str, kind: str) -> None:
    """The mutant is convicted in the world, and the design without it is not."""
    found = []
    for overrides in ({}, {"strategy.mutant": mutant}):
        kept = kept_worlds.world(seed, overrides)
        verdict = judge(run(plan(kept, seed)), findings=findings.known())
        found.append({one.kind for one in verdict.violations if one.status == "violation"})
    assert found == [set(), {kind}]
