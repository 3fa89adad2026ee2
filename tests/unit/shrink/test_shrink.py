"""Shrinking as a whole: the same signature at every step, repeatable, bounded, never lost."""

import subprocess
import sys
from contextlib import suppress
from functools import cache

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.checkers.outcome import Outcome
from ddlsim.checkers.signature import signature_of
from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import override
from ddlsim.shrink.candidates import Candidates
from ddlsim.shrink.data import Data, edited, key_of, steps_of, with_list
from ddlsim.shrink.failing import NothingToShrinkError, begun, beyond
from ddlsim.shrink.passes import LAST, Pass
from ddlsim.shrink.shrink import Budget, Shrinking, shrink
from ddlsim.shrink.size import counts_of, size_of
from ddlsim.shrink.trial import Failure, Shown, in_turn, judged, shown
from tests.support.command import ROOT
from tests.support.shrinking import noisy, of_scenario, shrunk, state_of
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

CASES = [
    ("negative/no_completeness_wait", 1),
    ("findings/F-1", 0),
    ("negative/recovery_commits", 0),
]


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_the_result_shows_the_same_signature_under_the_same_status(name: str, seed: int) -> None:
    state = shrunk(name, seed)
    wanted, best = state.target, state.best
    assert signature_of(best.violation) == wanted.signature
    assert best.violation.status == wanted.status
    assert best.size <= size_of(state.failure.data)


def test_what_a_scenario_expects_is_what_it_is_shrunk_for() -> None:
    assert shrunk("negative/no_completeness_wait", 1).target.signature.checker == "atomicity"
    assert shrunk("findings/F-1", 0).target.status == "finding:F-1"


def test_what_the_design_violates_too_is_no_violation_of_its_mutant() -> None:
    mutant = load("negative/no_completeness_wait")
    verdict = judge(run(plan(mutant, 1)))
    plain = judge(run(plan(override(mutant, {"strategy.mutant": "none"}), 1)))
    assert beyond(verdict, plain).violations == verdict.violations
    part = replace(verdict, violations=verdict.violations[:1])
    left = {signature_of(one) for one in beyond(verdict, part).violations}
    assert signature_of(verdict.violations[0]) not in left
    assert len(left) == len({signature_of(one) for one in verdict.violations}) - 1


def test_a_stuck_run_is_shrunk_to_a_stuck_one() -> None:
    state = of_scenario("negative/ticks_in_old_term", 0)
    assert state.target.status == "stuck"
    best = shrink(state).best
    assert best.verdict.outcome is Outcome.STUCK
    assert best.size < size_of(state.failure.data)


def test_shrinking_is_repeatable() -> None:
    one = shrunk("findings/F-1", 0)
    two = shrink(of_scenario("findings/F-1", 0))
    assert key_of(one.best.data) == key_of(two.best.data)
    assert (one.runs, one.helped) == (two.runs, two.helped)


PRINT = (
    "from tests.support.shrinking import state_of, noisy\n"
    "from ddlsim.shrink.shrink import shrink\n"
    "from ddlsim.shrink.data import key_of\n"
    "print(key_of(shrink(state_of(noisy())).best.data).decode())\n"
)


@cache
def without_noise() -> Data:
    return shrink(state_of(noisy())).best.data


def test_shrinking_is_the_same_under_another_hash_seed() -> None:
    there = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=ROOT,
        env={"PYTHONHASHSEED": "2", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    ).stdout
    assert there == f"{key_of(without_noise()).decode()}\n"


def test_the_planted_noise_is_gone() -> None:
    counts = counts_of(without_noise())
    assert counts == {"transactions": 2, "statements": 1, "nodes": 1, "entries": 6}


# --- the signature is kept -----------------------------------------------------------------------


def changing(best: Shown, failure: Failure) -> Candidates:
    """A planted pass that is smaller and violates something else: T1 writes what it has read."""
    del failure
    yield edited(best.data, lambda data: data["step"][-2].update(do=["put", "a", 1]))
    yield with_list(best.data, "step", steps_of(best.data)[:-1])


def test_a_candidate_that_fails_in_another_way_is_refused() -> None:
    state = of_scenario("findings/F-1", 0)
    before = state.best
    shrink(state, passes=[Pass("changing", "", changing)])
    assert signature_of(state.best.violation) == state.target.signature
    assert len(steps_of(state.best.data)) == len(steps_of(before.data))


def test_a_violation_is_not_shrunk_to_what_a_finding_excuses() -> None:
    state = of_scenario("negative/forgets_shown_columns", 0)
    assert state.target.status == "violation"

    def opened(best: Shown, failure: Failure) -> Candidates:
        del failure
        yield edited(best.data, lambda data: data.update(strategy={"name": "iep"}))

    shrink(state, passes=[Pass("opened", "", opened)])
    assert "opened" not in state.helped
    assert state.best.violation.status == "violation"


def test_a_candidate_with_two_operations_of_one_client_at_a_time_is_refused() -> None:
    state = of_scenario("findings/F-1", 0)
    assert state.target.in_turn

    def hurried(best: Shown, failure: Failure) -> Candidates:
        """T1 commits before its last read is answered: the same cycle, and one node less."""
        del failure
        last = {"after": "r1.invoked"}
        yield edited(best.data, lambda data: data["step"][-1].update(last))

    candidate = next(hurried(state.best, state.failure))
    assert candidate is not None
    found = judged(state.failure, candidate)
    assert found is not None
    assert not in_turn(found[0])
    shrink(state, passes=[Pass("hurried", "", hurried)])
    assert "hurried" not in state.helped


@pytest.mark.parametrize(("more", "kept"), [(25, True), (26, False)])
@pytest.mark.parametrize("interrupted", [False, True])
def test_a_pass_that_leaves_many_more_entries_is_not_kept(
    more: int, kept: bool, interrupted: bool
) -> None:
    """As where thousands of drawn latencies are written down, and few of them can be left out."""
    state = state_of(noisy())
    first = state.best
    extra = [
        {"id": f"e{n}", "client": f"e{n}", "node": "n3", "at_ms": 1700, "do": ["get", "b", 7]}
        for n in range(more)
    ]

    def longer(best: Shown, failure: Failure) -> Candidates:
        del failure
        assert (yield with_list(best.data, "step", [*steps_of(best.data), *extra]))
        if interrupted:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        state.carry_out(Pass("longer", "", longer), lambda state, name: None, smaller=False)
    assert (state.best is not first) == kept


# --- bounds and interrupts -----------------------------------------------------------------------


@pytest.mark.parametrize("runs", [1, 5, 20])
def test_no_more_runs_are_made_than_the_budget_allows(runs: int) -> None:
    result = shrink(state_of(noisy(), Budget(runs=runs)))
    assert (result.ended, result.runs <= runs) == ("runs", True)


def test_the_bound_of_time_ends_it_with_the_best_so_far() -> None:
    ticks = iter(range(10_000))
    scenario = load("findings/F-1")
    state = begun(scenario, 0, Budget(time_s=20), clock=lambda: float(next(ticks)))
    first = state.best
    result = shrink(state)
    assert result.ended == "time"
    assert result.best.size < first.size


def test_an_interrupt_keeps_the_best_so_far() -> None:
    state = state_of(noisy())
    seen: list[Data] = []

    def interrupt(state: Shrinking, name: str) -> None:
        seen.append(state.best.data)
        if state.runs == 6:
            raise KeyboardInterrupt

    result = shrink(state, watch=interrupt)
    assert (result.ended, result.runs) == ("interrupted", 6)
    assert result.best.data == seen[-1]
    assert result.best.size < size_of(state.failure.data)


def test_an_interrupt_in_the_last_passes_keeps_the_best_so_far() -> None:
    state = state_of(noisy())
    last = {one.name for one in LAST}

    def interrupt(state: Shrinking, name: str) -> None:
        if name in last:
            raise KeyboardInterrupt

    result = shrink(state, watch=interrupt)
    assert result.ended == "interrupted"
    assert counts_of(result.best.data)["nodes"] == 1


def test_no_candidate_is_run_twice() -> None:
    state = state_of(noisy())
    candidate = with_list(state.best.data, "faults", [])
    broken = with_list(state.best.data, "step", [])
    assert (state.consider(candidate), state.consider(broken), state.runs) == (True, False, 2)
    assert (state.consider(candidate), state.consider(broken), state.runs) == (False, False, 2)


def test_a_candidate_that_spins_at_one_instant_ends() -> None:
    state = of_scenario("findings/F-1", 0)
    few = replace(state.failure, events_max=state.best.history.executed_events // 2)
    assert shown(state.failure, state.best.data, state.target) is not None
    assert shown(few, state.best.data, state.target) is None
    assert state.failure.events_max < 60_000


# --- what cannot be shrunk -----------------------------------------------------------------------


def test_a_run_without_a_violation_is_refused_in_one_line() -> None:
    with pytest.raises(NothingToShrinkError, match="smoke, seed 0: it is ok, and nothing is"):
        begun(load("smoke"), 0, Budget())


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_shrunk_scenario_fails_so_with_every_seed(name: str, seed: int) -> None:
    state = shrunk(name, seed)
    best = state.best
    assert best.size.drawn == 0
    for other in (0, 1, 7):
        failure = replace(state.failure, seed=other)
        assert shown(failure, best.data, state.target) is not None
