"""The house rules that no linter knows: each holds here, and each can fail."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house import order, tidy
from tests.house.tree import ROOT, plant

Rule = Callable[[Path], Iterator[str]]

RULES: list[Rule] = [
    tidy.docstrings,
    tidy.sizes,
    tidy.crash_safety,
    order.set_loops,
    tidy.names_of_designs,
    tidy.printing,
    tidy.waivers,
    tidy.leftovers,
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule: Rule) -> None:
    breaches = list(rule(ROOT))
    assert not breaches, "\n".join(["", *breaches])


DOC = '"""A file."""\n'
LONG_FUNCTION = "def walk():\n" + "    pass\n" * 60
DOCUMENTED = 'def walk():\n    """Many words.\n' + "    words\n" * 60 + '    """\n'

FAULTS: list[tuple[Rule, str, str]] = [
    (tidy.docstrings, "sim/a.py", ""),
    (tidy.docstrings, "sim/a.py", "import os\n" + DOC),
    (tidy.docstrings, "tests/test_a.py", '""" """\n'),
    (tidy.sizes, "sim/a.py", DOC + "#\n" * 500),
    (tidy.sizes, "sim/a.py", DOC + "#" * 101),
    (tidy.sizes, "analysis/a.py", DOC + LONG_FUNCTION),
    (tidy.sizes, "analysis/a.py", DOC + "async " + LONG_FUNCTION),
    (tidy.crash_safety, "sim/protocol/a.py", "try:\n    pass\nfinally:\n    pass\n"),
    (tidy.crash_safety, "sim/protocol/a.py", "async def f(x):\n    async with x:\n        pass\n"),
    (tidy.crash_safety, "sim/protocol/a.py", "import random\n"),
    (tidy.crash_safety, "sim/protocol/a.py", "def f():\n    from time import time\n"),
    (order.set_loops, "sim/protocol/a.py", "for x in {1, 2}:\n    pass\n"),
    (order.set_loops, "sim/protocol/a.py", "y = [x for x in set(z)]\n"),
    (order.set_loops, "sim/model/a.py", "s: set[str] = make()\ny = list(s)\n"),
    (order.set_loops, "sim/kernel/a.py", "def f(s: frozenset[str]):\n    return ','.join(s)\n"),
    (order.set_loops, "sim/protocol/a.py", "self.s = set()\nself.s.pop()\n"),
    (order.set_loops, "sim/protocol/a.py", "s = set()\nfor x in a.s - {1}:\n    pass\n"),
    (order.set_loops, "sim/protocol/a.py", "x = [y for y in a.keys() & b]\n"),
    (order.set_loops, "sim/model/a.py", "s = {1}\nx = tuple(s.union(t))\n"),
    (order.set_loops, "sim/mutants/a.py", "s = {1}\nf(*s)\n"),
    (order.set_loops, "sim/strategies/a.py", "x = {y: 1 for y in frozenset(z)}\n"),
    (tidy.names_of_designs, "sim/world/a.py", "if plan.strategy.name == 'iep':\n    pass\n"),
    (tidy.names_of_designs, "sim/world/a.py", "x = strategy in ('iep', 'a5')\n"),
    (tidy.names_of_designs, "sim/protocol/a.py", "x = self.strategy.name != other\n"),
    (tidy.names_of_designs, "sim/world/a.py", "match mutant_name:\n    case 'x':\n        pass\n"),
    (tidy.printing, "sim/world/a.py", "print(1)\n"),
    (tidy.printing, "analysis/a.py", "def f():\n    print()\n"),
    (tidy.printing, "sim/cli/views/run.py", "print(1)\n"),
    (tidy.waivers, "sim/a.py", "x = 1  # noqa\n"),
    (tidy.waivers, "sim/a.py", "x = 1  # noqa: E501\n"),
    (tidy.waivers, "tests/a.py", "x = 1  # type: ignore\n"),
    (tidy.waivers, "tests/a.py", "x = 1  # type: ignore[misc]\n"),
    (tidy.waivers, "sim/a.py", "# ruff: noqa\n"),
    (tidy.waivers, "sim/a.py", "# mypy: ignore-errors\n"),
    (tidy.leftovers, "sim/a.py", f"# {'TO'}DO: later\n"),
    (tidy.leftovers, "notes.md", f"{'FIX'}ME\n"),
]


@pytest.mark.parametrize(("rule", "name", "text"), FAULTS)
def test_a_planted_fault_is_found(rule: Rule, name: str, text: str, tmp_path: Path) -> None:
    [breach] = rule(plant(tmp_path, {name: text}))
    assert breach.startswith(name)


PARDONED: list[tuple[Rule, str, str]] = [
    (tidy.sizes, "sim/a.py", DOC + "#\n" * 499),
    (tidy.sizes, "sim/a.py", DOC + DOCUMENTED),
    (tidy.crash_safety, "sim/kernel/a.py", "import random\n"),
    (order.set_loops, "sim/protocol/a.py", "x = sorted(set(y))\nz = any(w for w in set(y))\n"),
    (order.set_loops, "sim/protocol/a.py", "s: set[int]\nif 1 in s:\n    t = {x for x in s}\n"),
    (order.set_loops, "sim/world/a.py", "for x in {1, 2}:\n    pass\n"),
    (tidy.names_of_designs, "sim/world/a.py", "x = strategy is None\ny = node.name == 'n1'\n"),
    (tidy.printing, "sim/cli/views/run.py", "print(1, file=sys.stderr)\n"),
    (tidy.waivers, "sim/a.py", "x = 1  # noqa: E501 - a table reads better unwrapped\n"),
    (tidy.waivers, "sim/a.py", "x = 1  # type: ignore[misc]  # SimPy types it so\n"),
]


@pytest.mark.parametrize(("rule", "name", "text"), PARDONED)
def test_what_is_allowed_passes(rule: Rule, name: str, text: str, tmp_path: Path) -> None:
    assert list(rule(plant(tmp_path, {name: text}))) == []
