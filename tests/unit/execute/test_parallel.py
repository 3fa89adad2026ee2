"""One executor: the same results here and on processes, whatever dies meanwhile."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest

from ddlsim.execute.parallel import ATTEMPTS, Executor
from tests.support.waiting import until


def told(job: int, how: str) -> str:
    return f"{job}: {how}"


def squares() -> Callable[[Sequence[int]], list[str]]:
    return lambda jobs: [str(job * job) for job in jobs]


@pytest.mark.parametrize(("processes", "batch"), [(1, 1), (2, 1), (2, 3)])
def test_results_come_in_the_order_of_jobs(processes: int, batch: int) -> None:
    seen: dict[int, str] = {}
    with Executor(squares, told, processes=processes, alone_s=0) as executor:
        found = executor.run(iter(range(10)), seen.__setitem__, batch=batch)
        again = executor.run([7])
    assert found == [str(job * job) for job in range(10)] == [seen[job] for job in range(10)]
    assert again == ["49"]


@pytest.mark.parametrize(("processes", "batch"), [(1, 1), (2, 1), (3, 4)])
def test_run_in_order_takes_results_in_order_until_one_ends_it(processes: int, batch: int) -> None:
    taken: list[tuple[int, str]] = []

    def take(job: int, result: str) -> bool:
        taken.append((job, result))
        return job in (11, 14)

    with Executor(squares, told, processes=processes, alone_s=0) as executor:
        executor.run_in_order(iter(range(10_000)), take, batch=batch)
        assert taken == [(job, str(job * job)) for job in range(12)]
        executor.run_in_order(range(12, 14), take, batch=batch)
    assert [job for job, _ in taken] == list(range(14))


def slow_first() -> Callable[[Sequence[int]], list[str]]:
    """Job 0 ends only when its file is removed, which job 3 does."""

    def act(jobs: Sequence[int]) -> list[str]:
        path = Path(os.environ["SLOW_FIRST"])
        if 0 in jobs:
            until(lambda: not path.exists(), "job 3")
        elif 3 in jobs:
            path.unlink()
        return [str(job) for job in jobs]

    return act


def test_run_in_order_waits_for_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "slow"
    path.touch()
    monkeypatch.setenv("SLOW_FIRST", str(path))
    taken: list[int] = []

    def take(job: int, result: str) -> bool:
        taken.append(job)
        return False

    with Executor(slow_first, told, processes=2, alone_s=0) as executor:
        executor.run_in_order(range(6), take)
    assert taken == list(range(6))


def test_no_job_starts_no_process() -> None:
    with Executor(squares, told, processes=2, alone_s=0) as executor:
        assert executor.run([]) == []
        assert not executor._workers


def deaths(folder: str, first_only: bool) -> Callable[[Sequence[int]], list[str]]:
    """Job 3 is killed and 5 exits, every time or only the first; each try leaves a file."""

    def act(jobs: Sequence[int]) -> list[str]:
        for job in jobs:
            tries = len(list(Path(folder).glob(f"{job}.*")))
            Path(folder, f"{job}.{tries}").touch()
            if job in (3, 5) and not (first_only and tries):
                os.kill(os.getpid(), signal.SIGKILL) if job == 3 else os._exit(3)
        return [str(job) for job in jobs]

    return act


def test_a_job_that_no_process_survives_is_lost_and_the_others_are_done(tmp_path: Path) -> None:
    make = partial(deaths, str(tmp_path), first_only=False)
    with Executor(make, told, processes=2, alone_s=0) as executor:
        found = executor.run(range(8), batch=4)
        assert executor.run([6]) == ["6"]
    wanted = [str(job) for job in range(8)]
    wanted[3] = "3: its process was killed by signal 9 (SIGKILL)"
    wanted[5] = "5: its process exited with code 3"
    assert found == wanted
    assert len(list(tmp_path.glob("3.*"))) == len(list(tmp_path.glob("5.*"))) == ATTEMPTS


def test_a_job_whose_process_dies_once_is_retried(tmp_path: Path) -> None:
    make = partial(deaths, str(tmp_path), first_only=True)
    with Executor(make, told, processes=2, alone_s=0) as executor:
        assert executor.run(range(8), batch=4) == [str(job) for job in range(8)]


def refuses(job: int, how: str) -> str:
    raise RuntimeError(f"{job} {how}")


def test_an_error_ends_the_run_and_its_processes(tmp_path: Path) -> None:
    """One that `lost` raises, and one of a job."""
    before = set(multiprocessing.active_children())
    make = partial(deaths, str(tmp_path), first_only=False)
    with (
        pytest.raises(RuntimeError, match="5 its process exited with code 3"),
        Executor(make, refuses, processes=2, alone_s=0) as executor,
    ):
        executor.run([5, 1])
    with (
        pytest.raises(ZeroDivisionError) as caught,
        Executor(divides, told, processes=2, alone_s=0) as other,
    ):
        other.run([1, 0])
    assert "in a process of its own" in caught.value.__notes__[0]
    assert set(multiprocessing.active_children()) <= before


def waits(folder: str) -> Callable[[Sequence[str]], list[str]]:
    """One job goes on for some seconds, the other fails as soon as that has begun."""

    def act(jobs: Sequence[str]) -> list[str]:
        begun, survived = Path(folder, "begun"), Path(folder, "survived")
        if jobs == ["fails"]:
            until(begun.exists, "the other job")
            raise RuntimeError("planted")
        begun.touch()
        threading.Event().wait(5)
        survived.touch()
        return list(jobs)

    return act


def test_an_error_ends_the_jobs_of_other_processes(tmp_path: Path) -> None:
    make = partial(waits, str(tmp_path))
    with (
        pytest.raises(RuntimeError, match="planted"),
        Executor[str, str](make, lambda job, how: job, processes=2, alone_s=0) as executor,
    ):
        executor.run(["goes on", "fails"])
    assert not (tmp_path / "survived").exists()


def divides() -> Callable[[Sequence[int]], list[str]]:
    return lambda jobs: [str(1 // job) for job in jobs]


def test_jobs_may_depend_on_earlier_results() -> None:
    """Jobs are taken no sooner than a process is free for them."""
    done: list[int] = []
    ahead: list[int] = []

    def jobs() -> Iterator[int]:
        for job in range(12):
            ahead.append(job - len(done))
            yield job

    with Executor(squares, told, processes=2, alone_s=0) as executor:
        executor.run(jobs(), lambda job, result: done.append(job))
    assert len(done) == 12
    assert max(ahead) <= 2
