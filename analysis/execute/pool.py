"""Chunks on the processes of one machine, without a JVM.

Each process has a pipe of its own. A process that dies is replaced, and its chunk tried again.
"""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Final

from ddlsim.analysis.sweep.chunks import (
    ChunkId,
    Round,
    Tally,
    Work,
    run_chunk,
)
from ddlsim.files import WriteError
from ddlsim.verify.workers import process as begun

ATTEMPTS: Final = 3
"""How often a chunk is tried whose process dies."""

Watch = Callable[[Tally], None]


class WorkersDieError(RuntimeError):
    """A chunk that no process survives, though its runs have processes of their own."""


def run_on_processes(
    work: Work, whole: Round, chunks: Sequence[ChunkId], processes: int, watch: Watch
) -> None:
    """Run these chunks; their files are there when it returns."""
    if processes == 1:
        for chunk in chunks:
            watch(run_chunk(work, whole, chunk))
        return
    left = deque(chunks)
    tried: dict[ChunkId, int] = {}
    workers = [_Worker(work, whole) for _ in range(min(processes, len(chunks)))]
    try:
        for worker in workers:
            worker.give(left)
        while busy := {worker.connection: worker for worker in workers if worker.chunk}:
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]  # one of those asked about
                try:
                    told = worker.connection.recv()
                    if isinstance(told, WriteError):
                        raise told
                    watch(told)
                except (EOFError, ConnectionError):
                    lost = worker.chunk
                    assert lost is not None
                    tried[lost] = tried.get(lost, 0) + 1
                    _check(lost, tried[lost])
                    left.appendleft(lost)
                    workers[workers.index(worker)] = worker = _Worker(work, whole)
                worker.give(left)
    finally:
        for worker in workers:
            worker.end()


def _check(lost: ChunkId, times: int) -> None:
    if times == ATTEMPTS:
        raise WorkersDieError(
            f"{times} processes died at {lost.file}, perhaps for want of memory; "
            "take fewer --jobs, then --resume"
        )


class _Worker:
    """A process and what it is at."""

    def __init__(self, work: Work, whole: Round) -> None:
        self.connection, far = Pipe()
        self.process = begun(_serve, far, work, whole)
        far.close()
        self.chunk: ChunkId | None = None

    def give(self, left: deque[ChunkId]) -> None:
        """The next chunk, if there is one."""
        self.chunk = left.popleft() if left else None
        if self.chunk is not None:
            with suppress(ConnectionError):  # it has died: that is seen where its answer is read
                self.connection.send(tuple(self.chunk))

    def end(self) -> None:
        """Let it go; one that is still at something is ended."""
        self.connection.close()
        if self.chunk is not None:
            self.process.terminate()
        self.process.join()


def _told(work: Work, whole: Round, chunk: ChunkId) -> Tally | WriteError:
    """What a chunk counts, or why its file cannot be written."""
    try:
        return run_chunk(work, whole, chunk)
    except WriteError as error:
        return error


def _serve(connection: Connection, work: Work, whole: Round) -> None:
    """What a process does, until the other end of its pipe is closed."""
    try:
        while True:
            connection.send(_told(work, whole, ChunkId(*connection.recv())))
    except (EOFError, ConnectionError):
        return
