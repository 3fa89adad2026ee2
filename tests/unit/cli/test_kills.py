"""Whatever ends a command, its workers end with it; what was done is as if nothing had happened."""

from pathlib import Path
from signal import SIGHUP, SIGINT, SIGKILL, SIGTERM

import pytest

from tests.support.command import AT_ONCE, tiny
from tests.support.killing import LINUX, Struck, struck
from tests.support.sweeps import sweep_file
from tests.support.waiting import until
from tests.unit.cli.test_tune import small_delays

pytestmark = LINUX

TOLD = {SIGTERM: (143, "terminated"), SIGHUP: (129, "hung up"), SIGINT: (130, "interrupted")}
MANY = "100000"


def words_of(verb: str, folder: Path) -> tuple[str, ...]:
    """A command that is at work on two processes for long."""
    return {
        "run": ("run", tiny(folder), "--seeds", f"0..{MANY}"),
        "verify": ("verify", "smoke", "--seeds", MANY),
        "sweep": ("sweep", sweep_file(folder, 9_000), "--out", str(folder / "out")),
        "tune": ("tune", "--delays", small_delays(folder), "--seeds", "20000"),
    }[verb] + ("--jobs", "2")


def check(command: Struck, number: int) -> None:
    """Strike it; nothing is left, and it says once what became of it."""
    ended = command.end(number)
    assert ended.out == ""
    assert "Traceback" not in ended.err
    if number == SIGKILL:
        assert ended.code == -SIGKILL
        return
    code, told = TOLD[number]  # type: ignore[index]  # one of the three
    assert ended.code == code
    assert ended.err.endswith(f"ddlsim: {told}\n"), ended.err


@pytest.mark.parametrize(
    ("verb", "number"),
    [("run", SIGKILL), *((verb, SIGTERM) for verb in ("run", "verify", "sweep", "tune"))],
)
def test_workers_end_with_their_parent(verb: str, number: int, tmp_path: Path) -> None:
    """A verb that is killed does nothing of its own: workers of one show it for all."""
    with struck(*words_of(verb, tmp_path), program=AT_ONCE) as command:
        command.at_work(2)
        check(command, number)


@pytest.mark.parametrize("number", [SIGINT, SIGHUP])
def test_other_signals_do_the_same(number: int, tmp_path: Path) -> None:
    with struck(*words_of("run", tmp_path), program=AT_ONCE) as command:
        command.at_work(2)
        check(command, number)


@pytest.mark.parametrize("number", [SIGKILL, SIGTERM])
def test_workers_that_have_just_begun_end_too(number: int, tmp_path: Path) -> None:
    with struck(*words_of("run", tmp_path), program=AT_ONCE) as command:
        command.begun(1)
        ended = command.end(number)
    assert ended.out == ""


def test_a_signal_before_any_worker_is_told(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with struck(
        "run", "smoke", "--seeds", f"0..{MANY}", "--jobs", "1", "--out", str(out)
    ) as command:
        until((out / "seed-0.jsonl").exists, "the first history", command.alive)
        check(command, SIGTERM)


SPAWNS = """\
import multiprocessing
from tests.support.killing import at_work_elsewhere

begun = multiprocessing.get_context("spawn").Process(target=at_work_elsewhere)
begun.start()
begun.join()
"""
FORKS = """\
import os
import warnings
from ddlsim.execute import workers
from tests.support.killing import at_work_elsewhere

warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside a thread, since Python 3.12
lifeline = workers.Lifeline()
if not os.fork():
    at_work_elsewhere(lifeline.in_child)
lifeline.in_parent()
os.wait()
"""


BUSY = """\
from tests.support.killing import Unpacked, at_work
from ddlsim.execute import workers
from ddlsim.execute.parallel import Executor
from functools import partial

if __name__ == "__main__":
    WORK
"""
A_POOL = """\
with Executor(partial(at_work, Unpacked()), print, processes=2, alone_s=0) as executor:
        executor.run([1])
"""
A_PROCESS = "workers.process(at_work, Unpacked()).join()"


@pytest.mark.parametrize("work", [A_POOL, A_PROCESS], ids=["pool", "process"])
def test_a_worker_that_is_slow_to_begin_ends_too(work: str) -> None:
    """To import what a worker is given may take long; it has been set up before."""
    with struck(program=("-c", BUSY.replace("WORK", work))) as parent:
        assert parent.process.stderr is not None
        assert parent.process.stderr.readline() == "unpacking\n"
        ended = parent.end(SIGKILL)
    assert (ended.code, ended.out) == (-SIGKILL, "")


@pytest.mark.parametrize("text", [SPAWNS, FORKS], ids=["spawned", "forked"])
def test_without_the_kernels_help_a_pipe_tells_that_the_parent_has_gone(
    text: str,
) -> None:
    """As on systems that are not Linux."""
    with struck(program=("-c", text)) as parent:
        assert parent.process.stderr is not None
        assert parent.process.stderr.readline() == "at work\n"
        assert parent.end(SIGKILL) == (-SIGKILL, "", "")


JAVA = """\
#!/bin/sh
case "$*" in
    *launcher.Main*) printf '\\0\\n'; printf 'sleep\\0'; printf '100000\\0' ;;
    *) exec sleep 100000 ;;
esac
"""
BEGINS_SPARK = """\
import os, sys
os.environ["JAVA_HOME"] = sys.argv[1]
from ddlsim.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("number", [SIGKILL, SIGTERM, SIGINT])
def test_a_jvm_that_has_just_begun_ends_too(number: int, tmp_path: Path) -> None:
    """This one never comes to see that its stdin has ended."""
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text(JAVA, "utf-8")
    java.chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="21.0.1"\n', "utf-8")
    (tmp_path / "h.jsonl").write_text("{}", "utf-8")
    words = (str(tmp_path), "check", str(tmp_path / "h.jsonl"), "--master", "local[1]")
    with struck(*words, program=("-c", BEGINS_SPARK)) as command:
        until(lambda: bool(command.others("100000")), "a JVM", command.alive)
        check(command, number)
