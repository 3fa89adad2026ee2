"""Worlds in which a model took a part for wrong that was right; and what it must see all the same.

A node was paused in the instant in which it owed something; a transaction that wrote nothing had
committed by its coordinator, and had ended as an abort in a partition; an implicit read in the past
was answered in its second attempt; an operation waited for a lock for no time, and its lease ended.
"""

from collections.abc import Callable
from typing import Any, Final

import pytest

from ddlsim.cluster.run import run
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.protocol.transaction.participant import Participant
from tests.unit.cluster.test_models import SEEDS, differences, ran

TRACED: Final = (
    ("iep", 20045),  # paused as it owes a clean-up
    ("iep_closed", 20244),  # paused as it becomes primary and owes an outcome
    ("iep_literal", 30024),  # a read in the past is refused by one replica, and tried again
    ("ignite3", 20040),  # recovered as aborted, and unlocked by its coordinator
    ("ignite3", 30201),  # a node that hears of its leases' ends in the instant of its locks
    ("ignite3", 20057),  # its coordinator does not know it any more, and it is cleaned up later
)


@pytest.mark.parametrize(("strategy", "seed"), TRACED)
def test_a_world_that_was_traced_shows_no_difference(strategy: str, seed: int) -> None:
    source = swarm.source_of(None, {"strategy.name": strategy})
    assert differences(run(plan(swarm.scenario(source, seed), seed, models=True))) == []


def drops_what_it_confirms(method: Any) -> Callable[..., Any]:
    return lambda self, tx, _commit_ts, places: method(self, tx, None, places)


def test_an_intent_that_is_dropped_and_confirmed_as_committed_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = drops_what_it_confirms(Participant._begin_cleaning)
    monkeypatch.setattr(Participant, "_begin_cleaning", fault)
    found = (one.what for seed in SEEDS for one in differences(ran(seed)))
    assert any("is confirmed as" in what and "and ended as None" in what for what in found)
