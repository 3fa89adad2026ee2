"""What the store holds of tables and indexes when a run has ended, as events of the history."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import cast

from ddlsim.fdb.keys import Key
from ddlsim.history.events import RowFinal, SchemaResolved, TxCommitted
from ddlsim.history.index_events import IndexFinal
from ddlsim.layer.keyspace import INDEXES, OUTCOMES, ROWS, key_of_entry, key_of_row, outcome_key
from ddlsim.layer.schema import Schema, Update
from ddlsim.layer.transaction import COMMITTED, commit_events
from ddlsim.model.schema import Table, Value
from ddlsim.protocol.schema.rows import decode
from ddlsim.units import MIN_TIMESTAMP, Micros, Timestamp


def contents(
    node: str,
    now: Micros,
    held: Iterable[tuple[Key, object]],
    outcomes: Mapping[Key, object],
    schema: Schema,
    stamp: Callable[[int], Timestamp],
) -> Iterator[RowFinal | IndexFinal]:
    """The rows and entries that one storage server holds.

    `outcomes` are the values of the store that tell when a transaction committed; a row whose
    writer has none is shown without its commit version.
    """
    columns = _columns_of_indexes(schema)
    for key, value in held:
        space, owner = key[0], key[1] if len(key) > 1 else None
        assert isinstance(owner, int) or space not in (ROWS, INDEXES), f"{key} has no owner"
        if space == ROWS and isinstance(owner, int):
            assert isinstance(value, tuple), f"{value!r} is no row"
            writer, version, form, values = value
            table = schema.definition(owner, form)
            cells = None
            if values is not None and isinstance(table, Table):
                cells = decode(table, values)
            committed = outcomes.get(outcome_key(writer))
            ts = stamp(committed[0]) if isinstance(committed, tuple) else MIN_TIMESTAMP
            yield RowFinal(now, node, owner, 0, key_of_row(key), writer, ts, version, cells)
        elif space == INDEXES and isinstance(owner, int):
            table_id, width = columns.get(owner, (0, 1))
            entry = cast("tuple[Value, ...]", key[2 : 2 + width])
            row = key_of_entry(key, width)
            yield IndexFinal(now, node, table_id, owner, entry, row)


def unrecorded(
    now: Micros,
    outcomes: Mapping[Key, object],
    is_first: Callable[[object], bool],
    stamp: Callable[[int], Timestamp],
) -> Iterator[SchemaResolved | TxCommitted]:
    """The commits that no process has recorded: it crashed before it learned of them."""
    for key, value in outcomes.items():
        if key[0] != OUTCOMES or not isinstance(value, tuple):
            continue
        version, node, used = value
        tx = str(key[1])
        if version and is_first((COMMITTED, tx)):
            yield from commit_events(now, node, tx, stamp(version), used, wrote=True)


def updates_in(held: Mapping[Key, object]) -> tuple[Update, ...]:
    """The schema updates that the store holds, in their order."""
    found = [value for value in held.values() if isinstance(value, Update)]
    return tuple(sorted(found, key=lambda one: one.number))


def _columns_of_indexes(schema: Schema) -> dict[int, tuple[int, int]]:
    """By index or unique constraint: its table, and over how many columns it is."""
    found: dict[int, tuple[int, int]] = {}
    for update in schema.updates:
        for change in update.objects:
            if isinstance(change.definition, Table):
                table = change.definition
                for index in table.indexes:
                    found[index.id] = (table.id, len(index.columns))
                for constraint in table.constraints:
                    found[constraint.id] = (table.id, len(constraint.columns))
    return found
