"""What the command costs before it does anything, and what the search for cycles costs."""

import statistics
import subprocess
import sys
import time

import pytest

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.writes import Writes
from ddlsim.checkers.graph.cycles import find
from ddlsim.checkers.graph.graph import Graph
from tests.bench.figures import show
from tests.unit.checkers.test_cycles import large

pytestmark = pytest.mark.bench


def wall_s(*words: str) -> float:
    """The median wall time of three processes."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([sys.executable, *words], check=True, capture_output=True)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def test_help_beside_an_empty_python() -> None:
    show(
        "ddlsim --help / python -c pass",
        wall_s("-m", "ddlsim", "--help") / wall_s("-c", "pass"),
        most=10,
    )


@pytest.mark.parametrize("skew", [30, 5_000])
def test_a_search_among_skewed_timestamps_beside_one_that_the_certificate_ends(skew: int) -> None:
    def judged_s(by: int) -> float:
        case = Case(large(10_000, skew=by).history())
        began = time.process_time()
        find(Graph(case, Writes(case)), strict=True)
        return time.process_time() - began

    show(f"skew {skew} / no skew", judged_s(skew) / judged_s(0), most=10)
