"""The command line called from tests: in this process, or as its user would."""

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from ddlsim.cli import main

ROOT = Path(__file__).resolve().parents[2]

TINY = """\
title = "A row, and a column more"
expect = "ok"
reaches = ["ddl-installed"]

[protocol]
preset = "ignite3_tests"

[cluster]
nodes = 3

[schema]
sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"

[[step]]
id = "w"
client = "c1"
node = "n1"
at_ms = 10
do = ["put", "t", 1, { v = 5 }]
expect = "ok"

[[step]]
id = "d"
client = "c2"
node = "n2"
at_ms = 20
ddl = "ALTER TABLE t ADD COLUMN w INT"
"""
"""A scripted scenario that takes a few milliseconds."""

AT_ONCE = (
    "-c",
    """\
import sys
from ddlsim.execute import parallel

parallel.ALONE_S = 0.0  # for those that import it from there, below
parallel.Executor.__init__.__kwdefaults__["alone_s"] = 0.0
from ddlsim.cli import main

sys.exit(main())
""",
)
"""Python's words for the program, which with --jobs runs nothing itself before workers begin."""


class Done(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def variables_of(variables: Mapping[str, str]) -> Iterator[None]:
    """The environment, with these variables of ours and no others."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DDLSIM_")}
    with patch.dict(os.environ, {**kept, **variables}, clear=True):
        yield


def ddlsim(*words: str, **variables: str) -> Done:
    """Run a command in this process, with these variables of ours and no others."""
    out, err = io.StringIO(), io.StringIO()
    with (
        variables_of(variables),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main(words)
    return Done(code, out.getvalue(), err.getvalue())


def process(
    *words: str,
    python: tuple[str, ...] = (),
    program: tuple[str, ...] = ("-m", "ddlsim"),
    cwd: Path = ROOT,
    **variables: str,
) -> Done:
    """Run a command as a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DDLSIM_")}
    done = subprocess.run(
        [sys.executable, *python, *program, *words],
        cwd=cwd,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def tiny(folder: Path, **changes: str) -> str:
    """The tiny scenario as a file, some of its text replaced; its path."""
    text = TINY
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    path = folder / "tiny.toml"
    path.write_text(text, "utf-8")
    return str(path)
