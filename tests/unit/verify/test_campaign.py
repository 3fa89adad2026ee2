"""One seed to a row, many seeds to many rows: the same in any process, and in any order."""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ddlsim.checkers.outcome import Outcome
from ddlsim.execute import workers
from ddlsim.history import codec
from ddlsim.history.world_events import MessageDelivered, MessageSent, StepMissed
from ddlsim.scenario.load import load
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from ddlsim.strategies.base import STRATEGIES, strategy
from ddlsim.verify import campaign
from ddlsim.verify.campaign import Job, Runner, run_seeds, violates
from ddlsim.verify.row import RunRow, structure
from tests.support.command import TINY
from tests.support.waiting import until

pytestmark = pytest.mark.slow


def job(name: str = "smoke", **rest: Any) -> Job:
    """The seeds of a scenario, without models: no row here is about them."""
    scenario = load(name)
    return Job(scenario.name, scenario.text, scenario.overrides, models=False, **rest)


# --- one seed -------------------------------------------------------------------------------------


def test_a_row_tells_everything_of_its_run() -> None:
    row = Runner(job("negative/reads_newer_rows")).row(3)
    assert (row.scenario, row.seed, row.outcome) == (
        "negative/reads_newer_rows",
        3,
        Outcome.VIOLATED,
    )
    assert row.mutant == "reads_newer_rows"
    assert row.figures is not None
    assert row.figures.attempts > 0
    assert row.failed
    assert row.crash is None


def test_the_first_of_each_structure_has_an_argument() -> None:
    row = Runner(job("negative/no_completeness_wait")).row(0)
    first: dict[object, int] = {}
    for place, violation in enumerate(row.violations):
        first.setdefault(structure(violation), place)
    assert len(first) < len(row.violations)
    assert set(row.arguments) == set(first.values())
    assert all(row.arguments.values())


def test_a_probe_that_is_asked_for_is_counted_even_if_it_was_not_met() -> None:
    text = TINY.replace('"ddl-installed"', '"failover"')
    row = Runner(Job("tiny", text, {})).row(0)
    assert row.reached["failover"] == 0
    assert row.outcome is Outcome.VACUOUS
    assert not row.failed


def test_a_step_that_ends_otherwise_is_missed() -> None:
    text = TINY.replace('expect = "ok"\n\n[[step]]', 'expect = "unknown"\n\n[[step]]')
    row = Runner(Job("tiny", text, {})).row(0)
    assert row.missed == ("step w (line 14): expected unknown, got ok",)
    assert row.outcome is Outcome.UNMET
    assert row.failed
    assert StepMissed.__struct_fields__[1:] == ("step", "line", "expected", "got")


def test_an_exception_of_the_simulator_is_a_crashed_row(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("planted\nsecond line")

    monkeypatch.setattr(campaign, "row_of", broken)
    row = Runner(job()).row(0)
    assert (row.outcome, row.crash) == (Outcome.CRASHED, "AssertionError: planted")
    assert (row.fingerprint, row.figures) == (None, None)
    assert row.origin is not None
    assert "in broken" in row.origin


def test_bad_input_is_no_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise ScenarioError("planted")

    monkeypatch.setattr(campaign, "plan", refused)
    with pytest.raises(ScenarioError):
        Runner(job()).row(0)


def test_histories_of_the_first_and_of_failed_runs_are_kept(tmp_path: Path) -> None:
    runner = Runner(job(keep=str(tmp_path), first=1))
    rows = [runner.row(seed) for seed in (0, 1, 2)]
    assert [path.name for path in tmp_path.iterdir()] == ["seed-1.jsonl"]
    assert codec.load(tmp_path / "seed-1.jsonl").fingerprint() == rows[1].fingerprint
    Runner(job("negative/reads_newer_rows", keep=str(tmp_path), first=1)).row(7)
    assert (tmp_path / "seed-7.jsonl").exists()


def test_a_trace_is_kept_when_it_is_asked_for(tmp_path: Path) -> None:
    plain, traced = Runner(job()).row(0), Runner(job(trace=True, keep=str(tmp_path))).row(0)
    assert plain.fingerprint != traced.fingerprint
    history = codec.load(tmp_path / "seed-0.jsonl")
    assert history.of(MessageSent)
    assert history.of(MessageDelivered)


def test_strict_judges_by_the_strict_graph() -> None:
    name = "negative/no_completeness_wait"
    relaxed, strict = Runner(job(name)).row(0), Runner(job(name, strict=True)).row(0)
    assert strict.fingerprint == relaxed.fingerprint

    def counted(row: RunRow) -> bool:
        return any(one.status == "violation" and one.strict_only for one in row.violations)

    assert counted(strict)
    assert not counted(relaxed)


@pytest.mark.usefixtures("own_designs")
def test_all_claims_judges_unclaimed_invariants_too() -> None:
    header = structs.replace(STRATEGIES.get("iep").header, name="far_less", claims=())
    strategy(replace(STRATEGIES.get("iep"), header=header))
    scenario = load("negative/no_completeness_wait", {"strategy.name": "far_less"})
    mild = Runner(Job(scenario.name, scenario.text, scenario.overrides)).row(0)
    severe = Runner(Job(scenario.name, scenario.text, scenario.overrides, all_claims=True)).row(0)
    assert {one.status for one in mild.violations} == {"accepted"}
    assert "violation" in {one.status for one in severe.violations}


def test_job_and_row_can_be_pickled() -> None:
    sent = job("negative/reads_newer_rows")
    row = Runner(sent).row(0)
    assert pickle.loads(pickle.dumps(sent)) == sent
    assert pickle.loads(pickle.dumps(row)) == row


def test_a_job_is_enough_without_the_file(tmp_path: Path) -> None:
    (tmp_path / "more.sql").write_text("ALTER TABLE t ADD COLUMN x INT", "utf-8")
    text = TINY.replace("[schema]", '[[migration]]\nat_ms = 30\nfile = "more.sql"\n\n[schema]')
    scenario = read(text, "tiny", directory=str(tmp_path))
    sent = Job(scenario.name, scenario.text, scenario.overrides)
    before = Runner(sent).row(0)
    (tmp_path / "more.sql").unlink()
    assert Runner(sent).row(0) == before


# --- many seeds -----------------------------------------------------------------------------------


BRIEF = {"workload[0].operations": 12}
"""Set over a scenario, so that its runs take less time."""


def brief() -> Job:
    """A job whose runs have few transactions, each seed others."""
    scenario = load("smoke", BRIEF)
    return Job(scenario.name, scenario.text, scenario.overrides, models=False)


@cache
def alone() -> list[RunRow]:
    """The rows of seeds 0 to 8, run in this process."""
    return run_seeds(brief(), range(9), jobs=1)


def test_processes_give_the_rows_of_one_process_in_order() -> None:
    seen: list[int] = []

    def watch(row: RunRow) -> None:
        seen.append(row.seed)

    there = run_seeds(brief(), range(9), jobs=2, alone_s=0, watch=watch)
    assert [row.seed for row in there] == list(range(9))
    assert there == alone()
    assert len({row.fingerprint for row in there}) == len(there)
    assert sorted(seen) == list(range(9))


@pytest.mark.parametrize("processes", [1, 2])
def test_until_ends_with_the_first_row_in_the_order_of_seeds(processes: int) -> None:
    seen: list[int] = []
    found = run_seeds(
        brief(), range(12), jobs=processes, alone_s=0, until=lambda row: row.seed in (5, 6, 9),
        watch=lambda row: seen.append(row.seed),
    )  # fmt: skip
    assert found == alone()[:6]
    assert seen == list(range(6))


@pytest.mark.parametrize("outcome", list(Outcome))
def test_violates_is_true_of_violated_stuck_and_crashed_runs(outcome: Outcome) -> None:
    row = RunRow("s", "iep", None, 0, outcome)
    assert violates(row) is (outcome.word in ("violated", "stuck", "crashed"))


def test_until_that_is_never_true_runs_every_seed() -> None:
    rows = run_seeds(brief(), range(3), jobs=1, until=violates)
    assert [row.seed for row in rows] == [0, 1, 2]


def test_few_quick_seeds_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "process", None)
    assert len(run_seeds(brief(), range(3), jobs=2, alone_s=60)) == 3


@pytest.mark.usefixtures("own_designs")
def test_plugins_are_loaded_in_every_process(tmp_path: Path) -> None:
    plugin = tmp_path / "far_away.py"
    plugin.write_text(
        '"""A design from outside."""\n'
        "from dataclasses import replace\n"
        "from ddlsim.model.design import DesignHeader\n"
        "from ddlsim.strategies.base import strategy\n"
        "from ddlsim.strategies.iep import IEP\n"
        'strategy(replace(IEP, header=DesignHeader("far_away", "", "", "ignite", ())))\n',
        "utf-8",
    )
    scenario = load("smoke", {"strategy.name": "far_away", **BRIEF})
    sent = Job(scenario.name, scenario.text, scenario.overrides, loads=(str(plugin),))
    rows = run_seeds(sent, range(3), jobs=2, alone_s=0)
    assert [(row.strategy, row.outcome) for row in rows] == [("far_away", Outcome.OK)] * 3


def test_an_error_in_a_process_is_told_here() -> None:
    sent = Job("tiny", TINY.replace("nodes = 3", "nodes = 3\nleader = 'n9'"), {})
    with pytest.raises(ScenarioError, match="n9"):
        run_seeds(sent, range(3), jobs=2, alone_s=0)


class Deadly(Runner):
    """Dies at seed 1."""

    def row(self, seed: int) -> RunRow:
        if seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().row(seed)


def deadly(job: Job) -> Callable[[Sequence[int]], list[RunRow]]:
    return Deadly(job).rows


def test_a_seed_that_kills_its_process_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_rows_of", deadly)
    rows = run_seeds(brief(), range(4), jobs=2, alone_s=0)
    assert [row.outcome for row in rows] == [Outcome.OK, Outcome.CRASHED, Outcome.OK, Outcome.OK]
    assert rows[1].crash == "its process was killed by signal 9 (SIGKILL)"
    assert rows[2] == Runner(brief()).row(2)


def test_an_interrupt_leaves_no_process_behind() -> None:
    def watch(row: RunRow) -> None:
        if row.seed:
            raise KeyboardInterrupt

    before = set(multiprocessing.active_children())
    with pytest.raises(KeyboardInterrupt):
        run_seeds(brief(), range(40), jobs=2, alone_s=0, watch=watch)
    until(lambda: not set(multiprocessing.active_children()) - before, "processes to end")
