"""What a primary of replicated rows does: early answers, news of them, copies, one-phase writes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import CleanUp, PrimaryChange
from ddlsim.protocol.messages import Operated
from ddlsim.protocol.replica_messages import (
    AreReplicated,
    LeaseFenced,
    PartitionRaft,
    PartitionSubmitted,
)
from ddlsim.protocol.strategy import OnePhasePart
from ddlsim.strategies.iep import IEP
from ddlsim.units import Micros, Timestamp, timestamp
from tests.support.primary import OLD, PLACE, YOUNG
from tests.support.protocol import FIRST_LEASE
from tests.support.trio import Trio


def test_write_is_answered_early_and_replicated_is_sent_later() -> None:
    """Once it is in the log for good."""
    trio = Trio()
    answer = trio.send(OLD, "put", 1, (1, 5), op="w")
    trio.later(1)
    assert (answer.value.reason, answer.value.replicated) == (None, False)
    assert trio.heard() == []
    trio.later(5)
    assert trio.heard() == [("w", None)]
    assert trio.local("n1").pending == {}


def test_a_transaction_reads_its_writes_before_they_are_replicated() -> None:
    """By key and by scan, the later over the earlier; no other transaction gets the lock."""
    trio = Trio()
    trio.raft_stops = True
    for value in (5, 6):
        trio.send(OLD, "put", 1, (1, value))
    trio.later(1)
    for action, key in (("get", 1), ("scan", None)):
        answer = trio.send(OLD, action, key)  # type: ignore[arg-type]  # a scan has no key
        trio.later(1)
        assert answer.value.rows == ((1, ((1, 1), (2, 6))),)


def fence(trio: Trio) -> None:
    """A later lease goes into the log, ahead of what comes now."""
    change = PrimaryChange(Timestamp(FIRST_LEASE + 1), "n2")
    trio["n1"].replicas.submit(trio.local("n1"), change)


def test_refused_write_sends_replicated_with_reason() -> None:
    """Another primary was made ready meanwhile."""
    trio = Trio()
    fence(trio)
    trio.send(OLD, "put", 1, (1, 5), op="w")
    trio.later(10)
    assert trio.heard() == [("w", Reason.PRIMARY_EXPIRED)]
    assert trio.rows("n1") == {}
    assert trio.local("n1").machine.intents == {}


def test_nothing_is_read_behind_a_refused_write() -> None:
    """[110.lin] Its transaction would not find what it has written."""
    trio = Trio()
    fence(trio)
    trio.send(OLD, "put", 1, (1, 5), op="w")
    trio.later(10)
    for action in ("get", "insert"):
        answer = trio.send(OLD, action, 1, (1, 6), op=f"after, {action}")
        trio.later(10)
        assert answer.value.reason is Reason.PRIMARY_EXPIRED


def test_are_replicated_reports_only_applied_writes() -> None:
    """News are lost now and then."""
    trio = Trio()
    trio.send(OLD, "put", 1, (1, 5), op="w1")
    trio.later(10)
    trio.raft_stops = True
    trio.send(OLD, "put", 2, (2, 5), op="w2")
    trio.later(1)
    trio.news.clear()
    trio.client.send("n1", AreReplicated(Timestamp(0), OLD, ("w1", "w2", "w3"), PLACE))
    trio.later(5)
    assert trio.heard() == [("w1", None)]


def test_are_replicated_reports_what_has_ended_with_an_abort() -> None:
    """The report that the write was refused was lost; no other comes, and the coordinator waits."""
    trio = Trio()
    trio.ran("n1", CleanUp(OLD, None))
    trio.news.clear()
    trio.client.send("n1", AreReplicated(Timestamp(0), OLD, ("w1", "w2"), PLACE))
    trio.later(5)
    assert trio.heard() == [("w1", Reason.TX_FINISHED), ("w2", Reason.TX_FINISHED)]


def test_copy_of_write_is_unreplicated_until_applied() -> None:
    """The answer to the copy may be the only one that arrives."""
    trio = Trio()
    trio.raft_stops = True
    for _ in range(2):
        answer = trio.send(OLD, "put", 1, (1, 5), op="w")
        trio.later(1)
        assert (answer.value.reason, answer.value.replicated) == (None, False)
    trio.raft_stops = False
    trio.later(50)
    again = trio.send(OLD, "put", 1, (1, 5), op="w")
    trio.later(1)
    assert again.value.replicated


@pytest.mark.parametrize("action", ["put", "insert"])
def test_news_of_a_stored_write_is_stamped_above_it(action: str) -> None:
    """Its leader's clock is ahead, and its answer has not come: the commit must lie above it."""
    trio = Trio()
    trio.led_by("n2")
    trio["n2"].node.ahead_ms = 70
    trio.wire.fate = lambda sent: () if type(sent.payload) is PartitionSubmitted else (1000,)
    trio.send(OLD, action, 1, (1, 5), op="w")
    trio.later(20)
    stamp = trio.local("n1").machine.safe_ts
    assert trio["n1"].node.clock.current() < stamp
    copy = trio.send(OLD, action, 1, (1, 5), op="w")
    trio.later(5)
    assert copy.value.replicated or action == "insert"
    assert (copy.value.sent_ts > stamp) is bool(copy.value.done)


def test_a_restarted_primary_reports_a_stored_write_above_its_stamp() -> None:
    """It has the write by its log, and no answer of the leader."""
    trio = Trio()
    trio.led_by("n2")
    trio["n2"].node.ahead_ms = 70
    trio.wire.fate = lambda sent: () if type(sent.payload) is PartitionSubmitted else (1000,)
    trio.send(OLD, "put", 1, (1, 5), op="w")
    trio.later(20)
    trio.local("n1").pending.clear()
    trio.client.send("n1", AreReplicated(Timestamp(0), OLD, ("w",), PLACE))
    trio.later(5)
    assert [news.sent_ts > trio.local("n1").machine.safe_ts for news in trio.news] == [True]


def test_a_copy_of_a_refused_write_is_refused() -> None:
    """Its answer may come first; and no report would follow on a write that was not made."""
    trio = Trio()
    trio.send(OLD, "put", 1, (1, 5), op="w")
    trio.later(10)
    answers = [trio.send(OLD, "insert", 1, (1, 6), op="i", strict=True) for _ in range(2)]
    trio.later(10)
    assert [answer.value.reason for answer in answers] == [Reason.KEY_EXISTS] * 2


def test_a_copy_undoes_no_later_write() -> None:
    """It is not executed."""
    trio = Trio()
    for op, value in (("w1", 5), ("w2", 6), ("w1", 5)):
        trio.send(OLD, "put", 1, (1, value), op=op)
        trio.later(10)
    assert trio.local("n1").machine.intents[1].row == (1, 6)


def test_what_was_written_under_an_earlier_lease_is_written_again_under_the_next() -> None:
    """Its locks went with the lease; that the primary is the same node changes nothing."""
    trio = Trio()
    trio.send(OLD, "put", 1, (1, 5), op="w")
    trio.later(10)
    before = trio.local("n1").machine.intents[1].op_ts
    token = trio.next_lease("n1")
    trio.send(OLD, "put", 1, (1, 5), op="w", lease_start=token)
    trio.later(10)
    since = trio.local("n1").machine.intents[1].op_ts
    assert before < token < since
    trio.send(OLD, "put", 1, (1, 5), op="w", lease_start=token)
    trio.later(10)
    assert trio.local("n1").machine.intents[1].op_ts == since


# --- one-phase writes -----------------------------------------------------------------------------


def test_a_one_phase_write_is_answered_once_it_is_committed() -> None:
    """At its stamp, and its locks are free."""
    trio = Trio()
    answer = trio.send(OLD, "put", 1, (1, 5), one_phase=True)
    trio.later(1)
    assert not answer.done
    trio.later(5)
    assert answer.value.commit_ts == trio.local("n1").machine.ended[OLD]
    assert trio.rows("n1") == {1: [(1, 5)]}
    assert not trio["n1"].replica.locks.any_held


def test_copy_of_one_phase_write_gets_the_first_commit_ts() -> None:
    """From any sender, and however late; nothing is written again."""
    trio = Trio()
    trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(10)
    again = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(10)
    assert again.value.commit_ts == trio.local("n1").machine.ended[OLD]
    assert trio.rows("n1") == {1: [(1, 5)]}


@pytest.mark.parametrize("refused", [False, True])
def test_a_copy_that_finds_its_write_committed_brings_the_clock_to_its_commit_ts(
    monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    """The leader's clock is ahead and its answer is lost, and the row is found from now on.

    The copy is sent when the write is committed, or is refused for what has happened since.
    """
    trio = Trio()
    trio.led_by("n2")
    trio["n2"].node.ahead_ms = 200
    fate = trio.wire.fate
    trio.wire.fate = lambda sent: () if type(sent.payload) is PartitionSubmitted else fate(sent)
    trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    if refused:

        async def changed(*_: object) -> tuple[int, Reason]:
            await trio["n1"].node.sleep(Micros(8_000))
            return 2, Reason.SCHEMA_CHANGED

        trio.later(0.5)
        monkeypatch.setattr(trio["n1"].replica, "_checked", changed)
    else:
        trio.later(8)
    again = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(9)
    commit_ts = trio.local("n1").machine.ended[OLD]
    assert commit_ts is not None
    assert (again.value.commit_ts, again.value.sent_ts >= commit_ts) == (commit_ts, True)
    assert trio["n1"].node.clock.now() > commit_ts


def test_a_copy_of_a_one_phase_write_that_is_under_way_is_not_answered() -> None:
    """The first one will be."""
    trio = Trio()
    trio.raft_stops = True
    answers = [trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w") for _ in range(2)]
    trio.later(5)
    assert [answer.done for answer in answers] == [False, False]
    trio.raft_stops = False
    trio.later(50)
    assert [answer.done for answer in answers] == [True, False]


@pytest.mark.parametrize("commits", [True, False])
def test_a_copy_of_a_one_phase_write_is_not_refused_for_what_has_happened_since(
    monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    """It gets the first one's commit_ts, or no answer while that is under way; others are refused.

    The first is committed, or not, while the schema is looked up for the copy.
    """
    trio = Trio()
    trio.raft_stops = True
    trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(5)

    async def changed(*_: object) -> tuple[int, Reason]:
        trio.raft_stops = not commits
        await trio["n1"].node.sleep(Micros(200_000))
        return 2, Reason.SCHEMA_CHANGED

    monkeypatch.setattr(trio["n1"].replica, "_checked", changed)
    again = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    other = trio.send(YOUNG, "put", 2, (2, 5), one_phase=True, op="v")
    trio.later(300)
    assert again.done is commits
    if commits:
        assert again.value.commit_ts == trio.local("n1").machine.ended[OLD]
    assert other.value.reason is Reason.SCHEMA_CHANGED


def test_a_copy_of_a_refused_one_phase_write_is_refused() -> None:
    """The first answer may have been lost. Both say that no copy of it commits any more."""
    trio = Trio()
    for name in ("n1", "n2", "n3"):
        trio.local(name).machine.lease_start = Timestamp(FIRST_LEASE + 1)
    first = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(10)
    again = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(10)
    assert [first.value.reason, again.value.reason] == [Reason.PRIMARY_EXPIRED] * 2
    assert [first.value.ended, again.value.ended] == [True, True]


def test_a_primary_reports_a_lease_under_which_its_group_takes_no_write() -> None:
    """Each time that it is prolonged: the report may be lost."""
    trio = Trio()
    trio.metastorage_leader = "n1"
    reports: list[LeaseFenced] = []
    trio["n1"].node.on(LeaseFenced, lambda _, report: reports.append(report))
    trio.lease("n1", FIRST_LEASE)
    trio.later(5)
    assert reports == []
    trio.local("n1").machine.lease_start = Timestamp(FIRST_LEASE + 1)
    for _ in range(2):
        trio.lease("n1", FIRST_LEASE)
    trio.later(5)
    assert [(one.place, one.start_ts) for one in reports] == [(PLACE, FIRST_LEASE)] * 2


def unsure(**rules: Any) -> Trio:
    """With a leader whose metadata is never complete for its stamp."""
    return Trio(strategy=replace(IEP, validate_one_phase=lambda *_: None, **rules))


def test_where_the_leader_does_not_know_the_schema_a_one_phase_write_is_an_intent() -> None:
    """Its transaction then commits in two phases; until then it keeps its locks."""
    trio = unsure()
    answer = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(1)
    told = answer.value
    assert (told.reason, told.commit_ts, told.replicated) == (None, None, False)
    trio.later(10)
    assert trio.heard() == [("w", None)]
    assert trio.local("n1").machine.intents[1].tx == OLD
    assert trio["n1"].replica.locks.any_held


async def late(write: OnePhasePart) -> Operated:
    """The leader's answer takes 200 ms."""
    await write.node.sleep(Micros(200_000))
    return write.leave_intent()


END = Timestamp(7)


@pytest.mark.parametrize(
    ("since", "reason", "commit_ts"),
    [
        (lambda trio: trio.ran("n1", CleanUp(OLD, None)), Reason.TX_FINISHED, None),
        (lambda trio: trio.ran("n1", CleanUp(OLD, END)), None, END),
        (lambda trio: trio.next_lease("n1"), Reason.PRIMARY_EXPIRED, None),
    ],
    ids=["aborted", "committed", "next lease"],
)
def test_a_one_phase_write_that_has_lost_its_locks_leaves_no_intent(
    since: Callable[[Trio], object], reason: Reason | None, commit_ts: Timestamp | None
) -> None:
    """Its transaction or lease has ended while the leader was asked; others may have the locks."""
    trio = unsure(leader_is_late=late)
    answer = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(1)
    since(trio)
    trio.later(200)
    assert (answer.value.reason, answer.value.commit_ts) == (reason, commit_ts)
    assert answer.value.ended is (reason is not None)
    assert trio.local("n1").pending == {}
    assert trio.local("n1").machine.intents == {}
    assert trio.heard() == []


def test_copy_of_one_phase_write_that_became_an_intent_is_unreplicated() -> None:
    """Were it not answered, its coordinator would ask for ever."""
    trio = unsure()
    trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    for waited_ms, replicated in ((1, False), (10, True)):
        trio.later(waited_ms)
        copy = trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
        trio.later(0)
        told = copy.value
        assert (told.reason, told.commit_ts, told.replicated) == (None, None, replicated)


@pytest.mark.parametrize("is_over", [False, True])
def test_an_intent_of_an_earlier_lease_is_no_answer_while_the_write_goes_in_one_phase(
    *, is_over: bool
) -> None:
    """Its coordinator would judge a later commit_ts than that of the write that is on its way.

    That may commit also where its lease is over by now, and its primary has not heard of it.
    """
    known = {"busy": True}
    rule = IEP.validate_one_phase
    trio = Trio(
        strategy=replace(
            IEP, validate_one_phase=lambda *asked: None if known["busy"] else rule(*asked)
        )
    )
    trio.send(OLD, "put", 1, (1, 5), one_phase=True, op="w")
    trio.later(10)
    assert trio.local("n1").machine.intents[1].tx == OLD
    token, known["busy"], trio.raft_stops = trio.next_lease("n1"), False, True
    words: dict[str, Any] = {"one_phase": True, "op": "w", "lease_start": token}
    first = trio.send(OLD, "put", 1, (1, 5), **words)
    trio.later(1)
    if is_over:
        trio.lease("n2", timestamp(9_000))
    copy = trio.send(OLD, "put", 1, (1, 5), **words)
    trio.later(5)
    assert (first.done, copy.done) == (False, False)
    trio.raft_stops = False
    trio.later(50)
    assert first.value.commit_ts == trio.local("n1").machine.ended[OLD]


def test_replication_is_by_the_partitions_own_group() -> None:
    """Its messages say which."""
    trio = Trio()
    trio.send(OLD, "put", 1, (1, 5))
    trio.send(YOUNG, "put", 2, (2, 5))
    trio.later(10)
    assert {message.place for message in trio.wire.payloads(PartitionRaft)} == {PLACE}
