"""The provenance of a table, in its metadata: program, commit, packages, command and sweep file.

It holds no path and no time: equal sweeps of equal programs have equal bytes.
"""

import json
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import ddlsim

KEY: Final = b"ddlsim"
"""The key of the schema's metadata that holds the provenance as JSON."""
PACKAGES: Final = (
    "simpy",
    "numpy",
    "scipy",
    "networkx",
    "sqlglot",
    "msgspec",
    "pyarrow",
    "pyspark",
)


def of_program() -> dict[str, Any]:
    """The versions that the rows depend on."""
    return {
        "program": "ddlsim",
        "version": ddlsim.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def metadata(provenance: Mapping[str, Any]) -> dict[bytes, bytes]:
    """The provenance as the metadata of a table's schema."""
    return {KEY: json.dumps(provenance, sort_keys=True, ensure_ascii=False).encode()}


def read(found: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """The provenance in a table's metadata; empty where there is none."""
    if not found or KEY not in found:
        return {}
    document: dict[str, Any] = json.loads(found[KEY])
    return document


def commit() -> str | None:
    """The commit of the checkout that the program runs from; None for an installed program."""
    root = Path(ddlsim.__file__).parent.parent
    if not (root / ".git").exists():
        return None
    try:
        name = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{name}-dirty" if changed else name


def _git(root: Path, *words: str) -> str:
    """Git's output; without its locks, which a killed git would leave behind."""
    asked = subprocess.run(
        ["git", "--no-optional-locks", *words],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=20,
    )
    return asked.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
