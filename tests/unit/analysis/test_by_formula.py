"""Closed forms of a scenario read every key that they rest on."""

import pytest

from ddlsim.analysis.formula.by_formula import Forms
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import Scenario, override

MU = 1 / 3_000
"""Leases are prolonged every three seconds."""


def world(**keys: object) -> Forms:
    changes = {f"protocol.{key}": value for key, value in keys.items()}
    found: Scenario = override(load("generated/standard"), changes)
    return Forms(found)


def tail(**keys: object) -> float:
    """The 99th percentile of the wait between ordered links, DD 100 ms."""
    found = world(delay_duration_ms=100, safe_time_interval_ms=250, **keys).wait(MU)
    assert found is not None
    return float(found.quantile(0.99, 100).ordered)


def test_heartbeats_follow_the_election_timeout_unless_they_are_set() -> None:
    """Where they are due before idle commands they may stand in the way of a command."""
    assert tail(election_timeout_ms=300) == tail(heartbeat_idle_ms=150)
    assert tail(election_timeout_ms=300) > tail() == tail(heartbeat_idle_ms=251)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("protocol.safe_time_interval_ms", 50),
        ("protocol.election_timeout_ms", 300),
        ("network.latency_ms", 9),
        ("clocks.max_skew_ms", 6),
        ("cluster.voters", 1),
    ],
)
def test_the_wait_depends_on_every_key_of_its_scenario(key: str, value: object) -> None:
    plain, other = load("generated/standard"), override(load("generated/standard"), {key: value})
    waits = [Forms(one).wait(MU) for one in (plain, other)]
    assert waits[0] is not None
    assert waits[1] is not None
    assert waits[0].quantile(0.99, 0) != waits[1].quantile(0.99, 0)
