"""The core works without the libraries of the extras; what needs one says so in one line."""

import os
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from ddlsim.extras import EXTRAS, MissingExtraError, needed_by
from ddlsim.graph import residue
from tests.support.command import ROOT, Done
from tests.support.forked import forked

BLOCKED = tuple(sorted({module for extra in EXTRAS.values() for module in extra}))
SITE = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
"""Run by every Python that starts with its folder on PYTHONPATH, spawned workers included."""
GOLDEN = "tests/golden/foreign"
REALISTIC = "scenarios/realistic"


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for PYTHONPATH that hides the extras' libraries, with two histories beside it."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(SITE)
    (folder / "schema.sql").write_text("CREATE TABLE t (id INTEGER PRIMARY KEY, v INTEGER)")
    (folder / "migration.sql").write_text("ALTER TABLE t ADD COLUMN w INTEGER")
    assert call(folder, "run", "smoke", "--out", f"{folder}/good").code == 0
    assert call(folder, "run", "strategies/B3-T1", "--out", f"{folder}/bad").code == 1
    return folder


def call(folder: Path, *words: str) -> Done:
    return forked(*words, hiding=folder)


HIDDEN = f"""
for module in {BLOCKED!r}:
    try:
        __import__(module)
    except ModuleNotFoundError as missing:
        print(missing)
"""


def test_the_libraries_are_hidden(bare: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(bare)}
    command = [sys.executable, "-c", HIDDEN]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [f"No module named {module!r}" for module in BLOCKED]


CORE = {
    "run": (0, "run smoke"),
    "seeds": (0, "run smoke --seeds 0..3 --jobs 2"),
    "swarm": (0, "run --swarm --seeds 3..4 --jobs 1"),
    "check": (0, "check {}/good/seed-0.jsonl"),
    "check-bad": (1, "check {}/bad/seed-0.jsonl --output json"),
    "check-edn": (1, f"check {GOLDEN}/list-append/G-single.edn"),
    "check-witness": (1, "check scenarios/witness/atomicity.jsonl"),
    "explain": (0, "explain {}/good/seed-0.jsonl"),
    "explain-html": (0, "explain {}/good/seed-0.jsonl --html {}/page.html"),
    "explain-svg": (0, "explain {}/bad/seed-0.jsonl --svg {}/cycle.svg"),
    "compat": (1, f"compat {REALISTIC}/schema.sql {REALISTIC}/orders.sql"),
    "list": (0, "list scenarios"),
    "list-checkers": (0, "list checkers"),
    "list-figures": (0, "list figures"),
    "list-schema": (0, "list schemas sweep-file"),
    "verify": (0, "verify smoke --seeds 2"),
    "record": (0, "record sqlite:///{}/db --transactions 20 --out {}/recorded"),
    "rehearse": (
        0,
        (
            "rehearse sqlite:///none {}/migration.sql --schema {}/schema.sql "
            "--before 0.1s --after 0.1s --out {}/rehearsed"
        ),
    ),
}


@pytest.mark.parametrize("case", CORE)
def test_the_core_needs_no_extra(case: str, bare: Path) -> None:
    code, words = CORE[case]
    done = call(bare, *words.replace("{}", str(bare)).split())
    assert done.code == code, done
    assert not any(module in done.err for module in BLOCKED), done


def test_a_verdict_is_the_same_without_scipy(bare: Path) -> None:
    words = CORE["check-edn"][1].split()
    assert call(bare, *words) == forked(*words)


NEEDS = {
    "sweep reports/standard/sweep.toml --out {}/swept": ("sweep", "pyarrow", "sweep"),
    "tune --delays scenarios/measurements/delays_ms.csv --out {}/tuned": ("tune", "", "sweep"),
    "compare iep --seeds 1": ("compare", "", "sweep"),
    "plot delay {}": ("plot", "", "plot"),
    "record duckdb:///{}/db2 --out {}/recorded2": ("record", "duckdb", "real"),
    "record postgresql:embedded --out {}/recorded3": ("record", "psycopg", "real"),
    "record postgresql+psycopg://nowhere/x --out {}/recorded4": ("record", "psycopg", "real"),
    "rehearse postgresql:embedded {}/migration.sql --schema {}/schema.sql": (
        "rehearse",
        "psycopg",
        "real",
    ),
    "report {}": ("report", "", "plot"),
    "check {}/odd.columns.parquet": ("check", "pyarrow", "sweep"),
    "check {}/good/seed-0.jsonl --master local[1]": ("check", "", "sweep"),
}


@pytest.mark.parametrize("words", NEEDS)
def test_a_missing_extra_is_one_line_with_its_command(words: str, bare: Path) -> None:
    (bare / "odd.columns.parquet").write_bytes(b"PAR1")
    verb, module, extra = NEEDS[words]
    done = call(bare, *words.replace("{}", str(bare)).split())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"ddlsim: {verb} needs {module}")
    assert done.err.endswith(f": pip install 'ddlsim[{extra}]'\n")
    assert done.err.count("\n") == 1


def test_a_file_that_needs_an_extra_leaves_the_others_judged(bare: Path) -> None:
    (bare / "odd.columns.parquet").write_bytes(b"PAR1")
    done = call(bare, "check", f"{bare}/odd.columns.parquet", f"{bare}/good/seed-0.jsonl")
    assert done.code == 2
    assert done.out.startswith("OK  ")
    needs = "check needs pyarrow: pip install 'ddlsim[sweep]'"
    assert done.err == f"ddlsim: {bare}/odd.columns.parquet: {needs}\n"


def test_another_missing_module_stays_a_defect() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such"), needed_by("run"):
        raise ModuleNotFoundError("No module named 'no_such'", name="no_such")


def test_a_part_of_a_library_is_called_by_the_library() -> None:
    told = r"rows need scipy: pip install 'ddlsim\[sweep\]'".replace("need", "needs")
    with pytest.raises(MissingExtraError, match=told), needed_by("rows"):
        raise ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats")


@cache
def asked() -> dict[str, set[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {**project["optional-dependencies"], "": project["dependencies"]}
    return {name: {Requirement(each).name for each in needs} for name, needs in extras.items()}


def imported(names: set[str]) -> set[str]:
    """The modules of packages, by their names."""
    return {name.replace("-", "_") for name in names}


def test_the_table_of_extras_is_that_of_the_project() -> None:
    assert {extra: imported(asked()[extra]) for extra in EXTRAS} == {
        e: set(m) for e, m in EXTRAS.items()
    }
    assert not asked()[""] & set(BLOCKED)


def test_components_without_scipy_are_those_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    dice = np.random.default_rng(7)
    packed = residue.pack(*dice.integers(0, residue.FEW, (2, 2 * residue.FEW)))
    due = residue._grouped(residue.labels_of(residue.FEW, packed.copy()), residue.FEW)
    with monkeypatch.context() as patched:
        for module in [*sys.modules, *BLOCKED]:
            if module.partition(".")[0] in BLOCKED:
                patched.setitem(sys.modules, module, None)
        found = residue._grouped(residue.labels_of(residue.FEW, packed), residue.FEW)
    assert [part.tolist() for part in found] == [part.tolist() for part in due] != []
