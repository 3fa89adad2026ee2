"""What runs and verdicts leave in memory: no history, no cluster, no case."""

import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run, run_to
from ddlsim.history.history import History
from ddlsim.model.ops import Put
from ddlsim.plan.records import ClockStep, Plan
from ddlsim.search.crash import ran
from ddlsim.units import ms
from ddlsim.verify.row import RunRow, row_of
from tests.support.worlds import planned, program, transaction

COUNT = 40


@pytest.fixture(autouse=True)
def uncollected(_only_new_garbage: None) -> Iterator[None]:
    """The collector looks where it is asked to, and not by itself."""
    gc.disable()
    yield
    gc.enable()


def busy(*, trace: bool = False, models: bool = False) -> Plan:
    """Some transactions; a step of a clock is still to come when the run ends."""
    puts = [transaction(Put("t", key, {"v": 5})) for key in range(COUNT)]
    late = ClockStep("n1", ms(3_600_000), 5, None)
    return planned(programs=(program(*puts),), clock_steps=(late,), trace=trace, models=models)


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("models", [False, True])
def test_nothing_of_a_run_refers_to_its_history(trace: bool, models: bool) -> None:
    history = run(busy(trace=trace, models=models))
    assert len(history.events) > 5 * COUNT
    references = sys.getrefcount(history.events[-1])
    assert references == 2, "that of the list, and that of the call"
    gone = weakref.ref(history)
    del history
    assert gone() is None


@pytest.mark.parametrize("way", ["memory", "file", "search"])
@pytest.mark.parametrize("models", [False, True])
def test_no_cluster_is_left(way: str, models: bool, tmp_path: Path) -> None:
    ways: dict[str, Callable[[Plan], object]] = {
        "memory": run, "file": lambda of: run_to(of, tmp_path / "a.jsonl"), "search": ran,
    }  # fmt: skip
    ways[way](busy(models=models))  # what is imported or remembered is made by now
    gc.collect()
    ways[way](busy(models=models))
    assert gc.collect() == 0


def row(history: History) -> RunRow:
    return row_of(history, strict=False, all_claims=True, known=())


@pytest.mark.parametrize("judged", [judge, row])
def test_what_a_verdict_is_made_of_is_gone_with_it(judged: Callable[[History], object]) -> None:
    history = run(busy())
    judged(history)  # what is imported or remembered is made by now
    gc.collect()
    judged(history)
    assert gc.collect() == 0
