"""I6: what commits runs under at most two adjacent versions of a table at a time."""

from tests.support.history import add_column
from tests.support.judging import anomalies
from tests.support.layered import Layered


def three_versions() -> Layered:
    story = Layered()
    story.ddl("D1", story.t, add_column(2, "w"), tu=10)
    story.ddl("D2", story.t, add_column(3, "x"), tu=20)
    return story


def told(story: Layered) -> list[str]:
    return [f"{one.kind}: {one.summary}" for one in anomalies("two_versions", story)]


def test_adjacent_versions_may_be_in_use_at_a_time() -> None:
    story = three_versions()
    story.run("A", 12, 16, ("put", "r", 1), v=2)
    story.run("B", 13, 17, ("put", "s", 1), v=1)
    story.run("C", 22, 25, ("put", "r", 2), v=3)
    story.run("D", 21, 26, ("put", "s", 2), v=2)
    assert told(story) == []


def test_a_version_left_behind_by_two_that_is_used_again() -> None:
    story = three_versions()
    story.run("C", 22, 25, ("put", "r", 2), v=3)
    story.run("B", 30, 33, ("put", "s", 2), v=1, node="b")
    (found,) = told(story)
    assert found == (
        "outside-window: B ran under version 1 of t on node b up to 33, and from 22 on C had run "
        "under version 3 on node p1"
    )


def test_a_transaction_that_commits_behind_the_beginning_of_the_next_version_but_one() -> None:
    story = three_versions()
    story.run("B", 5, 23, ("put", "s", 2), v=1)
    story.run("C", 22, 25, ("put", "r", 2), v=3)
    assert len(told(story)) == 1
    story = three_versions()
    story.run("B", 5, 22, ("put", "s", 2), v=1)
    story.run("C", 22, 25, ("put", "r", 2), v=3)
    assert told(story) == []


def test_a_reader_uses_its_version_at_its_read_version() -> None:
    story = three_versions()
    story.run("C", 22, 25, ("put", "r", 2), v=3)
    story.run("R", 21, None, ("get", "r"), v=1, begins=40)
    assert told(story) == []
    story = three_versions()
    story.run("C", 22, 25, ("put", "r", 2), v=3)
    story.run("Q", 30, None, ("get", "r"), v=1)
    assert len(told(story)) == 1


def test_what_does_not_commit_uses_nothing() -> None:
    story = three_versions()
    story.run("C", 22, 25, ("put", "r", 2), v=3)
    story.run("B", 30, 33, ("put", "s", 2), v=1, aborts="CONFLICT")
    story.run("E", 34, 36, ("put", "s", 2), v=2)
    assert told(story) == []
