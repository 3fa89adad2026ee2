"""What operations do with indexes that are built in states, from the documents, on samples.

From PROTOCOL.md, "Index builds", and strategies.md, C6: a write makes the entries of its row those
of its new values, in the states in which an index has entries; before an index is AVAILABLE the
entry of a row may be missing, so that a write adds it again. A query finds the keys that the index
has, but for its transaction's own writes, which count by their rows. A query by an index that is
gone is refused; one with a NULL, or by an index that is not AVAILABLE or has other columns, goes
through the rows. Indexes that were registered and then built on the way let nothing commit.

A run asks few of these questions. So beside each run they are asked of samples.
"""

from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any, Final

from msgspec.structs import replace

from ddlsim.cluster.models.design.commit_questions import ended
from ddlsim.cluster.models.divergence import Divergence
from ddlsim.model.ddl import (
    ColumnAdded,
    IndexCreated,
    IndexDropped,
    IndexStateSet,
    ObjectChange,
    SimpleChange,
)
from ddlsim.model.ops import Key
from ddlsim.model.reasons import Reason
from ddlsim.model.schema import PUBLIC, Column, ColumnType, Index, Table, Value, View
from ddlsim.protocol.ids import EntryChange, IndexKey, Tuple, TxId
from ddlsim.protocol.partition.index_store import IndexStore
from ddlsim.protocol.partition.partition import Intent, RowVersion
from ddlsim.protocol.schema import index_states
from ddlsim.protocol.strategy import Strategy
from ddlsim.protocol.transaction import index_entries
from ddlsim.protocol.transaction.execution import Found
from ddlsim.protocol.transaction.readers import Readers
from ddlsim.protocol.transaction.replica import Replica
from ddlsim.units import Timestamp

Compared = Iterator[tuple[str, object, object]]
"""What is compared, what it is, and what it should be."""
NUMBER: Final = ColumnType("INTEGER")
COLUMNS: Final = tuple(Column(one, name, NUMBER) for one, name in ((1, "k"), (2, "v"), (3, "w")))
STATES: Final = ("write_only", "reorganization", PUBLIC)


def _table(version: int, *indexes: Index) -> Table:
    return Table(1, "t", version, COLUMNS, (1,), "default", indexes, next_column_id=4)


NONE: Final = _table(1)
ONE, TWO = Index(11, "i", (2,)), Index(12, "j", (3, 2))
BOTH: Final = _table(2, ONE, TWO)
TABLES: Final = {1: NONE, 2: BOTH}
ME, OTHER = (TxId(Timestamp(number), number, f"tx {number}") for number in (1, 2))


# --- states ---------------------------------------------------------------------------------------


def _states() -> Compared:
    gone = replace(ONE, id=13, name="g")
    versions: dict[int, object] = {
        1: NONE,
        2: _table(2, replace(ONE, state="write_only"), gone),
        3: _table(3, replace(ONE, state="reorganization"), gone),
        4: _table(4, ONE),
        5: _table(5, replace(ONE, state="write_only"), TWO),
    }

    def known(_table_id: int, version: int) -> object:
        return versions.get(version)

    for version, index_id in product(range(1, 6), (11, 12)):
        table = versions[version]
        assert isinstance(table, Table), table
        past = [
            index.state
            for one in versions.values()
            if isinstance(one, Table) and one.version <= version
            for index in one.indexes
            if index.id == index_id
        ]
        for state in STATES:
            found = index_states.had_state(known, table, index_id, state)
            yield f"whether {index_id} was {state} up to {version}", found, state in past
    versions[3] = None
    found = index_states.had_state(known, _table(5, *BOTH.indexes), 11, "write_only")
    yield "whether it was write_only before a version that is not here", found, True
    view = View(2, "w", 1, "", (1,))
    objects: dict[int, object] = {1: BOTH, 2: view}
    snapshot: Any = SimpleNamespace(by_id=objects.get)
    for table_id, index_id in product((1, 2, 3), (11, 12, 13)):
        index = {11: ONE, 12: TWO}.get(index_id) if table_id == 1 else None
        due = None if index is None else (BOTH, index)
        yield f"{index_id} of {table_id}", index_states.index_of(snapshot, table_id, index_id), due


def _steps() -> Compared:
    for index in (ONE, TWO):
        place = BOTH.indexes.index(index)
        for state in ("write_only", "reorganization"):
            new = replace(index, state=state)
            indexes = (*BOTH.indexes[:place], new, *BOTH.indexes[place + 1 :])
            step = index_states.set_to(BOTH, index, state)
            due = replace(BOTH, version=3, indexes=indexes)
            got = (step.object_id, step.version, step.definition, step.changes)
            yield f"{index} set to {state}", got, (1, 3, due, (IndexStateSet(index.id, state),))
        left = tuple(one for one in BOTH.indexes if one is not index)
        step = index_states.removed(BOTH, index)
        got = (step.object_id, step.version, step.definition, step.changes)
        due = replace(BOTH, version=3, indexes=left)
        yield f"{index} removed", got, (1, 3, due, (IndexDropped(index),))
    created = ObjectChange(1, "table", "t", 2, BOTH, (IndexCreated(TWO),))
    step = index_states.created_in(created, "write_only")
    new = replace(TWO, state="write_only")
    due = replace(BOTH, indexes=(ONE, new))
    made = (step.version, step.definition, step.changes)
    yield "an index created", made, (2, due, (IndexCreated(new),))


def _crossings(strategy: Strategy) -> Compared:
    """Whether a transaction may commit across steps that a table takes."""
    started = IndexStateSet(11, "reorganization")
    added = ColumnAdded(Column(4, "x", NUMBER))
    ways: tuple[tuple[tuple[SimpleChange, ...], bool], ...] = (
        ((), True),
        ((IndexCreated(ONE),), True),
        ((started,), True),
        ((IndexCreated(ONE), started), False),
        ((IndexCreated(TWO), started), True),
        ((IndexCreated(ONE), IndexCreated(TWO), started), False),
        ((IndexCreated(ONE), added, started, IndexStateSet(11, PUBLIC)), False),
        ((IndexCreated(ONE), IndexStateSet(11, PUBLIC)), True),
        ((IndexCreated(ONE), IndexDropped(ONE)), True),
        ((started, IndexCreated(ONE)), True),
    )
    for changes, may in ways:
        steps = tuple(
            ObjectChange(1, "table", "t", version, replace(BOTH, version=version), (change,))
            for version, change in enumerate(changes, start=2)
        )
        yield f"whether {changes} are crossed", strategy.check_commit(steps) is None, may


# --- operations -----------------------------------------------------------------------------------


def _questions() -> Compared:
    """By which index a query is answered; when it is gone; which rows have its values."""
    hidden = _table(2, replace(ONE, state="reorganization"), TWO)
    asked: tuple[tuple[Table, str, dict[str, Any], IndexKey | None], ...] = (
        (BOTH, "i", {"v": 5}, IndexKey(11, (5,))),
        (BOTH, "j", {"v": 5, "w": 6}, IndexKey(12, (6, 5))),
        (BOTH, "i", {"v": None}, None),
        (BOTH, "j", {"v": 5, "w": None}, None),
        (BOTH, "i", {"w": 5}, None),
        (BOTH, "j", {"v": 5}, None),
        (BOTH, "g", {"v": 5}, None),
        (hidden, "i", {"v": 5}, None),
        (hidden, "j", {"v": 1, "w": 2}, IndexKey(12, (2, 1))),
        (NONE, "i", {"v": 5}, None),
    )
    for table, name, wanted, due in asked:
        found = index_entries.asked_index(table, name, wanted)
        yield f"the index for {wanted} by {name}", found, due
    view = View(1, "t", 1, "", (2,))
    for now, there in (
        (None, ()),
        (view, ()),
        (NONE, ()),
        (BOTH, (11, 12)),
        (_table(3, TWO), (12,)),
    ):
        for index_id in (11, 12):
            gone = index_entries.is_gone(now, index_id)
            yield f"whether {index_id} is gone from {now}", gone, index_id not in there
    row = ((1, 0), (2, 5), (3, None))
    has: tuple[dict[int, Value], ...] = ({}, {2: 5}, {1: 0, 2: 5})
    lacks: tuple[dict[int, Value], ...] = (
        {2: 6},
        {3: None},
        {2: 5, 3: None},
        {2: 5, 1: 1},
        {2: 6, 1: 0},
    )
    for values in (*has, *lacks):
        yield f"whether it has {values}", index_entries.has_values(BOTH, row, values), values in has


def _written(strategy: Strategy) -> Compared:
    """The entries of a row behind a write, where those of the row before were there, or not.

    Of several writes of a transaction to a key the last one counts: what an earlier one of its own
    would leave has no entries, so that they change against the newest committed version.
    """
    node: Any = SimpleNamespace(name="beside")
    catalog: Any = SimpleNamespace(definition=lambda _, version: TABLES.get(version))
    writer = index_entries.EntryWriter(node, strategy, catalog)
    rows = (None, (0, 5, 6), (0, 5, 7), (0, 8, None))
    for state, old, new, version in product(STATES, rows, rows, (1, 2)):
        index = replace(ONE, state=state)
        table = _table(2, index, TWO)
        newest = (
            None if old is None and version == 1 else RowVersion("w", Timestamp(5), version, old)
        )
        own = {(0,): Intent(ME, "o", Timestamp(4), 2, (0, 9, 9), (1, 0))}
        kept, pending = (own, {}) if version == 1 else ({}, own)
        machine = SimpleNamespace(newest=lambda _key, newest=newest: newest, intents=kept)
        local: Any = SimpleNamespace(machine=machine, pending=pending)
        request: Any = SimpleNamespace(key=(0,), row=new, tx=ME)
        changes = writer.changes(request, local, table)
        for one in table.indexes:
            before, after = (_entry(one, row) for row in (old, new))
            mine = [each for each in changes if each.index_id == one.id]
            removed = (
                [] if before in {None, after} else [EntryChange(one.id, before or (), added=False)]
            )
            again = one.state != PUBLIC or before != after
            added = [EntryChange(one.id, after, added=True)] if after is not None and again else []
            yield f"what {old} -> {new} does to {one}", mine, removed + added
        yield "what a write does without indexes", writer.changes(request, local, NONE), ()


def _entry(index: Index, row: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return None if row is None else tuple(row[column - 1] for column in index.columns)


def _found(strategy: Strategy) -> Compared:
    """A query with and without writes of its own and of another transaction."""
    node: Any = SimpleNamespace(name="beside")
    catalog: Any = SimpleNamespace(definition=lambda _, version: TABLES.get(version))
    writer = index_entries.EntryWriter(node, strategy, catalog)
    store = IndexStore(1)
    for key in (1, 2):
        store.enter((key,), (EntryChange(11, (5,), added=True),), Timestamp(3))
    request: Any = SimpleNamespace(
        tx=ME, table_id=1, initial=2, lookups=(IndexKey(11, (5,)),), op="o"
    )
    rows = (None, (0, 5, 6), (0, 7, 6))
    for key, row, tx, is_pending in product((1, 3), rows, (ME, OTHER), (True, False)):
        mine = {(key,): Intent(tx, "o", Timestamp(4), 1, row, (1, 0))}
        machine = SimpleNamespace(index=store, intents={} if is_pending else mine)
        local: Any = SimpleNamespace(machine=machine, pending=mine if is_pending else {})
        due = {(1,), (2,)}
        if tx is ME:
            due = due | {(key,)} if row is not None and row[1] == 5 else due - {(key,)}
        found = writer.found(request, local)
        yield (
            f"what it finds beside {row} of {tx.label} at {key}",
            (set(found), len(found)),
            (due, len(due)),
        )
        own = index_entries.own_intent(local, ME, (key,))
        yield "its own intent", own, mine[key,] if tx is ME else None
    before, after = (Intent(ME, "o", Timestamp(4), 2, row, (1, 0)) for row in rows[1:])
    machine = SimpleNamespace(index=store, intents={(1,): before})
    local = SimpleNamespace(machine=machine, pending={(1,): after})
    yield "its last intent", index_entries.own_intent(local, ME, (1,)), after
    yield "what it finds of two writes", writer.found(request, local), [(2,)]
    yield "no intent", index_entries.own_intent(local, ME, (2,)), None
    yield "no row", writer.shown(BOTH, None), None
    yield "a row", writer.shown(BOTH, (1, (0, 5, 6))), ((1, 0), (2, 5), (3, 6))


def _by_now() -> Compared:
    """A query goes by what its node's clock shows: not by op_ts, its own schema or the newest."""
    gone_ts, after = 50, _table(3, TWO)

    def at(ts: int) -> Any:
        return SimpleNamespace(by_id=lambda _: BOTH if ts < gone_ts else after)

    catalog = SimpleNamespace(at=at, latest=lambda: at(gone_ts))
    local: Any = SimpleNamespace(lease=1, place=(1, 0), machine=SimpleNamespace(ended={}))
    for now_ts, before, index_id in product((49, 50, 51), (0, 5), (11, 12)):
        clock = SimpleNamespace(current=lambda ts=now_ts: ts, now=lambda ts=now_ts: ts)
        part: Any = SimpleNamespace(
            node=SimpleNamespace(clock=clock, probe=lambda _: None),
            sync=SimpleNamespace(catalog=catalog),
            participant=SimpleNamespace(record_read=lambda *_: None),
            executor=SimpleNamespace(read=lambda *_: SimpleNamespace(reason=None)),
        )
        asked: Any = SimpleNamespace(
            action="find", tx=ME, op="o", table_id=1, lease_start=1, one_phase=False,
            lookups=(IndexKey(index_id, (5,)),),
        )  # fmt: skip
        op_ts = Timestamp(now_ts - before)
        answer: Any = ended(Replica._execute(part, "n2", asked, local, BOTH, op_ts))
        is_gone = now_ts >= gone_ts and index_id == ONE.id
        late = now_ts - gone_ts
        what = f"how a query by {index_id} is answered {late} behind the end of {ONE.id}"
        yield what, answer.reason, Reason.SCHEMA_CHANGED if is_gone else None


def _in_the_past(strategy: Strategy) -> Compared:
    """A reader of the past finds the rows of then, also where the index is erased by now."""
    node: Any = SimpleNamespace(name="beside", recording=False)
    catalog: Any = SimpleNamespace(definition=lambda _, version: TABLES.get(version))
    writer = index_entries.EntryWriter(node, strategy, catalog)
    rows: dict[Key, Tuple | None] = {(1,): (0, 5, 6), (2,): (0, 7, 6), (3,): (0, 5, 7), (4,): None}
    late: dict[Key, Tuple | None] = {(5,): (0, 5, 8)}  # has committed, and is an intent here yet

    async def seen(_local: object, _request: object, key: Key) -> Found:
        return ("w", 2, {**rows, **late}[key])

    part: Any = SimpleNamespace(
        _seen=seen, _replica=SimpleNamespace(executor=SimpleNamespace(entries=writer))
    )
    asked: Any = SimpleNamespace(lookups=(IndexKey(11, (5,)),), read_ts=Timestamp(9), op="o")
    for is_erased, with_intents in product((False, True), ((), ((1,),), ((2,), (3,), (4,), (5,)))):
        store = IndexStore(1)
        for key in ((1,), (3,)):
            store.enter(key, (EntryChange(11, (5,), added=True),), Timestamp(3))
            store.enter(key, (EntryChange(11, (5,), added=False),), Timestamp(10))
        if is_erased:
            store.erase(11)
        local: Any = SimpleNamespace(
            machine=SimpleNamespace(index=store, rows=rows, intents=dict.fromkeys(with_intents))
        )
        found: Any = ended(Readers._found(part, local, asked, BOTH))
        what = f"what a reader finds beside intents of {with_intents}, erased: {is_erased}"
        due = [(1,), (3,), *(key for key in late if key in with_intents)]
        yield what, sorted(key for key, _ in found), due


def compare_forms(divergence: Divergence, strategy: Strategy) -> None:
    """Compare each question of a sample with what the documents say of it."""
    of_rules = (_states(), _steps(), _crossings(strategy), _questions())
    of_entries = (_written(strategy), _found(strategy), _by_now(), _in_the_past(strategy))
    for sample in of_rules + of_entries:
        for what, got, expected in sample:
            divergence.compare(what, got, expected)
