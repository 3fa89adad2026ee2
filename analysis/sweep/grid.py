"""The cells of a sweep: all combinations, a pairwise covering subset, or a sample.

Cells are numbered in the order of the file, the last axis fastest. All have the same seeds: with
one random stream per component and purpose, and delays that are pure functions of seed and message,
they share their random numbers.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np

from ddlsim.analysis.sweep.rows import Cell
from ddlsim.analysis.sweep.sweep_file import Sample, Sweep
from ddlsim.cluster.designs import BadDesignError, check_design
from ddlsim.plan.plan import plan
from ddlsim.scenario import bounds
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import NO_MUTANT, Scenario, override
from ddlsim.scenario.tomltext import toml_value

CELLS_MOST: Final = 200_000
"""More cells than this are taken for a mistake."""

Point = tuple[Any, ...]
"""A scenario, a strategy, a mutant, and a value for every axis."""


def cells(sweep: Sweep, *, try_plans: bool = True) -> list[Cell]:
    """The cells of a sweep, each read and planned once; `ScenarioError` names one that cannot be.

    A sample has the same points for every scenario and design. `try_plans`: without it cells are
    read alone; those of a sweep that has run can be planned.
    """
    designs = (sweep.scenarios, sweep.strategies, sweep.mutants)
    points: Iterator[Point]
    if sweep.table.sample is not None:
        sampled = _sampled(sweep, sweep.table.sample)
        points = ((*head, *tail) for head in product(*designs) for tail in sampled)
    else:
        factors = [*designs, *(axis.values for axis in sweep.axes)]
        _check_number(sweep, prod(map(len, factors)))
        points = iter(product(*factors))
    allowed = [point for point in points if _holds(sweep, point)]
    if sweep.table.pairwise:
        allowed = _pairwise(allowed)
    if not allowed:
        raise ScenarioError(f"{sweep.name}: no cell meets every condition of `where`")
    bounds.check_sweep(sweep.name, len(allowed), len(sweep.seeds))
    return [_cell(sweep, *numbered, try_plans=try_plans) for numbered in enumerate(allowed)]


def _check_number(sweep: Sweep, count: int) -> None:
    if count > CELLS_MOST:
        what = f"{count:,} combinations are more than {CELLS_MOST:,}; take [sample]"
        raise ScenarioError(f"{sweep.name}: {what}")


def _holds(sweep: Sweep, point: Point) -> bool:
    if not sweep.conditions:
        return True
    scenario, strategy, mutant, *values = point
    named = {
        "scenario": scenario.name,
        "strategy": strategy or scenario.strategy,
        "mutant": mutant or scenario.mutant or NO_MUTANT,
        **dict(zip((axis.name for axis in sweep.axes), values, strict=True)),
    }
    try:
        return all(condition.holds(named) for condition in sweep.conditions)
    except ValueError as error:
        raise ScenarioError(str(error)) from None


def _cell(sweep: Sweep, number: int, point: Point, *, try_plans: bool) -> Cell:
    scenario, strategy, mutant, *values = point
    changes: dict[str, Any] = {}
    if strategy is not None:
        changes["strategy.name"] = strategy
    if mutant is not None and (mutant != NO_MUTANT or scenario.mutant is not None):
        changes["strategy.mutant"] = mutant
    parameters = {axis.name: value for axis, value in zip(sweep.axes, values, strict=True)}
    for axis in sweep.axes:
        changes |= dict.fromkeys(axis.paths, parameters[axis.name])
    made = _checked(sweep, scenario, changes, try_plans=try_plans)
    return Cell(
        number=number,
        name=made.name,
        text=made.text,
        overrides=made.overrides,
        strategy=made.strategy,
        mutant=made.mutant,
        parameters=parameters,
    )


def _checked(
    sweep: Sweep, scenario: Scenario, changes: dict[str, Any], *, try_plans: bool
) -> Scenario:
    """A cell's scenario, after it was read and planned and its design made."""
    try:
        made = override(scenario, changes) if changes else scenario
        bounds.check_run(made.name, made.estimate, sweep.table.budget.memory_mib)
        if try_plans:
            check_design(plan(made, sweep.seeds[0]))
    except (ScenarioError, BadDesignError) as error:
        shown = ", ".join(f"{path} = {toml_value(value)}" for path, value in changes.items())
        what = str(error).removeprefix(f"{Path(sweep.name).parent}/")  # as the sweep names it
        raise ScenarioError(f"{sweep.name}: {what}; in the cell {shown}") from None
    return made


# --- samples --------------------------------------------------------------------------------------


def _sampled(sweep: Sweep, sample: Sample) -> list[Point]:
    """The points of a sample without duplicates; a function of its seed."""
    from scipy.stats import qmc  # type: ignore[import-untyped]  # scipy ships no types

    dimensions = len(sweep.axes)
    if sample.kind == "sobol":
        engine = qmc.Sobol(dimensions, scramble=True, rng=np.random.default_rng(sample.seed))
        shares = engine.random_base2(sample.cells.bit_length() - 1)
    else:
        engine = qmc.LatinHypercube(dimensions, rng=np.random.default_rng(sample.seed))
        shares = engine.random(sample.cells)
    points = [
        tuple(axis.at(float(share)) for axis, share in zip(sweep.axes, row, strict=True))
        for row in shares
    ]
    return [point for at, point in enumerate(points) if point not in points[:at]]


# --- pairwise -------------------------------------------------------------------------------------


def _pairwise(points: list[Point]) -> list[Point]:
    """A subset of the points that covers every pair of values of the whole set.

    Greedy: always the point with most pairs not yet covered, the first of equals.
    """
    numbered = _numbers(points)
    factors = numbered.shape[1]
    pairs = [
        numbered[:, a] * (numbered[:, b].max() + 1) + numbered[:, b]
        for a, b in combinations(range(factors), 2)
    ]
    missing = [np.ones(int(column.max()) + 1, dtype=bool) for column in pairs]
    for column, wanted in zip(pairs, missing, strict=True):
        wanted[:] = False
        wanted[column] = True
    chosen: list[int] = []
    while any(wanted.any() for wanted in missing):
        gains = sum(
            wanted[column].astype(np.int32) for column, wanted in zip(pairs, missing, strict=True)
        )
        best = int(np.argmax(gains))
        chosen.append(best)
        for column, wanted in zip(pairs, missing, strict=True):
            wanted[column[best]] = False
    return [points[at] for at in sorted(chosen)]


def _numbers(points: Sequence[Point]) -> Any:
    """The points with their values numbered, column by column."""
    columns = []
    for factor in range(len(points[0])):
        known: list[Any] = []
        for point in points:
            if point[factor] not in known:
                known.append(point[factor])
        columns.append([known.index(point[factor]) for point in points])
    return np.array(columns, dtype=np.int64).T
