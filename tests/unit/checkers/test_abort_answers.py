"""What an operation is answered that was under way when its transaction was aborted."""

from typing import Any

import pytest

from ddlsim.history.events import Failed, Invoked, TxAborted, TxBegan
from ddlsim.history.world_events import NodeCrashed
from tests.support.history import Story, ts
from tests.support.judging import anomalies

Told = tuple[Any, ...]


def asked(at: float, op: str = "T.1", kind: str = "put", node: str = "n1") -> Told:
    return at, Invoked, "c", op, "T", node, kind, "t", 1


def answered(at: float, reason: str = "TX_FINISHED", op: str = "T.1") -> Told:
    return at, Failed, "c", op, reason


def aborted(at: float, reason: str = "ROLLBACK_ONLY", node: str = "n1") -> Told:
    return at, TxAborted, node, "T", reason


def kinds(*events: Told) -> list[str]:
    story = Story()
    story.table("t")
    story.add(0, TxBegan, "T", "n1", ts(0))
    for at, kind, *fields in events:
        story.add(at, kind, *fields)
    return [one.kind for one in anomalies("machinery", story) if one.clauses == ("110.flow.7",)]


FOUND = ["reason-not-answered"]


@pytest.mark.parametrize("kind", ["put", "get", "scan", "commit"])
def test_what_was_under_way_is_answered_with_the_reason(kind: str) -> None:
    assert kinds(asked(10, kind=kind), aborted(20), answered(30)) == FOUND
    assert kinds(asked(10, kind=kind), aborted(20), answered(30, "ROLLBACK_ONLY")) == []
    assert kinds(asked(10, kind=kind), aborted(20, "TX_FINISHED"), answered(30)) == []


def test_what_comes_later_or_was_over_before_may_be_answered_so() -> None:
    assert kinds(aborted(5), asked(10), answered(30)) == []
    assert kinds(asked(10), answered(15), aborted(20)) == []


def test_an_abort_by_another_node_need_not_be_known() -> None:
    assert kinds(asked(10), aborted(20, node="n2"), answered(30)) == []
    assert kinds(asked(10, node="n2"), aborted(20), answered(30)) == []


def test_a_coordinator_that_died_does_not_know_the_reason() -> None:
    death = (25, NodeCrashed, "n1")
    assert kinds(asked(10), aborted(20), death, answered(30)) == []
    assert kinds(asked(10), aborted(20), answered(30), (35, NodeCrashed, "n1")) == FOUND


@pytest.mark.parametrize("kind", ["commit", "rollback"])
def test_beside_an_end_by_the_client_nothing_is_judged(kind: str) -> None:
    end = asked(12, "T.2", kind)
    assert kinds(asked(10), end, aborted(20), answered(30)) == []
    assert kinds(asked(10), aborted(20), answered(30), asked(35, "T.2", kind)) == FOUND
