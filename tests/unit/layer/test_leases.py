"""Leases that lie in the store, `crdb` and `tidb_mdl`, and what those of a clock have alone."""

from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.kernel.engine import Loop
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import SCHEMA, lease_key
from ddlsim.layer.rules import reading
from ddlsim.layer.rules.leases import Bell, _acquire, _take_ended, older_leases_end, under_a_lease
from ddlsim.model.reasons import Reason
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.units import Micros
from tests.support.layer import INDEX, T, World, answer_or
from tests.support.protocol import result_of

ADD = "ALTER TABLE t ADD COLUMN w INT"
MORE = "ALTER TABLE t ADD COLUMN x INT"
OTHER = "ALTER TABLE u ADD COLUMN w INT"
U = "CREATE TABLE u (id INT PRIMARY KEY)"


def design(name: str, **rules: Any) -> LayerDesign:
    return LAYER_DESIGNS.get(name).with_rules({"lease_ms": 1000} | rules)


def world(name: str = "crdb", *, schema: tuple[str, ...] = (T, U), **rules: Any) -> World:
    w = World(design(name, **rules), "a", "b", schema=schema, ticking=True)
    w.run_ms(200)
    return w


class Asked:
    """A statement that is under way."""

    def __init__(self, w: World, name: str, text: str) -> None:
        self.done = False
        w.loop.spawn(self._run(w.asks(name, text)))

    async def _run(self, statement: Any) -> None:
        assert answer_or(await statement) is None
        self.done = True


def held(w: World, name: str) -> list[int]:
    """The schemas that a process has leased, by what lies in the store."""
    rows = [key for key, _ in w.store.under(SCHEMA) if key[1] == "lease"]
    return [int(str(key[3])) for key in rows if key[2] == name]


def test_ended_leases_are_taken_away_in_the_same_transaction_so_that_its_rests_grow() -> None:
    w = world()
    part: Any = w.processes["a"].part
    planted = part.store.transaction()
    planted.set(lease_key("z", 1), 1)
    result_of(w.loop, planted.commit())
    w.store.fails = [ErrorCode.NOT_COMMITTED] * 4
    update: Any = SimpleNamespace(number=2)
    result_of(w.loop, older_leases_end(part, update, update))
    assert w.store.most_rests == 4
    assert held(w, "z") == []


def test_a_process_leases_the_newest_schema_and_gives_the_older_back() -> None:
    w = world(lease_ms=300_000)
    assert held(w, "b") == [2]
    assert answer_or(w.ddl("a", ADD, within_ms=1000)) is None
    assert held(w, "b") == [3]


def test_a_lease_is_kept_while_a_transaction_needs_it_and_a_statement_waits() -> None:
    w = world()
    w.put("b", "T", 1, v=5)
    answer = Asked(w, "a", ADD)
    w.run_ms(300)
    assert held(w, "b") == [2, 3]
    assert not answer.done
    assert answer_or(w.commit("b", "T")) is None
    w.run_ms(300)
    assert answer.done
    assert held(w, "b") == [3]


def test_a_transaction_whose_tables_are_the_same_needs_no_older_lease() -> None:
    w = world()
    w.put("b", "T", 1, v=5)
    for statement in (OTHER, "ALTER TABLE u ADD COLUMN x INT"):
        assert answer_or(w.ddl("a", statement)) is None
    assert held(w, "b") == [4]
    assert answer_or(w.commit("b", "T")) is None


@pytest.mark.parametrize(("name", "blocked"), [("crdb", False), ("tidb_mdl", True)])
def test_the_end_of_a_lease_is_a_deadline_unless_it_is_renewed_while_in_use(
    name: str, *, blocked: bool
) -> None:
    w = World(design(name), schema=(T, U), ticking=True, tx_timeout_ms=60_000)
    w.run_ms(200)
    w.get("b", "T", 1)
    w.put("b", "T", 1, v=5)
    answer = Asked(w, "a", ADD)
    w.run_ms(3000)
    assert answer.done is not blocked
    expected = None if blocked else Reason.TX_CONFLICT
    assert answer_or(w.commit("b", "T")) is expected
    w.run_ms(300)
    assert answer.done


def test_a_renewed_lease_is_as_good_for_a_transaction_that_has_not_read_yet() -> None:
    w = World(design("tidb_mdl"), schema=(T, U), ticking=True, tx_timeout_ms=60_000)
    w.run_ms(200)
    w.put("b", "T", 1, v=5)
    Asked(w, "a", ADD)
    w.run_ms(3000)
    assert answer_or(w.commit("b", "T")) is None


def test_a_transaction_on_its_way_holds_the_lease_that_it_goes_by() -> None:
    """Though there is a newer one by now, under which its tables are the same."""
    w = world()
    part = w.processes["b"].part
    w.put("b", "T", 1, v=5)
    tx = w.processes["b"].transactions["T"]
    assert result_of(w.loop, under_a_lease(part, tx)) is None
    Asked(w, "a", OTHER)
    w.run_ms(300)
    assert held(w, "b") == [2, 3]


def test_no_wait_is_long_where_no_watch_is_armed() -> None:
    """The schema may have changed since the last one fired."""
    w = world()
    bell, began_us = Bell(w.nodes["b"]), w.loop.now_us
    result_of(w.loop, bell.wait(Micros(1_000_000)))
    assert w.loop.now_us == began_us


def test_behind_its_lease_a_transaction_is_refused() -> None:
    w = world()
    w.store.cut_schema.add("b")
    w.run_ms(1200)
    w.put("b", "T", 1, v=5)
    assert answer_or(w.commit("b", "T")) is Reason.METADATA_LATE
    w.store.cut_schema.clear()
    w.run_ms(100)
    assert answer_or(w.put("b", None, 1, v=5)) is None


@pytest.mark.parametrize("name", ["crdb", "tidb_mdl"])
def test_a_process_leases_again_at_once_where_a_recovery_jumps_over_the_end(name: str) -> None:
    """Versions jump by more than a lease; by its clock it would renew half a lease later."""
    w = world(name, lease_ms=45_000)
    w.passes(100_000)
    began_us = w.loop.now_us
    assert answer_or(w.put("b", None, 1, v=5)) is None
    assert w.loop.now_us - began_us < 1_000_000


def test_what_an_earlier_incarnation_has_leased_is_taken_away() -> None:
    """What it has sent may be on its way still; that conflicts."""
    w = world()
    w.get("b", "T", 2)
    w.put("b", "T", 1, v=5)
    earlier = w.processes["b"]
    w.start("b", restarted=True)
    w.run_ms(50)
    assert held(w, "b") == [2]
    w.processes["b"] = earlier
    assert answer_or(w.commit("b", "T")) is Reason.TX_CONFLICT


@pytest.mark.parametrize("name", ["crdb", "tidb_mdl"])
def test_a_lease_that_may_have_been_taken_is_given_back(name: str) -> None:
    """The answer to b's lease on 3 is lost, and b hears of 4 before it tries again."""
    w = world(name)
    w.store.cut_schema.add("b")
    w.run_ms(1100)
    answer = Asked(w, "a", ADD)
    w.run_ms(300)
    assert answer.done
    w.store.lost_answers = 1
    w.store.cut_schema.clear()
    while w.store.lost_answers:
        w.run_ms(1)
    assert held(w, "b") == [3]
    assert 3 not in w.processes["b"].part.leases
    w.store.cut_schema.add("b")
    answer = Asked(w, "a", MORE)
    w.run_ms(20)
    w.store.cut_schema.clear()
    w.run_ms(300)
    assert answer.done
    assert held(w, "b") == [4]


def test_a_renewal_that_comes_late_shortens_no_lease_of_the_next_incarnation() -> None:
    w = world()
    part = w.processes["b"].part
    sent: Any = part.store.transaction()
    on_its_way, arrives = sent.commit, w.loop.future()

    async def late() -> int:
        await arrives
        return await on_its_way()

    async def renew() -> None:
        with pytest.raises(FdbError):
            await _acquire(part, sent, older=False, in_doubt=False)
        ended.append(True)

    ended: list[bool] = []
    sent.commit = late
    w.loop.spawn(renew())
    w.run_ms(100)
    w.start("b", restarted=True)
    w.run_ms(50)
    ends = w.store.now(lease_key("b", 2))
    arrives.set(None)
    w.run_ms(5)
    assert ended
    assert w.store.now(lease_key("b", 2)) == ends


@pytest.mark.parametrize(("first", "second", "waits"), [(9, 1, True), (1, 9, True), (1, 1, False)])
def test_one_lease_that_lasts_is_waited_for_whichever_ends_before(
    first: int, second: int, *, waits: bool
) -> None:
    """Versions at which two processes' leases on the schema before end; the present one is 5."""
    rows = [(lease_key(name, 2), ends) for name, ends in (("a", first), ("b", second))]

    async def now() -> int:
        return 5

    async def found(*_: object) -> list[Any]:
        return [(key, ends) for key, ends in rows]

    store: Any = SimpleNamespace(
        read_version=now, get_range=found, clear=lambda _: None, set=lambda *_: None
    )
    layer: Any = SimpleNamespace(design=design("crdb", poll_ms=20))
    pause = result_of(Loop(), _take_ended(layer, store, 3))
    assert pause == (Micros(20_000) if waits else 0)


def test_two_statements_leave_no_process_two_versions_behind() -> None:
    w = world()
    w.store.cut_schema.add("b")
    answer = Asked(w, "a", ADD)
    w.run_ms(400)
    assert not answer.done  # the lease of b on the version before lasts
    w.run_ms(1000)
    assert answer.done
    assert answer_or(w.put("b", None, 1, v=5)) is Reason.METADATA_LATE


@pytest.mark.parametrize("reads", [False, True])
def test_a_table_that_has_changed_since_the_snapshot_is_refused_at_its_first_access(
    *, reads: bool
) -> None:
    """A transaction that has read nothing goes on under the newest schema."""
    w = world()
    asked = "get" if reads else "put"
    w.ask("b", asked, "T", 1, table="u", values=None)
    assert answer_or(w.ddl("a", ADD)) is None
    answer = w.ask("b", "put", "T", 1, values={"w": 7})
    assert answer_or(answer) is (Reason.SCHEMA_CHANGED if reads else None)
    if not reads:
        assert answer_or(w.commit("b", "T")) is None
        assert w.get("a", None, 1)["w"] == 7


def test_a_table_that_was_used_stays_as_it_was() -> None:
    w = world()
    w.put("b", "T", 1, v=5)
    answer = Asked(w, "a", ADD)
    w.run_ms(100)
    assert answer_or(w.put("b", "T", 2, v=6)) is None
    assert answer_or(w.put("b", "T", 3, w=6)) is Reason.BAD_ROW
    w.run_ms(300)
    assert answer.done


@pytest.mark.parametrize("name", ["crdb", "tidb_mdl"])
def test_an_index_is_filled_only_once_nothing_commits_without_entries(name: str) -> None:
    w = world(name)
    w.put("b", "T", 1, v=5)
    answer = Asked(w, "a", INDEX)
    w.run_ms(300)
    assert answer_or(w.commit("b", "T")) is None
    w.put("b", None, 2, v=6)
    w.run_ms(2000)
    assert answer_or(w.put("b", None, 3, v=7)) is None
    assert answer.done
    assert w.wrong_entries() == ([], [])
    assert len(w.entries()) == 3


# --- tidb_lease -----------------------------------------------------------------------------------


def test_tidb_lease_refuses_a_commit_whose_tables_have_changed_and_no_other() -> None:
    w = World(design("tidb_lease", poll_ms=100), "a", "b", schema=(T, U), ticking=True)
    w.run_ms(200)
    w.put("b", "T", 1, v=5)
    w.ask("b", "put", "U", 1, table="u")
    Asked(w, "a", ADD)
    w.run_ms(300)
    assert answer_or(w.commit("b", "T")) is Reason.SCHEMA_CHANGED
    assert answer_or(w.commit("b", "U")) is None


# --- the process's own clock ----------------------------------------------------------------------


UNDER_A_LEASE = pytest.mark.parametrize("name", ["c5_lease", "c6_f1", "tidb_lease"])


@UNDER_A_LEASE
def test_a_process_that_has_read_nothing_yet_reads_the_schema(name: str) -> None:
    """As it does by itself, a moment later."""
    w = World(design(name, background=()), ticking=True)
    assert answer_or(w.put("b", None, 1, v=5)) is None


@UNDER_A_LEASE
def test_behind_a_newer_row_a_process_reads_the_schema_and_does_not_wait_for_the_poll(
    name: str,
) -> None:
    w = World(design(name, lease_ms=45_000, poll_ms=22_500), ticking=True)
    w.run_ms(10)
    w.put("b", "T", 3, v=5)
    w.loop.spawn(w.asks("a", ADD))
    w.run_ms(10)
    result_of(w.loop, reading.refreshed_apart(w.processes["a"].part))
    assert answer_or(w.put("a", None, 1, v=5, w=6)) is None
    assert w.get("b", None, 1) == {"id": 1, "v": 5, "w": 6}
    expected = Reason.SCHEMA_CHANGED if name == "tidb_lease" else None
    assert answer_or(w.commit("b", "T")) is expected
