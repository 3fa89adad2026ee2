"""One history judged by Spark in windows, and in memory: the same verdict, word for word."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddlsim.analysis.large import history as large_history
from ddlsim.graph import judge as in_memory
from ddlsim.graph import store
from ddlsim.graph.history import (
    APPEND,
    FOREVER,
    LIST_READ,
    PREDICATE,
    READ,
    WRITE,
    ColumnHistory,
    HistoryError,
    make,
)
from ddlsim.graph.verdict import Verdict
from tests.support.column_histories import PLANTS, Shape, history, plant
from tests.unit.graph.test_judge import GAP, HIDDEN, of, scan

SHAPE = Shape(400, sessions=10, keys=40, skew=30)


def both(
    spark: Any, folder: Path, made: ColumnHistory, model: str = "strict-serializable"
) -> tuple[Verdict, Verdict]:
    """The verdicts of Spark and of the judge in memory."""
    path = folder / "history.parquet"
    store.write(path, made, batch=64)
    return large_history.judge(spark, path, model), in_memory.judge(store.read(path), model)


def test_a_clean_history_is_certified_by_the_order(spark: Any, tmp_path: Path) -> None:
    found, wanted = both(spark, tmp_path, history(3, Shape(400, sessions=10, keys=40)))
    assert found == wanted
    assert (found.valid, found.certificate) == (True, "order")


def test_a_clean_history_under_skew_is_certified(spark: Any, tmp_path: Path) -> None:
    found, wanted = both(spark, tmp_path, history(3, SHAPE))
    assert found == wanted
    assert (found.valid, found.certificate) == (True, "order")


@pytest.mark.parametrize("model", ["strict-serializable", "snapshot-isolation", "read-atomic"])
def test_every_planted_anomaly_is_found_alike(spark: Any, tmp_path: Path, model: str) -> None:
    found, wanted = both(spark, tmp_path, plant(history(5, SHAPE), *PLANTS), model)
    assert not wanted.valid
    assert found.counts == wanted.counts
    assert found.anomalies == wanted.anomalies
    assert found == wanted


def test_unknown_outcomes_and_versions_are_alike(spark: Any, tmp_path: Path) -> None:
    made = plant(history(5, SHAPE), "G-single", "lost-update")
    dice = np.random.default_rng(1)
    status = np.where(dice.random(made.transactions) < 0.1, 2, made.status).astype(np.uint8)
    version = np.where(dice.random(made.operations) < 0.02, -1, made.version).astype(np.int32)
    found, wanted = both(spark, tmp_path, replace(made, status=status, version=version))
    assert found == wanted
    assert found.notes


@pytest.mark.parametrize("model", ["read-atomic", "snapshot-isolation", "strict-serializable"])
def test_fractured_reads_beside_other_cycles_and_of_scans_are_alike(
    spark: Any, tmp_path: Path, model: str
) -> None:
    for made in (HIDDEN, scan()):
        found, wanted = both(spark, tmp_path, made, model)
        assert found == wanted
        assert "fractured-read" in found.types


@pytest.mark.parametrize("status", [0, 2])
def test_a_write_without_a_place_is_judged_alike(spark: Any, tmp_path: Path, status: int) -> None:
    whole = ((0, 0, APPEND, 1), (0, 0, APPEND, -1), (0, 1, APPEND, -1), (1, 1, LIST_READ, 0))
    for read, wanted in (((1, 0, LIST_READ, 1), False), ((1, 0, LIST_READ, 0), "unknown")):
        made = of(*whole, read)
        made = replace(made, status=np.array([status, 0], np.uint8))
        found, judged = both(spark, tmp_path, made, "read-committed")
        assert found == judged
        assert found.valid == wanted


def test_own_writes_that_the_order_turns_round_are_found_alike(spark: Any, tmp_path: Path) -> None:
    """Adya: a version order has the writes of a transaction in their order."""
    for more in ((), ((0, 0, READ, 1), (1, 0, READ, 2))):
        made = of((0, 0, WRITE, 2), (0, 0, WRITE, 1), *more)
        found, wanted = both(spark, tmp_path, made, "read-uncommitted")
        assert found == wanted
        assert found.types == ("incompatible-order",)


def test_what_a_scan_took_for_absent_is_no_internal_read_alike(spark: Any, tmp_path: Path) -> None:
    """Which deletion it saw, or none, is not certain (`ddlsim.graph.reads`)."""
    for mine in (((1, 0, PREDICATE, 1), (1, 0, READ, 0)), ((1, 0, READ, 0), (1, 0, PREDICATE, 1))):
        made = of((0, 0, WRITE, 1), *mine)
        found, wanted = both(spark, tmp_path, made, "read-atomic")
        assert found == wanted
        assert found.valid is True


def test_a_scan_that_missed_a_row_of_its_own_is_found_alike(spark: Any, tmp_path: Path) -> None:
    for version, valid in ((0, False), (1, True)):
        made = of((0, 0, WRITE, 1), (0, 0, PREDICATE, version))
        found, wanted = both(spark, tmp_path, made, "read-committed")
        assert found == wanted
        assert found.valid is valid


def test_a_version_that_was_not_written_is_noted_alike(spark: Any, tmp_path: Path) -> None:
    found, wanted = both(spark, tmp_path, GAP)
    assert found == wanted
    assert found.valid == "unknown"


@pytest.mark.parametrize("more", [(), ((2, 1, LIST_READ, 0),)])
def test_an_append_that_no_list_shows_is_noted_alike(
    spark: Any, tmp_path: Path, more: tuple[tuple[int, int, int, int], ...]
) -> None:
    """It counts where another transaction works on its key."""
    found, wanted = both(spark, tmp_path, of((0, 0, APPEND, 1), (1, 1, APPEND, -1), *more))
    assert found == wanted
    assert found.valid == ("unknown" if more else True)


@pytest.mark.parametrize("model", ["strict-serializable", "strong-session-serializable"])
def test_an_order_of_which_nothing_is_told_is_noted_alike(
    spark: Any, tmp_path: Path, model: str
) -> None:
    made = history(3, Shape(40))
    none = np.full_like(made.process, -1)
    bare = replace(made, process=none, end=np.full_like(made.end, -1))
    found, wanted = both(spark, tmp_path, bare, model)
    assert found == wanted
    assert found.valid == "unknown"


@pytest.mark.parametrize(
    ("times", "valid"),
    [
        ({"process": [0, 0], "begin": [0, 5], "end": [10, 15]}, True),  # both at once
        ({"process": [0, 0], "begin": [0, 10], "end": [10, 15]}, False),
        ({"process": [0, 0, 0], "begin": [0, 4, 11], "end": [10, 5, 12]}, True),
        ({"process": [0, 0], "begin": [0, 5], "end": [3, 9], "status": [0, 2]}, False),
        ({"process": [0, 0], "begin": [0, 0], "end": [-1, -1]}, False),  # in the order given
    ],
)
def test_the_order_of_a_process_is_alike(
    spark: Any, tmp_path: Path, times: dict[str, list[int]], valid: bool
) -> None:
    """A process may do several things at once; an unknown transaction comes behind what ended."""
    made = make(
        transactions=times,
        operations={"tx": [0, 1], "key": [0, 0], "kind": [READ, WRITE], "version": [1, 1]},
    )
    found, wanted = both(spark, tmp_path, made, "strong-session-serializable")
    assert found == wanted
    assert found.valid is valid


def test_what_never_ends_is_judged_alike(spark: Any, tmp_path: Path) -> None:
    """The largest of all instants is an end that does not count."""
    made = make(
        transactions={"begin": [0, 5], "end": [FOREVER, 9]},
        operations={"tx": [0, 1], "key": [0, 0], "kind": [WRITE, READ], "version": [1, 0]},
    )
    found, wanted = both(spark, tmp_path, made)
    assert found == wanted
    assert found.valid is True


def test_where_nothing_committed_nothing_was_judged(spark: Any, tmp_path: Path) -> None:
    made = history(5, SHAPE)
    found, wanted = both(spark, tmp_path, replace(made, status=np.ones_like(made.status)))
    assert found == wanted
    assert found.valid == "unknown"


def test_a_version_that_two_install_is_refused(spark: Any, tmp_path: Path) -> None:
    made = plant(history(5, Shape(20)), "G0")
    version = made.version.copy()
    version[-1] = version[-3]
    made = replace(made, version=version)
    store.write(tmp_path / "h.parquet", made)
    with pytest.raises(HistoryError):
        in_memory.judge(store.read(tmp_path / "h.parquet"))
    with pytest.raises(HistoryError, match="both install version"):
        large_history.judge(spark, tmp_path / "h.parquet")


def test_a_file_that_is_not_a_history_is_refused(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"no")
    with pytest.raises(HistoryError, match="cannot be read"):
        large_history.judge(spark, tmp_path / "x.parquet")


INTERVALS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=12)


@given(INTERVALS)
def test_windows_are_the_union_of_what_goes_back(spans: list[tuple[int, int]]) -> None:
    low = np.array([begin for begin, _ in spans], np.int64)
    high = np.array([begin + length for begin, length in spans], np.int64)
    windows = large_history.merged(low, high)
    covered = {place for a, b in zip(low, high, strict=True) for place in range(a, b + 1)}
    numbers = large_history.number(windows, np.arange(80)) if spans else np.full(80, -1)
    assert {place for place in range(80) if numbers[place] >= 0} == covered
    for a, b in zip(low, high, strict=True):
        assert len(set(numbers[a : b + 1])) == 1
    assert all(windows.high[:-1] < windows.low[1:])
