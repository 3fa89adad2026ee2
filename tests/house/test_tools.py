"""The formatter, the linter and the types hold, each as `dev.py check` runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dev
from tests.house.tree import ROOT, plant

TOOLS = ["format", "lint", "types"]  # the floors have a file of their own


def run(tool: str, root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *dev.CHECKS[tool]]
    env = {**os.environ, "NO_COLOR": "1", "RUFF_OUTPUT_FORMAT": "concise"}
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_passes(tool: str) -> None:
    done = run(tool, ROOT)
    assert done.returncode == 0, "\n" + done.stdout + done.stderr


def test_no_check_is_forgotten() -> None:
    assert [*TOOLS, "floors"] == list(dev.CHECKS)


FAULTS = {
    "format": ("x = [1,2]\n", "ddlsim/a.py"),
    "lint": ("import os\n", "F401"),
    "types": ("def f() -> int:\n    return ''\n", "ddlsim/a.py:4: error"),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_planted_fault_is_found(tool: str, tmp_path: Path) -> None:
    fault, complaint = FAULTS[tool]
    doc = '"""A file."""\n'
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    files = {"ddlsim/__init__.py": doc, "pyproject.toml": settings}
    plant(tmp_path, {**files, "ddlsim/a.py": f"{doc}\n{fault}"})
    done = run(tool, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert complaint in done.stdout


def hiding(root: Path) -> list[str]:
    """Scripts' folders hide the standard library's modules behind files of the same name."""
    found = (path.stem for path in (root / "analysis").glob("*.py"))
    return sorted(set(found) & sys.stdlib_module_names)


def test_no_file_beside_the_scripts_hides_the_standard_library(tmp_path: Path) -> None:
    assert hiding(ROOT) == []
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis" / "statistics.py").write_text("")
    assert hiding(tmp_path) == ["statistics"]
