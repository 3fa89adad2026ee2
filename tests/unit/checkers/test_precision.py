"""I11: aborts that a schema change asked for, the quirk, and aborts for nothing."""

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.history.events import Failed, TxBegan
from ddlsim.model import ddl
from ddlsim.model.schema import Column, Index
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import anomalies

DROPPED = ddl.ColumnDropped(Column(1, "v", INT))


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


def counts(story: Story) -> dict[str, int]:
    return judge(story.history()).measures.needless_aborts


def refused(reason: str = "SCHEMA_CHANGED", *, tu: int = 20, op_ts: int = 30) -> Story:
    """T writes under version 1, then an operation is refused at op_ts."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=tu, submit=1)
    story.write("T", t, "x", 10)
    story.resolve("T", t, op_ts, 1, at=31)
    story.abort("T", 32, reason)
    return story


@pytest.mark.parametrize("reason", ["SCHEMA_CHANGED", "TABLE_DROPPED"])
def test_an_operation_is_refused_where_its_table_has_changed(reason: str) -> None:
    assert kinds(refused(reason)) == []
    assert counts(refused(reason)) == {}
    assert kinds(refused(reason, tu=30)) == []
    assert kinds(refused(reason, tu=31)) == ["nothing-changed"]
    assert counts(refused(reason, tu=31)) == {"nothing-changed": 1}


def test_a_change_between_enlistment_and_the_first_operation_is_the_quirk() -> None:
    """[110.quirk]"""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=1)
    story._enlist("T", t, 19, 1)
    story.resolve("T", t, 20, 1)
    story.abort("T", 21, "SCHEMA_CHANGED")
    assert kinds(story) == []
    assert counts(story) == {"quirk": 1}


@pytest.mark.parametrize(("op", "quirks"), [("T.1", {}), (None, {"quirk": 1})])
def test_a_view_that_an_operation_went_through_was_used(
    op: str | None, quirks: dict[str, int]
) -> None:
    """[110.view] Operations through it are executed on its table."""
    story = Story()
    t, view = story.table(), story.table("v")
    story.ddl("D", view, ddl.ObjectDropped(), tu=20, submit=1)
    story._enlist("T", view, 9, 1)
    story.resolve("T", view, 10, 1, op=op)
    story.write("T", t, "x", 10, op="T.1")
    story.resolve("T", view, 20, 0, op="T.2")
    story.abort("T", 21, "TABLE_DROPPED")
    assert counts(story) == quirks


def test_schema_rules_judge_schema_reasons_only() -> None:
    story = Story()
    story.abort("T", 5)
    assert kinds(story) == []


def incompatible(change: object, *, shown: bool = False, validated: bool = True) -> Story:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    if shown:
        story.metadata("T", t, 11)
    story.ddl("D", t, change, tu=20)
    if validated:
        story.resolve("T", t, 30, 2, purpose="commit")
    story.abort("T", 31, "SCHEMA_INCOMPATIBLE")
    return story


def test_a_commit_is_refused_where_a_step_is_incompatible() -> None:
    """[110.valid.1]"""
    assert kinds(incompatible(DROPPED)) == []
    assert kinds(incompatible(add_column(2, "w"))) == ["compatible-change"]
    assert kinds(incompatible(DROPPED, validated=False)) == ["not-validated"]


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("schema_at_commit_ts_exact_if_shown", []),
        ("schema_at_commit_ts_exact_if_written", []),
        ("schema_at_commit_ts_exact_if_used_later", ["compatible-change"]),
        ("schema_at_commit_ts", ["compatible-change"]),
    ],
)
def test_a_change_that_could_be_noticed_refuses_a_commit_by_the_rules_that_close_f_1_only(
    rule: str, found: list[str]
) -> None:
    """By the rule as declared: a mutant that takes it is not excused."""

    def told(*, shown: bool) -> list[str]:
        story = incompatible(add_column(2, "w"), shown=shown)
        story.design = replace(story.design, rules={"commit_schema": rule})
        return kinds(story)

    assert told(shown=True) == found
    assert told(shown=False) == ["compatible-change"]


def met(reason: str, change: object, *, op_ts: int = 30) -> list[str]:
    """T writes under version 1, then an operation looks its table up again and is refused."""
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, change, tu=20)
    story.resolve("T", t, op_ts, 2, purpose="enlist")
    story.abort("T", op_ts + 1, reason)
    return kinds(story)


def test_an_operation_is_refused_where_it_meets_an_incompatible_change() -> None:
    """Option 1: each operation runs under the schema of its time."""
    assert met("SCHEMA_INCOMPATIBLE", DROPPED) == []
    assert met("SCHEMA_INCOMPATIBLE", DROPPED, op_ts=19) == ["compatible-change"]  # not yet
    assert met("SCHEMA_INCOMPATIBLE", add_column(2, "w")) == ["compatible-change"]
    assert met("SCHEMA_INCOMPATIBLE", ddl.ObjectDropped()) == []


def test_an_operation_is_refused_where_its_table_is_gone_as_it_is_looked_up_again() -> None:
    assert met("TABLE_DROPPED", ddl.ObjectDropped()) == []
    assert met("TABLE_DROPPED", ddl.ObjectDropped(), op_ts=19) == ["nothing-changed"]
    assert met("TABLE_DROPPED", DROPPED) == ["nothing-changed"]
    assert met("SCHEMA_CHANGED", DROPPED) == ["nothing-changed"]  # a primary compares


def marked(change: object, *, at: int) -> Story:
    story = Story(settings={"": {"max_clock_skew_ms": 10}, "n1": {}, "n2": {}})
    t = story.table()
    story.clock("n2", 5)
    story.write("T", t, "x", 10)
    story.ddl("D", t, change, tu=20, submit=11)
    story.abort("T", at, "ROLLBACK_ONLY")
    return story


def test_a_mark_is_for_an_incompatible_change_that_is_active() -> None:
    """[110.valid.3]"""
    assert kinds(marked(DROPPED, at=20)) == []
    assert kinds(marked(DROPPED, at=15)) == []  # some clock may show it
    assert kinds(marked(DROPPED, at=14)) == ["marked-too-early"]
    assert kinds(marked(add_column(2, "w"), at=30)) == ["compatible-change"]


def test_no_mark_is_for_a_read_only_transaction() -> None:
    story = Story(settings={"": {"max_clock_skew_ms": 10}, "n1": {}})
    t = story.table()
    story.begin("T", 10, read_at=8)
    story.read("T", t, "x", 10, None, op_ts=8)
    story.ddl("D", t, DROPPED, tu=20, submit=11)
    story.abort("T", 30, "ROLLBACK_ONLY")
    assert kinds(story) == ["reader-marked"]


INDEXED = ddl.IndexCreated(Index(9, "i", (1,)))


def newer_row(*, version: int, backward: str = "forbid_all", change: object = None) -> Story:
    story = Story(backward=backward)
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, change or add_column(2, "w"), tu=20)
    story.write("W", t, "y", 30, version=version)
    story.abort("T", 40, "NEWER_ROW_VERSION")
    return story


def test_newer_row_version_needs_a_newer_row_that_the_rule_forbids() -> None:
    """[110.back]"""
    assert kinds(newer_row(version=2)) == []
    assert kinds(newer_row(version=1)) == ["no-newer-row"]
    assert kinds(newer_row(version=2, backward="by_change_type")) == ["harmless-row"]
    assert kinds(newer_row(version=2, backward="by_change_type", change=DROPPED)) == []
    assert kinds(newer_row(version=2, backward="by_table_version")) == []
    assert kinds(newer_row(version=2, backward="by_table_version", change=INDEXED)) == [
        "harmless-row"
    ]


@pytest.mark.parametrize(("name", "found"), [("t", ["name-exists"]), ("nobody", [])])
def test_table_not_found_needs_a_missing_name(name: str, found: list[str]) -> None:
    story = Story()
    story.table("t")
    story.resolve("T", 0, 10, 0, purpose="enlist", name=name)
    story.abort("T", 10, "TABLE_NOT_FOUND")
    story.abort("U", 10, "COLUMN_NOT_FOUND")
    assert kinds(story) == found  # what operations name is not told there


def test_a_needless_abort_breaks_the_claim() -> None:
    """Nothing else does: what is not claimed is accepted."""
    for claims, status, outcome in ((("I11",), "violation", "violated"), ((), "accepted", "ok")):
        story = Story(claims)
        t = story.table()
        story.write("T", t, "x", 10)
        story.abort("T", 11, "SCHEMA_CHANGED")
        verdict = judge(story.history())
        assert [violation.status for violation in verdict.violations] == [status]
        assert verdict.outcome.word == outcome


def implicit(*reasons: str) -> Story:
    """Attempts that were aborted for these reasons; the client hears of the last one."""
    story = Story()
    for number, reason in enumerate(reasons):
        label = f"w{f'r{number}' if number else ''}"
        story.add(10 + number, TxBegan, label, "n1", ts(10 + number), True)
        story.abort(label, 10 + number, reason)
    story.add(30, Failed, "c", "w", reasons[-1])
    return story


def tried(*reasons: str) -> list[str]:
    return [kind for kind in kinds(implicit(*reasons)) if "tried" in kind]


@pytest.mark.parametrize("reason", ["SCHEMA_CHANGED", "LOCK_CONFLICT", "PRIMARY_EXPIRED"])
def test_an_implicit_transaction_is_tried_ten_times(reason: str) -> None:
    """[110.flow.8]"""
    for attempts in range(1, 10):
        assert tried(*[reason] * attempts) == ["not-tried-again"]
    assert tried(*[reason] * 10) == []
    assert tried(*[reason] * 11) == ["tried-too-often"]


@pytest.mark.parametrize(("answered", "found"), [(109, ["not-tried-again"]), (110, [])])
def test_an_attempt_that_ends_behind_the_time_limit_is_the_last(
    answered: int, found: list[str]
) -> None:
    """Its operation ends behind its abort, if that was by a mark."""
    story = Story(settings={"n1": {"tx_timeout_ms": 100}})
    story.add(10, TxBegan, "w", "n1", ts(10), True)
    story.abort("w", 50, "ROLLBACK_ONLY")
    story.add(answered, Failed, "c", "w", "ROLLBACK_ONLY")
    assert [kind for kind in kinds(story) if "tried" in kind] == found


@pytest.mark.parametrize(
    ("last", "found"), [("w", "not-tried-again"), ("w~1", "not-tried-again"), ("w~1r1", None)]
)
def test_attempts_count_anew_behind_a_restart_of_the_coordinator(
    last: str, found: str | None
) -> None:
    """Of w, w~1 and w~1r1 the client has the last one's failure."""
    story = Story()
    for number, label in enumerate(("w", "w~1", "w~1r1")):
        story.add(10 + number, TxBegan, label, "n1", ts(10 + number), True)
        story.abort(label, 10 + number, "LOCK_CONFLICT")
        if label == last:
            break
    reason = "LOCK_CONFLICT" if found else "CHECK_VIOLATED"
    story.add(30, Failed, "c", "w", reason)
    assert [kind for kind in kinds(story) if "tried" in kind] == ([found] if found else [])


@pytest.mark.parametrize("reason", ["TABLE_NOT_FOUND", "BAD_ROW", "CHECK_VIOLATED"])
def test_a_final_reason_allows_no_other_attempt(reason: str) -> None:
    assert tried(reason) == []
    assert tried("SCHEMA_CHANGED", reason) == []
    assert tried(reason, reason) == ["tried-too-often"]
