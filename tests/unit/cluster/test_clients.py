"""What clients do with their programs, and what they write down of it."""

from typing import Any

from msgspec.structs import replace

from ddlsim.history.events import (
    Encoded,
    Failed,
    Invoked,
    Ok,
    ReadExecuted,
    ReadTimeChosen,
    TxAborted,
    TxBegan,
    TxCommitted,
    Unknown,
)
from ddlsim.history.history import History
from ddlsim.model.ops import Ddl, Delete, Get, Put, Rollback, Scan
from ddlsim.model.programs import Program
from ddlsim.plan.records import HoldPlan
from ddlsim.units import Timestamp, ms, physical_ms
from tests.support.small_scenario import step
from tests.support.worlds import program, ran, statement, transaction

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


# --- where transactions begin --------------------------------------------------------------------


def test_a_partition_aware_client_begins_at_the_primary_of_its_first_key() -> None:
    """As the node knows it that the item names; by a table's present name; scans have no key."""
    text = """[cluster]
    partitions = 2
    [[leader]]
    group = "t/0"
    node = "n2"
    [[leader]]
    group = "t/1"
    node = "n3"
    """
    put = transaction(Put("t", 2, {"v": 5}), Get("t", 1))
    items = (put, transaction(GET, implicit=True), transaction(Scan("t")), transaction(Get("x", 1)))

    def nodes(*, aware: bool) -> list[str]:
        history = run(replace(program(*items), partition_aware=aware), text=text)
        return [event.node for event in history.events if isinstance(event, Invoked)]

    named = [item.node for item in items]
    assert named == ["n1"] * 4
    assert set(nodes(aware=False)) == {"n1"}
    assert nodes(aware=True) == ["n2", "n2", "n2", "n3", "n1", "n1", "n1"]


# --- read-only transactions ----------------------------------------------------------------------


def test_a_read_only_transaction_reads_the_past_and_commits() -> None:
    """The write of just now is not in it, that of long ago is."""
    late = transaction(GET, read_only=True, pause_us=ms(1_500))
    history = run(program(transaction(PUT), transaction(GET, read_only=True), late), load_ms=4_000)
    shown = [event.value for event in history.events if isinstance(event, Ok) and event.value]
    assert shown == [{"id": 1, "v": 5}]
    began = [event for event in history.events if isinstance(event, TxBegan)]
    assert [event.read_ts is None for event in began] == [True, False, False]


def test_a_session_reads_what_it_has_written() -> None:
    """Its token is no older than its write (IGNITE-20668)."""
    implicit = transaction(GET, read_only=True, implicit=True)
    history = run(program(transaction(PUT), implicit, session=True))
    shown = [event.value for event in history.events if isinstance(event, Ok) and event.value]
    assert shown == [{"id": 1, "v": 5}]


def test_a_read_only_transaction_does_not_write() -> None:
    """A write, a deletion, and one after a read end it."""
    for operations in ((PUT,), (Delete("t", 1),), (Scan("t"), PUT)):
        history = run(program(transaction(*operations, read_only=True, retries=2)))
        failed = [event.reason for event in history.events if isinstance(event, Failed)]
        assert failed == ["READ_ONLY"]
        assert [e.reason for e in history.events if isinstance(e, TxAborted)] == ["READ_ONLY"]


def test_a_client_may_choose_the_time_at_which_it_reads() -> None:
    """Before the write that its session has seen, as it says; the choice is in the history."""
    late = {"read_only": True, "pause_us": ms(1_000)}
    history = run(
        program(
            transaction(PUT),
            transaction(GET, **late, as_of_ms=-900),
            transaction(GET, **late, as_of_ms=-2_100),
            transaction(GET, **late, as_of_ms=0, implicit=True),
            session=True,
        ),
        load_ms=4_000,
    )
    shown = [
        event.value for event in history.events if isinstance(event, Ok) and event.op[-1] == "0"
    ]
    assert shown == [None, {"id": 1, "v": 5}, None]
    chosen = [one.read_ts for one in history.events if isinstance(one, ReadTimeChosen)]
    began = [one.read_ts for one in history.events if isinstance(one, TxBegan)]
    assert began == [None, *chosen]
    assert [physical_ms(Timestamp(ts)) for ts in chosen][:2] == [100, 0]


def test_a_coordinator_waits_for_a_chosen_time_that_lies_ahead() -> None:
    history = run(program(transaction(GET, read_only=True, as_of_ms=70)))
    (began,) = [one for one in history.events if isinstance(one, TxBegan)]
    assert began.at_us == ms(70)
    assert history.probes["read-time-awaited"] == 1


BEHIND_A_WRITE = """
[cluster]
replicas = 3
[network]
latency_ms = 5
[[leader]]
group = "t/0"
node = "n1"
"""


def test_a_read_at_the_primary_waits_for_what_is_under_way_and_no_longer() -> None:
    """The write of 300 is stored at 310; a command of the read's own would be at 313."""
    history = run(
        program(transaction(PUT, implicit=True), transaction(PUT, implicit=True, pause_us=ms(290))),
        program(
            transaction(GET, implicit=True, read_only=True, as_of_ms=-4, pause_us=ms(303)),
            client="d",
        ),
        text=BEHIND_A_WRITE,
    )
    (read,) = [event for event in history.events if isinstance(event, ReadExecuted)]
    assert (read.node, read.at_us) == ("n1", ms(310))


# --- programs ------------------------------------------------------------------------------------


def test_a_pipelined_transaction_does_not_await_answers() -> None:
    """But that of the first operation, which begins it; its commit waits for what is under way."""
    slow = "[network]\nclient_latency_ms = 5"
    item = transaction(PUT, GET, Put("t", 2), pipelined=True, gap_us=ms(1))
    history = run(program(item), text=slow)
    sent = [(op, at_ms) for op, at_ms, end in said(history) if end is None]
    assert sent == [("c.1.0", 0), ("c.1.1", 21), ("c.1.2", 22), ("c.1.c", 22)]
    assert said(history)[-1] == ("c.1.c", 32, "ok")
    assert [one.tx for one in history.events if isinstance(one, TxCommitted)] == ["c.1"]


def test_a_transaction_may_begin_with_a_request_of_its_own() -> None:
    """Then its first operation does not begin it."""
    history = run(
        program(transaction(PUT, begun=True), transaction(PUT, GET, begun=True, pipelined=True))
    )
    assert [line[0] for line in said(history) if line[2] == "ok"] == [
        "c.1.b", "c.1.0", "c.1.c", "c.2.b", "c.2.0", "c.2.1", "c.2.c",
    ]  # fmt: skip
    assert len([event for event in history.events if isinstance(event, TxBegan)]) == 2


def test_an_abandoned_transaction_is_left_to_its_time_limit() -> None:
    text = "tx_timeout_ms = 300"
    history = run(program(transaction(PUT, abandoned=True), transaction(Get("t", 2))), text=text)
    (aborted,) = [event for event in history.events if isinstance(event, TxAborted)]
    assert (aborted.tx, aborted.reason, aborted.at_us) == ("c.1", "TX_TIMED_OUT", ms(300))
    assert said(history)[-1][0::2] == ("c.2.c", "ok")


def test_ddl_within_a_transaction_is_issued_beside_it() -> None:
    """Its answer comes while the transaction is open; then the table has another version."""
    change = Ddl("ALTER TABLE t ADD COLUMN w INT")
    history = run(program(transaction(PUT, change, GET, retries=0)))
    ends = [line for line in said(history) if line[2] is not None]
    assert [line[0::2] for line in ends] == [
        ("c.1.0", "ok"),
        ("c.1.1", "ok"),
        ("c.1.2", "SCHEMA_CHANGED"),
    ]
    (invoked,) = [one for one in history.events if isinstance(one, Invoked) and one.kind == "ddl"]
    assert invoked.tx is None


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


def test_invoked_records_every_field_of_the_operation() -> None:
    """Client, operation, node, transaction."""
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


def test_a_rest_lies_between_the_last_operation_and_the_commit() -> None:
    """A rollback comes at once."""
    item = transaction(PUT, GET, rest_us=ms(7))
    history = run(program(item, transaction(PUT, Rollback(), rest_us=ms(7))))
    asked = [at_ms for _, at_ms, ended in said(history) if ended is None]
    assert asked == [0, 0, 7, 7, 7]


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


def test_a_program_begins_no_item_after_the_load() -> None:
    """What is under way ends; at the very end of the load one may still begin."""
    items = [transaction(GET, pause_us=ms(40)) for _ in range(5)]
    history = run(program(*items), load_ms=120)
    assert [event.tx for event in history.of(TxCommitted)] == ["c.1", "c.2", "c.3"]


# --- failures ------------------------------------------------------------------------------------

OLD = program(transaction(PUT, GET, gap_us=ms(200)), client="old")
"""Keeps row 1 for itself for 200 ms."""
AT_ONCE = "lock_retries = 0\n"
"""Then the younger one dies at once, else after three tries in 15 ms."""


def young(**more: Any) -> Program:
    """Wants row 1 as well, a little later."""
    return program(transaction(PUT, pause_us=ms(1), **more), client="young")


def refused(history: History) -> list[str]:
    """The operations that were refused a lock."""
    return [op for op, _, ended in said(history) if ended == "LOCK_CONFLICT"]


def test_a_retriable_failure_is_retried_as_a_new_transaction() -> None:
    """As often as the item says, and not after the load [110.flow.8]."""
    history = run(OLD, young(retries=2), text=AT_ONCE)
    assert refused(history) == ["young.1.0", "young.2.0", "young.3.0"]
    assert [event.tx for event in history.of(TxBegan)][1:] == ["young.1", "young.2", "young.3"]
    assert refused(run(OLD, young(retries=0), text=AT_ONCE)) == ["young.1.0"]
    assert refused(run(OLD, young(retries=20), load_ms=30)) == ["young.1.0", "young.2.0"]


def test_a_retry_may_succeed() -> None:
    """Then there is no other."""
    history = run(OLD, young(retries=50))
    committed = [event.tx for event in history.of(TxCommitted)]
    assert committed == ["old.1", f"young.{len(refused(history)) + 1}"]
    assert len(refused(history)) > 5


def test_a_failure_that_is_not_retriable_is_not_retried() -> None:
    """The program goes on with its next item."""
    history = run(program(transaction(Get("nowhere", 1)), transaction(GET)))
    ended = [(op, what) for op, _, what in said(history) if what is not None]
    assert ended == [("c.1.0", "TABLE_NOT_FOUND"), ("c.2.0", "ok"), ("c.2.c", "ok")]


def test_an_unknown_outcome_is_not_retried() -> None:
    """But the transaction is rolled back, for whenever its node can be reached again."""
    hold = HoldPlan("n1", "c", "answer", ms(5), ms(200), None, None)
    history = ran(
        "operation_timeout_ms = 30\ncommit_wait_ms = 20\n",
        programs=(program(transaction(PUT, PUT, gap_us=ms(10)), transaction(GET)),),
        holds=(hold,),
        load_until_us=ms(20),
    )
    assert said(history)[2:] == [("c.1.1", 10, None), ("c.1.1", 60, "NODE_UNREACHABLE")]
    assert [type(event) for event in history.events if isinstance(event, Unknown)] == [Unknown]
    assert [(event.tx, event.reason) for event in history.of(TxAborted)] == [("c.1", "ROLLED_BACK")]


# --- what the client knows and shows -------------------------------------------------------------


def test_a_client_shows_rows_by_the_names_of_its_columns() -> None:
    """One row for a get, a list for a scan, nothing for a row that is not there or for a write."""
    items = [transaction(do, implicit=True) for do in (PUT, GET, Get("t", 2), Scan("t"))]
    history = run(program(*items, transaction(Delete("t", 1), implicit=True)))
    row = {"id": 1, "v": 5}
    assert [event.value for event in history.of(Ok)] == [None, row, None, [row], None]


def test_a_fresh_connection_has_an_empty_schema_cache() -> None:
    """Its first operation is encoded only after it has the schema."""
    for fresh, mismatches in ((False, 1), (True, 2)):
        items = [transaction(PUT, implicit=True), transaction(PUT, implicit=True, fresh=fresh)]
        history = run(program(*items))
        assert history.probes["client-version-refreshed"] == mismatches
        assert len(history.of(Encoded)) == 2


def test_a_session_sends_the_timestamp_of_its_answers() -> None:
    """To a node whose clock is far behind, which then stamps later than that; others do not."""
    behind = "[clocks.nodes.n3]\noffset_ms = -500\n"
    for session in (True, False):
        items = [transaction(GET, pause_us=ms(600)), transaction(GET, node="n3")]
        history = run(program(*items, session=session), text=behind, load_ms=2_000)
        first, second = (event.begin_ts for event in history.of(TxBegan))
        assert (second > first) == session


def test_with_recording_off_the_clients_do_the_same() -> None:
    """And no event is recorded."""
    programs = (program(transaction(PUT, GET), statement("DROP TABLE t")),)
    on, off = (ran(programs=programs, load_until_us=ms(500), recording=on) for on in (True, False))
    assert off.events == []
    assert (on.executed_events, on.end_us, on.probes) == (
        off.executed_events,
        off.end_us,
        off.probes,
    )


# --- several transactions at once -----------------------------------------------------------------


def test_each_row_is_shown_under_the_schema_of_its_own_request() -> None:
    """One operation reads the past, where `w` was `v`; another one of its client the present."""
    history = ran(TWO_AT_ONCE)
    values = {event.op: event.value for event in history.of(Ok)}
    assert values["past"] == {"id": 1, "v": 1}
    assert values["now"] == {"id": 1, "w": 1}


TWO_AT_ONCE = """
[cluster]
nodes = 3
voters = 3
partitions = 1
[network]
latency_ms = 5
client_latency_ms = 1
""" + "".join(
    step(**keys)
    for keys in (
        {"id": '"p"', "client": '"c"', "node": '"n1"', "at_ms": "20",
         "do": '["put", "t", 1, { v = 1 }]'},
        {"id": '"d"', "client": '"other"', "node": '"n1"', "at_ms": "100",
         "ddl": '"ALTER TABLE t RENAME COLUMN v TO w"'},
        {"id": '"g"', "client": '"c"', "node": '"n1"', "at_ms": "1000", "do": '["get", "t", 1]'},
        {"id": '"b"', "client": '"c"', "tx": '"R"', "node": '"n2"', "at_ms": "1200",
         "do": '"begin"', "read_only": "true", "as_of_ms": "-1120"},
        {"id": '"past"', "client": '"c"', "tx": '"R"', "node": '"n2"', "at_ms": "1300",
         "do": '["get", "t", 1]'},
        {"id": '"now"', "client": '"c"', "node": '"n3"', "at_ms": "1300",
         "do": '["get", "t", 1]'},
    )
)  # fmt: skip
