"""The report counts kills by area; the files of a campaign let it go on where it ended."""

from pathlib import Path

import pytest

from ddlsim.mutation import report
from ddlsim.mutation.records import By, Conviction, Result
from ddlsim.mutation.store import Store
from ddlsim.mutation.trial import Budget
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
    assert "Survivors: raft\n  raft:d\n      a line\n      executed in 0 of 9 runs" in text
    assert "Equivalent\n  raft:e\n      the value is never read" in text
    assert "Does not import\n  raft:f\n      NameError: x" in text
    assert "Killed, though listed as equivalent\n  raft:a" in text


def test_a_store_returns_the_results_of_an_earlier_call(tmp_path: Path) -> None:
    budget = Budget(seeds=9)
    first = Store(tmp_path / "out", budget)
    for result in RESULTS:
        first.add(result)
    assert Store(tmp_path / "out", budget).results() == RESULTS


def test_a_store_drops_a_line_that_was_cut_off(tmp_path: Path) -> None:
    store = Store(tmp_path, Budget(seeds=9))
    store.add(RESULTS[0])
    with (tmp_path / "results.jsonl").open("ab") as file:
        file.write(b'{"id":"raft:b","ar')
    assert store.results() == RESULTS[:1]
    store.add(RESULTS[1])
    assert store.results() == RESULTS[:2]


def test_a_store_of_another_budget_is_refused(tmp_path: Path) -> None:
    Store(tmp_path, Budget(seeds=9))
    with pytest.raises(BadInputError, match="another budget"):
        Store(tmp_path, Budget(seeds=10))
