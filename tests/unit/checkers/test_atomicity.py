"""I1: what a node resolved against the complete log, and what it applied too late. [98.ap]"""

import pytest

from ddlsim.model import ddl
from tests.support.history import Story, add_column
from tests.support.judging import anomalies


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("atomicity", story)]


def altered(tu: int = 1100) -> tuple[Story, int]:
    story = Story()
    table = story.table()
    story.ddl("D", table, add_column(2, "w"), tu=tu, submit=1000, tm=1000)
    return story, table


@pytest.mark.parametrize(
    ("top", "version", "kind"),
    [
        (1099, 1, []),
        (1099, 2, ["wrong-version"]),
        (1100, 2, []),
        (1100, 1, ["wrong-version"]),
        (1155, 1, ["wrong-version"]),
    ],
)
def test_a_version_is_effective_from_its_activation_on(
    top: int, version: int, kind: list[str]
) -> None:
    """[98.def.1]: Top = Tu resolves the new version already."""
    story, table = altered()
    story.resolve("T", table, top, version)
    assert kinds(story) == kind


def test_a_node_that_answers_before_it_knows_is_convicted_twice() -> None:
    """A1-T1: B is cut off, answers at 1155 with v1, and applies the update at 1305."""
    story, table = altered()
    story.resolve("T", table, 1150, 2, node="A")
    story.resolve("T", table, 1155, 1, node="B")
    story.applied("B", 1305, 2, 1100)
    assert kinds(story) == ["wrong-version", "late-update"]


@pytest.mark.parametrize(("top", "late"), [(1099, False), (1100, True), (1101, True)])
def test_an_update_is_late_for_answers_at_or_after_its_activation(top: int, late: bool) -> None:
    """I1' alone: the answer was right by chance, the node could not know."""
    story, table = altered()
    story.resolve("T", table, top, 1 if top < 1100 else 2, at=1050, node="B")
    story.applied("B", 1060, 2, 1100)
    assert kinds(story) == (["late-update"] if late else [])


def test_another_nodes_answers_do_not_make_an_update_late() -> None:
    story, table = altered()
    story.resolve("T", table, 1150, 2, at=1050, node="A")
    story.applied("B", 1060, 2, 1100)
    assert kinds(story) == []


def test_a_restarted_node_applies_its_log_again() -> None:
    story, table = altered()
    story.applied("B", 1010, 2, 1100)
    story.resolve("T", table, 1150, 2, node="B")
    story.applied("B", 1200, 2, 1100)
    assert kinds(story) == []


def test_of_equal_activations_the_later_version_holds() -> None:
    story, table = altered()
    story.ddl("E", table, add_column(3, "x"), tu=1100, submit=1001)
    story.resolve("T", table, 1100, 3)
    assert kinds(story) == []
    story.resolve("U", table, 1100, 2)
    assert kinds(story) == ["wrong-version"]


def test_a_later_version_that_activates_earlier_ends_with_the_earlier_one() -> None:
    """IGNITE-20498: the delay duration was lowered between the two updates."""
    story, table = altered(tu=1500)
    story.ddl("E", table, add_column(3, "x"), tu=1200, submit=1001)
    story.resolve("T", table, 1300, 3)
    story.resolve("U", table, 1500, 2)
    assert kinds(story) == []


@pytest.mark.parametrize(("version", "kind"), [(0, []), (1, ["wrong-version"])])
def test_a_dropped_table_does_not_exist(version: int, kind: list[str]) -> None:
    story = Story()
    table = story.table()
    story.ddl("D", table, ddl.ObjectDropped(), tu=20)
    story.resolve("T", table, 20, version)
    assert kinds(story) == kind


def test_a_table_that_exists_must_be_found_by_its_name() -> None:
    story = Story()
    table = story.table("t")
    story.resolve("T", 0, 10, 0, purpose="enlist", name="t")
    story.resolve("U", 0, 10, 0, purpose="enlist", name="u")
    story.resolve("V", table, 10, 1, purpose="enlist", name="t")
    assert kinds(story) == ["wrong-version"]


def test_a_name_means_the_table_that_has_it_then() -> None:
    """RENAME a TO b, CREATE a: from 30 on the name a means the new table."""
    story = Story()
    old = story.table("a")
    story.ddl("D", old, ddl.ObjectRenamed("a", "b"), tu=20)
    new = story.created("E", "a", tu=30, submit=25, ack=40)
    story.resolve("T", old, 19, 1, purpose="enlist", name="a")
    story.resolve("T", 0, 25, 0, purpose="enlist", name="a")
    story.resolve("T", new, 30, 1, purpose="enlist", name="a")
    assert kinds(story) == []
    story.resolve("T", old, 30, 2, purpose="enlist", name="a")
    assert kinds(story) == ["wrong-version"]


def test_a_name_that_nothing_bears_any_more_finds_nothing() -> None:
    """The right version of a table, by a name that it has lost to nothing else."""
    story = Story()
    old = story.table("a")
    story.ddl("D", old, ddl.ObjectRenamed("a", "b"), tu=20)
    story.resolve("T", old, 20, 2, purpose="enlist", name="b")
    story.resolve("T", old, 20, 2)
    assert kinds(story) == []
    story.resolve("T", old, 20, 2, purpose="enlist", name="a")
    [anomaly] = anomalies("atomicity", story)
    assert anomaly.summary.endswith("got version 2 of b; by the complete log it was nothing")


def test_two_tables_of_one_name_are_shown_apart_by_their_ids() -> None:
    """DROP a, CREATE a: the old one is found where the new one is due."""
    story = Story()
    old = story.table("a")
    story.ddl("D", old, ddl.ObjectDropped(), tu=20)
    new = story.created("E", "a", tu=30, submit=25, ack=40)
    story.resolve("T", old, 30, 1, purpose="enlist", name="a")
    [anomaly] = anomalies("atomicity", story)
    assert f"got version 1 of a (object {old}); by" in anomaly.summary
    assert f"it was version 1 of a (object {new}), active since 30" in anomaly.summary


def test_wrong_version_summary_has_answer_and_truth() -> None:
    story, table = altered()
    story.resolve("T", table, 1155, 1, node="B", purpose="commit")
    [anomaly] = anomalies("atomicity", story)
    assert "node B" in anomaly.summary
    assert "T (commit) at 1155" in anomaly.summary
    assert "version 2 of t, active since 1100" in anomaly.summary
    assert len(anomaly.witness) == 2
