"""The argument as data and as a paragraph: who, in which order and why, and when."""

import pytest

from ddlsim.checkers.argument import Argument, argue, prose
from ddlsim.checkers.case.case import Case
from ddlsim.checkers.judge import Violation, judge
from ddlsim.history.events import SchemaResolved, UpdateApplied
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import INT, Story, add_column
from tests.support.judging import write_skew
from tests.unit.checkers.test_serializability import b2_t2


def arguments(story: Story) -> list[Argument]:
    history = story.history()
    case = Case(history)
    return [argue(case, violation) for violation in judge(history).violations]


def test_a_cycle_names_its_parties_in_order() -> None:
    argument = arguments(b2_t2(add_column(2, "w")))[0]
    assert [party.name for party in argument.parties] == ["D2", "T2", "T"]
    assert [party.is_ddl for party in argument.parties] == [True, False, False]
    altered = argument.parties[0]
    assert (altered.did, altered.stamps) == ("ALTER D", {"Tm": "20", "Tu": "20"})
    reader = argument.parties[2]
    assert reader.did == "1 read, 1 write"
    assert (reader.begins_ms, reader.ends_ms) == (10, 40)
    assert reader.stamps == {"commit_ts": "40"}


def test_the_text_of_an_argument_has_the_reason_of_each_step() -> None:
    argument = arguments(b2_t2(add_column(2, "w")))[0]
    assert argument.paragraph.startswith(
        "No serial order holds D2, T2 and T. D2 is ALTER D (Tm = 20, Tu = 20). "
        "D2 comes before T2 (wr-schema), because T2 wrote row 'z' under version 2 of t"
    )
    assert "[110.back]" in argument.paragraph  # the rule that holds T before D2
    assert argument.paragraph.endswith(
        "So each would have to come before itself: schema-G-single [110.lin]."
    )
    assert " ".join(" ".join(prose(argument)).split()).count("comes before") == 3


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (ddl.ColumnDropped(Column(1, "v", INT)), "not forward-compatible"),
        (add_column(2, "w"), "only the strict graph counts it"),
    ],
)
def test_a_step_to_a_ddl_tells_its_clause_and_rule(change: ddl.SimpleChange, rule: str) -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, change, tu=20, submit=15, ack=25)
    story.write("T", t, "x", 30)
    story.commit("T", 40)
    [argument] = [one for one in arguments(story) if one.steps]
    [step] = [one for one in argument.steps if one.target == "D2"]
    assert rule in step.because
    assert "[110.column." in step.because


def test_its_moments_are_in_order_and_frame_the_parties() -> None:
    argument = arguments(write_skew())[0]
    instants = [moment.at_ms for moment in argument.moments]
    assert instants == sorted(instants)
    kinds = [moment.event for moment in argument.moments]
    assert kinds.count("TxCommitted") == 2
    assert kinds.count("Ok") == 2
    assert "ReadExecuted" in kinds
    assert "WriteExecuted" in kinds


def test_an_anomaly_without_cycle_is_argued_by_its_witness() -> None:
    story = Story(("I1",))
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=1100, submit=1000, tm=1000)
    story.resolve("T", t, 1155, 1, node="B")
    story.applied("B", 1160, 2, 1100)
    wrong, late = arguments(story)
    assert [moment.event for moment in wrong.moments] == ["UpdateLogged", "SchemaResolved"]
    assert wrong.paragraph.endswith("[98.ap, 98.def.1]. 2 events at 1000 ms and 1155 ms show it.")
    assert "[98.ap, 98.def.1]" in wrong.paragraph
    assert [party.name for party in wrong.parties] == ["D2", "T"]
    assert late.moments[0].event == SchemaResolved.__name__
    assert late.moments[1].event == UpdateApplied.__name__
    assert "D2" in [party.name for party in late.parties]


def test_a_violation_without_witness_is_argued_by_its_summary() -> None:
    violation = Violation(
        invariant="I9",
        checker="liveness",
        kind="safe-time-still",
        severity="liveness",
        status="violation",
        strict_only=False,
        summary="safe time stood still",
        clauses=("98.safe.3",),
    )
    argument = argue(Case(Story().history()), violation)
    assert argument.moments == ()
    assert argument.paragraph == "safe time stood still [98.safe.3]."


def test_an_argument_says_that_a_party_has_no_node() -> None:
    story = Story()
    t = story.table()
    story.read("T", t, "x", 10, "nobody")
    story.commit("T", 11)
    [garbage] = [one for one in arguments(story) if "nobody" in one.paragraph][:1]
    assert garbage.parties[0].name == "T"
