"""Recovery of transactions without a coordinator: probes, and that it only ever aborts."""

from typing import Any

import pytest

from ddlsim.history.world_events import TxRecovered
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import FullWrite, Outcome
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Finish, Finished, NotPrimary
from ddlsim.protocol.replica_messages import Fate, RecoverTx, TxState, TxStateRequest
from ddlsim.protocol.transaction.participant import PROBES
from ddlsim.units import Timestamp, timestamp
from tests.support.primary import PLACE
from tests.support.protocol import FIRST_LEASE, result_of
from tests.support.trio import NAMES, Trio, intent

LOST = TxId(Timestamp(5), 2, "lost")
"""A transaction whose coordinator is n3."""
YOUNGER = TxId(Timestamp(9), 0, "younger")
OLDER = TxId(Timestamp(1), 0, "older")
COMMIT_TS = timestamp(7)


class Left(Trio):
    """Transaction LOST has written row 1 at n1; `state` is what its coordinator says, if it may."""

    def __init__(self, state: str | None = None, **changes: Any) -> None:
        super().__init__(orphan_check_ms=100, **changes)
        self.state = state
        self.asked_for: list[TxStateRequest] = []
        self["n3"].node.handlers[TxStateRequest] = self._state
        self.send(LOST, "put", 1, (1, 5), op="w")
        self.later(20)

    def _state(self, sender: str, request: TxStateRequest) -> TxState | None:
        del sender
        self.asked_for.append(request)
        return None if self.state is None else TxState(Timestamp(0), Fate(self.state))

    def recover(self, to: str = "n1") -> Any:
        future = self.ask(RecoverTx(Timestamp(0), LOST, PLACE), to)
        self.later(20)
        return future.value

    def finish_later(self) -> None:
        self.ask(Finish(Timestamp(0), LOST, COMMIT_TS, PLACE, (PLACE,), ()))

    def finish(self, commit_ts: Timestamp | None = COMMIT_TS) -> Any:
        future = self.ask(Finish(Timestamp(0), LOST, commit_ts, PLACE, (PLACE,), ()))
        self.later(20)
        return future.value

    def resolved(self, within_ms: int = 20_000) -> Outcome | None:
        participant = self["n2"].replica.participant
        found: Outcome | None = result_of(self.loop, participant.resolved(LOST, PLACE), within_ms)
        return found

    @property
    def row_is_locked(self) -> bool:
        return self["n1"].replica.locks.holds_any(LOST)


# --- the commit partition's word ------------------------------------------------------------------


def test_recovery_aborts_what_has_no_outcome() -> None:
    """Everywhere; and it is recorded."""
    left = Left()
    assert left.recover().commit_ts is None
    for name in NAMES:
        assert (left.rows(name), left.local(name).machine.intents) == ({}, {})
    assert not left.row_is_locked
    told = {(event.tx, event.outcome) for event in left.of(TxRecovered)}
    assert told == {("lost", "aborted")}


def test_finish_after_recovery_returns_the_abort() -> None:
    """Though it wanted to commit."""
    left = Left()
    left.recover()
    assert left.finish().commit_ts is None
    assert left.rows("n1") == {}


def test_recovery_never_undoes_a_commit() -> None:
    """It tells of it."""
    left = Left()
    assert left.finish().commit_ts == COMMIT_TS
    assert left.recover().commit_ts == COMMIT_TS
    assert left.rows("n3") == {1: [(1, 5)]}
    assert left.of(TxRecovered) == []


def test_concurrent_recovery_and_finish_return_one_outcome() -> None:
    """What comes first in the log counts, on both sides."""
    left = Left()
    asked = [
        left.ask(request)
        for request in (
            Finish(Timestamp(0), LOST, COMMIT_TS, PLACE, (PLACE,), ()),
            RecoverTx(Timestamp(0), LOST, PLACE),
        )
    ]
    left.later(30)
    assert [future.value.commit_ts for future in asked] == [COMMIT_TS] * 2


def test_recovery_of_one_phase_commit_returns_its_commit_ts() -> None:
    """That it has ended is known all the same."""
    trio = Trio()
    write = FullWrite(LOST, "w", Timestamp(10), 1, 1, (1, 5), FIRST_LEASE, 1)
    commit_ts = trio.ran("n1", write)
    answer = trio.asked(RecoverTx(Timestamp(0), LOST, PLACE))
    assert answer.commit_ts == commit_ts


def test_recovery_answers_beyond_the_commit_ts_that_its_log_alone_has_brought() -> None:
    """So that what is stamped here next, under the locks that it releases, is stamped behind it."""
    trio = Trio()
    ahead = timestamp(1_000)
    trio.local("n1").machine.ended[LOST] = ahead
    assert trio["n1"].node.clock.now() < ahead
    answer = trio.asked(RecoverTx(Timestamp(0), LOST, PLACE))
    assert (answer.commit_ts, answer.sent_ts > ahead) == (ahead, True)
    assert trio["n1"].node.clock.now() > ahead


def test_only_the_primary_recovers() -> None:
    """Other nodes answer `NotPrimary`."""
    left = Left()
    assert type(left.recover("n2")) is NotPrimary
    assert left.local("n2").machine.intents


# --- probes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("aborted", Outcome(None, ())),
        ("pending", None),
        ("unknown", Outcome(None, ())),
        (None, Outcome(None, ())),
    ],
)
def test_resolved_probes_the_coordinator_first(state: str | None, outcome: Outcome | None) -> None:
    """Where it is silent, or answers UNKNOWN, the commit partition decides."""
    left = Left(state)
    assert left.resolved() == outcome
    assert len(left.asked_for) == 1
    recovered = left.wire.payloads(RecoverTx)
    assert bool(recovered) == (state in (None, "unknown"))


def test_deciding_transaction_is_probed_again() -> None:
    """Until it has ended; then there is nothing to recover."""
    left = Left("deciding")
    left.loop.call_later(30_000, setattr, left, "state", "unknown")
    left.loop.call_later(15_000, left.finish_later)
    assert left.resolved() == Outcome(COMMIT_TS, ())
    assert len(left.asked_for) > 2


def test_resolved_gives_up_after_probes() -> None:
    """It may be another one's to find out; nothing was done to the transaction."""
    left = Left("deciding")
    assert left.resolved() is None
    assert len(left.asked_for) == PROBES
    assert left.row_is_locked


def test_recovery_repeats_until_a_primary_answers() -> None:
    """On any node."""
    left = Left("unknown")
    left.lease("n2", Timestamp(FIRST_LEASE + 1), timestamp(1))  # over
    left.loop.call_later(300_000, left.lease, "n1", Timestamp(FIRST_LEASE + 2))
    assert left.resolved() == Outcome(None, ())
    assert len(left.wire.payloads(RecoverTx)) > 1


# --- when -----------------------------------------------------------------------------------------


def test_long_lock_wait_probes_the_holder() -> None:
    """If that is lost, the lock is free at last."""
    left = Left()
    waiting = left.send(OLDER, "put", 1, (1, 6))
    left.later(90)
    assert left.asked_for == []
    left.later(600)
    assert waiting.value.reason is None
    assert left["n1"].node.probes["coordinator-recovery"] == 1


def test_refused_lock_probes_the_blocker() -> None:
    """A younger one may not wait, and would never see it free."""
    left = Left()
    left.later(200)
    refused = left.send(YOUNGER, "put", 1, (1, 6))
    left.later(30)
    assert refused.value.reason is Reason.LOCK_CONFLICT
    left.later(600)
    again = left.send(YOUNGER, "put", 1, (1, 6))
    left.later(30)
    assert again.value.reason is None


def test_recently_active_transaction_is_not_probed() -> None:
    """Its coordinator is there."""
    left = Left()
    waiting = left.send(OLDER, "put", 1, (1, 6))
    for number in range(8):
        left.later(60)
        left.send(LOST, "get", 2, op=f"g{number}")
    assert left.asked_for == []
    assert not waiting.done


def test_probe_of_live_coordinator_changes_nothing() -> None:
    """However often it is asked for."""
    left = Left("pending")
    waiting = left.send(OLDER, "put", 1, (1, 6))
    left.later(1_500)
    assert not waiting.done
    assert left.row_is_locked
    assert len(left.asked_for) > 1


def test_idle_transaction_is_probed_without_blocking() -> None:
    """Every update of a lease starts a look."""
    left = Left()
    left.later(150)
    left.lease("n1", FIRST_LEASE)
    left.later(10)
    assert left.asked_for == []
    left.later(50)
    left.lease("n1", FIRST_LEASE)
    left.later(600)
    assert not left["n1"].replica.has_open_work


def test_new_primary_resolves_orphaned_intents() -> None:
    """Intents that came by the log, of a coordinator that died with the last primary."""
    left = Left(election_timeout_ms=100)
    left.cut = {"n1"}
    left.later(1_000)
    left.next_lease("n2")
    left.later(250)
    token = left.local("n2").machine.lease_start
    left.lease("n2", token)
    left.later(1_000)
    assert left.local("n2").machine.intents == {}
    assert LOST in left.local("n2").machine.ended


def test_operation_resolves_intent_without_lock() -> None:
    """By key and by scan; a pending one is a conflict."""
    for state, reason in (("pending", Reason.LOCK_CONFLICT), ("unknown", None)):
        scanned: Any = None
        for action, key in (("get", 1), ("scan", scanned)):
            left = Left(state, election_timeout_ms=100)
            token = left.next_lease("n2")
            met = left.send(YOUNGER, action, key, to="n2", lease_start=token)
            left.later(100)
            assert met.value.reason is reason
            assert (LOST in left.local("n2").machine.ended) is (reason is None)


def test_a_copy_of_a_write_whose_abort_was_found_by_a_probe_is_refused() -> None:
    """Also where the transaction had neither locks nor intents: a scan was in its way."""
    trio = Trio(lock_retries=0, orphan_sweep_ms=200, orphan_check_ms=100)
    trio["n3"].node.handlers[TxStateRequest] = lambda *_: TxState(Timestamp(0), Fate.ABORTED)
    trio.send(OLDER, "scan", None)
    copy = {"op": "w", "one_phase": True}
    first = trio.send(LOST, "put", 2, (2, 6), **copy)
    trio.later(300)
    assert first.value.reason is Reason.LOCK_CONFLICT
    trio["n1"].replica.participant.probe_idle()
    trio.later(50)
    trio.asked(Finish(Timestamp(0), OLDER, None, PLACE, (PLACE,), ()))
    late = trio.send(LOST, "put", 2, (2, 6), **copy)
    trio.later(20)
    assert late.value.reason is Reason.TX_FINISHED
    assert trio.rows("n1") == {}


def test_probe_coordinator_ignores_unknown_transactions() -> None:
    """Nor twice at a time."""
    left = Left()
    participant = left["n1"].replica.participant
    participant.probe_coordinator(YOUNGER)
    left.later(200)
    for _ in range(3):
        participant.probe_coordinator(LOST)
    left.later(20)
    assert len(left.asked_for) == 1
    assert left.ran("n1", intent(YOUNGER, key=7)) is None
    assert type(left.finish()) is Finished


# --- intents without a lock -----------------------------------------------------------------------


def test_a_scan_resolves_an_intent_whose_transaction_holds_a_lock_of_another_partition_only() -> (
    None
):
    """The lock of the other partition does not hide the intent: its lease was lost here."""
    trio = Trio(partitions=2)
    trio["n3"].node.handlers[TxStateRequest] = lambda *_: TxState(Timestamp(0), Fate.PENDING)
    trio.ran("n1", intent(LOST))
    trio.send(LOST, "put", 2, (2, 6), partition=1)
    trio.later(20)
    assert trio["n1"].replica.locks.holds_at(LOST, (1, 1))
    scan = trio.send(YOUNGER, "scan", None)
    trio.later(60)
    assert scan.value.reason is Reason.LOCK_CONFLICT


def test_what_recovery_ends_keeps_its_locks_until_a_write_on_its_way_elsewhere_is_ended() -> None:
    """The commit partition is the only participant; another one here has the write in flight."""
    trio = _write_on_its_way()
    trio.ask(RecoverTx(Timestamp(0), LOST, PLACE), "n1")
    _holds_its_locks_until_its_end(trio)


def test_what_an_operation_finds_aborted_keeps_its_locks_until_a_write_elsewhere_is_ended() -> None:
    """What an earlier primary left in one partition is cleaned up there, for an operation."""
    trio = _write_on_its_way()
    trio["n1"].node.spawn(trio["n1"].replica.participant.clean_here(LOST, None, (PLACE,)))
    _holds_its_locks_until_its_end(trio)


OTHER = (1, 1)


def _write_on_its_way() -> Trio:
    """n1 is primary of both partitions; n2 leads the other one, and has no write of LOST yet."""
    trio = Trio(partitions=2)
    trio.local("n1", OTHER).group.transfer_to("n2")
    trio.later(20)
    trio.raft_stops = True
    trio.send(LOST, "put", 7, (7, 1), partition=1)
    trio.later(5)
    trio.raft_stops = False
    trio["n1"].replica.participant.record_activity(LOST, PLACE, PLACE)
    trio.cut = {"n2"}
    return trio


def _holds_its_locks_until_its_end(trio: Trio) -> None:
    trio.later(20)
    machine, locks = trio.local("n1", OTHER).machine, trio["n1"].replica.locks
    assert LOST in trio.local("n1").machine.ended
    assert (LOST in machine.ended, locks.holds_any(LOST)) == (False, True)
    trio.cut = set()
    trio.later(2_000)
    assert (machine.ended[LOST], machine.intents, locks.holds_any(LOST)) == (None, {}, False)
