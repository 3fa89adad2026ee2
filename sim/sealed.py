"""Parquet that shows damage: a checksum on every page, and a digest of the content in the footer.

Page checksums catch what happened to the values' bytes; the footer, which says how to read them,
has none. So the digest is taken over what a reader gets: names and types of the columns, metadata,
and every value. It does not depend on how rows are cut into batches, row groups or pages. It proves
that nothing was changed by accident or by hand; it is no signature.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from ddlsim.files import HISTORY_MOST, MIB, larger, unfit

COLUMNS: Final = "ddlsim-columns-"
"""How the format of column histories begins; their reader needs pyarrow, this name does not."""
DIGEST: Final = b"ddlsim.digest"
"""The key of the footer's metadata under which the digest stands."""
GROUP_MOST: Final = 2_048 * MIB
"""Bytes that a row group may take once it is unpacked: it is held as a whole."""
ROWS_MOST: Final = 65_536
"""Rows that are unpacked at once where a group may hold much more than its footer tells."""
CODED: Final = {"RLE_DICTIONARY", "PLAIN_DICTIONARY"}
"""Encodings that store a value once and name it by its number."""
WIDTHS: Final = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}
"""Least bytes of a value, or of where it begins, once it is unpacked."""


class DamagedError(ValueError):
    """A Parquet file that cannot be read, has no digest, or another content than its digest tells.

    The message says which, without the file's name.
    """


class TooLargeError(DamagedError):
    """A Parquet file that is not read since it would take too much memory, or has no end."""


class Writer:
    """Writes tables or batches of one schema; closed without an error, the file is sealed."""

    def __init__(self, path: str | Path, schema: Any, **options: Any) -> None:
        from pyarrow import parquet  # type: ignore[import-untyped]  # pyarrow ships no types

        options = {"compression": "zstd", **options}
        self._file = parquet.ParquetWriter(path, schema, write_page_checksum=True, **options)
        self._digest = _Digest(schema)

    def write(self, rows: Any) -> None:
        """Add a table or a record batch."""
        self._file.write(rows)
        for batch in _batches(rows):
            self._digest.add(batch)

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if kind is None:
            self._file.add_key_value_metadata({DIGEST: self._digest.hex().encode()})
        self._file.close()


def write(table: Any, path: str | Path, **options: Any) -> None:
    """Write a table into a sealed file; `options` are those of pyarrow's `ParquetWriter`."""
    with Writer(path, table.schema, **options) as writer:
        writer.write(table)


def read(path: str | Path) -> Any:
    """The table of a sealed file, its digest not in its metadata; `DamagedError` otherwise."""
    import pyarrow as pa

    groups, size = [], 0
    for group in row_groups(path):
        size += group.nbytes
        _check_size(size, HISTORY_MOST)
        groups.append(group)
    return pa.concat_tables(groups)


def read_plain(source: Any, most: int) -> Any:
    """The table of a file of others, which has no digest; `TooLargeError` where it takes more bytes
    than this once it is unpacked, and what pyarrow raises for what is no Parquet."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(source) as file:
        check_unpacked(file.metadata, most)
        groups, size = [file.schema_arrow.empty_table()], 0
        for number in range(file.metadata.num_row_groups):
            groups.append(_row_group(file, number))
            size += groups[-1].nbytes
            _check_size(size, most)
        return pa.concat_tables(groups)


def row_groups(path: str | Path) -> Iterator[Any]:
    """The row groups of a sealed file as tables, at least one; `DamagedError` at the latest after
    the last of them, so nothing may be concluded before the end."""
    try:
        yield from _row_groups(path)
    except DamagedError:
        raise
    except MemoryError:
        raise DamagedError("its footer asks for more memory than there is") from None
    except Exception as error:  # whatever the library meets in damaged bytes
        raise DamagedError(_first_line(error)) from error


def verify(path: str | Path) -> None:
    """Read a sealed file through, in little memory; `DamagedError` if it is damaged."""
    for _ in row_groups(path):
        pass


def metadata(path: str | Path) -> dict[bytes, bytes]:
    """What the footer says besides, not verified; `DamagedError` for a file without a footer, and
    for one that is too large by what its footer says."""
    from pyarrow import parquet

    try:
        _check_file(path)
        footer = parquet.read_metadata(path)
        check_unpacked(footer, HISTORY_MOST)
        return _said(footer)
    except DamagedError:
        raise
    except Exception as error:  # whatever the library meets in damaged bytes
        raise DamagedError(_first_line(error)) from error


def _row_groups(path: str | Path) -> Iterator[Any]:
    from pyarrow import parquet

    _check_file(path)
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        check_unpacked(file.metadata, HISTORY_MOST)
        said = _said(file.metadata)
        sealed = said.pop(DIGEST, None)
        if sealed is None:
            raise DamagedError("it has no digest of its content")
        schema = file.schema_arrow.with_metadata(said or None)
        digest = _Digest(schema)
        rows = 0
        for number in range(file.metadata.num_row_groups):
            group = _row_group(file, number)
            group = group.replace_schema_metadata(said or None)
            for batch in _batches(group):
                digest.add(batch)
            rows += group.num_rows
            yield group
        if not file.metadata.num_row_groups:
            yield schema.empty_table()
        total = file.metadata.num_rows
    if rows != total or digest.hex().encode() != sealed:
        raise DamagedError("its content is not that of its digest")


# --- how large it is once it is unpacked ---------------------------------------------------------


def _check_file(path: Any) -> None:
    """Refuse what is no file, or too large a one; bytes in memory are taken as they are."""
    why = unfit(path, HISTORY_MOST) if isinstance(path, str | Path) else None
    if why is not None:
        raise TooLargeError(f"it {why}")


def check_unpacked(footer: Any, most: int) -> None:
    """Refuse a file whose values, by its footer, take more bytes than this, or a row group of more
    than is held at once; `TooLargeError` says so."""
    groups = [_unpacked(footer.row_group(at)) for at in range(footer.num_row_groups)]
    _check_size(max(groups, default=0), GROUP_MOST)
    _check_size(sum(groups), most)


def _unpacked(group: Any) -> int:
    """The least that a row group takes by its footer. A text that is named many times and stored
    once counts once here, `_row_group` sees to it."""
    columns = [group.column(at) for at in range(group.num_columns)]
    sizes = [
        max(one.total_uncompressed_size, one.num_values * WIDTHS.get(one.physical_type, 0))
        for one in columns
    ]
    return int(max(sum(sizes), group.total_byte_size))


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise TooLargeError(f"it {larger(size, most, 'bytes once it is unpacked')}")


def _row_group(file: Any, number: int) -> Any:
    """A row group as a table. Where texts are stored once and named many times it is unpacked bit
    by bit, and refused as soon as it has become too large."""
    import pyarrow as pa

    rows = _rows_at_once(file, number)
    if rows is None:
        return file.read_row_group(number, use_threads=False)
    batches, size = [], 0
    for batch in file.iter_batches(rows, row_groups=[number], use_threads=False):
        plain = [one for one in batch.columns if not pa.types.is_dictionary(one.type)]
        size += sum(one.nbytes for one in plain)
        _check_size(size, GROUP_MOST)
        batches.append(batch)
    return pa.Table.from_batches(batches, file.schema_arrow)


def _rows_at_once(file: Any, number: int) -> int | None:
    """How many rows of a group are surely not too large together; None for all of them."""
    group = file.metadata.row_group(number)
    columns = [group.column(at) for at in range(group.num_columns)]
    named = [
        one for one in columns if one.physical_type == "BYTE_ARRAY" and CODED & set(one.encodings)
    ]
    largest = max((one.total_uncompressed_size for one in named), default=0)
    values = max((one.num_values for one in named), default=0)
    if largest * values <= GROUP_MOST:
        return None
    return min(max(GROUP_MOST // (4 * largest), 1), ROWS_MOST)


def _said(footer: Any) -> dict[bytes, bytes]:
    """The footer's metadata without Arrow's own."""
    return {key: said for key, said in (footer.metadata or {}).items() if key != b"ARROW:schema"}


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0] or type(error).__name__


def _batches(rows: Any) -> list[Any]:
    return rows.to_batches() if hasattr(rows, "to_batches") else [rows]


# --- the digest ----------------------------------------------------------------------------------


class _Digest:
    """SHA-256 over a content, the same however its rows are cut.

    Each column is hashed as streams (lengths, places of nulls, values), one hash each.
    """

    def __init__(self, schema: Any) -> None:
        self._streams: dict[str, Any] = {}
        self._seen: dict[str, int] = {}
        self._schema = schema

    def add(self, batch: Any) -> None:
        """The rows of a record batch."""
        for number, column in enumerate(batch.columns):
            self._array(str(number), column)

    def hex(self) -> str:
        """The digest of everything that was added, with the schema and its metadata."""
        whole = hashlib.sha256()
        for field in self._schema:
            _add(whole, field.name.encode(), _kind(field.type).encode())
        said = self._schema.metadata or {}
        for key in sorted(said):
            _add(whole, key, said[key])
        for name in sorted(self._streams):
            _add(whole, name.encode(), self._streams[name].digest())
        return whole.hexdigest()

    def _array(self, name: str, array: Any) -> None:
        """One array of a column, or of what lies within it."""
        import pyarrow as pa

        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        self._nulls(name, array)
        if pa.types.is_struct(array.type):
            for number, child in enumerate(array.flatten()):
                self._array(f"{name}.{number}", child)
        elif pa.types.is_map(array.type) or pa.types.is_list(array.type):
            if pa.types.is_map(array.type):
                entry = [("key", array.type.key_type), ("value", array.type.item_type)]
                array = array.cast(pa.list_(pa.struct(entry)))
            self._lengths(name, array)
            self._array(f"{name}.", array.flatten())
        elif pa.types.is_string(array.type) or pa.types.is_binary(array.type):
            self._lengths(name, array)
            plain = pa.concat_arrays([array.fill_null(b"" if array.type == pa.binary() else "")])
            self._feed(f"{name} values", _text(plain))
        elif not pa.types.is_null(array.type):
            zero = pa.scalar(0).cast(array.type)
            values = array.fill_null(zero) if array.null_count else array
            self._feed(f"{name} values", values.to_numpy(zero_copy_only=False).tobytes())

    def _nulls(self, name: str, array: Any) -> None:
        """How many values there are, and which of them are missing."""
        import numpy as np

        before = self._seen.get(name, 0)
        self._seen[name] = before + len(array)
        if array.null_count:
            places = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False)) + before
            self._feed(f"{name} nulls", places.astype(np.int64).tobytes())

    def _lengths(self, name: str, array: Any) -> None:
        import pyarrow as pa
        from pyarrow import compute

        in_list = pa.types.is_list(array.type)
        measure = compute.list_value_length if in_list else compute.binary_length
        lengths = measure(array).fill_null(0)
        self._feed(f"{name} lengths", lengths.to_numpy(zero_copy_only=False).tobytes())

    def _feed(self, stream: str, data: Any) -> None:
        self._streams.setdefault(stream, hashlib.sha256()).update(data)


def _text(array: Any) -> Any:
    """The characters of a text array without nulls, one after the other, as bytes."""
    import numpy as np

    data = array.buffers()[2]
    if data is None or not len(array):
        return b""
    offsets = np.frombuffer(array.buffers()[1], np.int32)
    first, last = offsets[array.offset], offsets[array.offset + len(array)]
    return memoryview(data)[first:last]


def _kind(of: Any) -> str:
    """A type by its own name, without the names that Parquet gives to what lies in lists."""
    import pyarrow as pa

    if pa.types.is_dictionary(of):
        return _kind(of.value_type)
    if pa.types.is_map(of):
        return f"map<{_kind(of.key_type)},{_kind(of.item_type)}>"
    if pa.types.is_list(of):
        return f"list<{_kind(of.value_type)}>"
    if pa.types.is_struct(of):
        return f"struct<{','.join(f'{field.name}:{_kind(field.type)}' for field in of)}>"
    return str(of)


def _add(to: Any, *parts: bytes) -> None:
    """Add texts so that no two lists of them look alike."""
    for part in parts:
        to.update(len(part).to_bytes(8, "big") + part)
