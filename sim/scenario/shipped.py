"""Scenarios that travel with the program: where their files are, by name."""

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
    found: dict[str, Path] = {}
    for root in roots():
        for file in root.rglob("*.toml"):
            found.setdefault(file.relative_to(root).with_suffix("").as_posix(), file)
    return dict(sorted(found.items()))
