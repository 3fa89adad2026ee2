"""A few damaged files of every format, and faults that the fuzzer must see; more by the command."""

from pathlib import Path
from typing import Any

import pytest

from ddlsim.history import codec
from tests.fuzz import strict
from tests.fuzz import trial as trials
from tests.fuzz.formats import Format, formats
from tests.fuzz.trial import given, trial

SAMPLE = 10
NAMES = (
    "scenario", "migration", "schema", "history", "history-resealed", "explain-resealed", "parquet",
    "columns", "columns-resealed", "rows", "edn", "json", "witness", "csv", "measured-parquet",
    "sweep", "manifest", "advice",
)  # fmt: skip


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Format]:
    return formats(tmp_path_factory.mktemp("formats"))


def test_every_format_is_sampled(known: dict[str, Format]) -> None:
    assert tuple(known) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_undamaged_files_are_read(known: dict[str, Format], name: str) -> None:
    """Else every damaged file would be refused for another reason than its damage."""
    for whole in known[name].seeds:
        ended = given(known[name], whole, whole)
        assert ended.complaint is None
        assert ended.outcome in trials.JUDGED


@pytest.mark.parametrize("name", NAMES)
def test_damaged_files_end_in_a_message(known: dict[str, Format], name: str) -> None:
    for number in range(SAMPLE):
        ended = trial(known[name], 7, number)
        assert ended.complaint is None, f"{name} 7 {number}: {ended.complaint}"


# --- planted faults -------------------------------------------------------------------------------


def complaints(of: Format, most: int = 60) -> list[str]:
    """What the fuzzer says, at most of so many inputs; it stops at the first complaint."""
    for number in range(most):
        if (found := trial(of, 3, number).complaint) is not None:
            return [found]
    return []


def test_a_reader_without_digests_is_seen(
    known: dict[str, Format], monkeypatch: pytest.MonkeyPatch
) -> None:
    def believes(history: Any, end: Any, *_: Any) -> None:
        history.probes.update(end.probes)
        history.end_us = end.end_us

    monkeypatch.setattr(codec, "_check_whole", believes)
    assert any("another history was judged" in one for one in complaints(known["history"]))


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(0), RecursionError()])
def test_a_command_that_fails_otherwise_is_seen(
    known: dict[str, Format], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fails(*_: Any) -> None:
        raise error

    monkeypatch.setattr(codec, "load", fails)
    assert complaints(known["history"], 3)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("edn", lambda data: data[: len(data) * 2 // 3]),
        ("edn", lambda data: data.replace(b":index 1}", b":index 9}")),
        ("edn", lambda data: data.replace(b":process 0", b":process zero", 1)),
        ("json", lambda data: data.replace(b'"index": 1}', b'"index": 9}')),
        ("json", lambda data: data[:-20]),
        ("witness", lambda data: data[:-20]),
        ("witness", lambda data: data.replace(b"schema_resolved", b"schema_dissolved", 1)),
    ],
)
def test_an_ok_of_a_damaged_file_is_reported(
    known: dict[str, Format], tmp_path: Path, name: str, damage: Any
) -> None:
    of = known[name]
    assert of.judge is not None
    for whole in of.seeds:
        file = tmp_path / f"f{of.suffix}"
        file.write_bytes(damage(whole))
        assert of.judge(whole, file, 0) is not None
        file.write_bytes(whole)
        assert of.judge(whole, file, 0) is None


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        # found by the fuzzer: what is damaged is nothing that a verdict rests on
        (b"""; G1b
{:type :invoke, :f :txn, :value [[:w 0 1] [:w 0 2]], :time 0, :process 0, :index 0}
{:type :invoke, :f :txn, :value [[:r 0 nil]], :time 1000, :process 1, :index 1}
{:type :ok, :f :txn, :value [[:w 0 1] [:w 0 2]], :time null, :process 0, :index 2}
""", True),
        (b"""{"type": "invoke", "f": "txn", "value": [["r", 0, null]], "process": 1, "index": 1}
{"type": "invoke", "f": "txn", "value": [["append", 0, 1]], "process": 0, "index": 0}
{"type": "fail", "f": "txn", "value": [["append", 0, 1]], "process": 0, "index": 2}
""", True),
        (b"{:type :invoke, :f :txn, :value [[:w 0 null]], :process 0, :index 0}\n", False),
        (b"{:type :invoke, :f :txn, :value [[:w 0 1]], :process null, :index 0}\n", False),
        (b"{:type invoke, :f :txn, :value [[:w 0 1]], :process 0, :index 0}\n", False),
        (b"{:type :invoke, :f :txn, :value [[:w 0 1]], :process 0, :index null}\n", False),
        (b"{:type :invoke, :f :txn, :value [[:w 0 1]], :process 0, :index 1}\n", False),
    ],
)  # fmt: skip
def test_a_file_is_whole_if_what_the_verdict_needs_is_unchanged(
    data: bytes, *, whole: bool
) -> None:
    assert (strict.jepsen(data) is not None) == whole


@pytest.mark.parametrize("name", ["history", "parquet", "columns"])
def test_an_exchanged_history_is_reported(
    known: dict[str, Format], tmp_path: Path, name: str
) -> None:
    of = known[name]
    file = tmp_path / f"f{of.suffix}"
    file.write_bytes(of.seeds[1])
    assert of.judge is not None
    assert of.judge(of.seeds[0], file, 1) is not None
    assert of.judge(of.seeds[1], file, 1) is None
