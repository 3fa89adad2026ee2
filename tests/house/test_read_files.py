"""Every input is looked at before it is read: `files.unfit` refuses what never ends or is huge."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, nodes_of_product

READERS = frozenset({"read_text", "read_bytes"})
LOOKS = frozenset({"unfit"})
ALLOWED = {
    "sim/history/stream.py": "a file that this process writes",
    "sim/scenario/findings.py": "scenarios that travel with the program",
    "sim/execute/isolation.py": "what the kernel tells of this process",
    "sim/scenario/measured.py": "`text_of` looks, and calls what reads",
    "sim/mutation/source.py": "the program's own modules",
    "sim/mutation/store.py": "results that it has written",
    "sim/search/digest.py": "the program's own modules",
    "sim/search/program.py": "plug-ins that it has loaded",
    "sim/cli/verbs/list.py": "scenarios that travel with the program",
    "sim/cli/verbs/new.py": "skeletons that travel with the program",
    "sim/spec/tla.py": "modules that travel with the program",
    "sim/model/terms.py": "a table that travels with the program",
    "sim/files.py": "a file that was just written",
    "sim/record/keeper.py": "files of a server that it has started",
    "sim/record/rehearsal/measure.py": "a recording that this process has written",
    "analysis/spark/session.py": "the program's own modules",
    "analysis/spark/java.py": "the release of a Java, and a script of ours",
    "analysis/spark/spread.py": "a beacon that this program writes",
}


def unlooked(root: Path) -> Iterator[str]:
    """Functions that read a whole file and do not look at it first."""
    for name, node in nodes_of_product(root, ALLOWED):
        if isinstance(node, ast.FunctionDef) and _reads(node) and not _looks(node):
            yield f"{name}:{node.lineno} {node.name}"


def _called(function: ast.FunctionDef) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            called = node.func
            yield getattr(called, "attr", getattr(called, "id", "")), node


def _reads(function: ast.FunctionDef) -> bool:
    return any(
        name in READERS or (name == "open" and _is_for_reading(call))
        for name, call in _called(function)
    )


def _is_for_reading(call: ast.Call) -> bool:
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "mode")]
    return any(isinstance(each, ast.Constant) and each.value in ("r", "rb") for each in given)


def _looks(function: ast.FunctionDef) -> bool:
    return any(name in LOOKS for name, _ in _called(function))


def test_what_is_read_is_looked_at_first() -> None:
    assert list(unlooked(ROOT)) == []


def test_what_is_allowed_is_there() -> None:
    assert [name for name in ALLOWED if not (ROOT / name).is_file()] == []


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return path.read_text('utf-8')", 1),
        ("return Path(path).read_bytes()", 1),
        ("return path.open('rb')", 1),
        ("return open(path, mode='r')", 1),
        ("return None if files.unfit(path, 3) else path.read_text()", 0),
        ("return path.open('wb')", 0),
    ],
)
def test_a_planted_read_is_found(body: str, found: int, tmp_path: Path) -> None:
    for folder in ("sim", "analysis"):
        (tmp_path / folder).mkdir()
    (tmp_path / "sim" / "a.py").write_text(f"def f(path):\n    {body}\n", "utf-8")
    assert len(list(unlooked(tmp_path))) == found
