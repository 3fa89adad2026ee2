"""Fault actions on a node, a client or a kind of message that there is not."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ddlsim.cluster.cluster import Cluster
from ddlsim.cluster.faults import ClusterFaults, FaultInProgress
from ddlsim.cluster.group_faults import GroupFaults
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.kernel.host import Host
from ddlsim.nemesis.actions import Fate
from ddlsim.units import ms
from tests.support.worlds import built

ANY: dict[str, Any] = {"sender": None, "to": None, "kind": None}


def struck() -> tuple[Cluster, FaultInProgress]:
    """A cluster, and the actions of one fault."""
    cluster = built("[network]\nlatency_ms = 1\n")
    return cluster, FaultInProgress(ClusterFaults(cluster, GroupFaults(cluster)))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"to": "n9"}, "no node is called 'n9'; known: n1, n2, n3"),
        (
            {"sender": "primary of t"},
            "called 'primary of t'; known: n1, n2, n3; actions.resolve gives the node of a role",
        ),
        ({"kind": "append-entry"}, "no message is of the kind 'append-entry'; did you mean append"),
        ({"kind": "?"}, "of the kind '?'; known: agreed, answer, "),
    ],
)
def test_traffic_of_no_node_or_of_no_kind_is_refused(wrong: dict[str, str], told: str) -> None:
    """It matched nothing, and nothing was said."""
    _, actions = struck()
    calls: list[Callable[..., None]] = [
        partial(actions.delay_traffic, by_us=ms(20)),
        actions.hold_traffic,
        actions.block_traffic,
        partial(actions.set_link_profile, loss=0.5),
        partial(actions.strike_next, Fate("lost"), count=1),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=re.escape(told)):
            call(**ANY | wrong)
    with pytest.raises(ValueError, match="no node is called 'n9'"):
        actions.cut_off("n9")


def test_a_machine_that_there_is_not_is_refused() -> None:
    """It was a `KeyError` without the names of those that there are."""
    _, actions = struck()
    calls: list[Callable[[str], None]] = [
        partial(actions.clock_step, by_us=5, returns=False),
        partial(actions.clock_beyond, by_us=5),
        partial(actions.clock_drift, ppm=5),
        actions.pause,
        partial(actions.crash, torn=None),
        partial(actions.slow_disk, by_us=ms(5)),
        partial(actions.slow_apply, stage="log", delay_us=ms(5)),
        partial(actions.set_setting, key="delay_duration_ms", value=5),
        partial(actions.transfer, "meta"),
    ]
    for call in calls:
        call("n1")
        with pytest.raises(ValueError, match=r"no node is called 'n9'; known: n1, n2, n3$"):
            call("n9")


@pytest.mark.parametrize("kind", ["append-reply", "operate-reply"])
def test_replies_are_kinds_of_messages(kind: str) -> None:
    """Those with a class of their own, and bare ones."""
    struck()[1].hold_traffic(sender=None, to=None, kind=kind)


def test_traffic_of_a_client_is_known() -> None:
    cluster, actions = struck()
    Host(cluster.loop, cluster.network, "c", PhysicalClock(cluster.loop))
    actions.block_traffic(sender="c", to="n1", kind=None)
    assert actions.without_effect == "met no message"
