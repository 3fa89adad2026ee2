"""The coordinator: a transaction's life, what it enlists, and where its operations go."""

from dataclasses import replace

import pytest

from ddlsim.history.events import (
    Enlisted,
    MetadataRead,
    SchemaResolved,
    TxAborted,
    TxBegan,
    TxCommitted,
)
from ddlsim.model.reasons import Reason
from ddlsim.protocol.design.flows import leave_unmarked
from ddlsim.protocol.ids import TxId
from ddlsim.protocol.messages import Answer, Cleanup, Finish, Mismatch, Operate
from ddlsim.strategies.iep import IEP
from ddlsim.units import Timestamp, timestamp
from tests.support.protocol import ADD, LONG_AGO_MS, T, catalog_of, table_t, two_versions
from tests.support.session import EVEN, ODD, Session, reason_of

VIEW = "CREATE VIEW w AS SELECT id FROM t"


@pytest.fixture
def session() -> Session:
    """Table t in one version; transaction t1 has begun."""
    session = Session()
    session.begin("t1")
    return session


# --- a transaction's life ------------------------------------------------------------------------


def test_a_transaction_writes_reads_and_commits(session: Session) -> None:
    """On whichever nodes its rows are."""
    session.put("t1", ODD)
    session.put("t1", EVEN)
    assert session.do("t1", "get", EVEN).rows == ((EVEN, ((1, EVEN), (2, 5))),)
    assert type(session.commit("t1")) is Answer
    assert (session.stored(ODD), session.stored(EVEN)) == ([(ODD, 5)], [(EVEN, 5)])
    assert session.at_rest


def test_begin_ts_is_the_coordinators_now(session: Session) -> None:
    """Its begin timestamp is in its id, so that others can tell which is older."""
    session.put("t1", EVEN)
    [began] = session.of(TxBegan)
    [operate] = session.wire.payloads(Operate)
    assert (began.tx, began.node, began.implicit) == ("t1", "n1", False)
    assert operate.tx == TxId(began.begin_ts, 0, "t1")


def test_its_first_operation_may_begin_it() -> None:
    """One message less."""
    session = Session()
    assert type(session.put("t1", begins=True)) is Answer
    assert type(session.put("t1", EVEN)) is Answer
    assert type(session.commit("t1")) is Answer
    assert session.stored(EVEN) == [(EVEN, 5)]


def test_a_rollback_leaves_nothing_behind(session: Session) -> None:
    """Neither rows nor locks, here or elsewhere; the transaction is over."""
    session.put("t1", ODD)
    session.put("t1", EVEN)
    assert type(session.roll_back("t1")) is Answer
    session.later(1)
    assert (session.stored(ODD), session.stored(EVEN), session.at_rest) == ([], [], True)
    assert [aborted.reason for aborted in session.of(TxAborted)] == ["ROLLED_BACK"]


def test_rollback_is_resent_until_participants_confirm(session: Session) -> None:
    """Messages may get lost."""
    session.put("t1", EVEN)
    session.wire.fate = lambda sent: () if type(sent.payload) is Cleanup else (0,)
    session.roll_back("t1")
    session.later(50)
    assert not session.at_rest
    session.wire.fate = lambda _: (0,)
    session.later(50)
    assert session.at_rest


def test_a_transaction_that_is_over_is_over(session: Session) -> None:
    """However it ended; later requests get the reason, unknown transactions TX_FINISHED."""
    session.begin("t2", "t3")
    session.put("t1", ODD)
    session.commit("t1")
    session.roll_back("t2")
    session.do("t3", "get", table="nowhere")
    told = {"t1": "TX_FINISHED", "t2": "ROLLED_BACK", "t3": "TABLE_NOT_FOUND", "x": "TX_FINISHED"}
    for tx, reason in told.items():
        replies = [session.put(tx), session.commit(tx), session.roll_back(tx)]
        assert [reason_of(reply) for reply in replies] == [Reason[reason]] * 3
    assert session.stored(ODD) == [(ODD, 5)]


def test_an_empty_transaction_commits(session: Session) -> None:
    """It has no participants."""
    assert type(session.commit("t1")) is Answer
    assert session.wire.payloads(Finish) == []
    assert [committed.tx for committed in session.of(TxCommitted)] == ["t1"]


def test_the_token_of_a_session_is_merged(session: Session) -> None:
    """By every request; and answers carry a later one."""
    for number, ask in enumerate((session.put, session.commit)):
        at = timestamp(500 + number)
        reply = ask("t1", session_ts=at)
        assert reply.token_ts > at


# --- enlistment ----------------------------------------------------------------------------------


def test_a_table_is_enlisted_once_with_the_version_of_its_first_use(session: Session) -> None:
    """Cached per table and transaction [110.flow.2, 110.flow.4]."""
    session.put("t1", ODD)
    session.put("t1", EVEN)
    [enlisted] = session.of(Enlisted)
    assert (enlisted.tx, enlisted.object_id, enlisted.name, enlisted.version) == ("t1", 1, "t", 1)
    [resolved] = [e for e in session.of(SchemaResolved) if e.purpose == "enlist"]
    assert resolved.ts == enlisted.enlist_ts
    assert {operate.initial for operate in session.wire.payloads(Operate)} == {1}


@pytest.mark.parametrize(
    ("activation_ts", "version"),
    [(timestamp(60, 1), 2), (timestamp(60, 2), 1)],
)
def test_the_version_is_that_of_the_first_use_not_of_the_begin(
    session: Session, activation_ts: Timestamp, version: int
) -> None:
    """At Tu itself it is the new one; the first use here is at (60, 1) [110.req.3]."""
    session.alter(ADD, activation_ts)
    reply = session.do("t1", "get", session_ts=timestamp(60), client_version=0)
    assert type(reply) is Mismatch
    assert reply.table == table_t(session.catalog, version)


@pytest.mark.parametrize(("client_version", "kind"), [(1, Mismatch), (2, Answer), (3, Mismatch)])
def test_a_row_in_another_version_is_sent_back(client_version: int, kind: type) -> None:
    """An older one, or a newer one: with the schema to encode with."""
    session = Session(two_versions(at_ms=LONG_AGO_MS))
    session.begin("t1")
    reply = session.put("t1", client_version=client_version)
    assert type(reply) is kind
    assert getattr(reply, "table", None) == (
        table_t(session.catalog, 2) if kind is Mismatch else None
    )
    assert session.node.probes["client-version-refreshed"] == (kind is Mismatch)


def test_transaction_stays_open_after_mismatch(session: Session) -> None:
    """With the version of the `Mismatch`, even if the table changes in between."""
    assert type(session.put("t1", client_version=0)) is Mismatch
    assert type(session.put("t1", client_version=1)) is Answer
    assert type(session.commit("t1")) is Answer
    assert session.wire.payloads(Operate)[0].row == (ODD, 5)


def test_a_name_without_a_table_ends_the_transaction(session: Session) -> None:
    """The client must not retry: nothing of the name ever was."""
    reply = session.do("t1", "get", table="nowhere")
    assert reply.reason is Reason.TABLE_NOT_FOUND
    assert not reply.reason.retriable
    assert [aborted.reason for aborted in session.of(TxAborted)] == ["TABLE_NOT_FOUND"]


@pytest.fixture
def unmarked() -> Session:
    """The same where no transaction is rolled back by an activation."""
    session = Session(strategy=replace(IEP, on_activated=leave_unmarked))
    session.begin("t1")
    return session


def test_name_means_the_same_table_for_a_whole_transaction(unmarked: Session) -> None:
    """Whatever is renamed or created meanwhile [110.simple]."""
    session = unmarked
    session.put("t1", ODD)
    session.alter("ALTER TABLE t RENAME TO u", timestamp(20))
    session.alter(T, timestamp(30))
    session.later(40)
    assert reason_of(session.do("t1", "get", table_id=1)) is Reason.SCHEMA_CHANGED
    assert {operate.table_id for operate in session.wire.payloads(Operate)} == {1}


def test_a_table_met_under_two_names_keeps_its_first_version(unmarked: Session) -> None:
    """So the operation check ends the transaction: the rename is a newer version."""
    session = unmarked
    session.put("t1", ODD)
    session.alter("ALTER TABLE t RENAME TO u", timestamp(20))
    session.later(30)
    assert reason_of(session.do("t1", "get", table="u")) is Reason.SCHEMA_CHANGED
    assert [operate.initial for operate in session.wire.payloads(Operate)] == [1, 1]
    assert session.node.probes["enlisted-under-two-names"] == 1


def test_a_view_is_enlisted_beside_the_table_that_it_reads() -> None:
    """Both are judged at the commit [110.view]; views of views too."""
    second = "CREATE VIEW x AS SELECT id FROM w"
    session = Session(
        catalog_of((T, LONG_AGO_MS), (VIEW, LONG_AGO_MS), (second, LONG_AGO_MS)), partitions=1
    )
    session.begin("t1")
    assert type(session.do("t1", "scan", None, table="x")) is Answer
    assert [(e.object_id, e.version) for e in session.of(Enlisted)] == [(3, 1), (2, 1), (1, 1)]
    [operate] = session.wire.payloads(Operate)
    assert (operate.table_id, operate.views) == (1, ((3, 1), (2, 1)))
    session.commit("t1")
    [committed] = session.of(TxCommitted)
    assert committed.tables == ((3, 1, 1), (2, 1, 1), (1, 1, 1))


@pytest.mark.parametrize("query", ["SELECT 1", "SELECT t.id FROM t JOIN u ON t.id = u.id"])
def test_a_view_of_no_table_or_several_cannot_be_read(query: str) -> None:
    made = (T, T.replace("TABLE t", "TABLE u"), f"CREATE VIEW x AS {query}")
    session = Session(catalog_of(*((one, LONG_AGO_MS) for one in made)), partitions=1)
    session.begin("t1")
    assert reason_of(session.do("t1", "scan", None, table="x")) is Reason.TABLE_NOT_FOUND
    assert session.of(Enlisted) == []


def test_a_table_lies_in_the_partitions_of_its_zone() -> None:
    """Not in the default number."""
    zone = "CREATE ZONE z WITH PARTITIONS=5"
    session = Session(catalog_of((zone, LONG_AGO_MS), (f"{T} ZONE z", LONG_AGO_MS)), partitions=2)
    session.begin("t1")
    session.put("t1", 8)
    session.do("t1", "scan", None)
    partitions = [operate.partition for operate in session.wire.payloads(Operate)]
    assert partitions == [3, 0, 1, 2, 3, 4]


# --- operations ----------------------------------------------------------------------------------


def test_scan_gathers_rows_of_every_partition(session: Session) -> None:
    """In the order of the partitions."""
    for key in (4, 3, 2, 1):
        session.put("t1", key)
    reply = session.do("t1", "scan", None)
    assert [key for key, _ in reply.rows] == [4, 2, 3, 1]
    assert reply.columns is None


@pytest.mark.parametrize(("action", "key"), [("scan", None), ("get", EVEN)])
def test_a_metadata_query_shows_the_columns_of_the_enlisted_version(
    session: Session, action: str, key: int | None
) -> None:
    """And the history records it; of one row as of all."""
    reply = session.do("t1", action, key, metadata=True)
    assert reply.columns == ("id", "v")
    [read] = session.of(MetadataRead)
    assert (read.tx, read.object_id, read.version, read.columns) == ("t1", 1, 1, ("id", "v"))


def test_one_partition_that_refuses_ends_the_transaction(session: Session) -> None:
    """Whichever it is; what the others did is undone."""
    session.begin("t2")
    session.put("t1", EVEN)
    assert reason_of(session.do("t2", "scan", None)) is Reason.LOCK_CONFLICT
    assert type(session.commit("t1")) is Answer
    session.later(50)
    assert session.at_rest


def test_a_primary_that_does_not_answer_ends_the_transaction(session: Session) -> None:
    """After the operation's timeout; the clean-up is resent until it answers."""
    session.put("t1", EVEN)
    session.wire.fate = lambda sent: () if sent.to == "n2" else (0,)
    reply = session.put("t1", EVEN)
    assert session.loop.now_us == 400_000
    assert reply.reason is Reason.NODE_UNREACHABLE
    assert reply.reason.retriable
    session.wire.fate = lambda _: (0,)
    session.later(50)
    assert session.at_rest


def test_an_answer_that_comes_twice_counts_once(session: Session) -> None:
    """Answers, confirmations, all of them."""
    session.wire.fate = lambda sent: (0, 100) if sent.exchange < 0 else (0,)
    session.put("t1", EVEN)
    session.put("t1", ODD)
    assert type(session.commit("t1")) is Answer
    session.later(10)
    assert session.stored(EVEN) == [(EVEN, 5)]
    assert session.at_rest


def test_requests_between_nodes_may_come_twice(session: Session) -> None:
    """Operations, finishes, cleanups: what they do is done once."""
    nodes = ("n1", "n2")
    session.wire.fate = lambda sent: (0, 700) if sent.sender in nodes and sent.to in nodes else (0,)
    for tx, end in (("t1", session.commit), ("t2", session.roll_back), ("t3", session.commit)):
        if tx != "t1":
            session.begin(tx)
        for key, value in ((EVEN, 5), (ODD, 6), (EVEN, 7)):
            assert type(session.put(tx, key, value)) is Answer
        assert type(end(tx)) is Answer
        session.later(10)
        assert session.at_rest
    assert session.stored(EVEN) == [(EVEN, 7), (EVEN, 7)]
    assert [committed.tx for committed in session.of(TxCommitted)] == ["t1", "t3"]
