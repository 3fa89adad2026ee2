"""Locks on tables with a queue: `postgresql`."""

from typing import Any

import pytest

from ddlsim.fdb.errors import ErrorCode
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import SCHEMA
from ddlsim.layer.rules import locks
from ddlsim.model.reasons import Reason
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.scenarios.runs import loaded, summed
from tests.support.layer import INDEX, T, World, answer_or

ADD = "ALTER TABLE t ADD COLUMN w INT"
U = "CREATE TABLE u (id INT PRIMARY KEY, v INT)"


def design(**rules: Any) -> LayerDesign:
    return LAYER_DESIGNS.get("postgresql").with_rules(rules)


def world(**rules: Any) -> World:
    w = World(design(**rules), "a", "b", schema=(T, U), ticking=True)
    w.run_ms(100)
    return w


class Asked:
    """A request that is under way."""

    def __init__(self, w: World, request: Any) -> None:
        self.answer: Any = self
        w.loop.spawn(self._run(request))

    @property
    def done(self) -> bool:
        return self.answer is not self

    async def _run(self, request: Any) -> None:
        self.answer = answer_or(await request)


def reading(w: World) -> Asked:
    """A read of the table by another transaction."""
    return Asked(w, w.processes["a"].operate("c", w.request("a", "get", "L", 2)))


def held(w: World, kind: str = "lock") -> int:
    return sum(key[1] == kind for key, _ in w.store.under(SCHEMA))


@pytest.mark.parametrize("ends", ["commit", "roll_back"])
def test_a_lock_is_held_until_the_end_of_its_transaction(ends: str) -> None:
    w = world()
    w.put("b", "T", 1, v=5)
    w.get("b", "T", 2)
    assert held(w) == 1
    assert answer_or(getattr(w, ends)("b", "T")) is None
    w.run_ms(50)
    assert held(w) == 0


def test_a_reader_releases_its_lock_too() -> None:
    w = world()
    w.get("b", "T", 1)
    assert held(w) == 1
    assert answer_or(w.commit("b", "T")) is None
    w.run_ms(50)
    assert held(w) == 0


def test_a_lock_is_tried_again_in_the_same_transaction_so_that_its_rests_grow() -> None:
    w = world()
    w.store.fails = [ErrorCode.NOT_COMMITTED] * 4
    w.get("b", "T", 1)
    assert w.store.most_rests == 4


@pytest.mark.parametrize("rolled_back", [False, True])
def test_a_lock_that_may_have_been_taken_is_released(*, rolled_back: bool) -> None:
    """The answer is lost; the lock is asked for again until its time limit, or the client's end."""
    w = world(lock_timeout_ms=100)
    w.store.lost_answers, w.store.unread = 1, [ErrorCode.FUTURE_VERSION] * 200
    asked = Asked(w, w.processes["b"].operate("c", w.request("b", "get", "T", 1)))
    w.run_ms(5)
    assert held(w) == 1
    if rolled_back:
        w.roll_back("b", "T")
    w.run_ms(200)
    assert asked.answer is (Reason.ROLLED_BACK if rolled_back else Reason.LOCK_TIMEOUT)
    assert held(w) == 0


def test_a_statement_waits_for_locks_and_what_comes_later_waits_behind_it() -> None:
    w = world()
    w.put("b", "T", 1, v=5)
    ddl = Asked(w, w.asks("a", ADD))
    w.run_ms(100)
    assert not ddl.done
    assert held(w, "queue") == 1
    later = reading(w)
    w.run_ms(100)
    assert not later.done
    assert answer_or(w.commit("b", "T")) is None
    w.run_ms(100)
    assert ddl.answer is None
    assert later.done
    assert held(w, "queue") == 0


def test_what_comes_later_passes_where_there_is_no_queue() -> None:
    w = world(exclude=locks.once_unlocked_without_a_queue)
    w.put("b", "T", 1, v=5)
    ddl = Asked(w, w.asks("a", ADD))
    later = reading(w)
    w.run_ms(100)
    assert (ddl.done, later.done) == (False, True)


def test_both_give_up_when_the_time_limit_is_over() -> None:
    w = world(lock_timeout_ms=200)
    w.put("b", "T", 1, v=5)
    ddl = Asked(w, w.asks("a", ADD))
    w.run_ms(300)
    assert ddl.answer is Reason.LOCK_TIMEOUT
    w.run_ms(300)
    later = reading(w)
    w.run_ms(100)
    assert later.done
    assert later.answer is not Reason.LOCK_TIMEOUT


def test_the_lock_of_a_dead_process_ends_and_its_transaction_cannot_commit() -> None:
    w = World(design(lock_timeout_ms=5_000), "a", "b", schema=(T, U), ticking=True,
              tx_timeout_ms=1_000)  # fmt: skip
    w.run_ms(100)
    w.put("b", "T", 1, v=5)
    tx = w.processes["b"].transactions["T"]
    tx.limit.cancel()  # type: ignore[union-attr]  # its process does not look at its clock
    ddl = Asked(w, w.asks("a", ADD))
    w.run_ms(1_500)
    assert ddl.answer is None
    assert answer_or(w.commit("b", "T")) is Reason.TX_CONFLICT


def test_a_table_whose_lock_was_lost_is_refused_where_it_has_changed() -> None:
    w = World(design(), "a", "b", schema=(T, U), ticking=True, tx_timeout_ms=1_000)
    w.run_ms(100)
    w.get("b", "T", 1)
    w.processes["b"].transactions["T"].limit.cancel()  # type: ignore[union-attr]  # as above
    w.run_ms(1_200)
    assert answer_or(w.ddl("a", ADD)) is None
    assert answer_or(w.ask("b", "get", "T", 1, table="u")) is Reason.SCHEMA_CHANGED


def test_an_index_from_behind_the_snapshot_finds_nothing_where_it_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = "presets/postgresql-index_behind_snapshot"
    assert summed(loaded(name)).as_expected
    monkeypatch.setattr(locks, "_indexes", lambda table: {})
    assert not summed(loaded(name)).as_expected


def test_the_index_of_the_schema_is_filled_under_a_lock() -> None:
    w = world()
    w.put("b", "T", 1, v=5)
    ddl = Asked(w, w.asks("a", INDEX))
    w.run_ms(100)
    assert not ddl.done
    assert answer_or(w.commit("b", "T")) is None
    w.run_ms(200)
    assert ddl.answer is None
