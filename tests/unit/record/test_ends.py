"""Commands that are ended, or refused: nothing of them goes on, and one line is printed."""

import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from ddlsim.record import recorder
from ddlsim.record.rehearsal.migration import Migration
from tests.support.command import ROOT, ddlsim, process
from tests.support.waiting import PATIENCE_S


class Slow:
    """Work that takes a while to end after it was asked to; `begun` has one permit for each that
    has begun, `ended` counts what has ended.
    """

    begun, ended = threading.Semaphore(0), 0

    def __init__(self, *_: Any) -> None:
        pass

    def work(self, *given: Any) -> None:
        Slow.begun.release()
        given[-1].wait()
        is_client = threading.current_thread().name in {"client-1", "client-2"}
        threading.Event().wait(0.1 if is_client else 1.0)
        Slow.ended += 1


@pytest.fixture
def interrupted(request: pytest.FixtureRequest) -> Any:
    """Interrupts the main thread once so much slow work is under way."""
    Slow.begun, Slow.ended = threading.Semaphore(0), 0
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        if all(Slow.begun.acquire(timeout=PATIENCE_S) for _ in range(request.param)):
            threading.Event().wait(0.1)
            signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    yield
    thread.join()


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("interrupted", [3], indirect=True)
def test_clients_end_before_an_interrupted_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "Client", Slow)
    done = ddlsim(
        "record", f"sqlite:///{tmp_path}/db", "--out", f"{tmp_path}/out", "--clients", "2"
    )
    assert (done.code, done.err, Slow.ended) == (130, "ddlsim: interrupted\n", 3)


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("interrupted", [1], indirect=True)
def test_the_migration_ends_before_an_interrupted_rehearsal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Migration, "work", Slow.work)
    with closing(sqlite3.connect(tmp_path / "db")) as made:
        made.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")
    (tmp_path / "m.sql").write_text("ALTER TABLE t ADD COLUMN w")
    words = (f"sqlite:///{tmp_path}/db", f"{tmp_path}/m.sql", "--rows", "3", "--before", "1s")
    done = ddlsim("rehearse", *words)
    assert (done.code, done.err, Slow.ended) == (130, "ddlsim: interrupted\n", 1)


def test_a_keeper_without_a_recorder_ends() -> None:
    """The recorder may be ended before it has said what to keep."""
    words = [sys.executable, "-m", "ddlsim.record.keeper"]
    done = subprocess.run(words, cwd=ROOT, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(find_spec("duckdb") is None, reason="needs the extra real")
def test_a_refused_duckdb_is_one_line(tmp_path: Path) -> None:
    """At the end of a process the driver would print what is left of it."""
    done = process("record", f"duckdb:///{tmp_path}/none/db", "--out", f"{tmp_path}/out")
    assert (done.code, done.err.count("\n")) == (2, 1), done.err


@pytest.mark.skipif(find_spec("psycopg") is None, reason="needs the extra real")
@pytest.mark.parametrize("verb", ["record", "rehearse"])
def test_clients_that_could_have_no_connection_are_refused(verb: str, tmp_path: Path) -> None:
    (tmp_path / "m.sql").write_text("SELECT 1")
    files = (f"{tmp_path}/m.sql", "--schema", f"{tmp_path}/m.sql") if verb == "rehearse" else ()
    words = ("--out", f"{tmp_path}/out", "--clients", "51")
    done = ddlsim(verb, "postgresql:embedded", *files, *words)
    assert (done.code, done.err.count("\n"), (tmp_path / "out").exists()) == (2, 1, False)
    assert "it takes 50 clients at most" in done.err
