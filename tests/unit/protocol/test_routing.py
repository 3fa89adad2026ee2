"""Whom a coordinator asks: the primary by a lease that lasts, with one token; any replica."""

from typing import Any

import pytest

from ddlsim.model.ports import NO_REPLY
from ddlsim.model.reasons import Reason
from ddlsim.protocol.leases import Lease
from ddlsim.protocol.messages import Operate, Operated
from ddlsim.protocol.replica_messages import Read
from ddlsim.protocol.transaction_record import Enlistment, Transaction
from ddlsim.units import Timestamp, timestamp
from tests.support.primary import OLD, PLACE
from tests.support.protocol import FIRST_LEASE, NEVER, result_of, table_t
from tests.support.session import Session

OTHER = (1, 1)


class Asker(Session):
    """The router of n1; other nodes only note requests, and answer unless they are silent."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(names=("n1", "n2", "n3"), replicas=3, **changes)
        self.router = self.coordinator.router
        self.tx = Transaction(OLD, 0)
        self.asked_of: list[tuple[str, Any]] = []
        for name, member in self.members.items():
            for kind in (Operate, Read):
                member.node.handlers[kind] = self._answer_of(name)
        table = table_t(self.catalog)
        self.enlistment = Enlistment(1, "t", timestamp(1), 1, table)
        self.silent: set[str] = set()

    def _answer_of(self, name: str) -> Any:
        def answer(sender: str, request: Any) -> Operated | None:
            del sender
            self.asked_of.append((name, request))
            if name in self.silent:
                return None
            return Operated(Timestamp(1), Timestamp(1), None)

        return answer

    def lease(self, holder: str, start: int, until: Timestamp, place: Any = PLACE) -> None:
        self["n1"].leases.begin(Lease(place, holder, Timestamp(start), until))

    def ask_primary(self, partition: int = 0, **more: Any) -> Any:
        request = self.operation("tx1", "get", 2)
        asked = self.router.ask_primary(self.tx, request, self.enlistment, partition, **more)
        return result_of(self.loop, _await(asked))

    def ask_replica(self, read_ts: Timestamp | None = None) -> Any:
        self.tx.read_ts = read_ts or timestamp(1)
        request = self.operation("tx1", "get", 2)
        return result_of(self.loop, self.router.ask_replica(self.tx, request, self.enlistment, 0))


async def _await(asked: Any) -> Any:
    return await asked


def test_ask_primary_sends_the_lease_start() -> None:
    """And takes part from then on."""
    asker = Asker()
    asker.lease("n2", FIRST_LEASE + 7, NEVER)
    assert type(asker.ask_primary()) is Operated
    [(name, request)] = asker.asked_of
    assert (name, request.lease_start) == ("n2", FIRST_LEASE + 7)
    assert list(asker.tx.participants) == [PLACE]


def test_every_later_operation_goes_to_the_same_node_with_the_same_token() -> None:
    """Though another node is primary by now: its locks were not granted there."""
    asker = Asker()
    asker.lease("n2", FIRST_LEASE + 7, NEVER)
    asker.ask_primary()
    asker.lease("n3", FIRST_LEASE + 9, NEVER)
    asker.ask_primary()
    assert [name for name, _ in asker.asked_of] == ["n2", "n2"]
    assert {request.lease_start for _, request in asker.asked_of} == {FIRST_LEASE + 7}


def test_ask_primary_again_goes_to_the_present_primary() -> None:
    """A one-phase write, which holds no locks from before."""
    asker = Asker()
    asker.lease("n2", FIRST_LEASE + 7, NEVER)
    asker.ask_primary(one_phase=True)
    asker.lease("n3", FIRST_LEASE + 9, NEVER)
    asker.ask_primary(one_phase=True, again=True)
    assert [(name, r.lease_start, r.one_phase) for name, r in asker.asked_of] == [
        ("n2", FIRST_LEASE + 7, True),
        ("n3", FIRST_LEASE + 9, True),
    ]
    assert asker.tx.participants[PLACE].holder == "n3"


def test_the_first_partition_is_the_commit_partition_of_all_that_follow() -> None:
    """Every operation says which it is."""
    asker = Asker()
    for partition in (1, 0):
        asker.ask_primary(partition)
    assert [request.commit_place for _, request in asker.asked_of] == [OTHER, OTHER]


def test_ask_primary_waits_for_a_surely_valid_lease() -> None:
    """Its lease ends within CSmax; a primary is waited for, and then asked."""
    asker = Asker()
    asker.lease("n2", FIRST_LEASE + 7, timestamp(10))
    asker.loop.call_later(50_000, asker.lease, "n3", FIRST_LEASE + 9, NEVER)
    asker.ask_primary()
    assert [name for name, _ in asker.asked_of] == ["n3"]
    assert asker.loop.now_us >= 50_000
    assert asker.node.probes["primary-awaited"] == 1


def test_ask_primary_gives_up_at_the_time_limit() -> None:
    """An operation's time limit, which is 400 ms here."""
    asker = Asker()
    asker.lease("n2", FIRST_LEASE + 7, timestamp(0, 1))
    assert asker.ask_primary() is Reason.PRIMARY_MISSING
    assert 400_000 <= asker.loop.now_us < 450_000
    assert asker.tx.participants == {}


def test_silent_primary_times_out() -> None:
    """Whether it wrote is unknown."""
    asker = Asker()
    asker.silent = {"n2", "n3", "n1"}
    assert asker.ask_primary() is NO_REPLY


@pytest.mark.parametrize("silent", ["n1", "n2", "n3"])
def test_any_replica_may_answer_a_read_of_the_past(silent: str) -> None:
    """Where one says nothing, another one is asked."""
    asker = Asker(partition_idle_ms=50)
    asker.silent = {silent}
    for _ in range(3):
        assert type(asker.ask_replica()) is Operated
    assert {name for name, _ in asker.asked_of} - {silent}


def test_read_tries_all_replicas() -> None:
    """With the timestamp that the transaction reads at."""
    asker = Asker(partition_idle_ms=50)
    asker.silent = {"n1", "n2", "n3"}
    assert asker.ask_replica(timestamp(5)) is NO_REPLY
    assert {name for name, _ in asker.asked_of} == {"n1", "n2", "n3"}
    assert {request.read_ts for _, request in asker.asked_of} == {timestamp(5)}
