"""What was written is what is read, and what is no history of columns is refused by its name."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ddlsim import sealed
from ddlsim.graph.history import ColumnHistory, HistoryError, Names, columns_of, make
from ddlsim.graph.store import read, verify, write, write_batches
from tests.support.column_histories import Shape, history, plant


def same(one: ColumnHistory, other: ColumnHistory) -> bool:
    columns = columns_of(other)
    return one.names == other.names and all(
        column.dtype == columns[name].dtype and np.array_equal(column, columns[name])
        for name, column in columns_of(one).items()
    )


@pytest.mark.parametrize("batch", [1, 7, 100, 1000])
def test_a_history_comes_back_as_it_was(tmp_path: Path, batch: int) -> None:
    found = plant(history(3, Shape(100)), "schema-G-single", "G1a")
    write(tmp_path / "h.parquet", found, batch)
    assert same(read(tmp_path / "h.parquet"), found)
    assert pq.ParquetFile(tmp_path / "h.parquet").num_row_groups == -(-found.transactions // batch)
    assert [path.name for path in tmp_path.iterdir()] == ["h.parquet"]


def test_names_are_kept(tmp_path: Path) -> None:
    found = make(
        transactions={"begin": [0]},
        operations={"tx": [0], "key": [0], "kind": [1], "version": [1]},
        names=Names(["first"], ["x"]),
    )
    write(tmp_path / "h.parquet", found)
    assert same(read(tmp_path / "h.parquet"), found)


def test_a_history_may_be_written_in_parts_and_be_empty(tmp_path: Path) -> None:
    one, two = history(1, Shape(10, keys=8)), history(2, Shape(5, keys=8))
    write_batches(tmp_path / "h.parquet", [one, two], Names())
    both = read(tmp_path / "h.parquet")
    assert both.tx.tolist() == [*one.tx.tolist(), *(two.tx + 10).tolist()]
    write_batches(tmp_path / "none.parquet", [], Names())
    assert read(tmp_path / "none.parquet").transactions == 0


def test_other_files_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    with pytest.raises(HistoryError, match=r"h\.parquet: cannot be read"):
        read(path)
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(HistoryError, match=r"h\.parquet: cannot be read as a history of columns"):
        read(path)
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(HistoryError, match=r"h\.parquet: not a history of columns"):
        read(path)


def test_a_file_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    write(path, history(3, Shape(1000)))
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(HistoryError, match=r"h\.parquet: cannot be read"):
        read(path)


def damaged(path: Path, name: str, column: pa.Array | None) -> None:
    """A stored history with a column replaced, or left out."""
    write(path, history(3, Shape(3)))
    table = sealed.read(path)
    at = table.column_names.index(name)
    table = table.remove_column(at) if column is None else table.set_column(at, name, column)
    sealed.write(table, path)


@pytest.mark.parametrize("look", [read, verify])
@pytest.mark.parametrize(
    ("name", "column", "told"),
    [
        ("begin", None, r"h\.parquet: no column begin"),
        ("begin", pa.array([1, None, 3], pa.int64()), "column begin: a value is missing"),
        ("begin", pa.array(["a", "b", "c"]), "column begin: holds string, not int64"),
        ("version", pa.array([[0] * 9, [0], [0]], pa.list_(pa.int32())), "lists of other lengths"),
        ("status", pa.array([0, 0, 7], pa.uint8()), "transaction 2: a status is 0, 1 or 2, not 7"),
        ("end", pa.array([-5, 500, 500]), r"transaction 0: end is -5: -1 \(not known\) or higher"),
    ],
)
def test_a_damaged_column_is_named(
    tmp_path: Path, look: Callable[[Path], object], name: str, column: pa.Array | None, told: str
) -> None:
    path = tmp_path / "h.parquet"
    damaged(path, name, column)
    with pytest.raises(HistoryError, match=told):
        look(path)


def test_a_fault_in_a_later_part_is_told_with_its_row_in_the_whole(tmp_path: Path) -> None:
    """`verify`, for a judge in parts, refuses what `read` refuses, in the same words."""
    path = tmp_path / "h.parquet"
    whole = history(3, Shape(30))
    last = whole.operations - 1
    for name, value in (("kind", 9), ("key", 2**31 - 1), ("version", -2), ("version", 2**31 - 1)):
        column = getattr(whole, name).copy()
        column[last] = value
        write(path, replace(whole, **{name: column}), 7)
        for look in (read, verify):
            with pytest.raises(HistoryError, match=f"operation {last}: .*'{name}': {value}"):
                look(path)
    write(path, replace(whole, names=Names(["only one"])), 7)
    for look in (read, verify):
        with pytest.raises(HistoryError, match="1 names of transactions, but there are 30"):
            look(path)


def test_a_column_that_was_edited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    write(path, history(3, Shape(30)))
    table = pq.read_table(path).replace_schema_metadata(sealed.metadata(path))  # and the old digest
    edited = pa.array([7, *table.column("process").to_pylist()[1:]], pa.int32())
    pq.write_table(table.set_column(0, "process", edited), path)
    for look in (read, verify):
        with pytest.raises(HistoryError, match="its content is not that of its digest"):
            look(path)


@pytest.mark.slow
def test_damaged_bytes_are_seen(tmp_path: Path) -> None:
    """Some harm nothing that is read (offsets that nothing uses): then all is there."""
    path = tmp_path / "h.parquet"
    whole = plant(history(3, Shape(20)), "G1a")
    write(path, whole, 10)
    data = path.read_bytes()
    kept = 0
    for at in range(0, len(data), 23):
        broken = bytearray(data)
        broken[at] ^= 1 << at % 8
        path.write_bytes(broken)
        try:
            found = read(path)
        except HistoryError:
            continue
        kept += 1
        assert same(found, whole)
    assert kept < len(data) // 23 // 3


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"[" * 100_000, "its metadata cannot be read"),
        (b"\xff", "its metadata cannot be read"),
        (b"7", "not a history of columns"),
        (b'{"format": "ddlsim-columns-1"}', "is of ddlsim-columns-1, this program reads"),
        (b'{"format": "ddlsim-columns-2", "keys": 5}', "its metadata cannot be read"),
        (b'{"format": "ddlsim-columns-2", "keys": ["a"]}', "1 names of keys, but there are"),
        (b'{"format": "ddlsim-columns-2", "transactions": []}', "0 names of transactions, but"),
    ],
)
def test_metadata_that_makes_no_sense(tmp_path: Path, said: bytes, told: str) -> None:
    path = tmp_path / "h.parquet"
    write(path, history(3, Shape(30)))
    sealed.write(sealed.read(path).replace_schema_metadata({b"ddlsim": said}), path)
    with pytest.raises(HistoryError, match=told):
        read(path)


def test_a_column_that_stands_twice(tmp_path: Path) -> None:
    path = tmp_path / "h.parquet"
    write(path, history(3, Shape(3)))
    table = sealed.read(path)
    sealed.write(table.append_column("begin", table.column("begin")), path)
    with pytest.raises(HistoryError, match="2 columns begin"):
        read(path)


def test_a_key_beyond_all_others_is_refused_before_it_takes_memory() -> None:
    with pytest.raises(HistoryError, match="keys are numbered without gaps"):
        make(
            transactions={"begin": [0]},
            operations={"tx": [0], "key": [2**31 - 1], "kind": [1], "version": [1]},
        )
