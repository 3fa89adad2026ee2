"""Every file of the product is written in one place, beside its name, and read with its digest."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, nodes_of_product

WRITERS = frozenset({"write_text", "write_bytes", "write_table", "ParquetWriter"})
READERS = frozenset({"read_table", "read_row_group", "ParquetFile"})
ALLOWED = {
    "sim/files.py": "the place",
    "sim/sealed.py": "the place for Parquet",
    "sim/history/codec.py": "within `beside`",
    "sim/scenario/measured.py": "reads what others measured",
    "sim/mutation/store.py": "a line for each result, while the campaign goes on",
    "analysis/spark/java.py": "a start script, renamed when it is whole",
    "analysis/spark/session.py": "the log's settings, in a folder of the session",
    "sim/record/keeper.py": "the log of a server, in a folder that goes with it",
    "sim/record/journal.py": "a recording, a line at a time while it goes on",
    "sim/history/stream.py": "a history while its run goes on, as `beside` has it",
    "analysis/spark/spread.py": "a beacon that tells whether a folder is shared",
    "analysis/sweep/store.py": "the lock of a folder, which holds nothing",
}


def writes(root: Path) -> Iterator[str]:
    """Calls that write a file, or read Parquet without its digest, outside of the places for it."""
    for name, node in nodes_of_product(root, ALLOWED):
        if isinstance(node, ast.Call) and _writes(node):
            yield f"{name}:{node.lineno}"


def _writes(call: ast.Call) -> bool:
    called = call.func
    if isinstance(called, ast.Name):
        return called.id == "open" and _is_for_writing(call)
    if not isinstance(called, ast.Attribute):
        return False
    owner = called.value.id if isinstance(called.value, ast.Name) else ""
    if called.attr in WRITERS:
        return owner not in {"files", "sealed", "chunks"}
    if called.attr in READERS:
        return owner in {"pq", "parquet"}
    return called.attr == "open" and _is_for_writing(call)


def _is_for_writing(call: ast.Call) -> bool:
    """Whether an `open` names a mode that writes."""
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "mode")]
    modes = [each.value for each in given if isinstance(each, ast.Constant)]
    return any(isinstance(mode, str) and bool(set(mode) & set("wax+")) and len(mode) < 4
               for mode in modes)  # fmt: skip


def test_files_are_written_in_one_place() -> None:
    assert list(writes(ROOT)) == []


def test_what_is_allowed_is_there() -> None:
    assert [name for name in ALLOWED if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("path.write_text('x')\n", 1),
        ("Path(a, b).write_bytes(b'x')\n", 1),
        ("open(path, 'w')\n", 1),
        ("path.open('wb')\n", 1),
        ("path.open(mode='a')\n", 1),
        ("pq.write_table(table, path)\n", 1),
        ("pq.read_table(path)\n", 1),
        ("path.open('rb')\nopen(path)\nwrite_text(path, 'x')\nsealed.read(path)\n", 0),
    ],
)
def test_a_planted_file_is_found(text: str, found: int, tmp_path: Path) -> None:
    for folder in ("sim", "analysis"):
        (tmp_path / folder).mkdir()
    (tmp_path / "sim" / "a.py").write_text(text, "utf-8")
    assert len(list(writes(tmp_path))) == found
