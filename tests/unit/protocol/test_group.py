"""A member of a group: elections, replication, disks, restarts, what proposers hear."""

import pytest

from ddlsim.history.world_events import (
    CommandLogged,
    LeaderElected,
    LeaderSteppedDown,
)
from ddlsim.protocol.raft import AppendEntries, Entry, TimeoutNow
from ddlsim.protocol.replication.group import Group, Pending, disk_name
from ddlsim.protocol.replication.state_machine import NOT_LEADER, Applied
from ddlsim.units import timestamp
from tests.support.engine import scheduled
from tests.support.replicas import ELECTION_MS, Replicas, Said

LONG = 20 * ELECTION_MS


# --- replication ----------------------------------------------------------------------------------


def test_all_members_apply_in_the_leaders_order() -> None:
    """Learners too; the proposer gets what the machine said."""
    trio = Replicas(learners="d")
    assert [trio.said("a", word) for word in ("one", "two")] == ["heard one", "heard two"]
    assert trio.words() == [["one", "two"]] * 4
    assert trio["b"].leader == "a"


def test_a_result_is_there_only_when_a_majority_has_stored_the_command() -> None:
    """One of three more suffices; none does not."""
    trio = Replicas()
    trio.cut = {"b"}
    assert trio.said("a", "one") == "heard one"
    trio.cut = {"b", "c"}
    pending = trio.say("a", "two")
    trio.later(ELECTION_MS / 2)
    assert not pending.future.done
    assert trio.machines["a"].words == ["one"]


def test_a_member_that_missed_a_command_is_sent_it_again() -> None:
    """While it lacks something, after a while; no heartbeat is needed for it."""
    trio = Replicas(election_timeout_ms=10_000)
    trio.cut = {"c"}
    trio.said("a", "one")
    trio.cut = set()
    trio.later(50)
    assert trio.machines["c"].words == ["one"]
    assert trio.nodes["a"].probes["append-resent"]


def test_a_command_is_recorded_once_for_the_whole_group() -> None:
    """Which it was, where, and under which stamp."""
    trio = Replicas()
    trio.said("a", "one")
    [logged] = trio.nodes["a"].of(CommandLogged)
    assert (logged.index, logged.term, logged.stamp) == (1, 1, 1)


def test_command_is_resent_until_storable() -> None:
    """It says nothing and takes nothing, not even what comes behind it."""
    trio = Replicas()
    trio.machines["c"].refused = "one"
    trio.said("a", "one")
    trio.said("a", "two")
    assert trio.machines["c"].words == []
    assert trio.nodes["c"].probes["catalog-version-awaited"]
    trio.machines["c"].refused = ""
    trio.later(50)
    assert trio.machines["c"].words == ["one", "two"]


# --- a group of one -------------------------------------------------------------------------------


def test_a_group_of_one_applies_within_proposed_and_sends_nothing() -> None:
    """No other member has to store the command; there are no timers either."""
    alone = Replicas("a")
    results = [alone.say("a", word) for word in ("one", "two")]
    assert results == [Applied("heard one"), Applied("heard two")]
    alone.later(LONG)
    assert alone.wire.sent == []
    assert alone.leaders == ["a"]


def test_single_member_waits_for_its_disk() -> None:
    """And carries out nothing before."""
    alone = Replicas("a")
    alone.nodes["a"].disk_delay_us = 5_000
    pending = alone.say("a", "one")
    assert type(pending) is Pending
    alone.later(4)
    assert alone.machines["a"].words == []
    alone.later(2)
    assert pending.future.value == "heard one"


def test_single_member_leads_again_after_restart() -> None:
    """In a new term, with all that it had."""
    alone = Replicas("a")
    alone.say("a", "one")
    alone.crash("a", lost=True)
    alone.restart("a")
    assert alone.leaders == ["a"]
    assert alone["a"].term == 2
    assert alone.say("a", "two") == Applied("heard two")
    assert alone.machines["a"].words == ["one", "two"]


# --- disks ----------------------------------------------------------------------------------------


def test_a_leader_with_a_slow_disk_commits_by_the_disks_of_the_others() -> None:
    """Two of three have it safe, and the leader is not one of them."""
    trio = Replicas()
    trio.nodes["a"].disk_delay_us = 30_000
    pending = trio.say("a", "one")
    trio.later(5)
    assert pending.future.done
    assert trio.nodes["a"].probes["slow-disk"] == 1


def test_a_follower_with_a_slow_disk_confirms_only_what_is_safe() -> None:
    """With the other one cut off, the command takes as long as the disk."""
    trio = Replicas()
    trio.cut = {"c"}
    trio.nodes["b"].disk_delay_us = 30_000
    pending = trio.say("a", "one")
    trio.later(29)
    assert not pending.future.done
    trio.later(5)
    assert pending.future.value == "heard one"


def test_what_was_committed_survives_whatever_is_not_synced() -> None:
    """The leader's disk loses it; the next leader has it."""
    trio = Replicas()
    trio.nodes["a"].disk_delay_us = 60_000
    trio.said("a", "one")
    trio.crash("a", lost=True)
    trio.later(LONG)
    [leader] = trio.leaders
    assert trio.said(leader, "two") == "heard two"
    trio.restart("a")
    trio.later(LONG)
    assert trio.words() == [["one", "two"]] * 3


def test_a_disk_that_becomes_fast_leaves_nothing_out() -> None:
    """What was on its way to the disk comes first, and its proposer gets the result."""
    alone = Replicas("a")
    alone.nodes["a"].disk_delay_us = 5_000
    pending = alone.say("a", "one")
    alone.nodes["a"].disk_delay_us = 0
    assert alone.say("a", "two") == Applied("heard two")
    alone.later(10)
    assert pending.future.value == "heard one"
    assert alone.machines["a"].words == ["one", "two"]


@pytest.mark.parametrize(("torn", "left"), [(0, []), (1, ["one"])])
def test_a_crash_loses_at_most_what_was_not_synced(torn: int, left: list[str]) -> None:
    """Of two commands whose write was under way a torn tail keeps the first, if any.

    It is carried out with the first command of the new term (Raft 5.4.2), and before it.
    """
    alone = Replicas("a")
    alone.nodes["a"].disk_delay_us = 5_000
    alone.say("a", "one")
    alone.say("a", "two")
    alone.crash("a", lost=True, torn=torn)
    alone.restart("a")  # with a fast disk
    alone.say("a", "three")
    assert alone.machines["a"].words == [*left, "three"]


# --- restarts -------------------------------------------------------------------------------------


def test_a_restarted_member_carries_out_again_what_it_had_carried_out() -> None:
    """As restored, between two words of it, before it takes part; it hears the rest as new."""
    trio = Replicas()
    trio.said("a", "one")
    trio.crash("c")
    trio.said("a", "two")
    trio.restart("c")
    machine = trio.machines["c"]
    assert (machine.restored_words, machine.life) == (["one"], ["restoring", "restored 1"])
    trio.later(50)
    assert (machine.words, machine.restored_words) == (["one", "two"], ["one"])


def test_a_restarted_leader_is_none_until_it_is_elected_anew() -> None:
    """Its term may have ended meanwhile."""
    trio = Replicas()
    trio.said("a", "one")
    trio.crash("a")
    trio.restart("a")
    assert trio.leaders == []
    trio.later(LONG)
    [leader] = trio.leaders
    assert trio[leader].term > 1


def test_restarted_member_restores_the_last_stamp() -> None:
    """So that the next leader never stamps less."""
    trio = Replicas()
    for word in ("one", "two", "three"):
        trio.said("a", word)
    trio.crash("b")
    trio.restart("b")
    assert trio["b"].last_stamp == trio["a"].last_stamp == 3


def test_a_restart_begins_with_the_snapshot_and_goes_on_with_the_log() -> None:
    """Nothing twice, nothing left out."""
    alone = Replicas("a", snapshot_entries=3)
    said = [f"w{number}" for number in range(9)]
    for word in said:
        alone.say("a", word)
    assert alone.nodes["a"].probes["log-compacted"] == 1
    alone.crash("a")
    alone.restart("a")
    machine = alone.machines["a"]
    assert machine.words == said
    assert [*machine.installed[0], *machine.restored_words] == said


# --- elections ------------------------------------------------------------------------------------


def test_first_leader_stays_while_its_messages_arrive() -> None:
    """Nobody stands for election."""
    trio = Replicas()
    trio.later(LONG)
    assert (trio.leaders, trio.news) == (["a"], [])
    assert trio["c"].term == 1


def heartbeats(replicas: Replicas) -> int:
    """How many heartbeats the leader has sent to its first follower, since it was born."""
    return sum(
        sent.to == "b" and type(sent.payload) is AppendEntries and sent.payload.round > 1
        for sent in replicas.wire.sent
    )


@pytest.mark.parametrize(
    ("idle_ms", "expected"),
    [
        (None, 10),  # a tenth of an election timeout
        (ELECTION_MS, 2),  # half of one
        (ELECTION_MS + 1, 10),  # idle commands that are too rare do not count
    ],
)
def test_leader_sends_a_heartbeat_after_silence(idle_ms: int | None, expected: int) -> None:
    """How much depends on whether its group has idle commands."""
    trio = Replicas(idle_ms=idle_ms)
    trio.later(ELECTION_MS + 5)
    assert heartbeats(trio) == expected


def with_idle_commands(trio: Replicas, every_ms: int, for_ms: int) -> None:
    """The leader proposes something every so often, as the owner of a group does."""
    for number in range(for_ms // every_ms):
        trio.later(every_ms)
        trio.say("a", f"idle {number}")


def test_idle_commands_are_heartbeats() -> None:
    """Nobody stands for election, and none is sent."""
    trio = Replicas(idle_ms=40)
    with_idle_commands(trio, 40, LONG)
    assert (heartbeats(trio), trio.leaders, trio.news) == (0, ["a"], [])


def test_an_idle_command_that_does_not_come_is_replaced_by_heartbeats() -> None:
    """The leader stays, though its owner is silent."""
    trio = Replicas(idle_ms=40)
    trio.later(LONG)
    assert (heartbeats(trio), trio.leaders, trio.news) == (LONG // 50, ["a"], [])


def test_leader_with_idle_commands_without_majority_steps_down() -> None:
    """One election timeout after it has heard one, whatever it proposes meanwhile."""
    trio = Replicas(idle_ms=40)
    trio.cut = {"a"}
    for _ in range(2):
        trio.later(40)
        trio.say("a", "lost")
    trio.later(19)
    assert trio["a"].is_leader
    trio.later(2)
    assert not trio["a"].is_leader
    assert trio.nodes["a"].probes["quorum-lost"] == 1


class Mute(Group):
    """A leader that takes every command for a heartbeat, and is silent where none comes."""

    def _beat_us(self) -> int:
        return 1_000_000_000


def test_without_heartbeats_a_silent_leader_is_deposed() -> None:
    """The fault that the tests above would see."""
    trio = Replicas(idle_ms=40, group_class=Mute)
    trio.later(LONG)
    assert trio.news


def test_resending_ends_with_the_last_answer() -> None:
    """The timer is for those that have not answered."""
    trio = Replicas(idle_ms=40)
    trio.said("a", "one", within_ms=10)
    timers = scheduled(trio.loop)
    trio.later(15)
    assert not trio.nodes["a"].probes["append-resent"]
    trio.cut = {"c"}
    trio.said("a", "two", within_ms=45)
    assert trio.nodes["a"].probes["append-resent"] == 1
    assert timers <= 5


def test_when_the_leader_dies_another_one_is_elected_and_goes_on() -> None:
    """Within a few election timeouts; it is recorded, and `on_elected` is called."""
    trio = Replicas()
    trio.said("a", "one")
    trio.crash("a")
    trio.later(LONG)
    [leader] = trio.leaders
    assert leader in "bc"
    assert trio.news == [(leader, "elected", trio[leader].term)]
    [elected] = trio.nodes[leader].of(LeaderElected)
    assert (elected.node, elected.term) == (leader, trio[leader].term)
    assert trio.said(leader, "two") == "heard two"
    assert trio.machines[leader].words == ["one", "two"]


def test_a_learner_never_leads() -> None:
    """Whoever is gone."""
    trio = Replicas("ab", "cd")
    trio.crash("a")
    trio.later(LONG)
    assert trio.leaders == []


def test_leader_without_majority_steps_down() -> None:
    """Though no other leader is known; and its pending commands come to nothing."""
    trio = Replicas()
    trio.cut = {"a"}
    pending = trio.say("a", "lost")
    trio.later(2 * ELECTION_MS)
    assert "a" not in trio.leaders
    assert trio.nodes["a"].probes["quorum-lost"] == 1
    assert trio.news[0] == ("a", "deposed", 1)
    [left] = trio.nodes["a"].of(LeaderSteppedDown)
    assert (left.node, left.term) == ("a", 1)
    assert pending.future.value is NOT_LEADER


def test_replaced_command_results_in_not_leader() -> None:
    """The old leader drops it and hears what the others agreed upon."""
    trio = Replicas()
    trio.cut = {"a"}
    pending = trio.say("a", "lost")
    trio.later(LONG)
    [leader] = trio.leaders
    assert trio.said(leader, "kept") == "heard kept"
    trio.cut = set()
    trio.later(LONG)
    assert pending.future.value is NOT_LEADER
    assert trio.words() == [["kept"]] * 3


def test_a_deposed_leader_gives_no_proposal_the_result_of_another_entry() -> None:
    """Not where one message brings the new term, its entry in that place, and its commit."""
    trio = Replicas()
    trio.cut = {"a"}
    pending = trio.say("a", "lost")
    kept = Entry(2, Said(timestamp(9), "kept"))
    trio["a"].receive("b", AppendEntries(2, 0, 0, (kept,), 1))
    assert trio.machines["a"].words == ["kept"]
    assert pending.future.value is NOT_LEADER


def test_cut_off_member_does_not_depose_the_leader() -> None:
    """It asks them first, and they cling to theirs."""
    trio = Replicas()
    trio.wire.fate = lambda sent: () if {sent.sender, sent.to} == {"a", "c"} else (1000,)
    trio.later(LONG)
    assert trio.nodes["c"].probes["election-timeout"]
    assert (trio.leaders, trio["b"].term, trio.news) == (["a"], 1, [])


def test_leader_measures_silence_and_lag_of_members() -> None:
    """It itself is neither silent nor behind."""
    trio = Replicas("abc", election_timeout_ms=ELECTION_MS)
    trio.later(95)
    trio.cut = {"c"}
    trio.said("a", "one", within_ms=55)
    for how_long in (trio["a"].silent_us, trio["a"].behind_us):
        assert how_long("c") >= 55_000
        assert how_long("b") <= 15_000
    assert trio["a"].behind_us("a") == 0


# --- transfer, re-election ------------------------------------------------------------------------


def test_transfer_carries_the_clock() -> None:
    """The successor's is never behind what the last leader stamped [98.x.1]."""
    trio = Replicas()
    trio.nodes["a"].ahead_ms = 5_000
    trio["a"].transfer_to("b")
    trio.later(20)
    assert trio.leaders == ["b"]
    assert trio.nodes["b"].clock.current() >= timestamp(5_000)
    [handed] = trio.wire.payloads(TimeoutNow)
    assert handed.payload == timestamp(5_000)


def test_a_successor_first_gets_what_it_lacks() -> None:
    """The old leader leads until then, and hands over its clock as it is then [98.x.1]."""
    trio = Replicas()
    trio.cut = {"b"}
    trio.said("a", "one", within_ms=5)
    trio["a"].transfer_to("b")
    trio.later(5)
    assert trio.leaders == ["a"]
    trio.nodes["a"].ahead_ms = 5_000
    trio.cut = set()
    trio.later(60)
    [handed] = trio.wire.payloads(TimeoutNow)
    assert handed.payload >= timestamp(5_000)
    assert trio.leaders == ["b"]
    assert trio.machines["b"].words == ["one"]


def test_a_leader_may_be_elected_anew() -> None:
    """It leads a later term; both callbacks are called."""
    trio = Replicas()
    trio["a"].re_elect()
    assert not trio["a"].is_leader
    assert trio["a"].member.led_term == 0
    trio.later(20)
    assert trio.leaders == ["a"]
    assert trio.news == [("a", "deposed", 1), ("a", "elected", 2)]


def test_a_follower_may_stand_for_election_at_any_time() -> None:
    """It wins where its log is as long as the others'; the leader steps down."""
    trio = Replicas()
    trio["b"].re_elect()
    trio.later(20)
    assert trio.leaders == ["b"]
    assert ("a", "deposed", 1) in trio.news


def test_a_message_from_a_term_that_is_over_changes_nothing() -> None:
    """It is not taken for a sign of life either."""
    trio = Replicas()
    trio.crash("a")
    trio.later(LONG)
    [leader] = trio.leaders
    other = "b" if leader == "c" else "c"
    before = trio[other].term
    trio[other].receive("a", AppendEntries(1, 0, 0, (), 0))
    assert (trio[other].leader, trio[other].term) == (leader, before)


def test_the_disk_is_kept_under_the_groups_name() -> None:
    """So that a node can tell which groups it was a member of."""
    assert list(Replicas("a").nodes["a"].disk) == [disk_name("words")]
