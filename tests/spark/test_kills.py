"""A command that is ended in the middle of Spark's work: no JVM and no worker stays.

A sweep that is terminated is in `test_cluster`.
"""

from pathlib import Path
from signal import SIGKILL, SIGTERM

import pytest

from tests.support.command import ddlsim, tiny
from tests.support.killing import LINUX, assert_ended_by, struck
from tests.support.waiting import until
from tests.unit.cli.test_tune import small_delays

pytestmark = LINUX

ON_SPARK = ("--master", "local[2]")
WORKERS = "pyspark.daemon"


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
    assert_ended_by(number, ended)
