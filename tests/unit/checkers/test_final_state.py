"""I7 at rest, where a place has several replicas: whose word counts, and who must agree."""

from typing import Any

from msgspec.structs import replace

from ddlsim.checkers.base import CHECKERS
from ddlsim.checkers.case.case import Case
from ddlsim.history.events import RowFinal
from ddlsim.history.world_events import LeaseBegan, NeverCompleted, NodeCrashed, PartitionSafeTime
from tests.support.history import Story, ts
from tests.support.judging import anomalies


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("data_matches_schema", story)]


def rest(holds: dict[str, str | None], *, safe: dict[str, int] | None = None, **more: Any) -> Story:
    """A wrote x at 10, B at 20; n1 had the first lease, n2 has the last; what each node holds."""
    story = Story()
    t = story.table()
    for tx, at in (("A", 10), ("B", 20)):
        story.write(tx, t, "x", at)
        story.commit(tx, at)
    if more.get("leases", True):
        story.add(1, LeaseBegan, "n1", "1/0", "n1", ts(1), ts(15))
        story.add(30, LeaseBegan, "n1", "1/0", "n2", ts(30), ts(90))
    for node, at in (safe or {}).items():
        story.add(40, PartitionSafeTime, node, "1/0", ts(at))
    if "dead" in more:
        story.add(50, NodeCrashed, more["dead"])
    for node, writer in holds.items():
        if writer is not None:
            story.kept(t, "x", writer, 10 if writer == "A" else 20, 99, node=node)
    return story


def test_rows_of_the_last_primary_count_and_others_may_lag() -> None:
    assert kinds(rest({"n1": "A", "n2": "B", "n3": None})) == []
    assert kinds(rest({"n1": "B", "n2": "A"})) == ["lost-write"]
    assert kinds(rest({"n1": "B", "n2": None})) == ["lost-write"]
    assert kinds(rest({"n1": "B"}, leases=False)) == []
    assert kinds(rest({"n1": "A"}, leases=False)) == ["lost-write"]


def test_rows_of_crashed_nodes_are_not_judged() -> None:
    assert kinds(rest({"n1": "A"}, dead="n2")) == []
    assert kinds(rest({"n1": "A"}, dead="n3")) == ["lost-write"]


def test_replicas_that_know_as_much_hold_the_same() -> None:
    safe = {"n1": 35, "n2": 35}
    assert kinds(rest({"n1": "B", "n2": "B"}, safe=safe)) == []
    assert kinds(rest({"n1": "A", "n2": "B"}, safe=safe)) == ["replicas-differ"]
    assert kinds(rest({"n1": None, "n2": "B"}, safe=safe)) == ["replicas-differ"]
    assert kinds(rest({"n1": "A", "n2": "B"}, safe={"n1": 34, "n2": 35})) == []
    assert kinds(rest({"n1": "A", "n2": "B"}, safe={"n1": 35})) == []
    assert kinds(rest({"n1": "A", "n2": "B"}, safe=safe, dead="n1")) == []


def test_a_replica_that_lags_holds_what_was_once_committed() -> None:
    story = rest({"n2": "B"})
    story.write("C", 1, "x", 30)
    story.abort("C", 31)
    story.kept(1, "x", "C", 30, 99, node="n3")
    assert kinds(story) == ["uncommitted-row"]


def test_another_row_of_the_same_writer_is_another_row() -> None:
    story = rest({"n2": "B"}, safe={"n1": 35, "n2": 35})
    story.add(99, RowFinal, "n1", 1, 0, "x", "B", ts(20), 1, ((0, "x"), (1, "other")))
    assert kinds(story) == ["replicas-differ"]


def test_a_run_of_which_nothing_is_left_has_lost_its_writes() -> None:
    """It is read back in any case; of a history without a scenario nothing says so."""
    history = rest({}).history()
    checker = CHECKERS.get("data_matches_schema")
    assert list(checker.check(Case(history))) == []
    history.header = replace(history.header, scenario_text="title = 'a run'")
    assert [one.kind for one in checker.check(Case(history))] == ["lost-write"]
    history.events.append(NeverCompleted(history.events[-1].at_us, "c", "op", "an answer"))
    assert list(checker.check(Case(history))) == []
