"""A history written while its run goes on: the same bytes and verdict, or no file at all."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ddlsim.cluster.run import run, run_to
from ddlsim.execute.isolation import Limits
from ddlsim.files import PARTIAL, WriteError
from ddlsim.history import codec
from ddlsim.history.stream import Stream, streamed
from ddlsim.plan.plan import plan
from ddlsim.scenario import bounds
from ddlsim.scenario.load import load
from ddlsim.scenario.problems import ScenarioError
from ddlsim.scenario.scenario import read
from ddlsim.verify.campaign import Job, Runner, history_name
from tests.support.command import ROOT, TINY, Done, ddlsim, tiny
from tests.support.forked import forked
from tests.unit.cli.test_borders import refused

NEGATIVE = "negative/reads_newer_rows"
SETTLED = TINY + "expect = { version = 7, tu_ms = 1 }\n"
"""What the step expects is looked at when the run is over, in what was recorded."""


@pytest.mark.parametrize(
    ("name", "trace"),
    [
        ("smoke", True),
        (NEGATIVE, False),
        ("faults/crash", False),
        ("generated/standard", False),
    ],
)
def test_a_stream_and_a_saved_history_are_the_same_bytes(
    name: str, trace: bool, tmp_path: Path
) -> None:
    planned = plan(load(name), 2, trace=trace)
    codec.save(run(planned), tmp_path / "saved")
    left = run_to(planned, tmp_path / "streamed")
    assert (tmp_path / "streamed").read_bytes() == (tmp_path / "saved").read_bytes()
    assert left.events == []
    assert sorted(os.listdir(tmp_path)) == ["saved", "streamed"]


def test_a_streamed_run_settles_steps_from_the_file(tmp_path: Path) -> None:
    planned = plan(read(SETTLED, "tiny.toml"), 0)
    history = run(planned)
    codec.save(history, tmp_path / "saved")
    run_to(planned, tmp_path / "streamed")
    assert b"StepMissed" in (tmp_path / "saved").read_bytes()
    assert (tmp_path / "streamed").read_bytes() == (tmp_path / "saved").read_bytes()


@pytest.mark.parametrize("name", ["smoke", NEGATIVE])
def test_the_verdict_is_the_same(name: str, tmp_path: Path) -> None:
    scenario = load(name)
    job = Job(scenario.name, scenario.text, scenario.overrides, keep=str(tmp_path), first=2)
    streaming = Job(**{**{f: getattr(job, f) for f in job.__struct_fields__}, "stream": True})
    whole = Runner(job).row(2)
    saved = (tmp_path / history_name(2)).read_bytes()
    assert Runner(streaming).row(2) == whole
    assert (tmp_path / history_name(2)).read_bytes() == saved


def test_a_run_that_is_left_to_check_is_unknown_until_then(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = ddlsim("run", NEGATIVE, "--seed", "2", "--out", str(out), "--stream", "--unjudged")
    assert (done.code, done.err) == (6, "")
    assert "the run, which is left to `ddlsim check`, could not be judged" in done.out
    assert ddlsim("check", str(out / "seed-2.jsonl")).code == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--stream",), "--stream writes into the directory of --out; name one"),
        (("--unjudged", "--out", "OUT"), "--unjudged is for a run with --stream"),
        (("--stream", "--seeds", "0..1", "--out", "OUT"), "--stream is for one run"),
    ],
)
def test_flags_that_do_nothing_are_refused(
    words: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    given = [word.replace("OUT", str(tmp_path / "out")) for word in words]
    refused(ddlsim("run", "smoke", *given), told)
    assert not (tmp_path / "out").exists()


def test_what_is_not_judged_may_be_longer() -> None:
    """An operation of the load is some 12 events: judged, 300 of them need a MiB."""
    found = load("generated/standard", {"workload[0].operations": 100_000}).estimate
    assert found.memory_mib > 10 * found.streamed_mib > 0
    longer = found._replace(memory_mib=bounds.MEMORY_MIB + 1)
    bounds.check_run("x", longer, None, unjudged=True)
    with pytest.raises(ScenarioError, match="8,193 MiB, more than 8,192 MiB"):
        bounds.check_run("x", longer, None)
    with pytest.raises(ScenarioError, match="9,000 MiB, more than 8,192 MiB"):
        bounds.check_run("x", longer._replace(streamed_mib=9_000), None, unjudged=True)


# --- a run that does not come to its end ----------------------------------------------------------

KILLED = """\
import os, signal, sys
from ddlsim.cli import main
from ddlsim.history.stream import Stream
told, record = [], Stream.record
def struck(self, event):
    record(self, event)
    told.append(1)
    if len(told) == 200:
        self._file.flush()
        os.kill(os.getpid(), int(sys.argv[1]))
Stream.record = struck
sys.exit(main(sys.argv[2:]))
"""
"""A command that is killed by a signal as it writes its 200th event."""


def python(*words: str) -> Done:
    """A program run by a process of its own."""
    given = [sys.executable, "-c", *words]
    done = subprocess.run(given, cwd=ROOT, capture_output=True, text=True, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_run_that_is_killed_leaves_no_history(number: int, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ("run", "smoke", "--out", str(out), "--stream")
    done = python(KILLED, str(int(number)), *given)
    assert done.code == {signal.SIGKILL: -9, signal.SIGTERM: 143}[signal.Signals(number)], done
    names = sorted(os.listdir(out))
    assert history_name(0) not in names
    begun = [name for name in names if name.endswith(PARTIAL)]
    assert len(begun) == (number == signal.SIGKILL)
    assert ddlsim(*given).code == 0
    assert sorted(os.listdir(out)) == [history_name(0), "summary.json"]


def test_a_run_over_its_budget_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(_: Stream, event: object) -> None:
        threading.Event().wait()

    monkeypatch.setattr(Stream, "record", slow)
    limits = Limits(time_s=0.5)
    job = Job("tiny", TINY, {}, keep=str(tmp_path), stream=True, limits=limits)
    [row] = Runner(job).rows([0])
    assert "took longer" in row.unjudged[0]
    assert os.listdir(tmp_path) == []


def crashing(path: Path, refused: OSError | None) -> None:
    """A run that crashes after its header, perhaps for what the system has refused once."""

    class Full:
        def write(self, _: bytes) -> None:
            raise refused or AssertionError

    history = run(plan(read(TINY, "tiny.toml"), 0))
    with streamed(path) as stream:
        stream.begin(history.header)
        if refused is not None:
            stream._file = Full()  # type: ignore[assignment]  # all of a file that is used
            with pytest.raises(OSError, match="full"):
                stream.record(history.events[0])
        raise ZeroDivisionError


def test_a_run_that_crashes_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        crashing(tmp_path / "h", None)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("room", [2_000, 70_000])
def test_a_full_disk_is_one_line(room: int, tmp_path: Path) -> None:
    """Where the room ends within the run, whose tasks make crashes of errors, and at its end."""
    out = tmp_path / "out"
    given = ("run", tiny(tmp_path) if room == 2_000 else "smoke", "--out", str(out), "--stream")
    done = forked(*given, room=room)
    refused(done, str(out / history_name(0)), "File too large", "free some space")
    assert os.listdir(out) == ["summary.json"]


def test_a_write_error_of_the_stream_is_reported_whatever_the_run_does(tmp_path: Path) -> None:
    full = OSError(errno.ENOSPC, "full")
    with pytest.raises(WriteError, match="No space left"):
        crashing(tmp_path / "h", full)
    assert os.listdir(tmp_path) == []
