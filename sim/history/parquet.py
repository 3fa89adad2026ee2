"""History ⇄ Parquet: a row for each line of the JSON form, with the columns that queries need.

`record` is the line itself, header and end record included, so that nothing is lost and a file that
was cut off or changed is refused as any other (`codec`). `event`, `at_us`, `node`, `tx` and `op`
are copied from it, null where a record has none: queries over many histories need not parse lines.
Pages have checksums, and the footer a digest of all of it (`ddlsim.sealed`).
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ddlsim import sealed

if TYPE_CHECKING:
    from ddlsim.history.history import History

KIND: Final = "ddlsim-events-"
FORMAT: Final = f"{KIND}2"
SUFFIX: Final = ".events.parquet"
MAGIC: Final = b"PAR1"
"""How Parquet files begin."""
_KEY: Final = b"ddlsim"
_NAMES: Final = ("node", "tx", "op")


class Unreadable(ValueError):  # noqa: N818 - as BadHistory
    """Raised for a Parquet file without the lines of a history."""


class OtherFormat(ValueError):  # noqa: N818 - as BadHistory
    """Raised for a history of another version of this program."""


class TooLarge(ValueError):  # noqa: N818 - as BadHistory
    """Raised for a file that would take too much memory."""


class Damaged(ValueError):  # noqa: N818 - as BadHistory
    """Raised for a history whose content has changed since it was written."""


def is_one(path: str | Path) -> bool:
    """Whether a file is a history of events as Parquet; any other Parquet file is not."""
    try:
        return _called(sealed.metadata(path)).startswith(KIND)
    except sealed.DamagedError:
        return False


def _called(said: dict[bytes, bytes]) -> str:
    """The name of the format in the footer, or an empty string."""
    return said.get(_KEY, b"").decode("utf-8", "replace")


def save(history: "History", records: list[bytes], path: Path) -> None:
    """Write the records of a history (`codec.lines`), of which the first and last are no events."""
    import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

    events: list[Any] = [None, *history.events, None]
    kinds = ["Header", *(type(event).__name__ for event in history.events), "End"]
    columns = {
        "event": pa.array(kinds, pa.string()).dictionary_encode(),
        "at_us": pa.array([getattr(event, "at_us", None) for event in events], pa.int64()),
    }
    for name in _NAMES:
        values = [getattr(event, name, None) for event in events]
        columns[name] = pa.array(values, pa.string()).dictionary_encode()
    columns["record"] = pa.array([record.decode() for record in records], pa.string())
    table = pa.table(columns).replace_schema_metadata({_KEY: FORMAT})
    sealed.write(table, path, use_dictionary=[*_NAMES, "event"])


def records(path: str | Path) -> list[bytes]:
    """The lines of a history; `OtherFormat`, `TooLarge`, `Damaged`, or `Unreadable` for a file that
    is none."""
    try:
        said = sealed.metadata(path)
    except sealed.TooLargeError as error:
        raise TooLarge(str(error).removeprefix("it ")) from error
    except sealed.DamagedError:
        said = {}
    found = _called(said)
    if found.startswith(KIND) and found != FORMAT:
        kind = found if found.isprintable() and len(found) < 40 else "another format"
        raise OtherFormat(f"is of {kind}, this program reads {FORMAT}")
    try:
        table = sealed.read(path)
    except sealed.TooLargeError as error:
        raise TooLarge(str(error).removeprefix("it ")) from error
    except sealed.DamagedError as error:
        raise (Damaged if found else Unreadable)(str(error)) from error
    if found != FORMAT or "record" not in table.column_names:
        raise Unreadable("it has no column of records")
    lines = table.column("record").to_pylist()
    if not all(isinstance(line, str) for line in lines):
        raise Unreadable("its records are no texts")
    return [line.encode() for line in lines]
