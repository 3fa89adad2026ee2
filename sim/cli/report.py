"""What a `run` has to tell, before it becomes text, JSON or JUnit."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from analysis.aggregate import Found
from sim.history.figures import Figures
from sim.model.probes import never_reached
from sim.world.expectation import Sum


class Report(NamedTuple):
    """The result of a run: its sum, the figures of all seeds together, and what was found once.

    `command` repeats the first failed run, or the first one. `kept` are the files of `--out`.
    `drawn` tells what the knobs of a swarm came to in the run that `command` repeats.
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
    drawn: Mapping[str, Any] = {}

    @property
    def never_reached(self) -> tuple[str, ...]:
        """Of several runs: the known probes that none of them has reached."""
        if len(self.sum.runs) < 2:
            return ()
        met = {probe for row in self.sum.runs for probe, times in row.reached.items() if times}
        return never_reached(met)
