"""Reads that no order explains: aborted, intermediate, internal, unrepeatable, garbage."""

from typing import Any

import pytest

from ddlsim.checkers.findings import explained_by
from ddlsim.history.events import Ok, TxBegan
from ddlsim.scenario import findings
from tests.support.history import Story, ts
from tests.support.judging import found, kinds


def test_a_read_from_an_aborted_transaction_is_g1a() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.read("T2", t, "x", 12, "T1")
    story.abort("T1", 14)
    story.commit("T2", 20)
    assert kinds(story) == ["G1a"]


def test_a_read_from_a_transaction_that_never_ended_is_g1a() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.read("T2", t, "x", 12, "T1")
    story.commit("T2", 20)
    assert kinds(story) == ["G1a"]


def test_an_aborted_reader_is_not_judged() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.read("T2", t, "x", 12, "T1")
    story.abort("T1", 14)
    story.abort("T2", 20)
    assert kinds(story) == []


def test_a_read_of_an_overwritten_version_is_g1b() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.read("T2", t, "x", 12, "T1")
    story.write("T1", t, "x", 14)
    story.commit("T1", 15)
    story.commit("T2", 20)
    [anomaly] = found(story)
    assert anomaly.kind == "G1b"
    assert [event.at_us for event in anomaly.witness] == [10_000, 12_000, 14_000]


def test_an_intermediate_version_is_known_by_its_values_too() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    first = story.found(t, "x", "T1", 1)
    story.write("T1", t, "x", 11)
    story.commit("T1", 15)
    story.read("T2", t, "x", 17, "T1", row=first)
    story.commit("T2", 20)
    assert kinds(story) == ["G1b"]


@pytest.mark.parametrize("implicit", [False, True])
def test_a_copy_of_an_implicit_write_counts_before_the_commit_alone(implicit: bool) -> None:
    """Its first primary executes it once more, after another one has committed it."""
    story = Story()
    t = story.table()
    story.add(9, TxBegan, "T1", "n1", ts(9), implicit=implicit)
    story.write("T1", t, "x", 10, implicit=implicit)
    first = story.found(t, "x", "T1", 1)
    story.commit("T1", 11, implicit=implicit)
    story.read("T2", t, "x", 12, "T1", row=first)
    story.write("T1", t, "x", 14, implicit=implicit)
    story.commit("T2", 20)
    assert kinds(story) == ([] if implicit else ["G1b"])


@pytest.mark.parametrize(("answered", "finding"), [(11, None), (14, "F-25")])
def test_f25_explains_a_missed_write_that_was_under_way_at_its_commit_alone(
    answered: int, finding: str | None
) -> None:
    """T1's second write is answered before or after its client asked for the commit at 12."""
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10, client="c1")
    seen = story.found(t, "x", "T1", 1)
    story.write("T1", t, "x", 10, client="c1", op="w2", ok=False)
    story.add(answered, Ok, "c1", "w2")
    story.commit("T1", 13, client="c1", invoked=12)
    story.read("T2", t, "x", 17, "T1", row=seen)
    story.commit("T2", 20)
    [anomaly] = found(story)
    assert anomaly.kind == "G1b"
    known = [one for one in findings.known() if one.id == "F-25"]
    assert explained_by("I3", anomaly, known) == finding


def test_a_transaction_reads_its_own_writes() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.read("T1", t, "x", 11, "T1")
    story.commit("T1", 12)
    assert kinds(story) == []
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    story.read("T1", t, "x", 11, None)
    story.commit("T1", 12)
    assert kinds(story) == ["internal"]


def test_a_transaction_reads_the_last_of_its_own_writes() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10)
    first = story.found(t, "x", "T1", 1)
    story.write("T1", t, "x", 11)
    story.read("T1", t, "x", 12, "T1")
    story.commit("T1", 20)
    assert kinds(story) == []
    story.read("T1", t, "x", 13, "T1", row=first)
    assert kinds(story) == ["internal"]


@pytest.mark.parametrize(
    ("row", "found", "kind"),
    [
        ({}, {"x": "T1"}, []),
        ({}, {}, ["internal"]),
        ({"row": None}, {}, []),
        ({"partition": 1}, {}, []),
    ],
)
def test_a_scan_finds_what_its_transaction_wrote(
    row: dict[str, Any], found: dict[Any, str], kind: list[str]
) -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "x", 10, **row)
    story.scan("T1", t, 11, found)
    story.write("T1", t, "y", 12)
    story.commit("T1", 13)
    assert kinds(story) == kind


def test_a_read_that_changes_is_not_repeatable() -> None:
    story = Story()
    t = story.table()
    story.read("T1", t, "x", 10, None)
    story.write("T2", t, "x", 11)
    story.commit("T2", 12)
    story.read("T1", t, "x", 13, "T2")
    story.commit("T1", 14)
    assert kinds(story) == ["non-repeatable-read", "G-single"]


def test_a_read_of_an_unwritten_version_is_garbage() -> None:
    story = Story()
    t = story.table()
    story.write("T1", t, "y", 5)
    story.commit("T1", 6)
    story.read("T2", t, "x", 10, "T1")
    story.commit("T2", 12)
    assert kinds(story) == ["garbage-read"]
