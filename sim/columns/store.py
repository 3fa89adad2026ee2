"""Column histories as one Parquet file: read and written in batches, whatever their size.

A row is a transaction with its operations as lists, so that a row group is a stretch of history
that makes sense by itself and a reader needs no join. What belongs to the whole (its format, names
of keys and transactions if they have any) stands in the file's metadata. Files are written under
another name and renamed when they are whole.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types

from sim.columns.history import (
    DTYPES,
    OF_OPERATIONS,
    OF_TRANSACTIONS,
    Array,
    ColumnHistory,
    HistoryError,
    Names,
    check,
)

FORMAT: Final = "ddlsim-columns-1"
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
    part = path.with_name(path.name + ".part")
    schema = _schema(names)
    with pq.ParquetWriter(part, schema, compression="zstd", compression_level=1) as writer:
        for one in batches:
            writer.write_batch(_as_batch(one, schema))
    part.replace(path)


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


def read(path: Path) -> ColumnHistory:
    """A stored history. Raises `HistoryError` for a file that is not one, or is damaged."""
    try:
        with pq.ParquetFile(path) as file:
            return _whole(path, file)
    except (pa.ArrowException, OSError) as wrong:
        raise HistoryError(f"{path}: cannot be read as a history of columns: {wrong}") from wrong


def _whole(path: Path, file: Any) -> ColumnHistory:
    names = _names(path, file)
    rows: int = file.metadata.num_rows
    parts: dict[str, list[Array]] = {name: [] for name in DTYPES}
    filled = {name: np.empty(rows, DTYPES[name]) for name in OF_TRANSACTIONS}
    done = 0
    for group in range(file.metadata.num_row_groups):
        batch = file.read_row_group(group, use_threads=False).combine_chunks()
        size = batch.num_rows
        for name in OF_TRANSACTIONS:
            filled[name][done : done + size] = _plain(path, batch.column(name), name)
        _operations(path, batch, done, parts)
        done += size
    for name, found in parts.items():
        if name in OF_OPERATIONS:
            filled[name] = np.concatenate(found) if found else np.empty(0, DTYPES[name])
            found.clear()
    history = ColumnHistory(**filled, names=names)
    check(history)
    return history


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


def _operations(path: Path, batch: Any, done: int, parts: dict[str, list[Array]]) -> None:
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
        parts[name].append(values.to_numpy(zero_copy_only=False))
        here = np.diff(chunk.offsets.to_numpy())
        if length is not None and not np.array_equal(length, here):
            raise HistoryError(f"{path}: column {name}: lists of other lengths than {_LISTS[0]}")
        length = here
    if length is not None:
        numbers = np.arange(done, done + len(length), dtype=np.int32)
        parts["tx"].append(np.repeat(numbers, length))


def _names(path: Path, file: Any) -> Names:
    said = (file.schema_arrow.metadata or {}).get(_KEY)
    header = json.loads(said) if said else {}
    if header.get("format") != FORMAT:
        raise HistoryError(f"{path}: not a history of columns (its format is not {FORMAT})")
    missing = [name for name in (*OF_TRANSACTIONS, *_LISTS) if name not in file.schema_arrow.names]
    if missing:
        raise HistoryError(f"{path}: no column {missing[0]}")
    return Names(header["transactions"], header["keys"])
