"""The directory of a sweep; files that no sweep wrote are never overwritten.

    sweep.json       the manifest: the identity of the sweep, and its rounds so far
    cells.parquet    one row per cell, a typed column for each parameter
    parts/           one file per chunk of runs
    histories/       the kept histories
    rows.parquet     all rows, sorted by cell and seed: the input of figures and tables

Files are written under a name that ends in `.tmp`, which is never read, and renamed.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
from msgspec import structs

from ddlsim import files, sealed
from ddlsim.analysis.sweep.chunks import (
    PARTIAL,
    PARTS,
    ChunkId,
    DamagedPartError,
    Round,
    parts,
    read_table,
    tally_of,
    write_table,
)
from ddlsim.analysis.sweep.rows import SCHEMA, Cell
from ddlsim.escape import counted
from ddlsim.files import beside, write_text
from ddlsim.model.records import Record
from ddlsim.problems import BadInputError

MANIFEST: Final = "sweep.json"
LOCK: Final = "sweep.lock"
ROWS: Final = "rows.parquet"
CELLS: Final = "cells.parquet"
WRITER: Final = "ddlsim sweep"
FORMAT: Final = 1
ROW_GROUP: Final = 4_096
OTHER: Final = "nothing was overwritten; name another directory"


class DirectoryError(BadInputError):
    """A directory that cannot be used; the message is one line and ends in a remedy."""


class Manifest(Record, frozen=True):
    """The manifest of a directory; `fingerprint` identifies the sweep."""

    writer: str
    format: int
    title: str
    fingerprint: str
    provenance: dict[str, Any]
    rounds: tuple[Round, ...] = ()
    finished: bool = False
    digest: str = ""


def digest_of(manifest: Manifest) -> str:
    """The SHA-256 of everything else in a manifest, whose rounds are run without further checks."""
    text = msgspec.json.encode(structs.replace(manifest, digest=""), order="sorted")
    return hashlib.sha256(text).hexdigest()


def fingerprint(asked: Any) -> str:
    """A hash of everything that determines the rows of a sweep."""
    text = msgspec.json.encode(asked, order="sorted")
    return hashlib.sha256(text).hexdigest()[:16]


# --- claiming -------------------------------------------------------------------------------------


@contextmanager
def claimed(directory: str, fresh: Manifest, *, resume: bool) -> Iterator[Manifest]:
    """Lock the directory and yield the manifest to go on with.

    Raises `DirectoryError` where the directory belongs to another sweep.
    """
    path = Path(directory)
    _check_place(path, directory)
    if found := _manifest(path, directory):
        _check_same(found, fresh, directory, resume=resume)
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).open("a", encoding="utf-8")
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DirectoryError(f"--out {directory}: {why}; name another directory") from None
    with lock:
        _lock(lock, directory)
        for folder in (path, path / PARTS):
            for partial in folder.glob(f"*{PARTIAL}"):
                partial.unlink(missing_ok=True)
        # the command of rounds beyond the first is the one that started them
        manifest = found if found and len(found.rounds) > 1 else fresh
        if found:
            manifest = structs.replace(found, provenance=manifest.provenance)
        yield save(directory, manifest)


def _check_place(path: Path, directory: str) -> None:
    if path.exists() and not path.is_dir():
        raise DirectoryError(f"--out {directory}: it is a file; name a directory")
    if path.is_dir() and not (path / MANIFEST).exists():
        names = sorted(entry.name for entry in path.iterdir() if entry.name != LOCK)
        if names:
            what = f"holds {names[0]}, which no sweep wrote"
            raise DirectoryError(f"--out {directory}: {what}; {OTHER}")


def _check_same(found: Manifest, fresh: Manifest, directory: str, *, resume: bool) -> None:
    begun = f"holds the sweep {found.title!r}"
    if found.fingerprint != fresh.fingerprint:
        raise DirectoryError(
            f"--out {directory}: {begun}, begun from another file, with other seeds or flags, or "
            f"by another program; {OTHER}"
        )
    ours, theirs = fresh.provenance, found.provenance
    for key in ("version", "commit", "python", "packages"):
        if ours.get(key) != theirs.get(key):
            what = f"begun with {key} {theirs.get(key)}, now it is {ours.get(key)}"
            raise DirectoryError(f"--out {directory}: {begun}, {what}; {OTHER}")
    if not resume:
        runs = counted(done_runs(directory), "run")
        raise DirectoryError(
            f"--out {directory}: {begun}, {runs} done; say --resume, or name another directory"
        )


def _lock(file: Any, directory: str) -> None:
    """Take the lock, which the system releases when this process ends."""
    try:
        import fcntl
    except ImportError:  # no locks on this system; renames still keep files whole
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        what = "another process is at this sweep; wait for its end, or end it"
        raise DirectoryError(f"--out {directory}: {what}") from None


def _manifest(path: Path, directory: str) -> Manifest | None:
    file = path / MANIFEST
    if not file.exists():
        return None
    if (why := files.unfit(file, files.TEXT_MOST)) is not None:
        raise DirectoryError(f"--out {directory}: its {MANIFEST} {why}")
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Manifest)
    except (OSError, ValueError, RecursionError) as error:  # what is no JSON is a ValueError
        what = f"its {MANIFEST} is not of this program ({error})"
        raise DirectoryError(f"--out {directory}: {what}; {OTHER}") from None
    if found.writer != WRITER or found.format != FORMAT:
        what = f"was written by {found.writer}, format {found.format}"
        raise DirectoryError(f"--out {directory}: {what}; {OTHER}")
    if found.digest != digest_of(found):
        what = f"its {MANIFEST} is damaged (its content is not that of its digest)"
        raise DirectoryError(f"--out {directory}: {what}; {OTHER}")
    return found


def load(directory: str) -> Manifest:
    """The manifest of a sweep's directory; raises `DirectoryError` where there is none."""
    found = _manifest(Path(directory), directory)
    if found is None:
        raise DirectoryError(f"{directory}: no sweep was written there; name the --out of one")
    return found


def save(directory: str, manifest: Manifest) -> Manifest:
    """Write the manifest atomically and return it with its digest."""
    whole = structs.replace(manifest, digest=digest_of(manifest))
    document = json.dumps(msgspec.to_builtins(whole), indent=1, ensure_ascii=False)
    write_text(Path(directory, MANIFEST), document + "\n")
    return whole


# --- what is done ---------------------------------------------------------------------------------


def done_runs(directory: str) -> int:
    """The number of runs in the files that can be read."""
    runs = 0
    for file in parts(directory):
        with suppress(DamagedPartError):  # it will be run again
            runs += tally_of(file).runs
    return runs


def done(directory: str, rounds: Sequence[Round]) -> Iterator[tuple[ChunkId, Round]]:
    """Yield the chunks that have a file, with their rounds."""
    for number, whole in enumerate(rounds):
        for chunk in whole.ids(number):
            if Path(directory, chunk.file).exists():
                yield chunk, whole


def check_parts(directory: str, rounds: Sequence[Round]) -> None:
    """Raise `DirectoryError` for a file of no chunk: it would be counted as runs."""
    known = {chunk.file for number, whole in enumerate(rounds) for chunk in whole.ids(number)}
    for file in parts(directory):
        if f"{PARTS}/{file.name}" not in known:
            raise DirectoryError(f"{file}: no chunk of this sweep is called so; move it away")


def missing_chunks(directory: str, number: int, whole: Round) -> list[ChunkId]:
    """The chunks of a round that have no file yet."""
    return [chunk for chunk in whole.ids(number) if not Path(directory, chunk.file).exists()]


def write_cells(directory: str, cells: Sequence[Cell], metadata: dict[bytes, bytes]) -> None:
    """Write the table of cells, with a column for each parameter."""
    names = list(cells[0].parameters)
    columns: dict[str, Any] = {
        "cell": pa.array([cell.number for cell in cells], pa.int32()),
        "scenario": [cell.name for cell in cells],
        "strategy": [cell.strategy for cell in cells],
        "mutant": pa.array([cell.mutant for cell in cells], pa.string()),
    }
    columns |= {name: _column([cell.parameters[name] for cell in cells]) for name in names}
    table = pa.table(columns)
    write_table(table.replace_schema_metadata(metadata), Path(directory, CELLS))


def _column(values: list[Any]) -> Any:
    """A column of a parameter: values of one type as that type, mixed numbers as floats, others as
    JSON."""
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return pa.array([float(value) for value in values])
    if len(kinds) == 1 and kinds < {int, float, str, bool}:
        return pa.array(values)
    return pa.array([json.dumps(value, sort_keys=True) for value in values])


def collect(directory: str, metadata: dict[bytes, bytes], rounds: int) -> int:
    """Write all rows into one file, sorted by cell and seed; return their number.

    Its bytes depend on the rows alone, not on their chunks.
    """
    files = list(parts(directory))
    schema = SCHEMA.with_metadata(metadata)
    count = 0
    with beside(Path(directory, ROWS)) as partial, sealed.Writer(partial, schema) as writer:
        for group in _groups(_in_order(files, rounds)):
            writer.write(group.replace_schema_metadata(metadata))
            count += group.num_rows
    return count


def _in_order(files: Sequence[Path], rounds: int) -> Iterator[Any]:
    """The tables of all files in the order of the rows; those of one round are in that order."""
    if rounds == 1:
        yield from map(_part, files)
    else:
        rows = pa.concat_tables([_part(file) for file in files])
        yield rows.sort_by([("cell", "ascending"), ("seed", "ascending")])


def _groups(tables: Iterator[Any]) -> Iterator[Any]:
    """The same rows in groups of equal size, except for the last."""
    waiting = SCHEMA.empty_table()
    for table in tables:
        waiting = pa.concat_tables([waiting, table])
        while waiting.num_rows >= ROW_GROUP:
            yield waiting.slice(0, ROW_GROUP).combine_chunks()
            waiting = waiting.slice(ROW_GROUP)
    if waiting.num_rows:
        yield waiting.combine_chunks()


def _part(file: Path) -> Any:
    found = read_table(file, "say --resume: it is run again").replace_schema_metadata(None)
    if not found.schema.equals(SCHEMA):
        raise DirectoryError(f"{file}: its columns are not those of rows; say --resume")
    return found


def read_rows(directory: str) -> Any:
    """The rows of a finished sweep as an Arrow table; its metadata holds the provenance."""
    file = Path(directory, ROWS)
    if not file.exists():
        load(directory)
        raise DirectoryError(f"{directory}: the sweep is not finished; say sweep … --resume")
    return read_table(file, "say sweep … --resume: it is made again")
