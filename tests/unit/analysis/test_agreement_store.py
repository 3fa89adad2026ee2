"""Closed form and simulation on a key-value store; and a wrong formula is seen to disagree."""

import pytest

from ddlsim.analysis.formula import store_forms
from tests.agreement import store, store_costs
from tests.agreement.base import Line, Setup, measured


def off(lines: list[Line]) -> list[str]:
    return [f"{line.cell} {line.figure}: {line}" for line in lines if not line.agrees]


def test_aborts_and_stale_commits() -> None:
    lines = store.lines(range(2), quick=True, jobs=1)
    assert not off(lines)
    assert {line.figure for line in lines} == {
        "schema abort rate",
        "attempts until one commits",
        "stale commits",
        "crossing commits",
        "stale commits for a change",
    }
    rates = {line.cell["design"]: line.simulated for line in lines[::2][:2]}
    assert rates["c12_grv"] > 1.5 * rates["c16_tables"], "changes of other tables abort, too"


def test_costs() -> None:
    lines = store_costs.lines(range(2), quick=True, jobs=1)
    assert not off(lines)
    assert {line.figure for line in lines} == {
        "DDL latency, ms",
        "reads of the schema per s",
        "time to read the version key, ms",
    }


def test_a_rate_of_one_table_for_a_conflict_on_all_disagrees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = measured([store.world('name = "c12_grv"', 100, 1)], range(3), store.crossed, jobs=1)[0]
    assert store.aborts("c12_grv", 100, runs).agrees
    assert store.restarts("c12_grv", 100, runs).agrees
    monkeypatch.setitem(store.EXACT, "c12_grv", store.OWN_TABLE)
    assert not store.aborts("c12_grv", 100, runs).agrees
    assert not store.restarts("c12_grv", 100, runs).agrees


def test_a_lease_without_its_drift_and_a_distance_without_the_window_disagree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    c5 = measured([store_costs.statements("c5_lease")], range(1), store_costs.latencies, jobs=1)[0]
    c10 = measured(
        [store_costs.statements("c10_two_cutoffs")], range(1), store_costs.latencies, jobs=1
    )[0]
    assert store_costs.of_statements("c5_lease", c5).agrees
    assert store_costs.of_statements("c10_two_cutoffs", c10).agrees
    monkeypatch.setattr(store_forms, "longest_lease", lambda lease, drift: lease)
    monkeypatch.setattr(store_costs, "WINDOW_MS", 1)
    assert not store_costs.of_statements("c5_lease", c5).agrees
    assert not store_costs.of_statements("c10_two_cutoffs", c10).agrees


def far_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages take long, and versions come often: nothing else makes up for a transaction."""
    way_ms, idle_ms = 5.0, 5
    for name, value in (
        ("WAY_MS", way_ms), ("RTT_MS", 2 * way_ms), ("READ_VERSION_MS", 4 * way_ms + 0.5),
        ("IDLE_MS", idle_ms), ("LAG_MS", idle_ms + 8 * way_ms),
    ):  # fmt: skip
        monkeypatch.setattr(store_costs, name, value)


@pytest.mark.parametrize("design", ["c8_future_rv", "c9_future_cv", "c11_future_conflict"])
def test_a_statement_that_is_erased_behind_its_wait_ends_with_one_transaction_more(
    design: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    far_apart(monkeypatch)
    runs = measured([store_costs.statements(design)], range(1), store_costs.latencies, jobs=1)[0]
    assert store_costs.of_statements(design, runs).agrees


def test_a_new_table_under_leases_needs_no_such_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    far_apart(monkeypatch)
    text = store_costs.statements("c6_f1").text
    for number in range(store_costs.STATEMENTS):
        added, made = f"ALTER TABLE a ADD COLUMN c{number} INT", f"CREATE TABLE t{number} (id INT"
        text = text.replace(added, f"{made} PRIMARY KEY)")
    runs = measured([Setup(text)], range(1), store_costs.latencies, jobs=1)[0]
    assert store_costs.of_statements("c6_f1", runs).agrees


def test_forms_at_their_ends() -> None:
    assert store_forms.changed_within(0.0, 50.0) == 0
    assert store_forms.changed_since_poll(0.0, 100.0) == 0
    assert store_forms.changed_since_poll(0.01, 0.0, 30.0) == store_forms.changed_within(0.01, 30.0)
    least, most = store_forms.queued(0.5, 1.0)
    assert (least, most) == (1.5, 2.0)
    assert store_forms.queued(1.0, 1.0)[1] == float("inf")
    assert store_forms.orphans(0.1, 80.0, 50.0, 100.0) == pytest.approx(3.0)
    assert store_forms.orphans(0.1, 80.0, 90.0, 100.0) == 0, "writes end before the clean-up"
    assert store_forms.orphans(0.1, 120.0, 50.0, 100.0) == 0, "too old for the window"
