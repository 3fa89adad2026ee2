"""Failures for tests of shrinking: planted, small, and quick to run."""

from functools import cache
from typing import Any

from ddlsim.scenario.load import load
from ddlsim.shrink.data import Data
from ddlsim.shrink.failing import begun
from ddlsim.shrink.script import settled
from ddlsim.shrink.shrink import Budget, Shrinking, shrink
from ddlsim.shrink.trial import Failure, Shown, judged, shown, target_of

FINDING = "findings/F-1"
"""Two transactions and a statement, each of which its violation needs."""
NOISE = [
    {"id": "x1", "client": "cx", "tx": "X", "node": "n2", "at_ms": 20, "do": ["put", "b", 7]},
    {"id": "x2", "client": "cx", "tx": "X", "node": "n2", "at_ms": 40, "do": "commit"},
    {"id": "y1", "client": "cy", "node": "n3", "at_ms": 60, "do": ["get", "b", 7]},
    {"id": "z1", "client": "cz", "node": "n3", "at_ms": 1500, "do": ["get", "b", 7]},
    {"id": "d9", "client": "cz", "node": "n3", "at_ms": 1600, "ddl": "DROP TABLE IF EXISTS q"},
]  # fmt: skip
"""Steps that the violation of the finding does not need."""


def noisy(**changed: Any) -> Data:
    """The finding's scenario with steps, faults and settings that its violation does not need."""
    data = settled(load(FINDING))
    return {
        **data,
        "step": [*NOISE, *data["step"]],
        "faults": [
            {"name": "slow_disk", "node": "n2", "delay_ms": 1, "from_ms": 10, "for_ms": 50},
            {"name": "clog", "node": "n3", "delay_ms": 3, "from_ms": 10, "for_ms": 33},
        ],
        "clocks": {"nodes": {"n2": {"offset_ms": 1.5}, "n3": {"drift_ppm": 20}}},
        **changed,
    }


def state_of(data: Data, budget: Budget | None = None, seed: int = 0) -> Shrinking:
    """Shrinking of some data before its first pass."""
    failure = Failure("planted", data, seed)
    found = judged(failure, data)
    assert found is not None, "the planted scenario can be read"
    target = target_of(*found)
    assert target is not None, "the planted scenario fails"
    first = shown(failure, data, target)
    assert first is not None
    return Shrinking(failure, first, target, budget or Budget())


def shown_of(data: Data) -> tuple[Shown, Failure]:
    """The run of some data, and the failure: what a pass is given."""
    state = state_of(data)
    return state.best, state.failure


def of_scenario(name: str, seed: int, budget: Budget | None = None) -> Shrinking:
    """Shrinking of a shipped scenario's run before its first pass."""
    return begun(load(name), seed, budget or Budget())


@cache
def shrunk(name: str, seed: int) -> Shrinking:
    """The same after its last pass; each is shrunk once a session."""
    state = of_scenario(name, seed)
    shrink(state)
    return state
