"""Histories of events as columns: the columnar judge sees the same cycles, and the same reads."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.checkers.as_columns import as_columns
from sim.checkers.case import Case
from sim.checkers.cycles import find
from sim.checkers.dirty_reads import dirty_reads
from sim.checkers.graph import graph_of
from sim.checkers.writes import writes_of
from sim.columns.history import ColumnHistory
from sim.columns.judge import judge
from sim.world.plan import plan
from sim.world.run import run
from sim.world.scenario import read
from tests.house.tree import ROOT
from tests.unit.checkers.random_histories import CHAOS, STEPS, chaos, serial

SINGLE = {"internal", "G1a", "G1b", "garbage-read"}
NAMES = {"non-repeatable-read": "internal", "garbage-read": "internal"}
"""Reading what one writes only later: `internal` to the one judge, `garbage-read` to the other."""


def compare(case: Case) -> ColumnHistory:
    """Both judges on one history: which reads are bad, and if none is, whether there are cycles."""
    columns = as_columns(case)
    graph = graph_of(case)
    bad = {NAMES.get(one.kind, one.kind) for one in dirty_reads(case, writes_of(case))}
    for tx in case.committed:  # two versions of one table are a read that contradicts itself
        uses = {(use.object_id, use.version) for use in tx.uses()}
        bad |= {"internal"} if len(uses) > len({object_id for object_id, _ in uses}) else set()
    for strict in (False, True):
        verdict = judge(columns, strict=strict)
        told = {NAMES.get(type_, type_) for type_ in verdict.types if type_ in SINGLE}
        assert told == bad, verdict
        cyclic = any(find(graph, strict=one).cycles for one in {False, strict})
        assert bad or verdict.valid is not cyclic, verdict
        labels = {node.label for node in graph.nodes}
        for anomaly in verdict.anomalies:
            assert {columns.names.transaction(step.source) for step in anomaly.steps} <= labels
    return columns


@settings(max_examples=50)
@given(STEPS, st.integers(0, 30))
def test_serial_histories_are_valid_as_columns(steps: list[Any], slack: int) -> None:
    case = Case(serial(steps, slack=slack).story.history())
    compare(case)
    assert judge(as_columns(case)).valid is True


@given(CHAOS, st.lists(st.tuples(st.integers(0, 60), st.booleans()), max_size=2))
def test_chaos_is_judged_alike(transactions: Any, ddls: Any) -> None:
    compare(Case(chaos(transactions, ddls).history()))


def test_the_schemas_of_a_table_are_a_key() -> None:
    found = serial([[("put", 1)], False, [("get", 1), ("put", 2)]], slack=0)
    columns = as_columns(Case(found.story.history()))
    assert "schema:t" in list(columns.names.keys or ())
    assert columns.ddl.sum() == 2
    assert "t[1]" in list(columns.names.keys or ())


@pytest.mark.parametrize(
    "name", ["smoke", "negative/checks_on_arrival_only", "transactions/read_only"]
)
def test_runs_of_the_cluster_are_judged_alike(name: str) -> None:
    path = ROOT / "scenarios" / f"{name}.toml"
    for seed in range(3):
        compare(Case(run(plan(read(path.read_text("utf-8"), name), seed))))
