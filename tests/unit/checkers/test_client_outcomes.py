"""Part of I7: what clients learn of the ends of their transactions."""

from typing import Any

import pytest

from ddlsim.history.events import Failed, Invoked, Ok, TxBegan
from tests.support.history import Story, ts
from tests.support.judging import anomalies


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("data_matches_schema", story)]


def with_a_failure(
    reason: str = "SCHEMA_CHANGED", *, told: float = 12, read_at: int | None = None
) -> Story:
    """T read 7, then an operation failed at `told`, and T committed as its client asked at 20."""
    story = Story()
    table = story.table()
    story.begin("T", 9, read_at=read_at)
    story.read("T", table, 7, 10, None)
    story.add(11, Invoked, "client of T", "op9", "T", "n1", "get", table="t", key=8)
    story.add(told, Failed, "client of T", "op9", reason)
    story.commit("T", 25, invoked=20, commit_ts=25)
    return story


@pytest.mark.parametrize("reason", ["SCHEMA_CHANGED", "TABLE_DROPPED", "KEY_EXISTS", "BAD_ROW"])
def test_a_transaction_does_not_commit_after_an_operation_has_failed(reason: str) -> None:
    """IEP-110 says so of schemas; of other failures the designs do, which retry the whole."""
    [anomaly] = anomalies("data_matches_schema", with_a_failure(reason))
    assert anomaly.kind == "committed-after-failure"
    assert anomaly.clauses == ("110.valid.2", "110.flow.7")
    assert f"op9 failed for its client ({reason}), which ends T" in anomaly.summary


def test_what_came_too_late_has_not_failed_for_its_transaction() -> None:
    assert kinds(with_a_failure("TX_FINISHED")) == []


@pytest.mark.parametrize("read_at", [None, 5])
def test_an_operation_under_way_when_the_commit_is_asked_for_says_nothing(
    read_at: int | None,
) -> None:
    assert kinds(with_a_failure(told=19, read_at=read_at)) == ["committed-after-failure"]
    assert kinds(with_a_failure(told=21, read_at=read_at)) == []


def test_a_failure_of_what_aborts_in_the_end_is_as_it_should_be() -> None:
    story = Story()
    table = story.table()
    story.read("T", table, 7, 10, None)
    story.add(11, Invoked, "client of T", "op9", "T", "n1", "get", table="t", key=8)
    story.add(12, Failed, "client of T", "op9", "SCHEMA_CHANGED")
    story.abort("T", 12, "SCHEMA_CHANGED")
    assert kinds(story) == []


@pytest.mark.parametrize(("answer", "due"), [(Ok, ["rolled-back-and-committed"]), (Failed, [])])
def test_what_was_rolled_back_for_its_client_is_not_committed(answer: Any, due: list[str]) -> None:
    story = Story()
    table = story.table()
    story.write("T", table, 7, 10)
    story.add(11, Invoked, "client of T", "T.rb", "T", "n1", "rollback")
    story.add(13, answer, "client of T", "T.rb", *(() if answer is Ok else ("TX_FINISHED",)))
    story.commit("T", 12, outcome=None)
    assert kinds(story) == due


def test_an_acknowledged_commit_of_reads_alone_is_lost_too() -> None:
    """What it had read counts as committed for its client, and I3 does not judge it."""
    story = Story()
    table = story.table()
    story.read("T", table, 7, 10, None)
    story.abort("T", 11)
    story.commit("T", 12, stored=False)
    assert kinds(story) == ["lost-commit"]


@pytest.mark.parametrize(("tries", "due"), [(1, []), (2, ["committed-twice"])])
def test_an_operation_alone_takes_effect_once(tries: int, due: list[str]) -> None:
    """Whichever of its tries its client was answered for."""
    story = Story()
    table = story.table()
    for number in range(tries):
        tx = f"op1r{number}" if number else "op1"
        story.add(9 + number, TxBegan, tx, "n1", ts(9 + number), implicit=True)
        story.write(tx, table, 7, 10 + number, op="op1", client="c", implicit=True, ok=False)
        story.commit(tx, 20 + number, implicit=True)
    story.add(30, Ok, "c", "op1")
    assert kinds(story) == due
