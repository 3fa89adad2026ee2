"""What the judges hold against a layer over a store, and what they do not ask of it."""

from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import judge
from ddlsim.checkers.rulings import LADDER, ruling_of
from ddlsim.history.events import (
    DdlDecided,
    Failed,
    Ok,
    ReadExecuted,
    RowFinal,
    Unknown,
    UpdateLogged,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import ClockSet
from ddlsim.model import ddl
from ddlsim.model.design import RATES_BOUNDED, SKEW_BOUNDED
from ddlsim.model.schema import INDEX_STATES, PUBLIC, Column, Index
from tests.support.history import INT, add_column, ts
from tests.support.judging import anomalies
from tests.support.layered import Layered


def told(checker: str, story: Layered) -> list[str]:
    return [one.kind for one in anomalies(checker, story)]


def changed(story: Layered, kind: type, tx: str, **fields: Any) -> History:
    """A history in which events of a transaction have other fields."""
    history = story.history()
    history.events = [
        replace(one, **fields) if type(one) is kind and one.tx == tx else one
        for one in history.events
    ]
    return history


def kinds_in(history: History, checker: str) -> list[str]:
    return [one.kind for one in judge(history).violations if one.checker == checker]


# --- versions and reads ---------------------------------------------------------------------------


def plain() -> Layered:
    story = Layered()
    story.run("A", 10, 20, ("put", "r", 1))
    story.run("B", 25, 30, ("get", "r"), ("put", "r", 2))
    return story


def test_all_reads_of_a_transaction_are_at_its_read_version() -> None:
    assert told("machinery", plain()) == []
    assert kinds_in(changed(plain(), ReadExecuted, "B", op_ts=ts(26)), "machinery") == [
        "read-at-another-time"
    ]


def test_a_transaction_commits_at_a_later_version_than_it_reads_at() -> None:
    story = Layered()
    story.run("A", 10, 10, ("put", "r", 1))
    assert told("machinery", story) == ["stamped-before-its-cause"]


def test_many_transactions_may_read_at_one_version() -> None:
    story = Layered()
    for number in range(3):
        story.run(f"T{number}", 10, 20 + number, ("put", number, 1), begins=30 - number, ends=50)
    assert told("machinery", story) == []


def test_a_read_may_not_miss_a_commit_that_came_to_be_known_later() -> None:
    story = Layered()
    story.run("A", 10, 20, ("put", "r", 1), ends=90)
    story.run("B", 15, 40, ("get", "r"), ("put", "s", 2))
    assert told("data_matches_schema", story) == []
    missed = changed(story, ReadExecuted, "B", op_ts=ts(25))
    assert kinds_in(missed, "data_matches_schema") == ["write-missed"]


@pytest.mark.parametrize(("reader", "found"), [("B", ["write-missed"]), ("C", []), ("E", [])])
def test_rows_of_a_dropped_table_are_gone_for_what_commits_no_write(
    reader: str, found: list[str]
) -> None:
    """B commits though its process is late, C is refused, E only reads."""
    story = Layered()
    story.run("A", 10, 20, ("put", "r", 1))
    story.ddl("D", story.t, ddl.ObjectDropped(), tu=25)
    story.run("B", 12, 40, ("get", "r"), ("put", "s", 2))
    story.run("C", 12, 41, ("get", "r"), ("put", "s", 3), aborts="METADATA_LATE")
    story.run("E", 12, 42, ("get", "r"))
    late = changed(story, ReadExecuted, reader, op_ts=ts(30))
    assert kinds_in(late, "data_matches_schema") == found


def test_a_read_finds_nothing_from_behind_its_version() -> None:
    story = plain()
    early = changed(story, ReadExecuted, "B", op_ts=ts(15))
    assert kinds_in(early, "data_matches_schema") == ["read-ahead"]


def test_a_scan_that_lacks_a_row_deleted_behind_its_version() -> None:
    """Inserted and deleted after its read version: it comes before both, whatever else it read."""
    story = Layered()
    story.run("A", 10, 20, ("put", "r", 1))
    story.run("B", 30, 32, ("put", "n", 1))
    story.run("C", 33, 35, ("delete", "n"), ("put", "r", 2))
    story.run("S", 25, 60, ("scan",), ("put", "s", 1), at=50, aborts="TX_CONFLICT")
    assert told("opacity", story) == []


# --- what a client is owed ------------------------------------------------------------------------


@pytest.mark.parametrize(("began", "due"), [(50, []), (60, ["ddl-not-seen"])])
def test_a_reader_that_began_behind_an_answer_sees_the_statement(
    began: int, due: list[str]
) -> None:
    story = Layered()
    story.ddl("D", story.t, add_column(2, "w"), tu=45, submit=40, ack=55)
    story.run("R", 30, None, ("get", "r"), begins=began, at=70, ends=80)
    assert told("own_ddl", story) == due


def test_a_reader_whose_client_chose_an_old_version_owes_nothing() -> None:
    story = Layered()
    story.ddl("D", story.t, add_column(2, "w"), tu=45, submit=40, ack=55)
    story.run("R", 30, None, ("get", "r"), begins=60, chosen=True)
    assert told("own_ddl", story) == []


# --- statements and the transactions that belong to them ------------------------------------------


def test_the_transactions_of_a_statement_go_by_the_schema_that_it_makes() -> None:
    """It is in force from 100 on, and its entries are written before."""
    story = Layered()
    story.run("A", 5, 8, ("put", "r", 1))
    story.index("D", 100, tm=50, submit=40)
    story.run("D.fill", 49, 50, ("fill",), v=2)
    assert judge(story.history()).violations == ()


def in_states(*states: str) -> Layered:
    """CREATE INDEX through these states; "dropped" takes it back."""
    story = Layered()
    for number, state in enumerate(states):
        at = 10 * (number + 1)
        if state == "dropped":
            story.drop_index("D", at)
        elif number == 0:
            story.index("D", at, state=state)
        else:
            story.set_state("D", state, at)
    return story


@pytest.mark.parametrize(
    ("states", "end", "due"),
    [
        (INDEX_STATES, Ok, []),
        ((PUBLIC,), Ok, []),
        (INDEX_STATES[:-1], Ok, ["acknowledged-not-logged"]),
        ((*INDEX_STATES[:3], "dropped"), Failed, []),
        (INDEX_STATES, Failed, ["failed-but-logged"]),
        *((INDEX_STATES[:n], Failed, ["failed-but-left"]) for n in range(1, len(INDEX_STATES))),
        (INDEX_STATES[:2], Unknown, []),
        (INDEX_STATES[:2], None, []),
    ],
)
def test_a_statement_has_taken_effect_once_its_index_is_public(
    states: tuple[str, ...], end: type | None, due: list[str]
) -> None:
    story = in_states(*states)
    if end is not None:
        story.add(90, end, "client of D", "D", *(() if end is Ok else ("UNIQUE_VIOLATED",)))
    assert told("machinery", story) == due


@pytest.mark.parametrize("table_goes", [False, True])
def test_a_failed_statement_leaves_no_index_whatever_others_make_of_its_name(
    table_goes: bool,
) -> None:
    story = in_states("write_only", "dropped") if not table_goes else in_states("write_only")
    story.add(90, Failed, "client of D", "D", "UNIQUE_VIOLATED")
    if table_goes:
        story.ddl("E", story.t, ddl.ObjectDropped(), tu=100)
    else:
        other = ddl.IndexCreated(Index(10, "i", (1,), state="write_only"))
        story.ddl("E", story.t, other, tu=100)
    assert told("machinery", story) == []


def with_statement(story: Layered, statement: ddl.Statement) -> list[str]:
    """What is found where each update tells what it was built on."""
    history = story.history()
    for at, event in enumerate(history.events):
        if type(event) is UpdateLogged and event.op is not None:
            history.events[at] = replace(event, built_on=event.catalog_version - 1)
        elif type(event) is DdlDecided:
            history.events[at] = replace(event, statement=statement)
    return kinds_in(history, "machinery")


CREATE = ddl.CreateIndex("i", "t", ("v",))


@pytest.mark.parametrize(
    "states", [INDEX_STATES, (PUBLIC,), (*INDEX_STATES[:3], "dropped"), INDEX_STATES[1:]]
)
def test_the_updates_of_a_statement_are_what_it_says(states: tuple[str, ...]) -> None:
    assert with_statement(in_states(*states), CREATE) == []
    assert with_statement(in_states(*states), ddl.CreateIndex("other", "t", ("v",))) != []


def test_a_change_of_state_changes_nothing_else() -> None:
    story = Layered()
    story.index("D", 10, state="write_only")
    story.ddl("D", story.t, ddl.IndexStateSet(9, PUBLIC), tu=20)
    assert with_statement(story, CREATE) == []
    story = Layered()
    story.index("D", 10, state="write_only")
    table = story.definition(story.t, 2)
    story.add_version(story.t, replace(table, version=3, name="u"))
    history = story.history()
    changes = (ddl.IndexStateSet(9, PUBLIC),)
    change = ddl.ObjectChange(1, "table", "u", 3, story.definition(story.t, 3), changes)
    logged = history.of(UpdateLogged)[-1]
    more = replace(logged, catalog_version=3, index=3, objects=(change,), message_ts=ts(20))
    story.add(20, type(more), *[getattr(more, one) for one in more.__struct_fields__[1:]])
    assert with_statement(story, CREATE) == ["not-as-stated"]


# --- compatibility of states ----------------------------------------------------------------------

UP = {
    ("absent", "write_only"), ("absent", "reorganization"), ("absent", PUBLIC),
    ("delete_only", "reorganization"), ("delete_only", PUBLIC),
}  # fmt: skip
"""The ways up that lose entries, or leave some."""


@pytest.mark.parametrize("before", LADDER)
@pytest.mark.parametrize("after", LADDER)
def test_a_step_of_an_index_is_compatible_if_both_sides_keep_its_entries(
    before: str, after: str
) -> None:
    if before == after:
        return
    story, at = Layered(), 10
    if before != "absent":
        story.index("D", at, state=before)
    if before == "absent":
        story.index("E", 20, state=after)
    elif after == "absent":
        story.drop_index("E", 20)
    else:
        story.set_state("E", after, 20)
    case = Case(story.history())
    step = case.schemas.newest(story.t)
    assert step is not None
    assert ruling_of(case, step).compatible == ((before, after) not in UP)


def test_the_other_changes_of_a_step_count_as_everywhere() -> None:
    story = Layered()
    dropped = ddl.ColumnDropped(Column(1, "v", INT))
    story.ddl(
        "D", story.t, ddl.IndexCreated(Index(9, "i", (1,), state="delete_only")), dropped, tu=5
    )
    case = Case(story.history())
    step = case.schemas.newest(story.t)
    assert step is not None
    assert ruling_of(case, step).clause == "110.column.drop"


# --- assumptions ----------------------------------------------------------------------------------


def stale(*, assumes: str, node: str = "p1", **clock: int) -> str:
    """The status of a commit under an old version, where clocks go wrong."""
    story = Layered(("I1",), assumes={"I1": (assumes,)})
    story.index("D", 15)
    story.run("A", 20, 30, ("put", "r", 1), v=1)
    story.design = replace(story.design, rules={"drift_percent": "10"})
    story.settings = {"": {}, "p1": {"max_clock_skew_ms": 5}}
    story.add(5, ClockSet, node, clock.get("offset_us", 0), clock.get("drift_ppm", 0))
    (status,) = {one.status for one in judge(story.history()).violations if one.invariant == "I1"}
    return status


def test_versions_rest_on_no_clock() -> None:
    assert stale(assumes=SKEW_BOUNDED, offset_us=900_000) == "violation"


@pytest.mark.parametrize(
    ("clock", "status"),
    [
        ({"offset_us": 900_000}, "out_of_assumption"),
        ({"drift_ppm": 100_000}, "violation"),
        ({"drift_ppm": 100_001}, "out_of_assumption"),
        ({"drift_ppm": -100_001}, "out_of_assumption"),
        ({"offset_us": -2_000}, "out_of_assumption"),
    ],
)
def test_leases_rest_on_the_rates_of_clocks(clock: dict[str, int], status: str) -> None:
    assert stale(assumes=RATES_BOUNDED, **clock) == status


def test_leases_do_not_rest_on_the_clocks_of_the_store() -> None:
    assert stale(assumes=RATES_BOUNDED, node="storage1", drift_ppm=300_000) == "violation"


# --- commits of which no answer came --------------------------------------------------------------


def unanswered(*, overwritten: bool) -> Layered:
    """The process of U dies when U has committed; R and Q read what it wrote."""
    story = Layered()
    story.index("D", 1)
    story.run("A", 5, 8, ("put", "r", 1), ("put", "s", 1), v=2)
    story.run("U", 10, 20, ("put", "r", 2), ("delete", "s"), v=2, unknown=True)
    story.run("R", 25, None, ("get", "r"), ("scan",), ("find", 2), v=2)
    story.run("Q", 26, 30, ("get", "r"), ("put", "q", 3), v=2)
    if overwritten:
        story.run("B", 35, 40, ("put", "r", 4), ("put", "s", 4), v=2)
        story.run("Z", 45, None, ("get", "r"), ("scan",), ("find", 4), v=2)
    story.read_back(200)
    return story


@pytest.mark.parametrize("overwritten", [False, True])
def test_a_commit_without_an_answer_may_be_read(overwritten: bool) -> None:
    found = judge(unanswered(overwritten=overwritten).history()).violations
    assert [one.summary for one in found] == []


def test_what_was_never_asked_to_commit_may_not_be_read() -> None:
    history = unanswered(overwritten=True).history()
    history.events = [
        one
        for one in history.events
        if not (getattr(one, "tx", None) == "U" and getattr(one, "kind", None) == "commit")
    ]
    assert {*kinds_in(history, "serializability")} == {"G1a"}


@pytest.mark.parametrize(("lags", "due"), [(True, []), (False, ["lost-write"])])
def test_a_server_that_lags_behind_another_has_lost_nothing(lags: bool, due: list[str]) -> None:
    history = plain().history()
    row = ((0, "r"), (1, 1))
    history.events.append(RowFinal(60_000, "s1", 1, 0, "r", "A", ts(20), 1, row))
    if lags:
        newer = ((0, "r"), (1, 2))
        history.events.append(RowFinal(60_000, "s2", 1, 0, "r", "B", ts(30), 1, newer))
    assert kinds_in(history, "data_matches_schema") == due
