"""No span of time is hidden in the protocol: each is a setting that a scenario can name.

Neither a share of another setting (`resend_us // 4`) nor a literal (`Micros(500 * US_PER_MS)`).
What follows from another setting says so in `ddlsim.model.settings`, under a name of its own.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, parsed, python_files

SPANS = ("_us", "_ms")


def is_span(node: ast.expr) -> bool:
    """Whether an expression mentions a setting or anything else that is counted in time."""
    return any(
        isinstance(each, ast.Attribute | ast.Name)
        and (each.attr if isinstance(each, ast.Attribute) else each.id).lower().endswith(SPANS)
        for each in ast.walk(node)
    )


def is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value > 0


def hidden(tree: ast.Module) -> Iterator[int]:
    """The lines that scale a span by a number, or make one of a number."""
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=left, op=ast.Mult() | ast.Div() | ast.FloorDiv(), right=right):
                if (is_span(left) and is_number(right)) or (is_number(left) and is_span(right)):
                    yield node.lineno
            case ast.Call(func=ast.Name(id="Micros"), args=[number]) if is_number(number):
                yield node.lineno
            case ast.Call(func=ast.Attribute(attr="sleep" | "call_later"), args=[number, *_]):
                if is_number(number):
                    yield node.lineno


def test_no_span_of_the_protocol_is_hidden() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_files(ROOT, "sim/protocol", "sim/fdb", "sim/layer")
        for line in hidden(parsed(path))
    ]
    assert found == [], "name it in sim/model/settings.py"


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("await node.sleep(Micros(node.settings.resend_us // 8))", [1]),
        ("limit = 2 * settings.orphan_check_ms * US_PER_MS", [1]),
        ("RETRY_US = Micros(5 * US_PER_MS)", [1]),
        ("node.call_later(500, look)", [1]),
        ("await node.sleep(Micros(settings.lock_retry_ms * US_PER_MS))", []),
        ("if len(log) > 2 * node.settings.snapshot_entries: pass", []),
        ("node.call_later(Micros(0), start)", []),
    ],
)
def test_a_hidden_span_is_found(tmp_path: Path, code: str, lines: list[int]) -> None:
    source = code if "await" not in code else f"async def f():\n {code}"
    file = tmp_path / "a.py"
    file.write_text(source, "utf-8")
    offset = 1 if "await" in code else 0
    assert sorted({line - offset for line in hidden(ast.parse(file.read_text("utf-8")))}) == lines
