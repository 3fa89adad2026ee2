"""Runs jobs in this process or on processes of this machine; the results are the same.

The first jobs run in this process, so that a few quick ones do not pay for starting processes; then
as many processes run as there are cores. A process that dies is replaced, and its jobs are retried
one by one: a job at which `ATTEMPTS` processes have died is `lost`, and the others go on.
"""

import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType
from typing import Final, Generic, NamedTuple, TypeVar

from ddlsim.execute import workers

J = TypeVar("J")
R = TypeVar("R")

ALONE_S: Final = 1.0
ATTEMPTS: Final = 3
"""The number of dead processes after which a job is lost."""

Act = Callable[[Sequence[J]], Sequence[R]]
"""Runs some jobs; returns a result for each, in order."""


class _Task(NamedTuple, Generic[J]):
    """A job, its number, and how many processes have died at it."""

    number: int
    job: J
    deaths: int = 0


class Executor(Generic[J, R]):
    """Runs jobs; a context manager whose processes are kept until its block ends.

    `make` is pickled and called once in every process that runs jobs; it returns the function that
    runs them. `lost` is called with a job that no process survives and a phrase for how the last of
    them died; it returns the job's result or raises. For the first `alone_s` seconds jobs run in
    this process; all of them do where `processes` is 1.
    """

    def __init__(
        self,
        make: Callable[[], Act[J, R]],
        lost: Callable[[J, str], R],
        *,
        processes: int | None = None,
        alone_s: float = ALONE_S,
    ) -> None:
        self.processes = processes or workers.cores()
        self._make, self._lost, self._alone_s = make, lost, alone_s
        self._act: Act[J, R] | None = None
        self._workers: list[_Worker[J, R]] = []

    def __enter__(self) -> "Executor[J, R]":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.end()
        for worker in self._workers:
            worker.death()

    def run(
        self,
        jobs: Iterable[J],
        watch: Callable[[J, R], object] = lambda job, result: None,
        *,
        batch: int = 1,
    ) -> list[R]:
        """Return the result of every job, in order; call `watch` with each as it arrives.

        A process gets `batch` jobs at a time. Jobs are taken from the iterable as they are needed:
        the next one may depend on the results that `watch` was called with. Raises what a job
        raises.
        """
        found: dict[int, R] = {}
        left = (_Task(number, job) for number, job in enumerate(jobs))
        for task, result in self._results(left, batch):
            found[task.number] = result
            watch(task.job, result)
        return [found[number] for number in sorted(found)]

    def run_in_order(
        self, jobs: Iterable[J], take: Callable[[J, R], bool], *, batch: int = 1
    ) -> None:
        """Call `take` with each job and its result in the order of the jobs, until it is true.

        No job is begun after that; results of later jobs that were under way are dropped. So what
        was taken does not depend on the number of processes. Raises what a job raises.
        """
        waiting: dict[int, tuple[J, R]] = {}
        taken, ended = 0, False

        def left() -> Iterator[_Task[J]]:
            for number, job in enumerate(jobs):
                if ended:
                    return
                yield _Task(number, job)

        for task, result in self._results(left(), batch):
            waiting[task.number] = (task.job, result)
            while not ended and taken in waiting:
                ended = take(*waiting.pop(taken))
                taken += 1

    def _results(self, left: Iterator[_Task[J]], batch: int) -> Iterator[tuple[_Task[J], R]]:
        """Yield tasks as they are done, in any order."""
        until = time.monotonic() + self._alone_s
        while self.processes == 1 or (not self._workers and time.monotonic() < until):
            task = next(left, None)
            if task is None:
                return
            if self._act is None:
                self._act = self._make()
            yield task, self._act([task.job])[0]
        again: deque[_Task[J]] = deque()
        while self._hand_out(again, left, batch):
            busy = {worker.connection: worker for worker in self._workers if worker.tasks}
            for ready in wait(list(busy)):
                worker = busy[ready]  # type: ignore[index]  # one of those asked about
                tasks, results = worker.tasks, worker.answer()
                if results is None:
                    yield from self._replaced(worker, tasks, again)
                else:
                    yield from zip(tasks, results, strict=True)

    def _hand_out(self, again: deque[_Task[J]], left: Iterator[_Task[J]], batch: int) -> bool:
        """Give tasks to every idle process; return whether any process has tasks now."""
        idle = [worker for worker in self._workers if not worker.tasks]
        for _ in range(self.processes - len(self._workers) + len(idle)):
            tasks = [again.popleft()] if again else list(islice(left, batch))
            if not tasks:
                break
            if not idle:
                idle.append(_Worker(self._make))
                self._workers += idle
            idle.pop().give(tasks)
        return any(worker.tasks for worker in self._workers)

    def _replaced(
        self, worker: "_Worker[J, R]", tasks: Sequence[_Task[J]], again: deque[_Task[J]]
    ) -> Iterator[tuple[_Task[J], R]]:
        """Remove a process that has died; queue its tasks again, or yield those that are lost."""
        self._workers.remove(worker)
        died = worker.death()
        for task in tasks:
            if task.deaths + 1 == ATTEMPTS:
                yield task, self._lost(task.job, died)
            else:
                again.append(task._replace(deaths=task.deaths + 1))


class _Worker(Generic[J, R]):
    """A process and its current tasks."""

    def __init__(self, make: Callable[[], Act[J, R]]) -> None:
        self.connection, far = Pipe()
        self._process = workers.process(_serve, far, make)
        far.close()
        self.tasks: list[_Task[J]] = []

    def give(self, tasks: list[_Task[J]]) -> None:
        """Send tasks to the process."""
        self.tasks = tasks
        with suppress(ConnectionError):  # it has died; `answer` notices
            self.connection.send([task.job for task in tasks])

    def answer(self) -> list[R] | None:
        """The results of its tasks; None where the process has died. Raises what a job raised."""
        self.tasks = []
        try:
            found: list[R] | Exception = self.connection.recv()
        except (EOFError, OSError):
            self.connection.close()
            return None
        if isinstance(found, Exception):
            raise found
        return found

    def end(self) -> None:
        """Close its pipe, on which it ends; kill it if it has tasks."""
        self.connection.close()
        if self.tasks:
            self._process.kill()

    def death(self) -> str:
        """Wait for its end; return a phrase for how it died."""
        self._process.join()
        return workers.death(self._process.exitcode or 0)


def _serve(connection: Connection, make: Callable[[], Act[J, R]]) -> None:
    """Run jobs from a pipe until its other end is closed."""
    act: Act[J, R] | None = None
    with suppress(EOFError, ConnectionError):
        while True:
            jobs = connection.recv()
            found: list[R] | Exception
            try:
                act = act or make()
                found = list(act(jobs))
            except Exception as error:
                error.add_note(f"in a process of its own:\n{traceback.format_exc()}")
                found = error
            connection.send(found)
