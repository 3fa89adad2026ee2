"""Chunks on Spark: one narrow job whose tasks run chunks and send back what they counted.

The chunks' files are the result; they are on a file system that all machines of the cluster share.
Whatever a task has written stays when the task is tried again, so a lost executor costs no run
twice but those it was at.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.analysis.execute.pool import Watch
from ddlsim.analysis.sweep.chunks import (
    ChunkId,
    Round,
    Tally,
    Work,
    parts,
    run_chunk,
    tally_of,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS_A_TASK: Final = 2.0
"""A Python task costs a slot some 20 to 50 ms: below this work a task the price shows."""
TASKS_LOCALLY: Final = 64
POLL_S: Final = 0.3
COUNTED: Final = "chunk long, runs long, violated long, failed long"
GROUP: Final = "ddlsim-sweep"
BEACON: Final = ".beacon"


class NotSharedError(ValueError):
    """A directory that the workers do not share with us; the message ends in the remedy."""


def partitions(work_s: float, cores: int, *, local: bool) -> int:
    """How many tasks: two seconds of work each, two a core at least, not too many to watch."""
    most = max(TASKS_LOCALLY, 2 * cores) if local else max(TASKS_LOCALLY, 4 * cores)
    return int(min(max(work_s / SECONDS_A_TASK, 2 * cores), most))


def run_on_spark(
    spark: "SparkSession",
    work: Work,
    whole: Round,
    chunks: Sequence[ChunkId],
    tasks: int,
    watch: Watch,
) -> None:
    """Run these chunks; their files are there when it returns."""
    tasks = min(tasks, len(chunks))
    token = uuid.uuid4().hex
    beacon = Path(work.directory, BEACON)
    beacon.write_text(token, "utf-8")
    task = _task(work, whole, tuple(chunks), token)
    frame = spark.range(len(chunks), numPartitions=tasks).mapInArrow(task, COUNTED)
    before = set(parts(work.directory))
    try:
        _watched(spark, frame.toArrow, lambda: _told(work.directory, before, watch))
    finally:
        beacon.unlink(missing_ok=True)


def _task(
    work: Work, whole: Round, chunks: tuple[ChunkId, ...], token: str
) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def task(batches: Iterable[Any]) -> Iterator[Any]:
        _check_shared(work.directory, token)
        for batch in batches:
            for place in batch["id"].to_pylist():
                yield _counted(place, run_chunk(work, whole, chunks[place]))

    return task


def _check_shared(directory: str, token: str) -> None:
    """Whether the driver's file is here too: else rows would be written to another place."""
    beacon = Path(directory, BEACON)
    if not beacon.is_file() or beacon.read_text("utf-8") != token:
        raise NotSharedError(f"--out {directory}: {NOT_SHARED}")


NOT_SHARED: Final = "the workers do not see it; name a directory that the whole cluster shares"


def _counted(chunk: int, tally: Tally) -> Any:
    columns = [pa.array([number], pa.int64()) for number in (chunk, *tally)]
    return pa.RecordBatch.from_arrays(columns, names=["chunk", *Tally._fields])


def _told(directory: str, known: set[Path], watch: Watch) -> None:
    """Tell of files that have come since."""
    for file in parts(directory):
        if file not in known:
            known.add(file)
            watch(tally_of(file))


def _watched(spark: "SparkSession", action: Callable[[], Any], look: Callable[[], None]) -> None:
    """Carry out an action in a thread of its own, looking about meanwhile; its errors are ours."""
    from pyspark import InheritableThread

    raised: list[BaseException] = []

    def act() -> None:
        spark.sparkContext.setJobGroup(GROUP, "runs of a sweep", interruptOnCancel=True)
        try:
            action()
        except BaseException as error:
            raised.append(error)

    thread = InheritableThread(target=act)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL_S)
            look()
    except BaseException:
        spark.sparkContext.cancelJobGroup(GROUP)
        thread.join()
        raise
    look()
    if raised:
        if NOT_SHARED in str(raised[0]):
            raise NotSharedError(NOT_SHARED) from None
        raise raised[0]
