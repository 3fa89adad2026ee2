"""The models beside a node's parts: faults planted in a part are seen, the parts as they are not.

The faults are planted in worlds that the swarm draws, where the part has much to do.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from ddlsim.checkers.judge import judge
from ddlsim.cluster.models.divergence import Divergence, Models
from ddlsim.cluster.models.parts import modelled
from ddlsim.cluster.run import run
from ddlsim.history.history import History
from ddlsim.history.world_events import PartDiverged
from ddlsim.kernel.engine import Loop, SimulationCrashed
from ddlsim.model.hlc import HybridClock
from ddlsim.plan import swarm
from ddlsim.plan.plan import plan
from ddlsim.plan.records import Plan
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.partition.partition import Partition, RowVersion
from ddlsim.protocol.raft import Member
from ddlsim.protocol.raft.messages import AppendEntries, AppendReply, VoteReply
from ddlsim.protocol.raft.replication import Replication
from ddlsim.protocol.transaction.locks import LockTable, X
from ddlsim.units import Timestamp

SEEDS = range(6)
EVENTS_MAX = 40_000
"""A run with a fault may have no end."""


@cache
def drawn(seed: int) -> Plan:
    source = swarm.source_of(None, {"strategy.name": "iep_closed"})
    return plan(swarm.scenario(source, seed), seed)


def ran(seed: int) -> History:
    return run(drawn(seed))


def differences(history: History) -> list[PartDiverged]:
    return history.of(PartDiverged)


class FoundError(BaseException):
    """A part differs from its model; nothing in a run handles this."""


def first_part(monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The part that differs first, in the first drawn world in which one does."""

    def stop(self: Divergence, _what: str) -> None:
        raise FoundError(self.part)

    monkeypatch.setattr(Divergence, "found", stop)
    for seed in SEEDS:
        try:
            run(drawn(seed), events_max=EVENTS_MAX)
        except FoundError as found:
            return str(found)
        except SimulationCrashed:
            continue
    return None


def test_parts_do_what_their_models_do() -> None:
    for seed in SEEDS:
        assert differences(ran(seed)) == []


def without(kind: type) -> Callable[[Any], Callable[..., None]]:
    """The method without what it leaves of a kind in the outbox or among the promises."""

    def planted(method: Any) -> Callable[..., None]:
        def left_out(self: Any, *given: Any, **named: Any) -> None:
            method(self, *given, **named)
            self.outbox = [each for each in self.outbox if type(each[1]) is not kind]
            self._promised = [each for each in self._promised if type(each[1]) is not kind]

        return left_out

    return planted


def grant_all(method: Any) -> Callable[..., bool]:
    def planted(self: Any, tx: Any, resource: Any, mode: int) -> bool:
        answer = method(self, tx, resource, mode)
        if answer is False:
            self._grant(tx, resource, mode, self._holders[resource])
        return answer is False or answer

    return planted


def commit_later(_method: Any) -> Callable[..., None]:
    def planted(self: Any, key: Any, version: RowVersion) -> None:
        later = RowVersion(version.writer, version.commit_ts, version.version + 1, version.row)
        self.rows.setdefault(key, []).append(later)

    return planted


def keep_all(method: Any) -> Callable[..., None]:
    def planted(self: Any, tx: Any, commit_ts: Any) -> None:
        intents = dict(self.intents)
        method(self, tx, commit_ts)
        self.intents = intents

    return planted


def never_merge(_method: Any) -> Callable[..., None]:
    return lambda _self, _ts: None


def commit_early(method: Any) -> Callable[..., None]:
    def planted(self: Any, sender: str, index: int) -> None:
        method(self, sender, index)
        if self.commit_index < self.log.last_index:
            self._commit_to(self.log.last_index)

    return planted


PLANTED: dict[str, tuple[type, str, Callable[[Any], Any], str]] = {
    "grants what it must refuse": (LockTable, "acquire", grant_all, "locks"),
    "stores another version": (Partition, "_put", commit_later, "partition"),
    "keeps intents": (Partition, "end", keep_all, "partition"),
    "merges no timestamp": (HybridClock, "update", never_merge, "clock"),
    "answers no append": (Replication, "_take_append", without(AppendReply), "member"),
    "answers no vote": (Member, "_take_request", without(VoteReply), "member"),
    "sends no heartbeat": (Member, "heartbeat", without(AppendEntries), "member"),
    "commits too early": (Replication, "_matches", commit_early, "member"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, method, fault, part = PLANTED[name]
    monkeypatch.setattr(owner, method, fault(getattr(owner, method)))
    assert first_part(monkeypatch) == part


def test_a_difference_is_a_violation_of_i12(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HybridClock, "update", never_merge(None))
    history = next(one for one in map(ran, SEEDS) if differences(one))
    kinds = [one.kind for one in judge(history).violations if one.invariant == "I12"]
    assert "clock-diverged" in kinds


def release_tables(method: Any) -> Callable[..., None]:
    def planted(self: Any, _table_id: int, partition: int) -> None:
        for other in {place[0] for place in self._holders}:
            method(self, other, partition)

    return planted


@pytest.mark.parametrize("faulty", [False, True])
def test_the_end_of_a_lease_takes_the_locks_of_its_partition(
    faulty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if faulty:
        fault = release_tables(LockTable.release_place)
        monkeypatch.setattr(LockTable, "release_place", fault)
    recorded: list[PartDiverged] = []
    loop = Loop()
    locks = modelled(Models(recorded.append, loop)).locks(loop.future)
    older, younger = (TxId(Timestamp(begin), 0, f"T{begin}") for begin in (1, 2))
    assert locks.acquire(younger, (1, 0, "a"), X) is True
    assert locks.acquire(younger, (2, 0, "a"), X) is True
    waits = locks.acquire(older, (1, 0, "a"), X)
    locks.release_place(1, 0)
    assert not isinstance(waits, bool)
    assert waits.value is False
    assert len(recorded) == faulty
