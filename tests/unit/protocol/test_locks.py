"""LockTable: grants, waits, wait-die refusals, and releases without a trace."""

from collections import deque
from itertools import product

import pytest

from ddlsim.kernel.engine import Future
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.transaction.locks import IX, LockTable, Resource, S, X
from ddlsim.units import Timestamp

ROW: Resource = (1, 0, 7)
OTHER: Resource = (1, 0, 8)
PLACE: Resource = (1, 0, None)
WAITS = "waits"


def tx(begin: int, ordinal: int = 0) -> TxId:
    """Smaller is older."""
    return TxId(Timestamp(begin), ordinal, f"tx{begin}.{ordinal}")


OLD, MIDDLE, YOUNG = tx(1), tx(2), tx(3)


class Table:
    """A lock table, and what became of each request that had to wait."""

    def __init__(self) -> None:
        self.locks = LockTable(lambda: Future(deque()))
        self.waiting: dict[tuple[TxId, Resource, int], Future[bool]] = {}

    def ask(self, who: TxId, mode: int, resource: Resource = ROW) -> bool | str:
        """True, False, or that it waits."""
        answer = self.locks.acquire(who, resource, mode)
        if isinstance(answer, bool):
            return answer
        self.waiting[who, resource, mode] = answer
        return WAITS

    def told(self, who: TxId, mode: int, resource: Resource = ROW) -> bool | str:
        """The answer to a request that had to wait, or that it still waits."""
        future = self.waiting[who, resource, mode]
        return future.value if future.done else WAITS

    def end(self, who: TxId) -> None:
        self.locks.release_all(who)


@pytest.fixture
def table() -> Table:
    return Table()


# --- modes ---------------------------------------------------------------------------------------


def test_what_two_can_hold_together() -> None:
    """Readers with readers, writers of a partition with each other; nothing else."""
    together = []
    for first, second in product((S, X, IX), repeat=2):
        table = Table()
        table.ask(OLD, first)
        if table.ask(YOUNG, second) is True:
            together.append((first, second))
    assert together == [(S, S), (IX, IX)]


def test_every_resource_has_its_own_lock(table: Table) -> None:
    """Rows, partitions, tables."""
    table.ask(OLD, X)
    for resource in (OTHER, PLACE, (1, 1, 7), (2, 0, 7)):
        assert table.ask(YOUNG, X, resource) is True


def test_a_lock_that_is_held_is_granted_again(table: Table) -> None:
    """In the same mode; and an exclusive one covers shared. It is released once."""
    assert [table.ask(YOUNG, X), table.ask(YOUNG, X), table.ask(YOUNG, S)] == [True, True, True]
    assert table.locks.holds(YOUNG, ROW) == X
    table.end(YOUNG)
    assert table.ask(OLD, X) is True


def test_a_scan_after_a_write_holds_both_modes(table: Table) -> None:
    """It keeps other writers out from then on, and other scans too."""
    table.ask(YOUNG, IX, PLACE)
    assert table.ask(YOUNG, S, PLACE) is True
    assert table.locks.holds(YOUNG, PLACE) == S | IX
    assert table.ask(OLD, IX, PLACE) == WAITS
    assert table.ask(tx(0), S, PLACE) == WAITS


# --- wait-die ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("held", "wanted"), [(X, X), (X, S), (S, X), (IX, S), (S, IX)])
def test_the_older_waits_and_the_younger_dies(held: int, wanted: int, table: Table) -> None:
    """For every pair of conflicting modes."""
    table.ask(MIDDLE, held)
    assert table.ask(YOUNG, wanted) is False
    assert table.ask(OLD, wanted) == WAITS
    table.end(MIDDLE)
    assert table.told(OLD, wanted) is True


def test_of_two_that_began_at_once_the_nodes_number_decides(table: Table) -> None:
    """So that every node orders them alike."""
    table.ask(tx(5, 1), X)
    assert table.ask(tx(5, 2), X) is False
    assert table.ask(tx(5, 0), X) == WAITS


def test_one_older_holder_is_enough_to_die(table: Table) -> None:
    """Though another one is younger."""
    table.ask(OLD, S)
    table.ask(YOUNG, S)
    assert table.ask(MIDDLE, X) is False
    table.end(OLD)
    assert table.ask(MIDDLE, X) == WAITS


def test_acquire_queues_behind_conflicting_requests(table: Table) -> None:
    """An older transaction waits behind it, a younger one dies, though the holder would share."""
    table.ask(YOUNG, S)
    table.ask(MIDDLE, X)
    assert table.ask(tx(9), S) is False
    assert table.ask(OLD, S) == WAITS
    table.end(YOUNG)
    assert (table.told(MIDDLE, X), table.told(OLD, S)) == (True, WAITS)
    table.end(MIDDLE)
    assert table.told(OLD, S) is True


def test_a_dead_request_leaves_no_trace(table: Table) -> None:
    """It can be made again later."""
    table.ask(OLD, X)
    assert table.ask(YOUNG, X) is False
    assert table.locks.holds(YOUNG, ROW) == 0
    table.end(OLD)
    assert not table.locks.any_held
    assert table.ask(YOUNG, X) is True


# --- upgrades ------------------------------------------------------------------------------------


def test_the_only_reader_may_write(table: Table) -> None:
    """Even if others wait already: they wait for it anyway."""
    table.ask(YOUNG, S)
    table.ask(OLD, X)
    assert table.ask(YOUNG, X) is True
    assert table.told(OLD, X) == WAITS
    table.end(YOUNG)
    assert table.told(OLD, X) is True


def test_a_reader_that_wants_to_write_waits_for_younger_readers_only(table: Table) -> None:
    """An upgrade dies like any other request."""
    table.ask(OLD, S)
    table.ask(YOUNG, S)
    assert table.ask(YOUNG, X) is False
    assert table.ask(OLD, X) == WAITS
    table.end(YOUNG)
    assert table.told(OLD, X) is True
    assert table.locks.holds(OLD, ROW) & X


def test_an_upgrade_goes_ahead_of_those_that_wait(table: Table) -> None:
    """They cannot have the lock before it ends."""
    table.ask(MIDDLE, S)
    table.ask(YOUNG, S)
    table.ask(OLD, X)
    assert table.ask(MIDDLE, X) == WAITS
    table.end(YOUNG)
    assert (table.told(MIDDLE, X), table.told(OLD, X)) == (True, WAITS)
    table.end(MIDDLE)
    assert table.told(OLD, X) is True


def test_refused_upgrade_keeps_the_held_lock(table: Table) -> None:
    """Until it ends."""
    table.ask(OLD, S)
    table.ask(YOUNG, S)
    table.ask(YOUNG, X)
    assert table.locks.holds(YOUNG, ROW) == S


# --- granting and releasing ----------------------------------------------------------------------


def test_locks_are_granted_in_the_order_of_arrival(table: Table) -> None:
    """One writer after the other; each older than those before it, or it would have died."""
    waiting = [tx(begin) for begin in (8, 7, 6)]
    table.ask(tx(9), X)
    for who in waiting:
        assert table.ask(who, X) == WAITS
    for ended, granted in zip([tx(9), *waiting], waiting, strict=False):
        assert table.told(granted, X) == WAITS
        table.end(ended)
        assert table.told(granted, X) is True


def test_all_readers_at_the_head_are_granted_at_once(table: Table) -> None:
    """Up to the next writer."""
    table.ask(tx(9), X)
    table.ask(tx(8), S)
    table.ask(tx(7), S)
    table.ask(tx(6), X)
    table.ask(tx(5), S)
    table.end(tx(9))
    assert [table.told(tx(8), S), table.told(tx(7), S)] == [True, True]
    assert [table.told(tx(6), X), table.told(tx(5), S)] == [WAITS, WAITS]
    table.end(tx(8))
    assert table.told(tx(6), X) == WAITS
    table.end(tx(7))
    assert table.told(tx(6), X) is True


def test_release_all_refuses_waiting_requests(table: Table) -> None:
    """And those behind it move up."""
    table.ask(YOUNG, S)
    table.ask(MIDDLE, X)
    table.ask(OLD, S)
    table.end(MIDDLE)
    assert table.told(MIDDLE, X) is False
    assert table.told(OLD, S) is True
    assert table.locks.holds(MIDDLE, ROW) == 0


def test_one_end_releases_everything(table: Table) -> None:
    """What is held anywhere and what is waited for anywhere."""
    table.ask(YOUNG, X, OTHER)
    table.ask(MIDDLE, X)
    table.ask(MIDDLE, IX, PLACE)
    table.ask(MIDDLE, X, OTHER)
    table.ask(OLD, X)
    table.ask(OLD, S, PLACE)
    table.end(MIDDLE)
    assert table.told(MIDDLE, X, OTHER) is False
    assert (table.told(OLD, X), table.told(OLD, S, PLACE)) == (True, True)
    table.end(YOUNG)
    table.end(OLD)
    assert not table.locks.any_held


def test_repeated_waiting_request_is_granted_twice(table: Table) -> None:
    """A message that comes twice asks twice; the lock is held once."""
    table.ask(YOUNG, X)
    answers = [table.locks.acquire(OLD, ROW, X) for _ in range(2)]
    assert not any(isinstance(answer, bool) for answer in answers)
    table.end(YOUNG)
    assert [answer.value for answer in answers if isinstance(answer, Future)] == [True, True]
    table.end(OLD)
    assert not table.locks.any_held
    assert table.ask(YOUNG, X) is True


def test_the_same_request_twice_is_refused_twice(table: Table) -> None:
    """When its transaction ends first."""
    table.ask(YOUNG, X)
    answers = [table.locks.acquire(OLD, ROW, mode) for mode in (X, X, S)]
    table.end(OLD)
    assert [answer.value for answer in answers if isinstance(answer, Future)] == [False] * 3
    table.end(YOUNG)
    assert not table.locks.any_held


def test_an_end_without_locks_changes_nothing(table: Table) -> None:
    """Nor does a second end."""
    table.ask(OLD, X)
    table.end(YOUNG)
    table.end(OLD)
    table.end(OLD)
    assert not table.locks.any_held


def test_any_held_while_a_lock_is_held_or_awaited(table: Table) -> None:
    """The run is not at rest then."""
    assert not table.locks.any_held
    table.ask(YOUNG, X)
    assert table.locks.any_held
    table.ask(OLD, X)
    table.end(YOUNG)
    assert table.locks.any_held
    table.end(OLD)
    assert not table.locks.any_held
