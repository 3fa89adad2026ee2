"""How long transactions used tables, of histories small enough to count by hand."""

from ddlsim.history.events import (
    AnyEvent,
    Enlisted,
    ReadExecuted,
    TxAborted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.history.history import HISTORY_FORMAT, Header, History
from ddlsim.history.uses import Use, lost_uses, uses
from ddlsim.model.design import DesignHeader
from ddlsim.units import timestamp


def history(*events: AnyEvent) -> History:
    design = DesignHeader("d", "", "", "ignite", ())
    made = History(Header(HISTORY_FORMAT, "0", "s", "", {}, 0, design, None, "ok", (), {}))
    made.events = list(events)
    return made


def transaction(enlist_ms: int, read_ms: int, write_ms: int, commit_ms: int) -> History:
    """One that reads and then writes table 1."""
    enlist, read, write, commit = (
        timestamp(each) for each in (enlist_ms, read_ms, write_ms, commit_ms)
    )
    return history(
        TxBegan(0, "T", "n1", enlist, implicit=False),
        Enlisted(0, "T", "n1", 1, "t", enlist, 1),
        ReadExecuted(1, "n1", "T", "r", 1, 0, read, 1, predicate=False, rows=()),
        WriteExecuted(2, "n1", "T", "w", 1, 0, 7, write, 1, (1,)),
        TxCommitted(3, "n1", "T", commit, ((1, 1, 1),)),
    )


def test_a_table_is_used_up_to_its_last_operation_and_on_to_the_commit() -> None:
    found = list(uses(transaction(10, 30, 50, 90)))
    assert found == [Use("T", 1, False, 40_000, 40_000, 40_000)]


def test_a_transaction_of_before_the_run_began_used_a_table_no_longer() -> None:
    """One that only reads has the timestamp of a second ago: in a run's first second, below 0."""
    found = list(uses(transaction(-900, -880, -860, -820)))
    assert found == [Use("T", 1, False, 40_000, 40_000, 40_000)]


def again(at: int, ended: type, *, ran: bool = False) -> History:
    """A table that is enlisted at 10 ms and again at 50 ms, which is written to at 60 ms."""
    first, read, second, wrote, commit = (timestamp(each) for each in (10, 30, 50, 60, 90))
    end = (commit, ((1, 2, 2),)) if ended is TxCommitted else ("ROLLED_BACK",)
    return history(
        TxBegan(0, "T", "n1", first, implicit=False),
        Enlisted(0, "T", "n1", 1, "t", first, 1),
        *([ReadExecuted(1, "n1", "T", "r", 1, 0, read, 1, False, ())] if ran else []),
        Enlisted(2, "T", "n1", 1, "t", second, 2),
        WriteExecuted(3, "n1", "T", "w", 1, 0, 7, wrote, 2, (1,)),
        ended(at, "n1", "T", *end),
    )


def test_a_table_that_was_enlisted_again_is_used_from_then_on_unless_it_had_been_used() -> None:
    [unused], [used] = (list(uses(again(4, TxCommitted, ran=ran))) for ran in (False, True))
    assert (unused.using_us, unused.tail_us) == (10_000, 30_000)
    assert (used.using_us, used.tail_us) == (50_000, 30_000)


def test_so_is_that_of_an_aborted_transaction() -> None:
    unused, used = (list(lost_uses(again(90_000, TxAborted, ran=ran))) for ran in (False, True))
    assert (unused, used) == ([(1, 40_000)], [(1, 80_000)])
