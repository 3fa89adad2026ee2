"""What a scenario names lies at or below its folder, unless the command line allows more."""

import os
from pathlib import Path

import pytest

from ddlsim.scenario.load import load
from ddlsim.scenario.shipped import shipped
from tests.support.cells import TINY as GENERATED
from tests.support.command import TINY, ddlsim
from tests.support.sweeps import SWEEP

INLINE = 'sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"'
TEXT = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"


def scenario(folder: Path, names: str) -> str:
    """A scenario in a folder below, whose schema is in another file."""
    (folder / "own").mkdir(exist_ok=True)
    file = folder / "own" / "tiny.toml"
    assert INLINE in TINY
    file.write_text(TINY.replace(INLINE, f'file = "{names}"'), "utf-8")
    return str(file)


def commands(file: str, folder: Path) -> list[tuple[str, ...]]:
    sweep = folder / "own" / "sweep.toml"
    sweep.write_text(SWEEP.replace("SEEDS", "0"), "utf-8")
    return [
        ("run", file),
        ("run", file, "--swarm"),
        ("verify", file),
        ("sweep", str(sweep), "--out", str(folder / "out"), "--jobs", "1"),
    ]


@pytest.mark.parametrize("names", ["../secret.sql", "{folder}/secret.sql", "link.sql"])
def test_a_file_elsewhere_is_read_only_where_that_is_allowed(names: str, tmp_path: Path) -> None:
    (tmp_path / "secret.sql").write_text(TEXT, "utf-8")
    file = scenario(tmp_path, names.format(folder=tmp_path))
    os.symlink(tmp_path / "secret.sql", tmp_path / "own" / "link.sql")
    for words in commands(file, tmp_path):
        done = ddlsim(*words)
        assert (done.code, done.out) == (2, ""), words
        assert "lies outside of the scenario's folder; --allow-outside" in done.err
        assert done.err.count("\n") == 1
        assert ddlsim(*words, "--allow-outside").code == 0, words


@pytest.mark.parametrize("names", ["below/t.sql", "./t.sql", "below/../t.sql"])
def test_files_below_are_read(names: str, tmp_path: Path) -> None:
    file = scenario(tmp_path, names)
    (tmp_path / "own" / "below").mkdir()
    for name in ("t.sql", "below/t.sql"):
        (tmp_path / "own" / name).write_text(TEXT, "utf-8")
    assert ddlsim("run", file).code == 0


@pytest.mark.parametrize("names", ["../tiny.toml", "{folder}/tiny.toml", "link.toml"])
def test_a_sweep_names_scenarios_of_its_own_folder(names: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (tmp_path / "tiny.toml").write_text(GENERATED, "utf-8")
    os.symlink(tmp_path / "tiny.toml", own / "link.toml")
    sweep = own / "sweep.toml"
    text = SWEEP.replace("SEEDS", "0").replace("tiny.toml", names.format(folder=tmp_path))
    sweep.write_text(text, "utf-8")
    words = ("sweep", str(sweep), "--out", str(tmp_path / "out"), "--jobs", "1")
    done = ddlsim(*words)
    assert (done.code, done.out) == (2, ""), done
    told = (
        f"sweep.toml:2: scenarios[0]: {names.format(folder=tmp_path)} lies outside of the sweep's"
    )
    assert told in done.err
    assert not (tmp_path / "out").exists()
    assert ddlsim(*words, "--allow-outside").code == 0


def test_nor_scenarios_of_where_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "tiny.toml").write_text(GENERATED, "utf-8")
    (tmp_path / "own" / "sweep.toml").write_text(SWEEP.replace("SEEDS", "0"), "utf-8")
    monkeypatch.chdir(tmp_path / "here")
    words = ("sweep", "../own/sweep.toml", "--out", str(tmp_path / "out"), "--jobs", "1")
    assert "lies outside of the sweep's folder" in ddlsim(*words).err
    assert ddlsim(*words, "--allow-outside").code == 0


def test_the_command_that_repeats_a_run_says_so_too(tmp_path: Path) -> None:
    (tmp_path / "t.sql").write_text(TEXT, "utf-8")
    file = scenario(tmp_path, "../t.sql")
    done = ddlsim("run", file, "--allow-outside", "--set", "cluster.nodes=4")
    assert done.code == 0
    assert "--allow-outside" in done.out.splitlines()[-1]


def test_shipped_scenarios_share_their_folder() -> None:
    for name in shipped():
        load(name)
