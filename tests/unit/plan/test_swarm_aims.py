"""Worlds that are drawn for what a rule alone prevents: whose they are, and whom they convict.

Each seed is that of a small world which convicts; where draws have changed, it is another.
"""

from collections import Counter
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.plan import swarm
from ddlsim.plan.aims import (
    again,
    behind,
    between,
    borders,
    copies,
    defaults,
    equals,
    instants,
    lowered,
    overtaken,
    returns,
    together,
    uniques,
)
from ddlsim.plan.plan import plan
from ddlsim.plan.swarm_knobs import OFF, Knobs
from ddlsim.protocol.metastorage.safe_time_ticker import SafeTimeTicker
from ddlsim.protocol.transaction import replica
from ddlsim.protocol.transaction.row_constraints import RowConstraints
from ddlsim.strategies.base import DESIGNS, STRATEGIES
from ddlsim.verify.campaign import Job, Runner
from ddlsim.verify.row import RunRow
from tests.support.drawn_worlds import drawn_of

pytestmark = pytest.mark.slow

MANY = range(300)
OF_FEW = {
    "two statements at the end": ("c2_watch", "c4_fetch", "c4_retry", "c4_session"),
    "old names outlived": ("b13_alias", "b13_unreserved"),
    "answers under clocks apart": tuple(STRATEGIES),
    "leader by a snapshot": ("b13_alias", "b13_unreserved", "ignite_index"),
}
"""Knobs of worlds of some designs alone."""
AIMS = [
    ("iep", "one_phase_trusts_arrival", "late into the log", 82, "I8"),
    ("iep", "believes_first_rule", "late into the log", 501, "I8"),
    ("iep", "judges_last_step_only", "late into the log", 91, "I8"),
    ("iep", "subtracts_raised_delay", "DD raised on a node", 295, "I1"),
    ("iep", "restarts_ahead_of_clocks", "leader dies", 729, "I12"),
    ("iep", "hides_final_refusals", "late into the log", 114, "I9"),
    ("iep", "keeps_its_first_op_ts", "writes at once behind checks that wait", 5088, "I3"),
    ("b13_alias", "forgets_old_names", "old names outlived", 6, "I8"),
    ("iep", "trusts_own_clock", "quiet", 51, "I12"),
    ("iep_closed", "forgets_shown_columns", "changes between two tables", 494, "I3"),
    ("iep_closed", "joins_a_changed_table", "changes between two tables", 494, "I3"),
    ("iep_closed", "unlocks_unjudged", "readers on nodes behind", 129, "I8"),
    ("iep_closed", "stamps_across_a_change", "late into the log", 75, "I3"),
    ("iep_closed", "answers_at_once", "answers under clocks apart", 2, "I3"),
    ("iep_closed", "answers_once_active_only", "answers under clocks apart", 10, "I3"),
    ("c2_watch", "arms_its_watch_later", "two statements at the end", 5, "I9"),
    ("c2_watch", "watch_lost", "two statements at the end", 23, "I9"),
]


def ran(design: str, mutant: str | None, seed: int) -> RunRow:
    names = {"strategy.name": design} | ({} if mutant is None else {"strategy.mutant": mutant})
    return Runner(Job("", "", names, swarm=True, strict=True, models=False)).row(seed)


@pytest.mark.parametrize(("design", "mutant", "knob", "seed", "invariant"), AIMS)
def test_a_world_with_an_aim_convicts_what_it_is_drawn_for(
    design: str, mutant: str, knob: str, seed: int, invariant: str
) -> None:
    """And not the design as it is; by the strict graph as well, since some show nothing else."""
    assert drawn_of(seed, design).knobs[knob] != OFF
    found = ran(design, mutant, seed).violations
    assert invariant in {one.invariant for one in found if one.status == "violation"}
    assert not [one for one in ran(design, None, seed).violations if one.status == "violation"]


@pytest.mark.parametrize("knob", OF_FEW)
def test_worlds_of_other_designs_have_no_such_aim(knob: str) -> None:
    others = [name for name in DESIGNS if name not in OF_FEW[knob]]
    assert not [name for name in others if knob in drawn_of(1, name).knobs]


def test_worlds_with_clocks_apart_show_f5_and_f6_where_answers_wait_for_nothing() -> None:
    """F-5 in most of these worlds and F-6 in many; nothing where answers wait for all clocks."""
    knob = "answers under clocks apart"
    worlds = [seed for seed in MANY if drawn_of(seed).knobs[knob] != OFF][:6]
    shown = Counter(one.status for seed in worlds for one in {*ran("iep", None, seed).violations})
    for number, least in (("F-5", 3), ("F-6", 1)):
        assert shown[f"finding:{number}"] >= least, shown
    for seed in worlds:
        assert drawn_of(seed, "iep_closed").knobs[knob] != OFF
        assert ran("iep_closed", None, seed).violations == ()


def test_some_worlds_with_faults_have_writes_that_come_late_into_the_log() -> None:
    count = sum(drawn_of(seed).knobs["late into the log"] != OFF for seed in MANY)
    assert len(MANY) / 30 < count < len(MANY) / 8


@pytest.mark.parametrize(
    ("knob", "share"),
    [
        ("readers on nodes behind", behind.SHARE / 2),
        ("own writes read", again.SHARE),
        ("writes at once behind checks that wait", again.SHARE * again.CROWDED),
        ("own writes late into the log", again.SHARE * again.LATE),
        ("unique index over writes in one phase", uniques.SHARE / 4),
        ("equal values in one transaction", equals.SHARE / 2),
        ("barely incompatible changes", borders.SHARE / 2),
        ("DD lowered before a slow catalog", lowered.SHARE / 4),
        ("DD lowered before a snapshot", lowered.SHARE * lowered.BY_SNAPSHOT / 2),
        ("defaults of older rows", defaults.SHARE / 2),
        ("leader returns", returns.SHARE / 2),
        ("leader overtaken", overtaken.SHARE / 6),
        ("operations and commit together", together.SHARE / 2),
        ("changes between two tables", between.SHARE / 2),
        ("copies behind lost answers", copies.SHARE / 2),
        ("leaders for an instant", instants.SHARE),
    ],
)
def test_some_worlds_have_each_of_these_aims(knob: str, share: float) -> None:
    count = sum(drawn_of(seed).knobs.get(knob, OFF) != OFF for seed in MANY)
    assert len(MANY) * share / 3 < count < len(MANY) * share * 3


def test_each_way_in_which_a_leader_returns_is_drawn() -> None:
    drawn = {drawn_of(seed).knobs.get("leader returns, how") for seed in range(600)}
    assert drawn - {None} == set(returns.STORIES)


def test_a_voter_that_stops_is_back_when_the_next_turn_needs_it() -> None:
    """It could not be handed the leadership else, and no such world is run."""
    seed, design = 11302038, "ignite_index"
    assert drawn_of(seed, design).knobs["leader returns, how"] == "cut off"
    faults = swarm.scenario(swarm.source_of(None, {"strategy.name": design}), seed).faults
    turns = [one.times.from_ms for one in faults if one.fault.name == "leader_transfer"]
    assert len(turns) > 1


def test_a_transaction_meets_its_own_values_in_worlds_with_such_clients(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What leaves its own rows out of the comparison is convicted there."""
    seed = 0
    assert drawn_of(seed, "iep").knobs["equal values in one transaction"] != OFF
    own = RowConstraints._live_rows

    def of_others(self: Any, request: Any, local: Any) -> Any:
        rows = own(self, request, local)
        return (one for one in rows if one[1][0] != request.tx.label)

    monkeypatch.setattr(RowConstraints, "_live_rows", of_others)
    scenario = swarm.scenario(swarm.source_of(None, {"strategy.name": "iep"}), seed)
    found = judge(run(plan(scenario, seed))).violations
    assert "unique-violated" in {one.kind for one in found}


def test_a_copy_is_answered_by_what_its_request_has_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """What answers every copy of a conditional write as done is convicted."""
    seed = 226
    assert drawn_of(seed, "iep_closed").knobs["copies behind lost answers"] != OFF
    assert ran("iep_closed", None, seed).outcome.exit_code == 0
    own = replica.repeated_answer
    monkeypatch.setattr(replica, "repeated_answer", lambda *given: replace(own(*given), done=True))
    found = ran("iep_closed", None, seed).violations
    assert ("I7", "untrue-result") in {(one.invariant, one.kind) for one in found}


def test_a_leader_for_an_instant_begins_no_idle_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its start comes too late; what begins them all the same is convicted by I12."""
    worlds = [seed for seed in MANY if drawn_of(seed).knobs["leaders for an instant"] != OFF][:3]
    runner = Runner(Job("", "", {"strategy.name": "iep"}, swarm=True))
    rows = [runner.row(seed) for seed in worlds]
    assert [row.outcome.word for row in rows] == ["ok"] * len(rows)
    assert sum(row.reached["late-start-of-ticks"] > 0 for row in rows) >= len(rows) - 1
    monkeypatch.setattr(SafeTimeTicker, "is_late", lambda *_: False)
    found = ({one.kind for one in runner.row(seed).violations} for seed in worlds)
    assert any("idle commands-diverged" in kinds for kinds in found)


def test_only_where_old_names_are_outlived_is_dd_raised_meanwhile() -> None:
    knobs = [drawn_of(seed, "b13_alias").knobs for seed in MANY]
    raised = [one for one in knobs if one.get("DD raised while an old name stays", OFF) != OFF]
    assert len(MANY) / 20 < len(raised) < len(MANY) / 4
    assert all(one["old names outlived"] != OFF for one in raised)


def test_two_knobs_of_one_name_are_refused() -> None:
    """One would have the value of the other, which is drawn with another share."""
    knobs = Knobs(0)
    assert knobs.on("a knob", 1.0)
    assert knobs.on("a knob", 1.0)
    with pytest.raises(AssertionError, match="two knobs are called 'a knob'"):
        knobs.on("a knob", 0.5)
