"""I7: no row lacks a value of a mandatory column from the instant at which that is promised."""

from typing import Any

from ddlsim.model.ddl import ColumnDropped
from ddlsim.model.pending import ColumnConfirmed, ColumnPending
from tests.support.history import Story, add_column
from tests.support.judging import anomalies

W = add_column(2, "w", nullable=False).column


def told(story: Story) -> list[str]:
    return [one.summary for one in anomalies("data_matches_schema", story)]


def history(*steps: tuple[Any, int], deleted: bool = False, at: int = 18) -> Story:
    """T1 writes under version 1 and commits at 18; then `w` comes at the instants given."""
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.commit("T1", at)
    if deleted:
        story.write("T2", t, 7, 30, row=None)
        story.commit("T2", 35)
    for number, (change, tu) in enumerate(steps):
        story.ddl(f"D{number}", t, change, tu=tu)
    return story


def test_a_row_that_is_there_when_the_column_activates() -> None:
    """B12-T1; that it is deleted later on does not matter."""
    for deleted in (False, True):
        (why,) = told(history((add_column(2, "w", nullable=False), 20), deleted=deleted))
        assert "as T1 had left it at 18, had no value of w, which is NOT NULL in version 2" in why


def test_a_row_that_was_deleted_before_lacks_nothing() -> None:
    assert told(history((add_column(2, "w", nullable=False), 40), deleted=True)) == []


def test_a_column_that_may_be_null_or_has_a_default_promises_nothing() -> None:
    assert told(history((add_column(2, "w"), 20))) == []
    assert told(history((add_column(2, "w", nullable=False, default=7), 20))) == []


def test_what_commits_after_the_activation_is_not_judged_here() -> None:
    """It is one for I8, since the change is forward-incompatible."""
    assert told(history((add_column(2, "w", nullable=False), 20), at=25)) == []


def test_a_pending_column_promises_nothing_until_it_is_confirmed() -> None:
    pending, confirmed = (ColumnPending(W), 20), (ColumnConfirmed(W), 50)
    assert told(history(pending)) == []
    assert told(history(pending, (ColumnDropped(W), 50))) == []
    (why,) = told(history(pending, confirmed))
    assert "NOT NULL in version 3" in why
    assert told(history(pending, confirmed, deleted=True)) == []


def test_a_row_that_was_written_while_it_was_pending_has_a_value() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, ColumnPending(W), tu=20)
    story.write("T1", t, 7, 30, version=2, row=((0, 7), (1, 1), (2, 5)))
    story.commit("T1", 35)
    story.ddl("E", t, ColumnConfirmed(W), tu=50)
    assert told(story) == []


def kept(*, confirmed: bool) -> Story:
    """What T1 wrote under version 1 is still there when all has come to rest."""
    story = Story()
    t = story.table()
    story.write("T1", t, 7, 10)
    story.commit("T1", 18)
    story.ddl("D", t, ColumnPending(W), tu=20)
    if confirmed:
        story.ddl("E", t, ColumnConfirmed(W), tu=50)
    story.kept(t, 7, "T1", 18, 100)
    return story


def test_a_column_that_stays_pending_excuses_the_rows_from_before_it() -> None:
    """Who was to confirm it died: the column promises nothing of them."""
    assert told(kept(confirmed=False)) == []
    assert len(told(kept(confirmed=True))) == 2


def test_a_column_that_stays_pending_excuses_no_row_that_is_newer() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, ColumnPending(W), tu=20)
    story.write("T1", t, 7, 30, version=2, row=((0, 7), (1, 1), (2, None)))
    story.commit("T1", 35)
    story.kept(t, 7, "T1", 35, 100)
    assert [why.rpartition(": ")[2] for why in told(story)] == [
        "w is NOT NULL and has no value"
    ] * 2
