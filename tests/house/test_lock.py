"""The lock: every file by its hash, no address, and in step with pyproject.toml."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.tree import ROOT, plant

HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")


def entries(root: Path) -> Iterator[tuple[str, str]]:
    """Each requirement of the lock, and what follows it."""
    text = (root / "requirements.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("-"):
            requirement, _, rest = line.partition(" --")
            yield requirement.strip(), f"--{rest}" if rest else ""


def addresses(root: Path) -> Iterator[str]:
    """The one installing chooses the index; the lock names none, and no folder either."""
    for line in (root / "requirements.txt").read_text("utf-8").splitlines():
        if re.search(r"://|-index|--find-links|\.\./|(^|\s)/|file:|\s@\s", line):
            yield line


def loose(root: Path) -> Iterator[str]:
    """Requirements without an exact version or without a hash."""
    for requirement, rest in entries(root):
        if not re.match(r"[\w.-]+==[\w.!+-]+(\s*;|$)", requirement) or not HASH.search(rest):
            yield requirement


def out_of_step(root: Path) -> Iterator[str]:
    """What pyproject.toml asks for and the lock does not pin."""
    asked = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))
    project = asked["project"]
    extras = [need for needs in project["optional-dependencies"].values() for need in needs]
    pins: dict[str, list[str]] = {}
    for pin in (Requirement(requirement) for requirement, _ in entries(root)):
        version = str(pin.specifier).removeprefix("==")
        pins.setdefault(canonicalize_name(pin.name), []).append(version)
    needs = project["dependencies"] + extras + asked["build-system"]["requires"]
    for need in map(Requirement, needs):
        if need.name == project["name"]:
            continue  # an extra made of other extras
        versions = pins.get(canonicalize_name(need.name), [])
        if not versions or not all(need.specifier.contains(version, True) for version in versions):
            yield str(need)


@pytest.mark.parametrize("rule", [addresses, loose, out_of_step], ids=lambda rule: rule.__name__)
def test_the_lock_is_sound(rule: object) -> None:
    assert callable(rule)
    assert list(rule(ROOT)) == [], "renew it with: python3 dev.py lock"


PROJECT = """
[build-system]
requires = ["builder>=1"]
[project]
name = "project"
dependencies = ["core>=1,<2"]
optional-dependencies = { more = ["Tool_Box>=3"], dev = ["project[more]"] }
"""
SOUND = f"""builder==1.5 \\
    --hash=sha256:{"0" * 64}
core==1.1 ; python_full_version < '3.12' \\
    --hash=sha256:{"0" * 64} \\
    --hash=sha256:{"1" * 64}
    # via project (pyproject.toml)
core==1.2 ; python_full_version >= '3.12' \\
    --hash=sha256:{"2" * 64}
tool-box==3.0 \\
    --hash=sha256:{"3" * 64}
"""


def faults(root: Path, lock: str) -> list[list[str]]:
    plant(root, {"pyproject.toml": PROJECT, "requirements.txt": lock})
    return [list(rule(root)) for rule in (addresses, loose, out_of_step)]


def test_a_sound_lock_has_no_faults(tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND) == [[], [], []]


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https" + "://index.example/simple",
        "--extra-index-url somewhere",
        "-e ../elsewhere",
        "#   uv pip compile /some/where",
        "core @ file:somewhere",
    ],
)
def test_an_address_is_found(line: str, tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND + line + "\n")[0] == [line]


def test_a_missing_hash_is_found(tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND + "extra==1.0\n")[1] == ["extra==1.0"]


def test_a_missing_version_is_found(tmp_path: Path) -> None:
    line = f"extra>=1.0 --hash=sha256:{'0' * 64}\n"
    assert faults(tmp_path, SOUND + line)[1] == ["extra>=1.0"]


def test_a_forgotten_dependency_is_found(tmp_path: Path) -> None:
    assert faults(tmp_path, SOUND.replace("tool-box", "toolbox"))[2] == ["Tool_Box>=3"]


def test_a_pin_outside_its_bounds_is_found(tmp_path: Path) -> None:
    [dependency] = faults(tmp_path, SOUND.replace("core==1.2", "core==2.0"))[2]
    assert dependency.startswith("core")
