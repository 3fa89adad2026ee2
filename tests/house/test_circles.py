"""No modules import each other in a circle, also not for types alone or within a function."""

import ast
from pathlib import Path

import networkx as nx

from tests.house.tree import ROOT, nodes, plant

TREES = {"sim": "ddlsim", "analysis": "ddlsim.analysis"}
"""Folders, and the packages that they are."""


def modules(root: Path) -> dict[str, Path]:
    """Every module of the product by its name; a package stands for its `__init__`."""
    found: dict[str, Path] = {}
    for tree, package in TREES.items():
        for path in sorted((root / tree).rglob("*.py")):
            parts = path.relative_to(root / tree).with_suffix("").parts
            found[".".join((package, *(part for part in parts if part != "__init__")))] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """What a module imports of the product, anywhere in its text."""
    wanted: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            wanted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = name if path.name == "__init__.py" else name.rpartition(".")[0]
            up = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1])
            home = ".".join(part for part in (up if node.level else "", node.module or "") if part)
            for alias in node.names:
                inner = f"{home}.{alias.name}"
                wanted.add(inner if inner in known else home)
    return (wanted & known.keys()) - {name}


def circles(root: Path) -> frozenset[frozenset[str]]:
    """The sets of modules each of which imports, by some way, all others of its set."""
    known = modules(root)
    graph = nx.DiGraph(
        (name, other) for name, path in known.items() for other in imported(name, path, known)
    )
    found = nx.strongly_connected_components(graph)
    return frozenset(frozenset(circle) for circle in found if len(circle) > 1)


def test_the_product_has_no_circle_of_imports() -> None:
    assert circles(ROOT) == frozenset()


def test_circles_finds_imports_for_types_within_functions_and_relative_ones(
    tmp_path: Path,
) -> None:
    files = {
        "sim/a.py": "if TYPE_CHECKING:\n    from ddlsim.b import B",
        "sim/b.py": "def late():\n    import ddlsim.c",
        "sim/c.py": "from ddlsim import a",
        "sim/straight.py": "import ddlsim.a\nfrom ddlsim.b import B",
        "analysis/room/__init__.py": "from .one import x",
        "analysis/room/one.py": "from . import two",
        "analysis/room/two.py": "from ddlsim.analysis.room import x",
    }
    assert circles(plant(tmp_path, files)) == {
        frozenset({"ddlsim.a", "ddlsim.b", "ddlsim.c"}),
        frozenset({"ddlsim.analysis.room", "ddlsim.analysis.room.one", "ddlsim.analysis.room.two"}),
    }


def test_circles_is_empty_where_imports_only_go_down(tmp_path: Path) -> None:
    files = {"sim/a.py": "import ddlsim.b", "sim/b.py": "import ddlsim.c", "sim/c.py": "import ast"}
    assert circles(plant(tmp_path, files)) == frozenset()
