"""A run is a row, whatever happens to it, and the same row every time."""

from pathlib import Path

import msgspec
import pyarrow as pa

from ddlsim.analysis.stats import histogram, measures
from ddlsim.analysis.sweep.rows import SCHEMA, Job, history_file, is_sampled, run_job, table
from ddlsim.cluster.run import run
from ddlsim.history import codec
from ddlsim.history.events import TxBegan
from ddlsim.plan.plan import plan
from ddlsim.scenario.load import load
from ddlsim.scenario.scenario import override, read
from ddlsim.verify import campaign
from tests.support.cells import TINY, cell, guilty, history_of
from tests.support.layered import Layered


def test_run_job_agrees_with_the_row_of_a_campaign() -> None:
    one = cell(3, protocol__delay_duration_ms=20)
    row = run_job(Job(one, 5))
    runner = campaign.Runner(campaign.Job(one.name, one.text, one.overrides))
    same = runner.row(5)
    assert same.figures is not None
    assert (row["cell"], row["seed"], row["outcome"]) == (3, 5, "ok")
    assert row["parameters"] == '{"protocol.delay_duration_ms": 20}'
    assert row["fingerprint"] == same.fingerprint
    assert row["committed"] == same.figures.committed > 0
    assert row["simulated_us"] == same.figures.simulated_ms * 1000
    assert histogram.of_cell(row["dml_latency_us"]) == same.pools["dml_latency_ms"]


def test_run_job_is_deterministic_and_fills_every_column() -> None:
    jobs = [Job(cell(number), seed) for number in (1, 0) for seed in (2, 1)]
    first, again = table(map(run_job, jobs)), table(map(run_job, reversed(jobs)))
    assert first.equals(again)
    assert first.schema == SCHEMA
    keys = list(zip(first["cell"].to_pylist(), first["seed"].to_pylist(), strict=True))
    assert keys == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_run_job_makes_a_row_of_a_run_that_raises() -> None:
    impossible = msgspec.structs.replace(cell(), overrides={"cluster.nodes": 0})
    row = run_job(Job(impossible, 0))
    assert row["outcome"] == "crashed"
    assert row["error"].startswith("ScenarioError: tiny.toml: --set cluster.nodes")
    assert row["committed"] is None
    assert pa.Table.from_pylist([row], SCHEMA).num_rows == 1


def test_run_job_keeps_the_history_of_a_violation(tmp_path: Path) -> None:
    row = run_job(Job(guilty(), 0, keep=str(tmp_path)))
    assert row["outcome"] == "violated"
    assert row["history"] == history_file(0, 0)
    history = codec.load(tmp_path / row["history"])
    assert history.fingerprint() == row["fingerprint"]
    assert {each["status"] for each in row["violations"]} >= {"violation"}
    calm = run_job(Job(cell(), 0, keep=str(tmp_path)))
    assert calm["history"] is None


def test_is_sampled_keeps_the_share_of_other_runs() -> None:
    seeds = range(4_000)
    taken = sum(is_sampled(1, seed, 0.25) for seed in seeds)
    assert 900 < taken < 1_100
    assert not any(is_sampled(1, seed, 0.0) for seed in seeds)
    assert all(is_sampled(1, seed, 1.0) for seed in seeds)
    assert any(is_sampled(1, seed, 0.25) != is_sampled(2, seed, 0.25) for seed in seeds)


def test_waits_are_summed_per_operation() -> None:
    history = history_of(cell(protocol__delay_duration_ms=0), 1)
    waits = list(measures.operation_waits(history))
    look_ups = list(history.of(measures.SchemaResolved))
    assert sum(waits) == sum(event.waited_us for event in look_ups) > 0
    assert 0 < len(waits) < len(look_ups)
    implicit = {event.tx for event in history.of(TxBegan) if event.implicit}
    operations = {event.op for event in look_ups if event.op is not None}
    commits = {event.tx for event in look_ups if event.op is None}
    assert implicit & commits, "an operation outside of a transaction looks up at its commit too"
    assert len(waits) == len(operations) + len(commits - implicit)
    meta = measures.metadata(history)
    assert meta.schema_updates == 1
    assert meta.schema_updates <= meta.writes <= meta.commands


def test_the_commands_of_a_single_node_count_too() -> None:
    """No other node has its log, and no entry of it is an event."""
    for nodes in (1, 3):
        changes = {"migration[0].node": "n1", "cluster.nodes": nodes}
        meta = measures.metadata(run(plan(read(TINY, "tiny", overrides=changes), 1)))
        assert (meta.schema_updates, meta.writes) == (1, 1)
        assert meta.commands == 5, "an update, and four idle commands until 200 ms"


def test_a_commit_is_as_stale_as_the_change_that_it_missed_is_old() -> None:
    story = Layered()
    story.index("D", 20, ack=21)
    story.run("A", 10, 15, ("put", "s", 1))
    story.run("B", 18, 26, ("put", "s", 2))
    story.run("C", 30, 32, ("put", "s", 3), v=2)
    assert sorted(measures.staleness(story.history())) == [0, 0, 6_000]


def test_reads_of_the_schema_are_counted_where_a_sweep_asks_for_prices() -> None:
    one = cell(strategy__name="c1_schema", cluster__plane="fdb")
    asked, plain = run_job(Job(one, 1, prices=True)), run_job(Job(one, 1))
    assert plain["schema_reads"] is None
    assert asked["schema_reads"] > asked["committed"] > 0


def test_a_statement_that_fills_an_index_uses_no_table_for_a_client() -> None:
    """Its transactions enlist nothing; clients' ones beside them are measured as ever."""
    scenario = override(load("strategies/C16-C0"), {"strategy.name": "c16_states"})
    history = run(plan(scenario, 0))
    filled = [event.tx for event in history.of(measures.TxCommitted) if "/" in event.tx]
    using, tail = measures.spans(history)
    assert filled
    assert len(using) == len(tail) > 10
