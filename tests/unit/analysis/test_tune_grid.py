"""On the shipped sample `tune` finds the DD of a fine grid, with at most a tenth of its runs."""

from dataclasses import replace
from math import ceil
from pathlib import Path

import numpy as np
import pytest

from ddlsim.analysis.formula.wait_model import COARSE
from ddlsim.analysis.tune import cells
from ddlsim.analysis.tune.advise import Advisor
from ddlsim.analysis.tune.cells import Load, Setting
from ddlsim.analysis.tune.goals import read_goals
from ddlsim.analysis.tune.judge import Judge
from ddlsim.analysis.tune.request import Request
from ddlsim.analysis.tune.runs import Runs
from ddlsim.analysis.tune.world import world_of
from ddlsim.scenario.measured import parse

SAMPLE = Path(__file__).resolve().parents[3] / "scenarios" / "measurements"
MOST_MS = 500
"""The grid goes up to the DD that Ignite 3 is delivered with."""
BEYOND_MS = 25
"""How far beyond the advised interval every step of the grid is run."""


def request_of_the_sample(seeds: int) -> Request:
    texts = {
        name: (SAMPLE / file).read_text("utf-8")
        for name, file in (("delays.csv", "delays_ms.csv"), ("offsets.csv", "offsets_ms.csv"))
    }
    world = world_of(
        parse(texts["delays.csv"], "delays_ms.csv", "delay"),
        parse(texts["offsets.csv"], "offsets_ms.csv", "offset"),
        5,
        None,
    )
    led = world.worst_led(COARSE, 250, 0.0, world.nodes[:3])
    return Request(
        world=led,
        texts=texts,
        goals=read_goals([]),
        strategy="iep",
        present=Setting(500, 250, 500),
        ddl_rate=1 / 60,
        load=Load(0.4, 50),
        margin=0.5,
        step=5,
        seeds=range(seeds),
    )


def fine_grid(advisor: Advisor, around: tuple[int, int]) -> tuple[int, int, list[int]]:
    """The least DD of the grid that, with all larger ones, meets the goals; the least that does
    so surely; and those that miss one with the whole interval.

    The grid has every step between the ends of `around` and a bit beyond, and every tenth step
    elsewhere: there waits are far from their limit.
    """
    request = advisor.request
    near = range(around[0] - BEYOND_MS, around[1] + BEYOND_MS + 1, request.step)
    dds = sorted({*near, *range(0, MOST_MS + 1, 10 * request.step)})
    settings = [Setting(dd, 250, request.cs_max) for dd in dds]
    found = list(zip(settings, advisor._figures(settings), strict=True))
    judge = Judge(request)
    judged = {s.dd: [judge.of(goal, s, each) for goal in request.waits] for s, each in found}
    meets = [all(each.point(g) <= g.limit for g in request.waits) for _, each in found]
    sure = [all(each.sure for each in judged[dd]) for dd in dds]
    missed = [dd for dd in dds if any(each.hopeless for each in judged[dd])]
    least, surely = (
        next(dd for place, dd in enumerate(dds) if all(known[place:])) for known in (meets, sure)
    )
    assert {least - request.step, surely - request.step} <= set(near), (
        "both borders are finely looked at"
    )
    return least, surely, missed


@pytest.mark.slow
def test_search_agrees_with_a_fine_grid_at_a_tenth_of_its_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cells, "LOOKS_EACH", 2)  # half as long as in life
    request = request_of_the_sample(seeds=4)
    with Runs(request.seeds, jobs=1) as runs:
        advisor = Advisor(request, runs)
        advice = advisor._search(250)
        low, high = advice.interval
        every_cell = MOST_MS // request.step + 1
        assert runs.count * 10 <= every_cell * len(request.seeds)
        expected, surely, missed = fine_grid(advisor, advice.interval)
    assert low <= expected <= high
    assert advice.needed == expected
    assert advice.sure == surely <= advice.recommended.dd
    assert max(missed) < low, "what misses the goal for sure is not in the interval"


def test_the_formula_brackets_the_least_dd() -> None:
    """Where a search begins decides what it costs."""
    request = request_of_the_sample(seeds=1)
    low, high = request.needed(request.world.wait(COARSE, 250, request.mu))
    assert 250 < low < high < 340
    shorter = replace(request, present=Setting(500, 100, 500))
    assert ceil(np.mean(shorter.needed(shorter.world.wait(COARSE, 100, request.mu)))) < low
