"""Which files the house rules speak about."""

import ast
import os
import subprocess
from collections.abc import Container, Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRATCH = {"__pycache__", "build", "dist", "node_modules"}


def committed(root: Path) -> list[Path]:
    """Every file that git has or would take; without git, every file that is not scratch."""
    command = ["git", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        listed = ""
    files = [root / name for name in listed.split("\0") if name] or list(_walk(root))
    return sorted(path for path in files if path.is_file())


def nodes_of_product(root: Path, allowed: Container[str]) -> Iterator[tuple[str, ast.AST]]:
    """Every node of the product's modules with the file's name, without the allowed files."""
    for path in sorted([*(root / "sim").rglob("*.py"), *(root / "analysis").rglob("*.py")]):
        name = path.relative_to(root).as_posix()
        if name not in allowed:
            yield from ((name, node) for node in nodes(path))


def _walk(root: Path) -> Iterator[Path]:
    for folder, inside, names in os.walk(root):
        hidden = {name for name in inside if name.startswith(".") and name != ".ci"}
        inside[:] = sorted(set(inside) - hidden - SCRATCH)
        if Path(folder) == root / "reports":
            inside[:] = [name for name in inside if name != "out"]
        yield from (Path(folder, name) for name in names)


def python_files(root: Path, *folders: str) -> list[Path]:
    """The Python files under the given folders, or all of them."""
    places = [root / folder for folder in folders] or [root]
    return [
        path
        for path in committed(root)
        if path.suffix == ".py" and any(path.is_relative_to(place) for place in places)
    ]


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file; rules share it and must not change it."""
    stat = path.stat()
    return _parsed(path, stat.st_mtime_ns, stat.st_size)


def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file's syntax tree: to list them takes longer than most rules."""
    stat = path.stat()
    return _nodes(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=2_048)
def _nodes(path: Path, mtime_ns: int, size: int) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_parsed(path, mtime_ns, size)))


@lru_cache(maxsize=2_048)
def _parsed(path: Path, mtime_ns: int, size: int) -> ast.Module:
    del mtime_ns, size  # a file that has changed is another key
    return ast.parse(path.read_text("utf-8"), str(path))


def plant(root: Path, files: dict[str, str]) -> Path:
    """Write a small tree with a fault in it, for the tests that a rule can fail."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root
