"""Flags that several verbs have."""

from typing import Final

import click
from click import Option

from ddlsim.cli.flags import complete, values
from ddlsim.cli.flags.flag import flag, repeated
from ddlsim.cli.flags.values import Known
from ddlsim.foreign.inputs import INPUTS
from ddlsim.graph.models import MODELS

INPUT_KINDS: Final = ("auto", "native", *INPUTS)


def judging() -> list[click.Parameter]:
    """How a run is judged."""
    return [
        flag("--strict", "count what only the strict graph shows"),
        flag("--all-claims", "judge invariants that the design does not claim, too"),
    ]


def budgets() -> list[click.Parameter]:
    """What one run may take."""
    return [
        flag("--time", "a run that takes longer (90s, 10m, 1h) is not judged: unknown", "T",
             type=values.duration),
        flag("--memory", "a run that needs more (512MiB, 2GiB) is not judged: unknown", "M",
             type=values.memory),
    ]  # fmt: skip


def outside() -> Option:
    """Whether a scenario may name any file."""
    return flag("--allow-outside", "let a scenario name files outside of its folder")


def load() -> Option:
    """Files with plug-ins."""
    what = "a file with more plug-ins; it is run as it is, so load only what you trust"
    return repeated("--load", what, "FILE.py", shell_complete=complete.files)


def output(*kinds: str) -> Option:
    """The forms of the result."""
    what = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
    return flag("--output", what, "KIND", type=Known(kinds), default="text")


def inputs() -> list[click.Parameter]:
    """What the files are that are judged, and by which model."""
    return [
        flag("--input", f"what the files are: {', '.join(INPUT_KINDS)}", "KIND",
             type=Known(INPUT_KINDS), default="auto"),
        model("what an external history should keep to: strict-serializable (default; of a "
              "recording what its database documents), serializable, snapshot-isolation, "
              "read-atomic, read-committed, ..."),
    ]  # fmt: skip


def model(what: str) -> Option:
    """The model that a history is judged by."""
    return flag("--model", what, "M", type=Known(tuple(MODELS)))
