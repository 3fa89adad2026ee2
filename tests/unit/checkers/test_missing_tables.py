"""An operation whose primary found no table at its timestamp must not run [110.table.exists]."""

import pytest
from msgspec.structs import replace

from ddlsim.checkers.missing_tables import NEEDED
from ddlsim.history.events import ReadExecuted, SchemaResolved, WriteExecuted
from tests.support.history import Story, ts
from tests.support.judging import anomalies

WENT_ON = "went-on-without-its-table"


def kinds(event: type, *, purpose: str = "after-locks", version: int = 0, **more: object) -> int:
    """How often a look-up at 10 that finds this version is followed by an execution at 10."""
    story = Story()
    rules = more.get("rules", NEEDED)
    assert isinstance(rules, dict), rules
    story.design = replace(story.design, rules=rules)
    t = story.table("t")
    story.begin("T", 5)
    looked_up = (more.get("node", "n1"), "T", "T.o", purpose, None, t, ts(10), version, 0)
    story.add(10, SchemaResolved, *looked_up)
    last = (False, ()) if event is ReadExecuted else (None,)
    op_ts = more.get("op_ts", ts(10))
    if event is ReadExecuted:
        story.add(10, ReadExecuted, "n1", "T", "T.o", t, 0, op_ts, 1, *last)
    else:
        story.add(10, WriteExecuted, "n1", "T", "T.o", t, 0, 7, op_ts, 1, *last)
    return sum(one.kind == WENT_ON for one in anomalies("machinery", story))


@pytest.mark.parametrize("event", [ReadExecuted, WriteExecuted])
def test_what_is_executed_without_its_table_is_named(event: type) -> None:
    assert kinds(event) == 1
    assert kinds(event, purpose="arrival") == 1
    assert kinds(event, version=1) == 0


def test_a_look_up_at_another_timestamp_node_or_for_a_commit_forbids_nothing() -> None:
    assert kinds(ReadExecuted, op_ts=ts(11)) == 0
    assert kinds(ReadExecuted, node="n2") == 0
    assert kinds(ReadExecuted, purpose="commit") == 0


@pytest.mark.parametrize("field", NEEDED)
def test_a_design_without_the_rule_promises_nothing(field: str) -> None:
    assert kinds(ReadExecuted, rules={**NEEDED, field: "another"}) == 0
