"""A file beyond its bound is refused by its size, before any of it is read."""

import io
from pathlib import Path

import pytest

from ddlsim import files
from tests.support.command import ddlsim
from tests.unit.cli.test_borders import refused


@pytest.mark.parametrize(
    ("words", "most"),
    [
        (("run", "F.toml"), files.TEXT_MOST),
        (("run", "smoke", "--migration", "F.sql"), files.TEXT_MOST),
        (("sweep", "F.toml", "--out", "OUT"), files.TEXT_MOST),
        (("compat", "--from-scratch", "F.sql"), files.TEXT_MOST),
        (("tune", "--delays", "F.csv"), files.MEASURED_MOST),
        (("check", "F.jsonl"), files.HISTORY_MOST),
        (("explain", "F.jsonl"), files.HISTORY_MOST),
        (("check", "F.jsonl", "--input", "jepsen"), files.HISTORY_MOST),
        (("check", "F.jsonl", "--input", "witness"), files.HISTORY_MOST),
        (("check", "F.parquet", "--input", "columns"), files.HISTORY_MOST),
    ],
)
def test_a_file_beyond_its_bound_is_refused(
    words: tuple[str, ...], most: int, tmp_path: Path
) -> None:
    """The file has a hole for its content: to read it would end in the memory's end."""
    given = [str(tmp_path / word) if word.startswith(("F.", "OUT")) else word for word in words]
    [file] = (Path(word) for word in given if Path(word).name.startswith("F."))
    with file.open("wb") as opened:
        opened.truncate(most + 1)
    done = ddlsim(*given)
    refused(done, f"{most + 1:,} bytes, more than {most:,} are not read; split it")
    assert file.name in done.err


def test_the_standard_input_has_the_same_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "TEXT_MOST", 5)
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT 1"))
    refused(ddlsim("compat", "--from-scratch", "-"), "stdin: has 6 bytes, more than 5 are not read")
