"""What a sweep's workers do: chunks of runs, each a file that is whole or not there at all.

A chunk is known by its round and place, not by its worker or time: its jobs, rows and file do not
depend on how many workers there are. A worker writes beside the file's name and renames; who finds
the file there does nothing, so a chunk that is tried again, or by two at once, is there once. A
file that was harmed, or holds other runs than its chunk, counts as not there.
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
"""The folder of the chunks' files, below the sweep's directory."""
PARTIAL: Final = files.PARTIAL
TALLY: Final = b"tally"


class DamagedPartError(BadInputError):
    """A table's file that was harmed after it was written; the message ends in the remedy."""


class Round(Record, frozen=True):
    """Some cells with some seeds more, cut into chunks of `size` runs, cell by cell."""

    cells: tuple[int, ...]
    first_seed: int
    seeds: int
    size: int

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return len(self.cells) * self.seeds

    @property
    def chunks(self) -> int:
        """How many chunks it has."""
        return -(-self.runs // self.size)


class ChunkId(NamedTuple):
    """A chunk: the number of its round, and its place there."""

    round: int
    place: int

    @property
    def file(self) -> str:
        """Its file, below the sweep's directory."""
        return f"{PARTS}/part-{self.round:03d}-{self.place:06d}.parquet"


class Tally(NamedTuple):
    """How many runs, how many of them violated, how many failed otherwise."""

    runs: int
    violated: int
    failed: int


class Work(Record, frozen=True):
    """All that a worker must know of a sweep, wherever it is."""

    directory: str
    cells: tuple[Cell, ...]
    metadata: dict[bytes, bytes]
    known: tuple[Finding, ...] = ()
    loads: tuple[str, ...] = ()
    strict: bool = False
    all_claims: bool = False
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
        )


def run_chunk(work: Work, whole: Round, chunk: ChunkId) -> Tally:
    """Run a chunk and write its file, unless it is there already and sound."""
    target = Path(work.directory, chunk.file)
    if target.exists() and (found := sound(work, whole, chunk)) is not None:
        return found
    rows = rows_of(work.jobs(whole, chunk.place), work.limits)
    counted = _tally(rows)
    metadata = {**work.metadata, TALLY: json.dumps(counted).encode()}
    write_table(table(rows, metadata), target)
    return counted


def write_table(rows: Any, target: Path) -> None:
    """Write a table as a sealed Parquet file that is there as a whole or not at all."""
    files.make_folder(target.parent)
    with files.beside(target, durable=True) as partial:
        sealed.write(rows, partial)


def read_table(file: Path, remedy: str) -> Any:
    """A table that `write_table` wrote; `DamagedPartError` where it is not what was written."""
    try:
        return sealed.read(file)
    except sealed.DamagedError as error:
        raise DamagedPartError(f"{file}: it is damaged ({error}); {remedy}") from error


def footer_of(file: Path, remedy: str) -> dict[bytes, bytes]:
    """What a table's footer says besides; `DamagedPartError` where it cannot be read, or tells of
    more than is read."""
    try:
        return sealed.metadata(file)
    except sealed.DamagedError as error:
        raise DamagedPartError(f"{file}: it is damaged ({error}); {remedy}") from error


def sound(work: Work, whole: Round, chunk: ChunkId) -> Tally | None:
    """The tally of a chunk's file if it holds this chunk of this sweep, undamaged; else None."""
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
    """What a chunk's file says of its rows, without reading them."""
    try:
        return Tally(*json.loads(footer_of(file, "say --resume")[TALLY]))
    except DamagedPartError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = str(error).partition("\n")[0]
        raise DamagedPartError(f"{file}: it is damaged ({what}); say --resume") from None


def parts(directory: str) -> Iterator[Path]:
    """The chunks' files that are there, in order."""
    yield from sorted(Path(directory, PARTS).glob("part-*.parquet"))


def _tally(rows: list[Row]) -> Tally:
    outcomes = Counter(row["outcome"] for row in rows)
    violated = outcomes["violated"]
    return Tally(len(rows), violated, sum(outcomes[name] for name in FAILED) - violated)
