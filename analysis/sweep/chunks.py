"""The work of a sweep's workers: chunks of runs, each written as one file.

A chunk is identified by its round and place, not by its worker or time: its jobs, rows and file do
not depend on the number of workers. A worker writes a temporary file and renames it, and skips a
chunk whose file exists: a chunk that is retried, or run by two workers at once, is stored once. A
file that is damaged, or holds other runs than its chunk, counts as missing.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import field

from ddlsim import files, sealed
from ddlsim.analysis.sweep import provenance
from ddlsim.analysis.sweep.rows import FAILED, Cell, Job, Row, rows_of, table
from ddlsim.checkers.findings import Finding
from ddlsim.execute.isolation import Limits
from ddlsim.model.records import Record
from ddlsim.problems import BadInputError

PARTS: Final = "parts"
"""The folder of the chunks' files, relative to the sweep's directory."""
PARTIAL: Final = files.PARTIAL
TALLY: Final = b"tally"


class DamagedPartError(BadInputError):
    """A table's file that was damaged after it was written; the message ends in the remedy."""


class Round(Record, frozen=True):
    """Some cells with further seeds, cut into chunks of `size` runs, cell by cell."""

    cells: tuple[int, ...]
    first_seed: int
    seeds: int
    size: int

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.cells) * self.seeds

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.runs // self.size)

    def ids(self, number: int) -> "list[ChunkId]":
        """Its chunks, if it is the round with this number."""
        return [ChunkId(number, place) for place in range(self.chunks)]


class ChunkId(NamedTuple):
    """A chunk: the number of its round, and its place in the round."""

    round: int
    place: int

    @property
    def file(self) -> str:
        """Its file, relative to the sweep's directory."""
        return f"{PARTS}/part-{self.round:03d}-{self.place:06d}.parquet"


class Tally(NamedTuple):
    """The number of runs, of violated runs, and of those stuck, crashed, unmet or unknown."""

    runs: int
    violated: int
    failed: int


class Work(Record, frozen=True):
    """All that a worker needs of a sweep."""

    directory: str
    cells: tuple[Cell, ...]
    metadata: dict[bytes, bytes]
    known: tuple[Finding, ...] = ()
    loads: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False
    prices: bool = False
    histories: bool = False
    share: float = 0.0
    limits: Limits = field(default_factory=Limits)

    def jobs(self, whole: Round, place: int) -> list[Job]:
        """The runs of a chunk."""
        first = place * whole.size
        return [
            self.job(whole.cells[at // whole.seeds], whole.first_seed + at % whole.seeds)
            for at in range(first, min(first + whole.size, whole.runs))
        ]

    def job(self, cell: int, seed: int) -> Job:
        """One run."""
        return Job(
            cell=self.cells[cell],
            seed=seed,
            loads=self.loads,
            strict=self.strict,
            all_claims=self.all_claims,
            keep=self.directory if self.histories else None,
            share=self.share,
            known=self.known,
            prices=self.prices,
        )


def run_chunk(work: Work, whole: Round, chunk: ChunkId) -> Tally:
    """Run a chunk and write its file, unless it exists and is sound."""
    target = Path(work.directory, chunk.file)
    if target.exists() and (found := sound(work, whole, chunk)) is not None:
        return found
    rows = rows_of(work.jobs(whole, chunk.place), work.limits)
    counted = _tally(rows)
    metadata = {**work.metadata, TALLY: json.dumps(counted).encode()}
    write_table(table(rows, metadata), target)
    return counted


def write_table(rows: Any, target: Path) -> None:
    """Write a table as a sealed Parquet file, atomically."""
    files.make_folder(target.parent)
    with files.beside(target, durable=True) as partial:
        sealed.write(rows, partial)


def read_table(file: Path, remedy: str) -> Any:
    """A table that `write_table` wrote; raises `DamagedPartError` where its content has changed."""
    try:
        return sealed.read(file)
    except sealed.DamagedError as error:
        raise DamagedPartError(f"{file}: it is damaged ({error}); {remedy}") from error


def footer_of(file: Path, remedy: str) -> dict[bytes, bytes]:
    """The metadata in a table's footer; raises `DamagedPartError` where it cannot be read, or
    declares more data than the program reads."""
    try:
        return sealed.metadata(file)
    except sealed.DamagedError as error:
        raise DamagedPartError(f"{file}: it is damaged ({error}); {remedy}") from error


def sound(work: Work, whole: Round, chunk: ChunkId) -> Tally | None:
    """The tally of a chunk's file if it holds this chunk of this sweep undamaged; else None."""
    file = Path(work.directory, chunk.file)
    try:
        found = sealed.read(file)
        said = found.schema.metadata or {}
        tally = Tally(*json.loads(said[TALLY]))
        sweeps = {provenance.read(each).get("fingerprint") for each in (said, work.metadata)}
    except (ValueError, KeyError, TypeError):  # DamagedError is a ValueError
        return None
    if len(sweeps) > 1 or not {"cell", "seed"} <= set(found.column_names):
        return None
    runs = list(zip(*(found[name].to_pylist() for name in ("cell", "seed")), strict=True))
    asked = sorted((job.cell.number, job.seed) for job in work.jobs(whole, chunk.place))
    return tally if runs == asked else None


def tally_of(file: Path) -> Tally:
    """The tally in a chunk's file; its rows are not read."""
    try:
        return Tally(*json.loads(footer_of(file, "say --resume")[TALLY]))
    except DamagedPartError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = str(error).partition("\n")[0]
        raise DamagedPartError(f"{file}: it is damaged ({what}); say --resume") from None


def parts(directory: str) -> Iterator[Path]:
    """The existing files of chunks, in order."""
    yield from sorted(Path(directory, PARTS).glob("part-*.parquet"))


def _tally(rows: list[Row]) -> Tally:
    outcomes = Counter(row["outcome"] for row in rows)
    violated = outcomes["violated"]
    return Tally(len(rows), violated, sum(outcomes[name] for name in FAILED) - violated)
