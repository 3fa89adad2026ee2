"""Numbers of a scenario: presets, ranges, units and distributions."""

from typing import Any

import msgspec
import pytest

from ddlsim.kernel import rng
from ddlsim.scenario import config
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.samples import latency
from tests.support.small_scenario import scenario

DISTRIBUTIONS: list[tuple[dict[str, Any], rng.Distribution]] = [
    ({"distribution": "constant", "value": 3}, rng.Constant(3)),
    ({"distribution": "uniform", "low": -3, "high": 3}, rng.Uniform(-3, 3)),
    ({"distribution": "normal", "mean": 5, "sd": 1}, rng.Normal(5, 1)),
    ({"distribution": "lognormal", "median": 1, "p99": 8}, rng.Lognormal(1, 8)),
    ({"distribution": "exponential", "min": 1, "mean": 5}, rng.Exponential(1, 5)),
]


@pytest.mark.parametrize(("table", "meant"), DISTRIBUTIONS)
def test_a_table_is_the_kernels_distribution(table: dict[str, Any], meant: Any) -> None:
    assert msgspec.convert(table, rng.Spread) == meant


def test_a_bare_number_is_constant() -> None:
    assert latency(2.5, {}, ()) == rng.Constant(2.5)


@pytest.mark.parametrize(
    ("preset", "dd", "skew", "interval"),
    [("ignite3_defaults", 500, 500, 250), ("ignite3_tests", 100, 7, 50)],
)
def test_a_preset_is_what_ignite_3_has(preset: str, dd: int, skew: int, interval: int) -> None:
    numbers = scenario(overrides={"protocol.preset": preset}).numbers

    assert numbers["delay_duration_ms"] == dd
    assert numbers["max_clock_skew_ms"] == skew
    assert numbers["safe_time_interval_ms"] == interval
    assert numbers["operation_timeout_ms"] == 30_000
    assert numbers["commit_wait_ms"] == 10_000
    assert numbers["ddl_attempts"] == 10
    assert numbers["lock_retries"] == 3


def test_what_the_file_says_counts_over_the_preset() -> None:
    numbers = scenario("delay_duration_ms = 50\nlock_retries = 0\n").numbers

    assert numbers["delay_duration_ms"] == 50
    assert numbers["lock_retries"] == 0
    assert numbers["max_clock_skew_ms"] == 7


def test_no_preset_hides_a_choice_of_the_protocol() -> None:
    with pytest.raises(ScenarioError, match="delay_duration_ms is missing"):
        scenario(overrides={"protocol": {}})

    three = {"delay_duration_ms": 0, "max_clock_skew_ms": 0, "safe_time_interval_ms": 5}
    assert scenario(overrides={"protocol": three}).numbers["delay_duration_ms"] == 0


def test_every_key_with_a_duration_says_its_unit() -> None:
    durations = ("delay", "interval", "timeout", "wait", "skew", "latency", "offset", "at", "every")
    for record in (config.Protocol, config.Clocks, config.Network, config.Migration, config.Run):
        for name in record.__struct_fields__:
            is_duration = any(part in durations for part in name.split("_"))
            assert not is_duration or name.endswith("_ms"), name
