"""A history as Parquet: the same history, a table to ask, and as wary of damage as lines are."""

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # pyarrow ships no types
import pytest
from pyarrow import parquet as pq  # type: ignore[import-untyped]  # pyarrow ships no types

from ddlsim import sealed
from ddlsim.foreign.inputs import kind_of
from ddlsim.graph import store
from ddlsim.history.codec import BadHistory, load, save
from ddlsim.history.parquet import SUFFIX
from tests.support.column_histories import Shape, history
from tests.unit.history.test_codec import told


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "out" / f"h{SUFFIX}"
    save(told(), path)
    return path


def test_load_gives_what_save_wrote(saved: Path, tmp_path: Path) -> None:
    before, after = told(), load(saved)
    assert (after.header, after.events, after.probes) == (
        before.header,
        before.events,
        before.probes,
    )
    assert after.fingerprint() == before.fingerprint()
    save(after, tmp_path / "h.jsonl")
    save(before, tmp_path / "g.jsonl")
    assert (tmp_path / "h.jsonl").read_bytes() == (tmp_path / "g.jsonl").read_bytes()
    assert not list(tmp_path.rglob("*.partial"))


def test_parquet_columns_repeat_fields_of_events(saved: Path) -> None:
    rows = pq.read_table(saved).to_pylist()
    events = told().events
    assert [row["event"] for row in rows] == ["Header", *(type(e).__name__ for e in events), "End"]
    assert (rows[0]["at_us"], rows[-1]["tx"]) == (None, None)
    for row, event in zip(rows[1:-1], events, strict=True):
        for name in ("at_us", "node", "tx", "op"):
            assert row[name] == getattr(event, name, None)


def changed(path: Path, **columns: Any) -> None:
    """Other values in place of a column's."""
    table = pq.read_table(path)
    for name, change in columns.items():
        at = table.schema.get_field_index(name)
        values = pa.array([change(one) for one in table.column(name).to_pylist()], pa.string())
        table = table.set_column(at, name, values)
    pq.write_table(table, path)


def test_what_was_changed_or_cut_off_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    changed(saved, record=lambda line: line.replace('"T"', '"U"'))
    with pytest.raises(BadHistory, match=r"is damaged \(it has no digest of its content\)"):
        load(saved)
    saved.write_bytes(whole)
    table = sealed.read(saved)
    sealed.write(table.slice(0, table.num_rows - 1), saved)
    with pytest.raises(BadHistory, match="ends without its End record"):
        load(saved)
    saved.write_bytes(whole[:-50])
    with pytest.raises(BadHistory, match="is not a history of this program"):
        load(saved)
    pq.write_table(pa.table({"a": [1]}), saved)
    with pytest.raises(BadHistory, match="is not a history of this program"):
        load(saved)


def test_an_edit_that_has_a_digest_of_its_own_is_refused_by_the_end_record(saved: Path) -> None:
    table = sealed.read(saved)
    lines = [line.replace("hand-made", "other") for line in table.column("record").to_pylist()]
    at = table.schema.get_field_index("record")
    sealed.write(table.set_column(at, "record", pa.array(lines)), saved)
    with pytest.raises(BadHistory, match="its header or this record are not"):
        load(saved)


def test_load_names_another_format(saved: Path) -> None:
    table = sealed.read(saved).replace_schema_metadata({"ddlsim": "ddlsim-events-1"})
    pq.write_table(table, saved)
    assert kind_of(str(saved)) == "native"
    with pytest.raises(BadHistory, match="is of ddlsim-events-1, this program reads ddlsim-event"):
        load(saved)


def test_load_refuses_damaged_bytes(saved: Path) -> None:
    """Some harm nothing that is read (statistics, offsets that nothing uses): then all is there."""
    data, whole = saved.read_bytes(), told()
    kept = 0
    for at in range(0, len(data), 23):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        saved.write_bytes(damaged)
        try:
            found = load(saved)
        except BadHistory:
            continue
        kept += 1
        assert (found.header, found.events, found.probes) == (
            whole.header,
            whole.events,
            whole.probes,
        )
    assert kept < len(data) // 23 // 2


def test_is_one_distinguishes_histories_of_columns(saved: Path, tmp_path: Path) -> None:
    assert kind_of(str(saved)) == "native"
    store.write(tmp_path / "c.parquet", history(1, Shape(10)))
    assert kind_of(str(tmp_path / "c.parquet")) == "columns"
    saved.write_bytes(saved.read_bytes()[:-50])
    assert kind_of(str(saved)) == "columns"  # whatever it was; its judge says that it is damaged
