"""The runs that a figure by simulation takes: worlds, and what is measured of each run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ddlsim.analysis.formula import comparison
from ddlsim.cluster.run import run
from ddlsim.execute.parallel import Executor
from ddlsim.history.history import History
from ddlsim.plan.plan import plan
from ddlsim.scenario.overrides import EMBEDDED
from ddlsim.scenario.scenario import read

Measure = Callable[[History], Any]


@dataclass(frozen=True)
class Line(comparison.Line):
    """A figure, and the number of its experiment in the catalogue."""

    experiment: int = 0


@dataclass(frozen=True)
class Setup:
    """A scenario's text, the files that it names, and whether messages are events of its runs."""

    text: str
    files: tuple[tuple[str, str], ...] = ()
    trace: bool = False


Maker = Callable[[int], Setup]
"""A world of its own for every seed, where its instants are drawn too."""


def measured(
    worlds: Sequence[Setup | Maker], seeds: range, measure: Measure, jobs: int | None = None
) -> list[list[Any]]:
    """What `measure` says of every world's run of every seed; common random numbers throughout."""
    tasks = [
        (world if isinstance(world, Setup) else world(seed), seed, measure)
        for world in worlds
        for seed in seeds
    ]
    with Executor(_maker, _refused, processes=jobs) as executor:
        found = executor.run(tasks, batch=2)
    each = len(seeds)
    return [found[at * each : (at + 1) * each] for at in range(len(worlds))]


Task = tuple[Setup, int, Measure]


def _maker() -> Callable[[Sequence[Task]], list[Any]]:
    return lambda tasks: [_one(*task) for task in tasks]


def _refused(task: Task, how: str) -> Any:
    raise RuntimeError(f"seed {task[1]}: {how}")


def _one(world: Setup, seed: int, measure: Measure) -> Any:
    files = {f"{EMBEDDED}{name}": text for name, text in world.files}
    scenario = read(world.text, "agreement", overrides=files)
    return measure(run(plan(scenario, seed, trace=world.trace)))
