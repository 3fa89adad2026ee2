"""Runs shipped scenarios as `ddlsim run --expect` does, and keeps their results."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import Scenario
from ddlsim.scenario.shipped import shipped
from ddlsim.verify.campaign import Job, Runner
from ddlsim.verify.expectation import Sum, sum_of
from ddlsim.verify.row import RunRow

NEGATIVE = "negative/"
SEEDS = (0, 1, 2)
"""For scenarios that draw something; scripted ones are the same for every seed."""


def names(*folders: str) -> list[str]:
    """The shipped scenarios of some folders, or all but the negative ones."""
    if folders:
        return [name for name in shipped() if name.split("/")[0] in folders]
    return [name for name in shipped() if not name.startswith(NEGATIVE)]


def runner_of(scenario: Scenario, *, models: bool = False) -> Runner:
    """What plans, runs and judges the seeds of a scenario: by the claims alone, or by models too.

    Models make no run another one and are twice its work: `result` has each scenario with them.
    """
    return Runner(Job(scenario.name, scenario.text, scenario.overrides, models=models))


def compared(scenario: Scenario, rows: Sequence[RunRow]) -> Sum:
    """The total of runs, compared with what their scenario expects."""
    return sum_of(rows, reaches=scenario.reaches, expect=scenario.expect)


def summed(scenario: Scenario, *, models: bool = False) -> Sum:
    """The total of all runs of a scenario; with `models` the first one has them."""
    seeds = SEEDS[:1] if scenario.scripted else SEEDS
    rows = [runner_of(scenario, models=models and seed == SEEDS[0]).row(seed) for seed in seeds]
    return compared(scenario, rows)


@cache
def loaded(name: str) -> Scenario:
    """A shipped scenario; each is read once a session."""
    return load(name)


@cache
def result(name: str) -> Sum:
    """The total of the runs of a shipped scenario; each is run once a session, once with models."""
    return summed(loaded(name), models=True)


@cache
def under_mutant(name: str, mutant: str) -> Sum:
    """Its total with a rule broken."""
    return overridden(name, {"strategy.mutant": mutant})


def overridden(name: str, overrides: Mapping[str, Any]) -> Sum:
    """Its total with other values: `{"protocol.max_clock_skew_ms": 60}`."""
    return summed(load(name, overrides))


def convicted_by(row: RunRow) -> frozenset[str]:
    """The checkers that found a claim broken under its assumptions, or what never ends."""
    breaches = ("violation", "stuck")
    return frozenset(each.checker for each in row.violations if each.status in breaches)
