"""The commit point and what follows from it: outcomes that stay, cleanups that go on."""

from typing import Any

from ddlsim.protocol.commands import CleanUp, FinishTx
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Cleaned, Cleanup, Finish, Finished, NotPrimary
from ddlsim.protocol.transaction.locks import X
from ddlsim.units import Timestamp, timestamp
from tests.support.primary import OLD, PLACE, YOUNG
from tests.support.protocol import FIRST_LEASE
from tests.support.trio import NAMES, Trio

OTHER = (1, 1)
COMMIT_TS = timestamp(7)


class Two(Trio):
    """Two partitions: n1 is primary of the first, the commit partition, and n2 of the other."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(partitions=2, **changes)
        for name in NAMES:
            self.local(name, OTHER)
        self.lease("n2", FIRST_LEASE, place=OTHER)
        self.lost: set[type] = set()
        base = self.wire.fate
        self.wire.fate = lambda sent: () if type(sent.payload) in self.lost else base(sent)

    def wrote(self, tx: TxId = OLD) -> None:
        """A row in each partition, under locks."""
        self.send(tx, "put", 2, (2, 5))
        self.send(tx, "put", 1, (1, 5), to="n2", partition=1)
        self.later(20)

    def finish(
        self, commit_ts: Timestamp | None = COMMIT_TS, tx: TxId = OLD, to: str = "n1"
    ) -> Any:
        future = self.ask(Finish(Timestamp(0), tx, commit_ts, PLACE, (PLACE, OTHER), ()), to)
        self.later(20)
        assert future.done
        return future.value

    def committed(self, name: str) -> list[Any]:
        """What a node has committed, in both partitions."""
        found: list[Any] = []
        for place in (PLACE, OTHER):
            machine = self.local(name, place).machine
            found += [(v.row, v.commit_ts) for versions in machine.rows.values() for v in versions]
        return found

    def at_rest(self) -> bool:
        return not any(member.replica.has_open_work for member in self.members.values())


BOTH = [((2, 5), COMMIT_TS), ((1, 5), COMMIT_TS)]


# --- the commit point -----------------------------------------------------------------------------


def test_a_finish_commits_the_transaction_everywhere() -> None:
    """In every partition, on every replica; no lock is left."""
    two = Two()
    two.wrote()
    told = two.finish()
    assert type(told) is Finished
    assert told.commit_ts == COMMIT_TS
    two.later(50)
    assert [two.committed(name) for name in NAMES] == [BOTH] * 3
    assert two.at_rest()


def test_repeated_finish_returns_the_stored_outcome() -> None:
    """However often, and though it has all been cleaned up."""
    two = Two()
    two.wrote()
    assert [two.finish().commit_ts for _ in range(3)] == [COMMIT_TS] * 3
    assert [two.committed(name) for name in NAMES] == [BOTH] * 3


def test_two_outcomes_the_first_stays() -> None:
    """A later finish gets it as its answer, and nothing changes."""
    for first, second in ((COMMIT_TS, None), (None, COMMIT_TS), (COMMIT_TS, timestamp(9))):
        two = Two()
        two.wrote()
        assert two.finish(first).commit_ts == first
        assert two.finish(second).commit_ts == first
        two.later(50)
        assert two.committed("n3") == (BOTH if first else [])


def test_concurrent_finishes_return_one_outcome() -> None:
    """The order of the log decides."""
    two = Two()
    two.wrote()
    asked = [
        two.ask(Finish(Timestamp(0), OLD, commit_ts, PLACE, (PLACE, OTHER), ()), "n1")
        for commit_ts in (COMMIT_TS, None)
    ]
    two.later(30)
    assert [future.value.commit_ts for future in asked] == [COMMIT_TS] * 2


def test_only_the_primary_takes_a_finish() -> None:
    """Another one sends its sender on, and stores nothing."""
    two = Two()
    two.wrote()
    assert type(two.finish(to="n2")) is NotPrimary
    assert OLD not in two.local("n2").machine.outcomes


def test_an_outcome_survives_the_node_that_stored_it() -> None:
    """The next primary answers the same."""
    two = Two(election_timeout_ms=100)
    two.wrote()
    two.finish()
    two.cut = {"n1"}
    two.later(1_000)
    two.next_lease("n3")
    assert two.finish(None, to="n3").commit_ts == COMMIT_TS


# --- cleaning up ----------------------------------------------------------------------------------


def test_cleanup_is_resent_until_confirmed() -> None:
    """By the node that stored the outcome; then it is over on all replicas."""
    two = Two()
    two.wrote()
    two.lost = {Cleanup}
    two.finish()
    two.later(200)
    assert not two.at_rest()
    assert [OLD in two.local(name).machine.uncleaned for name in NAMES] == [True] * 3
    assert two["n1"].node.probes["cleanup-resent"]
    two.lost = set()
    two.later(1_000)
    assert two.at_rest()
    assert [OLD in two.local(name).machine.uncleaned for name in NAMES] == [False] * 3


def test_lost_confirmation_repeats_the_cleanup() -> None:
    """Twice is as good as once."""
    two = Two()
    two.wrote()
    two.lost = {Cleaned}
    two.finish()
    two.later(200)
    two.lost = set()
    two.later(1_000)
    assert two.committed("n2") == BOTH
    assert two.local("n1").machine.uncleaned == {}


def test_a_new_primary_goes_on_with_what_the_last_one_left() -> None:
    """The outcome is in the log, and so are the participants that lack it."""
    two = Two(election_timeout_ms=100)
    two.wrote()
    two.lost = {Cleanup}
    two.finish()
    two.cut, two.lost = {"n1"}, set()
    two.later(1_000)
    two.next_lease("n3")
    two.later(500)
    assert two["n3"].node.probes["cleanup-resumed"] == 1
    assert two.committed("n2") == BOTH
    assert not two["n2"].replica.has_open_work


def test_cleanup_goes_to_the_present_primary() -> None:
    """The partition counts, not the node that was primary when the transaction ran."""
    two = Two()
    two.wrote()
    two.lost = {Cleanup}
    two.finish()
    two.lease("n3", timestamp(400), place=OTHER)
    two.lost = set()
    two.later(1_000)
    assert {sent.to for sent in two.wire.sent if type(sent.payload) is Cleanup} >= {"n2", "n3"}
    assert two.committed("n3") == BOTH


def test_locks_are_free_only_after_the_intents_are_seen_to() -> None:
    """Else the next one would meet them."""
    two = Two()
    two.wrote()
    two.raft_stops = True
    two.ask(Cleanup(Timestamp(0), OLD, COMMIT_TS, (OTHER,)), "n2")
    two.later(50)
    row = (1, 1, 1)
    assert two["n2"].replica.locks.holds(OLD, row) & X
    two.raft_stops = False
    two.later(100)
    assert not two["n2"].replica.locks.holds(OLD, row)
    assert two.committed("n2") == [((1, 5), COMMIT_TS)]


def test_a_clean_up_under_way_is_not_submitted_again() -> None:
    """Requests for it pile up while the partition has no leader; its log has it once."""
    two = Two()
    two.wrote()
    two.raft_stops = True
    asked = []
    for _ in range(3):
        asked.append(two.ask(Cleanup(Timestamp(0), OLD, COMMIT_TS, (OTHER,)), "n2"))
        two.later(50)
    assert not any(one.done for one in asked)
    two.raft_stops = False
    two.later(1_000)
    assert all(one.done for one in asked)
    log = two.local("n2", OTHER).group.member.log
    commands = [log.entry(at).command for at in range(log.base_index + 1, log.last_index + 1)]
    assert sum(isinstance(one.command, CleanUp) for one in commands if one is not None) == 1
    assert two["n2"].replica.participant._cleaning == {}


def test_cleanup_of_unknown_transaction_is_confirmed() -> None:
    """Its operation may have been lost; and it is refused if it still comes."""
    two = Two()
    two.ask(Cleanup(Timestamp(0), YOUNG, None, (PLACE,)))
    two.later(20)
    assert two.wire.payloads(Cleaned)
    late = two.send(YOUNG, "put", 2, (2, 5))
    two.later(20)
    assert late.value.reason is not None


def test_clean_up_without_replica_confirms() -> None:
    """It says so at once."""
    trio = Trio(replicas=1)
    assert type(trio.asked(Cleanup(Timestamp(0), OLD, None, (PLACE,)), "n3")) is Cleaned


def test_a_transaction_of_one_partition_needs_no_cleanup() -> None:
    """Its outcome is its end there."""
    trio = Trio()
    trio.send(OLD, "put", 1, (1, 5))
    trio.later(20)
    trio.ask(Finish(Timestamp(0), OLD, COMMIT_TS, PLACE, (PLACE,), ()))
    trio.later(20)
    assert trio.rows("n3") == {1: [(1, 5)]}
    assert trio.local("n1").machine.uncleaned == {}
    assert not trio["n1"].replica.has_open_work
    assert trio.wire.payloads(Cleanup) == []


def test_outcome_lists_the_other_participants_only() -> None:
    """The commit partition is none of them."""
    trio = Trio()
    outcome = trio.ran("n1", FinishTx(OLD, COMMIT_TS, (OTHER, PLACE, (1, 2))))
    assert outcome.participants == (OTHER, (1, 2))
