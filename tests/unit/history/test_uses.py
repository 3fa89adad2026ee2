"""How long transactions used tables, of histories small enough to count by hand."""

from ddlsim.history.events import (
    AnyEvent,
    Enlisted,
    ReadExecuted,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.history.history import HISTORY_FORMAT, Header, History
from ddlsim.history.uses import Lost, Use, lost_uses, uses
from ddlsim.model.design import DesignHeader
from ddlsim.units import timestamp


def history(*events: AnyEvent, plane: str = "ignite") -> History:
    design = DesignHeader("d", "", "", plane, ())
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
    assert unused == [Lost("T", 1, "ROLLED_BACK", 40_000, 10_000, 10_000)]
    assert used == [Lost("T", 1, "ROLLED_BACK", 80_000, 50_000, 50_000)]


def test_what_is_behind_the_end_of_the_load_does_not_count() -> None:
    found = list(uses(transaction(10, 30, 50, 90), 40))
    assert found == [Use("T", 1, False, 30_000, 0, 30_000)]


def aborted(*looks_ms: int) -> History:
    """One that reads and writes table 1, looks a schema up at some more times, and is aborted."""
    begin, read, write = (timestamp(each) for each in (10, 30, 50))
    return history(
        TxBegan(0, "T", "n1", begin, implicit=False),
        Enlisted(0, "T", "n1", 1, "t", begin, 1),
        WriteExecuted(1, "n1", "T", "w", 1, 0, 7, read, 1, (1,)),
        ReadExecuted(2, "n1", "T", "r", 1, 0, write, 1, predicate=False, rows=()),
        *(
            SchemaResolved(3, "n1", "T", "r2", "arrival", "t", 1, timestamp(at_ms), 2, 0)
            for at_ms in looks_ms
        ),
        TxAborted(120_000, "n1", "T", "SCHEMA_CHANGED"),
        TxAborted(120_000, "n1", "of a statement", "SCHEMA_CHANGED"),
    )


def test_an_aborted_transaction_used_a_table_until_it_looked_up_what_aborted_it() -> None:
    last, wrote = 40_000, 20_000
    [found] = lost_uses(aborted(40, 100))
    assert found == Lost("T", 1, "SCHEMA_CHANGED", 90_000, last, wrote)
    [marked] = lost_uses(aborted(40))
    assert marked.whole_us == 110_000, "the moment of the abort"
    [cut] = lost_uses(aborted(40), 45)
    assert cut == Lost("T", 1, "SCHEMA_CHANGED", 35_000, 35_000, wrote)


def test_on_a_store_a_transaction_ended_before_the_answer_to_its_commit() -> None:
    """Answers to commits come 6 ms behind their versions: so did that of the aborted one."""
    begin, commit = timestamp(10), timestamp(90)
    events: tuple[AnyEvent, ...] = (
        TxBegan(0, "T", "b", 0, implicit=False),
        TxBegan(0, "U", "b", 0, implicit=False),
        TxBegan(0, "only reads", "b", 0, implicit=False),
        Enlisted(0, "T", "b", 1, "t", begin, 1),
        TxCommitted(50_000, "b", "of a statement", timestamp(10), ()),
        TxCommitted(70_000, "b", "only reads", timestamp(10), ((1, 1, 1),)),
        SchemaResolved(96_000, "b", "U", None, "commit", None, 1, commit, 1, 0),
        TxCommitted(96_000, "b", "U", commit, ()),
        TxAborted(120_000, "b", "T", "SCHEMA_CONFLICT"),
    )
    of_store, elsewhere = (list(lost_uses(history(*events, plane=one))) for one in ("fdb", "x"))
    assert of_store == [Lost("T", 1, "SCHEMA_CONFLICT", 104_000, 0, 0)]
    assert elsewhere == [Lost("T", 1, "SCHEMA_CONFLICT", 110_000, 0, 0)]
