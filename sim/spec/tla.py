"""A scope for TLC: its TLA+ module, and the configuration with its bounds and choices.

TLC prints the numbers that `exhaust` counts: states generated, distinct states, and the depth.
"""

from pathlib import Path
from typing import Final

from ddlsim.files import make_folder, write_text
from ddlsim.spec.base import Setup

RUN: Final = "java -cp tla2tools.jar tlc2.TLC"
"""What runs TLC; it stops at the first state that breaks an invariant."""


def configuration(setup: Setup) -> str:
    """The text of the configuration."""
    scope = setup.scope
    mutant = f", mutant {setup.mutant}" if setup.mutant else ""
    return "\n".join(
        [
            f"\\* {scope.title}: {setup.design}{mutant}",
            f"\\* {RUN} -config {scope.name}.cfg {scope.name}.tla",
            "SPECIFICATION Spec",
            "CHECK_DEADLOCK FALSE",
            f"INVARIANTS {' '.join(scope.invariants)}",
            "CONSTANTS",
            *(f"    {name} = {value}" for name, value in setup.constants.items()),
            *(f'    {name} = "{choice}"' for name, choice in setup.rules.items()),
            "",
        ]
    )


def write(setup: Setup, folder: Path) -> tuple[Path, Path]:
    """Write the module and its configuration; where they lie.

    Raises `OSError` where they cannot be written.
    """
    name = setup.scope.name
    module, bounds = folder / f"{name}.tla", folder / f"{name}.cfg"
    make_folder(folder)
    write_text(module, setup.scope.tla.read_text("utf-8"))
    write_text(bounds, configuration(setup))
    return module, bounds
