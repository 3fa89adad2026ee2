"""Goals as an operator writes them, and what is said to those that cannot be read."""

import pytest

from ddlsim.analysis.tune.goals import DEFAULT, TuneError, read_goal, read_goals


@pytest.mark.parametrize(
    ("text", "metric", "limit"),
    [
        ("dml_wait_p99<=1ms", "dml_wait_p99", 1.0),
        ("ddl_latency_p99 < 2s", "ddl_latency_p99", 2_000.0),
        ("schema_wait_mean<=250us", "schema_wait_mean", 0.25),
        ("schema_abort_rate<=1e-4", "schema_abort_rate", 1e-4),
        ("schema_abort_rate<=0.5%", "schema_abort_rate", 0.005),
    ],
)
def test_read_goal(text: str, metric: str, limit: float) -> None:
    goal = read_goal(text)
    assert (goal.metric, goal.limit) == (metric, pytest.approx(limit))
    assert read_goal(goal.text) == goal, "it can be written and read again"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("dml_wait_p99", "expected METRIC<=LIMIT, such as dml_wait_p99<=1ms"),
        ("", "expected METRIC<=LIMIT"),
        ("dml_wait_p98<=1ms", "unknown metric 'dml_wait_p98'; did you mean dml_wait_p9"),
        ("dml_wait_p99>=1ms", "only upper limits: say dml_wait_p99<=1ms"),
        ("dml_wait_p99<=1", "the limit has no unit; say 1ms, us or s"),
        ("dml_wait_p99<=1min", "unknown unit 'min'; known: us, ms, s"),
        ("dml_wait_p99<=ms", "the limit is not a number"),
        ("dml_wait_p99<=-1ms", "a time is not negative"),
        ("schema_abort_rate<=1ms", "a rate lies between 0 and 1, or 0% and 100%"),
        ("schema_abort_rate<=101%", "a rate lies between 0 and 1"),
    ],
)
def test_read_goal_refuses_what_is_not_an_upper_limit(text: str, told: str) -> None:
    with pytest.raises(TuneError) as caught:
        read_goal(text)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"--slo {text!r}: ")


def test_read_goals_has_a_default_and_refuses_a_second_limit() -> None:
    assert [goal.text for goal in read_goals([])] == [DEFAULT]
    with pytest.raises(TuneError, match="has a limit already"):
        read_goals(["dml_wait_p99<=1ms", "dml_wait_p99<=2ms"])
