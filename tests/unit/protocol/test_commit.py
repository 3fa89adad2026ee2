"""Ends at the coordinator: replication awaited, leases that must last, outcomes others stored."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.events import TxAborted, TxCommitted
from ddlsim.model.reasons import Reason
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import Answer, Cleanup, ClientCommit, Finish, Finished
from ddlsim.protocol.replica_messages import (
    AreReplicated,
    Fate,
    PartitionRaft,
    RecoverTx,
    Replicated,
    TxStateRequest,
)
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, timestamp
from tests.support.protocol import FIRST_LEASE, NEVER, FakeNode, Sent
from tests.support.session import EVEN, ODD, Session, reason_of

FIRST, SECOND = (1, 0), (1, 1)
"""The partitions of the even keys, whose primary is n2, and of the odd ones, whose is n1."""


class Replicated3(Session):
    """Three replicas of each partition, 1 ms apart; `lost` are kinds of messages that are lost."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(
            names=("n1", "n2", "n3"), replicas=3, placed={FIRST: "n2", SECOND: "n1"}, **changes
        )
        self.lost: set[type] = set()
        self.cut: set[str] = set()
        self.wire.fate = self._fate
        for member in self.members.values():
            for place in (FIRST, SECOND):
                member.replicas.at(place)
        self.begin("t1")

    def _fate(self, sent: Sent) -> tuple[int, ...]:
        if type(sent.payload) in self.lost or {sent.sender, sent.to} & self.cut:
            return ()
        return (0,) if "client" in (sent.sender, sent.to) or sent.sender == sent.to else (1000,)

    def lease(self, place: tuple[int, int], holder: str, start: int, until: Timestamp) -> None:
        for member in self.members.values():
            member.leases.begin(Lease(place, holder, Timestamp(start), until))

    def id_of_t1(self) -> TxId:
        return self.coordinator.transactions["t1"].id

    def asks(self, payload: object, after_ms: float = 20) -> Any:
        """Ask and let time pass; the answer, or None."""
        future = self.ask(payload)
        self.later(after_ms)
        return future.value if future.done else None


@pytest.fixture
def three() -> Replicated3:
    """Transaction t1 has begun."""
    return Replicated3()


# --- replication ----------------------------------------------------------------------------------


def test_a_commit_waits_until_every_write_is_replicated(three: Replicated3) -> None:
    """And takes its timestamp only then."""
    three.lost = {PartitionRaft}
    three.put("t1", EVEN)
    assert three.asks(ClientCommit("c", "t1"), 100) is None
    assert three.of(TxCommitted) == []
    assert three.coordinator.transactions["t1"].commit_ts is None
    three.lost = set()
    three.later(100)
    [committed] = {event.commit_ts for event in three.of(TxCommitted)}
    assert committed > timestamp(100)
    assert three.stored(EVEN, "n3") == [(EVEN, 5)]


def test_lost_replicated_is_requested_again(three: Replicated3) -> None:
    """The primary has applied it."""
    three.lost = {Replicated}
    three.put("t1", EVEN)
    three.later(20)
    assert three.asks(ClientCommit("c", "t1"), 30) is None
    assert three.wire.payloads(AreReplicated)
    three.lost = set()
    three.later(60)
    assert three.stored(EVEN) == [(EVEN, 5)]


def test_replicated_before_the_answer_counts() -> None:
    """A message may overtake another one."""
    three = Replicated3()
    three.wire.fate = lambda sent: (
        (15_000,) if type(sent.payload).__name__ == "Operated" else three._fate(sent)
    )
    assert three.asks(three.operation("t1", "put", EVEN, 5), 40) is not None
    assert type(three.asks(ClientCommit("c", "t1"), 40)) is Answer
    assert three.wire.payloads(AreReplicated) == []


def test_a_write_that_its_group_refused_aborts_the_commit(three: Replicated3) -> None:
    """Whether the commit waits already, or not yet."""
    three.lost = {Replicated}
    three.put("t1", EVEN)
    reason = Reason.PRIMARY_EXPIRED
    tx = three.coordinator.transactions["t1"]
    three.lost = set()
    news = Replicated(Timestamp(0), tx.id, next(iter(tx.unreplicated)), reason)
    three["n2"].node.send("n1", news)
    three.later(5)
    assert reason_of(three.asks(ClientCommit("c", "t1"))) is reason
    three.later(20)
    assert three.stored(EVEN) == []


def test_unreplicated_write_of_expired_primary_aborts(three: Replicated3) -> None:
    """Nobody could tell what became of them."""
    three.lost = {Replicated, PartitionRaft}
    three.put("t1", EVEN)
    three.lease(FIRST, "n3", FIRST_LEASE + 5, NEVER)
    assert reason_of(three.asks(ClientCommit("c", "t1"), 100)) is Reason.PRIMARY_EXPIRED


# --- leases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [EVEN, ODD])
def test_a_commit_needs_every_lease_to_last_beyond_it(three: Replicated3, key: int) -> None:
    """The commit partition's, and any other's; till then its locks were held."""
    place = FIRST if key == EVEN else SECOND
    three.put("t1", EVEN)
    three.put("t1", ODD)
    three.later(20)
    three.lease(place, "n2" if key == EVEN else "n1", FIRST_LEASE, timestamp(30))
    three.later(30)
    assert reason_of(three.asks(ClientCommit("c", "t1"))) is Reason.PRIMARY_EXPIRED
    assert three.node.probes["lease-over-at-commit"] == 1
    assert three.wire.payloads(Finish) == []


def test_a_lease_that_was_prolonged_counts_as_long_as_it_lasts_now(three: Replicated3) -> None:
    """The token is the same."""
    three.lease(FIRST, "n2", FIRST_LEASE, timestamp(40))
    three.put("t1", EVEN)
    three.later(60)
    three.lease(FIRST, "n2", FIRST_LEASE, NEVER)
    assert type(three.asks(ClientCommit("c", "t1"))) is Answer


@pytest.mark.parametrize("prolonged", [True, False])
def test_a_commit_waits_to_learn_whether_a_lease_was_prolonged(
    three: Replicated3, *, prolonged: bool
) -> None:
    """What prolongs it is stamped before its end, so with safe time at commit_ts it is known."""
    three.put("t1", EVEN)
    three.later(20)
    three.lease(FIRST, "n2", FIRST_LEASE, timestamp(30))
    sync = three["n1"].coordinator.sync
    sync.safe_time = timestamp(25)
    three.later(20)
    answer = three.ask(ClientCommit("c", "t1"))
    three.later(20)
    assert not answer.done
    if prolonged:
        three.lease(FIRST, "n2", FIRST_LEASE, NEVER)
    sync.advance_safe_time(timestamp(70))
    three.later(20)
    reason = None if prolonged else Reason.PRIMARY_EXPIRED
    assert reason_of(answer.value) is reason
    assert three.node.probes["commit-awaits-leases"] == 1


def test_another_lease_of_the_same_node_does_not_count(three: Replicated3) -> None:
    """Between the two its locks were gone."""
    three.lease(FIRST, "n2", FIRST_LEASE, timestamp(40))
    three.put("t1", EVEN)
    three.later(60)
    three.lease(FIRST, "n2", FIRST_LEASE + 9, NEVER)
    assert reason_of(three.asks(ClientCommit("c", "t1"))) is Reason.PRIMARY_EXPIRED


def test_a_lease_ends_at_its_expiration_and_not_after() -> None:
    """A commit at that very timestamp is too late."""
    rule = IEP.commit_lease
    assert rule(Timestamp(99), Timestamp(100)) is None
    assert rule(Timestamp(100), Timestamp(100)) is Reason.PRIMARY_EXPIRED


# --- the outcome ----------------------------------------------------------------------------------


def test_finish_is_resent_with_the_same_commit_ts(three: Replicated3) -> None:
    """With the same commit_ts, to the present primary."""
    three.put("t1", EVEN)
    three.later(20)
    three.lost = {Finish}
    assert three.asks(ClientCommit("c", "t1"), 100) is None
    three.lost = set()
    three.later(500)
    sent = [each for each in three.wire.sent if type(each.payload) is Finish]
    assert len(sent) > 1
    assert len({each.payload.commit_ts for each in sent}) == 1
    assert three.stored(EVEN) == [(EVEN, 5)]


def test_finish_returns_the_outcome_stored_before(three: Replicated3) -> None:
    """They took the coordinator for dead: its client hears of an abort, and it is one."""
    three.put("t1", EVEN)
    three.later(20)
    tx = three.id_of_t1()
    three.ask(RecoverTx(Timestamp(0), tx, FIRST), "n2")
    three.later(20)
    assert reason_of(three.asks(ClientCommit("c", "t1"), 60)) is Reason.TX_RECOVERED
    assert three.stored(EVEN) == []
    assert [event.reason for event in three.of(TxAborted)] == ["TX_RECOVERED"]
    three.later(100)
    assert three.at_rest


def test_a_transaction_that_touched_nothing_just_ends(three: Replicated3) -> None:
    """Nobody else has to hear of it."""
    assert type(three.asks(ClientCommit("c", "t1"))) is Answer
    assert three.wire.payloads(Finish) == []
    assert [event.tx for event in three.of(TxCommitted)] == ["t1"]


def test_abort_cleans_up_at_all_participants(three: Replicated3) -> None:
    """And is stored nowhere."""
    three.put("t1", EVEN)
    three.put("t1", ODD)
    three.later(20)
    three.roll_back("t1")
    three.later(60)
    assert {place for each in three.wire.payloads(Cleanup) for place in each.places} == {
        FIRST,
        SECOND,
    }
    assert three.at_rest
    assert three.stored(EVEN) == three.stored(ODD) == []


def test_a_design_may_stamp_each_repetition_anew() -> None:
    """It gets the one that was stored; a mutant of that kind is caught elsewhere."""
    three = Replicated3(strategy=replace(IEP, repeated_commit_ts=lambda _, now: now))
    three.put("t1", EVEN)
    three.later(20)
    three.lost = {Finished}
    three.asks(ClientCommit("c", "t1"), 100)
    assert len({each.commit_ts for each in three.wire.payloads(Finish)}) > 1


# --- time limits ----------------------------------------------------------------------------------


def until(three: Replicated3, at_ms: float) -> None:
    three.later(at_ms - three.loop.now_us / 1000)


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    """When its time is up, whatever else happens; each in its turn."""
    three = Replicated3(tx_timeout_ms=100)
    three.put("t1", EVEN)
    until(three, 40)
    three.begin("t2")
    began_ms = three.loop.now_us / 1000
    until(three, 99)
    assert three.of(TxAborted) == []
    until(three, 100)
    assert [(event.tx, event.reason) for event in three.of(TxAborted)] == [("t1", "TX_TIMED_OUT")]
    assert type(three.roll_back("t1")) is Answer
    until(three, began_ms + 99)
    assert len(three.of(TxAborted)) == 1
    until(three, began_ms + 100)
    assert [event.tx for event in three.of(TxAborted)] == ["t1", "t2"]
    until(three, began_ms + 110)
    assert three.at_rest


def test_a_transaction_that_has_ended_in_time_is_left_alone() -> None:
    three = Replicated3(tx_timeout_ms=100)
    three.put("t1", EVEN)
    assert type(three.asks(ClientCommit("c", "t1"))) is Answer
    three.begin("t2")
    three.later(98)
    assert three.of(TxAborted) == []
    three.later(2)
    assert [event.tx for event in three.of(TxAborted)] == ["t2"]


# --- what others ask ------------------------------------------------------------------------------


def state(three: Replicated3, tx: TxId, read_ts: Timestamp | None = None) -> str:
    asker = three.members["n3"].node
    assert isinstance(asker, FakeNode)
    answer = three.asks(TxStateRequest(Timestamp(0), tx, read_ts), 0)
    assert type(answer.state) is Fate
    return str(answer.state.value)


def test_an_open_transaction_is_pending_and_commits_later_than_it_was_asked_for(
    three: Replicated3,
) -> None:
    """The reader may then pass over its intents."""
    three.put("t1", EVEN)
    three.later(20)
    assert state(three, three.id_of_t1(), timestamp(300)) == "pending"
    assert type(three.asks(ClientCommit("c", "t1"), 60)) is Answer
    assert three.stored(EVEN) == [(EVEN, 5)]
    [commit_ts] = {event.commit_ts for event in three.of(TxCommitted)}
    assert commit_ts > timestamp(300)


def test_deciding_transaction_compares_commit_ts_with_read_ts(
    three: Replicated3,
) -> None:
    """Only a reader before its commit_ts may ignore it."""
    three.put("t1", EVEN)
    three.later(20)
    three.lost = {Finish}
    three.asks(ClientCommit("c", "t1"))
    tx = three.coordinator.transactions["t1"]
    assert tx.commit_ts is not None
    assert state(three, tx.id) == "deciding"
    assert state(three, tx.id, tx.commit_ts) == "deciding"
    assert state(three, tx.id, Timestamp(tx.commit_ts - 1)) == "pending"


def test_an_aborted_transaction_is_known_as_such_and_a_committed_one_no_longer(
    three: Replicated3,
) -> None:
    """The commit partition has its outcome; an id that never was here is unknown."""
    three.begin("t2")
    ids = {label: three.coordinator.transactions[label].id for label in ("t1", "t2")}
    three.put("t1", EVEN)
    three.later(20)
    three.asks(ClientCommit("c", "t1"), 60)
    three.roll_back("t2")
    assert state(three, ids["t1"]) == "unknown"
    assert state(three, ids["t2"]) == "aborted"


def test_a_label_alone_does_not_make_it_the_same_transaction(three: Replicated3) -> None:
    """One of an earlier life of the coordinator may have had it."""
    assert state(three, three.id_of_t1()) == "pending"
    assert state(three, TxId(Timestamp(3), 0, "t1")) == "unknown"
