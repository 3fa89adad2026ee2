"""A matrix on a terminal: rows with labels, columns as wide as their cells, in blocks that fit."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

from ddlsim.escape import escaped

GAP: Final = 2
"""Columns between two cells."""


class Line(NamedTuple):
    """A row of a matrix: its label and its cells; a heading has none."""

    label: str
    cells: Sequence[str] = ()


def show(columns: Sequence[str], lines: Sequence[Line], to: Console) -> None:
    """Print all rows; what is too wide for the terminal goes into further blocks below."""
    labels = [escaped(line.label, keep="") for line in lines]
    first = max(map(len, labels), default=0)
    widths = [
        max(len(name), *(len(line.cells[at]) for line in lines if line.cells)) + GAP
        for at, name in enumerate(columns)
    ]
    for number, block in enumerate(_blocks(widths, to.width - first)):
        if number:
            to.print()
        names = "".join(columns[at].ljust(widths[at]) for at in block)
        to.print(Text(f"{'':{first + GAP}}{names}".rstrip(), "bold"), soft_wrap=True)
        for label, line in zip(labels, lines, strict=True):
            cells = "".join(line.cells[at].ljust(widths[at]) for at in block if line.cells)
            to.print(Text(f"{label:{first + GAP}}{cells}".rstrip()), soft_wrap=True)


def _blocks(widths: Sequence[int], room: int) -> Iterator[list[int]]:
    """The places of columns, so many in a block as fit into the room; one at least."""
    block: list[int] = []
    for at, width in enumerate(widths):
        if block and sum(widths[one] for one in block) + width > room:
            yield block
            block = []
        block.append(at)
    yield block
