"""Designs whose updates come into force at a version of the future: C8 to C11.

A millisecond is a version; the distance is 1000 of them, as in the catalogue.
"""

from typing import Any

from ddlsim.history.events import UpdateLogged
from ddlsim.layer.rules import fences, plans, publishing, reading, waiting
from ddlsim.model.reasons import Reason
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.layer import DROP, INDEX, T, World, answer_or

ADD = "ALTER TABLE t ADD COLUMN w INT"
MORE = "ALTER TABLE t ADD COLUMN x INT"


def world(name: str, *schema: str, **rules: Any) -> World:
    design = LAYER_DESIGNS.get(name).with_rules(rules)
    return World(design, schema=(T, *schema), ticking=True)


def starts(w: World, text: str) -> None:
    """A statement on `a` that goes on by itself."""
    w.loop.spawn(w.asks("a", text))


def reads(w: World, name: str, tx: str) -> None:
    """A read-only transaction of one read."""
    w.begin(name, tx, read_only=True)
    w.get(name, tx, 9)
    w.commit(name, tx)


def test_an_update_is_in_force_from_its_version_on() -> None:
    w = world("c9_future_cv")
    w.run_ms(200)
    starts(w, ADD)
    w.run_ms(900)
    reads(w, "b", "before")
    w.run_ms(200)
    reads(w, "b", "after")
    assert w.misjudged() == []
    new = w.events(UpdateLogged)[-1]
    assert (new.activation_ts - new.message_ts) >> 16 == 1000


def overlapping(name: str) -> World:
    """The update reads at 1000 and commits at 1400; X reads the schema at 1300, Y at 1500."""
    w = world(name, settle=waiting.at_once)
    w.passes(1300)
    reads(w, "b", "warm")
    w.store.older.append(1000)
    w.passes(1399)
    w.ddl("a", ADD)
    w.passes(1500)
    reads(w, "a", "Y0")
    w.passes(2100)
    reads(w, "b", "X")
    reads(w, "a", "Y")
    return w


def test_c8_t1_who_reads_between_read_and_commit_version_is_late() -> None:
    assert overlapping("c8_future_rv").misjudged() == [("X", "enlist")]


def test_c8_c0_anchored_at_the_commit_version_nothing_is_late() -> None:
    assert overlapping("c9_future_cv").misjudged() == []


def crossing(name: str, **rules: Any) -> tuple[World, Any]:
    """T reads a version before the switch and commits behind it."""
    w = world(name, **rules)
    starts(w, ADD)
    w.run_ms(1)
    switch = w.processes["a"].part.log.updates[-1].activation
    w.until(switch - 1)
    w.get("b", "T", 9)
    w.put("b", "T", 1, v=5)
    w.run_ms(50)
    return w, w.commit("b", "T")


def test_c9_t1_a_transaction_crosses_the_switch() -> None:
    w, reply = crossing("c9_future_cv")
    assert answer_or(reply) is None
    assert w.misjudged() == [("T", "commit")]


def test_c9_t1_a_conflict_on_the_schema_key_does_not_help() -> None:
    """The key was written long before the read version."""
    w, reply = crossing("c9_future_cv", fence=fences.schema_key)
    assert answer_or(reply) is None
    assert w.misjudged() == [("T", "commit")]


def test_c11_t1_a_conflict_in_the_future_aborts_it() -> None:
    w, reply = crossing("c11_future_conflict")
    assert answer_or(reply) is Reason.TX_CONFLICT
    assert w.misjudged() == []


def test_c11_t3_a_transaction_without_the_key_crosses() -> None:
    w, reply = crossing("c11_future_conflict", fence=fences.unfenced)
    assert answer_or(reply) is None
    assert w.misjudged() == [("T", "commit")]


def test_c11_what_does_not_cross_commits() -> None:
    """The update itself is no conflict, only the switch."""
    w = world("c11_future_conflict")
    w.get("b", "T", 9)
    w.put("b", "T", 1, v=5)
    starts(w, ADD)
    w.run_ms(100)
    assert answer_or(w.commit("b", "T")) is None
    assert w.misjudged() == []


def test_c11_a_process_reads_again_a_window_before_a_switch_may_come() -> None:
    """With the whole distance, what C8-T1 shows would happen here too."""
    for rule, late in (
        (reading.in_force_at_read_version, True),
        (reading.in_force_less_the_window, False),
    ):
        w = world("c11_future_conflict", read_schema=rule, settle=waiting.at_once)
        w.passes(1300)
        reads(w, "b", "warm")
        w.store.older.append(1000)
        w.passes(1399)
        w.ddl("a", ADD)
        w.passes(11_100)
        reads(w, "b", "X")
        assert (w.misjudged() != []) is late


def test_c9_t2_a_record_that_is_overwritten_forgets_when_the_first_comes_into_force() -> None:
    for pause, reply, late in (
        (publishing.at_any_time, "reads", True),
        (publishing.once_the_last_is_in_force, "waits", False),
    ):
        w = world(
            "c9_future_cv",
            read_schema=reading.by_the_record,
            publish=publishing.head_and_record,
            pause_before=pause,
            settle=waiting.at_once,
        )
        w.run_ms(1400)
        w.ddl("a", ADD)
        w.run_ms(100)
        starts(w, MORE)
        w.run_ms(100)
        reads(w, "b", "R")
        assert (w.misjudged() == [("R", "enlist")]) is late, reply


# --- C10 ------------------------------------------------------------------------------------------


def dropped(w: World) -> World:
    """T reads under the index, which is dropped then; it commits within the window."""
    starts(w, DROP)
    w.run_ms(1)
    while w.processes["a"].part.log.latest().index_owner("i") is not None:
        w.run_ms(10)
    switch = w.processes["a"].part.log.updates[-1].activation
    w.until(switch - 1)
    w.put("b", "T", 1, v=5)
    w.get("b", "T", 9)
    w.run_ms(4500)
    assert answer_or(w.commit("b", "T")) is None
    w.run_ms(20_000)
    return w


def test_c10_t1_erased_before_the_last_write_an_entry_is_left() -> None:
    """The second cutoff is less than a window behind the first one."""
    w = dropped(world("c10_two_cutoffs", INDEX, cutoff_percent=40, plan=plans.three_states_alone))
    assert w.entries() == [(5, 1)]


def test_c10_a_window_later_nothing_is_left() -> None:
    w = dropped(world("c10_two_cutoffs", INDEX, plan=plans.three_states_alone))
    assert w.entries() == []


def test_c10_t2_without_read_conflicts_a_commit_comes_later_than_a_window() -> None:
    for risky in (True, False):
        w = world(
            "c10_two_cutoffs",
            INDEX,
            plan=plans.three_states_alone,
            options=LAYER_DESIGNS.get("c1_schema").options.__class__(causal_write_risky=risky),
        )
        starts(w, DROP)
        w.run_ms(1)
        switch = w.processes["a"].part.log.updates[-1].activation
        w.until(switch - 1)
        transaction = w.begin("b", "T")
        assert transaction is not None
        w.put("b", "T", 1, v=5)
        w.processes["b"].transactions["T"].store.reads.clear()
        w.run_ms(9000)
        assert (answer_or(w.commit("b", "T")) is None) is risky
        assert (w.entries() == [(5, 1)]) is risky


def test_c10_a_blind_delete_crosses_where_delete_only_is_left_out() -> None:
    """T deletes without looking, under no index; meanwhile the row and its entry are written."""
    for plan, orphans in ((plans.three_states_alone, [(5, 1)]), (plans.all_states, [])):
        w = world("c10_two_cutoffs", plan=plan)
        starts(w, INDEX)
        w.run_ms(1)
        switch = w.processes["a"].part.log.updates[-1].activation
        w.until(switch - 1)
        w.ask("b", "delete", "T", 1)
        w.run_ms(20)
        w.put("a", None, 1, v=5)
        assert answer_or(w.commit("b", "T")) is None
        w.run_ms(60_000)
        assert w.processes["a"].part.log.latest().index_owner("i") is not None
        assert w.wrong_entries() == (orphans, [])
