"""Commands in forked processes: they share what was imported, and no state.

A command that loads a plug-in must not find it loaded by another one; but to import the program
takes longer than most commands. `python -m tests.support.forked` imports it once and forks for each
command.
"""

import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tests.support.command import ROOT, Done


def forked(commands: Sequence[Sequence[str]], folder: Path) -> list[Done]:
    """How these commands end, run in this folder one after the other, each in its own process."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.forked", str(folder)],
        cwd=ROOT,
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        check=True,
    )
    return [Done(*each) for each in json.loads(done.stdout)]


def _in_a_fork(words: list[str]) -> Done:
    """One command, forked from this process."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            _run(words)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read().decode())
    return Done(code, *said)


def _run(words: list[str]) -> NoReturn:
    """What a forked process does: the command, and nothing of its parent's at its end."""
    from ddlsim.cli import main

    code = 1
    try:
        code = main(words)
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _serve(folder: str) -> None:
    from ddlsim.analysis.figures.catalog import PLOTS

    figures = [f"ddlsim.analysis.plot_{name}" for name in PLOTS]
    for module in (*figures, "ddlsim.api", "ddlsim.analysis.figures.report"):
        importlib.import_module(module)
    os.chdir(folder)
    sys.stdout.write(json.dumps([_in_a_fork(words) for words in json.load(sys.stdin)]))


if __name__ == "__main__":
    _serve(sys.argv[1])
