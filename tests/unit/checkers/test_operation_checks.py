"""An operation runs at the timestamp of its last check, under the version that this found."""

import pytest
from msgspec.structs import replace

from ddlsim.checkers.rules.operation_checks import NEEDED, OF_VERSIONS
from ddlsim.history.events import ReadExecuted, SchemaResolved, WriteExecuted
from tests.support.history import Story, ts
from tests.support.judging import anomalies

WENT_ON = "went-on-without-its-table"
UNCHECKED, ANOTHER = "ran-unchecked", "ran-under-another-version"
ALL = {**NEEDED, **OF_VERSIONS}


def kinds(
    event: type,
    *,
    purpose: str = "after-locks",
    version: int = 0,
    read_at: int | None = None,
    **more: object,
) -> list[str]:
    """What is wrong where a look-up at 10 that finds this version precedes an execution at 10."""
    story = Story()
    rules = more.get("rules", NEEDED)
    assert isinstance(rules, dict), rules
    story.design = replace(story.design, rules=rules)
    t = story.table("t")
    story.begin("T", 5, read_at=read_at)
    looked_up = (more.get("node", "n1"), "T", "T.o", purpose, None, t, ts(10), version, 0)
    story.add(10, SchemaResolved, *looked_up)
    last = (False, ()) if event is ReadExecuted else (None,)
    op_ts = more.get("op_ts", ts(10))
    if event is ReadExecuted:
        story.add(10, ReadExecuted, "n1", "T", "T.o", t, 0, op_ts, 1, *last)
    else:
        story.add(10, WriteExecuted, "n1", "T", "T.o", t, 0, 7, op_ts, 1, *last)
    named = (WENT_ON, UNCHECKED, ANOTHER)
    return [one.kind for one in anomalies("machinery", story) if one.kind in named]


EVENTS = pytest.mark.parametrize("event", [ReadExecuted, WriteExecuted])


@EVENTS
def test_what_is_executed_without_its_table_is_named(event: type) -> None:
    assert kinds(event) == [WENT_ON]
    assert kinds(event, purpose="arrival") == [WENT_ON]
    assert kinds(event, version=1) == []


@EVENTS
def test_what_is_executed_where_nothing_was_looked_up_is_named(event: type) -> None:
    """It waited behind its check, and went on at a later timestamp without another one."""
    for version in (0, 1):
        assert kinds(event, version=version, op_ts=ts(11)) == [UNCHECKED]
        assert kinds(event, version=version, node="n2") == [UNCHECKED]
        assert kinds(event, version=version, purpose="commit") == [UNCHECKED]
    assert kinds(event, op_ts=ts(11), read_at=ts(9)) == []  # read-only: it waits at a replica


@EVENTS
def test_what_is_executed_under_another_version_than_was_found_is_named(event: type) -> None:
    assert kinds(event, version=2, rules=ALL) == [ANOTHER]
    assert kinds(event, version=1, rules=ALL) == []
    for field in OF_VERSIONS:
        assert kinds(event, version=2, rules={**ALL, field: "another"}) == []


@pytest.mark.parametrize("field", NEEDED)
def test_a_design_without_the_rule_promises_nothing(field: str) -> None:
    assert kinds(ReadExecuted, rules={**NEEDED, field: "another"}) == []
    assert kinds(ReadExecuted, op_ts=ts(11), rules={**NEEDED, field: "another"}) == []
