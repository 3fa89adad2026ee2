"""How much a Parquet file takes once it is unpacked is looked at before it is, or while it is."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from ddlsim import sealed
from ddlsim.analysis.large import history as large_history
from ddlsim.analysis.sweep import aggregates
from ddlsim.analysis.sweep.cells import CellsError, read
from ddlsim.analysis.sweep.chunks import PARTS, DamagedPartError
from ddlsim.files import MIB
from ddlsim.graph import store
from ddlsim.graph.history import HistoryError
from ddlsim.history import codec
from ddlsim.scenario.measured import text_of
from ddlsim.scenario.problems import ScenarioError

TOLD = "bytes once it is unpacked, more than"
LEAST = MIB // 4


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that a test can reach; the files below are a hundred times as small."""
    monkeypatch.setattr(sealed, "GROUP_MOST", MIB)


def plain(file: Path) -> Path:
    """Zeros: 8 MiB of them in a few hundred bytes, as the footer tells."""
    table = pa.table({"record": np.zeros(MIB, np.int64)})
    sealed.write(table, file, use_dictionary=False)
    return file


def named(file: Path) -> Path:
    """One text of 64 KiB stored once and named a thousand times: the footer tells of 64 KiB."""
    texts = pa.array(["x" * 65_536] * 1_000)
    sealed.write(pa.table({"record": texts}), file)
    return file


def coded(file: Path) -> Path:
    """A million equal numbers, which the footer tells of as a few bytes."""
    sealed.write(pa.table({"record": np.full(MIB, 7, np.int32)}), file)
    return file


BOMBS = [plain, named, coded]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_file_is_refused_before_it_is_unpacked(bomb: Any, tmp_path: Path) -> None:
    file = bomb(tmp_path / "f.parquet")
    assert file.stat().st_size < LEAST
    before = pa.total_allocated_bytes()
    with pytest.raises(sealed.TooLargeError, match=TOLD):
        sealed.read(file)
    with pytest.raises(sealed.TooLargeError, match=TOLD):
        sealed.verify(file)
    assert pa.total_allocated_bytes() - before < LEAST


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_fits_is_read_as_it_was(
    bomb: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit by bit as well as at once: nothing of a group is lost, and its digest holds."""
    file = bomb(tmp_path / "f.parquet")
    whole = parquet.read_table(file)
    monkeypatch.setattr(sealed, "GROUP_MOST", 70 * MIB)
    assert sealed.read(file).column("record").equals(whole.column("record"))
    monkeypatch.setattr(sealed, "GROUP_MOST", 2**40)
    assert sealed.read(file).column("record").equals(whole.column("record"))


@pytest.mark.parametrize("bomb", BOMBS)
def test_everything_that_reads_parquet_tells_so(bomb: Any, tmp_path: Path) -> None:
    for name in ("h.events.parquet", "h.columns.parquet", "rows.parquet"):
        bomb(tmp_path / name)
    with pytest.raises(codec.BadHistory, match=TOLD):
        codec.load(tmp_path / "h.events.parquet")
    with pytest.raises(CellsError, match=TOLD):
        read(tmp_path)


@pytest.mark.parametrize("bomb", [plain, coded])
def test_spark_begins_no_such_file(bomb: Any, tmp_path: Path) -> None:
    """The look is at the footer: there is no session here that could read anything."""
    session: Any = None
    (tmp_path / PARTS).mkdir()
    bomb(tmp_path / PARTS / "part-000-000000.parquet")
    with pytest.raises(DamagedPartError, match=TOLD):
        aggregates.rows(session, str(tmp_path))
    with pytest.raises(HistoryError, match=TOLD):
        large_history.judge(session, bomb(tmp_path / "h.columns.parquet"))
    with pytest.raises(HistoryError, match=TOLD):
        store.verify(tmp_path / "h.columns.parquet")


@pytest.mark.parametrize("bomb", BOMBS)
def test_measurements_too(bomb: Any, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=TOLD):
        text_of(bomb(tmp_path / "m.parquet"))


def test_a_file_of_many_groups_counts_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f.parquet"
    with sealed.Writer(file, pa.schema([("a", pa.int64())]), use_dictionary=False) as writer:
        for _ in range(8):
            writer.write(pa.table({"a": np.zeros(MIB // 16, np.int64)}))
    assert sealed.read(file).num_rows == MIB // 2
    monkeypatch.setattr(sealed, "HISTORY_MOST", 2 * MIB)
    with pytest.raises(sealed.TooLargeError, match=r"4,19\d,\d+ bytes once it is unpacked"):
        sealed.metadata(file)
