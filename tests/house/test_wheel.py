"""The wheel owns one top-level name, `ddlsim`, and an unpacked source archive builds the same."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path
from sysconfig import get_path
from zipfile import ZipFile

import pytest

from tests.house.tree import ROOT, plant

NEEDED = {
    "ddlsim/__main__.py",
    "ddlsim/py.typed",
    "ddlsim/analysis/plot_delay.py",
    "ddlsim/_scenarios/smoke.toml",
    "ddlsim/cli/templates/explain.html.j2",
}


COMMANDS = (
    ("run", "strategies/B3-T1", "--out", "runs"),
    ("explain", "runs/seed-0.jsonl", "--html", "page.html", "--svg", "cycle.svg"),
    ("sweep", "sweep.toml", "--out", "swept", "--master", "none", "--jobs", "1"),
    ("report", "swept"),
    ("compare", "iep", "--seeds", "0..0", "--output", "html"),
    ("list", "schemas", "explain"),
    ("new", "strategy", "own"),
)
"""What reads files of the wheel: scenarios, templates, skeletons."""
SWEEP = """\
title = "A sweep"
scenarios = ["smoke"]
seeds = "0..0"
[parameters]
delay_duration_ms = { path = "protocol.delay_duration_ms", values = [50, 90] }
"""
ALONE = """\
import sys

sys.path[1:1] = {paths}
from ddlsim.cli import main

for words in {commands}:
    sys.argv = ["ddlsim", *words]
    print(words[0], main(), file=sys.stderr)
"""
"""Commands of the wheel; with -S no link to the tree stands in the path."""


def build(root: Path, kind: str, to: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(to)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [made] = to.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return made


def content(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel without those that describe it."""
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".dist-info/" not in name]
        return {name: archive.read(name) for name in names}


def top_level(names: set[str]) -> set[str]:
    return {name.partition("/")[0] for name in names}


@pytest.mark.slow
def test_the_wheel_has_one_package_and_is_that_of_the_archive(tmp_path: Path) -> None:
    found = content(build(ROOT, "wheel", tmp_path / "direct"))
    assert top_level(set(found)) == {"ddlsim"}
    assert set(found) >= NEEDED, NEEDED - set(found)
    with tarfile.open(build(ROOT, "sdist", tmp_path)) as archive:
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # 3.11.4 and later
        archive.extractall(tmp_path / "unpacked", **safely)
    [unpacked] = (tmp_path / "unpacked").iterdir()
    assert (unpacked / "dev.py").is_file()
    assert (unpacked / "docs" / "conf.py").is_file()
    assert content(build(unpacked, "wheel", tmp_path / "again")) == found


@pytest.mark.slow
def test_its_commands_need_nothing_of_the_tree(tmp_path: Path) -> None:
    with ZipFile(build(ROOT, "wheel", tmp_path)) as archive:
        archive.extractall(tmp_path / "wheel")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    paths = [str(tmp_path / "wheel"), *dict.fromkeys(map(get_path, ("purelib", "platlib")))]
    (tmp_path / "alone.py").write_text(ALONE.format(paths=paths, commands=COMMANDS), "utf-8")
    command = [sys.executable, "-S", "alone.py"]
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("ddlsim: ")]
    codes = {"run": 1} | dict.fromkeys(("explain", "sweep", "report", "compare", "list", "new"), 0)
    assert said == [f"{verb} {code}" for verb, code in codes.items()], done.stderr


def test_a_second_top_level_name_is_found(tmp_path: Path) -> None:
    plant(tmp_path, {"ddlsim/__init__.py": "", "sim/__init__.py": ""})
    with ZipFile(tmp_path / "a.whl", "w") as archive:
        for name in ("ddlsim/__init__.py", "sim/__init__.py"):
            archive.write(tmp_path / name, name)
    assert top_level(set(content(tmp_path / "a.whl"))) == {"ddlsim", "sim"}
