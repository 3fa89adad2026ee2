"""C6: the states of an index where two schema versions are in use, and what is wrong without them.

A is a version ahead of B: B is cut off from the schema, and works until its lease ends.
"""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from ddlsim.history.events import UpdateLogged
from ddlsim.layer.design import Plan
from ddlsim.layer.rules import plans, publishing, waiting
from ddlsim.layer.rules.plans import DELETE_ONLY, WRITE_ONLY
from ddlsim.model.reasons import Reason
from ddlsim.strategies.base import LAYER_DESIGNS
from tests.support.layer import DROP, INDEX, UNIQUE, T, World, answer_or

Act = Callable[[], Coroutine[Any, Any, None]]


def world(*schema: str, **rules: Any) -> World:
    w = World(LAYER_DESIGNS.get("c6_f1").with_rules(rules), schema=(T, *schema), ticking=True)
    w.run_ms(10)
    return w


def state_at(w: World, name: str) -> str | None:
    """The state of the index that a process would use now; None: it has none."""
    cache = w.processes[name].part.cache
    table = None if cache is None else cache.schema.latest().index_owner("i")
    return None if table is None else table.indexes[0].state


def until(w: World, name: str, *states: str | None) -> None:
    """Let everything happen until a process uses a state."""
    for _ in range(60_000):
        if state_at(w, name) in states:
            return
        w.run_ms(1)
    raise AssertionError(f"{name} never uses {states}")


def in_log(w: World, name: str) -> str | None:
    """The state of the index in the newest update that a process has read."""
    table = w.processes[name].part.log.latest().index_owner("i")
    return None if table is None else table.indexes[0].state


def ahead(w: World, a: str, b: str | None) -> None:
    """A uses one state, B the one before it for as long as its lease lasts."""
    w.loop.spawn(w.asks("a", INDEX))
    while in_log(w, "a") != a:
        w.run_ms(1)
    w.store.cut_schema.add("b")
    until(w, "a", a)
    assert state_at(w, "b") == b


def end(w: World) -> tuple[list[Any], list[Any]]:
    """What is wrong once the statement has ended."""
    w.store.cut_schema.clear()
    w.run_ms(100_000)
    assert not w.processes["a"].has_open_work
    return w.wrong_entries()


@pytest.mark.parametrize(
    ("plan", "a", "orphans"),
    [
        (plans.straight_to_public, "public", [(5, 1)]),
        (plans.without_delete_only, WRITE_ONLY, [(5, 1)]),
        (plans.all_states, DELETE_ONLY, []),
    ],
    ids=["C6-T1", "C6-T2", "all states"],
)
def test_a_delete_under_the_version_before_leaves_an_orphan(
    plan: Plan, a: str, orphans: list[tuple[int, int]]
) -> None:
    w = world(plan=plan)
    ahead(w, a, None)
    w.put("a", None, 1, v=5)
    assert answer_or(w.ask("b", "delete", None, 1)) is None
    assert end(w) == (orphans, [])


@pytest.mark.parametrize(
    ("plan", "a", "missing"),
    [(plans.without_write_only, "public", [(5, 1)]), (plans.all_states, WRITE_ONLY, [])],
    ids=["C6-T3", "all states"],
)
def test_an_insert_under_the_version_before_is_missing(
    plan: Plan, a: str, missing: list[tuple[int, int]]
) -> None:
    w = world(plan=plan)
    ahead(w, a, DELETE_ONLY)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    assert end(w) == ([], missing)


def test_c6_t4_with_three_versions_in_use_an_insert_is_missing() -> None:
    """Without waits, B still uses delete-only when the index is public."""
    w = world(settle=waiting.at_once, pause_before=publishing.at_any_time)
    w.store.cut_schema.add("b")
    w.ddl("a", INDEX)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    assert end(w) == ([], [(5, 1)])


@pytest.mark.parametrize(
    ("plan", "missing"), [(plans.backfill_too_early, [(5, 1)]), (plans.all_states, [])]
)
def test_c6_t5_rows_that_are_read_too_early_lack_what_comes_behind(
    plan: Plan, missing: list[tuple[int, int]]
) -> None:
    w = world(plan=plan)
    ahead(w, WRITE_ONLY, DELETE_ONLY)
    assert answer_or(w.put("b", None, 1, v=5)) is None
    assert end(w) == ([], missing)


def around_entries(w: World, before: Act, after: Act) -> None:
    """Something happens just before the first commit of entries by A, or just behind it."""
    part = w.processes["a"].part
    store: Any = part.store
    fresh = store.transaction

    def watched(*options: Any) -> Any:
        transaction = fresh(*options)
        commit = transaction.commit

        async def around() -> int:
            names = getattr(transaction, "_names", {}).values()
            if store.transaction is not watched or all(name[0] != "i" for name in names):
                return int(await commit())
            store.transaction = fresh
            await before()
            version = int(await commit())
            await after()
            return version

        transaction.commit = around
        return transaction

    store.transaction = watched


async def nothing() -> None:
    """Nothing happens."""


@pytest.mark.parametrize(
    ("rule", "orphans"), [(plans.another, [(5, 1)]), (plans.the_same, [])], ids=["C6-T6", "one"]
)
def test_c6_t6_entries_of_rows_that_are_gone_by_then(rule: Any, orphans: list[Any]) -> None:
    """The row is deleted between the read of a chunk and the commit of its entries."""
    w = world(writes_entries=rule)
    w.put("a", None, 1, v=5)

    async def deleted() -> None:
        await w.processes["b"].operate("c", w.request("b", "delete", None, 1))

    around_entries(w, deleted, nothing)
    w.loop.spawn(w.asks("a", INDEX))
    assert end(w) == (orphans, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "missing"), [(plans.without_reorganization, [(5, 1)]), (plans.all_states, [])]
)
def test_what_was_sent_under_a_lease_conflicts_before_rows_are_read(
    plan: Plan, missing: list[tuple[int, int]]
) -> None:
    """T passed the fence under delete-only; its commit arrives behind the backfill."""
    w = world(plan=plan)
    w.put("a", None, 9, v=9)
    w.loop.spawn(w.asks("a", INDEX))
    until(w, "b", DELETE_ONLY)
    w.put("b", "T", 1, v=5)
    store: Any = w.processes["b"].transactions["T"].store
    commit, sent = store.commit, w.loop.future()
    replies: list[Any] = []

    async def late() -> int:
        await sent
        return int(await commit())

    async def arrives() -> None:
        sent.set(None)
        await w.loop.sleep(1000)

    async def committed() -> None:
        replies.append(await w.processes["b"].commit("c", w.commit_request("T")))

    store.commit = late
    w.loop.spawn(committed())
    around_entries(w, nothing, arrives)
    wrong = end(w)
    assert (answer_or(replies[0]) is None) is bool(missing)
    assert wrong == ([], missing)


# --- the way up and down --------------------------------------------------------------------------


def states(w: World) -> list[str | None]:
    """The states that the log gave the index, in order; None once it is gone."""
    found: list[str | None] = []
    for update in w.events(UpdateLogged)[1:]:
        indexes = update.objects[0].definition.indexes
        found.append(indexes[0].state if indexes else None)
    return found


def test_an_index_goes_up_and_down_through_all_states() -> None:
    w = world()
    for key in range(5):
        w.put("a", None, key, v=key)
    assert answer_or(w.ddl("a", INDEX, 200_000)) is None
    assert w.wrong_entries() == ([], [])
    assert answer_or(w.ddl("a", DROP, 200_000)) is None
    up = ["delete_only", "write_only", "reorganization", "public"]
    assert states(w) == [*up, "write_only", "delete_only", None]
    assert w.entries() == []


def test_two_rows_with_the_same_values_take_a_unique_index_away_again() -> None:
    w = world()
    for key in (1, 2):
        w.put("a", None, key, v=5)
    assert answer_or(w.ddl("a", UNIQUE, 200_000)) is Reason.UNIQUE_VIOLATED
    assert states(w)[-1] is None
    assert w.entries() == []
    assert w.store.under("j") == []


def test_a_unique_constraint_has_no_states() -> None:
    w = world()
    asked = "ALTER TABLE t ADD CONSTRAINT u UNIQUE (v)"
    assert answer_or(w.ddl("a", asked)) is Reason.DDL_REFUSED


def test_statements_of_two_processes_keep_two_versions_in_use() -> None:
    """B's statement waits until the leases have ended on the version before A's update."""
    w = world()
    w.loop.spawn(w.asks("a", "ALTER TABLE t ADD COLUMN w INT"))
    w.run_ms(100)
    w.ddl("b", "ALTER TABLE t ADD COLUMN x INT")
    first, second = w.events(UpdateLogged)[1:]
    assert second.at_us - first.at_us >= 1_000_000


@pytest.mark.parametrize(
    "asked",
    [
        "ALTER TABLE t ADD CONSTRAINT c CHECK (v > 0)",
        "ALTER TABLE t ALTER COLUMN v SET NOT NULL",
        "ALTER TABLE t ALTER COLUMN v SET DATA TYPE VARCHAR",
    ],
)
def test_what_has_no_states_is_refused(asked: str) -> None:
    w = world(INDEX)
    assert answer_or(w.ddl("a", asked)) is Reason.DDL_REFUSED


def test_a_drop_of_an_index_that_is_gone_is_refused_unless_it_says_if_exists() -> None:
    w = World("c6_f1", schema=(T, INDEX))
    assert answer_or(w.ddl("a", "DROP INDEX i")) is None
    assert answer_or(w.ddl("b", "DROP INDEX i")) is Reason.OBJECT_NOT_FOUND
    assert answer_or(w.ddl("b", "DROP INDEX IF EXISTS i")) is None
