"""No regular expression has a possessive or atomic group: some Pythons match them wrongly.

Before 3.11.5 a possessive group that fails half-way keeps what it took (cpython issue 106052).
Possessive repetitions of one character or class are right in all of them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import ROOT, plant, python_files

GROUP = re.compile(r"\)(?:[*+?]|\{\d+(?:,\d*)?\})\+(?!\+)|\(\?>")
LITERAL = re.compile(r"""\brb?["'].*["']|\bbr["'].*["']""")


def groups(root: Path) -> Iterator[str]:
    """Raw strings of the product that hold one."""
    for path in python_files(root, "sim"):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if any(GROUP.search(text) for text in LITERAL.findall(line)):
                yield f"{path.relative_to(root)}:{number}: a possessive or atomic group"


def test_no_expression_has_a_possessive_group() -> None:
    assert list(groups(ROOT)) == []


def test_a_possessive_or_atomic_group_is_found(tmp_path: Path) -> None:
    lines = ('A = rb"(?:ab)*+c"', 'B = r"(?>ab)"', 'C = r"(ab)?+"', 'D = r"[ab]*+(c)*\\d{1,3}+"')
    plant(tmp_path, {"sim/a.py": "\n".join(lines)})
    assert [each.split(":")[1] for each in groups(tmp_path)] == ["1", "2", "3"]
