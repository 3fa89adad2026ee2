"""The table of designs on the FoundationDB plane: what its runs tell, and what they do not."""

from functools import cache
from math import exp

import pytest

from ddlsim.analysis.compare import compare as comparing
from ddlsim.analysis.compare import lines
from ddlsim.analysis.compare.compare import World, line_of, worlds
from ddlsim.analysis.compare.formulas import _conflicts
from ddlsim.analysis.compare.measured import Measured, measured
from ddlsim.analysis.compare.records import Value
from ddlsim.analysis.formula.by_formula import Forms
from ddlsim.cluster.fdb_cluster import schema_servers
from ddlsim.cluster.run import run
from ddlsim.history.events import (
    Enlisted,
    Failed,
    Invoked,
    RowFinal,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    UpdateLogged,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageSent
from ddlsim.model.ddl import ObjectChange, ObjectDropped
from ddlsim.plan.plan import plan
from ddlsim.scenario.scenario import override
from ddlsim.units import timestamp
from ddlsim.verify.campaign import Runner
from ddlsim.verify.prices import Prices, prices
from ddlsim.verify.rates import Lost, rates
from ddlsim.verify.row import RunRow


@cache
def on_store() -> tuple[World, History, Prices]:
    """A traced run of a layer that reads the schema in every transaction."""
    one = worlds(["c1_schema"], None, {})[0][0]
    planned = plan(one.scenario, 1, trace=True)
    history = run(planned)
    return one, history, prices(history, schema_servers(planned))


def test_reads_of_the_server_that_holds_only_the_schema_are_reads_of_the_schema() -> None:
    one, history, taken = on_store()
    (server,) = schema_servers(plan(one.scenario, 1))
    assert server not in {row.node for row in history.of(RowFinal)}
    reads = [
        event
        for event in history.events
        if type(event) is MessageSent and event.to == server and event.kind in ("get", "get-range")
    ]
    begun = sum(type(event) is TxBegan for event in history.events)
    assert taken.schema_reads == len(reads) >= begun > 50
    load_us = 1_000 * taken.load_ms
    assert taken.schema_hottest == sum(event.at_us < load_us for event in reads) > 50
    assert server in taken.received
    assert not {one.client for one in history.of(Invoked)} & set(taken.received)


def test_where_the_schema_shares_its_servers_its_reads_are_not_told() -> None:
    one, history, _ = on_store()
    shared = override(one.scenario, {"fdb.replicas": 2})
    assert schema_servers(plan(shared, 1)) == ()
    assert schema_servers(plan(worlds(["iep"], None, {})[0][0].scenario, 1)) == ()
    assert (prices(history).schema_reads, prices(history).schema_hottest) == (None, None)


def test_the_time_to_read_the_schema_is_added() -> None:
    one, history, taken = on_store()
    told = line_of(one, [Runner(comparing.job_of(one, ())).row(1)], ())
    assert told.dml_added_p99.value is not None
    assert told.dml_p99.value is not None
    assert 0.1 < told.dml_added_p99.value < told.dml_p99.value
    begun = len(history.of(TxBegan))
    assert begun / 2 < _waits(history) <= begun, "each that does anything reads it once"
    assert taken.added_us.counts[0] > begun / 2, "and its other operations add nothing"


def test_the_wait_for_the_read_version_is_not_added() -> None:
    one, _ = _run("c16_safe")
    history = run(plan(one.scenario, 1))
    begun = len(history.of(TxBegan))
    assert 0 < _waits(history) < begun / 3, "only those behind a change read the schema"
    assert line_of(*_run("c2b_poll"), ()).dml_added_p99.value == 0


def _waits(history: History) -> int:
    """How many look-ups waited."""
    return sum(one.waited_us > 0 for one in history.of(SchemaResolved))


def test_a_commit_that_conflicts_with_a_change_of_the_schema_is_a_schema_abort() -> None:
    fast = {"migration[0].every_ms": 10, "migration[0].at_ms": 10}
    checked = line_of(*_run("c16_safe", fast), ())
    unchecked = line_of(*_run("c2b_poll", fast), ())
    assert checked.schema_aborts.value is not None
    assert unchecked.schema_aborts.value is not None
    assert checked.schema_aborts.value > 0.02 > unchecked.schema_aborts.value


@cache
def took() -> Measured:
    """80 changes a second of one table; spans of 10 ms of those that commit, and 30 ms of all."""
    [row] = _run("c1_schema")[1]
    rounded = measured([row])._replace(attempts=100, users=40, missed=0, newer=0, in_load=80)
    return rounded._replace(
        load_ms=1_000.0, span_ms=10.0, whole_ms=30.0, exponents={1: (0.08, 0.0, 10.0)},
        outdates={1: Lost(1_000_000, 0, 0)}, lost={1: Lost(1_600_000, 0, 0), 2: Lost(9, 9, 9)},
    )  # fmt: skip


@pytest.mark.parametrize("design", ["c12_grv", "c16_tables"])
def test_longer_transactions_conflict_more_often_than_those_that_commit(design: str) -> None:
    """6.3: the form of committed spans alone was too low by half where half of all abort."""
    rules = Forms(worlds([design], None, {})[0][0].scenario).design.rules
    least, most = 1 - exp(-0.8), 1 - exp(-2.4)
    assert _conflicts(rules, took(), 0.0, 0.0, 4) == pytest.approx((least, most))
    newer = took()._replace(newer=10)
    ends = (0.1 + 0.9 * least, 1 - 0.9 * exp(-2.4 / 0.9))
    assert _conflicts(rules, newer, 0.0, 0.0, 4) == pytest.approx(ends), "whatever the changes"


@pytest.mark.parametrize("missed", [0, 50, 100])
def test_the_spans_of_all_may_be_those_of_the_attempts_that_missed_nothing(missed: int) -> None:
    """Each of the others lasts as long as the rest; those that found no table used none."""
    rules = Forms(worlds(["c12_grv"], None, {})[0][0].scenario).design.rules
    share = (missed + (100 - missed) * (1 - exp(-0.08 * 30))) / 100
    spans = took()._replace(missed=missed, whole_ms=30.0 * (100 - missed) / 100)
    found = _conflicts(rules, spans, 0.0, 0.0, 4)
    assert found is not None
    assert found[1] == pytest.approx(share), "the ends include what such attempts do"


def test_the_longest_use_of_an_aborted_transaction_is_told() -> None:
    history = History(on_store()[1].header)
    history.events = [
        TxBegan(0, "T", "n1", 0, implicit=False),
        Enlisted(0, "T", "n1", 1, "a", timestamp(10), 1),
        Enlisted(0, "T", "n1", 2, "b", timestamp(40), 1),
        TxAborted(60_000, "n1", "T", "SCHEMA_CONFLICT"),
    ]
    assert (rates(history).span_us, rates(history).lost_span_us) == (0, 50_000)


@pytest.mark.parametrize("design", ["c11_future_conflict", "c14_modes"])
def test_changes_that_come_into_force_behind_the_load_test_nothing(design: str) -> None:
    one = line_of(*_run(design), ())
    assert (one.verdict, one.changes_met.value) == ("untested", 0)
    assert one.schema_aborts == Value(None, why="no change came into force under load")
    assert "schema_aborts" not in one.formulas
    assert "ddl_p50" in one.formulas


def test_where_no_change_is_met_what_a_design_breaks_counts() -> None:
    one = line_of(*_run("tidb_lease"), ())
    assert (one.verdict, one.changes_met.value) == ("unclaimed", 0)
    assert one.refused.value == 0, "a process that has not read the schema yet reads it"


def test_aborts_by_changes_that_nothing_ran_under_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_met", lambda _row: 0.0)
    one = line_of(*_run("c16_safe"), ())
    assert (one.verdict, one.changes_met.value) == ("untested", 0)
    assert one.schema_aborts.value is not None
    assert one.schema_aborts.value > 0


def test_a_change_that_a_transaction_runs_under_is_met() -> None:
    _, history, _ = on_store()
    began = {event.tx for event in history.of(TxBegan)}
    ran = {
        (object_id, version)
        for event in history.of(TxCommitted)
        for object_id, version, _ in event.tables if event.tx in began
    }  # fmt: skip
    met = [
        update
        for update in history.of(UpdateLogged)
        if update.op is not None
        and any((one.object_id, later) in ran for one in update.objects
                for later in range(one.version, 20))
    ]  # fmt: skip
    assert 3 < rates(history).met == len(met) < rates(history).changes
    assert line_of(*_run("c1_schema"), ()).changes_met.value == len(met)


def test_a_dropped_table_is_met_where_an_operation_does_not_find_it() -> None:
    history = History(on_store()[1].header)
    gone = ObjectChange(3, "table", "c", 2, None, (ObjectDropped(),))
    dropped = UpdateLogged(10, "n1", "d.1", 1, 2, 10, 10, 0, (gone,))
    asked = Invoked(4, "c", "c.1", None, "n1", "put", "c", 1)
    for at_us, reason, met in (
        (20, "TABLE_NOT_FOUND", 1), (9, "TABLE_NOT_FOUND", 0), (20, "TX_CONFLICT", 0),
    ):  # fmt: skip
        history.events = [asked, dropped, Failed(at_us, "c", "c.1", reason)]
        assert rates(history).met == met


def test_a_scenario_with_a_mistake_of_the_store_tells_nothing_of_a_design() -> None:
    """C7-T2 breaks I1 with a store that answers wrongly; c15_known_bug needs none for that."""
    shown = comparing.Shipped()
    assert shown.breaches("c7_ss_local") == []
    assert {one.invariant for one in shown.breaches("c15_known_bug")} >= {"I1", "I7"}


def _run(design: str, settings: dict[str, object] | None = None) -> tuple[World, list[RunRow]]:
    one = worlds([design], None, settings or {})[0][0]
    return one, [Runner(comparing.job_of(one, ())).row(1)]
