"""The wheel owns one top-level name, `ddlsim`, and an unpacked source archive builds the same."""

import subprocess
import sys
import tarfile
from pathlib import Path
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


def test_a_second_top_level_name_is_found(tmp_path: Path) -> None:
    plant(tmp_path, {"ddlsim/__init__.py": "", "sim/__init__.py": ""})
    with ZipFile(tmp_path / "a.whl", "w") as archive:
        for name in ("ddlsim/__init__.py", "sim/__init__.py"):
            archive.write(tmp_path / name, name)
    assert top_level(set(content(tmp_path / "a.whl"))) == {"ddlsim", "sim"}
