"""The models of clocks see a wait that is left, and a rule that does not move its clock."""

from collections.abc import Callable
from typing import Any

import pytest

from ddlsim.cluster.adapters import ClockWaiters
from ddlsim.cluster.models import parts
from ddlsim.cluster.models.design import clock_rules
from ddlsim.cluster.models.design.clock_rules import stamps, take_over
from ddlsim.kernel.clock import PhysicalClock
from ddlsim.model.hlc import HybridClock
from ddlsim.protocol.design import failure_rules
from ddlsim.units import LOGICAL_BITS, Timestamp
from tests.support.kept_worlds import first_part

pytestmark = pytest.mark.slow

SHOWN = 1000 << LOGICAL_BITS


class Found:
    """The first difference that a model finds."""

    def __init__(self) -> None:
        self.text = ""

    def found(self, what: str) -> None:
        self.text = self.text or what


def differs(model: Callable[..., Any], rule: Callable[..., Any]) -> str:
    found = Found()
    model(rule, found)(HybridClock(lambda: SHOWN >> LOGICAL_BITS), Timestamp(SHOWN - 5))
    return found.text


def sets_it(clock: HybridClock, ts: Timestamp) -> Timestamp:
    """The next stamp; whatever waits for it is not looked at again, and no limit is written."""
    clock._last = max(clock.current(), ts) + 1
    return Timestamp(clock._last)


def sets_it_within_its_limit(clock: HybridClock, ts: Timestamp) -> Timestamp:
    before = clock._limit
    found = sets_it(clock, ts)
    if found > before:
        clock._raise_limit(found)
    return found


def goes_by_itself(clock: HybridClock, ts: Timestamp) -> Timestamp:
    del ts
    return clock.now()


def test_the_rules_of_the_documents_pass() -> None:
    assert differs(stamps, failure_rules.beyond_the_log) == ""
    assert differs(take_over, failure_rules.merge_last_stamp) == ""


@pytest.mark.parametrize(
    ("model", "rule", "why"),
    [
        (stamps, goes_by_itself, "behind"),
        (stamps, sets_it, "written the limits []"),
        (stamps, sets_it_within_its_limit, "looked at 0 times"),
        (take_over, sets_it, "looked at 0 times"),
        (take_over, failure_rules.keep_own_clock, "behind"),
    ],
)
def test_a_rule_that_does_not_move_its_clock_is_seen(
    model: Callable[..., Any], rule: Callable[..., Any], why: str
) -> None:
    assert why in differs(model, rule)


def test_a_message_whose_timestamp_is_not_merged_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock_rules, "COPIED", 0)  # else a copy differs before
    monkeypatch.setattr(parts, "compare_states", lambda *_: None)  # as does what is asked beside it
    monkeypatch.setattr(HybridClock, "update", lambda _self, _ts: None)
    assert first_part(monkeypatch) == "clock"


def test_a_wait_that_goes_on_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(_self: ClockWaiters) -> None:
        """Wait for ever."""

    monkeypatch.setattr(ClockWaiters, "_look", look)
    assert first_part(monkeypatch) == "clock"


def test_a_wait_that_does_not_follow_the_clock_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PhysicalClock, "on_change", lambda _self, _callback: lambda: None)
    monkeypatch.setattr(PhysicalClock, "due_us", late(PhysicalClock.due_us))
    assert first_part(monkeypatch) == "clock"


def late(due_us: Callable[[PhysicalClock, int], int]) -> Callable[[PhysicalClock, int], int]:
    return lambda clock, clock_ms: due_us(clock, clock_ms) + 20_000
