"""Designs that rest on the store's conflicts: C1, C15 and C16, by transactions driven by hand.

Versions are those of the catalogue where it gives them; the store begins at 100.
"""

import pytest

from ddlsim.fdb.keys import pack
from ddlsim.history.events import TxAborted, TxCommitted, UpdateLogged
from ddlsim.layer.design import LayerDesign
from ddlsim.layer.keyspace import LOG_END, is_of_schema, log_key
from ddlsim.layer.rules import reading
from ddlsim.model.reasons import Reason
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.layer import INDEX, World, answer_or

ADD = "ALTER TABLE t ADD COLUMN w INT"
EXACT = ("c1_schema", "c1b_version", "c16_safe", "c16_states", "c16_tables")


def crossing(design: str | LayerDesign) -> World:
    """T reads at 100 and writes a row; D adds an index at 101; T commits."""
    w = World(design)
    w.get("b", "T", 9)
    w.put("b", "T", 1, v=5)
    w.ddl("a", INDEX)
    return w


@pytest.mark.parametrize("design", EXACT)
def test_c1_a_transaction_that_a_ddl_crosses_aborts(design: str) -> None:
    w = crossing(design)
    assert answer_or(w.commit("b", "T")) is Reason.TX_CONFLICT
    (aborted,) = w.events(TxAborted)
    assert aborted.reason == "SCHEMA_CONFLICT", "the store says what it conflicted with"
    assert w.wrong_entries() == ([], [])
    assert w.misjudged() == []


@pytest.mark.parametrize("design", ["c1_schema", "c1c_replicas"])
def test_c1_reads_the_schema_by_one_request_that_conflicts_with_each_update_to_come(
    design: str,
) -> None:
    w = World(design)
    part = w.processes["b"].part
    log = pack(log_key(part.first + 1)), pack(LOG_END)
    for tx, text in (("T", ADD), ("T2", INDEX)):
        w.get("b", tx, 9)
        reads = w.processes["b"].transactions[tx].store.reads
        assert [one for one in reads if is_of_schema(one)] == [log]
        w.put("b", tx, 1, v=5)
        w.ddl("a", text)
        assert log[0] <= pack(log_key(w.events(UpdateLogged)[-1].catalog_version)) < log[1]
        assert answer_or(w.commit("b", tx)) is Reason.TX_CONFLICT
    assert w.misjudged() == []


def test_c1_the_last_entry_up_to_the_read_version_tells_the_schema() -> None:
    """Also where the process has read on, by another transaction."""
    w = World("c1_schema")
    before = w.store.version
    w.ddl("a", ADD)
    w.get("b", "R", 9)
    w.store.older.append(before)
    w.get("b", "older", 9)
    first = w.processes["b"].part.first
    used = {tx: one.used for tx, one in w.processes["b"].transactions.items()}
    assert {tx: one and one.schema.number for tx, one in used.items()} == {
        "R": first + 1,
        "older": first,
    }
    assert w.misjudged() == []


def test_c1_t1_a_schema_read_at_snapshot_lets_it_commit_without_an_entry() -> None:
    c1 = LAYER_DESIGNS.get("c1_schema")
    w = crossing(c1.with_rules({"read_schema": reading.whole_schema_at_snapshot}))
    assert answer_or(w.commit("b", "T")) is None
    assert w.wrong_entries() == ([], [(5, 1)])
    assert w.misjudged() == [("T", "commit")]


def test_c1_t2_a_schema_of_another_version_is_kept_under_the_wrong_number() -> None:
    """The number says 2, the schema that is loaded is 3."""
    c1b = LAYER_DESIGNS.get("c1b_version")
    w = World(c1b.with_rules({"read_schema": reading.version_key_then_elsewhere}))
    w.ddl("a", ADD)
    before = w.store.version
    w.ddl("a", INDEX)
    w.store.older.append(before)
    w.get("b", "R", 1)
    w.commit("b", "R")
    assert ("R", "enlist") in w.misjudged()


def test_c15_t1_a_change_between_the_cached_read_and_the_read_version_is_missed() -> None:
    w = World("c15_known_bug")
    w.get("b", "warm", 9)
    w.passes(109)
    w.ddl("a", INDEX)
    assert w.events(UpdateLogged)[-1].message_ts == w.processes["a"].part.stamp(110)
    w.passes(120)
    w.get("b", "T2", 9)
    w.put("b", "T2", 1, v=5)
    w.passes(129)
    assert answer_or(w.commit("b", "T2")) is None
    assert w.wrong_entries() == ([], [(5, 1)])
    assert ("T2", "commit") in w.misjudged()


@pytest.mark.parametrize("design", ["c15_known_bug", "c15_recheck", "c15_unassuming"])
def test_c15_a_process_uses_what_its_own_statement_has_made(design: str) -> None:
    w = World(design)
    w.get("a", "warm", 9)
    w.ddl("a", INDEX)
    w.put("a", None, 1, v=5)
    assert w.wrong_entries() == ([], [])


def test_c15_t2_a_change_behind_the_read_version_is_found() -> None:
    w = World("c15_known_bug")
    w.get("b", "warm", 9)
    w.passes(109)
    w.get("b", "T3", 9)
    w.put("b", "T3", 1, v=5)
    w.ddl("a", INDEX)
    w.passes(130)
    assert answer_or(w.commit("b", "T3")) is Reason.TX_CONFLICT
    assert w.rows() == {}


def test_c15_t3_a_blind_write_misses_a_change_after_it_began() -> None:
    w = World("c15_known_bug")
    w.get("b", "warm", 9)
    w.passes(105)
    w.put("b", "T", 1, v=5)
    w.ddl("a", INDEX)
    w.passes(128)
    assert answer_or(w.commit("b", "T")) is None
    assert w.wrong_entries() == ([], [(5, 1)])
    began = [one for one in w.events(TxCommitted) if one.tx == "T"]
    assert began[0].commit_ts == w.processes["b"].part.stamp(129)


def test_c15_t4_a_read_only_transaction_is_never_validated() -> None:
    w = World("c15_known_bug")
    w.get("b", "warm", 9)
    w.ddl("a", "ALTER TABLE t DROP COLUMN v")
    w.begin("b", "R", read_only=True)
    w.get("b", "R", 9)
    assert answer_or(w.commit("b", "R")) is None
    assert ("R", "enlist") in w.misjudged()


def test_c15_t5_reading_again_after_a_conflict_only_shortens_the_gap() -> None:
    """The first transaction behind the change still commits without an entry."""
    for design, lasts in (("c15_known_bug", True), ("c15_recheck", False)):
        w = World(design)
        w.get("b", "warm", 9)
        w.ddl("a", INDEX)
        assert answer_or(w.put("b", None, 1, v=5)) is None
        w.get("b", "T", 7)
        w.put("b", "T", 7, v=1)
        w.put("a", None, 7, v=2)
        assert answer_or(w.commit("b", "T")) is Reason.TX_CONFLICT
        w.put("b", None, 2, v=6)
        missing = w.wrong_entries()[1]
        assert (5, 1) in missing
        assert ((6, 2) in missing) is lasts


@pytest.mark.parametrize("design", ["c1_schema", "c1b_version", "c16_safe", "c16_tables"])
def test_c16_c0_the_schedules_of_c15_leave_nothing_wrong(design: str) -> None:
    w = World(design)
    w.get("b", "warm", 9)
    w.put("b", "T", 1, v=5)
    w.get("b", "T3", 9)
    w.put("b", "T3", 2, v=5)
    w.ddl("a", INDEX)
    w.get("b", "T2", 9)
    w.put("b", "T2", 3, v=5)
    assert answer_or(w.commit("b", "T2")) is None
    assert answer_or(w.commit("b", "T3")) is Reason.TX_CONFLICT
    assert answer_or(w.commit("b", "T")) in (None, Reason.TX_CONFLICT)
    w.begin("b", "R", read_only=True)
    w.find("b", "R", v=5)
    assert w.wrong_entries() == ([], [])
    assert w.misjudged() == []


def test_c16_a_conflict_on_a_table_spares_transactions_on_others() -> None:
    for design, reason in (("c16_safe", Reason.TX_CONFLICT), ("c16_tables", None)):
        w = World(design)
        w.get("b", "T", 9)
        w.put("b", "T", 1, v=5)
        w.ddl("a", "CREATE TABLE u (id INT PRIMARY KEY)")
        assert answer_or(w.commit("b", "T")) is reason


def test_c6_c1_three_states_are_enough_where_no_transaction_crosses() -> None:
    """C6-T2's schedule: a row written under write-only is deleted by one that is behind."""
    w = World("c16_states")
    w.get("b", "T", 1)
    w.put("a", None, 1, v=5)
    w.ddl("a", INDEX)
    assert w.entries() == [(5, 1)]
    assert answer_or(w.ask("b", "delete", None, 1)) is None
    assert w.wrong_entries() == ([], [])
    assert [one.catalog_version for one in w.events(UpdateLogged)] == [1, 2, 3]
