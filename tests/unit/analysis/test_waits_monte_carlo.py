"""The waits of `tune`, by runs and by formula, beside a Monte Carlo written from the documents.

`tests/support/wait_monte_carlo.py` shares no code with either. A figure agrees where it meets the
interval over seeds, and the bracket of the closed form, each wider by the millisecond in which
timestamps are told and by three standard errors of the Monte Carlo's own.
"""

from dataclasses import replace
from functools import lru_cache, partial
from itertools import permutations

import numpy as np
import pytest

from ddlsim.analysis.formula.wait_model import Grid, Wait
from ddlsim.analysis.tune.cells import DELAYS, OFFSETS, Cells, Load, Setting
from ddlsim.analysis.tune.goals import SHARES as OF
from ddlsim.analysis.tune.goals import Goal
from ddlsim.analysis.tune.request import LEASES_PER_MS
from ddlsim.analysis.tune.runs import Runs
from ddlsim.analysis.tune.world import World, world_of
from ddlsim.scenario.measured import parse
from tests.support import wait_monte_carlo as oracle
from tests.support.wait_monte_carlo import Model

NODES = ("n1", "n2", "n3", "n4", "n5")
COUNT = 200
SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
CLOCK_MS = 1.0
Delays = dict[tuple[str, str], np.ndarray]


def lognormal(dice: np.random.Generator, median: float, p99: float) -> np.ndarray:
    return median * np.exp(np.log(p99 / median) / 2.326 * dice.standard_normal(COUNT))


@lru_cache(maxsize=8)
def shape(name: str) -> Delays:
    """Five shapes of measured delays, `COUNT` of each link."""
    dice = np.random.default_rng(sum(map(ord, name)))
    places = dict(zip(NODES, (1, 4, 9, 20, 35), strict=True))
    made: Delays = {}
    for one, other in permutations(NODES, 2):
        if name == "light":
            found = lognormal(dice, 2, 5)
        elif name == "heavy":
            found = lognormal(dice, 5, 200)
        elif name == "per link":
            middle = 1 + abs(places[one] - places[other])
            found = lognormal(dice, middle, 2 * middle)
        elif name == "bimodal":
            late = dice.random(COUNT) < 0.1
            found = np.where(late, dice.uniform(80, 120, COUNT), dice.uniform(1, 4, COUNT))
        else:
            assert name == "one slow node"
            slow = "n5" in (one, other)
            found = lognormal(dice, 150, 300) if slow else lognormal(dice, 4, 12)
        made[one, other] = np.round(found, 3)
    return made


def written(delays: Delays) -> str:
    rows = (f"{a},{b},{value}\n" for (a, b), own in delays.items() for value in own)
    return "from,to,delay_ms\n" + "".join(rows)


def model(name: str) -> Model:
    delays = shape(name)
    return Model(NODES, "n1", NODES[:3], delays, np.concatenate(list(delays.values())))


def world(name: str) -> World:
    return world_of(parse(written(shape(name)), "d.csv", "delay"), None, 5, 3)


@lru_cache(maxsize=32)
def by_formula(name: str, h: int) -> Wait:
    return bracket(world(name), h)


def bracket(own: World, h: int) -> Wait:
    """As `tune` brackets its figures: leases may fall on ticks or not."""
    return own.wait(Grid(), h, LEASES_PER_MS).or_later(own.wait(Grid(), h, 0.0))


def played(own: Model, dd: float, h: float) -> tuple[np.ndarray, np.ndarray]:
    """The three quantiles, and three times their standard errors."""
    waits = partial(oracle.waits, own, dd, h, length_ms=4_000 * h, looks=40_000)
    at, error = oracle.spread(lambda seed: waits(seed=seed), tuple(SHARES.values()), repeats=6)
    return at, 3 * error


def off_formula(found: Wait, dd: float, at: np.ndarray, error: np.ndarray) -> list[str]:
    """Which quantiles lie outside of the bracket."""
    missed = []
    for (name, share), value, more in zip(SHARES.items(), at, error, strict=True):
        low = found.quantile(share, dd + CLOCK_MS).unordered
        high = found.quantile(share, dd - CLOCK_MS).ordered
        if not low - more <= value <= high + more:
            missed.append(f"{name}: {value:.1f} +- {more:.1f}, by formula {low:.1f} to {high:.1f}")
    return missed


FIVE = ("light", "heavy", "per link", "bimodal", "one slow node")


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_the_waits_of_tune_are_those_of_the_monte_carlo(name: str) -> None:
    dd, h = 20, 250
    at, error = played(model(name), dd, h)
    assert not off_formula(by_formula(name, h), dd, at, error)
    cells = Cells(world(name), {DELAYS: written(shape(name))}, "iep", Load(0.4, 50), ())
    with Runs(range(8), jobs=1) as runs:
        figures = runs.run([cells.looks(Setting(dd, h, 10))])[0]
    for (of, share), value, more in zip(SHARES.items(), at, error, strict=True):
        assert OF[of] == share
        low, high = figures.interval(Goal(f"schema_wait_{of}", 0.0))
        assert low - CLOCK_MS - more <= value <= high + CLOCK_MS + more, (of, low, value, high)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIVE)
def test_the_bracket_holds_where_commands_queue_behind_one_another(name: str) -> None:
    """Intervals shorter than the delays: notices are in the way of later entries."""
    at, error = played(model(name), 20, 50)
    assert not off_formula(by_formula(name, 50), 20, at, error)


@pytest.mark.slow
def test_skewed_clocks_shift_the_waits() -> None:
    offsets = {"n1": [-5.0], "n2": [0.0], "n3": [5.0], "n4": [40.0], "n5": [-30.0]}
    own = replace(model("light"), offsets={n: np.array(v) for n, v in offsets.items()})
    text = "node,offset_ms\n" + "".join(f"{n},{v[0]}\n" for n, v in offsets.items())
    delays = written(shape("light"))
    known = world_of(parse(delays, "d.csv", "delay"), parse(text, "o.csv", "offset"), 5, 3)
    at, error = played(own, 60, 250)
    assert not off_formula(bracket(known, 250), 60, at, error)
    cells = Cells(known, {DELAYS: delays, OFFSETS: text}, "iep", Load(0.4, 50), ())
    with Runs(range(8), jobs=1) as runs:
        figures = runs.run([cells.looks(Setting(60, 250, 80))])[0]
    for of, value, more in zip(SHARES, at, error, strict=True):
        low, high = figures.interval(Goal(f"schema_wait_{of}", 0.0))
        assert low - CLOCK_MS - more <= value <= high + CLOCK_MS + more, (of, low, value, high)


def test_the_monte_carlo_of_another_protocol_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Monte Carlo that is wrong in one point is seen to be wrong."""
    own = model("per link")
    right = by_formula("per link", 250)
    assert not off_formula(right, 20, *played(own, 20, 250))
    assert off_formula(right, 20, *played(own, 40, 250)), "DD"
    assert off_formula(right, 20, *played(own, 20, 200)), "H"
    everyone = replace(own, voters=NODES)
    assert off_formula(right, 20, *played(everyone, 20, 250)), "the majority of others"
    other = replace(own, leader="n5")
    assert off_formula(right, 20, *played(other, 20, 250)), "another leader"
    true = oracle.applied

    def at_the_entry(
        model: Model, h_ms: float, length_ms: float, dice: np.random.Generator
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Safe time moves with the entry, not with the notice of its commit."""
        at, ends = true(model, h_ms, length_ms, dice)
        alone = replace(model, voters=(model.leader,))
        return at, {**ends, **true(alone, h_ms, length_ms, dice)[1]}

    monkeypatch.setattr(oracle, "applied", at_the_entry)
    assert off_formula(right, 20, *played(own, 20, 250)), "no notice of the commit"
