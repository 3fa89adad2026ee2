"""What a `run` has to tell, before it becomes text, JSON or JUnit."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from analysis.aggregate import Found
from sim.history.figures import Figures
from sim.world.expectation import Sum


class Report(NamedTuple):
    """The result of a run: its sum, the figures of all seeds together, and what was found once.

    `command` repeats the first failed run, or the first one. `kept` are the files of `--out`.
    """

    scenario: str
    title: str
    strategy: str
    mutant: str | None
    settings: dict[str, dict[str, int]]
    expect: Any
    seeds: Sequence[int]
    sum: Sum
    figures: Figures | None
    found: list[Found]
    command: str
    kept: tuple[str, ...] = ()
