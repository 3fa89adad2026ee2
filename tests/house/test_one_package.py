"""Nothing imports the folders by their own names: the package is `ddlsim`, in every tree."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT, committed, nodes, plant

FOLDERS = {"sim", "analysis"}


def strays(root: Path, files: list[Path]) -> Iterator[str]:
    """Imports of `sim` or `analysis` as top-level packages."""
    for path in files:
        for node in nodes(path):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module]
            for name in names:
                if name.partition(".")[0] in FOLDERS:
                    yield f"{path.relative_to(root)}:{node.lineno}: imports {name}, not ddlsim"


def test_everything_is_imported_from_ddlsim() -> None:
    files = [path for path in committed(ROOT) if path.suffix == ".py"]
    assert len(files) > 500
    assert list(strays(ROOT, files)) == []


def test_an_import_of_a_folder_is_found(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": "import analysis.tune\nfrom sim import x\nfrom .sim import y\n"})
    assert list(strays(tmp_path, [tmp_path / "a.py"])) == [
        "a.py:1: imports analysis.tune, not ddlsim",
        "a.py:2: imports sim, not ddlsim",
    ]
