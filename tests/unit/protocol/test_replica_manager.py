"""A node's replicas: how commands come to the leader, wherever it is, and results back; tokens."""

from dataclasses import replace
from typing import Any

import pytest

from ddlsim.history.world_events import TxRecovered
from ddlsim.model.reasons import Reason
from ddlsim.protocol.commands import CleanUp, FullWrite, PrimaryChange, SafeTimeSync
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.replica_messages import (
    LeaseAccepted,
    LeaseGrant,
    PartitionSubmit,
    PartitionSubmitted,
)
from ddlsim.protocol.replication.state_machine import BUSY
from ddlsim.strategies.iep import IEP
from ddlsim.units import MIN_TIMESTAMP, Timestamp, timestamp
from tests.support.primary import LAST, OLD, PLACE, YOUNG
from tests.support.protocol import FIRST_LEASE, NEVER, Member, T, change
from tests.support.trio import NAMES, Trio, intent


def at_once(**more: Any) -> FullWrite:
    fields: dict[str, Any] = {
        "tx": OLD,
        "op": "w",
        "op_ts": Timestamp(10),
        "key": 1,
        "version": 1,
        "row": (1, 5),
        "lease_start": FIRST_LEASE,
        "catalog_version": 1,
        "tables": ((1, 1, 1),),
    }
    return FullWrite(**(fields | more))


# --- groups ---------------------------------------------------------------------------------------


def test_node_without_replica_has_no_group() -> None:
    """Neither of a table that it does not know."""
    trio = Trio(replicas=1)
    assert trio["n2"].replicas.at(PLACE) is None
    assert trio["n1"].replicas.at((9, 0)) is None


def test_a_groups_first_leader_is_the_first_replica() -> None:
    """Everywhere alike."""
    trio = Trio()
    assert [trio.local(name).group.is_leader for name in NAMES] == [True, False, False]


def test_a_new_tables_group_is_born_when_it_is_needed() -> None:
    """By a message of its leader, if not before."""
    trio = Trio()
    change(trio.catalog, T.replace(" t ", " u "), timestamp(0))
    trio.placed[2, 0] = "n1"
    assert (2, 0) not in trio["n2"].replicas.members
    replicas = trio["n1"].replicas
    trio["n1"].node.spawn(replicas.run(trio.local("n1", (2, 0)), SafeTimeSync()))
    trio.later(10)
    assert trio.local("n2", (2, 0)).machine.applied_index == 1


# --- commands -------------------------------------------------------------------------------------


def test_every_replica_carries_out_what_is_submitted_anywhere() -> None:
    """The result comes once it is carried out at the submitter too."""
    trio = Trio()
    for number, name in enumerate(NAMES):
        assert trio.ran(name, intent(OLD, key=number)) is None
        assert number in trio.local(name).machine.intents
    trio.later(20)
    assert [len(trio.local(name).machine.intents) for name in NAMES] == [3, 3, 3]


def test_result_of_submission_comes_after_local_apply() -> None:
    """Though the leader tells of it while this one's log is late."""
    trio = Trio()
    trio.led_by("n2")
    done: list[int] = []

    async def run() -> None:
        await trio["n1"].replicas.run(trio.local("n1"), intent(OLD))
        done.append(len(trio.local("n1").machine.intents))

    trio["n1"].node.disk_delay_us = 40_000
    trio["n1"].node.spawn(run())
    trio.later(30)
    assert trio.wire.payloads(PartitionSubmitted)[-1].done
    assert done == []
    trio.later(60)
    assert done == [1]


def test_stamps_rise_from_one_leader_to_the_next() -> None:
    """Whatever their clocks show."""
    trio = Trio()
    trio["n1"].node.ahead_ms = 9
    trio.ran("n1", SafeTimeSync())
    first = trio.local("n1").group.last_stamp
    trio.led_by("n2")
    trio.ran("n2", SafeTimeSync())
    assert trio.local("n2").group.last_stamp > first


def test_a_copy_of_a_submission_is_proposed_once() -> None:
    """Both are answered alike, with the stamp up to which the asker has to know everything."""
    trio = Trio()
    before = trio.local("n1").machine.applied_index
    request = PartitionSubmit(Timestamp(0), PLACE, intent(OLD), 7)
    answers = [trio.ask(request) for _ in range(2)]
    trio.later(10)
    assert trio.local("n1").machine.applied_index == before + 1
    assert [answer.value.done for answer in answers] == [True, True]
    assert len({answer.value.stamp for answer in answers}) == 1
    assert answers[0].value.stamp > Timestamp(0)


def test_submission_of_a_restarted_node_is_no_copy_of_an_earlier_one() -> None:
    """Though the leader has not answered the first one of its earlier life."""
    trio = Trio()
    trio.raft_stops = True
    trio["n3"].node.spawn(trio["n3"].replicas.run(trio.local("n3"), intent(OLD)))
    trio.later(5)
    trio.members["n3"] = Member(trio, "n3", {}, restarted=True)
    trio["n3"].node.spawn(trio["n3"].replicas.run(trio.local("n3"), CleanUp(LAST, None)))
    trio.later(5)
    trio.raft_stops = False
    trio.later(1_000)
    assert OLD in trio.local("n1").machine.open_transactions
    assert LAST in trio.local("n1").machine.ended


def test_submit_to_follower_returns_the_leader() -> None:
    """And carries nothing out."""
    trio = Trio()
    answer = trio.asked(PartitionSubmit(Timestamp(0), PLACE, intent(OLD), 1), "n2")
    assert (answer.done, answer.leader) == (False, "n1")


def test_a_submission_finds_the_leader_after_a_change() -> None:
    """Whoever is asked first."""
    trio = Trio()
    trio.led_by("n3")
    assert trio.ran("n2", intent(OLD)) is None
    assert trio.local("n2").machine.intents


def test_a_submission_outlasts_a_leader_that_is_gone() -> None:
    """It is resent until a leader answers, and applied once."""
    trio = Trio(election_timeout_ms=100)
    trio.cut = {"n1"}
    assert trio.ran("n2", intent(OLD), within_ms=2_000) is None
    assert [len(trio.local(name).machine.intents) for name in NAMES] == [0, 1, 1]
    trio.cut = set()
    trio.later(1_000)
    assert len(trio.local("n1").machine.intents) == 1


def test_what_a_deposed_leader_had_proposed_is_proposed_again() -> None:
    """Its proposer gets the result of the next leader."""
    trio = Trio(election_timeout_ms=100)
    results: list[Any] = []

    async def run() -> None:
        results.append(await trio["n1"].replicas.run(trio.local("n1"), intent(OLD)))

    trio.cut = {"n1"}
    trio["n1"].node.spawn(run())
    trio.later(1_000)
    assert results == []
    trio.cut = set()
    trio.later(2_000)
    assert results == [None]
    assert [list(trio.local(name).machine.intents) for name in NAMES] == [[1], [1], [1]]


def test_replica_without_catalog_version_defers_the_write() -> None:
    """It could not decode it."""
    trio = Trio()
    later = intent(OLD, catalog_version=2)
    answer = trio.asked(PartitionSubmit(Timestamp(0), PLACE, later, 1))
    assert not answer.done
    change(trio.catalog, "ALTER TABLE t ADD COLUMN w INT", timestamp(50))
    assert trio.asked(PartitionSubmit(Timestamp(0), PLACE, later, 2)).done


# --- one-phase writes -----------------------------------------------------------------------------


def test_a_one_phase_write_is_judged_at_its_stamp() -> None:
    """A schema for which it is not compatible refuses it, before it is in the log."""
    trio = Trio()
    change(trio.catalog, "ALTER TABLE t DROP COLUMN v", timestamp(50))
    trio.later(60)
    for name in ("n1", "n2"):
        assert trio.ran(name, at_once()) is Reason.SCHEMA_INCOMPATIBLE
    assert trio.rows("n1") == {}


def test_a_leader_that_does_not_know_the_schema_at_its_stamp_is_busy() -> None:
    """Near or far; nothing is proposed."""
    trio = Trio(strategy=replace(IEP, validate_one_phase=lambda *_: None))
    before = trio.local("n1").machine.applied_index
    for name in ("n1", "n2"):
        assert trio.ran(name, at_once()) is BUSY
    assert trio.local("n1").machine.applied_index == before


def test_a_write_that_may_be_in_the_log_already_never_falls_back() -> None:
    """Were it to become an intent as well, it would be there twice."""
    known = {"busy": False}
    told = ((1, 1, 1),)
    strategy = replace(IEP, validate_one_phase=lambda *_: None if known["busy"] else (None, told))
    trio = Trio(strategy=strategy, election_timeout_ms=100, operation_timeout_ms=5_000)
    results: list[Any] = []

    async def run() -> None:
        results.append(await trio["n1"].replicas.run(trio.local("n1"), at_once()))

    trio.cut = {"n1"}
    trio["n1"].node.spawn(run())  # appended at n1, and nowhere else
    trio.later(500)
    known["busy"] = True
    trio.cut = set()
    trio.later(500)
    assert results == []
    known["busy"] = False
    trio.later(500)
    [commit_ts] = results
    assert trio.local("n1").machine.ended[OLD] == commit_ts


def test_reelected_leader_does_not_fall_back_either() -> None:
    """What it had appended in its last term is in the log."""
    known = {"busy": False}
    rule = IEP.validate_one_phase
    strategy = replace(
        IEP, validate_one_phase=lambda *asked: None if known["busy"] else rule(*asked)
    )
    trio = Trio(strategy=strategy)
    results: list[Any] = []

    async def run() -> None:
        results.append(await trio["n1"].replicas.run(trio.local("n1"), at_once()))

    trio.raft_stops = True
    trio["n1"].node.spawn(run())
    trio.later(1)
    known["busy"], trio.raft_stops = True, False
    trio.local("n1").group.re_elect()
    trio.later(60)
    assert results == [trio.local("n1").machine.ended[OLD]]


@pytest.mark.parametrize("is_lost", [False, True])
def test_refusal_of_a_write_that_may_be_in_the_log_already_waits_for_its_end(
    is_lost: bool,
) -> None:
    """What was appended first counts; where it is lost, no copy of it commits any more."""
    known = {"refused": False}
    rule = IEP.validate_one_phase
    strategy = replace(
        IEP,
        validate_one_phase=lambda *asked: (
            (Reason.SCHEMA_INCOMPATIBLE, ()) if known["refused"] else rule(*asked)
        ),
    )
    trio = Trio(strategy=strategy, election_timeout_ms=100)
    results: list[Any] = []

    async def run() -> None:
        results.append(await trio["n1"].replicas.run(trio.local("n1"), at_once()))

    trio.cut = {"n1"} if is_lost else set()
    trio.raft_stops = not is_lost
    trio["n1"].node.spawn(run())
    trio.later(1)
    known["refused"], trio.raft_stops = True, False
    if is_lost:
        trio.later(1_000)
        trio.cut = set()
    else:
        trio.local("n1").group.re_elect()
    trio.later(2_000)
    commit_ts = trio.local("n1").machine.ended[OLD]
    assert (commit_ts is None) == is_lost
    assert results == [Reason.SCHEMA_INCOMPATIBLE if is_lost else commit_ts]


def test_a_write_that_may_be_in_the_log_is_ended_there_where_its_leader_stays_busy() -> None:
    """Its DD may be smaller than what the log takes, so that no copy is ever judged."""
    known = {"busy": False}
    rule = IEP.validate_one_phase
    strategy = replace(
        IEP, validate_one_phase=lambda *asked: None if known["busy"] else rule(*asked)
    )
    trio = Trio(strategy=strategy, election_timeout_ms=100, operation_timeout_ms=900)
    results: list[Any] = []

    async def run() -> None:
        results.append(await trio["n1"].replicas.run(trio.local("n1"), at_once()))

    trio.cut = {"n1"}
    trio["n1"].node.spawn(run())
    trio.later(500)
    known["busy"], trio.cut = True, set()
    trio.later(399)
    assert (results, OLD in trio.local("n1").machine.ended) == ([], False)
    trio.later(500)
    assert results == [Reason.METADATA_LATE]
    assert trio.local("n1").machine.ended[OLD] is None
    [ended] = trio["n1"].node.of(TxRecovered)
    assert (ended.tx, ended.outcome) == (OLD.label, "aborted")
    known["busy"] = False
    assert trio.ran("n1", at_once()) is Reason.TX_FINISHED


@pytest.mark.parametrize("verdict", [(Reason.SCHEMA_INCOMPATIBLE, ()), None])
def test_what_a_leader_appended_for_another_node_before_it_was_reelected_counts(
    verdict: tuple[Reason, tuple[()]] | None,
) -> None:
    """The answer that it leads no more may mean that the write is in the log."""
    known = {"judged": False}
    rule = IEP.validate_one_phase
    strategy = replace(
        IEP, validate_one_phase=lambda *asked: verdict if known["judged"] else rule(*asked)
    )
    trio = Trio(strategy=strategy)
    results: list[Any] = []

    async def run() -> None:
        results.append(await trio["n2"].replicas.run(trio.local("n2"), at_once()))

    trio.raft_stops = True
    trio["n2"].node.spawn(run())
    trio.later(2)
    known["judged"], trio.raft_stops = True, False
    group = trio.local("n1").group
    group.re_elect()
    assert not group.is_leader
    while not group.is_leader:
        trio.later(0.5)
    trio.raft_stops = True  # the write is not committed when it comes again
    trio.later(20)
    trio.raft_stops = False
    trio.later(500)
    commit_ts = trio.local("n2").machine.ended[OLD]
    assert commit_ts is not None
    assert results == [commit_ts]


def test_a_transaction_that_has_ended_is_not_judged_again() -> None:
    """A copy of its write gets the result of the first."""
    judged: list[Any] = []
    strategy = replace(IEP, validate_one_phase=lambda *_: judged.append(1) or (None, ((1, 1, 1),)))
    trio = Trio(strategy=strategy)
    assert trio.ran("n1", at_once()) == trio.ran("n1", at_once())
    assert len(judged) == 1


# --- primaries ------------------------------------------------------------------------------------


def test_become_primary_applies_the_log_first() -> None:
    """What was committed before it is asked, its log may not even hold yet."""
    trio = Trio()
    trio.cut = {"n3"}
    trio.ran("n1", at_once())
    assert trio.rows("n3") == {}
    trio.cut = set()
    trio.next_lease("n3")
    assert trio.rows("n3") == {1: [(1, 5)]}


def test_what_an_earlier_primary_still_sends_is_refused() -> None:
    """Writes of both kinds, at every replica alike; ends of transactions are not."""
    trio = Trio()
    trio.ran("n1", intent(LAST, key=3))
    trio.next_lease("n2")
    assert trio.ran("n1", intent(OLD)) is Reason.PRIMARY_EXPIRED
    assert trio.ran("n1", at_once(tx=YOUNG)) is Reason.PRIMARY_EXPIRED
    assert trio.ran("n1", CleanUp(LAST, timestamp(5))) is None
    for name in NAMES:
        assert trio.rows(name) == {3: [(3, 5)]}
        assert trio.local(name).machine.intents == {}


def test_an_earlier_grant_that_comes_late_takes_nothing_back() -> None:
    """The latest token stands."""
    trio = Trio()
    for token in (timestamp(50), timestamp(20)):
        trio.ran("n1", PrimaryChange(token, "n2"))
    assert trio.local("n1").machine.lease_start == timestamp(50)


def test_a_grant_is_accepted_where_the_node_can_be_primary() -> None:
    """And nowhere else; a token of before its restart is not accepted either."""
    trio = Trio()
    for place, accepted in ((PLACE, True), ((9, 0), False)):
        answer = trio.asked(LeaseGrant(Timestamp(0), place, timestamp(50)), "n2")
        assert type(answer) is LeaseAccepted
        assert answer.accepted is accepted
    trio["n2"].leases.born_ts = timestamp(70)
    answer = trio.asked(LeaseGrant(Timestamp(0), PLACE, timestamp(60)), "n2")
    assert not answer.accepted


def test_a_node_serves_by_its_own_lease_only() -> None:
    """Of this life."""
    trio = Trio()
    assert trio.local("n1").lease is not None
    trio.lease("n2", timestamp(50))
    assert [trio.local(name).lease is not None for name in NAMES] == [False, True, False]
    trio["n2"].leases.born_ts = timestamp(60)
    trio["n2"].leases.begin(Lease(PLACE, "n2", timestamp(50), NEVER))
    assert trio.local("n2").lease is None


# --- partition safe time --------------------------------------------------------------------------


def test_an_idle_leader_stamps_a_command_now_and_then() -> None:
    """Only the leader, only where nothing else is stamped, and only with other members."""
    trio = Trio(partition_idle_ms=100)
    trio.later(350)
    assert [trio[name].node.probes["partition-tick"] for name in NAMES] == [3, 0, 0]
    assert trio.local("n3").machine.safe_ts >= timestamp(300)
    lone = Trio(replicas=1, partition_idle_ms=100)
    lone.later(350)
    assert lone.local("n1").machine.safe_ts == MIN_TIMESTAMP


def test_a_busy_leader_stamps_nothing_idle() -> None:
    """Its commands move safe time."""
    trio = Trio(partition_idle_ms=100)
    trio.later(10)
    for number in range(8):
        trio.ran("n1", intent(OLD, number), within_ms=50)
    assert trio["n1"].node.probes["partition-tick"] == 0


def test_an_idle_command_comes_one_period_after_the_last_command() -> None:
    """The write is stamped at 30 here, and the period is 100."""
    trio = Trio(partition_idle_ms=100)
    trio.later(30)
    trio.ran("n1", intent(OLD), within_ms=5)
    for later_ms, ticks in ((94, 0), (1, 1), (100, 2)):
        trio.later(later_ms)
        assert trio["n1"].node.probes["partition-tick"] == ticks


def test_a_primary_that_does_not_lead_submits_at_once() -> None:
    """To the leader and back in 2 ms, while its own replica hears of it in 3."""
    trio = Trio(resend_ms=400)
    trio.led_by("n2")
    trio.ran("n1", intent(OLD), within_ms=4)
    assert trio.local("n1").machine.intents


def test_a_new_leader_ticks_and_the_old_one_no_more() -> None:
    """Its first command lets it commit what earlier terms left behind."""
    trio = Trio(partition_idle_ms=100)
    trio.led_by("n2")
    before = trio["n1"].node.probes["partition-tick"]
    trio.later(350)
    assert trio["n1"].node.probes["partition-tick"] == before
    assert trio["n2"].node.probes["partition-tick"] == 3


@pytest.mark.parametrize("answer", [None, (Reason.SCHEMA_INCOMPATIBLE, ())])
def test_a_copy_of_a_refused_one_phase_write_is_refused_alike(answer: Any) -> None:
    """Its submitter has made it an intent, or has aborted it: a copy must not commit it."""
    answers = [answer, (None, ((1, 1, 1),)), (None, ((1, 1, 1),))]
    trio = Trio(strategy=replace(IEP, validate_one_phase=lambda *_: answers.pop(0)))
    request = PartitionSubmit(Timestamp(0), PLACE, at_once(expires_ts=NEVER), 7)
    first, copy = trio.asked(request), trio.asked(request)
    assert (copy.done, copy.result) == (first.done, first.result)
    assert trio.rows("n1") == {}
    again = trio.asked(PartitionSubmit(Timestamp(0), PLACE, request.command, 8))
    assert again.done
    assert trio.rows("n1") != {}


def test_refusals_are_kept_until_the_lease_of_the_write_is_over() -> None:
    """Then the log refuses it."""
    trio = Trio(strategy=replace(IEP, validate_one_phase=lambda *_: None))
    for number, expires_ms in ((1, 20), (2, 500)):
        write = at_once(expires_ts=timestamp(expires_ms))
        trio.asked(PartitionSubmit(Timestamp(0), PLACE, write, number))
    trio.later(100)
    trio.ran("n1", SafeTimeSync())
    trio.asked(PartitionSubmit(Timestamp(0), PLACE, at_once(expires_ts=NEVER), 3))
    assert [number for _, number in trio["n1"].replicas._refused] == [2, 3]
