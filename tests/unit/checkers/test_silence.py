"""I11: a client gives a request up once its time is over, or where its node was down."""

import pytest

from ddlsim.history.events import Invoked, Unknown
from ddlsim.history.world_events import NodeCrashed, NodeRestarted
from tests.support.history import Story
from tests.support.judging import anomalies

LIMIT_MS = 50
NODE = {"operation_timeout_ms": LIMIT_MS}


def given_up(after_ms: int) -> Story:
    story = Story(settings={"n1": NODE, "n2": NODE})
    story.add(100, Invoked, "c", "op", "T", "n1", "get", "t", 1)
    story.add(100 + after_ms, Unknown, "c", "op", "NODE_UNREACHABLE")
    return story


def kinds(story: Story) -> list[str]:
    return [one.kind for one in anomalies("precision", story)]


@pytest.mark.parametrize("after_ms", [0, LIMIT_MS - 1, LIMIT_MS])
def test_a_request_is_given_up_no_sooner_than_an_operation_may_take(after_ms: int) -> None:
    assert kinds(given_up(after_ms)) == ["given-up-early"] * (after_ms < LIMIT_MS)


@pytest.mark.parametrize(
    ("node", "crashed_ms", "restarted_ms", "excused"),
    [
        ("n1", 90, None, True),
        ("n1", 90, 99, False),
        ("n1", 90, 100, True),
        ("n1", 105, None, True),
        ("n1", 105, 106, True),
        ("n1", 111, None, False),
        ("n2", 90, None, False),
    ],
)
def test_a_node_that_is_down_refuses_at_once(
    node: str, crashed_ms: int, restarted_ms: int | None, excused: bool
) -> None:
    story = given_up(10)
    story.add(crashed_ms, NodeCrashed, node)
    if restarted_ms is not None:
        story.add(restarted_ms, NodeRestarted, node, 2)
    assert kinds(story) == ["given-up-early"] * (not excused)
