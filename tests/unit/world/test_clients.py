"""What clients do with their programs, and what they write down of it."""

from typing import Any

from sim.history.events import Encoded, Failed, Invoked, Ok, TxAborted, TxBegan, TxCommitted, Unknown
from sim.history.history import History
from sim.model.ops import Delete, Get, Put, Rollback, Scan
from sim.model.programs import Program
from sim.units import ms
from tests.unit.world.worlds import program, ran, statement, transaction

PUT, GET = Put("t", 1, {"v": 5}), Get("t", 1)


def run(*programs: Program, text: str = "", load_ms: int = 1_000) -> History:
    return ran(text, programs=programs, load_until_us=ms(load_ms))


def said(history: History) -> list[tuple[str, float, Any]]:
    """The client's voice in short: (operation, ms, what came of it), invocations with None."""
    lines: list[tuple[str, float, Any]] = []
    for event in history.events:
        at_ms = event.at_us / 1000
        if isinstance(event, Invoked):
            lines.append((event.op, at_ms, None))
        elif isinstance(event, Ok):
            lines.append((event.op, at_ms, "ok"))
        elif isinstance(event, Failed | Unknown):
            lines.append((event.op, at_ms, event.reason))
    return lines


# --- programs ------------------------------------------------------------------------------------


def test_a_transaction_is_its_operations_and_a_commit() -> None:
    """Each when the one before has ended; the first one begins it."""
    history = run(program(transaction(PUT, GET)))
    assert said(history) == [
        ("c.1.0", 0, None),
        ("c.1.0", 0, "ok"),
        ("c.1.1", 0, None),
        ("c.1.1", 0, "ok"),
        ("c.1.c", 0, None),
        ("c.1.c", 0, "ok"),
    ]
    assert [event.tx for event in history.of(TxBegan)] == ["c.1"]
    assert [event.tx for event in history.of(TxCommitted)] == ["c.1"]


def test_what_is_invoked_is_written_down_in_full() -> None:
    """Who, what, where, in which transaction."""
    history = run(
        program(transaction(PUT), statement("ALTER TABLE t ADD COLUMN w INT", node="n2")),
        program(transaction(Scan("t"), implicit=True), client="d", session=True),
    )
    asked = {event.op: event for event in history.of(Invoked)}
    assert asked["c.1.0"] == Invoked(0, "c", "c.1.0", "c.1", "n1", "put", "t", 1)
    assert asked["c.1.c"] == Invoked(0, "c", "c.1.c", "c.1", "n1", "commit")
    sql = "ALTER TABLE t ADD COLUMN w INT"
    assert asked["c.d1"] == Invoked(0, "c", "c.d1", None, "n2", "ddl", sql=sql)
    assert asked["d.1"] == Invoked(0, "d", "d.1", None, "n1", "scan", "t", session=True)


def test_a_rollback_ends_a_transaction_without_a_commit() -> None:
    """What follows in the list is not asked for."""
    history = run(program(transaction(PUT, Rollback(), GET), transaction(GET)))
    assert [op for op, _, ended in said(history) if ended is None] == [
        "c.1.0",
        "c.1.1",
        "c.2.0",
        "c.2.c",
    ]
    assert [event.reason for event in history.of(TxAborted)] == ["ROLLED_BACK"]


def test_an_implicit_transaction_is_one_operation() -> None:
    """Without begin and commit."""
    history = run(program(transaction(PUT, implicit=True)))
    assert [op for op, _, _ in said(history)] == ["c.1", "c.1"]
    assert [event.implicit for event in history.of(TxBegan)] == [True]


def test_pauses_lie_before_items_and_gaps_between_operations() -> None:
    """A gap lies before the second operation and all after it, not before the commit."""
    item = transaction(PUT, GET, GET, pause_us=ms(10), gap_us=ms(3))
    history = run(program(item, item))
    asked = [at_ms for _, at_ms, ended in said(history) if ended is None]
    assert asked == [10, 13, 16, 16, 26, 29, 32, 32]


def test_a_statement_has_a_pause_or_an_instant() -> None:
    """One that is due already runs at once."""
    history = run(
        program(
            statement("ALTER TABLE t ADD COLUMN a INT", pause_us=ms(5)),
            statement("ALTER TABLE t ADD COLUMN b INT", at_us=ms(300)),
            statement("ALTER TABLE t ADD COLUMN c INT", at_us=ms(301)),
        )
    )
    asked = [at_ms for _, at_ms, ended in said(history) if ended is None]
    assert asked[:2] == [5, 300]
    assert asked[2] == said(history)[3][1]  # when the one before was acknowledged


def test_nothing_is_begun_once_the_load_is_over() -> None:
    """What is under way ends; at the very end of the load one may still begin."""
    items = [transaction(GET, pause_us=ms(40)) for _ in range(5)]
    history = run(program(*items), load_ms=120)
    assert [event.tx for event in history.of(TxCommitted)] == ["c.1", "c.2", "c.3"]


# --- failures ------------------------------------------------------------------------------------

BLOCKED = program(
    transaction(PUT, GET, gap_us=ms(200)),
    client="old",
)


def test_a_retriable_failure_is_repeated_as_a_new_transaction() -> None:
    """As often as the item says, and not after the load [110.flow.8]."""
    young = program(transaction(PUT, pause_us=ms(1), retries=2), client="young")
    history = run(BLOCKED, young, text="[protocol]\nlock_retries = 0\n".replace("[protocol]\n", ""))
    failed = [op for op, _, ended in said(history) if ended == "LOCK_CONFLICT"]
    assert failed == ["young.1.0", "young.2.0", "young.3.0"]
    young = program(transaction(PUT, pause_us=ms(1), retries=20), client="young")
    history = run(BLOCKED, young, load_ms=30)
    failed = [op for op, _, ended in said(history) if ended == "LOCK_CONFLICT"]
    assert failed == ["young.1.0", "young.2.0"]


def test_a_retry_may_succeed() -> None:
    """Then there is no other."""
    young = program(transaction(PUT, pause_us=ms(1), retries=50), client="young")
    history = run(BLOCKED, young)
    committed = [event.tx for event in history.of(TxCommitted) if event.tx.startswith("young")]
    assert len(committed) == 1
    assert len([op for op, _, ended in said(history) if ended == "LOCK_CONFLICT"]) > 5


def test_what_is_not_retriable_is_not_repeated() -> None:
    """The program goes on with its next item."""
    history = run(program(transaction(Get("nowhere", 1)), transaction(GET)))
    ended = [(op, what) for op, _, what in said(history) if what is not None]
    assert ended == [("c.1.0", "TABLE_NOT_FOUND"), ("c.2.0", "ok"), ("c.2.c", "ok")]


def test_an_outcome_that_nobody_knows_is_not_repeated() -> None:
    """But the transaction is rolled back, if the node can be reached again."""
    held = (
        "operation_timeout_ms = 30\ncommit_wait_ms = 20\n"
        '[[hold]]\nfrom = "c"\nto = "n1"\nkind = "client-operation"\nfrom_ms = 5\nuntil_ms = 100\n'
    )
    step = '[[step]]\nid = "s"\nclient = "c"\nnode = "n1"\nat_ms = 900\ndo = ["get", "t", 9]\n'
    del step
    history = run(
        program(transaction(PUT, PUT, gap_us=ms(10)), transaction(GET)), text=TIMEOUTS + HOLD
    )
    del held
    lines = said(history)
    assert ("c.1.1", 60.0, "NODE_UNREACHABLE") in lines
    assert [type(event) for event in history.events if isinstance(event, Unknown)] == [Unknown]
    assert [event.reason for event in history.of(TxAborted)] == ["ROLLED_BACK"]
    assert [event.tx for event in history.of(TxCommitted)] == ["c.2"]


TIMEOUTS = "operation_timeout_ms = 30\ncommit_wait_ms = 20\n"
HOLD = ""
