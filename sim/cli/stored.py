"""Stored histories of this program, as commands are given them."""

from pathlib import Path

from ddlsim.cli.problems import InputError
from ddlsim.history import codec
from ddlsim.history.history import History
from ddlsim.scenario.shipped import SUFFIX, called


def load(file: str) -> History:
    """The history in a file; `BadHistory` if it is none.

    `InputError` for a scenario, with the command that makes a history of it.
    """
    try:
        return codec.load(file)
    except codec.BadHistory:
        if not is_scenario(file):
            raise
    raise InputError(
        f"{file}: is a scenario and no history; run it first: ddlsim run {file} --out DIR"
    )


def is_scenario(given: str) -> bool:
    """Whether this is a scenario file, or the name of a shipped scenario and no file."""
    if Path(given).exists():
        return given.endswith(SUFFIX) and Path(given).is_file()
    return bool(called(given.removesuffix(SUFFIX)))
