"""What would hang or eat all memory is refused before anything is run, with the estimate."""

import tracemalloc
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.plan.plan import plan
from ddlsim.scenario import bounds
from ddlsim.scenario.load import load
from ddlsim.scenario.shipped import shipped
from ddlsim.verify.campaign import Job, run_seeds
from tests.support.command import TINY, ddlsim, tiny
from tests.support.forked import forked
from tests.support.sweeps import SWEEP, sweep_file
from tests.unit.cli.test_tune import small_delays

HUGE = "100000000000"
SCENARIO = "generated/standard"


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("workload[0].keys", "100,000,000,000 keys are more than 10,000,000; take fewer"),
        ("workload[0].clients", "100,000,000,000 clients are more than 100,000; take fewer"),
        ("workload[0].operations", "0,000 operations are more than 10,000,000"),
        ("workload[1].operations", " operations are more than 10,000,000"),
        ("cluster.nodes", "100,000,000,000 nodes are more than 1,000; take fewer"),
        ("cluster.partitions", "100,000,000,000 partitions are more than 10,000; take fewer"),
    ],
)
def test_a_count_beyond_its_bound_is_refused(setting: str, told: str) -> None:
    done = ddlsim("run", SCENARIO, "--set", f"{setting}={HUGE}")
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "generated/standard.toml:" in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["transborder", "rename_swap"])
def test_every_workload_tells_its_size(name: str) -> None:
    where = next(n for n in shipped() if any(e.workload.name == name for e in load(n).workloads))
    at = [entry.workload.name for entry in load(where).workloads].index(name)
    key = {"rename_swap": "operations", "transborder": "before"}[name]
    settings = (f"workload[{at}].clients=50000", f"workload[{at}].{key}=500")
    done = ddlsim("run", where, "--set", settings[0], "--set", settings[1])
    assert (done.code, "operations are more than" in done.err) == (2, True), done.err


def test_a_run_that_would_need_too_much_is_refused_with_the_estimate(tmp_path: Path) -> None:
    words = ("--set", "workload[0].operations=1000000", "--set", "workload[0].gap_ms=0")
    told = "a run is estimated at up to 61,250,116 events and 204,167 MiB, more than 8,192 MiB; "
    done = ddlsim("run", SCENARIO, *words)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert "--memory" in done.err
    file = tmp_path / "large.toml"
    text = load(SCENARIO).text
    assert "operations = 60" in text
    file.write_text(text.replace("operations = 60", "operations = 1_000_000"), "utf-8")
    assert told in ddlsim("verify", str(file)).err
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP.replace("tiny.toml", "large.toml").replace("SEEDS", "0"), "utf-8")
    assert told in ddlsim("sweep", str(sweep), "--out", str(tmp_path / "out")).err
    assert not (tmp_path / "out").exists()


def test_a_user_who_has_the_memory_may_allow_more() -> None:
    found = bounds.Estimate(60_000_000, 60_000)
    bounds.check_run("x", found, 64 * 1024)
    with pytest.raises(ValueError, match="60,000 MiB, more than 8,192 MiB"):
        bounds.check_run("x", found, 4 * 1024)


@pytest.mark.parametrize("name", ["smoke", "realistic", SCENARIO])
def test_a_run_records_no_more_than_was_estimated(name: str) -> None:
    scenario = load(name)
    events = len(run(plan(scenario, 0)).events)
    assert events <= scenario.estimate.events
    assert scenario.estimate.events < 20 * events, "an estimate says something"


@pytest.mark.parametrize(
    ("partitions", "replicas"), [(1, 3), (60, 1), (60, 3)], ids=["replicas", "partitions", "both"]
)
def test_partitions_and_replicas_are_estimated(partitions: int, replicas: int) -> None:
    settings = {"cluster.partitions": partitions, "cluster.replicas": replicas}
    scenario = load(SCENARIO, {**settings, "workload[0].keys": 10 * partitions})
    events = len(run(plan(scenario, 0)).events)
    assert events <= scenario.estimate.events
    assert scenario.estimate.events < 20 * events, "an estimate says something"


def test_tables_of_many_replicas_are_refused(tmp_path: Path) -> None:
    """Those of a zone, and those that a migration makes, as well as the cluster's own."""
    many = ("cluster.partitions=10000", "cluster.replicas=3", "run.load_ms=60000")
    done = ddlsim("run", SCENARIO, *(word for one in many for word in ("--set", one)))
    assert (done.code, "events and" in done.err) == (2, True), done.err
    zone = "CREATE ZONE z WITH (PARTITIONS = 10000, REPLICAS = 3); "
    tables = " ".join(f"CREATE TABLE x{n} (id INT PRIMARY KEY) ZONE z;" for n in range(4))
    file = tmp_path / "m.sql"
    file.write_text(zone + tables, "utf-8")
    words = ("run", SCENARIO, "--migration", str(file), "--set", "run.load_ms=60000")
    done = ddlsim(*words)
    assert (done.code, "events and" in done.err) == (2, True), done.err


# --- ranges of seeds ------------------------------------------------------------------------------


def commands(seeds: str, folder: Path) -> list[tuple[str, ...]]:
    return [
        ("run", tiny(folder), "--seeds", f"0..{seeds}"),
        ("verify", "smoke", "--seeds", seeds),
        ("sweep", sweep_file(folder), "--out", str(folder / "out"), "--seeds", f"0..{seeds}"),
        ("tune", "--delays", small_delays(folder), "--seeds", seeds),
    ]


@pytest.mark.parametrize("seeds", ["10000000000", str(2**63 - 2)])
def test_more_seeds_than_can_be_kept_are_refused(seeds: str, tmp_path: Path) -> None:
    for words in commands(seeds, tmp_path):
        done = ddlsim(*words)
        assert (done.code, done.out) == (2, ""), words
        assert "more than" in done.err, done.err
        assert "take fewer seeds" in done.err, done.err
        assert done.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_range_that_cannot_be_counted_is_refused(tmp_path: Path) -> None:
    done = ddlsim("run", tiny(tmp_path), "--seeds", f"0..{2**63 - 1}")
    assert (done.code, "too many seeds to count" in done.err) == (2, True)


def test_a_long_range_costs_what_is_run_of_it() -> None:
    """Ten thousand million seeds: chunks are made as they are wanted, and none is a list."""
    done = count()

    def watch(row: Any) -> None:
        if next(done) == 20:
            raise KeyboardInterrupt

    tracemalloc.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_seeds(Job("tiny", TINY, {}), range(10**10), jobs=2, watch=watch, alone_s=0)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()


# --- budgets of a run -----------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_run_that_takes_too_long_is_unknown(jobs: str, tmp_path: Path) -> None:
    given = ("workload[0].operations=8000", "run.load_ms=300000")
    words = ("run", SCENARIO, "--set", given[0], "--set", given[1], "--jobs", jobs)
    done = ddlsim(*words, "--seeds", "0..1", "--time", "0.4s", "--output", "json")
    assert done.code == 6, done.err
    assert done.out.count("the run, which took longer than 0.4 s,") == 2
    assert done.out.count('"outcome": "unknown"') == 3


def test_a_run_that_needs_too_much_memory_is_unknown() -> None:
    done = forked("run", "realistic", "--memory", "4MiB")
    assert done.code == 6, done.err
    assert "the run, which needs more than 4 MiB, could not be judged" in done.out


def test_budgets_that_suffice_change_nothing(tmp_path: Path) -> None:
    words = ("run", tiny(tmp_path), "--seeds", "0..2")
    free = ddlsim(*words, "--output", "json")
    bound = ddlsim(*words, "--output", "json", "--time", "10m", "--memory", "4GiB")
    budgets = " --time 600s --memory 4096MiB"
    assert bound.out.count(budgets) == 1, "the command that repeats the run"
    assert (free.code, free.out) == (bound.code, bound.out.replace(budgets, ""))


def test_tune_has_budgets_too(tmp_path: Path) -> None:
    words = ("tune", "--delays", small_delays(tmp_path), "--seeds", "2", "--jobs", "1")
    done = ddlsim(*words, "--time", "0.001s")
    assert done.code == 2
    assert "took longer than 0.001 s; raise --time or --memory" in done.err


@pytest.mark.parametrize("text", ["12", "0GiB", "1.5GiB", "GiB"])
def test_an_amount_of_memory_has_a_unit(text: str) -> None:
    done = ddlsim("run", "smoke", "--memory", text)
    assert (done.code, "expected 512MiB or 2GiB" in done.err) == (2, True)
