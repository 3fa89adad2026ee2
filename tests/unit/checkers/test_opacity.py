"""I10: what an aborted transaction had read fits together; what the past shows is the past."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.judge import judge
from ddlsim.history.events import RowRead
from ddlsim.history.world_events import LeaseBegan, NodeCrashed, TxRecovered
from ddlsim.model import ddl
from ddlsim.model.ddl import ObjectDropped
from ddlsim.model.design import Claim
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column, ts
from tests.support.judging import anomalies, cycles

DROPPED = ddl.ColumnDropped(Column(1, "v", INT))


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("opacity", story)]


def fractured(
    *, late: bool = True, between: Any = None, ends: str = "aborted", top: int = 15
) -> Story:
    """T reads x as it was before W, and y as W left it, at 15 and with an op_ts of `top`."""
    story = Story()
    t = story.table()
    story.write("O", t, "x", 1)
    story.write("O", t, "y", 1)
    story.commit("O", 2)
    story.read("T", t, "x", 10, "O")
    story.write("W", t, "x", 11)
    story.write("W", t, "y", 11)
    story.commit("W", 12)
    if between is not None:
        story.add(13, *between)
    if not late:
        story.abort("T", 14)
    story.read("T", t, "y", 15, "W", op_ts=top)
    if ends == "aborted" and late:
        story.abort("T", 20)
    return story


def test_an_aborted_transaction_had_read_one_state() -> None:
    [anomaly] = anomalies("opacity", fractured())
    assert anomaly.kind == "fractured-read"
    assert anomaly.summary.endswith("no serial state has: T < W < T")
    assert [step.edge for step in anomaly.steps] == ["rw-row", "wr-row"]


@pytest.mark.parametrize("top", [15, 12, 11])
def test_an_aborted_transaction_stands_behind_what_it_read(top: int) -> None:
    """W commits at 12; op_ts may be below that where it is taken before the wait for locks."""
    [anomaly] = anomalies("opacity", fractured(top=top))
    assert [step.edge for step in anomaly.steps] == ["rw-row", "wr-row"]
    assert anomaly.back_ms == (3 if top == 15 else 0, None)


def test_opacity_judges_open_transactions_but_not_committed_ones() -> None:
    assert kinds(fractured(ends="open")) == ["fractured-read"]
    story = fractured(ends="open")
    story.commit("T", 30)
    assert kinds(story) == []
    assert cycles(story) == ["W < T < W"]


def test_reads_after_an_abort_or_a_lost_lock_do_not_count() -> None:
    assert kinds(fractured(late=False)) == []
    assert kinds(fractured(between=(NodeCrashed, "n1"))) == []
    assert kinds(fractured(between=(NodeCrashed, "n2"))) == ["fractured-read"]
    assert kinds(fractured(between=(TxRecovered, "n1", "T", "aborted"))) == []
    assert kinds(fractured(between=(TxRecovered, "n1", "U", "aborted"))) == ["fractured-read"]
    story = fractured(between=(TxRecovered, "n1", "T", "aborted"))
    story.add(90, NodeCrashed, "n1")
    assert kinds(story) == []
    story = fractured(between=(LeaseBegan, "n2", "1/0", "n2", ts(13), ts(99)))
    story.add(0, LeaseBegan, "n1", "1/0", "n1", ts(0), ts(12))
    assert kinds(story) == []
    story = fractured(between=(LeaseBegan, "n1", "1/0", "n1", ts(0), ts(99)))
    story.add(0, LeaseBegan, "n1", "1/0", "n1", ts(0), ts(12))
    assert kinds(story) == ["fractured-read"]


def test_a_fractured_read_may_have_a_longer_cycle() -> None:
    """T read x before W, U read x of W and wrote y, T read y of U."""
    story = Story()
    t = story.table()
    story.write("O", t, "x", 1)
    story.commit("O", 2)
    story.read("T", t, "x", 10, "O")
    story.write("W", t, "x", 11)
    story.commit("W", 12)
    story.read("U", t, "x", 13, "W")
    story.write("U", t, "y", 13)
    story.commit("U", 14)
    story.read("T", t, "y", 15, "U")
    story.abort("T", 16)
    [anomaly] = anomalies("opacity", story)
    assert anomaly.summary.endswith("T < W < U < T")


def test_real_time_alone_makes_no_cycle_through_an_aborted_transaction() -> None:
    story = Story()
    t = story.table()
    story.read("T", t, "x", 10, None)
    story.write("W", t, "x", 11)
    story.commit("W", 12)
    story.write("U", t, "y", 13)
    story.commit("U", 14)
    story.read("T", t, "y", 15, "U")
    story.abort("T", 16)
    assert kinds(story) == []


def past_a_ddl(*change: Any) -> Story:
    """T ran on a before D; W ran on a after it and wrote b; T read that."""
    story = Story(("I10",))
    a, b = story.table("a"), story.table("b")
    story.write("T", a, "x", 10)
    story.ddl("D", a, *change, tu=20)
    story.read("W", a, "z", 21, None, version=2)
    story.write("W", b, "y", 21)
    story.commit("W", 22)
    story.read("T", b, "y", 23, "W")
    story.abort("T", 24)
    return story


def test_fractured_schema_is_a_cycle_through_a_ddl() -> None:
    assert kinds(past_a_ddl(DROPPED)) == ["fractured-schema"]
    assert kinds(past_a_ddl(add_column(2, "w"))) == []


def test_a_claim_may_leave_kinds_out() -> None:
    history = past_a_ddl(DROPPED).history()
    assert [v.status for v in judge(history).violations] == ["violation"]
    claims = (Claim("I10", (), ("fractured-schema",)),)
    history.header = replace(history.header, design=replace(history.header.design, claims=claims))
    assert [v.status for v in judge(history).violations] == ["accepted"]
    assert [v.status for v in judge(history, all_claims=True).violations] == ["violation"]


def test_a_read_between_uncommitted_transactions_is_a_dirty_read() -> None:
    story = Story()
    t = story.table()
    story.write("W", t, "x", 1)
    story.read("T", t, "x", 2, "W")
    story.abort("T", 3)
    story.abort("W", 4)
    assert kinds(story) == ["dirty-read"]
    story.commit("W", 5)
    assert kinds(story) == []


def test_an_aborted_transaction_had_found_its_own_writes() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 1)
    story.read("T", t, "x", 2, "T")
    story.scan("T", t, 3, {"x": "T"})
    story.abort("T", 9)
    assert kinds(story) == []
    story.read("T", t, "x", 4, None)
    story.scan("T", t, 5, {})
    assert kinds(story) == ["internal", "internal"]


def written_twice() -> tuple[Story, int, RowRead]:
    """W wrote a row twice and committed: its table, and the first of the two rows as read."""
    story = Story()
    t = story.table()
    story.write("W", t, "x", 1)
    first = story.found(t, "x", "W", 1)
    story.write("W", t, "x", 2)
    story.commit("W", 3)
    return story, t, first


def test_an_aborted_transaction_had_found_no_intermediate_row() -> None:
    story, t, first = written_twice()
    story.read("T", t, "x", 5, "W")
    story.abort("T", 9)
    assert kinds(story) == []
    story.read("T", t, "x", 6, "W", row=first)
    assert kinds(story) == ["G1b"]


def test_a_transaction_that_reads_the_past_finds_no_intermediate_row() -> None:
    story, t, first = written_twice()
    story.begin("R", 9, read_at=9)
    story.read("R", t, "x", 10, "W", op_ts=9)
    assert kinds(story) == []
    story.read("R", t, "x", 11, "W", op_ts=9, row=first)
    assert kinds(story) == ["G1b"]


# --- the past ------------------------------------------------------------------------------------


def past(
    *, read_at: int, shown: str | None, version: int = 1, session: bool = False, **more: Any
) -> Story:
    """x is written at 10 and 20, D replaces the schema at 30; then P reads at `read_at`."""
    story = Story()
    t = story.table()
    client = "c" if session else None
    for tx, at in (("A", 10), ("B", 20)):
        story.write(tx, t, "x", at - 1, client=more.get("writer", "c"))
        story.commit(tx, at, client=more.get("writer", "c"))
    story.ddl("D", t, add_column(2, "w"), tu=30, ack=32, client=more.get("author", "d"))
    story.begin("P", 40, client=client, read_at=read_at, session=session)
    read: Any = story.scan if more.get("scan") else story.read
    found: Any = {"x": shown} if shown else {}
    key: Any = (41, found) if more.get("scan") else ("x", 41, shown)
    named = {"client": client} if client else {}
    read("P", t, *key, version=version, op_ts=read_at, **named)
    return story


@pytest.mark.parametrize(
    ("read_at", "due"), [(9, None), (10, "A"), (19, "A"), (20, "B"), (29, "B")]
)
@pytest.mark.parametrize("scan", [False, True])
def test_a_read_of_the_past_finds_what_was_committed_by_then(
    read_at: int, due: str | None, scan: bool
) -> None:
    for shown in (None, "A", "B"):
        found = kinds(past(read_at=read_at, shown=shown, scan=scan))
        assert found == ([] if shown == due else ["past-misread"])


@pytest.mark.parametrize(("read_at", "due"), [(29, 1), (30, 2)])
def test_a_read_of_the_past_runs_under_the_schema_of_then(read_at: int, due: int) -> None:
    for version in (1, 2):
        found = kinds(past(read_at=read_at, shown="B", version=version))
        assert found == ([] if version == due else ["past-schema"])


def test_a_write_counts_by_its_timestamp_whenever_it_was_stored() -> None:
    story = past(read_at=29, shown="B")
    story.write("C", 1, "x", 45)
    story.commit("C", 46, commit_ts=28)
    assert kinds(story) == ["past-misread"]


def test_read_only_transactions_need_only_see_their_own_session() -> None:
    assert kinds(past(read_at=15, shown="A")) == []
    assert kinds(past(read_at=15, shown="A", session=True, writer="other")) == []
    assert kinds(past(read_at=15, shown="A", session=True)) == ["session-missed-write"]
    assert kinds(past(read_at=20, shown="B", session=True)) == []
    mine = past(read_at=29, shown="B", session=True, author="c")
    assert kinds(mine) == ["session-missed-ddl"]
    assert kinds(past(read_at=30, shown="B", version=2, session=True, author="c")) == []
    assert kinds(past(read_at=29, shown="B", session=True)) == []


def test_a_session_sees_its_acknowledged_ddl() -> None:
    story = Story()
    story.created("D", "new", tu=30, submit=20, ack=32)
    story.begin("P", 40, client="ddl", read_at=29, session=True)
    story.resolve("P", 0, 29, 0, at=41, purpose="enlist", name="new")
    assert kinds(story) == ["session-missed-ddl"]
    assert kinds(story_without_session()) == []


@pytest.mark.parametrize(("read_at", "found"), [(35, ["session-missed-ddl"]), (37, [])])
def test_a_session_is_owed_no_table_that_another_client_has_dropped(
    read_at: int, found: list[str]
) -> None:
    story = Story()
    table = story.created("D", "new", tu=30, submit=20, ack=32)
    story.ddl("E", table, ObjectDropped(), tu=36, submit=33, ack=38)
    story.begin("P", 40, client="ddl", read_at=read_at, session=True)
    story.resolve("P", 0, read_at, 0, at=41, purpose="enlist", name="new")
    assert [kind for kind in kinds(story) if kind == "session-missed-ddl"] == found


def story_without_session() -> Story:
    story = Story()
    story.created("D", "new", tu=30, submit=20, ack=32)
    story.begin("P", 40, client="ddl", read_at=29)
    story.resolve("P", 0, 29, 0, at=41, purpose="enlist", name="new")
    return story


# --- in the graph --------------------------------------------------------------------------------


def committed_past(*, session: bool, read_at: int = 15) -> list[str]:
    story = past(read_at=read_at, shown="A" if read_at < 20 else "B", session=session)
    client = {"client": "c"} if session else {}
    story.commit("P", 50, commit_ts=50, **client)
    return cycles(story)


def test_a_reader_of_the_past_stands_at_its_read_ts() -> None:
    assert committed_past(session=False) == []
    assert committed_past(session=False, read_at=25) == []
    assert committed_past(session=True) == ["P < B < P"]
    assert committed_past(session=True, read_at=25) == []


def test_other_checkers_accept_reads_at_a_timestamp() -> None:
    story = past(read_at=15, shown="A")
    story.resolve("P", 1, 15, 1, at=41, purpose="enlist", op="op99")
    story.commit("P", 50, commit_ts=50)
    assert judge(story.history()).violations == ()
