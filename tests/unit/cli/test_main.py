"""The command as its user meets it: quick to help, quiet about its insides, clear about trouble."""

import shutil
import subprocess
import sys
from unittest.mock import patch

import pytest

import ddlsim as package
from ddlsim.cli import verb_list
from tests.unit.cli.command import ROOT, ddlsim, process

HEAVY = (
    *("numpy", "networkx", "sqlglot", "simpy", "rich", "msgspec", "orjson", "matplotlib"),
    *("scipy", "pyarrow", "pyspark", "pandas", "jinja2"),
)
LOOK = (
    "import sys; from ddlsim.cli import main; main(sys.argv[1:])\n"
    "print(*sys.modules, file=sys.stderr)"
)


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], [], ["rnu"]])
def test_help_and_slips_import_nothing_heavy(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert not loaded & set(HEAVY)
    assert "click" in loaded


def test_the_version_is_the_packages() -> None:
    assert process("--version").out == f"ddlsim {package.__version__}\n"


def test_an_optimised_python_is_refused() -> None:
    done = process("run", "smoke", python=("-O",))
    assert (done.code, done.out) == (2, "")
    assert done.err == ("ddlsim: python -O removes the simulator's assertions; run it without -O\n")


def test_a_defect_of_ours_is_one_line_and_exit_4() -> None:
    with patch.dict(verb_list.LISTS, {"reasons": lambda: 1 // 0}):
        done = ddlsim("list", "reasons")
    assert done.code == 4
    assert done.out == ""
    told = "internal error: ZeroDivisionError: integer division or modulo by zero"
    assert done.err == f"ddlsim: {told}; DDLSIM_DEBUG=1 shows where\n"


def test_debugging_shows_the_traceback() -> None:
    with patch.dict(verb_list.LISTS, {"reasons": lambda: 1 // 0}):
        done = ddlsim("list", "reasons", DDLSIM_DEBUG="1")
    assert done.err.startswith("Traceback")


def test_an_interrupt_is_one_line_and_exit_130() -> None:
    def interrupted() -> list[dict[str, object]]:
        raise KeyboardInterrupt

    with patch.dict(verb_list.LISTS, {"reasons": interrupted}):
        done = ddlsim("list", "reasons")
    assert done == (130, "", "ddlsim: interrupted\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with pipes")
def test_a_reader_that_goes_away_is_no_trouble() -> None:
    command = f"set -o pipefail; {sys.executable} -m sim list clauses | true"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode in {0, 141}  # 0 where all was written before the reader went
