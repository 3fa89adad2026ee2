"""The entries of indexes in one replica: versions, backfill, intents, erasure, snapshots."""

from typing import Any

from ddlsim.protocol.commands import FillIndex
from ddlsim.protocol.ids import EntryChange, TxId
from ddlsim.protocol.partition.index_store import IndexStore
from ddlsim.units import MAX_TIMESTAMP, Timestamp
from tests.support.schemas import snapshot_of

TABLE = snapshot_of("CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE INDEX i ON t (v)").tables()[
    0
]
INDEX = TABLE.indexes[0].id
OLD = TxId(Timestamp(1), 0, "old")


def at(ts: int) -> Timestamp:
    return Timestamp(ts)


def store() -> IndexStore:
    """A store whose catalog knows one version of its table."""
    made = IndexStore(TABLE.id)
    made.definition = lambda object_id, version: TABLE
    return made


def change(value: int, *, added: bool = True) -> EntryChange:
    return EntryChange(INDEX, (value,), added)


def step(begin: int = 0, limit: int = 10, since: int = 100) -> FillIndex:
    return FillIndex(INDEX, TABLE.version, at(since), begin, limit, 0)


def versions(*rows: tuple[int, int | None]) -> Any:
    """A row's versions: (commit_ts, its value; None: deleted)."""
    return [(at(ts), TABLE.version, None if value is None else (1, value)) for ts, value in rows]


def found(one: IndexStore, ts: int = MAX_TIMESTAMP) -> dict[int, list[Any]]:
    """The keys under the values 5 and 6."""
    return {value: one.find(INDEX, (value,), at(ts)) for value in (5, 6)}


def test_an_entry_is_there_from_its_commit_until_it_is_removed() -> None:
    one = store()
    one.enter(1, (change(5, added=False), change(6)), at(20))  # its cleanup came first
    one.enter(1, (change(5),), at(10))
    assert found(one, 9) == {5: [], 6: []}
    assert found(one, 10) == {5: [1], 6: []}
    assert found(one, 20) == found(one) == {5: [], 6: [1]}


def test_what_a_transaction_wrote_last_counts_and_only_if_it_commits() -> None:
    one = store()
    one.intend(OLD, 1, (change(5),))
    one.intend(OLD, 1, (change(6),))
    one.intend(OLD, 2, (change(5),))
    one.commit(OLD, 1, at(10))
    one.forget(OLD)
    one.commit(OLD, 2, at(10))
    assert found(one) == {5: [], 6: [1]}


def test_a_backfill_goes_through_the_rows_in_steps_and_each_step_once() -> None:
    one = store()
    rows = {1: versions((10, 5)), 2: versions((20, 6)), 3: versions((30, 5))}
    assert [each.key for each in one.fill(step(0, 2), rows, {})] == [1, 2]
    assert not one.fill(step(0, 2), rows, {})  # a copy
    assert one.filled == {INDEX: 2}
    assert INDEX not in one.complete
    assert [each.key for each in one.fill(step(2, 2), rows, {})] == [3]
    assert INDEX in one.complete
    assert found(one) == {5: [1, 3], 6: [2]}


def test_a_backfill_enters_each_version_that_can_still_be_read() -> None:
    one = store()
    one.fill(step(since=100), {1: versions((10, 6), (50, 5), (120, 6), (130, None))}, {})
    assert found(one, 49) == {5: [], 6: []}  # nothing reads so far back by the index
    assert found(one, 119) == {5: [1], 6: []}
    assert found(one, 125) == {5: [], 6: [1]}
    assert found(one) == {5: [], 6: []}


def test_a_backfill_removes_what_a_transaction_without_the_index_left() -> None:
    """One with the index inserted 5; one without it wrote 6 over that, or deleted the row."""
    for value, expected in ((6, {5: [], 6: [1]}), (None, {5: [], 6: []})):
        one = store()
        one.enter(1, (change(5),), at(50))
        one.fill(step(since=100), {1: versions((50, 5), (60, value))}, {})
        assert found(one) == expected
        assert found(one, 59) == {5: [1], 6: []}


def test_a_backfill_gives_entries_to_intents_that_commit_behind_it() -> None:
    """What they replace goes with the commit, also where the row's turn comes in a later step."""
    for limit in (10, 1):
        one = store()
        rows = {3: versions((10, 6)), 1: versions((10, 5))}
        intents = {1: (OLD, "w", TABLE.version, (1, 6)), 2: (OLD, "x", TABLE.version, (2, 5))}
        filled = one.fill(step(0, limit), rows, intents)
        assert [each.tx for each in filled] == [None, OLD, OLD, OLD, None]
        one.fill(step(limit, limit), rows, intents)
        assert found(one) == {5: [1], 6: [3]}
        for key in (1, 2):
            one.commit(OLD, key, at(90))
        assert found(one, 89) == {5: [1], 6: [3]}
        assert {value: sorted(keys) for value, keys in found(one).items()} == {5: [2], 6: [1, 3]}


def test_an_intent_replaces_the_entry_that_is_there() -> None:
    one = store()
    one.enter(1, (change(5),), at(10))
    one.fill(step(), {1: versions((10, 5))}, {1: (OLD, "w", TABLE.version, (1, 6))})
    one.commit(OLD, 1, at(90))
    assert found(one, 89) == {5: [1], 6: []}
    assert found(one) == {5: [], 6: [1]}


def test_an_intent_of_a_transaction_with_the_index_stays_as_it_is() -> None:
    one = store()
    one.intend(OLD, 1, (change(6),))
    assert not one.fill(step(), {}, {1: (OLD, "w", TABLE.version, (1, 5))})
    one.commit(OLD, 1, at(90))
    assert found(one) == {5: [], 6: [1]}


def test_an_index_that_is_erased_gets_no_entry_any_more() -> None:
    one = store()
    one.enter(1, (change(5),), at(10))
    one.intend(OLD, 2, (change(5),))
    one.erase(INDEX)
    one.commit(OLD, 2, at(20))
    assert not one.fill(step(), {1: versions((10, 5))}, {})
    assert found(one) == {5: [], 6: []}
    assert not list(one.held())


def test_a_snapshot_holds_all_of_it() -> None:
    one, other = store(), store()
    one.enter(1, (change(5),), at(10))
    one.enter(1, (change(5, added=False), change(6)), at(20))
    one.intend(OLD, 2, (change(5),))
    one.fill(step(0, 1), {1: versions((10, 5), (20, 6)), 3: versions((30, 6))}, {})
    one.erase(INDEX + 1)
    other.install(one.snapshot())
    assert other.snapshot() == one.snapshot()
    for each in (one, other):
        each.commit(OLD, 2, at(40))
        each.fill(step(1), {1: versions((10, 5), (20, 6)), 3: versions((30, 6))}, {})
    assert found(other) == found(one) == {5: [2], 6: [1, 3]}
    assert other.complete == one.complete
    assert other.erased == one.erased
