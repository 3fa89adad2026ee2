"""Runs chunks of a sweep, or calls of a function, on Spark or on processes of this machine.

`Workers` chooses between the two and keeps the session. The results are the chunks' files, on a
file system that all machines of a cluster share. A retried task skips the chunks that are written,
so a lost executor repeats only the chunks that it was running.
"""

import pickle
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim.analysis.sweep.chunks import ChunkId, Round, Tally, Work, parts, run_chunk, tally_of
from ddlsim.execute.parallel import ALONE_S, ATTEMPTS, Executor
from ddlsim.execute.workers import cores
from ddlsim.problems import BadInputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")
Watch = Callable[[Tally], object]

NONE: Final = "none"
"""The value of --master for processes of this machine, without a JVM."""
HERE: Final = "local[*]"
SPARK_FROM_S: Final = 20.0
"""The seconds of work on all cores below which starting Spark does not pay."""
SECONDS_A_TASK: Final = 2.0
"""The least work of a task: starting a Python task costs 20 to 50 ms."""
TASKS_LOCALLY: Final = 64
TASKS_MOST: Final = 4_096
"""The largest number of tasks."""
POLL_S: Final = 0.3
GROUP: Final = "ddlsim-sweep"
BEACON: Final = ".beacon"


class NotSharedError(BadInputError):
    """A directory that the workers do not share; the message ends in the remedy."""


class WorkersDieError(BadInputError):
    """A chunk at which several processes died, though its runs have child processes."""


class Workers:
    """Runs chunks on Spark at a master, on processes, or on the quicker of the two here.

    `note` is called with a line when a session starts. A context manager: the session ends with its
    block.
    """

    def __init__(
        self,
        master: str | None,
        jobs: int | None,
        settings: dict[str, str] | None = None,
        note: Callable[[str], object] = lambda text: None,
    ) -> None:
        self._master, self._jobs = master, jobs
        self._settings, self._note = settings, note
        self._stack = ExitStack()
        self.spark: SparkSession | None = None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def session(self) -> "SparkSession":
        """The session, started when it is first needed."""
        if self.spark is None:
            from ddlsim.analysis.spark import session

            master = HERE if self._master in (None, NONE) else str(self._master)
            self._note(f"starting Spark ({master})")
            self.spark = self._stack.enter_context(session.session(master, settings=self._settings))
        return self.spark

    def run(
        self, work: Work, whole: Round, chunks: Sequence[ChunkId], work_s: float, watch: Watch
    ) -> str:
        """Run chunks of so many seconds of work and write their files; return what ran them."""
        if not self._is_for_spark(work_s):
            processes = self._jobs or (cores() if work_s > ALONE_S else 1)
            run_on_processes(work, whole, chunks, processes, watch)
            return f"{min(processes, len(chunks))} processes"
        spark = self.session()
        master, slots = spark.sparkContext.master, spark.sparkContext.defaultParallelism
        tasks = partitions(work_s, slots, local=str(master).startswith("local"))
        run_on_spark(spark, work, whole, chunks, tasks, watch)
        return f"Spark at {master}, {tasks} tasks"

    def _is_for_spark(self, work_s: float) -> bool:
        if self._master is not None:
            return self._master != NONE
        return self._jobs is None and work_s / cores() >= SPARK_FROM_S


# --- processes -----------------------------------------------------------------------------------


def run_on_processes(
    work: Work, whole: Round, chunks: Sequence[ChunkId], processes: int, watch: Watch
) -> None:
    """Run these chunks; raises `WorkersDieError` where several processes die at one."""
    make = partial(_runner, work, whole)
    with Executor(make, _died, processes=processes, alone_s=0) as executor:
        executor.run(chunks, lambda chunk, tally: watch(tally))


def _runner(work: Work, whole: Round) -> Callable[[Sequence[ChunkId]], list[Tally]]:
    return lambda chunks: [run_chunk(work, whole, chunk) for chunk in chunks]


def _died(chunk: ChunkId, how: str) -> Tally:
    raise WorkersDieError(
        f"{ATTEMPTS} processes died at {chunk.file}, perhaps for want of memory; "
        "take fewer --jobs, then --resume"
    )


# --- Spark ---------------------------------------------------------------------------------------


def partitions(work_s: float, cores: int, *, local: bool) -> int:
    """The number of tasks: two seconds of work each, at least two per core, within the maximum."""
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
    """Run these chunks; call `watch` with the tally of each once its file is written."""
    token = uuid.uuid4().hex
    beacon = Path(work.directory, BEACON)
    beacon.write_text(token, "utf-8")
    known = set(parts(work.directory))

    def look() -> None:
        for file in parts(work.directory):
            if file not in known:
                known.add(file)
                watch(tally_of(file))

    try:
        _watched(spark, partial(spread, spark, _task(work, whole, token), chunks, tasks), look)
    finally:
        beacon.unlink(missing_ok=True)


def _task(work: Work, whole: Round, token: str) -> Callable[[ChunkId], Tally]:
    def task(chunk: ChunkId) -> Tally:
        _check_shared(work.directory, token)
        return run_chunk(work, whole, chunk)

    return task


def spread(
    spark: "SparkSession", function: Callable[[T], R], items: Sequence[T], tasks: int = TASKS_MOST
) -> list[R]:
    """The results of a function for each item, in order; in at most so many tasks."""
    if not items:
        return []
    every = tuple(items)

    def task(batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for place in batch["id"].to_pylist():
                result = pickle.dumps(function(every[place]))
                columns = [pa.array([place], pa.int64()), pa.array([result], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, names=["id", "result"])

    frame = spark.range(len(items), numPartitions=min(len(items), tasks))
    found = frame.mapInArrow(task, "id long, result binary").toArrow().sort_by("id")
    return [pickle.loads(result) for result in found["result"].to_pylist()]


def _check_shared(directory: str, token: str) -> None:
    """Raise `NotSharedError` where the driver's file is missing: rows would go elsewhere."""
    beacon = Path(directory, BEACON)
    if not beacon.is_file() or beacon.read_text("utf-8") != token:
        raise NotSharedError(f"--out {directory}: {NOT_SHARED}")


NOT_SHARED: Final = "the workers do not see it; name a directory that the whole cluster shares"


def _watched(spark: "SparkSession", action: Callable[[], Any], look: Callable[[], None]) -> None:
    """Run an action in a thread and call `look` meanwhile; raises what the action raises."""
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
