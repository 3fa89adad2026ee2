"""Scenarios that travel with the program: where their files are, by name."""

import os
from pathlib import Path

import ddlsim


def roots() -> list[Path]:
    """Where shipped scenarios are: inside an installed package, beside it in a checkout."""
    package = Path(ddlsim.__file__).parent
    return [
        root for root in (package / "_scenarios", package.parent / "scenarios") if root.is_dir()
    ]


def shipped() -> dict[str, Path]:
    """Every shipped scenario by name (`iep98/lagging_learner`), in the order of the names."""
    found: dict[str, str] = {}
    for root in dict.fromkeys(map(os.path.realpath, roots())):  # one links to the other
        for folder, _, files in os.walk(root):
            for file in (os.path.join(folder, name) for name in files if name.endswith(".toml")):
                name = file[len(root) + 1 : -len(".toml")].replace(os.sep, "/")
                found.setdefault(name, file)
    return {name: Path(file) for name, file in sorted(found.items())}
