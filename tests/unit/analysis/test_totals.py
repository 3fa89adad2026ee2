"""Many runs taken together: totals, pooled durations, and what was found, told once."""

from ddlsim.analysis.sweep.totals import grouped, times_of, total
from ddlsim.history.figures import durations
from tests.support.results import WAITS_US, a_crash, a_cycle, a_row, a_violation, some_figures


def test_total_sums_counts_and_divides_the_sums() -> None:
    more = some_figures(committed=10, aborted={"SCHEMA_CHANGED": 10}, attempts=20)
    taken = total([a_row(0), a_row(1, figures=more)])
    assert taken is not None
    assert (taken.committed, taken.attempts, taken.unknown) == (100, 120, 2)
    assert taken.aborted == {"LOCK_CONFLICT": 6, "SCHEMA_CHANGED": 13}
    assert taken.schema_abort_rate == round(13 / 120, 6)
    assert (taken.simulated_ms, taken.events) == (6200.0, 2 * 8605)


def test_total_pools_durations() -> None:
    taken = total([a_row(0), a_row(1)])
    assert taken is not None
    exact = durations(WAITS_US * 2)
    assert (taken.dml_latency_ms.count, taken.dml_latency_ms.max) == (exact.count, exact.max)
    assert taken.dml_latency_ms.mean == exact.mean


def test_total_of_crashed_runs_is_none() -> None:
    alone, with_crash = total([a_row(0)]), total([a_crash(1), a_row(0)])
    assert with_crash == alone
    assert total([a_crash(0)]) is None


def test_grouped_lists_each_structure_once() -> None:
    rows = [
        a_row(3, a_violation(), a_violation(summary="of another transaction")),
        a_row(5, a_violation(), a_cycle()),
    ]
    wrong, cycle = grouped(rows)
    assert (wrong.seeds, wrong.times) == ((3, 5), 3)
    assert wrong.example.summary.startswith("node n3")
    assert wrong.argument == "  the argument of 3.0"
    assert (cycle.seeds, cycle.times) == ((5,), 1)
    assert cycle.argument == "  the argument of 5.1"


def test_grouped_separates_statuses() -> None:
    rows = [a_row(0, a_cycle("accepted"), a_cycle("finding:F-1"), a_cycle())]
    statuses = [one.example.status for one in grouped(rows)]
    assert statuses == ["violation", "finding:F-1", "accepted"]


def test_grouped_puts_the_more_frequent_first() -> None:
    rows = [a_row(0, a_violation()), a_row(1, a_cycle()), a_row(2, a_cycle())]
    assert [one.example.invariant for one in grouped(rows)] == ["I3", "I1"]


def test_times_of_includes_omitted_violations() -> None:
    omitted = {"atomicity wrong-version violation": 40, "atomicity wrong-version accepted": 7}
    rows = [a_row(0, a_violation(), omitted=omitted), a_row(1, a_violation())]
    assert times_of(grouped(rows), rows) == 42


def test_grouped_of_runs_without_violations_is_empty() -> None:
    assert grouped([a_row(0), a_crash(1)]) == []
