"""Plug-ins are found by name: those of the tree, those of entry points, those of loaded files."""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ddlsim.checkers.base import CHECKERS
from ddlsim.mutants.base import MUTANTS
from ddlsim.nemesis.base import FAULTS
from ddlsim.registry import BadPluginError, Registry, UnknownPluginError, load_file
from ddlsim.strategies.base import DESIGNS, LAYER_DESIGNS, STRATEGIES
from ddlsim.workload.base import WORKLOADS

FOUND: list[str] = []
"""What the plug-in files of these tests ran, in order."""


class Point(NamedTuple):
    """An entry point."""

    name: str

    def load(self) -> None:
        FOUND.append(self.name)


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """No test sees what another one imported."""
    FOUND.clear()
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("plugs_for_test", "ddlsim_loaded_")):
            del sys.modules[name]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Registry[int]:
    """A registry over a package of two modules, and no entry points."""
    package = tmp_path / "plugs_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("zebra", "ant"):
        (package / f"{name}.py").write_text(
            f"from {__name__} import FOUND\nFOUND.append({name!r})\n"
        )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [])
    return Registry("strategy", "plugs_for_test")


def test_it_adds(registry: Registry[int]) -> None:
    """And gives back what it was given, so that it can be used as a decorator."""
    assert registry.add("b", 7) == 7
    registry.add("a", 8)
    assert registry.get("b") == 7
    assert "a" in registry
    assert "c" not in registry


def test_names_come_in_order_whatever_the_order_of_adding(registry: Registry[int]) -> None:
    """A listing does not depend on who was imported first."""
    for name in ("c", "a", "b"):
        registry.add(name, ord(name))
    assert list(registry) == ["a", "b", "c"]
    assert registry.items() == [("a", 97), ("b", 98), ("c", 99)]


def test_a_name_is_taken_once(registry: Registry[int]) -> None:
    """The second plug-in is refused and does not replace the first."""
    registry.add("a", 1)
    with pytest.raises(BadPluginError, match="two strategy plug-ins are called 'a'"):
        registry.add("a", 2)
    assert registry.get("a") == 1


@pytest.mark.parametrize(
    "known",
    [STRATEGIES, LAYER_DESIGNS, MUTANTS, CHECKERS, FAULTS, WORKLOADS],
    ids=lambda one: one.kind,
)
def test_nothing_of_ours_is_unfit(known: Registry[Any]) -> None:
    """What is discovered is not asked then."""
    assert [told for name, item in known.items() if (told := known.unfit(name, item))] == []


def test_what_is_added_behind_the_discovery_is_asked(
    registry: Registry[int],
) -> None:
    bad = Registry[int]("number", registry._package, unfit=lambda *_: "it is bad")
    bad.discover()
    assert bad.unfit("one", 1) == "it is bad"
    with pytest.raises(BadPluginError, match="number 'one': it is bad"):
        bad.add("one", 1)


def test_an_unknown_name_is_answered_with_the_near_ones(registry: Registry[int]) -> None:
    """Or with all of them where none is near."""
    registry.add("a5_safetime", 1)
    registry.add("iep", 2)
    with pytest.raises(UnknownPluginError, match=r"called 'a5_safetim'; did you mean a5_safetime"):
        registry.get("a5_safetim")
    with pytest.raises(UnknownPluginError, match="known: a5_safetime, iep"):
        registry.get("xyzzy")


def test_every_module_of_the_package_is_imported_in_order_once(registry: Registry[int]) -> None:
    """A directory is the list."""
    list(registry)
    registry.discover()
    assert FOUND == ["ant", "zebra"]


@pytest.mark.parametrize(
    ("kind", "group"), [("strategy", "ddlsim.strategies"), ("workload", "ddlsim.workloads")]
)
def test_entry_points_of_the_kind_are_loaded_in_order(
    kind: str, group: str, registry: Registry[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under the plural of the kind, in the order of their names."""
    del registry
    points = {group: [Point("late"), Point("early")]}
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points.get(group, []))
    Registry[Any](kind, "plugs_for_test").discover()
    assert FOUND == ["ant", "zebra", "early", "late"]


def plugin(tmp_path: Path, text: str) -> str:
    """A plug-in file from outside the tree."""
    file = tmp_path / "mine.py"
    file.write_text(f"from {__name__} import FOUND\n{text}")
    return str(file)


def test_a_file_is_run_once(registry: Registry[int], tmp_path: Path) -> None:
    """What it registers is then known; naming it twice is no error."""
    registry.discover()
    FOUND.clear()
    file = plugin(tmp_path, "FOUND.append('mine')\n")
    load_file(file)
    load_file(file)
    assert FOUND == ["mine"]


def test_a_file_that_fails_says_why_and_can_be_tried_again(
    registry: Registry[int], tmp_path: Path
) -> None:
    """A half-run module is not left behind."""
    registry.discover()
    FOUND.clear()
    file = plugin(tmp_path, "FOUND.append(1 // (len(FOUND)))\n")
    with pytest.raises(BadPluginError, match=r"mine\.py, line 2: ZeroDivisionError"):
        load_file(file)
    FOUND.append("x")
    load_file(file)
    assert FOUND == ["x", 1]


def test_load_file_forgets_what_a_file_that_fails_has_registered(
    registry: Registry[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is taken is refused, and once the file is mended it can be loaded."""
    registry.add("theirs", 1)
    monkeypatch.setattr(sys.modules[__name__], "REGISTRY", registry, raising=False)
    lines = "import sys\nregistry = sys.modules[HERE].REGISTRY\n"
    text = lines + "registry.add('mine', 2)\nregistry.add('theirs', 3)\n"
    file = plugin(tmp_path, f"HERE = {__name__!r}\n{text}")
    with pytest.raises(BadPluginError, match="two strategy plug-ins are called 'theirs'"):
        load_file(file)
    assert list(registry) == ["theirs"]
    assert registry.get("theirs") == 1
    load_file(plugin(tmp_path, f"HERE = {__name__!r}\n{text.replace('theirs', 'other')}"))
    assert list(registry) == ["mine", "other", "theirs"]


def test_a_file_must_be_there_and_be_python(tmp_path: Path) -> None:
    """Each mistake has its own sentence."""
    with pytest.raises(BadPluginError, match="no such plug-in file"):
        load_file(str(tmp_path / "none.py"))
    (tmp_path / "notes.txt").write_text("x = 1")
    with pytest.raises(BadPluginError, match=r"not a Python file; give a file that ends in \.py"):
        load_file(str(tmp_path / "notes.txt"))


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("c16_saef", "c16_safe"), ("c1_schema2", "c1_schema"), ("iep_closd", "iep_closed")],
)
def test_a_misspelt_design_is_answered_with_the_near_ones_of_every_plane(
    wrong: str, near: str
) -> None:
    with pytest.raises(UnknownPluginError, match=rf"called '{wrong}'; did you mean .*\b{near}\b"):
        DESIGNS.get(wrong)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("\n1 / 0", "line 2: ZeroDivisionError: division by zero"),
        ("import none_such", "line 1: ModuleNotFoundError: No module named 'none_such'"),
        ("exit(0)", "line 1: it ends the program when it is loaded (exit 0)"),
    ],
)
def test_an_entry_point_that_fails_is_named_each_time(
    text: str, why: str, registry: Registry[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`exit(0)` ended every command with exit code 0 and without a word."""
    del registry
    (tmp_path / "plugs_for_test_wrong.py").write_text(text)
    group = "ddlsim.strategies"
    point = EntryPoint("theirs", "plugs_for_test_wrong", group)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    one = Registry[Any]("strategy", "plugs_for_test")
    for _ in range(2):
        with pytest.raises(BadPluginError) as told:
            one.discover()
        assert str(told.value).startswith(f"entry point 'theirs' of {group}, {why}")
        assert str(told.value).endswith("; mend or remove the package that has it")


def test_an_entry_point_brings_designs_of_both_planes(tmp_path: Path) -> None:
    """The name of a design of a layer is found at the first look, whichever registry has looked."""
    (tmp_path / "other-1.dist-info").mkdir()
    (tmp_path / "other-1.dist-info" / "METADATA").write_text("Name: other\nVersion: 1\n")
    points = "[ddlsim.strategies]\nother = other_designs\n"
    (tmp_path / "other-1.dist-info" / "entry_points.txt").write_text(points)
    (tmp_path / "other_designs.py").write_text(
        "from dataclasses import replace\n"
        "from ddlsim.strategies.base import layer_design, layer_header\n"
        "from ddlsim.strategies.c1_schema import C1_SCHEMA\n"
        "header = layer_header('other', 'another one', 'post 1')\n"
        "layer_design(replace(C1_SCHEMA, header=header))\n"
    )
    ask = "from ddlsim.strategies.base import DESIGNS; print(DESIGNS.get('other').header.summary)"
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("another one\n", "")
