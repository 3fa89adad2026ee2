"""Style as data: each rule walks a tree and yields one line per breach."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import committed, nodes, parsed, python_files

FILE_LINES, FUNCTION_LINES, LINE_LENGTH = 500, 60, 100
PRODUCT = ("sim", "analysis")

# Where a run happens: an order that depends on PYTHONHASHSEED would change its outcome.
ORDERED = tuple(
    f"sim/{part}"
    for part in ("model", "protocol", "fdb", "layer", "kernel", "strategies", "mutants")
)
PRINTERS = ("sim/cli.py", "sim/cli/", "sim/__main__.py")
MARKERS = re.compile(rf"\b(?:{'TO'}DO|{'FIX'}ME|X{'XX'})\b")
WAIVER = re.compile(r"#.*\b(?:noqa|type:\s*ignore|mypy:\s*ignore-errors|ruff:)", re.IGNORECASE)
REASONED = re.compile(
    r"#\s*(?:noqa: [A-Z]+\d+(?:, ?[A-Z]+\d+)*\s+[-(]+|type: ignore\[[a-z, -]+\]\s+#)\s*\w.{7,}"
)


def docstrings(root: Path) -> Iterator[str]:
    """Every file says first what it is for."""
    for path in python_files(root):
        if not (ast.get_docstring(parsed(path)) or "").strip():
            yield f"{at(root, path)}: does not begin with a docstring"


def sizes(root: Path) -> Iterator[str]:
    """Files, functions and lines stay small enough to be read."""
    for path in python_files(root):
        name, lines = at(root, path), path.read_text("utf-8").splitlines()
        if len(lines) > FILE_LINES:
            yield f"{name}: {len(lines)} lines, more than {FILE_LINES}"
        for number, line in enumerate(lines, 1):
            if len(line) > LINE_LENGTH:
                yield f"{name}:{number}: {len(line)} characters, more than {LINE_LENGTH}"
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = code_lines(node)
                if length > FUNCTION_LINES:
                    yield f"{name}:{node.lineno}: {node.name} has {length} lines"


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """A function's lines without its docstring."""
    assert function.end_lineno is not None
    length = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function, clean=False) is not None:
        first = function.body[0]
        assert first.end_lineno is not None
        length -= first.end_lineno - first.lineno + 1
    return length


def crash_safety(root: Path) -> Iterator[str]:
    """A crash must not run cleanup, and the protocol knows neither dice nor wall clocks."""
    for path in python_files(root, "sim/protocol", "sim/fdb", "sim/layer"):
        for node in nodes(path):
            where = f"{at(root, path)}:{getattr(node, 'lineno', 0)}"
            match node:
                case ast.Try(finalbody=[_, *_]):
                    yield f"{where}: try/finally; a crashed node would still run it"
                case ast.AsyncWith():
                    yield f"{where}: async with; a crashed node would still leave it politely"
                case ast.Import(names=names) if {n.name for n in names} & {"random", "time"}:
                    yield f"{where}: imports dice or a wall clock"
                case ast.ImportFrom(module="random" | "time"):
                    yield f"{where}: imports dice or a wall clock"


def names_of_designs(root: Path) -> Iterator[str]:
    """Designs differ by the functions in their record, never by their name."""
    for path in python_files(root, "sim"):
        for node in nodes(path):
            match node:
                case ast.Compare(left=left, comparators=others):
                    sides = [left, *others]
                    asks = any(map(is_design, sides)) and any(map(has_text, sides))
                    asks = asks or ("protocol" in path.parts and any(map(is_name_of_design, sides)))
                case ast.Match(subject=subject):
                    asks = is_design(subject)
                case _:
                    continue
            if asks:
                yield f"{at(root, path)}:{node.lineno}: asks a design for its name; add a joint"


def is_design(node: ast.expr) -> bool:
    """`strategy`, `plan.strategy`, `strategy.name` and `strategy_name`, or the same of a mutant."""
    if is_name_of_design(node):
        return True
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return last in {"strategy", "mutant", "strategy_name", "mutant_name"}


def is_name_of_design(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "name" and is_design(node.value)


def has_text(node: ast.expr) -> bool:
    return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in ast.walk(node))


def printing(root: Path) -> Iterator[str]:
    """Only the roof prints, and names the stream; everything else returns what it has to say."""
    for path in python_files(root, *PRODUCT):
        is_roof = at(root, path).startswith(PRINTERS)
        for node in nodes(path):
            match node:
                case ast.Call(func=ast.Name(id="print"), keywords=named):
                    if not is_roof or all(one.arg != "file" for one in named):
                        yield f"{at(root, path)}:{node.lineno}: prints"


def waivers(root: Path) -> Iterator[str]:
    """A check is waived for one line, by its code, with a reason."""
    for path in python_files(root):
        source = path.read_text("utf-8")
        if not WAIVER.search(source):  # tokens take long, and few files have such a comment
            continue
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            waives = token.type == tokenize.COMMENT and WAIVER.match(token.string)
            if waives and not REASONED.search(token.string):
                yield f"{at(root, path)}:{token.start[0]}: waives without code and reason"


def leftovers(root: Path) -> Iterator[str]:
    """What is left to do stands in an issue, not in the source."""
    for path in committed(root):
        if path.suffix in {".py", ".md", ".toml", ".sh"}:
            for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
                if MARKERS.search(line):
                    yield f"{at(root, path)}:{number}: a leftover marker"


def at(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
