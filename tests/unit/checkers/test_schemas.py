"""The complete log: versions by number, by time and by name."""

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.schemas import SchemaLog
from ddlsim.model import ddl
from tests.support.history import Story, add_column, ts


def log(story: Story) -> SchemaLog:
    return Case(story.history()).schemas


def test_versions_by_time() -> None:
    story = Story()
    t = story.table(tu=5)
    story.ddl("D", t, add_column(2, "w"), tu=20)
    found = log(story)
    versions = [found.effective(t, ts(at)) for at in (4, 5, 19, 20, 99)]
    assert [one and one.version for one in versions] == [None, 1, 1, 2, 2]
    assert found.effective(77, ts(5)) is None


def test_a_dropped_object_has_a_version_and_does_not_exist() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, ddl.ObjectDropped(), tu=20)
    found = log(story)
    dropped = found.effective(t, ts(20))
    assert dropped is not None
    assert (dropped.version, dropped.definition) == (2, None)
    assert found.existing(t, ts(20)) is None
    assert found.relations("t", ts(20)) == []
    assert [one.object_id for one in found.relations("t", ts(19))] == [t]


def test_the_steps_between_two_versions() -> None:
    story = Story()
    t = story.table()
    for at in (20, 30, 40):
        story.ddl(f"D{at}", t, add_column(at, f"c{at}"), tu=at)
    found = log(story)
    assert [step.version for step in found.steps(t, 1, 3)] == [2, 3]
    assert found.steps(t, 3, 1) == []
    assert [found.after(t, v) is None for v in (1, 4)] == [False, True]
    newest = found.newest(t)
    assert newest is not None
    assert newest.version == 4


def test_an_object_is_described_by_the_name_it_had() -> None:
    story = Story()
    t = story.table("a")
    story.ddl("D", t, ddl.ObjectRenamed("a", "b"), tu=20)
    found = log(story)
    assert found.describe(t, 1) == "version 1 of a"
    assert found.describe(t, 2) == "version 2 of b"
    assert found.describe(9, 1) == "version 1 of object 9"


def test_a_name_that_two_tables_had_one_after_the_other() -> None:
    story = Story()
    old = story.table("a")
    story.ddl("D", old, ddl.ObjectRenamed("a", "b"), tu=20)
    new = story.created("E", "a", tu=30, submit=25, ack=40)
    found = log(story)
    owners = [[one.object_id for one in found.relations("a", ts(at))] for at in (19, 25, 30)]
    assert owners == [[old], [], [new]]
