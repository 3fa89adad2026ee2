"""`ddlsim check` on witness logs: exit codes, documents, and which files are such logs."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.command import ddlsim, tiny
from tests.support.witness_logs import FOLDER

CLEAN = str(FOLDER / "clean.jsonl")
BROKEN = {"atomicity": "I1", "own_ddl": "I4", "forward_compatible": "I8"}


def cut(folder: Path) -> str:
    """The clean log, its last line cut off in the middle."""
    path = folder / "cut.jsonl"
    path.write_bytes(Path(CLEAN).read_bytes()[:-40])
    return str(path)


def test_a_clean_log_is_ok() -> None:
    assert ddlsim("check", CLEAN).code == 0
    assert ddlsim("check", "--input", "witness", CLEAN).code == 0


@pytest.mark.parametrize(("name", "invariant"), BROKEN.items())
def test_each_invariant_is_violated_by_its_log(name: str, invariant: str) -> None:
    done = ddlsim("check", str(FOLDER / f"{name}.jsonl"), "--output", "json")
    assert done.code == 1
    [file] = json.loads(done.out)["files"]
    assert (file["input"], file["outcome"], file["valid"]) == ("witness", "violated", False)
    assert {one["invariant"] for one in file["violations"]} == {invariant}
    assert {one["status"] for one in file["violations"]} == {"violation"}
    assert file["anomalies"][0]["txns"]
    assert file["problems"] == []
    assert file["model"] is None
    assert "fingerprint" not in file


def test_what_cannot_be_read_makes_it_unknown(tmp_path: Path) -> None:
    done = ddlsim("check", cut(tmp_path), "--output", "json")
    assert done.code == 6
    [file] = json.loads(done.out)["files"]
    assert (file["outcome"], file["valid"]) == ("unknown", "unknown")
    assert file["problems"][0].startswith(f"{cut(tmp_path)}:20: is not JSON")
    told = ddlsim("check", cut(tmp_path))
    assert told.out.startswith("UNKNOWN")
    assert "not judged:" in told.out


def test_what_is_broken_all_the_same_is_violated(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_bytes((FOLDER / "atomicity.jsonl").read_bytes() + b"{")
    assert ddlsim("check", str(path)).code == 1
    assert "not judged:" in ddlsim("check", str(path)).out


def test_many_problems_are_cut_short_for_people(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(Path(CLEAN).read_bytes() + b"{\n" * 30)
    assert "... and 22 more; --output json has them all" in ddlsim("check", str(path)).out
    [file] = json.loads(ddlsim("check", str(path), "--output", "json").out)["files"]
    assert len(file["problems"]) == 30


def test_junit_tells_what_could_not_be_judged(tmp_path: Path) -> None:
    suite = ElementTree.fromstring(ddlsim("check", cut(tmp_path), "--output", "junit").out)[0]
    assert suite.get("errors") == "1"
    [error] = suite[0]
    assert "is not JSON" in (error.text or "")


def test_beside_a_history_of_ours(tmp_path: Path) -> None:
    """A probe that one of ours has not reached is no matter of the log's, nor the reverse."""
    ddlsim("run", tiny(tmp_path), "--out", str(tmp_path / "out"))
    ours = str(tmp_path / "out" / "seed-0.jsonl")
    done = ddlsim("check", CLEAN, ours, "--output", "json")
    files = json.loads(done.out)["files"]
    assert [(file["input"], file["outcome"]) for file in files] == [
        ("witness", "ok"),
        ("native", "ok"),
    ]
    assert done.code == 0


def test_bad_input_is_exit_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text('{"record": "schema_applied"}\n', "utf-8")
    done = ddlsim("check", str(path))
    assert (done.code, done.out) == (2, "")
    assert done.err == f"ddlsim: {path}:1: object: is missing\n"
    done = ddlsim("check", CLEAN, "--model", "serializable")
    assert done.code == 2
    assert "a witness log is judged for I1, I4 and I8" in done.err
    done = ddlsim("check", "--input", "witness", str(tmp_path / "nowhere.jsonl"))
    assert done.code == 2
    assert "cannot be read (No such file or directory)" in done.err
