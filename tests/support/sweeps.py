"""Sweeps that take a second, and their tables."""

import glob
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.cells import TINY
from tests.support.command import ROOT
from tests.support.waiting import until

SWEEP = """\
title = "a tiny sweep"
scenarios = ["tiny.toml"]
seeds = "0..SEEDS"

[parameters]
dd = { path = "protocol.delay_duration_ms", values = [0, 20, 60] }
"""


def sweep_file(folder: Path, seeds: int = 5, more: str = "") -> str:
    """The tiny sweep as a file beside its scenario; `more` stands before its tables."""
    (folder / "tiny.toml").write_text(TINY, "utf-8")
    path = folder / "sweep.toml"
    text = SWEEP.replace("SEEDS", str(seeds - 1)).replace("[parameters]", f"{more}\n[parameters]")
    path.write_text(text, "utf-8")
    return str(path)


def rows_bytes(directory: Path) -> bytes:
    """The table of rows, bit for bit."""
    return (directory / "rows.parquet").read_bytes()


def begin(*words: str) -> subprocess.Popen[bytes]:
    """The command as a process of its own, in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "ddlsim", "sweep", *words],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def wait_for_parts(directory: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    """Until so many chunks are done."""

    def alive() -> None:
        assert process.poll() is None, process.communicate()[1]

    until(lambda: len(list(directory.glob("parts/part-*.parquet"))) >= count, "parts", alive)


def children(pid: int) -> list[int]:
    """The processes that a process has begun, and theirs."""
    found: list[int] = []
    for listed in glob.glob(f"/proc/{pid}/task/*/children"):  # pathlib's raises where pid ends
        try:
            found += map(int, Path(listed).read_text().split())
        except OSError:  # a thread that has ended meanwhile
            continue
    return [below for child in found for below in (child, *children(child))]


def kill(pid: int) -> None:
    """kill -9."""
    os.kill(pid, signal.SIGKILL)


def command_of(pid: int) -> str:
    """The command line of a process; nothing of one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
