"""`check` on Spark says of many histories what it says here."""

import functools
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from ddlsim import api
from ddlsim.analysis.large import history as large_history
from ddlsim.analysis.spark import session as sessions
from ddlsim.graph import store
from tests.support.column_histories import Shape, history, plant
from tests.support.command import ddlsim, tiny


@pytest.fixture
def here(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session of all tests in place of one of its own."""

    class Kept:
        def __enter__(self) -> Any:
            return spark

        def __exit__(self, *error: object) -> None:
            return

    monkeypatch.setattr(sessions, "session", lambda master: Kept())


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some calm histories and a guilty one."""
    folder = tmp_path_factory.mktemp("histories")
    ddlsim("run", tiny(folder), "--seed", "1", "--out", str(folder / "calm"))
    ddlsim("run", "negative/no_completeness_wait", "--out", str(folder / "guilty"))
    return folder


@pytest.mark.parametrize("output", ["text", "json", "junit"])
@pytest.mark.usefixtures("here")
def test_check_on_spark_prints_the_same_verdicts(histories: Path, output: str) -> None:
    plain = ddlsim("check", str(histories), "--output", output)
    spread = ddlsim("check", str(histories), "--output", output, "--master", "local[2]")
    assert plain.code == 1
    assert spread == plain
    assert all(name in plain.out for name in ("calm", "guilty"))


@pytest.mark.usefixtures("here")
def test_check_on_spark_reports_a_bad_file_alike(histories: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{}\n")
    words = ("check", str(histories), str(tmp_path))
    plain = ddlsim(*words)
    assert (plain.code, "guilty" in plain.out, "bad.jsonl" in plain.err) == (1, True, True)
    assert ddlsim(*words, "--master", "local[2]") == plain


@pytest.mark.usefixtures("here")
def test_a_history_of_columns_is_judged_in_parts(tmp_path: Path) -> None:
    """As text, and the same verdict as JSON."""
    made = plant(history(5, Shape(60)), "G-single", "G1a")
    store.write(tmp_path / "h.columns.parquet", made)
    once = functools.cache(large_history.judge)
    for output in ("text", "json"):
        words = ("check", str(tmp_path), "--model", "serializable", "--output", output)
        with patch.object(large_history, "judge", side_effect=once) as judged:
            spread = ddlsim(*words, "--master", "local[2]")
        assert judged.call_count == 1
        plain = ddlsim(*words)
        assert (plain.code, "G-single" in plain.out, "G1a" in plain.out) == (1, True, True)
        assert spread == plain


@pytest.mark.usefixtures("here")
def test_check_on_spark_reports_damaged_columns_alike(tmp_path: Path) -> None:
    (tmp_path / "h.columns.parquet").write_bytes(b"PAR1, and then nothing")
    plain = ddlsim("check", str(tmp_path))
    assert (plain.code, "cannot be read as a history of columns" in plain.err) == (2, True)
    assert ddlsim("check", str(tmp_path), "--master", "local[2]") == plain


def test_check_refuses_a_directory_without_histories(tmp_path: Path) -> None:
    done = ddlsim("check", str(tmp_path))
    assert (done.code, "no history below it" in done.err) == (2, True)


@pytest.mark.usefixtures("here")
def test_python_judges_on_spark_too(tmp_path: Path) -> None:
    """`check(master=...)` is that of the command."""
    path = tmp_path / "h.parquet"
    store.write(path, plant(history(5, Shape(30)), "G1a"))
    with patch.object(large_history, "judge", side_effect=large_history.judge) as parts:
        found = api.check(path, master="local[2]", model="read-committed")
        strict = api.check(path, master="local[2]", strict=True)
    assert parts.call_args.kwargs == {"strict": True}
    assert found.document == api.check(path, model="read-committed").document
    assert strict.document == api.check(path, strict=True).document
    path.write_bytes(b"no")
    with pytest.raises(ValueError, match="cannot be read as a history of columns"):
        api.check(path, master="local[2]", input="columns")
