"""A run is a function of its plan: again, elsewhere, unrecorded; and messages keep their delays."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ddlsim.cluster.run import run
from ddlsim.history.events import (
    Encoded,
    Failed,
    Invoked,
    Named,
    Ok,
    TxAborted,
    TxCommitted,
    Unknown,
    UpdateApplied,
)
from ddlsim.history.history import History
from ddlsim.history.world_events import MessageDelivered, MessageSent, NeverCompleted
from ddlsim.kernel.rng import Lognormal
from ddlsim.model.ops import Get, Put
from ddlsim.model.programs import Program, TransactionItem
from ddlsim.plan.records import LinkPlan, Plan
from ddlsim.units import ms
from tests.determinism.busy import busy, lines_of
from tests.determinism.test_kernel import first_difference

ROOT = Path(__file__).parents[2]
SEEDS = [1, 2, 3]


@pytest.fixture(scope="module")
def history() -> History:
    return run(busy(1))


def elsewhere(seed: int, hash_seed: str) -> list[str]:
    """The lines of a run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.determinism.busy", str(seed)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split("\n")


def test_the_world_is_busy(history: History) -> None:
    """Otherwise the other tests here compare silence with silence."""
    kinds = Counter(type(event) for event in history.events)
    assert kinds[TxCommitted] > 50
    assert kinds[TxAborted] > 5
    assert kinds[UpdateApplied] > 20
    assert kinds[NeverCompleted] == 0
    reached = {"append-resent", "client-version-refreshed", "lock-wait", "completeness-wait"}
    assert reached <= set(history.probes)


@pytest.mark.parametrize("seed", SEEDS)
def test_twice_in_one_process(seed: int) -> None:
    """The same plan, carried out twice; and the plan made twice."""
    plan = busy(seed)
    one = lines_of(run(plan))
    for other in (plan, busy(seed)):
        difference = first_difference(one, lines_of(run(other)))
        assert not difference, difference


@pytest.mark.parametrize("hash_seed", ["0", "random"])
def test_in_another_process_under_another_hash_seed(history: History, hash_seed: str) -> None:
    """The order of a set would show here."""
    difference = first_difference(lines_of(history), elsewhere(1, hash_seed))
    assert not difference, difference


def test_other_seeds_are_other_runs(history: History) -> None:
    """Dice decide something, after all."""
    fingerprints = {history.fingerprint(), *(run(busy(seed)).fingerprint() for seed in SEEDS[1:])}
    assert len(fingerprints) == len(SEEDS)


# --- observation does not disturb ----------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_that_is_not_recorded_is_the_same_run(seed: int) -> None:
    """As far as one can see: the same events executed, branches met, and end."""
    on, off = run(busy(seed)), run(busy(seed, recording=False))
    assert off.events == []
    told = [lines_of(each)[len(each.events) : -1] for each in (on, off)]
    difference = first_difference(*told)
    assert not difference, difference


def test_a_run_that_is_traced_is_the_same_run(history: History) -> None:
    """With messages in it."""
    traced = run(busy(1, trace=True))
    kept = [one for one in traced.events if not isinstance(one, MessageSent | MessageDelivered)]
    assert len(kept) < len(traced.events)
    traced.events = kept
    difference = first_difference(lines_of(history), lines_of(traced))
    assert not difference, difference


# --- common random numbers -----------------------------------------------------------------------

Message = tuple[str, str, str, int]


def pure(**changes: Any) -> Plan:
    """A plan in which no message queues: every message takes just the delay that is its own."""
    plan = busy(1, faults=(), trace=True, **changes)
    pure_links = LinkPlan(None, None, None, Lognormal(1, 9), 0.0, 0.0, 1.0)
    return busy(1, faults=(), trace=True, links=(*plan.links, pure_links), **changes)


def delays(plan: Plan) -> dict[Message, list[int]]:
    """How long the messages of each link, kind and label took."""
    found: dict[Message, list[int]] = {}
    for event in run(plan).of(MessageDelivered):
        key = (event.sender, event.to, event.kind, event.label)
        if event.sender != event.to:
            found.setdefault(key, []).append(event.at_us - event.sent_us)
    return found


def one_client_more(plan: Plan) -> tuple[Program, ...]:
    """The programs of a plan, and another client that is as busy as the others."""
    items = tuple(
        TransactionItem("n2", (Put("u", 100 + number), Get("u", 100 + number)), ms(9))
        for number in range(40)
    )
    return (*plan.programs, Program("another", items))


def common(one: dict[Message, list[int]], other: dict[Message, list[int]]) -> list[Message]:
    """The messages of both; each has one delay, however often it was sent."""
    for found in (one, other):
        assert all(len(set(took)) == 1 for took in found.values())
    return [key for key in one if key in other]


def test_messages_more_elsewhere_leave_every_delay_as_it_was() -> None:
    """A message's delay is a function of seed, link, kind and label, whatever else is sent."""
    one = delays(pure())
    other = delays(pure(programs=one_client_more(pure())))
    both = common(one, other)
    assert len(both) > 500
    assert any("another" in key[:2] for key in other)
    different = [(key, one[key][0], other[key][0]) for key in both if one[key][0] != other[key][0]]
    assert different == []


def test_two_designs_have_the_same_delays() -> None:
    """So they are compared on the same dice."""
    one, other = (delays(pure(strategy=name)) for name in ("iep", "a5_safetime"))
    both = common(one, other)
    assert len(both) > 500
    different = [(key, one[key][0], other[key][0]) for key in both if one[key][0] != other[key][0]]
    assert different == []


CLIENT_EVENTS = (Invoked, Named, Encoded, Ok, Failed, Unknown)


def test_events_of_clients_are_the_same_with_a_trace(history: History) -> None:
    """What clients send and receive does not depend on what is recorded."""
    events = [
        [line for event, line in zip(each.events, lines_of(each), strict=False)
         if isinstance(event, CLIENT_EVENTS)]
        for each in (history, run(busy(1, trace=True)))
    ]  # fmt: skip
    difference = first_difference(*events)
    assert not difference, difference
    assert len(events[0]) > 200
