"""The models of what is restored, and of the timestamps of answers: planted faults are seen."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from ddlsim.cluster.run import run
from ddlsim.model.hlc import HybridClock
from ddlsim.plan.plan import plan
from ddlsim.protocol.messages import NodeJoined
from ddlsim.protocol.metastorage.application import Application
from ddlsim.protocol.partition.partition import Partition
from ddlsim.protocol.replication.group import Group
from ddlsim.protocol.transaction.coordinator import Coordinator
from ddlsim.scenario.load import load
from ddlsim.units import Timestamp, timestamp
from tests.support.kept_worlds import differences, first_part

pytestmark = pytest.mark.slow


def without_the_snapshot(method: Any) -> Callable[..., None]:
    def planted(self: Any) -> None:
        install, self._install_in_machine = self._install_in_machine, lambda _state: None
        method(self)
        self._install_in_machine = install

    return planted


def one_entry_less(method: Any) -> Callable[..., None]:
    def planted(self: Any) -> None:
        applied, self._log.applied = self._log.applied, max(self._log.applied - 1, 0)
        method(self)
        self._log.applied = applied

    return planted


def the_whole_log(method: Any) -> Callable[..., None]:
    def planted(self: Any) -> None:
        self._log.applied = max(self._log.applied, self._log.last_index)
        method(self)

    return planted


def without_writes(method: Any) -> Callable[..., None]:
    def planted(self: Any, state: Any) -> None:
        method(self, state)
        self._ops = {}

    return planted


def with_the_old_activation(method: Any) -> Callable[..., Any]:
    def planted(self: Any, *given: Any) -> Any:
        last_ts = self._last_activation_ts
        result = method(self, *given)
        self._last_activation_ts = last_ts
        return result

    return planted


def stamped_at_the_operation(method: Any) -> Callable[..., Any]:
    def planted(self: Any, tx: Any, request: Any, enlistment: Any, answer: Any) -> Any:
        reply = method(self, tx, request, enlistment, answer)
        op_ts = getattr(answer, "op_ts", None)
        return reply if op_ts is None else replace(reply, token_ts=op_ts)

    return planted


PLANTED: dict[str, tuple[Any, str, Callable[[Any], Any], str]] = {
    "leaves a snapshot out": (Group, "_restore", without_the_snapshot, "group"),
    "restores one entry less": (Group, "_restore", one_entry_less, "group"),
    "restores what was not applied": (Group, "_restore", the_whole_log, "group"),
    "forgets the writes of a snapshot": (Partition, "install", without_writes, "partition"),
    "forgets the last activation": (
        Application,
        "_compare_and_set",
        with_the_old_activation,
        "meta storage",
    ),
    "answers at the operation": (
        Coordinator,
        "_answered",
        stamped_at_the_operation,
        "coordinator",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, part = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert first_part(monkeypatch) == part


def test_a_group_of_one_keeps_in_its_snapshots_what_is_not_cleaned_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No command of its log says what is: the participant does."""
    method = Partition.snapshot

    def planted(self: Partition) -> Any:
        alone = self.on_safe_time is None
        return replace(method(self), uncleaned=()) if alone else method(self)

    monkeypatch.setattr(Partition, "snapshot", planted)
    assert first_part(monkeypatch, 14) == "partition"


def test_a_lease_that_was_known_before_a_restart_is_of_an_earlier_life(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though it begins behind the restart by the clock of its holder."""
    method = HybridClock.update

    def planted(self: HybridClock, ts: Timestamp) -> None:
        if ts != timestamp(245):  # where the first leases begin
            method(self, ts)

    monkeypatch.setattr(HybridClock, "update", planted)
    scenario = load("faults/restart_under_the_first_lease")
    (found,) = differences(run(plan(scenario, 0, models=True)))
    assert found.part == "leases"
    assert "of an earlier life" in found.what


def test_news_of_an_earlier_restart_does_not_count_behind_that_of_a_later_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By what follows it shows seldom: a lease that ought to end is prolonged."""
    method = Application._take_joined

    def planted(self: Application, message_ts: Timestamp, command: NodeJoined) -> None:
        method(self, message_ts, command)
        self.joined[command.node] = command.joined_ts

    monkeypatch.setattr(Application, "_take_joined", planted)
    scenario = load("faults/late_news_of_a_restart")
    found = differences(run(plan(scenario, 0, models=True)))
    assert {one.part for one in found} == {"meta storage"}
    assert all(one.what.startswith("the nodes that joined") for one in found)
