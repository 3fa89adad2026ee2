"""Runs that die, hang or eat all memory are rows, and the others are as if alone."""

import contextlib
import faulthandler
import os
import signal
import threading
from collections.abc import Callable

import pytest

from ddlsim.analysis.sweep import rows as sweep_rows
from ddlsim.analysis.sweep.rows import Job, Row, rows_of, run_job
from ddlsim.execute import isolation
from ddlsim.execute.isolation import Limits
from ddlsim.execute.workers import fork
from tests.support.cells import cell

JOBS = [Job(cell(), seed) for seed in range(6)]


def dies(job: Job) -> Row:
    if job.seed == 1:
        os._exit(3)
    if job.seed == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return run_job(job)


def test_isolated_makes_a_row_of_a_run_that_dies() -> None:
    rows = rows_of(JOBS, Limits(), dies)
    assert [row["seed"] for row in rows] == list(range(6))
    assert [row["outcome"] for row in rows] == ["ok", "crashed", "crashed", "ok", "ok", "ok"]
    assert rows[1]["error"] == "its process exited with code 3"
    assert rows[2]["error"] == "its process was killed by signal 9 (SIGKILL)"
    assert rows[3] == run_job(JOBS[3])


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT])
def test_isolated_does_not_take_a_crash_for_lack_of_memory(number: signal.Signals) -> None:
    """Where memory is limited the interpreter may die so for want of it; elsewhere it may not."""

    def crashes(job: Job) -> Row:
        if job.seed == 1:
            faulthandler.disable()  # it would tell where
            os.kill(os.getpid(), number)
        return run_job(job)

    told = f"its process was killed by signal {number:d} ({number.name})"
    for limits in (Limits(), Limits(time_s=600.0)):
        rows = rows_of(JOBS[:3], limits, crashes)
        assert [row["outcome"] for row in rows] == ["ok", "crashed", "ok"]
        assert rows[1]["error"] == told
    large = rows_of(JOBS[:3], Limits(memory_mib=4_096), crashes)
    assert large[1]["error"] == "needs more than 4096 MiB"


def hangs(job: Job) -> Row:
    if job.seed in (0, 5):
        signal.pause()
    return run_job(job)


def test_isolated_ends_a_run_that_hangs() -> None:
    rows = rows_of(JOBS, Limits(time_s=5.0), hangs)
    assert [row["outcome"] for row in rows] == ["timeout", "ok", "ok", "ok", "ok", "timeout"]
    assert rows[0]["error"] == "took longer than 5 s"


def eats(job: Job) -> Row:
    if job.seed == 1:
        bytearray(3 << 30)
    if job.seed == 3:
        return {**run_job(job), "outcome": "crashed", "error": "MemoryError"}
    return run_job(job)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="limits memory on Linux only")
def test_isolated_ends_a_run_with_too_much_memory() -> None:
    rows = rows_of(JOBS, Limits(memory_mib=600), eats)
    assert [row["outcome"] for row in rows] == ["ok", "crashed", "ok", "crashed", "ok", "ok"]
    assert rows[1]["error"] == rows[3]["error"] == "needs more than 600 MiB"


def never_gives_up(job: Job) -> Row:
    """As CPython 3.11 does where it has no memory left to enter an exception's handler."""
    kept = []
    while job.seed in (1, 2):
        with contextlib.suppress(MemoryError):
            kept.append(bytearray(1 << 20))
    return run_job(job)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="limits memory on Linux only")
def test_isolated_ends_a_run_that_ignores_memory_errors() -> None:
    rows = rows_of(JOBS[:4], Limits(memory_mib=600), never_gives_up)
    assert [row["outcome"] for row in rows] == ["ok", "crashed", "crashed", "ok"]
    assert rows[1]["error"] == rows[2]["error"] == "needs more than 600 MiB"


def takes_and_gives_back(job: Job) -> Row:
    if job.seed == 1:
        bytearray(700 << 20)
    return run_job(job)


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="limits memory on Linux only")
def test_isolated_charges_a_memory_peak_to_its_own_run() -> None:
    rows = rows_of(JOBS[:4], Limits(memory_mib=600), takes_and_gives_back)
    assert [row["outcome"] for row in rows] == ["ok", "crashed", "ok", "ok"]
    assert rows[1]["error"] == "needs more than 600 MiB"


def test_isolated_without_fork_gives_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    forked = rows_of(JOBS, Limits())
    monkeypatch.setattr(isolation, "CAN_FORK", False)
    monkeypatch.setattr(sweep_rows, "CAN_FORK", False)
    assert rows_of(JOBS, Limits()) == forked


INTERRUPTS: list[Callable[[], None]] = []
"""What interrupts this process behind its next forks, while Python still works at them."""


def interrupt() -> None:
    if INTERRUPTS:
        INTERRUPTS.pop()()


os.register_at_fork(after_in_parent=interrupt)


def in_this_thread() -> None:
    signal.raise_signal(signal.SIGINT)


def another_thread() -> Callable[[], None]:
    """A function that has a thread, begun now, take an interrupt; Python's handler runs in the main
    thread. The kernel has other threads take what is sent to the process and blocked here."""
    due, taken = threading.Event(), threading.Event()

    def take() -> None:
        due.wait()
        in_this_thread()
        taken.set()

    def interrupts() -> None:
        due.set()
        taken.wait()

    threading.Thread(target=take, daemon=True).start()
    return interrupts


@pytest.mark.parametrize("begin", [lambda: in_this_thread, another_thread])
def test_an_interrupt_during_a_fork_is_not_lost(begin: Callable[[], Callable[[], None]]) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    INTERRUPTS.append(begin())
    parent = os.getpid()
    try:
        with pytest.raises(KeyboardInterrupt):
            fork()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        if os.getpid() != parent:
            os._exit(0)
        signal.signal(signal.SIGINT, before)
        os.wait()
    assert INTERRUPTS == []
