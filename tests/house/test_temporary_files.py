"""No name in a shared temporary folder can be foretold: they are all made by `tempfile`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT, nodes, plant

SHARED = ("gettempdir", "gettempdirb", "mktemp")
FOLDERS = ("/" + "tmp", "/var/" + "tmp")
PRODUCT = ("sim", "analysis")


def foretold(file: Path) -> Iterator[str]:
    """The places where a program makes up a name in the temporary folder by itself."""
    for node in nodes(file):
        if isinstance(node, ast.Attribute | ast.Name | ast.alias):
            name = {ast.Attribute: "attr", ast.Name: "id", ast.alias: "name"}[type(node)]
            if getattr(node, name) in SHARED:
                yield f"line {node.lineno}: {getattr(node, name)}"
        if isinstance(node, ast.Constant) and str(node.value).startswith(FOLDERS):
            yield f"line {node.lineno}: {node.value}"


def test_names_in_the_temporary_folder_are_made_by_tempfile() -> None:
    files = [file for part in PRODUCT for file in (ROOT / part).rglob("*.py")]
    files.append(ROOT / "dev.py")
    found = {str(file): list(foretold(file)) for file in files}
    assert {file: places for file, places in found.items() if places} == {}


def test_a_name_that_can_be_foretold_is_caught(tmp_path: Path) -> None:
    folder = "/" + "tmp"
    planted = f'Path(tempfile.gettempdir()) / "x"\nopen("{folder}/x")\n'
    plant(tmp_path, {"a.py": planted, "b.py": "tempfile.mkdtemp(); Path('a/b')"})
    assert sorted(foretold(tmp_path / "a.py")) == ["line 1: gettempdir", f"line 2: {folder}/x"]
    assert not list(foretold(tmp_path / "b.py"))
