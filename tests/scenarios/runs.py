"""Runs shipped scenarios as `ddlsim run --expect` does, and keeps what they came to."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from sim.world.campaign import Job, Runner, RunRow
from sim.world.expectation import Sum, sum_of
from sim.world.scenario import Scenario
from sim.world.shipped import load, shipped

NEGATIVE = "negative/"
SEEDS = (0, 1, 2)
"""For scenarios that leave something to dice; scripted ones are the same for every seed."""


def names(*folders: str) -> list[str]:
    """The shipped scenarios of some folders, or all but the negative ones."""
    if folders:
        return [name for name in shipped() if name.split("/")[0] in folders]
    return [name for name in shipped() if not name.startswith(NEGATIVE)]


def rows_of(scenario: Scenario, seeds: Sequence[int]) -> list[RunRow]:
    """The row of each seed."""
    runner = Runner(Job(scenario.name, scenario.text, scenario.overrides))
    return [runner.row(seed) for seed in seeds]


def summed(scenario: Scenario) -> Sum:
    """What all of a scenario's runs come to, compared with what it expects."""
    rows = rows_of(scenario, SEEDS[:1] if scenario.scripted else SEEDS)
    return sum_of(rows, reaches=scenario.reaches, expect=scenario.expect)


@cache
def result(name: str) -> Sum:
    """What a shipped scenario comes to; each is run once a session."""
    return summed(load(name))


def overridden(name: str, overrides: Mapping[str, Any]) -> Sum:
    """The same with other values: `{"strategy.mutant": "no_commit_check"}`."""
    return summed(load(name, overrides))
