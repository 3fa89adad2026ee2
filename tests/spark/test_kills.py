"""A command that is ended in the middle of Spark's work: no JVM and no worker stays."""

from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest

from ddlsim.analysis.sweep.chunks import PARTS
from tests.support.command import ddlsim, tiny
from tests.support.killing import LINUX, Ended, struck
from tests.support.sweeps import rows_bytes, sweep_file
from tests.support.waiting import until
from tests.unit.cli.test_tune import small_delays

pytestmark = LINUX

ON_SPARK = ("--master", "local[2]")
WORKERS = "pyspark.daemon"


def check(ended: Ended, number: int) -> None:
    """By its code and last line; Spark's own workers may complain that their JVM has gone."""
    assert ended.code == (-SIGKILL if number == SIGKILL else 143), ended
    assert "internal error" not in ended.err
    assert number == SIGKILL or "ddlsim: terminated\n" in ended.err


def test_a_terminated_sweep_on_spark_resumes_and_leaves_no_process(tmp_path: Path) -> None:
    """One whose driver is killed is in `test_cluster`."""
    file, out = sweep_file(tmp_path, 24), tmp_path / "out"
    with struck("sweep", file, "--out", str(out), *ON_SPARK) as command:
        until(lambda: len(list(out.glob(f"{PARTS}/*.parquet"))) > 1, "two parts", command.alive)
        ended = command.end(SIGTERM)
    check(ended, SIGTERM)
    assert not (out / "rows.parquet").exists()
    assert ddlsim("sweep", file, "--out", str(out), "--jobs", "1", "--resume").code == 0
    assert ddlsim("sweep", file, "--out", str(tmp_path / "whole"), "--jobs", "1").code == 0
    assert rows_bytes(out) == rows_bytes(tmp_path / "whole")
    assert not list(out.rglob("*.tmp"))


def words_of(verb: str, folder: Path) -> tuple[str, ...]:
    """A command whose tasks are at work for long."""
    if verb == "tune":
        return ("tune", "--delays", small_delays(folder), "--seeds", "20000", *ON_SPARK)
    assert ddlsim("run", tiny(folder), "--out", str(folder / "ran")).code == 0
    return ("check", *[str(folder / "ran" / "seed-0.jsonl")] * 5_000, *ON_SPARK)


@pytest.mark.parametrize(("verb", "number"), [("check", SIGTERM), ("tune", SIGKILL)])
def test_killed_commands_leave_no_process(verb: str, number: int, tmp_path: Path) -> None:
    with struck(*words_of(verb, tmp_path)) as command:
        until(lambda: len(command.others(WORKERS)) > 1, "a task at work", command.alive)
        ended = command.end(number)
    assert ended.out == ""
    check(ended, number)
