"""`hunt` on Spark finds what it finds here."""

import json
from pathlib import Path
from typing import Any

import pytest

from ddlsim.analysis.spark import session as sessions
from tests.support.command import ddlsim

WORDS = ("hunt", "--strategy", "iep_closed", "--mutant", "activates_with_message", "--worlds", "6",
         "--seed", "3", "--batch", "3", "--set", "workload[0].operations=6", "--keep-going",
         "--no-shrink", "--output", "json")  # fmt: skip


@pytest.fixture
def here(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The session of all tests in place of one of its own."""

    class Kept:
        def __enter__(self) -> Any:
            return spark

        def __exit__(self, *error: object) -> None:
            return

    monkeypatch.setattr(sessions, "session", lambda master: Kept())


def found(folder: Path, *words: str) -> Any:
    """The document without what depends on the machine."""
    document = json.loads(ddlsim(*WORDS, *words, "--out", str(folder)).out)
    for one in (document, *document["found"]):
        del one["cpu_s"]
    del document["per_cpu_hour"]
    return document


@pytest.mark.usefixtures("here")
def test_hunt_on_spark_finds_what_processes_find(tmp_path: Path) -> None:
    there = found(tmp_path, "--master", "local[2]")
    assert there["found"]
    assert there == found(tmp_path, "--jobs", "1")
