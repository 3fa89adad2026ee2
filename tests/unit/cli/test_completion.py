"""Shell completion, as the shells ask for it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ddlsim.cli.arguments import COMPLETE, LISTS, SHELLS, VERBS
from tests.support.command import ROOT, ddlsim
from tests.support.forked import forked

BASH = """
compopt() { :; }  # bash's own, which works only while it completes
source "$1/script"
COMP_WORDS=("${@:2}")
COMP_CWORD=$(( $# - 2 ))
_ddlsim_completion "$1/ddlsim"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A command that is called ddlsim, and its script of completion."""
    found = tmp_path_factory.mktemp("shell")
    command = found / "ddlsim"
    command.write_text(f'#!/bin/sh\ncd {ROOT}; exec {sys.executable} -m sim "$@"\n', "utf-8")
    command.chmod(0o755)
    (found / "script").write_text(ddlsim("completion", "bash").out, "utf-8")
    return found


def offered(folder: Path, *words: str) -> list[str]:
    """What bash offers for the last word."""
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", str(folder), "ddlsim", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_verbs_flags_values_and_names(folder: Path) -> None:
    assert offered(folder, "exp") == ["explain", "explore"]
    assert offered(folder, "run", "smoke", "--all") == ["--all-claims", "--allow-outside"]
    assert offered(folder, "run", "smoke", "--output", "j") == ["json", "junit"]
    assert "smoke" in offered(folder, "run", "smo")
    assert offered(folder, "run", "smoke", "--strategy", "a5_s") == ["a5_safetime"]
    assert offered(folder, "run", "smoke", "--strategy", "nothing") == []


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_asks_with_the_variable_to_which_the_command_answers(shell: str) -> None:
    done = ddlsim("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert f"{COMPLETE}={shell}_complete" in done.out


@pytest.mark.parametrize(("shell", "begun"), [("zsh", "1"), ("fish", "sc")])
def test_other_shells_are_answered_in_their_own_form(shell: str, begun: str) -> None:
    asked = {COMPLETE: f"{shell}_complete", "COMP_WORDS": "ddlsim list sc", "COMP_CWORD": begun}
    if shell == "zsh":
        asked["COMP_CWORD"] = "2"
    done = forked(**asked)
    assert done.code == 0
    assert "scenarios" in done.out
    assert "strategies" not in done.out


def test_verbs_and_lists_are_offered_in_full() -> None:
    asked = {COMPLETE: "zsh_complete", "COMP_CWORD": "1"}
    told = forked(**asked, COMP_WORDS="ddlsim ").out.split("\n")
    assert set(VERBS) <= set(told)
    told = forked(COMP_WORDS="ddlsim list ", **{**asked, "COMP_CWORD": "2"}).out.split("\n")
    assert set(LISTS) <= set(told)
