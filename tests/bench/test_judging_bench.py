"""What judging costs, as a share of the run that made the history, both in this process.

The aim is a quarter of the run, as the median over every shipped scenario that is not there to be
convicted: cheap enough never to be sampled. The histories that cost most are printed; what many
rows are scanned in, and runs of a few dozen events, cost a larger share than others.
"""

import gc
import time
from statistics import median

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario import findings
from ddlsim.scenario.load import load
from tests.bench.figures import show
from tests.scenarios.runs import names

pytestmark = pytest.mark.bench

ROUNDS = 2
SHOWN = 6
AIM = 0.25


def shares() -> list[tuple[float, str, int]]:
    """(judging / running, scenario, events) in CPU time, the least of some rounds each."""
    known = findings.known()
    found = []
    for name in names():
        planned = plan(load(name), 0)
        ran, judged = [], []
        events = 0
        for _ in range(ROUNDS):
            gc.collect()
            began = time.process_time()
            history = run(planned)
            ran.append(time.process_time() - began)
            gc.collect()
            began = time.process_time()
            judge(history, findings=known)
            judged.append(time.process_time() - began)
            events = len(history.events)
        found.append((min(judged) / min(ran), name, events))
    return sorted(found, reverse=True)


def test_judging_beside_running() -> None:
    found = shares()
    middle = median(share for share, *_ in found)
    print(f"\n  judging: {middle:.0%} of the run, the median of {len(found)} scenarios; most:")
    for share, name, events in found[:SHOWN]:
        print(f"    {share:4.0%}  {name} ({events} events)")
    show("the median", middle, most=AIM)
    show("the most", found[0][0], most=1)
