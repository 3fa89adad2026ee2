"""What is gathered about transactions, operations and statements."""

from ddlsim.checkers.case.case import Case
from ddlsim.history.events import DdlDecided, Encoded, Invoked, Ok, TxBegan, Unknown
from tests.support.history import Story, add_column, ts


def test_a_transaction_spans_from_its_first_request_to_the_answer_to_its_commit() -> None:
    story = Story()
    t = story.table()
    story.begin("T", 5)
    story.write("T", t, "x", 10)
    story.commit("T", 12, told=14)
    case = Case(story.history())
    tx = case.transactions["T"]
    assert tx.begins_at is not None
    assert tx.ends_at is not None
    assert case.history.events[tx.begins_at].at_us == 5_000
    assert case.history.events[tx.ends_at].at_us == 14_000


def test_an_unknown_outcome_has_no_end() -> None:
    story = Story()
    t = story.table()
    story.write("T", t, "x", 10)
    story.commit("T", 12, outcome=Unknown)
    case = Case(story.history())
    assert case.transactions["T"].ends_at is None
    assert case.operations["T.commit"].answered_at is None
    assert [tx.name for tx in case.committed] == ["T"]


def test_a_read_only_transaction_ends_with_its_last_answer() -> None:
    """Its commit waits for no read; without an answer to one of them it has no end."""

    def end_ms(*answered: int) -> float | None:
        story = Story()
        story.add(8, Invoked, "c", "r", "T", "n1", "get", table="t", key="x")
        story.add(9, TxBegan, "T", "n1", ts(9), read_ts=ts(5))
        story.commit("T", 12, told=14)
        for at in answered:
            story.add(at, Ok, "c", "r")
        case = Case(story.history())
        at = case.transactions["T"].ends_at
        return None if at is None else case.history.events[at].at_us / 1_000

    assert end_ms(10) == 14
    assert end_ms(16) == 16
    assert end_ms() is None


def test_an_implicit_operation_may_be_tried_under_several_names() -> None:
    story = Story()
    t = story.table()
    story.add(8, Invoked, "c", "op", "T", "n1", "put", table="t", key="x")
    story.add(9, TxBegan, "T", "n1", ts(9), implicit=True)
    story.add(11, TxBegan, "Tr1", "n1", ts(11), implicit=True)
    op = story.write("Tr1", t, "x", 12, op="inner", ok=False)
    story.commit("Tr1", 13, implicit=True)
    story.abort("T", 10)
    story.add(14, Ok, "c", "op")
    history = story.history()
    history.events = [
        event if getattr(event, "op", None) != op else _under("op", event)
        for event in history.events
        if not (isinstance(event, Invoked) and event.op == op)
    ]
    case = Case(history)
    tx = case.transactions["Tr1"]
    assert tx.begins_at is not None
    assert tx.ends_at is not None
    assert history.events[tx.begins_at].at_us == 8_000
    assert history.events[tx.ends_at].at_us == 14_000
    assert case.transactions["T"].ends_at is None


def _under(op: str, event: object) -> object:
    from msgspec.structs import replace

    return replace(event, op=op)  # type: ignore[type-var]  # every event here has an op


def test_transactions_commit_in_the_order_of_their_timestamps() -> None:
    story = Story()
    t = story.table()
    for tx, at, commit_ts in (("A", 10, 30), ("B", 11, 20), ("C", 12, 20)):
        story.write(tx, t, tx, at)
        story.commit(tx, at, commit_ts=commit_ts)
    assert [tx.name for tx in Case(story.history()).committed] == ["B", "C", "A"]


def test_a_statement_is_known_by_what_was_asked_decided_and_logged() -> None:
    story = Story()
    t = story.table()
    story.ddl("D", t, add_column(2, "w"), tu=20, submit=15, ack=25, sql="ALTER TABLE t ADD w INT")
    story.add(30, DdlDecided, "n1", "E", "noop", 2, ts(20), ts(20))
    case = Case(story.history())
    assert list(case.ddls) == ["D", "E"]
    assert case.ddls["D"].logged is not None
    assert case.ddls["E"].logged is None
    assert case.statement("D") == "ALTER TABLE t ADD w INT"
    assert case.statement("E") == case.statement(None) == ""


def test_what_a_write_meant_is_what_was_encoded_last_before_it() -> None:
    story = Story()
    t = story.table()
    story.add(1, Encoded, "c", "w", t, 1, ((0, 1),))
    story.add(2, Encoded, "c", "w", t + 1, 1, ((0, 2),))
    story.write("T", t, 1, 10, op="w", row=((0, 3),))
    story.add(11, Encoded, "c", "w", t, 1, ((0, 4),))
    case = Case(story.history())
    position, write = case.transactions["T"].writes[0]
    meant = case.meant(write, position)
    assert meant is not None
    assert meant.row == ((0, 3),)
