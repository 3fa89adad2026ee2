"""How long transactions used tables, of histories small enough to count by hand."""

from ddlsim.history.events import (
    AnyEvent,
    Enlisted,
    ReadExecuted,
    TxBegan,
    TxCommitted,
    WriteExecuted,
)
from ddlsim.history.history import HISTORY_FORMAT, Header, History
from ddlsim.history.uses import Use, uses
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
