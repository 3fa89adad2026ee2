"""No test of the default suite depends on how fast or how busy the machine is."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.tree import ROOT, nodes

CLOCKS = frozenset({"time", "timeit", "datetime", "resource", "pytest_benchmark"})
LIMITS = re.compile("setrlimit|RLIMIT_[A-Z]+")
"""Of the module `resource` what sets a limit, and measures no time."""
WAITING = "tests/support/waiting.py"
"""The one file that may look at a clock, to end a test that would never end."""


def clocks(root: Path) -> Iterator[str]:
    """Tests outside of tests/bench that import a clock, or give a wait a bound of their own."""
    for path in sorted((root / "tests").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name == WAITING or name.startswith("tests/bench/"):
            continue
        for node in nodes(path):
            if isinstance(node, ast.Import):
                found = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                limits = all(LIMITS.fullmatch(alias.name) for alias in node.names)
                found = [] if node.module == "resource" and limits else [node.module or ""]
            else:
                found = []
            for module in CLOCKS.intersection(found):
                yield f"{name}:{node.lineno}: imports {module}"
            bound = node.value if isinstance(node, ast.keyword) and node.arg == "timeout" else None
            if isinstance(bound, ast.Constant) and bound.value is not None:
                yield f"{name}:{bound.lineno}: a bound of its own; use PATIENCE_S"


def test_no_test_looks_at_a_clock() -> None:
    assert list(clocks(ROOT)) == []


@pytest.mark.parametrize(
    ("at", "text", "found"),
    [
        ("tests/unit/test_a.py", "import time\n", 1),
        ("tests/unit/test_a.py", "from time import process_time\n", 1),
        ("tests/unit/test_a.py", "from resource import RLIMIT_AS, setrlimit\n", 0),
        ("tests/unit/test_a.py", "from resource import getrusage, setrlimit\n", 1),
        ("tests/spark/test_a.py", "run(timeout=60)\n", 1),
        ("tests/spark/test_a.py", "run(timeout=PATIENCE_S)\n", 0),
        ("tests/bench/test_a.py", "import time\n", 0),
        (WAITING, "import time\n", 0),
    ],
)
def test_a_planted_clock_is_found(at: str, text: str, found: int, tmp_path: Path) -> None:
    file = tmp_path / at
    file.parent.mkdir(parents=True)
    file.write_text(text, "utf-8")
    assert len(list(clocks(tmp_path))) == found


TWICE = """\
import sys
import pytest

for words in " ".join(sys.argv[1:]).split(" , "):
    print("ended with", int(pytest.main(["--collect-only", "-q", *words.split()])), flush=True)
"""


def collected(*asked: str) -> list[str]:
    """What is collected for each of some words, one after the other in one process."""
    words = [sys.executable, "-c", TWICE, " , ".join(asked)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    *found, rest = done.stdout.split("ended with 0\n")
    assert (len(found), rest) == (len(asked), ""), done.stdout
    return found


def test_benches_can_be_collected_and_only_by_name() -> None:
    others = [path for path in (ROOT / "tests").iterdir() if path.name not in ("bench", "clauses")]
    ignoring = " ".join(["tests", *(f"--ignore={path}" for path in others)])
    default, benches = collected(ignoring, "tests/bench")
    assert "test_transaction_bench.py" in benches
    assert "tests/clauses/" in default
    assert "_bench.py" not in default
