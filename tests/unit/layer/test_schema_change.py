"""DDL of the layer where the store fails or the process starts again: done once, and to the end."""

from functools import partial
from typing import Any

import pytest

from ddlsim.fdb.errors import ErrorCode, FdbError
from ddlsim.history.events import DdlDecided, TxCommitted, UpdateLogged
from ddlsim.history.index_events import IndexWritten
from ddlsim.layer.backfill import Filled
from ddlsim.layer.design import LayerPart, Settle, Step
from ddlsim.layer.rules import publishing
from ddlsim.layer.schema import Schema, Update
from ddlsim.layer.schema_change import SchemaChange
from ddlsim.layer.store import StoreTransaction
from ddlsim.model.reasons import Reason
from ddlsim.strategies.base import LAYER_DESIGNS
from ddlsim.units import Micros
from tests.support.layer import DROP, INDEX, UNIQUE, World, answer_or
from tests.support.protocol import result_of, without_wait

ADD = "ALTER TABLE t ADD COLUMN w INT"


def states_world(**rules: int) -> World:
    """Indexes are filled three rows at a time while they are write-only."""
    design = LAYER_DESIGNS.get("c16_states").with_rules({"chunk_rows": 3, **rules})
    return World(design)


def test_a_statement_whose_outcome_is_unknown_is_done_once() -> None:
    w = World("c1_schema")
    w.store.lost_answers = 1
    assert answer_or(w.ddl("a", ADD)) is None
    assert [one.catalog_version for one in w.events(UpdateLogged)] == [1, 2]
    assert [one.outcome for one in w.events(DdlDecided)] == ["installed"]


@pytest.mark.parametrize("attempts", [1, 2, 3, 9])
def test_a_statement_that_may_have_committed_is_not_refused_before_the_log_was_read(
    attempts: int,
) -> None:
    """The attempts behind the unknown one are too old before they have read the log."""
    w = World("c1_schema")
    w.store.lost_answers = 1
    w.store.unread = [ErrorCode.TRANSACTION_TOO_OLD] * attempts
    assert answer_or(w.ddl("a", ADD)) is None
    assert w.store.unread == []
    assert [one.catalog_version for one in w.events(UpdateLogged)] == [1, 2]


def test_a_statement_that_is_known_not_to_have_committed_is_refused_after_its_attempts() -> None:
    w = World("c1_schema")
    w.store.fails = [ErrorCode.COMMIT_UNKNOWN_RESULT, *[ErrorCode.NOT_COMMITTED] * 3]
    assert answer_or(w.ddl("a", ADD)) is Reason.DDL_CONFLICT


def test_a_statement_that_loses_every_time_is_refused() -> None:
    w = World("c1_schema")
    w.store.fails = [ErrorCode.NOT_COMMITTED] * 3
    assert answer_or(w.ddl("a", ADD)) is Reason.DDL_CONFLICT
    w.store.fails = [ErrorCode.NOT_COMMITTED] * 2
    assert answer_or(w.ddl("a", ADD)) is None


LARGE = (ErrorCode.TRANSACTION_TOO_LARGE, ErrorCode.KEY_TOO_LARGE, ErrorCode.VALUE_TOO_LARGE)


@pytest.mark.parametrize("code", LARGE)
def test_a_statement_that_is_too_large_is_refused(code: ErrorCode) -> None:
    w = World("c1_schema")
    w.store.fails = [code]
    assert answer_or(w.ddl("a", ADD)) is Reason.TX_TOO_LARGE
    w.store.fails = [code]
    assert answer_or(w.put("a", None, 1, v=1)) is Reason.TX_TOO_LARGE


@pytest.mark.parametrize("code", LARGE)
def test_entries_that_are_too_large_take_their_index_away(code: ErrorCode) -> None:
    w = states_world()
    for key in range(8):
        w.put("a", None, key, v=key)
    chunk, part = SchemaChange._chunk, w.processes["a"]._change

    async def too_large(*given: Any) -> Filled:
        filled = await chunk(part, *given)
        if filled.begin is None and given[1].filled:
            raise FdbError(code)
        return filled

    part._chunk = too_large
    assert answer_or(w.ddl("a", INDEX)) is Reason.TX_TOO_LARGE
    assert w.entries() == []
    assert w.store.under("j") == []
    part._chunk = partial(chunk, part)
    assert answer_or(w.ddl("a", INDEX)) is None
    assert w.wrong_entries() == ([], [])


def test_a_statement_is_refused_where_its_mode_is_too_large_for_the_store() -> None:
    w = World("c14_modes", ticking=True)
    w.store.fails = [ErrorCode.VALUE_TOO_LARGE]
    assert answer_or(w.ddl("a", ADD)) is Reason.TX_TOO_LARGE
    assert w.processes["a"].left_open() == []
    assert answer_or(w.ddl("a", ADD)) is None


def test_rows_are_filled_in_chunks() -> None:
    w = states_world()
    for key in range(8):
        w.put("a", None, key, v=key)
    assert answer_or(w.ddl("a", INDEX)) is None
    assert w.wrong_entries() == ([], [])
    by_chunk = [one.tx for one in w.events(IndexWritten)]
    assert [by_chunk.count(one) for one in dict.fromkeys(by_chunk)] == [3, 3, 2]
    committed = [one.tx for one in w.events(TxCommitted)]
    assert all(one in committed for one in by_chunk)


@pytest.mark.parametrize("chunks", [0, 1, 2])
def test_a_process_that_starts_again_goes_on_where_it_was(chunks: int) -> None:
    w = states_world()
    for key in range(8):
        w.put("a", None, key, v=key)
    part = w.processes["a"].part
    fresh = part.store.transaction
    left = chunks

    def stops(*options: object) -> object:
        """After so many chunks nothing commits any more."""
        transaction = fresh(*options)
        commit = transaction.commit

        async def stopped() -> int:
            nonlocal left
            names = getattr(transaction, "_names", {}).values()
            if any(name[0] == "i" for name in names):
                if not left:
                    await w.loop.future()
                left -= 1
            return await commit()

        transaction.commit = stopped
        return transaction

    part.store.transaction = stops
    w.loop.spawn(w.asks("a", INDEX))
    w.run_ms(100)
    assert len(w.entries()) == 3 * chunks
    assert len(w.store.under("j")) == 1
    before = len(w.nodes["a"].events)
    w.start("a", restarted=True)
    w.run_ms(100)
    assert w.wrong_entries() == ([], [])
    assert w.store.under("j") == []
    again = [one.key for one in w.nodes["a"].events[before:] if isinstance(one, IndexWritten)]
    assert again == list(range(3 * chunks, 8)), "it begins behind the last chunk that committed"
    latest = w.processes["a"].part.log.latest().index_owner("i")
    assert latest is not None
    assert latest.indexes[0].state == "public"
    assert w.nodes["a"].probes["statement-resumed"] == 1


def held_back(w: World, number: int) -> Any:
    """Of the commits that tell how far a statement of `a` is, the one of this number, unsent."""
    store: Any = w.processes["a"].part.store
    fresh, commits = store.transaction, []

    def counted(*options: Any) -> Any:
        transaction = fresh(*options)
        commit = transaction.commit

        async def held() -> int:
            if any(name[0] == "j" for name in getattr(transaction, "_names", {}).values()):
                commits.append(commit)
                if len(commits) == number:
                    await w.loop.future()
            return int(await commit())

        transaction.commit = held
        return transaction

    store.transaction = counted
    w.loop.spawn(w.asks("a", INDEX))
    w.run_ms(100)
    assert len(commits) == number
    return commits[-1]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_what_was_sent_before_a_restart_does_not_commit_behind_it(number: int) -> None:
    """It would begin a statement that is not found any more, or take up one that has ended."""
    w = states_world()
    w.put("a", None, 1, v=1)
    commit = held_back(w, number)
    w.start("a", restarted=True)
    w.run_ms(100)
    before = w.store.under("s")

    async def outcome() -> object:
        try:
            return await commit()
        except FdbError as error:
            return error.code

    assert result_of(w.loop, outcome()) is ErrorCode.NOT_COMMITTED
    assert (w.store.under("s"), w.store.under("j")) == (before, [])


def hangs_behind(w: World, commits: int) -> None:
    """Of what `a` writes of entries and schema, so much is committed; then nothing more comes."""
    store: Any = w.processes["a"].part.store
    fresh, left = store.transaction, [commits]

    def counted(*options: Any) -> Any:
        transaction = fresh(*options)
        commit = transaction.commit

        async def stopped() -> int:
            names = getattr(transaction, "_names", {}).values()
            if any(name[0] in "ij" for name in names):
                if not left[0]:
                    await w.loop.future()
                left[0] -= 1
            return int(await commit())

        transaction.commit = stopped
        return transaction

    store.transaction = counted


def states_in_log(w: World) -> list[str | None]:
    """The states that the log gave the only index of `t`, in order; None once it is gone."""
    tables = [update.objects[0].definition for update in w.events(UpdateLogged)[1:]]
    return [one.indexes[0].state if one.indexes else None for one in tables]


UP = {"c6_f1": ["delete_only", "write_only", "reorganization"], "crdb": ["delete_only"]}
DOWN = {"c6_f1": ["write_only", "delete_only", None], "crdb": ["delete_only", None]}


@pytest.mark.parametrize("same", [True, False], ids=["duplicates left", "duplicates gone"])
@pytest.mark.parametrize(
    ("design", "commits"),
    [("c6_f1", 5), ("c6_f1", 6), ("c6_f1", 7), ("crdb", 4), ("crdb", 5), ("c16_states", 3)],
)
def test_an_index_that_is_taken_away_again_is_so_after_a_restart(
    design: str, commits: int, *, same: bool
) -> None:
    """One step of taking it away is in the log, at least: the rows no longer decide anything."""
    rules = {"chunk_rows": 1, "lease_ms": 100, "poll_ms": 20}
    w = World(LAYER_DESIGNS.get(design).with_rules(rules), ticking=True)
    w.run_ms(10)
    for key in (1, 2):
        w.put("b", None, key, v=5)
    hangs_behind(w, commits)
    w.loop.spawn(w.asks("a", UNIQUE))
    w.run_ms(1_200)
    if not same:
        w.ask("b", "delete", None, 2)
    w.start("a", restarted=True)
    w.run_ms(1_200)
    up = [*UP.get(design, []), *(["write_only"] if design != "c6_f1" else [])]
    assert states_in_log(w) == up + DOWN.get(design, [None])
    assert w.entries() == []
    assert w.store.under("j") == []


def test_a_statement_that_goes_on_behind_a_restart_is_not_given_up() -> None:
    """Its first step is in the log, so no number of lost attempts may refuse it."""
    w = states_world()
    w.put("b", None, 1, v=5)
    hangs_behind(w, 1)
    w.loop.spawn(w.asks("a", INDEX))
    w.run_ms(50)
    assert w.store.under("j")
    lost = w.nodes["a"].settings.ddl_attempts + 5
    w.store.has_lost_an_answer, w.store.unread = True, [ErrorCode.TRANSACTION_TOO_OLD] * lost
    w.start("a", restarted=True)
    w.run_ms(500)
    assert (w.entries(), w.store.under("j")) == ([(5, 1)], [])


@pytest.mark.parametrize("ended", [False, True])
def test_a_statement_that_begins_beside_the_look_for_unfinished_ones_is_not_done_again(
    *, ended: bool
) -> None:
    """What is unfinished is read late: a new statement is under way, or has ended meanwhile."""
    design = LAYER_DESIGNS.get("c16_states").with_rules({"settle": waits({"a": 10, "b": 0})})
    w = World(design)
    change = w.processes["a"]._change
    look: Any = change._left
    new = begun(w, "a", INDEX)
    while not w.store.under("j"):
        w.run_ms(1)
    found = result_of(w.loop, look())

    async def late() -> Any:
        if ended:
            await w.loop.sleep(50_000)
        return found

    change._left = late
    w.loop.spawn(change.resume())
    w.run_ms(200)
    assert new == [None]
    assert [one.outcome for one in w.events(DdlDecided)] == ["installed"]
    assert "statement-resumed" not in w.nodes["a"].probes
    assert w.processes["a"].left_open() == []


def test_a_chunk_that_did_not_commit_is_done_again() -> None:
    w = states_world()
    for key in range(8):
        w.put("a", None, key, v=key)
    part = w.processes["a"].part
    fresh = part.store.transaction
    failed: list[object] = []

    def fails(*options: object) -> object:
        """The first chunk fails once."""
        transaction = fresh(*options)
        commit = transaction.commit

        async def once() -> int:
            names = getattr(transaction, "_names", {}).values()
            if not failed and any(name[0] == "i" for name in names):
                failed.append(transaction)
                raise FdbError(ErrorCode.NOT_COMMITTED)
            return await commit()

        transaction.commit = once
        return transaction

    part.store.transaction = fails
    assert answer_or(w.ddl("a", INDEX)) is None
    assert failed
    assert w.wrong_entries() == ([], [])
    assert len(w.entries()) == 8


def test_a_row_that_changes_meanwhile_makes_a_chunk_begin_again() -> None:
    w = states_world()
    w.put("a", None, 1, v=5)
    w.store.fails = []
    w.loop.spawn(w.asks("a", INDEX))
    w.put("b", None, 1, v=6)
    w.run_ms(100)
    assert w.wrong_entries() == ([], [])
    assert w.entries() == [(6, 1)]


def test_an_update_is_recorded_by_whichever_process_learns_of_it() -> None:
    """The process that made it may crash before it learns that it is committed."""
    w = World("c1_schema")

    async def never(*_: object) -> None:
        await w.loop.future()

    part = w.processes["a"].part
    learn = part.learn
    part.learn = lambda updates: None
    w.loop.spawn(w.asks("a", ADD))
    w.run_ms(10)
    part.learn = learn
    assert len(w.events(UpdateLogged)) == 1
    w.get("b", None, 1)
    assert [one.catalog_version for one in w.events(UpdateLogged)] == [1, 2]


# --- several statements of several steps ----------------------------------------------------------


def waits(spans_ms: dict[str, int]) -> Settle:
    """Behind each step a process waits so long."""

    async def settle(layer: LayerPart, _update: Update, _step: Step) -> None:
        await layer.node.sleep(Micros(1000 * spans_ms[layer.node.name]))

    return settle


def state_of_i(w: World) -> str | None:
    """The state of the index i in the newest update; None: there is no such index."""
    newest = max((one.part.log for one in w.processes.values()), key=lambda log: log.number)
    table = newest.latest().index_owner("i")
    return None if table is None else table.indexes[0].state


def begun(w: World, name: str, text: str) -> list[object]:
    """Begin a statement; the list has the reason that it ends with, None where it succeeds."""
    answers: list[object] = []

    async def asked() -> None:
        answers.append(answer_or(await w.asks(name, text)))

    w.loop.spawn(asked())
    return answers


def test_an_index_of_the_same_name_is_left_to_its_own_statement() -> None:
    """While a builds its index, b drops it and begins another one of that name."""
    design = LAYER_DESIGNS.get("c16_states").with_rules({"settle": waits({"a": 10, "b": 6})})
    w = World(design, schema=("CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT)",))
    w.put("a", None, 1, v=5, w=6)
    built = begun(w, "a", INDEX)
    w.run_ms(1)
    dropped, other = begun(w, "b", DROP), begun(w, "b", "CREATE INDEX i ON t (w)")
    w.run_ms(10)
    assert (built, dropped, other) == ([Reason.DDL_CONFLICT], [None], [])
    assert state_of_i(w) == "write_only", "its entries are not there yet"
    w.run_ms(100)
    assert other == [None]
    assert state_of_i(w) == "public"
    assert w.entries() == [(6, 1)]
    assert w.store.under("j") == []


def test_an_index_that_another_statement_is_changing_is_not_dropped() -> None:
    rules = {"settle": waits({"a": 10, "b": 0}), "pause_before": publishing.at_any_time}
    w = World(LAYER_DESIGNS.get("c6_f1").with_rules(rules), ticking=True)
    built = begun(w, "a", INDEX)
    found = set()
    while not built:
        w.run_ms(1)
        state = state_of_i(w)
        if state not in (None, "public", *found):
            found.add(state)
            assert answer_or(w.ddl("b", DROP)) is Reason.DDL_CONFLICT, state
    assert found == {"delete_only", "write_only", "reorganization"}
    assert built == [None]
    assert answer_or(w.ddl("b", DROP)) is None


def test_a_statement_that_has_begun_is_not_given_up() -> None:
    begins: list[Schema] = []

    async def pause(_layer: LayerPart, _transaction: StoreTransaction, schema: Schema) -> Micros:
        begins.append(schema)
        if len(begins) == 2:
            w.store.fails = [ErrorCode.NOT_COMMITTED] * 7
        return Micros(0)

    w = World(LAYER_DESIGNS.get("c16_states").with_rules({"pause_before": pause}))
    assert answer_or(w.ddl("a", INDEX)) is None
    assert len(begins) == 9
    assert state_of_i(w) == "public"
    assert w.store.under("j") == []


# --- outcomes of transactions ---------------------------------------------------------------------


def test_a_commit_without_an_answer_is_found_out() -> None:
    w = World("c1_schema")
    w.put("a", "T", 1, v=5)
    w.store.lost_answers = 1
    assert answer_or(w.commit("a", "T")) is None
    at = w.processes["a"].part.stamp
    assert [one.commit_ts for one in w.events(TxCommitted)] == [at(101)]


def test_a_commit_that_did_not_happen_is_found_out_and_never_will() -> None:
    w = World("c1_schema")
    w.put("a", "T", 1, v=5)
    late = w.processes["a"].transactions["T"].store
    w.store.fails = [ErrorCode.COMMIT_UNKNOWN_RESULT]
    assert answer_or(w.commit("a", "T")) is Reason.NODE_UNREACHABLE
    assert w.rows() == {}
    with pytest.raises(Exception, match="conflicts"):
        without_wait(late.commit())


def test_an_implicit_transaction_is_tried_again_after_a_conflict() -> None:
    w = World("c1_schema")
    w.store.fails = [ErrorCode.NOT_COMMITTED] * 2
    answer = w.put("a", None, 1, v=5)
    assert answer.tx.endswith("r2")
    assert w.rows() == {1: (1, 5)}


@pytest.mark.parametrize(
    ("added", "column", "entries"),
    [("", "v", {(5, 1), (6, 2)}), ("ADD COLUMN w INT, ", "w", {(None, 1), (None, 2)})],
    ids=["of a column that was there", "of a new column"],
)
def test_a_unique_constraint_is_filled_where_its_column_gets_another_type_as_well(
    added: str, column: str, entries: set[tuple[int | None, int]]
) -> None:
    w = World("c1_schema")
    w.put("a", None, 1, v=5)
    w.put("a", None, 2, v=6)
    unique = f"ADD CONSTRAINT k UNIQUE ({column}), ALTER COLUMN {column} SET DATA TYPE BIGINT"
    assert answer_or(w.ddl("a", f"ALTER TABLE t {added}{unique}")) is None
    assert set(w.entries()) == entries
