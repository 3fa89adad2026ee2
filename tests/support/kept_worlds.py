"""Drawn worlds that are kept as files, so that what they show outlasts a change of the draws.

`tests/worlds/SEED.toml` is a world as a swarm once drew it; its clients and delays are drawn from
the seed in its name.
"""

import gc
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from ddlsim.cluster.models.divergence import Divergence
from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import SimulationCrashed
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.scenario.scenario import Scenario, read

WORLDS: Final = Path(__file__).parents[1] / "worlds"
SEEDS: Final = (1, 3, 13, 4, 5, 7, 11, 9, 14)
"""Worlds in which all parts have much to do, those that show most faults first."""
EVENTS_MAX: Final = 40_000
"""A run with a fault may have no end."""
YOUNG: Final = 1
"""The generations of objects that hold what a run leaves behind: what has lived for longer is of
earlier tests, and to look through all of that would take longer than most runs."""


def world(seed: int, overrides: Mapping[str, Any]) -> Scenario:
    """The kept world of a seed, with some fields set."""
    text = (WORLDS / f"{seed}.toml").read_text(encoding="utf-8")
    return read(text, f"world {seed}", overrides=overrides)


@cache
def plan_of(seed: int, strategy: str = "iep_closed") -> Plan:
    """The plan of a kept world under a strategy, with models beside its parts."""
    return plan(world(seed, {"strategy.name": strategy}), seed, models=True)


def differences(history: History) -> list[PartDiverged]:
    """Where parts have differed from their models."""
    return history.of(PartDiverged)


class FoundError(BaseException):
    """A part differs from its model; nothing in a run handles this."""


def stop_at_differences(monkeypatch: pytest.MonkeyPatch) -> None:
    """End each run at the first difference, with a `FoundError`."""

    def stop(self: Divergence, _what: str) -> None:
        raise FoundError(self.part)

    monkeypatch.setattr(Divergence, "found", stop)


def first_part(
    monkeypatch: pytest.MonkeyPatch, *more: int, strategy: str = "iep_closed"
) -> str | None:
    """The part that differs first, in the first kept world in which one does.

    `more` are worlds to look at before the usual ones.
    """
    stop_at_differences(monkeypatch)
    parts = (part_in(seed, strategy) for seed in (*more, *SEEDS))
    return next((part for part in parts if part is not None), None)


def part_in(seed: int, strategy: str = "iep_closed") -> str | None:
    """The part that differs first in a kept world."""
    return part_of(plan_of(seed, strategy))


@cache
def part_without_a_fault(seed: int) -> str | None:
    """The same before anything is planted: of each world once for all tests."""
    return part_in(seed)


def part_of(planned: Plan) -> str | None:
    """The part that differs first in a run; what had not begun by then never does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            run(planned, events_max=EVENTS_MAX)
        except FoundError as found:
            return str(found)
        except SimulationCrashed:
            return None
        finally:
            gc.collect(YOUNG)
    return None


Planted = tuple[Any, str, Callable[[Any], Any], int, str]
"""An owner, its method, the fault that replaces it, a kept world, the part that differs there."""


def assert_seen(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    """The world shows the fault, and nothing without it."""
    owner, method, fault, seed, part = planted
    stop_at_differences(monkeypatch)
    assert part_without_a_fault(seed) is None
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert part_in(seed) == part
