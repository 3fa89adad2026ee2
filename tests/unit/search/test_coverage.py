"""Coverage: equal to a second count by the definitions, cheap features, no names in them."""

from collections.abc import Callable
from functools import cache
from typing import Any
from unittest.mock import patch

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.search import coverage
from tests.support import coverage_reference
from tests.support.small_scenario import scenario

SMALL = """
[cluster]
nodes = 3
replicas = 3
[network]
latency_ms = 1
[run]
load_ms = 900
[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY, v INT)"
[[workload]]
name = "mixed"
clients = 3
operations = 24
pause_ms = [0, 30]
gap_ms = [0, 60]
transaction_tables = [1, 2]
implicit = 0.2
read_only = 0.2
keys = 4
[[workload]]
name = "ddl_storm"
clients = 2
operations = 4
pause_ms = [0, 200]
[[faults]]
name = "pause"
node = "primary of t"
from_ms = 200
for_ms = 250
[[faults]]
name = "lease_loss"
place = "u/0"
from_ms = 300
for_ms = 200
[[faults]]
name = "re_election"
group = "meta"
from_ms = 250
"""
SEEDS = range(4)


@cache
def history(seed: int) -> History:
    world = scenario(f"safe_time_interval_ms = 50\nlease_duration_ms = 300\n{SMALL}")
    return run(plan(world, seed))


@pytest.mark.parametrize("seed", SEEDS)
def test_features_equal_those_counted_by_definition(seed: int) -> None:
    found, wanted = coverage.features(history(seed)), coverage_reference.features(history(seed))
    assert sorted(found - wanted) == []
    assert sorted(wanted - found) == []


def test_a_table_that_is_enlisted_again_is_used_from_then_on() -> None:
    """By the first look-up the transaction would commit across the change [110.quirk]."""
    found = run(plan(load("strategies/B9-T1-coordinator-retry", {}), 0))
    features = coverage.features(found)
    assert features == coverage_reference.features(found)
    assert not [one for one in features if one.endswith("commit across")]


def test_the_small_worlds_have_features_of_every_kind_and_of_most_values() -> None:
    words = {
        word for seed in SEEDS for one in coverage.features(history(seed)) for word in one.split()
    }
    assert words >= {"probe", "pair", "ddl", "state", "fault"}
    assert words >= {"before", "pending", "at", "after", "across", "quiet"}
    assert words >= {"held", "moved", "older-row", "lock-wait", "transborder", "read-only"}
    assert words >= {"enlist", "read", "write", "delete", "scan", "commit", "abort"}


PLANTED: dict[str, tuple[str, Callable[..., Any]]] = {
    "bucket": ("bucket", lambda count: min(count, 128)),
    "phase": ("_phase", lambda change, ts, skew: "quiet"),
    "trait of a row": ("_trait_of_row", lambda row, version: None),
    "rank": ("_rank", len),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_mistake_differs_from_the_second_count(name: str) -> None:
    attribute, wrong = PLANTED[name]
    wanted = [coverage_reference.features(history(seed)) for seed in SEEDS]
    with patch.object(coverage, attribute, wrong):
        assert [coverage.features(history(seed)) for seed in SEEDS] != wanted


@pytest.mark.slow
@pytest.mark.parametrize("handler", ["_lease", "_fault_healed", "_crossed", "_enlisted", "_waited"])
def test_a_planted_omission_differs_from_the_second_count(handler: str) -> None:
    wanted = [coverage_reference.features(history(seed)) for seed in SEEDS]

    def nothing(self: Any, *event: Any) -> None:
        """What the planted fault does."""

    with patch.object(coverage._Coverage, handler, nothing):
        assert [coverage.features(history(seed)) for seed in SEEDS] != wanted


def test_features_name_no_node_table_client_or_transaction() -> None:
    drawn = run(plan(swarm.scenario(swarm.source_of(None, {}), 3), 3))
    names = {node for node in drawn.header.settings if node}
    names |= {event.client for event in drawn.events if hasattr(event, "client")}
    names |= {event.tx for event in drawn.events if getattr(event, "tx", None)}
    words = {word for one in coverage.features(drawn) for word in one.split()}
    assert names
    assert not names & words


def test_counts_fall_into_buckets() -> None:
    counts = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 127, 128, 10_000)
    assert [coverage.bucket(n) for n in counts] == [1, 2, 3, 4, 4, 8, 8, 16, 16, 32, 32, 128, 128]
