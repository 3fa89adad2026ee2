"""Draws a figure into a file.

A figure is one module `analysis/plot_NAME.py` with a function `draw`, and its entry in `catalog`.
`draw` takes the cells of a sweep, a history, what `ddlsim tune` found, or the JSON of `ddlsim
compare`, and returns a matplotlib figure; a sweep without the axes that it needs is refused.
`ddlsim plot NAME DIR`, `python -m ddlsim.analysis.plot_NAME DIR` and, from any folder, `python
analysis/plot_NAME.py DIR` do the same.
"""

import json
import sys
from pathlib import Path
from typing import Any

from ddlsim import files
from ddlsim.analysis.figures.catalog import PLOTS, PREDICTION
from ddlsim.analysis.sweep.cells import CellsError, read
from ddlsim.analysis.sweep.chunks import DamagedPartError
from ddlsim.escape import one_line
from ddlsim.files import WriteError
from ddlsim.history.history import History


def draw(name: str, source: Path) -> Any:
    """Draw a figure from the directory of a sweep or of `tune`, or from a history or a table.

    Raises `CellsError` with what is missing.
    """
    from ddlsim.analysis.figures.drawing import styled
    from ddlsim.analysis.tune import tuned

    if name not in PLOTS:
        raise CellsError(f"no figure is called {name!r}; there are {', '.join(PLOTS)}")
    plot = PLOTS[name]
    with styled():
        if plot.of == "history":
            return plot.draw(_history(source))
        if plot.of == "tune":
            return plot.draw(tuned.read(source))
        if plot.of == "compare":
            return plot.draw(_table(source))
        if plot.of == "prediction":
            return plot.draw(_prediction(source))
        cells = read(source)
        return plot.draw(cells.need(*plot.needs, figure=name))


def _prediction(source: Path) -> Any:
    file = source / PREDICTION if source.is_dir() else source
    if (why := files.unfit(file, files.TEXT_MOST)) is not None:
        raise CellsError(f"{file}: {why}")
    try:
        found = json.loads(file.read_text(files.TEXT))
    except (OSError, ValueError) as error:
        raise CellsError(f"{file}: no prediction can be read there ({error})") from None
    if not isinstance(found, dict) or "quantities" not in found:
        raise CellsError(f"{file}: it is no prediction; write one with ddlsim tune --from --out")
    return found


def _table(source: Path) -> Any:
    if (why := files.unfit(source, files.TEXT_MOST)) is not None:
        raise CellsError(f"{source}: {why}")
    try:
        found = json.loads(source.read_text(files.TEXT))
    except (OSError, ValueError) as error:
        raise CellsError(f"{source}: no table can be read there ({error})") from None
    if not isinstance(found, dict) or not found.get("designs") or "seeds" not in found:
        raise CellsError(f"{source}: it is no table; write one with ddlsim compare --output json")
    return found


def _history(source: Path) -> History:
    from ddlsim.history import codec

    try:
        return codec.load(source)
    except (OSError, ValueError) as error:
        raise CellsError(f"{source}: no history can be read there ({error})") from None


def write(name: str, source: Path, target: Path) -> None:
    """Draw a figure into a file; its suffix, `.svg` or `.png`, chooses the format."""
    from ddlsim.analysis.figures.drawing import save

    if target.suffix not in (".svg", ".png"):
        raise CellsError(f"{target}: a figure is an .svg or a .png")
    save(draw(name, source), target)


def main(name: str) -> int:
    """Run a figure's module as a script, with DIR and an optional FILE; return the exit code."""
    arguments = sys.argv[1:]
    if not 1 <= len(arguments) <= 2 or arguments[0].startswith("-"):
        sys.stderr.write(f"usage: plot_{name}.py DIR [FILE.svg|FILE.png]\n")
        return 2
    source = Path(arguments[0])
    folder = source if source.is_dir() else source.parent
    target = Path(arguments[1]) if len(arguments) == 2 else folder / f"{name}.svg"
    try:
        write(name, source, target)
    except (CellsError, DamagedPartError, WriteError) as error:
        sys.stderr.write(one_line(f"ddlsim: {error}") + "\n")
        return 2
    sys.stdout.write(f"{target}\n")
    return 0
