"""History ⇄ Parquet: a row for each line of the JSON form, beside it what one asks a table for.

`record` is the line itself, header and end record included, so that nothing is lost and a file that
was cut off or changed is refused as any other (`codec`). `event`, `at_us`, `node`, `tx` and `op`
are copied from it, null where a record has none: queries over many histories need not parse lines.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sim.history.history import History

FORMAT: Final = "ddlsim-events-1"
SUFFIX: Final = ".events.parquet"
MAGIC: Final = b"PAR1"
"""How Parquet files begin."""
_KEY: Final = b"ddlsim"
_NAMES: Final = ("node", "tx", "op")


class Unreadable(ValueError):  # noqa: N818 - as BadHistory
    """A Parquet file without the lines of a history."""


def is_one(path: str | Path) -> bool:
    """Whether a file is a history of events as Parquet; any other Parquet file is not."""
    import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
    from pyarrow import parquet

    try:
        said = parquet.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError):
        return False
    return said.get(_KEY) == FORMAT.encode()


def save(history: "History", records: list[bytes], path: Path) -> None:
    """Write the records of a history (`codec.lines`), of which the first and last are no events."""
    import pyarrow as pa
    from pyarrow import parquet

    events: list[Any] = [None, *history.events, None]
    kinds = ["Header", *(type(event).__name__ for event in history.events), "End"]
    columns = {
        "event": pa.array(kinds, pa.string()).dictionary_encode(),
        "at_us": pa.array([getattr(event, "at_us", None) for event in events], pa.int64()),
    }
    for name in _NAMES:
        told = [getattr(event, name, None) for event in events]
        columns[name] = pa.array(told, pa.string()).dictionary_encode()
    columns["record"] = pa.array([record.decode() for record in records], pa.string())
    table = pa.table(columns).replace_schema_metadata({_KEY: FORMAT})
    parquet.write_table(table, path, compression="zstd", use_dictionary=[*_NAMES, "event"])


def records(path: str | Path) -> list[bytes]:
    """The lines of a history; `Unreadable` for a file that is damaged or none."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        column = parquet.read_table(path, columns=["record"]).column("record")
    except (pa.ArrowException, OSError, KeyError) as error:
        raise Unreadable(str(error).splitlines()[0]) from error
    return [record.encode() for record in column.to_pylist()]
