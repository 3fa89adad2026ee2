"""Scenarios that travel with the program: where their files are, by name."""

import os
from pathlib import Path
from typing import Final

import ddlsim

SUFFIX: Final = ".toml"


def roots() -> list[Path]:
    """Where shipped scenarios are: inside an installed package, beside it in a checkout."""
    package = Path(ddlsim.__file__).parent
    return [
        root for root in (package / "_scenarios", package.parent / "scenarios") if root.is_dir()
    ]


def shipped() -> dict[str, Path]:
    """Every shipped scenario by name (`iep98/lagging_learner`), in the order of the names."""
    found: dict[str, str] = {}
    for root in _folders():
        for folder, _, files in os.walk(root):
            for file in (os.path.join(folder, name) for name in files if name.endswith(SUFFIX)):
                name = file[len(root) + 1 : -len(SUFFIX)].replace(os.sep, "/")
                found.setdefault(name, file)
    return {name: Path(file) for name, file in sorted(found.items())}


def called(name: str) -> list[str]:
    """The shipped scenarios of this name, whole or without its folders."""
    return [known for known in shipped() if name in (known, known.rpartition("/")[2])]


def place_of(name: str) -> Path | None:
    """The file of the shipped scenario of this whole name, as `shipped` has it, without reading
    the folders; None where no scenario is called so."""
    parts = name.split("/")
    if not {"", ".", ".."}.isdisjoint(parts) or (os.sep != "/" and os.sep in name):
        return None
    files = (os.path.join(root, *parts) + SUFFIX for root in _folders())
    return next((Path(file) for file in files if os.path.isfile(file)), None)


def _folders() -> list[str]:
    """The folders of `roots`, each once: one links to the other."""
    return list(dict.fromkeys(map(os.path.realpath, roots())))
