"""How a statement is installed and when it is acknowledged; one node that is its own log."""

from typing import Any

import pytest

from ddlsim.history.events import DdlDecided, UpdateLogged
from ddlsim.kernel.engine import Loop
from ddlsim.model.reasons import Reason
from ddlsim.protocol.leases import Leases
from ddlsim.protocol.messages import Answer, CatalogUpdate, ClientDdl, Refusal, Submit
from ddlsim.protocol.metastorage.metastorage import MetaStorage, MetaStorageConfig
from ddlsim.protocol.metastorage.schema_sync import SchemaSync
from ddlsim.protocol.metastorage.stages import Delays
from ddlsim.protocol.schema_change.schema_change import SchemaChange
from ddlsim.protocol.strategy import Strategy
from ddlsim.strategies.iep import IEP, IEP_LITERAL
from ddlsim.units import MIN_TIMESTAMP, Timestamp, logical, physical_ms, timestamp
from tests.support.protocol import ADD, LONG_AGO_MS, FakeNode, T, Wire, catalog_of, run_until
from tests.support.schemas import statement

AGAIN = "CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY)"
TAKEN = "CREATE TABLE t (id INT PRIMARY KEY)"


class Server:
    """A node that takes statements; n1 leads the log. DD is 100 ms, CSmax 10 ms."""

    def __init__(
        self,
        name: str,
        wire: Wire,
        strategy: Strategy,
        changes: dict[str, Any],
        complete_ts: Timestamp,
    ) -> None:
        self.node = FakeNode(name, wire, **changes)
        self.catalog = catalog_of((T, LONG_AGO_MS))
        sync = self.sync = SchemaSync(self.node, strategy, self.catalog)
        sync.advance_safe_time(complete_ts)
        self.meta = MetaStorage(
            self.node,
            strategy,
            self.catalog,
            sync,
            Leases(self.node, restarted=False),
            MetaStorageConfig(
                ("n1",), ("n2",), "n1", 100, idle_ticks=False, start_ts=MIN_TIMESTAMP
            ),
            delays=Delays(),
        )
        self.change = SchemaChange(self.node, strategy, sync, self.meta)


class Change:
    """Two such nodes on a wire that takes 1 ms, and a client that writes down its answers."""

    def __init__(
        self, strategy: Strategy = IEP, complete_ms: int = 100_000, **changes: Any
    ) -> None:
        self.loop = Loop()
        wire = self.wire = Wire(self.loop)
        wire.fate = lambda sent: (0 if sent.sender == sent.to else 1000,)
        known = timestamp(complete_ms)
        self.n1, self.n2 = (Server(each, wire, strategy, changes, known) for each in ("n1", "n2"))
        for server in (self.n1, self.n2):
            server.meta.start()
        self.client = FakeNode("c", wire)
        self.answers: list[tuple[str, float, Any]] = []

    def ask(self, op: str, sql: str, to: str = "n1", session_ts: Timestamp | None = None) -> None:
        """Send a statement; its answer is written down with its instant."""

        async def asked() -> None:
            request = ClientDdl(op, statement(sql), session_ts)
            reply = await self.client.request(to, request, 10_000_000)
            self.answers.append((op, self.loop.now_us / 1000, reply))

        self.client.spawn(asked())

    def until(self, at_ms: float) -> None:
        run_until(self.loop, at_ms)

    @property
    def instants(self) -> list[tuple[str, float]]:
        """Which statement was answered when."""
        return [(op, at_ms) for op, at_ms, _ in self.answers]

    @property
    def replies(self) -> list[Any]:
        return [reply for _, _, reply in self.answers]

    def decided(self) -> list[DdlDecided]:
        return [*self.n1.node.of(DdlDecided), *self.n2.node.of(DdlDecided)]


def stamp(change: Change) -> Timestamp:
    """Tm of the first update."""
    first = change.n1.meta.group.member.log.entries[0].command.message_ts
    assert isinstance(first, int)
    return Timestamp(first)


def test_a_statement_that_comes_as_the_turn_is_passed_on_waits_for_those_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change = Change()
    server = change.n2.change
    passed_on = server._next

    def passed_on_as_another_comes() -> None:
        monkeypatch.undo()
        last = ClientDdl("f", statement("ALTER TABLE t ADD COLUMN c INT"), None)
        change.n2.node.spawn(server.run("c", last))
        passed_on()

    monkeypatch.setattr(server, "_next", passed_on_as_another_comes)
    change.ask("d", "ALTER TABLE t ADD COLUMN a INT", to="n2")
    change.ask("e", "ALTER TABLE t ADD COLUMN b INT", to="n2")
    change.until(500)
    assert [one.op for one in change.decided()] == ["d", "e", "f"]


# --- what it rests on ----------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [AGAIN, TAKEN])
def test_statement_waits_for_complete_metadata(asked: str) -> None:
    """At 1 ms on n2 that is safeTime >= now - DD = 1 - 100 [98.x.8]."""
    change = Change(complete_ms=-100)
    change.ask("d", asked, to="n2")
    change.until(300)
    assert change.decided() == []
    change.n2.sync.advance_safe_time(timestamp(-99))
    change.until(600)
    assert len(change.answers) == 1


def test_what_is_built_does_not_wait_since_the_log_compares_it() -> None:
    change = Change(complete_ms=-100)
    change.ask("d", ADD, to="n2")
    change.until(300)
    assert [decided.outcome for decided in change.decided()] == ["installed"]


def test_later_statement_waits_for_the_first() -> None:
    change = Change(complete_ms=-100)
    change.ask("d", AGAIN, to="n2")
    change.ask("e", AGAIN, to="n2")
    change.until(300)
    change.n2.sync.advance_safe_time(timestamp(250))
    change.until(600)
    assert [op for op, _ in change.instants] == ["d", "e"]


def test_by_the_letter_it_does_not_wait() -> None:
    change = Change(IEP_LITERAL, complete_ms=-100)
    change.ask("d", AGAIN, to="n2")
    change.until(300)
    assert len(change.answers) == 1


# --- when it is acknowledged ---------------------------------------------------------------------


def test_an_update_is_acknowledged_when_it_is_effective_everywhere() -> None:
    """When now >= Tu + CSmax [98.flow.4]; here Tm is a whole tick, and nothing is rounded."""
    change = Change()
    change.ask("d", ADD, to="n2")
    change.until(500)
    assert stamp(change) == timestamp(2)  # 1 ms to n2, 1 ms from there to the leader
    assert change.instants == [("d", 2 + 100 + 10 + 1)]
    [decided] = change.decided()
    stamps = (timestamp(102), timestamp(112))
    asked = (statement(ADD), timestamp(1))
    assert decided == DdlDecided(3_000, "n2", "d", "installed", 2, *stamps, *asked)


def test_a_logical_part_counts_as_one_tick_more() -> None:
    """It is worth nothing on another node."""
    change = Change()
    change.ask("d", ADD, to="n1")
    change.until(500)
    assert (physical_ms(stamp(change)), logical(stamp(change)) > 0) == (1, True)
    assert change.instants == [("d", 1 + 100 + 10 + 1 + 1)]


def test_the_letter_of_the_text_does_not_round() -> None:
    """It acknowledges one tick earlier then: at the first whole tick that is past all parts."""
    change = Change(IEP_LITERAL)
    change.ask("d", ADD, to="n1")
    change.until(500)
    [decided] = change.decided()
    assert decided.acknowledge_ts == stamp(change) + timestamp(110)


def test_the_wait_is_by_the_nodes_own_clock() -> None:
    """One that is ahead is done with it earlier."""
    change = Change()
    change.n2.node.ahead_ms = 8
    change.ask("d", ADD, to="n2")
    change.until(500)
    assert stamp(change) == timestamp(9, 1)
    assert change.instants == [("d", 9 + 110 + 1 - 8 + 1)]


@pytest.mark.parametrize(
    ("asked", "outcome", "reason"),
    [(AGAIN, "noop", None), (TAKEN, "refused", Reason.OBJECT_EXISTS)],
)
def test_what_changes_nothing_waits_for_what_it_rests_on(
    asked: str, outcome: str, reason: Reason | None
) -> None:
    """Otherwise "it exists already" could be said before it can be found."""
    change = Change()
    change.ask("d1", "CREATE TABLE u (id INT PRIMARY KEY)", to="n2")
    change.until(20)
    change.ask("d2", asked, to="n2")
    change.until(500)
    assert change.instants == [("d1", 113), ("d2", 113)]
    decided = change.decided()[1]
    assert (decided.outcome, decided.catalog_version) == (outcome, 2)
    assert decided.acknowledge_ts == timestamp(112)
    assert getattr(change.replies[1], "reason", None) is reason
    assert change.n1.catalog.version == 2


@pytest.mark.parametrize("asked", [AGAIN, TAKEN])
def test_noop_on_old_version_is_acknowledged_without_wait(asked: str) -> None:
    """It is effective everywhere already."""
    change = Change()
    change.ask("d", asked)
    change.until(500)
    assert change.instants == [("d", 2)]


def test_iep_literal_acknowledges_noops_at_once() -> None:
    """It answers them at once."""
    change = Change(IEP_LITERAL)
    change.ask("d1", "CREATE TABLE u (id INT PRIMARY KEY)", to="n2")
    change.until(20)
    change.ask("d2", "CREATE TABLE IF NOT EXISTS u (id INT PRIMARY KEY)", to="n2")
    change.until(500)
    assert change.instants[0] == ("d2", 22)


# --- what is answered ----------------------------------------------------------------------------


def test_the_answer_carries_the_nodes_time() -> None:
    """A session that merges it sees the update wherever it goes; so does a refusal."""
    change = Change()
    change.ask("d1", ADD, to="n2")
    change.ask("d2", TAKEN, to="n2")
    change.until(500)
    first, second = change.replies
    assert type(first) is Answer
    assert first.token_ts >= timestamp(112)
    assert type(second) is Refusal
    assert second.token_ts >= timestamp(112)
    assert "'t'" in second.message


def test_the_token_of_a_session_is_merged() -> None:
    """What the client has seen lies before what it asks for."""
    change = Change()
    change.ask("d", ADD, session_ts=timestamp(700))
    change.until(1500)
    assert stamp(change) > timestamp(700)


def test_update_logged_names_the_clients_operation() -> None:
    """By the operation's own name, at whichever attempt."""
    change = Change()
    change.ask("c1.d1", ADD)
    change.until(500)
    [logged] = change.n1.node.of(UpdateLogged)
    assert logged.op == "c1.d1"


# --- several statements --------------------------------------------------------------------------


def test_statements_at_one_node_are_installed_one_after_another() -> None:
    """Each upon the one before, without waiting for its acknowledgement; none is tried twice."""
    change = Change()
    for number, sql in enumerate(
        ("ALTER TABLE t ADD COLUMN a INT", "ALTER TABLE t RENAME COLUMN a TO b", "DROP TABLE t")
    ):
        change.ask(f"d{number}", sql, to="n2")
    change.until(20)
    assert change.n2.catalog.version == 4
    assert [update.command_id for update in submitted(change)] == ["d0/0", "d1/0", "d2/0"]
    change.until(500)
    assert [op for op, _ in change.instants] == ["d0", "d1", "d2"]
    assert all(type(reply) is Answer for reply in change.replies)


def submitted(change: Change) -> list[CatalogUpdate]:
    """What was sent to the log."""
    return [request.update for request in change.wire.payloads(Submit)]


def test_a_refusal_lets_the_next_statement_begin() -> None:
    """So does a no-op, while its author still waits."""
    change = Change()
    for number, sql in enumerate((ADD, "DROP TABLE nowhere", AGAIN, "DROP TABLE t")):
        change.ask(f"d{number}", sql)
    change.until(20)
    assert change.n1.catalog.version == 3
    change.until(500)
    reasons = [getattr(reply, "reason", None) for reply in change.replies]
    assert reasons == [None, Reason.OBJECT_NOT_FOUND, None, None]


def test_lost_race_builds_again_on_the_winner() -> None:
    """Once that is known here."""
    change = Change()
    change.ask("d1", "ALTER TABLE t ADD COLUMN a INT", to="n1")
    change.ask("d2", "ALTER TABLE t ADD COLUMN b INT", to="n2")
    change.until(500)
    assert [type(reply) for reply in change.replies] == [Answer, Answer]
    assert [update.command_id for update in submitted(change)] == ["d1/0", "d2/0", "d2/1"]
    table = change.n2.catalog.latest().by_name("t")
    assert table is not None
    assert [column.name for column in getattr(table, "columns", ())] == ["id", "v", "a", "b"]
    assert [logged.op for logged in change.n1.node.of(UpdateLogged)] == ["d1", "d2"]


def test_the_loser_may_find_that_nothing_is_left_to_do() -> None:
    """The winner has done it; the wait is for the winner's activation."""
    change = Change()
    change.ask("d1", "DROP TABLE t", to="n1")
    change.ask("d2", "DROP TABLE IF EXISTS t", to="n2")
    change.until(500)
    assert [type(reply) for reply in change.replies] == [Answer, Answer]
    assert [decided.outcome for decided in change.decided()] == ["installed", "noop"]
    assert {decided.catalog_version for decided in change.decided()} == {2}


def test_last_attempt_returns_ddl_conflict() -> None:
    """And the node is free for the next statement."""
    change = Change(ddl_attempts=1)
    change.ask("d1", "ALTER TABLE t ADD COLUMN a INT", to="n1")
    change.ask("d2", "ALTER TABLE t ADD COLUMN b INT", to="n2")
    change.ask("d3", "ALTER TABLE t ADD COLUMN c INT", to="n2")
    change.until(500)
    by_op = {op: reply for op, _, reply in change.answers}
    assert by_op["d2"].reason is Reason.DDL_CONFLICT
    assert by_op["d2"].reason.retriable
    assert [type(by_op[op]) for op in ("d1", "d3")] == [Answer, Answer]
    assert change.n2.node.probes["ddl-attempts-exhausted"] == 1


def test_a_statement_that_comes_twice_takes_effect_once() -> None:
    """The client hears the first answer first."""
    change = Change()
    change.wire.fate = lambda sent: (1000, 1000) if type(sent.payload) is ClientDdl else (0,)
    change.ask("d", "ALTER TABLE t DROP COLUMN v, ADD COLUMN v INT")
    change.until(500)
    assert [type(reply) for reply in change.replies] == [Answer]
    assert change.n1.catalog.version == 2
