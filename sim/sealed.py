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

DIGEST: Final = b"ddlsim.digest"
"""The key of the footer's metadata under which the digest stands."""
BATCH: Final = 65_536
"""Rows that are held at once while a file is looked through."""


class DamagedError(ValueError):
    """A Parquet file that cannot be read, has no digest, or another content than its digest tells.

    The message says which, without the file's name.
    """


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

    groups = list(row_groups(path))
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
    """What the footer says besides, not verified; `DamagedError` for a file without a footer."""
    from pyarrow import parquet

    try:
        return _said(parquet.read_metadata(path))
    except Exception as error:  # whatever the library meets in damaged bytes
        raise DamagedError(_first_line(error)) from error


def _row_groups(path: str | Path) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        said = _said(file.metadata)
        sealed = said.pop(DIGEST, None)
        if sealed is None:
            raise DamagedError("it has no digest of its content")
        schema = file.schema_arrow.with_metadata(said or None)
        digest = _Digest(schema)
        rows = 0
        for number in range(file.metadata.num_row_groups):
            group = file.read_row_group(number, use_threads=False)
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

    Each column is told by streams (lengths, places of nulls, values), one hash each.
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
