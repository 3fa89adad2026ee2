"""The judge of external histories and a brute-force oracle agree.

`python -m tests.isolation.agree --histories 20000` compares as many as one likes. Faults
planted in the judge tell that the sample is worth its time.
"""

import pytest

from tests.isolation import agree, made, oracle, planted
from tests.isolation.oracle import MODELS, Transaction


@pytest.fixture(scope="module")
def found() -> agree.Sum:
    return agree.compared(planted.SAMPLE)


def test_the_judge_agrees_with_the_oracle_on_a_sample(found: agree.Sum) -> None:
    assert found.wrong == []
    assert found.open[False] == 0, agree.table(found)


def test_the_sample_has_every_kind_of_answer(found: agree.Sum) -> None:
    """Else the agreement would show little."""
    for name in MODELS:
        for workload in ("lists", "registers"):
            cells = {
                (valid, answer): found.answers[workload, name, valid, answer]
                for valid in (True, False)
                for answer in ("True", "False", "unknown")
            }
            assert cells[True, "True"] > 14, (workload, name)
            assert cells[True, "unknown"] > 0, (workload, name)
            if (workload, name) != ("registers", "read-uncommitted"):
                assert cells[False, "False"] > 5, (workload, name)


@pytest.mark.parametrize("name", planted.FAULTS)
def test_the_sample_shows_each_fault_that_is_planted(name: str) -> None:
    """`python -m tests.isolation.planted` looks for the first seed of each."""
    seed, fault = planted.FAULTS[name]
    assert seed in planted.SAMPLE
    assert planted.shown_by(fault, [seed]) == seed


def _t(
    *operations: tuple[str, int, object], at: int, process: int = -1, **more: str
) -> Transaction:
    return Transaction(operations, more.get("status", "ok"), process if process >= 0 else at,
                       10 * at, 10 * at + 5)  # fmt: skip


TEXTBOOK = {
    "dirty read": (
        [_t(("w", 0, 1), at=0, status="fail"), _t(("r", 0, 1), at=1)],
        "read-uncommitted",
    ),
    "fractured read": (
        [_t(("w", 0, 1), ("w", 1, 1), at=0), _t(("r", 0, 1), ("r", 1, None), at=1)],
        "read-committed",
    ),
    "lost update": (
        [_t(("r", 0, None), ("w", 0, 1), at=0), _t(("r", 0, None), ("w", 0, 2), at=1)],
        "read-atomic",
    ),
    "long fork": (
        [_t(("w", 0, 1), at=0), _t(("w", 1, 1), at=1), _t(("r", 0, 1), ("r", 1, None), at=2),
         _t(("r", 0, None), ("r", 1, 1), at=3)],
        "read-atomic",
    ),
    "write skew": (
        [_t(("r", 0, None), ("w", 1, 1), at=0), _t(("r", 1, None), ("w", 0, 1), at=1)],
        "snapshot-isolation",
    ),
    "stale read": (
        [_t(("w", 0, 1), at=0), _t(("r", 0, None), at=1)],
        "strong-session-serializable",
    ),
    "stale read of an own session": (
        [_t(("w", 0, 1), at=0, process=1), _t(("r", 0, None), at=1, process=1)],
        "serializable",
    ),
}  # fmt: skip
"""Histories of the literature and the strongest model that allows them, of those in one line."""
LINE = (
    "read-uncommitted", "read-committed", "read-atomic", "snapshot-isolation", "serializable",
    "strong-session-serializable", "strict-serializable",
)  # fmt: skip


@pytest.mark.parametrize("name", TEXTBOOK)
def test_the_oracle_knows_the_anomalies_of_the_literature(name: str) -> None:
    history, strongest = TEXTBOOK[name]
    allowed = [oracle.explained(tuple(history), model) for model in LINE]
    assert allowed == [at <= LINE.index(strongest) for at in range(len(LINE))]


@pytest.mark.parametrize("seed", range(60))
def test_a_stronger_model_of_the_oracle_allows_no_more(seed: int) -> None:
    history = made.made(seed)
    if agree.ambiguous(history):
        return
    allowed = [oracle.explained(history, model) for model in LINE]
    assert allowed == sorted(allowed, reverse=True)
