"""The command as its user meets it: quick to help, quiet about its insides, clear about trouble."""

import builtins
import shutil
import subprocess
import sys
from typing import Any, Final
from unittest.mock import patch

import pytest

import ddlsim as package
from ddlsim.__main__ import main as begin
from ddlsim.cli.verbs import list as verb_list
from tests.support.command import ROOT, ddlsim, process, tiny

IMPORT: Final = builtins.__import__
HEAVY = {
    *("numpy", "networkx", "sqlglot", "simpy", "rich", "msgspec", "orjson", "matplotlib"),
    *("scipy", "scipy.stats", "scipy.signal", "pyarrow", "pyspark", "pandas", "jinja2"),
    *("edn_format", "sqlalchemy"),
    *("ddlsim.protocol", "ddlsim.cluster", "ddlsim.plan", "ddlsim.analysis.execute"),
}
"""What takes long to import: libraries, and rooms of ours with all that they bring."""
LOOK = (
    "import sys; from ddlsim.cli import main; main(sys.argv[1:])\n"
    "print(*sys.modules, file=sys.stderr)"
)
RUNS = {
    *("numpy", "sqlglot", "simpy", "rich", "msgspec", "orjson", "pyarrow"),
    *("ddlsim.protocol", "ddlsim.cluster", "ddlsim.plan"),
}
FOREIGN = "tests/golden/foreign/list-append/G1a.edn"
MAY_IMPORT = {
    "list reasons": {"msgspec"},
    "list scenarios": {"msgspec"},
    "list terms": {"msgspec"},
    "list strategies": {"msgspec", "ddlsim.protocol"},
    "list checkers": {"msgspec", "numpy"},
    "list faults": {"msgspec", "numpy", "ddlsim.protocol"},
    "list workloads": {"msgspec", "numpy", "ddlsim.protocol"},
    f"check {FOREIGN}": {"msgspec", "numpy", "orjson", "rich"},
    f"check {FOREIGN} --output json": {"msgspec", "numpy", "orjson"},
    "check tests/golden/foreign/list-append/G-single.edn": {
        *("msgspec", "numpy", "orjson", "rich"),
        "networkx",  # it chooses the cycle
    },
    "check {history}": {"msgspec", "numpy", "rich"},
    "check {broken}": {"msgspec", "numpy", "rich", "networkx"},
    "sweep none.toml": RUNS,
    "tune --delays none.csv": {*RUNS, "scipy"},
    "compat {schema} {migration}": {"msgspec", "sqlglot", "rich", "ddlsim.protocol"},
}
"""A command starts quickly where it imports no more than this; no clock is looked at."""


def heavy(*words: str) -> set[str]:
    """The heavy modules that a command has imported at its end."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *words], cwd=ROOT, capture_output=True, text=True, check=True
    )
    names = [name.split(".") for name in done.stderr.split()]
    loaded = {".".join(name[:depth]) for name in names for depth in (1, 2, 3)}
    assert "click" in loaded
    return loaded & HEAVY


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], [], ["rnu"]])
def test_help_and_slips_import_nothing_heavy(words: list[str]) -> None:
    assert heavy(*words) == set()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A history without a cycle, one with a cycle, and a migration."""
    folder = tmp_path_factory.mktemp("histories")
    for name, scenario in (("history", tiny(folder)), ("broken", "strategies/B3-T1")):
        ddlsim("run", scenario, "--out", str(folder / name))
    migration = ROOT / "scenarios" / "realistic"
    return {
        **{name: str(folder / name / "seed-0.jsonl") for name in ("history", "broken")},
        "schema": str(migration / "schema.sql"),
        "migration": str(migration / "orders.sql"),
    }


@pytest.mark.parametrize("words", MAY_IMPORT)
def test_a_command_imports_only_what_it_needs(words: str, files: dict[str, str]) -> None:
    assert heavy(*words.format(**files).split()) <= MAY_IMPORT[words]


def test_what_a_run_imports_is_seen() -> None:
    """As a check would, if it brought the simulator with it."""
    loaded = heavy("run", "smoke")
    assert {"simpy", "ddlsim.protocol", "ddlsim.cluster", "ddlsim.plan"} <= loaded
    assert not loaded <= MAY_IMPORT["check {history}"]


def test_the_version_is_the_packages() -> None:
    assert process("--version").out == f"ddlsim {package.__version__}\n"


def test_an_optimised_python_is_refused() -> None:
    done = process("run", "smoke", python=("-O",))
    assert (done.code, done.out) == (2, "")
    assert done.err == ("ddlsim: python -O removes the simulator's assertions; run it without -O\n")


def test_a_defect_of_ours_is_one_line_and_exit_4() -> None:
    with patch.dict(verb_list.LISTS, {"reasons": lambda: {}["a"]}):
        done = ddlsim("list", "reasons")
    assert done.code == 4
    assert done.out == ""
    told = "internal error: KeyError: 'a'"
    assert done.err == f"ddlsim: {told}; DDLSIM_DEBUG=1 shows where\n"


def test_debugging_shows_the_traceback() -> None:
    with patch.dict(verb_list.LISTS, {"reasons": lambda: 1 // 0}):
        done = ddlsim("list", "reasons", DDLSIM_DEBUG="1")
    assert done.err.startswith("Traceback")


def test_an_interrupt_is_one_line_and_exit_130() -> None:
    def interrupted() -> list[dict[str, object]]:
        raise KeyboardInterrupt

    with patch.dict(verb_list.LISTS, {"reasons": interrupted}):
        done = ddlsim("list", "reasons")
    assert done == (130, "", "ddlsim: interrupted\n")


def test_an_interrupt_before_the_command_has_begun_is_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """While click and what else it needs are imported, the first tenth of a second."""

    def importing(name: str, *others: Any) -> Any:
        if name == "ddlsim.cli":
            raise KeyboardInterrupt
        return IMPORT(name, *others)

    with patch.object(builtins, "__import__", importing):
        code = begin()
    assert (code, *capsys.readouterr()) == (130, "", "ddlsim: interrupted\n")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs a shell with pipes")
def test_a_reader_that_goes_away_is_no_trouble() -> None:
    command = f"set -o pipefail; {sys.executable} -m sim list clauses | true"
    done = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.returncode in {0, 141}  # 0 where all was written before the reader went


OWN = (
    "import gc, os, sys; from ddlsim.cli import main\n"
    "os.environ.pop('OPENBLAS_NUM_THREADS', None)\n"
    "own = lambda: (gc.get_threshold(), {**os.environ})\n"
    "before = own(); main(GIVEN); both = zip(own(), before, strict=True)\n"
    "print(*{now == then for now, then in both})"
)


@pytest.mark.parametrize(("given", "same"), [("", False), ("['--version']", True)])
def test_only_a_process_of_the_program_collects_garbage_seldom_and_has_one_thread(
    given: str, same: bool
) -> None:
    """A caller of `main` keeps its own thresholds, and its own variables for numpy."""
    words = [sys.executable, "-c", OWN.replace("GIVEN", given), "--version"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == str(same)
