"""The floors of the house hold, and a breach of each contract is caught."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import dev
from tests.house.tree import ROOT, plant

ROOF = {"ddlsim.__init__", "ddlsim.__main__"}  # they may import anything, and nothing imports them


def contracts(root: Path) -> list[dict[str, Any]]:
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return found


def floors(root: Path) -> list[str]:
    """Every part that a contract of layers names, with the package that contains it."""
    found: list[str] = []
    for contract in contracts(root):
        if contract["type"] == "layers":
            inside = "".join(f"{name}." for name in contract.get("containers", ()))
            layers = " ".join(contract["layers"])
            found += [inside + part for part in re.findall(r"[\w.]+", layers)]
    return found


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *dev.CHECKS["floors"], "--no-cache"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


def homeless(root: Path) -> list[str]:
    """Parts of the package that stand on no floor, and would therefore be free of all rules."""
    parts = [
        p for p in (root / "ddlsim").iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    ]
    return sorted({f"ddlsim.{part.stem}" for part in parts} - set(floors(root)) - ROOF)


@pytest.fixture
def skeleton(tmp_path: Path) -> Path:
    """Our floors with nothing on them."""
    empty = {f"{part.replace('.', '/')}/__init__.py": "" for part in floors(ROOT)}
    settings = (ROOT / "pyproject.toml").read_text("utf-8")
    return plant(tmp_path, {**empty, "ddlsim/__init__.py": "", "pyproject.toml": settings})


def test_the_floors_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_part_stands_on_a_floor() -> None:
    assert homeless(ROOT) == []


def test_a_part_without_a_floor_is_named(skeleton: Path) -> None:
    assert homeless(skeleton) == []
    plant(skeleton, {"ddlsim/shed.py": "", "ddlsim/attic/__init__.py": ""})
    assert homeless(skeleton) == ["ddlsim.attic", "ddlsim.shed"]


def test_an_empty_tree_breaks_no_contract(skeleton: Path) -> None:
    done = lint(skeleton)
    assert done.returncode == 0, done.stdout + done.stderr


FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "
"""What is imported behind this counts, too."""


def test_every_contract_can_be_broken(skeleton: Path) -> None:
    plant(
        skeleton,
        {
            "ddlsim/protocol/floors.py": f"{FOR_TYPES}import ddlsim.cluster",
            "ddlsim/protocol/raft/protocol.py": "import ddlsim.protocol.server",
            "ddlsim/strategies/strangers.py": "import ddlsim.mutants",
            "ddlsim/protocol/pure.py": "import numpy",
            "ddlsim/model/timeless.py": "def late():\n    import time",
            "ddlsim/checkers/judges.py": f"{FOR_TYPES}import ddlsim.protocol",
            "ddlsim/graph/columns.py": "import ddlsim.history",
            "ddlsim/foreign/foreign.py": "import ddlsim.kernel",
            "ddlsim/record/judges.py": "import ddlsim.graph",
            "ddlsim/cluster/kernel.py": "import simpy",
            "ddlsim/cli/sql.py": "from sqlglot import parse",
            "ddlsim/kernel/graphs.py": "import networkx as nx",
            "ddlsim/foreign/connections.py": "import sqlalchemy",
            "ddlsim/sql/arrays.py": "import numpy",
            "ddlsim/cli/spark.py": "def verb():\n    import pyspark",
            "ddlsim/analysis/untested.py": "import pytest",
        },
    )
    done = lint(skeleton)
    assert done.returncode == 1, done.stdout + done.stderr
    verdicts = dict(re.findall(r"^(.+) (KEPT|BROKEN)$", done.stdout, re.MULTILINE))
    assert verdicts == {str(contract["name"]): "BROKEN" for contract in contracts(ROOT)}


def test_only_the_plugin_may_import_pytest(skeleton: Path) -> None:
    plant(skeleton, {"ddlsim/plugin/pytest_plugin.py": "import pytest"})
    assert lint(skeleton).returncode == 0
    plant(skeleton, {"ddlsim/plugin/other.py": "import pytest"})
    done = lint(skeleton)
    assert done.returncode == 1
    assert "The product does not need its tests' tools BROKEN" in done.stdout
