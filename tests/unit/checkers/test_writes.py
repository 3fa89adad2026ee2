"""Writes by key: in the order of a transaction, and of commit_ts."""

from ddlsim.checkers.case.case import Case
from ddlsim.checkers.case.writes import Writes
from tests.support.history import Story, ts


def test_committed_versions_are_last_writes_in_the_order_of_commit_ts() -> None:
    story = Story()
    t = story.table()
    story.write("A", t, 1, 10)
    story.write("A", t, 1, 11, row=None)
    story.write("B", t, 1, 12)
    story.write("C", t, 1, 13)
    story.commit("B", 20)
    story.commit("A", 21)
    story.abort("C", 22)
    writes = Writes(Case(story.history()))
    versions = writes.versions[t, 1]
    assert [(one.write.tx, one.write.event.row is None) for one in versions] == [
        ("B", False),
        ("A", True),
    ]
    assert writes.order["B", (t, 1)] == 0
    assert writes.order["A", (t, 1)] == 1
    assert [len(writes.of[tx, (t, 1)]) for tx in "ABC"] == [2, 1, 1]
    assert list(writes.partitions[t, 0]) == [1]


def test_the_newest_version_at_a_timestamp() -> None:
    story = Story()
    t = story.table()
    for tx, at in (("A", 10), ("B", 20)):
        story.write(tx, t, 1, at)
        story.commit(tx, at)
    writes = Writes(Case(story.history()))
    found = [writes.newest_at((t, 1), ts(at)) for at in (9, 10, 19, 20)]
    assert [one and one.write.tx for one in found] == [None, "A", "A", "B"]
    assert writes.newest_at((t, 2), ts(99)) is None
