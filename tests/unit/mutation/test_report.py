"""The report counts kills by area; the files of a campaign let it go on where it ended."""

from pathlib import Path

import pytest

from ddlsim.mutation import report
from ddlsim.mutation.course import Surveyed, packed
from ddlsim.mutation.records import By, Conviction, Result, World
from ddlsim.mutation.store import Store
from ddlsim.problems import BadInputError


def killed(name: str, by: By, what: str, runs: int) -> Result:
    conviction = Conviction("iep", runs - 1, by, what, "")
    return Result(
        f"raft:{name}", "raft", "guard", "a line", "killed", conviction, runs, runs, runs / 2
    )


def survived(name: str, reached: int, area: str = "raft") -> Result:
    return Result(f"{area}:{name}", area, "guard", "a line", "survived", None, 9, reached, 20.0)


RESULTS = [
    killed("a", "violation", "I3 serializability", 2),
    killed("b", "assertion", "AssertionError: x", 4),
    killed("c", "stuck", "stuck", 6),
    survived("d", 0),
    survived("e", 3),
    Result("raft:f", "raft", "guard", "a line", "unimportable", error="NameError: x"),
    survived("g", 1, "locks"),
]
EQUIVALENT = {"raft:e": "the value is never read", "raft:a": "it was thought to be"}


def test_rows_count_kills_survivors_and_equivalents_by_area() -> None:
    raft, locks, whole = report.rows(RESULTS, EQUIVALENT)
    assert (raft.area, raft.mutants, raft.killed, raft.share) == ("raft", 4, 3, 0.75)
    assert (raft.equivalent, raft.unimportable, raft.unreached) == (1, 1, 1)
    assert raft.by == {"violation": 1, "stuck": 1, "assertion": 1}
    assert (raft.seeds, raft.cpu_s) == (4, 2.0)
    assert (locks.mutants, locks.killed, locks.seeds) == (1, 0, None)
    assert (whole.area, whole.mutants, whole.killed, whole.share) == ("all", 5, 3, 0.6)


def test_text_lists_judges_survivors_equivalents_and_what_does_not_import() -> None:
    text = report.text(RESULTS, EQUIVALENT)
    assert "   1  I3 serializability" in text
    assert "x" not in text.partition("Survivors")[0].partition("Killed by")[2]
    assert (
        "Survivors: raft\n  raft:d\n      a line\n      executed in 0 of 9 runs; 0 as without it"
        in text
    )
    assert "Equivalent\n  raft:e\n      the value is never read" in text
    assert "Does not import\n  raft:f\n      NameError: x" in text
    assert "Killed, though listed as equivalent\n  raft:a" in text


def test_a_store_returns_the_results_of_an_earlier_call(tmp_path: Path) -> None:
    first = Store(tmp_path / "out")
    for result in RESULTS:
        first.add(result)
    assert Store(tmp_path / "out").results() == RESULTS


def test_a_store_returns_the_last_result_of_a_mutant(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(survived("d", 0))
    store.add(RESULTS[1])
    store.add(killed("d", "stuck", "stuck", 12))
    assert store.results() == [killed("d", "stuck", "stuck", 12), RESULTS[1]]


def test_a_store_drops_a_line_that_was_cut_off(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.add(RESULTS[0])
    with (tmp_path / "results.jsonl").open("ab") as file:
        file.write(b'{"id":"raft:b","ar')
    assert store.results() == RESULTS[:1]
    store.add(RESULTS[1])
    assert store.results() == RESULTS[:2]


def test_a_store_of_other_source_is_refused(tmp_path: Path) -> None:
    Store(tmp_path)
    (tmp_path / "campaign.json").write_text('{"tree":"another"}', "utf-8")
    with pytest.raises(BadInputError, match="other source"):
        Store(tmp_path)


def test_a_survey_is_kept_for_the_source_that_runs_its_worlds(tmp_path: Path) -> None:
    worlds = [Surveyed(World("iep", seed, "run"), 500, packed([0, 1, 9])) for seed in range(3)]
    store = Store(tmp_path)
    assert store.surveyed() == []
    store.add_worlds(worlds[:2])
    store.add_worlds(worlds[2:])
    assert Store(tmp_path).surveyed() == worlds
    path = tmp_path / "worlds.jsonl"
    _, _, lines = path.read_bytes().partition(b"\n")
    path.write_bytes(b'{"tree":"another"}\n' + lines)
    assert store.surveyed() == []
    assert not path.exists()
