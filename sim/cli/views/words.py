"""Words on a terminal: as wide as it is, wrapped, in colour where there is one."""

import os
import shutil
import textwrap
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from ddlsim.checkers.outcome import Outcome
from ddlsim.cli import streams
from ddlsim.cli.views.shown import guarded
from ddlsim.escape import escaped

COLOURS: Final = {
    Outcome.OK: "bold green",
    Outcome.VACUOUS: "bold yellow",
    Outcome.UNKNOWN: "bold yellow",
    Outcome.UNMET: "bold yellow",
    Outcome.STUCK: "bold red",
    Outcome.VIOLATED: "bold red",
    Outcome.CRASHED: "bold magenta",
}
WIDTH_AWAY: Final = 80
WIDTH_MOST: Final = 100
WIDTH_LEAST: Final = 60
LABEL: Final = 14
INDENT: Final = "  "
FEW: Final = 12
"""So many names are listed; more are counted."""


class Piped(Console):
    """A console whose closed pipe is an error like any other: rich would exit with code 1."""

    def on_broken_pipe(self) -> None:
        """Raise what was raised."""
        raise BrokenPipeError


def console() -> Console:
    """Where text goes: as wide as the terminal, 80 columns and no colour where there is none."""
    plain = not streams.result().isatty() or bool(os.environ.get("NO_COLOR"))
    return guarded(
        Piped(
            file=streams.result(),
            width=width(),
            no_color=plain,
            highlight=False,
            markup=False,
            emoji=False,
        )
    )


def width() -> int:
    """The columns of the terminal, within reason; 80 where there is none."""
    if not streams.result().isatty():
        return WIDTH_AWAY
    return min(max(shutil.get_terminal_size().columns, WIDTH_LEAST), WIDTH_MOST)


def verdict(outcome: Outcome, of: str, to: Console) -> None:
    """The first line of any result."""
    to.print(
        Text.assemble((outcome.word.upper(), COLOURS[outcome]), f"  {escaped(of, keep='')}"),
        soft_wrap=True,
    )


def say(text: str, to: Console, style: str = "", indent: str = "") -> None:
    """A text, wrapped; lines after its first are as far to the right as the first."""
    wrapped = textwrap.wrap(
        escaped(text),
        to.width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if wrapped:
        to.print(Text("\n".join(wrapped), style), soft_wrap=True)


def command(words: str, to: Console, first: str = "") -> None:
    """The last line: a command that can be copied; `first` is what it needs before."""
    label = escaped(f"repeat, {first}: " if first else "repeat: ", keep="")
    to.print(Text.assemble(label, (escaped(words, keep=""), "bold")), soft_wrap=True)


def labelled(label: str, text: str, to: Console, style: str = "") -> None:
    """A label in the first column, the text wrapped beside it; below it where it is too long."""
    if len(label) >= LABEL:
        to.print(Text(label, style), soft_wrap=True)
        label = ""
    lines = textwrap.wrap(
        escaped(text), to.width - LABEL, break_long_words=False, break_on_hyphens=False
    ) or [""]
    for place, line in enumerate(lines):
        head = label if not place else ""
        to.print(Text.assemble((head.ljust(LABEL), style), line), soft_wrap=True)


def block(text: str, to: Console, style: str = "") -> None:
    """A text of several lines, indented, each of its lines wrapped below its own beginning."""
    for line in escaped(text).split("\n"):
        say(line.strip(), to, style, INDENT + " " * (len(line) - len(line.lstrip())))


def design(strategy: str, mutant: str | None) -> str:
    """`iep`, or `iep, mutant no_commit_check`."""
    return strategy if mutant is None else f"{strategy}, mutant {mutant}"


def unreached(probes: Sequence[str]) -> str:
    """Probes that were not met: a few by name, many as their number."""
    if len(probes) <= FEW:
        return ", ".join(probes)
    return f"{len(probes)} probes; --output json names them, `ddlsim list probes` explains them"
