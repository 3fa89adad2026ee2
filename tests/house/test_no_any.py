"""The protocol and its designs say their types: no `Any`, no callable of whatever arguments."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, nodes, plant, python_files

TYPED = ("sim/protocol", "sim/fdb", "sim/layer", "sim/strategies", "sim/mutants")


def untyped(root: Path) -> Iterator[str]:
    """Every place that names `Any`, also within a string, or `Callable[..., …]`."""
    for path in python_files(root, *TYPED):
        for node in nodes(path):
            if _says_nothing(node):
                yield f"{path.relative_to(root).as_posix()}:{getattr(node, 'lineno', 0)}"


def _says_nothing(node: ast.AST) -> bool:
    if isinstance(node, ast.Name | ast.Attribute):
        return "Any" in (getattr(node, "id", None), getattr(node, "attr", None))
    if isinstance(node, ast.alias):
        return node.name == "Any"
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and "Any]" in node.value
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Tuple)
        and isinstance(node.slice.elts[0], ast.Constant)
        and node.slice.elts[0].value is ...
    )


def test_protocol_designs_and_mutants_have_no_any() -> None:
    assert list(untyped(ROOT)) == []


@pytest.mark.parametrize(
    "fault",
    [
        "from typing import Any",
        "import typing\ndef f(x: typing.Any) -> None: ...",
        "def f() -> 'dict[str, Any]': ...",
        "class C:\n    field: Callable[..., int]",
        "Flow = Callable[..., Coroutine[None, None, int]]",
    ],
)
def test_untyped_finds_a_planted_fault(tmp_path: Path, fault: str) -> None:
    root = plant(tmp_path, {"sim/strategies/loose.py": fault, "sim/world/free.py": fault})
    assert [place.partition(":")[0] for place in untyped(root)] == ["sim/strategies/loose.py"]


def test_untyped_lets_precise_types_pass(tmp_path: Path) -> None:
    text = "def f(g: Callable[[int], str], rows: tuple[int, ...]) -> object: ..."
    assert list(untyped(plant(tmp_path, {"sim/protocol/typed.py": text}))) == []
