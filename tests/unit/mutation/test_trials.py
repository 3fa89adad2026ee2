"""Trials convict what is broken, and nothing else; a mutated module is really the one that runs."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec import structs

from ddlsim.checkers.judge import Verdict
from ddlsim.checkers.outcome import Outcome
from ddlsim.cluster.designs import BadDesignError
from ddlsim.history.world_events import NeverCompleted
from ddlsim.mutation.records import Conviction, Result, World
from ddlsim.mutation.search import Search, conviction_of
from ddlsim.mutation.source import ROOT
from ddlsim.mutation.trial import Budget
from ddlsim.units import Micros
from tests.support.trials import BYTECODE, PROJECT, SMALL, Plant, Request, tried, tried_in_turn

HLC = "model/hlc.py"
TICK = """\
        self._last = last = physical if physical > last else last + 1
        if last > self._limit:
            self._raise_limit(last)
        return last  # type: ignore[return-value]  # a call"""
SAME = Plant(HLC, TICK, TICK)
STANDS_STILL = Plant(HLC, TICK, TICK.replace("last + 1", "last"))
NEVER_LOADS = Plant(HLC, 'Final = "clock limit"', "Final = 1 / 0")


def at_each_tick(statement: str) -> Plant:
    """The clock executes a statement more."""
    return Plant(HLC, TICK, f"        {statement}\n{TICK}")


RAISES = at_each_tick("assert not self, 'planted'")
FAILS = at_each_tick("self.planted()")
SPINS = at_each_tick("while True: pass")
DIES = at_each_tick("__import__('os')._exit(3)")
CLOSED = ("iep_closed",)


@pytest.fixture(scope="module")
def all_results() -> dict[str, Result]:
    """By the name of the plant; a spinning run has little CPU time, another one few events."""
    plants = {
        "stands still": STANDS_STILL, "same": SAME, "raises": RAISES, "fails": FAILS,
        "dies": DIES, "never loads": NEVER_LOADS,
    }  # fmt: skip
    whole, spins, tired = tried_in_turn(
        Request(tuple(plants.values()), CLOSED, Budget(seeds=2, run_cpu_s=60.0)),
        Request((SPINS,), CLOSED, Budget(seeds=1, run_cpu_s=1.5)),
        Request((STANDS_STILL,), CLOSED, Budget(seeds=2, run_events=100)),
        PYTHONHASHSEED="1",
    )
    names = (*plants, "spins", "few events")
    return dict(zip(names, (*whole, *spins, *tired), strict=True))


def test_a_mutant_that_breaks_an_invariant_is_killed_by_its_judge(
    all_results: dict[str, Result],
) -> None:
    found = all_results["stands still"]
    assert found.verdict == "killed"
    assert found.conviction is not None
    assert (found.conviction.by, found.conviction.what) == ("violation", "I12 machinery")
    assert found.runs == found.conviction.seed - SMALL + 1
    assert found.reached == found.runs


def test_source_without_a_change_survives_and_is_reached(all_results: dict[str, Result]) -> None:
    found = all_results["same"]
    assert (found.verdict, found.conviction, found.runs, found.reached) == ("survived", None, 2, 2)


@pytest.mark.parametrize(
    ("name", "by", "what"),
    [
        ("raises", "assertion", "AssertionError: planted"),
        ("fails", "crash", "AttributeError: 'HybridClock' object has no attribute 'planted'"),
        ("dies", "crash", "its process exited with code 3"),
    ],
)
def test_a_conviction_names_how_the_run_ended(
    name: str, by: str, what: str, all_results: dict[str, Result]
) -> None:
    found = all_results[name].conviction
    assert found is not None
    assert (found.by, found.what) == (by, what)


def test_a_run_with_an_operation_that_never_ends_is_stuck() -> None:
    never = NeverCompleted(Micros(1), "c1", "op", "an answer")
    verdict = Verdict(Outcome.STUCK, (), {}, (never,), (), {})
    found = conviction_of("iep", 3, verdict)
    assert found == Conviction("iep", 3, "stuck", "stuck", "an answer")
    assert conviction_of("iep", 3, structs.replace(verdict, outcome=Outcome.UNKNOWN)) is None


def test_a_world_that_cannot_be_read_any_more_is_convicted(monkeypatch: pytest.MonkeyPatch) -> None:
    def unread(_self: Search, _world: World) -> None:
        raise BadDesignError("its first schema is refused")

    monkeypatch.setattr(Search, "ran", unread)
    search = Search(1.0, 1)
    assert search.conviction(World("iep", 1)) is False
    found = search.conviction(World("iep", 1, "the digest of its run"))
    assert isinstance(found, Conviction)
    assert (found.by, found.more) == ("crash", "its first schema is refused")


def test_a_mutant_that_cannot_be_imported_is_no_kill(all_results: dict[str, Result]) -> None:
    found = all_results["never loads"]
    assert (found.verdict, found.conviction, found.runs) == ("unimportable", None, 0)
    assert found.error == "ZeroDivisionError: division by zero"


def test_a_run_that_takes_too_much_cpu_time_is_endless(all_results: dict[str, Result]) -> None:
    found = all_results["spins"]
    assert found.conviction is not None
    assert (found.conviction.by, found.conviction.what) == ("endless", "too much CPU time")


def test_a_run_that_is_convicted_without_the_mutant_does_not_count(
    all_results: dict[str, Result],
) -> None:
    """With so few events allowed every run is convicted, the design's own ones as well."""
    found = all_results["few events"]
    assert (found.verdict, found.runs, found.excused) == ("survived", 2, 2)


def test_another_process_comes_to_the_same_verdicts_and_no_cache_of_bytecode_hides_a_mutant(
    all_results: dict[str, Result], tmp_path: Path
) -> None:
    """Under another hash seed and one at a time: those were tried two at once, among others. And
    no cache takes a mutant over.
    """
    variables = {BYTECODE: str(tmp_path), "PYTHONDONTWRITEBYTECODE": ""}
    prefix = "import sys; sys.pycache_prefix = sys.argv[1]; import ddlsim.model.hlc"
    load = [sys.executable, "-c", prefix, str(tmp_path)]
    subprocess.run(load, cwd=PROJECT, env={**os.environ, **variables}, check=True)
    (cached,) = tmp_path.rglob("hlc.*.pyc")
    before = cached.read_bytes()
    again = ("raises", "fails", "stands still")
    budget = Budget(seeds=2, run_cpu_s=60.0)
    request = Request((RAISES, FAILS, STANDS_STILL), CLOSED, budget, jobs=1)
    alone = tried(request, **variables, PYTHONHASHSEED="2")
    assert [structs.replace(one, cpu_s=0.0) for one in alone] == [
        structs.replace(all_results[name], cpu_s=0.0) for name in again
    ]
    assert alone[0].verdict == "killed"
    assert cached.read_bytes() == before
    assert importlib.util.find_spec("ddlsim.model.hlc") is not None
    assert "planted" not in (ROOT / HLC).read_text("utf-8")
