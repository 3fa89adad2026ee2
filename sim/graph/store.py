"""Column histories as one Parquet file: read and written in batches, whatever their size.

A row is a transaction with its operations as lists, so that a row group is a stretch of history
that makes sense by itself and a reader needs no join. What belongs to the whole (its format, names
of keys and transactions if they have any) stands in the file's metadata. Pages have checksums and
the footer a digest of all of it (`ddlsim.sealed`); a file that shows damage is no history. Files
are written under another name and renamed when they are whole.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim import sealed
from ddlsim.files import beside
from ddlsim.graph.history import (
    DTYPES,
    OF_OPERATIONS,
    OF_TRANSACTIONS,
    Array,
    Before,
    ColumnHistory,
    HistoryError,
    Names,
    check,
    check_part,
    check_whole,
)

FORMAT: Final = f"{sealed.COLUMNS}2"
BATCH: Final = 131_072
"""Transactions in a row group."""
_KEY: Final = b"ddlsim"
_LISTS: Final = tuple(name for name in OF_OPERATIONS if name != "tx")
"""What an operation says beside whose it is."""


def _schema(names: Names) -> pa.Schema:
    fields = [pa.field(name, pa.from_numpy_dtype(DTYPES[name])) for name in OF_TRANSACTIONS]
    fields += [pa.field(name, pa.list_(pa.from_numpy_dtype(DTYPES[name]))) for name in _LISTS]
    header = {"format": FORMAT, "keys": names.keys, "transactions": names.transactions}
    said = json.dumps(header, default=list).encode()
    return pa.schema(fields, metadata={_KEY: said})


def write(path: Path, history: ColumnHistory, batch: int = BATCH) -> None:
    """Store a history; one that is there already is replaced when the new one is whole."""
    write_batches(path, _cut(history, batch), history.names)


def write_batches(path: Path, batches: Iterable[ColumnHistory], names: Names) -> None:
    """Store a history given in parts, each with its transactions numbered from 0."""
    schema = _schema(names)
    # no statistics: a judge that skips rows by them would believe what no digest covers
    options = {"compression_level": 1, "write_statistics": False}
    with beside(path) as part, sealed.Writer(part, schema, **options) as writer:
        for one in batches:
            writer.write(_as_batch(one, schema))


def _cut(history: ColumnHistory, batch: int) -> Iterator[ColumnHistory]:
    for low in range(0, history.transactions, batch):
        high = min(low + batch, history.transactions)
        first, last = np.searchsorted(history.tx, [low, high])
        columns = {name: getattr(history, name)[low:high] for name in OF_TRANSACTIONS}
        columns |= {name: getattr(history, name)[first:last] for name in OF_OPERATIONS}
        columns["tx"] = columns["tx"] - np.int32(low)
        yield ColumnHistory(**columns)


def _as_batch(one: ColumnHistory, schema: pa.Schema) -> pa.RecordBatch:
    offsets = np.searchsorted(one.tx, np.arange(one.transactions + 1, dtype=np.int32))
    starts = pa.array(offsets.astype(np.int32))
    columns: list[Any] = [pa.array(getattr(one, name)) for name in OF_TRANSACTIONS]
    columns += [pa.ListArray.from_arrays(starts, pa.array(getattr(one, name))) for name in _LISTS]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def names(path: Path) -> Names:
    """What transactions and keys of a stored history are called; `HistoryError` as of `read`.

    Only the footer is read: what it says is certain once the whole file was (`read`, `verify`).
    """
    try:
        return _names(path, sealed.metadata(path))
    except sealed.DamagedError as wrong:
        raise _damaged(path, wrong) from wrong


def size(path: Path) -> int:
    """How many transactions a stored history has, by its footer."""
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types

    rows: int = pq.read_metadata(path).num_rows
    return rows


def verify(path: Path) -> None:
    """Look through a stored history in little memory; raises what `read` does."""
    called = names(path)
    seen = Before()
    try:
        for columns in _parts(path):
            seen = check_part(ColumnHistory(**columns, names=called), seen)
    except sealed.DamagedError as wrong:
        raise _damaged(path, wrong) from wrong
    check_whole(seen, called)


def read(path: Path) -> ColumnHistory:
    """A stored history. Raises `HistoryError` for a file that is not one, or is damaged."""
    called = names(path)
    try:
        history = _whole(path, called)
    except sealed.DamagedError as wrong:
        raise _damaged(path, wrong) from wrong
    check(history)
    return history


def _damaged(path: Path, wrong: sealed.DamagedError) -> HistoryError:
    return HistoryError(f"{path}: cannot be read as a history of columns: {wrong}; make it again")


def _whole(path: Path, called: Names) -> ColumnHistory:
    found: dict[str, list[Array]] = {name: [] for name in DTYPES}
    for columns in _parts(path):
        for name, column in columns.items():
            found[name].append(column)
    filled = {}
    for name, parts in found.items():
        filled[name] = np.concatenate(parts)
        parts.clear()
    return ColumnHistory(**filled, names=called)


def _parts(path: Path) -> Iterator[dict[str, Array]]:
    """The columns of each row group, transactions numbered on; nothing is certain before the end,
    see `sealed.row_groups`."""
    done = 0
    for group in sealed.row_groups(path):
        _check_columns(path, group.schema)
        batch = group.combine_chunks()
        columns = {name: _plain(path, batch.column(name), name) for name in OF_TRANSACTIONS}
        yield columns | _operations(path, batch, done)
        done += batch.num_rows


def _plain(path: Path, column: Any, name: str) -> Array:
    chunk = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if chunk.null_count:
        raise HistoryError(f"{path}: column {name}: a value is missing")
    _typed(path, chunk, name)
    found: Array = chunk.to_numpy(zero_copy_only=False)
    return found


def _typed(path: Path, values: Any, name: str) -> None:
    wanted = pa.from_numpy_dtype(DTYPES[name])
    if values.type != wanted:
        raise HistoryError(f"{path}: column {name}: holds {values.type}, not {wanted}")


def _operations(path: Path, batch: Any, done: int) -> dict[str, Array]:
    """The columns of the operations of a row group, before which there are `done` transactions."""
    columns = {name: np.empty(0, DTYPES[name]) for name in OF_OPERATIONS}
    length: Array | None = None
    for name in _LISTS:
        lists = batch.column(name)
        if not lists.num_chunks:
            continue
        chunk = lists.chunk(0)
        if not pa.types.is_list(chunk.type):
            raise HistoryError(f"{path}: column {name}: holds {chunk.type}, not lists")
        values = chunk.flatten()
        _typed(path, values, name)
        if chunk.null_count or values.null_count:
            raise HistoryError(f"{path}: column {name}: a value is missing")
        columns[name] = values.to_numpy(zero_copy_only=False)
        here = np.diff(chunk.offsets.to_numpy())
        if length is not None and not np.array_equal(length, here):
            raise HistoryError(f"{path}: column {name}: lists of other lengths than {_LISTS[0]}")
        length = here
    if length is not None:
        numbers = np.arange(done, done + len(length), dtype=np.int32)
        columns["tx"] = np.repeat(numbers, length)
    return columns


def _check_columns(path: Path, schema: Any) -> None:
    """Every column once."""
    for name in (*OF_TRANSACTIONS, *_LISTS):
        count = schema.names.count(name)
        if count != 1:
            what = f"no column {name}" if not count else f"{count} columns {name}"
            raise HistoryError(f"{path}: {what}")


def _names(path: Path, said: dict[bytes, bytes]) -> Names:
    """What the metadata says of names; `HistoryError` if it is not that of such a history."""
    try:
        header = json.loads(said.get(_KEY, b"{}"))
        format_ = header.get("format") if isinstance(header, dict) else None
        if isinstance(format_, str) and format_.startswith(sealed.COLUMNS) and format_ != FORMAT:
            what = f"is of {format_[:40]}, this program reads {FORMAT}; make it again"
            raise HistoryError(f"{path}: {what}")
        if format_ != FORMAT:
            raise HistoryError(f"{path}: not a history of columns (its format is not {FORMAT})")
        return Names(_texts(header, "transactions"), _texts(header, "keys"))
    except (ValueError, RecursionError) as wrong:
        if isinstance(wrong, HistoryError):
            raise
        what = "not a history of columns (its metadata cannot be read)"
        raise HistoryError(f"{path}: {what}") from wrong


def _texts(header: dict[str, Any], key: str) -> list[str] | None:
    """A list of names, or None where things are called by their numbers."""
    found = header.get(key)
    if found is not None and not (
        isinstance(found, list) and all(isinstance(one, str) for one in found)
    ):
        raise ValueError(key)
    return found
