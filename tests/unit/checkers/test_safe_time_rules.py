"""I12: a schema safe time is published once the catalog has what it promises [98.x.3]."""

import pytest
from msgspec import structs

from ddlsim.history.events import SafeTimeAdvanced, UpdateApplied, UpdateLogged
from ddlsim.history.world_events import CommandLogged, NodeCrashed, NodeRestarted
from tests.support.history import Story, add_column, ts
from tests.support.judging import anomalies

AHEAD = "safe-time-ahead-of-the-catalog"


def begun(rule: str = "AFTER_LISTENERS") -> Story:
    """One update, stamped 20, which no node has taken yet."""
    story = Story()
    rules = {"publish_safe_time": rule}
    story.design = structs.replace(story.design, rules=rules)
    story.ddl("D", story.table(), add_column(2, "a"), tu=60, tm=20, submit=20)
    return story


def take(story: Story, at: float) -> None:
    events = story.history().events
    (update,) = (one for one in events if isinstance(one, UpdateLogged) and one.op == "D")
    story.add(at, UpdateApplied, "n1", update.catalog_version, ts(20), ts(60))


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("machinery", story) if one.kind == AHEAD]


@pytest.mark.parametrize(("safe", "found"), [(19, 0), (20, 1)])
def test_what_is_complete_has_every_update(safe: int, found: int) -> None:
    story = begun()
    story.add(30, SafeTimeAdvanced, "n1", ts(safe))
    take(story, 30)
    assert kinds(story) == [AHEAD] * found


def test_what_follows_the_catalog_is_in_order_and_a_gap_is_told_once() -> None:
    story = begun()
    take(story, 30)
    story.add(30, SafeTimeAdvanced, "n1", ts(20))
    story.add(31, SafeTimeAdvanced, "n1", ts(25))
    assert kinds(story) == []
    story.add(32, SafeTimeAdvanced, "n2", ts(25))
    story.add(33, SafeTimeAdvanced, "n2", ts(26))
    assert kinds(story) == [AHEAD]


@pytest.mark.parametrize("again", [False, True])
def test_a_new_life_takes_its_updates_anew(again: bool) -> None:
    story = begun()
    take(story, 30)
    story.add(31, SafeTimeAdvanced, "n1", ts(20))
    story.add(40, NodeCrashed, "n1")
    story.add(50, NodeRestarted, "n1", 2)
    if again:
        take(story, 50)
    story.add(50, SafeTimeAdvanced, "n1", ts(20))
    assert kinds(story) == ([] if again else [AHEAD])


@pytest.mark.parametrize("rule", ["ON_APPLICATION", ""])
def test_a_design_that_does_not_wait_for_its_catalog_promises_nothing(rule: str) -> None:
    story = begun(rule)
    story.add(30, SafeTimeAdvanced, "n1", ts(20))
    assert kinds(story) == []


@pytest.mark.parametrize(
    ("before", "stamp", "found"),
    [(True, 19, 1), (True, 20, 0), (True, 21, 0), (False, 21, 1)],
)
def test_what_is_stamped_below_an_earlier_command_was_never_promised(
    before: bool, stamp: int, found: int
) -> None:
    """Of a leader whose clock is behind that of its predecessor."""
    story = begun()
    [update] = [one for one in story.history().events
                if isinstance(one, UpdateLogged) and one.op == "D"]  # fmt: skip
    index = update.index - 1 if before else update.index + 1
    story.add(19, CommandLogged, "n2", "meta", index, 1, ts(stamp))
    story.add(19, CommandLogged, "n2", "t/0", 0, 1, ts(99))
    story.add(30, SafeTimeAdvanced, "n1", ts(25))
    assert kinds(story) == [AHEAD] * found
