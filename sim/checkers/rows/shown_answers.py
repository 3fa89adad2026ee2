"""What clients are shown, against what was executed for them; part of I7.

A read that succeeded shows the rows that were found for it, by the names of the columns under the
version that its transaction uses, all of its table's partitions for a scan. A write that succeeded
was executed, if its transaction committed; an insert, a replace or an update says whether it wrote.
What is written holds the values that the client named: the other columns keep, for an update, what
was found, and have their defaults where it names a whole row.

An operation may be executed more than once, where messages are sent again: what is shown is one of
these executions, of each partition.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

from ddlsim.checkers.base import Anomaly
from ddlsim.checkers.case.case import Case, Operation
from ddlsim.checkers.case.entries import key_of
from ddlsim.checkers.case.rows import is_same_value, upgraded
from ddlsim.checkers.case.words import value_words
from ddlsim.checkers.case.writes import Writes
from ddlsim.checkers.spec.types import read as meaning_of
from ddlsim.history.event import Cells
from ddlsim.history.events import (
    AnyEvent,
    Invoked,
    Named,
    Ok,
    ReadExecuted,
    RowRead,
    WriteExecuted,
)
from ddlsim.model.ops import Key
from ddlsim.model.schema import Column, Table, Value

READS: Final = ("get", "scan", "find")
WHOLE_ROWS: Final = ("put", "insert", "replace")
CONDITIONAL: Final = ("insert", "replace", "update")
WRITES: Final = (*WHOLE_ROWS, "update", "delete")
LONGEST: Final = 160
Shown = tuple[tuple[str, str, Value], ...]
"""A row as its user sees it: (name, type, value) of each column, by name."""


class Executed(NamedTuple):
    """What was executed for each operation, by its name.

    `ended` are the transactions that are committed, or acknowledged as such.
    """

    reads: dict[str, list[ReadExecuted]]
    writes: dict[str, list[tuple[int, WriteExecuted]]]
    ended: dict[str, None]


def shown_answers(case: Case, writes: Writes) -> Iterator[Anomaly]:
    """Every operation on rows that succeeded, then every write against what it was to be."""
    executed = Executed({}, {}, {tx.name: None for tx in case.committed})
    for _, read in case.of(ReadExecuted):
        executed.reads.setdefault(read.op, []).append(read)
    for position, write in case.of(WriteExecuted):
        executed.writes.setdefault(write.op, []).append((position, write))
    succeeded = [one for one in case.operations.values() if isinstance(one.ended, Ok)]
    for one in succeeded:
        if one.invoked is not None and one.invoked.kind == "commit" and one.invoked.tx is not None:
            executed.ended[one.invoked.tx] = None
    for operation in succeeded:
        asked = operation.invoked
        if asked is None:
            continue
        if asked.kind in READS:
            yield from _read(case, writes, operation, asked, executed)
        elif asked.kind in WRITES:
            yield from _written(case, operation, asked, executed)
    yield from _values(case, writes, executed)


def _counts(case: Case, operation: Operation, asked: Invoked) -> dict[str, None]:
    """The transactions that an answer is about: an implicit one may have been tried before."""
    if asked.tx is not None:
        return {asked.tx: None}
    committed = [name for name in operation.txs if case.transactions[name].committed is not None]
    return dict.fromkeys(committed or operation.txs)


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


# --- reads ---------------------------------------------------------------------------------------


def _read(
    case: Case, writes: Writes, operation: Operation, asked: Invoked, executed: Executed
) -> Iterator[Anomaly]:
    assert isinstance(operation.ended, Ok), operation.name
    of = _counts(case, operation, asked)
    reads = [read for read in executed.reads.get(operation.name, ()) if read.tx in of]
    if not reads:
        yield _not_executed(operation, asked, operation.ended)
        return
    shown = operation.ended.value
    rows = shown if asked.kind != "get" else [] if shown is None else [shown]
    found = None if not isinstance(rows, list) else Counter(_sorted(row) for row in rows)
    named = case.named.get(operation.name)
    if found is None or found not in _possible(case, writes, asked, named, reads):
        yield Anomaly(
            "shown-otherwise",
            f"{operation.name} ({asked.kind} of {asked.table}) showed its client "
            f"{_shortened(shown)}, which is not what was found for it",
            (asked, *reads, operation.ended),
            clauses=("110.flow.5",),
        )


def _possible(
    case: Case, writes: Writes, asked: Invoked, named: Named | None, reads: list[ReadExecuted]
) -> Iterator[Counter[Shown]]:
    """What a read may have shown: one of its executions in each place, under one version."""
    by_place: dict[tuple[int, int], list[ReadExecuted]] = {}
    for read in reads:
        place = (read.object_id, read.partition if asked.kind != "get" else 0)
        by_place.setdefault(place, []).append(read)
    tables = {read.object_id: None for read in reads}
    for object_id in tables:
        here = [each for place, each in by_place.items() if place[0] == object_id]
        for version in _versions(case, reads, object_id):
            table = writes.table(object_id, version)
            if table is None:
                continue
            options = [_distinct(read_all, writes, table, named) for read_all in here]
            for chosen in product(*options):
                yield sum((Counter(one) for one in chosen), Counter())


def _versions(case: Case, reads: list[ReadExecuted], object_id: int) -> dict[int, None]:
    """The versions under which a client may show rows: what was run under, and the enlisted one."""
    versions = {read.version: None for read in reads if read.object_id == object_id}
    for name in {read.tx: None for read in reads}:
        for _, enlisted in case.transactions[name].enlisted:
            if enlisted.object_id == object_id:
                versions[enlisted.version] = None
    return versions


def _distinct(
    reads: list[ReadExecuted], writes: Writes, table: Table, named: Named | None
) -> list[tuple[Shown, ...]]:
    """The different results of the executions in one place."""
    found: dict[tuple[Shown, ...], None] = {}
    for read in reads:
        run_under = writes.table(read.object_id, read.version) or table
        wanted = named.values if named is not None and read.predicate else None
        rows = [
            dict(row.row)
            for row in read.rows
            if row.row is not None and _has_values(row.row, run_under, wanted)
        ]
        names = () if named is None else named.columns
        found[tuple(sorted((_shown(row, table, names) for row in rows), key=repr))] = None
    return list(found)


def _shown(row: dict[int, Value], table: Table, names: tuple[str, ...]) -> Shown:
    """A row as a client shows it under a version; `names` where it asks for some columns only."""
    by_name = {column.name: row.get(column.id) for column in table.columns}
    return _sorted({name: by_name.get(name) for name in names} if names else by_name)


def _sorted(row: Any) -> Shown:
    if not isinstance(row, dict):
        return (("", "", None),)
    return tuple(sorted((name, type(value).__name__, value) for name, value in row.items()))


def _has_values(row: Cells, table: Table, wanted: dict[str, Value] | None) -> bool:
    """Whether a row is one that a query by values asks for; nothing equals NULL."""
    if wanted is None:
        return True
    cells, columns = dict(row), {column.name: column for column in table.columns}
    for name, value in wanted.items():
        column = columns.get(name)
        if column is None or not _means(cells.get(column.id), value, column):
            return False
    return True


def _means(value: Value, wanted: Value, column: Column) -> bool:
    here, there = meaning_of(value, column.type), meaning_of(wanted, column.type)
    return here is not None and there is not None and here.content == there.content


# --- writes --------------------------------------------------------------------------------------


def _written(
    case: Case, operation: Operation, asked: Invoked, executed: Executed
) -> Iterator[Anomaly]:
    """A write that succeeded was executed, and only then if it says that it wrote."""
    assert isinstance(operation.ended, Ok), operation.name
    of, wrote = _counts(case, operation, asked), operation.ended.value is not False
    if asked.kind in CONDITIONAL:
        done = [read for read in executed.reads.get(operation.name, ()) if read.tx in of]
        found = [(read, row.row) for read in done for row in _of_key(read, asked.key)]
        says = [(row is not None) is (asked.kind != "insert") for _, row in found]
        if says and wrote not in says:
            yield _untrue(operation, asked, [read for read, _ in found])
    if asked.tx is not None and asked.tx not in executed.ended:
        return
    events = [write for _, write in executed.writes.get(operation.name, ()) if write.tx in of]
    there = [one for one in events if key_of(one.key) == key_of(asked.key)]
    if wrote and not there:
        yield _not_executed(operation, asked, operation.ended)
    elif not wrote and any(one.tx in executed.ended for one in there):
        yield _untrue(operation, asked, there)


def _of_key(read: ReadExecuted, key: Key) -> list[RowRead]:
    """What was found for a key; other rows were looked up for a unique index."""
    return [row for row in read.rows if key_of(row.key) == key_of(key)]


def _not_executed(operation: Operation, asked: Invoked, ended: Ok) -> Anomaly:
    return Anomaly(
        "acknowledged-not-executed",
        f"{operation.name} ({asked.kind} of {asked.table}) succeeded for its client, but no node "
        "executed it",
        (asked, ended),
    )


def _untrue(operation: Operation, asked: Invoked, events: Sequence[AnyEvent]) -> Anomaly:
    assert isinstance(operation.ended, Ok), operation.name
    return Anomaly(
        "untrue-result",
        f"{operation.name} ({asked.kind} of {asked.table}) said {operation.ended.value!r} to its "
        "client, but what was executed for it says otherwise",
        (asked, *events, operation.ended),
    )


# --- values --------------------------------------------------------------------------------------


def _values(case: Case, writes: Writes, executed: Executed) -> Iterator[Anomaly]:
    """Rows that do not hold what their client named, or changed what it did not name."""
    for op, events in executed.writes.items():
        operation = case.operations.get(op)
        asked = None if operation is None else operation.invoked
        named = case.named.get(op)
        if asked is None or named is None or named.values is None:
            continue
        for position, event in events:
            why = _why_other(case, writes, asked, named.values, position, event, executed)
            if why is not None:
                encoded = case.meant(event, position)
                witness: tuple[AnyEvent, ...] = (asked, named, event)
                yield Anomaly(
                    "written-otherwise",
                    f"{op} ({asked.kind} of {asked.table}) was to write "
                    f"{_shortened(named.values)} and wrote {event.key!r}: {why}",
                    witness if encoded is None else (*witness, encoded),
                    clauses=("110.flow.2",),
                )
                break


def _why_other(
    case: Case,
    writes: Writes,
    asked: Invoked,
    values: dict[str, Value],
    position: int,
    event: WriteExecuted,
    executed: Executed,
) -> str | None:
    """The first column that is otherwise; by what the client encoded, where it did."""
    write = writes.at[position]
    table = writes.table(event.object_id, write.meant_version)
    if table is None or write.meant is None:
        return None if asked.kind == "delete" or table is None else "it deleted the row"
    cells = dict(write.meant)
    kept: dict[int, Value] | None = None
    if asked.kind == "update":
        kept = _found(writes, event, table, executed)
        if kept is None:
            return None
    for column in table.columns:
        if column.id in table.key:
            continue
        if column.name in values:
            due = values[column.name]
        else:
            due = column.default if kept is None else kept.get(column.id)
        if not _is_same(due, cells.get(column.id), column):
            held = value_words(cells.get(column.id))
            return f"{column.name} should be {value_words(due)} and is {held}"
    return None


def _found(
    writes: Writes, event: WriteExecuted, table: Table, executed: Executed
) -> dict[int, Value] | None:
    """The row that an update found; None where the history does not say."""
    found = [
        (read, row.row)
        for read in executed.reads.get(event.op, ())
        if read.tx == event.tx and read.node == event.node
        for row in _of_key(read, event.key)
        if row.row is not None
    ]
    if not found:
        return None
    read, cells = found[-1]
    source = writes.table(read.object_id, read.version)
    return None if source is None else dict(upgraded(cells, source, table))


def _is_same(due: Value, value: Value, column: Column) -> bool:
    return is_same_value(due, column.type, value) or _means(due, value, column)
