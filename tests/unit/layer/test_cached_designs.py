"""Designs that keep the schema from one transaction to the next: C2 to C5, C7, C12 to C14."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.history.events import TxAborted
from ddlsim.kernel.engine import Loop
from ddlsim.layer.design import Flow, LayerDesign
from ddlsim.layer.rules import fences, leases, publishing, reading, waiting
from ddlsim.model.reasons import Reason
from ddlsim.protocol.messages import Answer
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.layer import INDEX, World, answer_or
from tests.support.plain_store import PlainTransaction
from tests.support.protocol import result_of

ADD = "ALTER TABLE t ADD COLUMN w INT"


def design(name: str, **rules: Any) -> LayerDesign:
    return LAYER_DESIGNS.get(name).with_rules(rules)


def misses_an_entry(w: World) -> bool:
    """Whether a put on `b` leaves no entry in a public index."""
    assert answer_or(w.put("b", None, 1, v=5)) is None
    return w.wrong_entries()[1] == [(5, 1)]


# --- C2 -------------------------------------------------------------------------------------------


def test_c2_t1_a_process_that_is_cut_off_from_the_schema_goes_on_with_the_old_one() -> None:
    w = World("c2_watch")
    w.store.cut_watches.add("b")
    w.ddl("a", INDEX)
    w.run_ms(5000)
    assert misses_an_entry(w)
    w.store.cut_watches.clear()
    w.run_ms(10)
    w.put("b", None, 2, v=6)
    assert (6, 2) in w.entries()


def test_c2_a_watch_brings_the_change() -> None:
    w = World("c2_watch")
    w.ddl("a", INDEX)
    w.run_ms(10)
    assert not misses_an_entry(w)


def test_c2_a_process_tells_which_update_its_watch_has_brought() -> None:
    w = World("c2_watch")
    process = w.processes["b"]
    w.run_ms(10)
    assert process.watched_number == process.part.first
    w.store.cut_watches.add("b")
    w.ddl("a", INDEX)
    w.run_ms(10)
    assert w.processes["a"].watched_number == process.part.first + 1
    assert process.watched_number == process.part.first
    assert World("c2b_poll").processes["b"].watched_number is None


@pytest.mark.parametrize(
    ("task", "missed"), [(waiting.watch_armed_later, True), (waiting.watch_the_head, False)]
)
def test_c2_t3_a_watch_armed_later_sleeps_through_a_change(task: Flow, *, missed: bool) -> None:
    """The change comes between the transaction that reads and the one that arms the watch."""
    w = World(design("c2_watch", background=()))
    before = w.store.present
    w.ddl("a", INDEX)
    w.store.older = [before]
    w.loop.spawn(task(w.processes["b"].part))
    w.run_ms(100)
    assert misses_an_entry(w) is missed


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("c2_watch", waiting.watch_the_head),
        ("c2_watch", waiting.watch_armed_later),
        ("crdb", leases.lease_the_newest),
    ],
)
def test_a_transaction_that_failed_leaves_no_watch(
    name: str, task: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    w = World(design(name, background=()), ticking=True)
    commit, failed = PlainTransaction.commit, list[str]()

    async def fails(self: PlainTransaction) -> int:
        if self.watches and len(failed) < 3:
            failed.append(self.node.name)
            raise FdbError(ErrorCode.TRANSACTION_TOO_OLD)
        return await commit(self)

    monkeypatch.setattr(PlainTransaction, "commit", fails)
    w.loop.spawn(task(w.processes["b"].part))
    w.run_ms(1000)
    assert failed == ["b"] * 3
    assert w.store.watching == 0


def test_c2b_a_poll_brings_the_change_in_time() -> None:
    w = World("c2b_poll")
    w.ddl("a", INDEX)
    w.run_ms(600)
    assert not misses_an_entry(w)


# --- C3 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["c3_copies", "c3b_versions"])
def test_c3_any_copy_tells_of_the_change_and_conflicts(name: str) -> None:
    w = World(name)
    w.get("b", "T", 9)
    w.put("b", "T", 7, v=5)
    w.ddl("a", INDEX)
    assert answer_or(w.commit("b", "T")) is Reason.TX_CONFLICT
    for place in range(3):
        w.put("b", None, place, v=place)
    assert w.wrong_entries() == ([], [])
    assert w.misjudged() == []


def test_c3_t1_copies_of_two_transactions_differ_for_a_while() -> None:
    w = World(design("c3_copies", publish=publishing.head_and_half_of_the_copies, copies=2))
    places = {"a": 0, "b": 1}
    for name, place in places.items():
        w.processes[name].part.spread = lambda _purpose, _bound, place=place: place
    w.ddl("a", INDEX)
    w.put("a", None, 1, v=5)
    w.put("b", None, 2, v=5)
    assert w.wrong_entries() == ([], [(5, 2)])


def test_c3_t2_a_forgotten_copy_is_stale_for_ever() -> None:
    w = World(design("c3b_versions", publish=publishing.head_and_version_keys_but_one, copies=2))
    w.processes["b"].part.spread = lambda _purpose, bound: bound - 1
    w.ddl("a", INDEX)
    w.run_ms(10_000)
    assert misses_an_entry(w)


# --- C4 -------------------------------------------------------------------------------------------


def test_c4_a_session_waits_for_the_schema_that_it_has_seen() -> None:
    for name, reason in (
        ("c4_session", None),
        ("c4_fetch", None),
        ("c4_retry", Reason.METADATA_LATE),
    ):
        w = World(name)
        token = w.ddl("a", ADD).token_ts
        reply = w.ask("b", "get", "T", 1, session_ts=token)
        assert answer_or(reply) is reason, name
        if isinstance(reply, Answer):
            assert reply.columns == ("id", "v", "w")


def test_c4_t1_another_session_writes_under_the_old_schema() -> None:
    w = World("c4_session")
    w.store.cut_watches.add("b")
    w.ddl("a", INDEX)
    w.run_ms(10)
    w.put("a", None, 2, v=5)
    assert misses_an_entry(w)


def test_c4_t3_a_token_that_is_not_advanced_lets_a_client_go_back() -> None:
    for rule, columns in ((fences.as_asked, 2), (fences.schema_used, 3)):
        w = World(design("c4_fetch", token=rule))
        w.store.cut_watches.add("b")
        w.ddl("a", ADD)
        w.run_ms(5)
        seen = w.ask("a", "get", None, 1, session_ts=1).token_ts
        moved = w.ask("b", "get", None, 1, session_ts=seen)
        assert len(moved.columns) == columns


# --- C5 -------------------------------------------------------------------------------------------


def cut_after_a_lease(w: World) -> None:
    """B reads the schema for the last time; then two updates are made."""
    w.run_ms(10)
    w.store.cut_schema.add("b")
    w.ddl("a", ADD)
    w.ddl("a", "ALTER TABLE t ADD COLUMN x INT")


def test_c5_a_process_without_a_lease_refuses() -> None:
    w = World("c5_lease", ticking=True)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    cut_after_a_lease(w)
    assert answer_or(w.put("b", None, 1, v=5)) is Reason.METADATA_LATE


def test_c5_a_lease_lasts_no_longer_than_it_says() -> None:
    w = World(design("c5_lease", lease_ms=1000), ticking=True)
    w.run_ms(10)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    w.store.cut_schema.add("b")
    w.run_ms(500)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    w.run_ms(600)
    assert answer_or(w.put("b", None, 1, v=5)) is Reason.METADATA_LATE


def test_a_schema_is_confirmed_as_of_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The read takes four milliseconds, and an update may come within them."""

    async def seven(*_: object, **__: object) -> int:
        return 7

    times, confirmed = iter((5, 9)), []
    layer: Any = SimpleNamespace(
        now_ms=partial(next, times, 9), confirm=lambda *one: confirmed.append(one), cache=None
    )
    monkeypatch.setattr(reading, "head_of", seven)
    monkeypatch.setattr(reading, "numbered", seven)
    transaction: Any = SimpleNamespace(read_version=seven)
    result_of(Loop(), reading.refreshed(layer, transaction))
    assert confirmed == [(7, 5)]


def test_c5_t1_without_refusal_a_third_version_is_in_use() -> None:
    w = World(design("c5_lease", admit=fences.always, fence=fences.unfenced), ticking=True)
    w.put("b", None, 1, v=5)
    cut_after_a_lease(w)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    assert ("o4", "commit") in w.misjudged()


def test_c5_t2_a_commit_behind_the_next_but_one_version_conflicts() -> None:
    for rule, reason in ((fences.lease_and_next_step, Reason.TX_CONFLICT), (fences.unfenced, None)):
        w = World(
            design(
                "c5_lease", fence=rule, settle=waiting.at_once, pause_before=publishing.at_any_time
            ),
            ticking=True,
        )
        w.run_ms(10)
        w.get("b", "T", 9)
        w.put("b", "T", 1, v=5)
        w.ddl("a", ADD)
        w.ddl("a", "ALTER TABLE t ADD COLUMN x INT")
        assert answer_or(w.commit("b", "T")) is reason


def test_c5_t3_a_slow_clock_needs_a_longer_wait() -> None:
    """B's clock runs at 0.9: its lease of 1000 ms lasts 1111."""
    for settle, pause, left in (
        (waiting.leases_end_without_drift, publishing.at_any_time, True),
        (waiting.leases_end, publishing.once_leases_have_ended, False),
    ):
        w = World(design("c5_lease", settle=settle, pause_before=pause), "a", "b", ticking=True)
        node = w.nodes["b"]
        node.clock = type(node.clock)(lambda w=w: w.loop.now_us * 9 // 10_000)
        w.run_ms(1100)
        w.store.cut_schema.add("b")
        w.ddl("a", ADD)
        admitted = w.processes["b"].part.cache is not None and (
            w.processes["b"].part.now_ms() < w.processes["b"].part.cache.read_ms + 1000
        )
        assert admitted is left


def test_c5_t4_two_versions_are_in_use_at_a_time() -> None:
    w = World("c5_lease", ticking=True)
    w.run_ms(10)
    w.loop.spawn(w.asks("a", ADD))
    w.run_ms(1)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    assert ("o2", "commit") in w.misjudged()


# --- C7 -------------------------------------------------------------------------------------------


def test_c7_t1_only_the_check_at_commit_finds_what_crosses() -> None:
    for rule, reason in ((fences.local_head, Reason.TX_CONFLICT), (fences.unfenced, None)):
        w = World(design("c7_ss_local", fence=rule))
        w.put("b", "T", 1, v=5)
        w.ddl("a", INDEX)
        assert answer_or(w.commit("b", "T")) is reason
        assert [one.reason for one in w.events(TxAborted)] == ["SCHEMA_CONFLICT"] * bool(reason)
        assert (w.wrong_entries()[1] == []) is (reason is not None)


def test_c7_t3_a_blind_write_with_a_cached_schema_is_checked_by_the_proxy() -> None:
    w = World(design("c7_ss_local", read_schema=reading.kept))
    w.get("b", None, 9)
    w.ddl("a", INDEX)
    assert answer_or(w.put("b", "T", 1, v=5)) is None
    assert answer_or(w.commit("b", "T")) is Reason.TX_CONFLICT


# --- C12 ------------------------------------------------------------------------------------------


def test_c12_t1_without_a_conflict_only_the_start_is_consistent() -> None:
    for name, reason in (("c12_grv", Reason.TX_CONFLICT), ("c12_at_start", None)):
        w = World(name)
        w.get("b", None, 9)
        w.put("b", "T", 1, v=5)
        w.ddl("a", INDEX)
        assert answer_or(w.commit("b", "T")) is reason
        assert [one.reason for one in w.events(TxAborted)] == ["SCHEMA_CONFLICT"] * bool(reason)
        w.put("b", None, 2, v=6)
        assert (6, 2) in w.entries(), "the next one begins with the new schema"


def test_c12_t2_a_writer_that_does_not_bump_leaves_every_cache_stale() -> None:
    w = World(design("c12_grv", publish=publishing.head))
    w.get("b", None, 9)
    w.ddl("a", INDEX)
    w.run_ms(10_000)
    assert misses_an_entry(w)


def test_c12_t3_a_schema_that_is_tagged_with_a_later_version_stays() -> None:
    w = World(design("c16_safe", read_schema=reading.metadata_version_wrong_tag))
    part = w.processes["b"].part
    old = w.store.present
    w.ddl("a", INDEX)
    part.newest_tag = w.store.metadata[-1]  # another transaction of the process has seen it
    w.store.older.append(old)
    w.get("b", "R", 9)
    w.commit("b", "R")
    assert misses_an_entry(w)


def test_c12_t4_a_schema_that_never_committed_is_used_by_others() -> None:
    for rule, wrong in ((publishing.keep_at_once, True), (publishing.leave_the_cache, False)):
        w = World(design("c16_safe", own_change=rule))
        w.get("a", None, 9)
        w.store.fails = [ErrorCode.TRANSACTION_TOO_LARGE]
        assert answer_or(w.ddl("a", ADD)) is Reason.TX_TOO_LARGE
        w.get("a", "R", 9)
        assert ("R", "enlist") in w.misjudged() or not wrong
        assert (len(w.ask("a", "get", "R", 9).columns) == 3) is wrong


# --- C13 ------------------------------------------------------------------------------------------


def test_c13_a_conflict_in_the_past_closes_the_gap_of_c15() -> None:
    w = World("c13_past")
    w.get("b", None, 9)
    w.ddl("a", INDEX)
    assert answer_or(w.put("b", "T", 1, v=5)) is None
    assert answer_or(w.commit("b", "T")) is Reason.TX_CONFLICT
    assert answer_or(w.put("b", None, 2, v=6)) is None
    assert w.wrong_entries() == ([], [])


def test_c13_t2_a_read_only_transaction_is_shown_rows_by_the_wrong_schema() -> None:
    w = World(design("c13_past", newer_row=fences.decode_as_used))
    w.put("b", None, 1, v=5)
    w.ddl("a", "ALTER TABLE t DROP COLUMN v")
    w.ddl("a", "ALTER TABLE t ADD COLUMN w INT")
    w.store.cut_schema.add("b")
    w.run_ms(3000)
    w.put("a", None, 1, w=7)
    w.begin("b", "R", read_only=True)
    assert w.get("b", "R", 1) == {"id": 1, "v": 7}
    assert answer_or(w.commit("b", "R")) is None


# --- C14 ------------------------------------------------------------------------------------------


def test_c14_modes_keep_everything_right_and_cost_nothing_in_between() -> None:
    w = World("c14_modes", ticking=True)
    w.run_ms(600)
    w.put("b", "T", 1, v=5)
    w.ddl("a", INDEX)
    assert answer_or(w.commit("b", "T")) is Reason.TX_TOO_OLD
    w.run_ms(600)
    assert not misses_an_entry(w)
    assert w.misjudged() == []
    assert w.processes["b"].part.mode == reading.OPTIMISTIC


def test_c14_t1_a_process_that_the_mode_does_not_reach_goes_on() -> None:
    for name, done in (("c14_hoped", True), ("c14_modes", False)):
        w = World(name, ticking=True)
        w.run_ms(600)
        w.put("b", None, 9, v=9)
        w.store.cut_schema.add("b")
        answers: list[Any] = []

        async def asked(w: World = w, answers: list[Any] = answers) -> None:
            answers.append(await w.asks("a", INDEX))

        w.loop.spawn(asked())
        w.run_ms(15_000)
        assert bool(answers) is done, "the honest one waits for ever"
        if done:
            assert answer_or(w.put("b", None, 1, v=5)) is None
            assert (5, 1) not in w.entries()


def test_c14_t2_back_to_optimistic_with_the_old_schema() -> None:
    for task, missed in ((waiting.follow_the_mode_stale, True), (waiting.follow_the_mode, False)):
        w = World(design("c14_modes", background=(task,)), ticking=True)
        w.run_ms(600)
        w.put("b", None, 9, v=9)
        w.ddl("a", INDEX)
        w.run_ms(2000)
        assert w.processes["b"].part.mode == reading.OPTIMISTIC
        assert misses_an_entry(w) is missed


def test_c14_t3_an_older_transaction_crosses_where_nothing_is_drained() -> None:
    """Its commit arrives within the window, behind a change that did not wait for it."""
    for before, crosses in (
        (waiting.all_pessimistic_undrained, True),
        (waiting.all_pessimistic, False),
    ):
        w = World(design("c14_modes", before_statement=before), ticking=True)
        w.run_ms(600)
        w.get("b", "T", 9)
        w.put("b", "T", 1, v=5)
        w.ddl("a", INDEX)
        assert (answer_or(w.commit("b", "T")) is None) is crosses
        assert w.wrong_entries() == ([], [(5, 1)] if crosses else [])


def test_c5_a_lease_on_a_newer_version_is_none_on_that_of_an_open_transaction() -> None:
    """T writes blindly, so its read version is taken at commit, behind the second update."""
    w = World("c5_lease", ticking=True)
    w.run_ms(10)
    w.put("b", "T", 1, v=5)
    w.ddl("a", ADD)
    w.ddl("a", "ALTER TABLE t ADD COLUMN x INT")
    assert answer_or(w.put("b", None, 2, v=5)) is None, "it has a lease on the newest"
    assert answer_or(w.commit("b", "T")) is Reason.METADATA_LATE


def test_c14_the_end_of_one_statement_leaves_another_one_in_pessimistic_mode() -> None:
    w = World("c14_modes", ticking=True)
    w.run_ms(600)
    w.loop.spawn(w.asks("a", ADD))
    w.run_ms(3000)
    w.loop.spawn(w.asks("b", INDEX))
    while w.processes["a"].has_open_work:
        w.run_ms(10)
    w.run_ms(600)
    assert w.processes["b"].has_open_work
    assert w.processes["a"].part.mode == reading.PESSIMISTIC
    w.run_ms(20_000)
    assert w.processes["a"].part.mode == reading.OPTIMISTIC


def test_c14_a_commit_of_unknown_result_does_not_end_the_statement_of_another_process() -> None:
    """The answer to B's last word on the mode is lost: a count of statements would be too low."""
    w = World("c14_modes", ticking=True)
    w.run_ms(600)
    one, other = w.processes["a"].part, w.processes["b"].part
    result_of(w.loop, one.design.before_statement(one), 60_000)
    result_of(w.loop, other.design.before_statement(other), 60_000)
    w.store.lost_answers = 1
    result_of(w.loop, other.design.after_statement(other), 60_000)
    w.run_ms(600)
    assert other.mode == reading.PESSIMISTIC
    result_of(w.loop, one.design.after_statement(one), 60_000)
    w.run_ms(600)
    assert other.mode == reading.OPTIMISTIC


def test_c5_an_update_waits_for_all_leases_though_clocks_show_whole_milliseconds() -> None:
    """The holder's clock is slow by a tenth, that of the waiting process fast by a tenth."""
    leased = design("c5_lease", lease_ms=20)
    lasts_us = 20_000 * 10 // 9
    for phase_us in range(0, 1000, 37):
        for later_us in range(0, lasts_us, 371):
            shown_ms = (phase_us + later_us * 11 // 10) // 1000
            layer: Any = SimpleNamespace(
                design=leased,
                first=1,
                now_ms=lambda shown_ms=shown_ms: shown_ms,
                known_since_ms=lambda _number, phase_us=phase_us: phase_us // 1000,
            )
            schema: Any = SimpleNamespace(number=2)
            pause = publishing.once_leases_have_ended(layer, layer, schema)
            pause_us = result_of(Loop(), pause)
            assert later_us + pause_us * 10 // 11 >= lasts_us - 1
