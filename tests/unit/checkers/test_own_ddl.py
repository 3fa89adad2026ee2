"""I4: after the acknowledgement of a DDL everyone sees it. [98.own]"""

import pytest
from msgspec.structs import replace

from ddlsim.history.events import DdlDecided, Failed, Invoked, Ok, Unknown
from ddlsim.model.ddl import AlterTable, DropTable, Statement
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from ddlsim.units import MIN_TIMESTAMP
from tests.support.history import Story, add_column, ts
from tests.support.judging import anomalies


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("own_ddl", story)]


def after(top: int, *, invoked: float = 475, ack: float | None = 470, **end: object) -> Story:
    """A8-T2: D has Tu = 500 and is acknowledged at 470; a later operation resolves at `top`."""
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=500, submit=1, ack=ack, **end)
    op = story.write("T", t, "x", invoked, version=1 if top < 500 else 2)
    story.resolve("T", t, top, 1 if top < 500 else 2, at=invoked, op=op)
    story.commit("T", invoked + 10)
    return story


@pytest.mark.parametrize(
    ("top", "kind"),
    [
        (445, ["resolved-too-early", "ddl-not-seen"]),
        (499, ["resolved-too-early", "ddl-not-seen"]),
        (500, []),
        (501, []),
    ],
)
def test_an_operation_after_the_acknowledgement_resolves_at_tu_or_later(
    top: int, kind: list[str]
) -> None:
    """A8-T1 to T3: Top = Tu sees the update."""
    assert kinds(after(top)) == kind


def test_operations_invoked_before_the_acknowledgement_are_not_judged() -> None:
    assert kinds(after(445, invoked=469)) == []


def test_own_ddl_goes_by_positions_within_one_instant() -> None:
    """With zero latency the answer and the next request fall on one microsecond."""
    assert kinds(after(445, invoked=470)) == ["resolved-too-early", "ddl-not-seen"]


def test_a_statement_without_an_answer_promises_nothing() -> None:
    assert kinds(after(445, ack=None)) == []
    assert kinds(after(445, end=Unknown, reason=("NODE_UNREACHABLE",))) == []


@pytest.mark.parametrize("outcome", ["noop", "refused"])
@pytest.mark.parametrize(("top", "kind"), [(499, ["resolved-too-early"]), (500, [])])
def test_a_noop_and_a_refusal_promise_what_they_rest_on(
    outcome: str, top: int, kind: list[str]
) -> None:
    """IGNITE-21776: "already exists" came before the table could be seen."""
    story = Story()
    story.table()
    created = story.created("D", "u", tu=500, submit=1, ack=1000)
    story.add(10, Invoked, "c2", "E", None, "n2", "ddl", sql="CREATE TABLE u")
    story.add(10, DdlDecided, "n2", "E", outcome, 2, ts(500), ts(500))
    story.add(20, Ok if outcome == "noop" else Failed, "c2", "E", *_reason(outcome))
    story.add(30, Invoked, "c2", "get", None, "n2", "get", table="u")
    found = (created, 1) if top >= 500 else (0, 0)
    story.resolve("T", found[0], top, found[1], at=30, op="get", purpose="enlist", name="u")
    assert kinds(story) == kind


def _reason(outcome: str) -> tuple[str, ...]:
    return () if outcome == "noop" else ("OBJECT_EXISTS",)


def test_of_two_updates_of_one_statement_the_last_was_promised() -> None:
    """B12: a column is pending from 300 and confirmed from 500 on."""
    story = Story()
    t = story.table()
    column = add_column(2, "w", nullable=False).column
    story.ddl("D", t, ColumnPending(column), tu=300, submit=1)
    story.ddl("D", t, ColumnConfirmed(column), tu=500, submit=310, ack=510)
    op = story.write("T", t, "x", 520, version=2)
    story.resolve("T", t, 400, 2, at=520, op=op)
    assert kinds(story) == ["resolved-too-early", "ddl-not-seen"]


def test_the_largest_promise_so_far_counts() -> None:
    """A second statement, of smaller Tu, does not take back the promise of the first."""
    story = Story()
    t, u = story.table("t"), story.table("u")
    story.ddl("D", t, add_column(2, "w"), tu=500, submit=1, ack=510)
    story.ddl("E", u, add_column(2, "w"), tu=400, submit=2, ack=520)
    op = story.write("T", t, "x", 530, version=1)
    story.resolve("T", t, 450, 1, at=530, op=op)
    assert kinds(story) == ["resolved-too-early", "ddl-not-seen"]


def old_transaction(version: int, *, arrival: int = 530) -> Story:
    """T enlisted the table before D was acknowledged and uses it again afterwards."""
    story = Story()
    t = story.table()
    story.begin("T", 5)
    first = story.write("T", t, "x", 10)
    story.resolve("T", t, 10, 1, op=first, purpose="enlist", name="t")
    story.ddl("D", t, add_column(2, "w"), tu=500, submit=400, ack=520)
    op = story.write("T", t, "y", 530, version=version, initial=1)
    story.resolve("T", t, arrival, 2, at=530, op=op)
    return story


def test_an_operation_under_the_old_version_does_not_see_the_ddl() -> None:
    """B2-T1: option 2 hides the DDL from the one who issued it."""
    assert kinds(old_transaction(1)) == ["ddl-not-seen"]


def test_an_old_enlistment_is_no_breach_by_itself() -> None:
    assert kinds(old_transaction(2)) == []


def begin_base(*, arrived: bool, began: float) -> Story:
    """A design that resolves at begin_ts: the enlistment lies before Tu."""
    story = Story()
    t = story.table()
    u = story.table("u")
    story.begin("T", began)
    story.ddl("D", t, add_column(2, "w"), tu=500, submit=400, ack=520)
    op = story.write("T", u, "x", 530)
    story.resolve("T", u, 300, 1, at=530, op=op, purpose="enlist", name="u")
    if arrived:
        story.resolve("T", u, 530, 1, op=op)
    return story


@pytest.mark.parametrize(
    ("arrived", "began", "kind"),
    [
        (True, 300, []),
        (False, 300, ["resolved-too-early"]),
        (True, 525, ["resolved-too-early"]),
    ],
)
def test_an_enlistment_counts_if_no_look_up_at_the_primary_follows(
    arrived: bool, began: float, kind: list[str]
) -> None:
    assert kinds(begin_base(arrived=arrived, began=began)) == kind


def test_a_commit_may_take_effect_before_a_ddl_that_was_acknowledged_before_it() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.ddl("D", t, add_column(2, "w"), tu=500, submit=400, ack=520)
    story.resolve("T", t, 499, 1, at=530, op="T.commit", purpose="commit")
    story.commit("T", 530, commit_ts=499)
    assert kinds(story) == []


def test_own_ddl_summary_has_the_statement_and_both_instants() -> None:
    [early, _] = anomalies("own_ddl", after(445))
    assert "D (ALTER D) was acknowledged at 470 ms, with Tu = 500" in early.summary
    assert "invoked later at 475 ms" in early.summary
    assert "at 445, before its Tu" in early.summary


def test_own_ddl_summary_tells_late_instants_to_the_last_digit() -> None:
    """Of two instants of a long run, too, so that one is seen to be before the other."""
    [early, _] = anomalies("own_ddl", after(445, ack=1_235_068.5, invoked=1_235_068.501))
    assert "was acknowledged at 1235068.5 ms" in early.summary
    assert "invoked later at 1235068.501 ms" in early.summary


def lagging(
    rests_on: int, asked: Statement, *, ack: float | None = 510, invoked: float = 520
) -> Story:
    """D created u as catalog version 2; E, invoked at `invoked`, found nothing to do or fault."""
    story = Story()
    story.table()
    story.created("D", "u", tu=500, submit=1, ack=ack or 10_000)
    story.add(invoked, Invoked, "c2", "E", None, "n2", "ddl", sql="E")
    story.add(
        invoked, DdlDecided, "n2", "E", "noop", rests_on, ts(0), ts(0), asked, ts(int(invoked))
    )
    story.add(invoked + 1, Ok, "c2", "E")
    return story


@pytest.mark.parametrize(
    ("rests_on", "name", "stale"),
    [(1, "u", True), (2, "u", False), (1, "t", False), (1, "other", False)],
)
def test_a_statement_rests_on_what_was_acknowledged_before_it(
    rests_on: int, name: str, *, stale: bool
) -> None:
    """Of what it names [98.x.8]: what is older elsewhere is nothing to it."""
    expected = ["statement-on-older-catalog"] if stale else []
    assert kinds(lagging(rests_on, DropTable(name, if_exists=True))) == expected
    assert kinds(lagging(rests_on, AlterTable(name, ()))) == expected


def test_a_statement_may_miss_updates_not_yet_acknowledged() -> None:
    assert kinds(lagging(1, DropTable("u", if_exists=True), ack=600)) == []


@pytest.mark.parametrize(("rests_on", "stale"), [(2, False), (1, True)])
def test_a_statement_built_on_an_older_catalog_breaks_i4(rests_on: int, *, stale: bool) -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=500, submit=1, ack=510)
    asked = AlterTable("t", ())
    story.ddl(
        "E", t, add_column(3, "x"), tu=900, submit=600, ack=950, built_on=rests_on, asked=asked
    )
    assert kinds(story) == (["statement-on-older-catalog"] if stale else [])


def early(waited_ts: int, ack: float, *, outcome: str = "installed", **rules: str) -> int:
    """D has Tu = 500, a no-op a logical part too, CSmax is 100; is its answer too early?"""
    return kinds(answered(waited_ts, ack, outcome, rules)).count("acknowledged-too-early")


def answered(waited_ts: int, ack: float, outcome: str, rules: dict[str, str]) -> Story:
    story = Story(settings={"": {}, "n1": {"max_clock_skew_ms": 100}})
    story.design = replace(story.design, rules=rules)
    t, tu_ts = story.table(), ts(500) + (outcome != "installed")
    story.add(1, DdlDecided, "n1", "D", outcome, 9, tu_ts, waited_ts)
    if outcome == "installed":
        story.ddl("D", t, add_column(2, "w"), tu=500, submit=1, ack=ack)
    else:
        story.add(1, Invoked, "c", "D", None, "n1", "ddl", sql="DROP TABLE q")
        story.add(ack, Failed, "c", "D", "DDL_REFUSED")
    return story


ROUNDED = {"acknowledge_ts": "activation_plus_skew_rounded"}
OF_NOOPS = {"acknowledge_known_ts": "activation_plus_skew_rounded"}


def test_an_answer_waits_for_tu_and_csmax() -> None:
    assert early(ts(600), 600, **ROUNDED) == 0
    assert early(ts(600) - 1, 600, **ROUNDED) == 1
    assert early(ts(600), 599.999, **ROUNDED) == 1  # no clock has shown 600


@pytest.mark.parametrize(
    ("waited_ts", "told"), [(MIN_TIMESTAMP, "waited for nothing, "), (ts(599), "waited for 599, ")]
)
def test_what_the_node_waited_for_is_told(waited_ts: int, told: str) -> None:
    [early, *_] = anomalies("own_ddl", answered(waited_ts, 500, "installed", ROUNDED))
    assert told in early.summary


def test_a_logical_part_counts_as_one_tick_more() -> None:
    assert early(ts(601), 601, outcome="refused", **OF_NOOPS) == 0
    assert early(ts(600) + 1, 601, outcome="refused", **OF_NOOPS) == 1
    assert early(ts(601), 600, outcome="noop", **OF_NOOPS) == 1


def test_a_design_that_acknowledges_by_another_rule_may_do_so_sooner() -> None:
    assert early(ts(500), 500, acknowledge_ts="at_activation") == 0
    assert early(ts(500), 500, **OF_NOOPS) == 0
    assert early(ts(500), 500, outcome="noop", **ROUNDED) == 0


def test_a_version_of_another_statement_is_told_with_its_tu() -> None:
    """The acknowledgement of D says that whatever came into force up to its Tu is everywhere."""
    story = Story()
    t = story.table()
    story.ddl("E", t, add_column(2, "w"), tu=400, submit=1, ack=None)
    story.created("D", "u", tu=500, submit=2, ack=510)
    op = story.write("T", t, "x", 520, version=1)
    story.resolve("T", t, 520, 2, at=520, op=op, purpose="after-locks")
    story.commit("T", 530)
    [found] = anomalies("own_ddl", story)
    assert found.kind == "ddl-not-seen"
    assert found.summary.startswith("D (")
    assert found.summary.endswith(
        "under version 1 of t and not under version 2, in force since 400"
    )
    [own] = [one for one in anomalies("own_ddl", after(445)) if one.kind == "ddl-not-seen"]
    assert own.summary.endswith("and not under version 2")
