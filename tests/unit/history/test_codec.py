"""A history survives its file, and a file that is not whole is refused with a remedy."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ddlsim.history.codec import BadHistory, load, parse, save
from ddlsim.history.events import Invoked, LockWaited, RowRead
from ddlsim.history.history import History
from ddlsim.history.index_events import IndexFinal, IndexRead, IndexWritten
from ddlsim.model import ddl
from ddlsim.model.schema import Column
from tests.support.history import BIGINT, INT, Story, add_column


def told() -> History:
    story = Story(reaches=("rare",))
    t = story.table()
    story.write("T", t, (1, "a"), 10, row=((0, 1), (1, "T:op1")))
    story.scan("T", t, 11, {(1, "a"): "T"})
    before, after = Column(1, "v", INT), Column(1, "v", BIGINT)
    story.ddl("D", t, add_column(2, "w", default=1.5), ddl.ColumnAltered(before, after), tu=20)
    story.add(21, LockWaited, "n1", "T", "op", t, (1, "a"), 5, granted=True)
    story.add(22, Invoked, "c", "x", None, "n1", "get", table="t", key="ü\n")
    story.add(23, IndexWritten, "n1", "T", "op", t, 9, (5, None), (1, "a"), added=True)
    story.add(24, IndexRead, "n1", "T", "op", t, 9, 24, (5, None), ((1, "a"), "b"))
    story.add(50, IndexFinal, "n1", t, 9, (5, None), (1, "a"))
    story.commit("T", 40)
    story.kept(t, (1, "a"), "T", 40, 50)
    history = story.history()
    history.probes["rare"] = 3
    history.executed_events = 17
    return history


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "out" / "h.jsonl"
    save(told(), path)
    return path


def test_load_gives_what_save_wrote(saved: Path) -> None:
    before, after = told(), load(saved)
    assert after.events == before.events
    assert after.header == before.header
    assert after.probes == before.probes
    assert (after.end_us, after.executed_events) == (before.end_us, before.executed_events)
    assert after.fingerprint() == before.fingerprint()


def test_load_makes_composite_keys_tuples(saved: Path) -> None:
    events = load(saved).events
    keys = [event.key for event in events if hasattr(event, "key") and event.key is not None]
    assert {type(key) for key in keys} == {tuple, str}
    (found,) = [event for event in events if isinstance(event, IndexRead)]
    assert found.keys == ((1, "a"), "b")
    rows: list[RowRead] = [row for event in events for row in getattr(event, "rows", ())]
    assert rows[0].key == (1, "a")


def test_saving_again_gives_the_same_bytes(saved: Path, tmp_path: Path) -> None:
    save(load(saved), tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == saved.read_bytes()
    assert not list(tmp_path.rglob("*.partial"))


def refused(path: Path, lines: list[bytes]) -> BadHistory:
    path.write_bytes(b"".join(lines))
    with pytest.raises(BadHistory) as caught:
        load(path)
    assert caught.value.path == str(path)
    return caught.value


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_load_refuses_a_file_cut_off_at_a_line(saved: Path) -> None:
    lines = lines_of(saved)
    for kept in range(1, len(lines)):
        error = refused(saved, lines[:kept])
        assert "cut off" in error.message
        assert error.line == kept


def test_load_refuses_a_file_cut_off_within_a_line(saved: Path) -> None:
    lines = lines_of(saved)
    assert "cut off" in refused(saved, [*lines[:-1], lines[-1][:20]]).message
    assert "cut off" in refused(saved, [*lines[:4], lines[4][:20]]).message


def test_load_refuses_a_changed_value(saved: Path) -> None:
    lines = lines_of(saved)
    at = next(i for i, line in enumerate(lines) if b"WriteExecuted" in line)
    error = refused(saved, [*lines[:at], lines[at].replace(b"T:op1", b"T:op9"), *lines[at + 1 :]])
    assert "fingerprint" in error.message
    assert "run the scenario again" in error.message


def test_load_refuses_removed_doubled_or_moved_lines(saved: Path) -> None:
    lines = lines_of(saved)
    assert "fingerprint" in refused(saved, [*lines[:4], *lines[5:]]).message
    assert "fingerprint" in refused(saved, [*lines[:4], lines[4], *lines[4:]]).message
    assert "fingerprint" in refused(saved, [*lines[:4], lines[5], lines[4], *lines[6:]]).message


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"event":"Nonsense","at_us":1}\n', "Nonsense"),
        (b'{"event":"Ok","at_us":"soon","client":"c","op":"o"}\n', "at_us"),
        (b"not json\n", "malformed"),
        (b"\n", "cannot be understood"),
        (b'{"event":"Header"}\n', "Header"),
    ],
)
def test_load_refuses_a_line_that_is_not_an_event(saved: Path, line: bytes, said: str) -> None:
    lines = lines_of(saved)
    error = refused(saved, [*lines[:3], line, *lines[3:]])
    assert error.line == 4
    assert said in str(error)
    assert "run the scenario again" in error.message


@pytest.mark.parametrize(
    "text",
    [b'{"process":0,"type":"invoke","f":"txn"}\n', b"# notes\n", b"[1,2]\n", b"\xff\x00\n"],
)
def test_load_refuses_a_foreign_file(tmp_path: Path, text: bytes) -> None:
    error = refused(tmp_path / "x.jsonl", [text, text])
    assert error.line == 1
    assert "not a history of this program" in error.message
    assert "--input" in error.message


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (b"\x1f\x8b\x08\x08", "it is packed by gzip; unpack it"),
        (b"\xff\xfe{\x00", "it is UTF-16; save it as UTF-8"),
        (b"\xef\xbb\xbf", "an editor has put a byte order mark in front; save it as UTF-8 "),
    ],
)
def test_load_names_what_hides_a_history(saved: Path, mark: bytes, said: str) -> None:
    saved.write_bytes(mark + saved.read_bytes())
    with pytest.raises(BadHistory, match=f"^{re.escape(str(saved))}:1: cannot be read: {said}"):
        load(saved)


def test_load_refuses_another_format(saved: Path) -> None:
    lines = lines_of(saved)
    lines[0] = lines[0].replace(b'"format":2', b'"format":1')
    error = refused(saved, lines)
    assert error.message == "has format 1, this program reads 2; run the scenario again"


@pytest.mark.parametrize("key", ["claims", "seed", "design", "scenario_text", "settings", "strict"])
def test_load_refuses_an_edited_header(saved: Path, key: str) -> None:
    lines = lines_of(saved)
    header = json.loads(lines[0])
    edited: dict[str, Any] = {
        "claims": {"design": {**header["design"], "claims": []}},
        "design": {"design": {**header["design"], "name": "other"}},
        "seed": {"seed": 7},
        "scenario_text": {"scenario_text": "title = 'x'"},
        "settings": {"settings": {"": {"max_clock_skew_ms": 1}}},
        "strict": {"strict": True},
    }
    lines[0] = json.dumps({**header, **edited[key]}, separators=(",", ":")).encode() + b"\n"
    error = refused(saved, lines)
    assert error.message == (
        "its events are those of the run, its header or this record are not: "
        "it was changed after the run; run the scenario again"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"rare":3', b'"rare":4'), (b'"executed_events":17', b'"executed_events":18')],
)
def test_load_refuses_an_edited_end(saved: Path, old: bytes, new: bytes) -> None:
    lines = lines_of(saved)
    assert old in lines[-1]
    lines[-1] = lines[-1].replace(old, new)
    assert "its header or this record are not" in refused(saved, lines).message


def test_load_refuses_damaged_bytes(saved: Path) -> None:
    """Every one but the last line end, which says nothing; here a sample."""
    data = saved.read_bytes()
    for at in range(0, len(data) - 1, 11):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        with pytest.raises(BadHistory):
            parse(bytes(damaged).split(b"\n"), saved)
    assert parse(data.split(b"\n"), saved).events == told().events


@pytest.mark.parametrize("line", [b"[" * 100_000, b'{"event":"Header","a":' * 50_000, b'"\xff"'])
def test_load_refuses_a_line_that_cannot_be_decoded(saved: Path, line: bytes) -> None:
    lines = lines_of(saved)
    for at in (0, 3, len(lines) - 1):
        assert refused(saved, [*lines[:at], line + b"\n", *lines[at + 1 :]]).line == at + 1


@pytest.mark.parametrize("at_us", [-1, 2**63, 10**400])
def test_load_refuses_an_impossible_instant(at_us: int, saved: Path) -> None:
    lines = lines_of(saved)
    lines[3] = re.sub(rb'"at_us":\d+', b'"at_us":%d' % at_us, lines[3])
    error = refused(saved, lines)
    assert (error.line, "is no instant of a run" in error.message) == (4, True)
    assert len(error.message) < 100


def test_load_refuses_a_damaged_header(saved: Path) -> None:
    lines = lines_of(saved)
    lines[0] = lines[0].replace(b'"seed":1', b'"seed":"one"')
    error = refused(saved, lines)
    assert error.line == 1
    assert "seed" in error.message


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_load_refuses_an_empty_file(tmp_path: Path, content: bytes) -> None:
    found = refused(tmp_path / "x.jsonl", [content]).message
    assert found == "is empty; name a file that holds a history"


def test_load_names_the_reason_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadHistory, match="cannot be read"):
        load(tmp_path / "none.jsonl")
    with pytest.raises(BadHistory, match="cannot be read"):
        load(tmp_path)


def test_fingerprint_is_equal_for_equal_events_only() -> None:
    one, other = told(), told()
    assert one.fingerprint() == other.fingerprint()
    dropped: Any = other.events.pop()
    assert one.fingerprint() != other.fingerprint()
    other.events.append(dropped)
    assert one.fingerprint() == other.fingerprint()
