"""Histories of events, told a second time as columns: the naive reference finds the same cycles."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.writes import writes_of
from ddlsim.checkers.graph.cycles import find
from ddlsim.checkers.graph.dirty_reads import dirty_reads
from ddlsim.checkers.graph.graph import graph_of
from ddlsim.cluster.run import run
from ddlsim.graph.history import OF_OPERATIONS, PRECEDES, PREDICATE, SCHEMA, ColumnHistory
from ddlsim.graph.judge import judge
from ddlsim.graph.models import DEFAULT
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import read
from tests.house.tree import ROOT
from tests.support import columns_reference
from tests.support.case_columns import as_columns
from tests.support.history import INT, Story, add_column
from tests.support.random_histories import CHAOS, STEPS, chaos, serial

SINGLE = {"internal", "G1a", "G1b", "garbage-read"}
NAMES = {"non-repeatable-read": "internal", "garbage-read": "internal"}
"""Reading what one writes only later: `internal` to the one judge, `garbage-read` to the other."""


def reference_of(columns: ColumnHistory, *, strict: bool) -> columns_reference.Reference:
    """The naive reading; of the relaxed graph without the edges that only the strict one has."""
    only = columns_reference.read(columns)
    if strict or not columns.strict_only.any():
        return only
    kept = ~columns.strict_only
    seen = {name: getattr(columns, name)[kept] for name in OF_OPERATIONS}
    without = columns_reference.read(replace(columns, **seen))
    wr = {edge for edge in only.edges if edge[2] != "rw"}
    return only._replace(edges=wr | without.edges)


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
        reference = reference_of(columns, strict=strict)
        assert bad or columns_reference.has_cycle(reference, DEFAULT) is cyclic
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


def test_what_a_transaction_may_not_be_taken_to_have_seen_is_kept() -> None:
    """One step is compatible and dropped by the relaxed graph, the next one is not."""
    story = Story()
    table = story.table()
    story.ddl("D1", table, add_column(11, "a"), tu=20, submit=19, ack=21)
    dropped = ddl.ColumnDropped(Column(11, "a", INT))
    story.ddl("D2", table, dropped, tu=30, submit=29, ack=31)
    story.begin("T", 50)
    story.write("T", table, 1, 51)
    story.commit("T", 60, commit_ts=60, told=61)
    columns = compare(Case(story.history()))
    of_schema = [
        (int(kind), int(version), bool(only))
        for kind, version, only in zip(
            columns.kind, columns.version, columns.strict_only, strict=True
        )
        if kind in {SCHEMA, PRECEDES}
    ]
    assert of_schema == [(SCHEMA, 1, True), (PRECEDES, 2, False)]
    assert judge(columns).types == ("schema-G-single-realtime",)


def test_a_scan_takes_the_last_deletion_for_what_it_saw() -> None:
    story = Story()
    table = story.table()
    for number, (tx, row) in enumerate({"A": {}, "B": {"row": None}}.items()):
        story.begin(tx, 10 + 10 * number)
        story.write(tx, table, 1, 11 + 10 * number, **row)
        story.commit(tx, 15 + 10 * number, told=16 + 10 * number)
    story.begin("S", 40)
    story.scan("S", table, 41, {})
    story.commit("S", 45, told=46)
    columns = compare(Case(story.history()))
    assert columns.version[columns.kind == PREDICATE].tolist() == [2]


@pytest.mark.parametrize(("session", "valid"), [(False, True), (True, False)])
def test_a_session_read_at_a_timestamp_finds_acknowledged_writes(
    *, session: bool, valid: bool
) -> None:
    story = Story()
    table = story.table()
    story.begin("A", 10, client="c")
    story.write("A", table, 1, 11, client="c")
    story.commit("A", 20, commit_ts=20, told=21, client="c")
    story.begin("R", 40, client="c", read_at=15, session=session)
    story.read("R", table, 1, 41, None, client="c")
    story.commit("R", 45, told=46, client="c")
    columns = compare(Case(story.history()))
    assert judge(columns).valid is valid


@pytest.mark.parametrize(
    "name",
    [
        "smoke",
        "negative/checks_on_arrival_only",
        "negative/builds_on_what_it_knows",
        "iep98/own_ddl_altered",
        "generated/ddl_storm",
        "transactions/read_only",
    ],
)
def test_runs_of_the_cluster_are_judged_alike(name: str) -> None:
    path = ROOT / "scenarios" / f"{name}.toml"
    for seed in range(3):
        compare(Case(run(plan(read(path.read_text("utf-8"), name), seed))))
