"""Chunks on Spark: the same bytes for any number of partitions, whatever dies meanwhile."""

import threading
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.spark import spread
from ddlsim.analysis.spark.spread import NotSharedError, partitions, run_on_spark
from ddlsim.analysis.sweep import grid, provenance, store
from ddlsim.analysis.sweep.chunks import ChunkId, Round, Tally, Work, parts
from ddlsim.analysis.sweep.sweep_file import load_sweep
from tests.support.sweeps import children, command_of, kill, rows_bytes, sweep_file
from tests.support.waiting import until

METADATA = provenance.metadata({"program": "ddlsim"})
WHOLE = Round((0, 1, 2), 0, 8, 2)


@pytest.fixture
def work(tmp_path: Path) -> Work:
    """Three cells that have nothing run yet."""
    cells = tuple(grid.cells(load_sweep(sweep_file(tmp_path))))
    return Work(str(tmp_path / "out"), cells, METADATA)


def run(spark: Any, work: Work, tasks: int, chunks: list[ChunkId] | None = None) -> list[Tally]:
    """What was told of these chunks, or of all; the table of rows is written."""
    Path(work.directory).mkdir(exist_ok=True)
    told: list[Tally] = []
    every = [ChunkId(0, place) for place in range(WHOLE.chunks)]
    run_on_spark(spark, work, WHOLE, every if chunks is None else chunks, tasks, told.append)
    store.collect(work.directory, METADATA, 1)
    return told


def test_run_on_spark_writes_the_same_bytes_for_any_number_of_tasks(
    spark: Any, work: Work, tmp_path: Path
) -> None:
    from msgspec import structs

    results = []
    for tasks in (1, 7):
        there = structs.replace(work, directory=str(tmp_path / str(tasks)))
        told = run(spark, there, tasks)
        assert sum(tally.runs for tally in told) == WHOLE.runs == 24
        results.append([rows_bytes(tmp_path / str(tasks))])
        results[-1] += [file.read_bytes() for file in parts(there.directory)]
    assert results[0] == results[1]


def test_run_on_spark_skips_existing_chunks(spark: Any, work: Work) -> None:
    run(spark, work, 2)
    times = {file: file.stat().st_mtime_ns for file in parts(work.directory)}
    next(iter(times)).unlink()
    told = run(spark, work, 3)
    assert [tally.runs for tally in told] == [2]
    now = {file: file.stat().st_mtime_ns for file in parts(work.directory)}
    assert sum(now[file] == times[file] for file in times) == len(times) - 1


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")
def test_run_on_spark_retries_a_killed_task(spark: Any, work: Work, tmp_path: Path) -> None:
    from msgspec import structs

    run(spark, work, 2)
    wanted = rows_bytes(Path(work.directory))
    again = structs.replace(work, directory=str(tmp_path / "again"))
    jvm = spark.sparkContext._gateway.proc.pid
    killed: list[int] = []

    def strike() -> None:
        until(lambda: list(parts(again.directory)), "the first part")
        daemons = [p for p in children(jvm) if "pyspark" in command_of(p)]
        workers = [p for p in daemons if any(p in children(d) for d in daemons)]
        killed.extend(workers)
        for worker in workers:
            kill(worker)

    striker = threading.Thread(target=strike)
    striker.start()
    run(spark, again, 2)
    striker.join()
    assert killed
    assert rows_bytes(tmp_path / "again") == wanted


def test_run_on_spark_refuses_a_directory_that_is_not_shared(
    spark: Any, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(self: Path, *rest: Any, **more: Any) -> int:
        return 0

    Path(work.directory).mkdir()
    monkeypatch.setattr(Path, "write_text", elsewhere)
    with pytest.raises(NotSharedError, match="name a directory that the whole cluster shares"):
        run(spark, work, 1)
    assert not list(parts(work.directory))


def test_run_on_spark_raises_the_error_of_a_task(spark: Any, work: Work) -> None:
    Path(work.directory).mkdir()
    Path(work.directory, "parts").write_text("a file where a folder should be")
    with pytest.raises(Exception, match=r"parts: cannot be written|cannot be made|WriteError"):
        run(spark, work, 1)


def test_partitions() -> None:
    assert partitions(1, 2, local=True) == 4
    assert partitions(60, 2, local=True) == 30
    assert partitions(10_000, 2, local=True) == 64
    assert partitions(10_000, 100, local=False) == 400
    assert partitions(1, 100, local=False) == 200
    assert spread.SECONDS_A_TASK == 2.0
