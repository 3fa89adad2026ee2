"""A scope for TLC: its TLA+ module, and the configuration with its bounds and choices.

TLC prints the numbers that `exhaust` counts: states generated, distinct states, and the depth.
"""

from pathlib import Path
from typing import Final

from ddlsim.files import make_folder, write_text
from ddlsim.spec.base import ScopeError, Setup

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
            f"    judged = {{{', '.join(map(quoted, scope.invariants))}}}",
            *(f"    {name} = {quoted(choice)}" for name, choice in setup.rules.items()),
            "",
        ]
    )


def quoted(text: str) -> str:
    """A string of TLA+."""
    return f'"{text}"'


def write(setup: Setup, folder: Path) -> tuple[Path, Path]:
    """Write the module and its configuration; where they lie.

    Raises `ScopeError` where another text is there already, `WriteError` where they cannot be
    written.
    """
    name = setup.scope.name
    module, bounds = folder / f"{name}.tla", folder / f"{name}.cfg"
    texts = {module: setup.scope.tla.read_text("utf-8"), bounds: configuration(setup)}
    make_folder(folder)
    for file, text in texts.items():
        if file.exists() and (not file.is_file() or file.read_bytes() != text.encode()):
            what = "there is something else of this name; name another directory, or remove it"
            raise ScopeError(f"{file.as_posix()}: {what}")
    for file, text in texts.items():
        write_text(file, text)
    return module, bounds
