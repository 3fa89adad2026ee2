"""What never ends is no input: a pipe without a writer, a device. It is told without waiting."""

import json
import os
from pathlib import Path

import pytest

from ddlsim import files
from tests.support.advice import ADVICE
from tests.support.command import TINY, ddlsim
from tests.support.sweeps import SWEEP
from tests.unit.cli.test_borders import refused

MEASURED = '{ distribution = "empirical", file = "p.toml" }'
READERS = [
    ("run", "PATH"),
    ("run", "PATH", "--swarm"),
    ("run", "smoke", "--migration", "PATH"),
    ("run", "smoke", "--load", "PATH"),
    ("verify", "PATH"),
    ("check", "PATH"),
    ("check", "PATH", "--input", "native"),
    ("check", "PATH", "--input", "jepsen"),
    ("check", "PATH", "--input", "witness"),
    ("check", "PATH", "--input", "columns"),
    ("explain", "PATH"),
    ("explain", "PATH", "--input", "witness"),
    ("compat", "--from-scratch", "PATH"),
    ("sweep", "PATH", "--out", "OUT"),
    ("tune", "--delays", "PATH"),
    ("tune", "--offsets", "PATH"),
    ("plot", "run_lag", "PATH"),
]


@pytest.fixture(params=["/dev/zero", "p.toml", "p.jsonl", "p.parquet"])
def endless(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A device, or a pipe that nothing writes to."""
    given: str = request.param
    if given.startswith("/"):
        return given
    os.mkfifo(tmp_path / given)
    return str(tmp_path / given)


@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_what_never_ends_is_refused(words: tuple[str, ...], endless: str, tmp_path: Path) -> None:
    given = [w.replace("PATH", endless).replace("OUT", str(tmp_path / "out")) for w in words]
    refused(ddlsim(*given), "which may never end; write its content into a file")


@pytest.mark.parametrize(
    "words", [one for one in READERS if not {"compat", "--load"} & {*one}], ids=" ".join
)
def test_the_standard_input_is_read_by_compat_alone(words: tuple[str, ...], tmp_path: Path) -> None:
    given = [w.replace("PATH", "-").replace("OUT", str(tmp_path / "out")) for w in words]
    refused(ddlsim(*given), "only compat reads the standard input; write its content into a file")


@pytest.mark.parametrize("words", [("report", "PATH"), ("plot", "pareto", "PATH")])
def test_no_folder_is_made_of_it(words: tuple[str, ...], endless: str) -> None:
    refused(ddlsim(*(word.replace("PATH", endless) for word in words)), "name the directory")


@pytest.mark.parametrize("names", ["schema", "latency", "sweep"])
def test_nor_is_what_a_file_names(names: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p.toml")
    text = {
        "schema": TINY.replace(
            'sql = "CREATE TABLE t (id INT PRIMARY KEY, v INT)"', 'file = "p.toml"'
        ),
        "latency": f"{TINY}\n[network]\nlatency_ms = {MEASURED}",
        "sweep": SWEEP.replace("tiny.toml", "p.toml").replace("SEEDS", "0"),
    }[names]
    file = tmp_path / "s.toml"
    file.write_text(text, "utf-8")
    words = ("run", str(file))
    if names == "sweep":
        words = ("sweep", str(file), "--out", str(tmp_path / "out"))
    refused(ddlsim(*words), "s.toml", "p.toml", "which may never end")


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("report", "DIR"), "tune.json"),
        (("plot", "tune", "DIR"), "tune.json"),
        (("tune", "--delays", "D.csv", "--out", "DIR"), "tune.json"),
        (("run", "smoke", "--out", "DIR"), "summary.json"),
        (("sweep", "SWEEP", "--out", "DIR", "--resume"), "sweep.json"),
    ],
)
def test_what_a_command_left_has_a_bound_too(
    words: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    """The file has a hole for its content, behind what would be believed."""
    (tmp_path / "tiny.toml").write_text(TINY, "utf-8")
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP.replace("SEEDS", "0"), "utf-8")
    delays = tmp_path / "d.csv"
    delays.write_text("delay_ms\n" + "1\n2\n" * 20, "utf-8")
    folder = tmp_path / "dir"
    folder.mkdir()
    file = folder / name
    file.write_text(json.dumps(ADVICE), "utf-8")
    os.truncate(file, files.TEXT_MOST + 1)
    places = {"DIR": folder, "SWEEP": sweep, "D.csv": delays}
    done = ddlsim(*(str(places.get(word, word)) for word in words))
    refused(done, name)
    assert file.stat().st_size == files.TEXT_MOST + 1
    assert os.listdir(folder) == [name]


def test_the_standard_input_is_read_where_that_is_documented(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"CREATE TABLE t (id INT PRIMARY KEY)")
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as opened:
        monkeypatch.setattr("sys.stdin", opened)
        assert ddlsim("compat", "--from-scratch", "-").code == 0
